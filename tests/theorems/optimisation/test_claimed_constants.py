"""A point refutes the constants that are claimed of an objective, not those that a few of its points suggest."""

from dataclasses import replace

import numpy as np
import pytest

from ftheta.logic import Theorem, Verdict
from ftheta.running import run
from ftheta.subjects import Training
from ftheta.theorems.optimisation.function_classes import function_classes
from ftheta.theorems.optimisation.gd_strongly_convex import gd_strongly_convex


def bent(theta):
    """Strongly convex, and more curved off the line from (1, 1) to its minimiser 0 than on it."""
    return theta[0] ** 2 / 2 + 5 * theta[1] ** 2 + 2 * (theta[0] - theta[1]) ** 4


@pytest.mark.parametrize(
    "statement, knobs", [(gd_strongly_convex, {"steps": 8}), (function_classes, {"pairs": 64})]
)
def test_constants_that_were_only_met_at_points_are_not_refuted(statement: Theorem, knobs):
    subject = Training("bent", bent, np.ones(2), np.zeros(2))
    assert run(statement, subject, **knobs).verdict is Verdict.INCONCLUSIVE


def test_a_claimed_constant_is_refuted_by_a_pair():
    subject = Training("bent", bent, np.ones(2), np.zeros(2), mu=1.0, smoothness=10.0)
    assert run(function_classes, subject).verdict is Verdict.REFUTED


@pytest.mark.parametrize("H", [np.diag([-20.0, 1.0]), -2 * np.eye(1), np.zeros((1, 1))])
def test_a_function_may_bend_down_more_than_up_or_not_at_all(H):
    subject = Training.quadratic("any curvature", H, np.ones(len(H)))
    assert run(function_classes, replace(subject, optimum=None)).verdict is Verdict.CONSISTENT
