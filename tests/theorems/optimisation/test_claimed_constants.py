"""A point refutes the constants that are claimed of an objective, not those that a few of its points suggest."""

from dataclasses import replace

import numpy as np
import pytest
from jax.scipy.special import erf

from ftheta.logic import AtMost, Theorem, Verdict
from ftheta.running import run
from ftheta.subjects import Training
from ftheta.theorems.optimisation.first_order_family import first_order_family
from ftheta.theorems.optimisation.function_classes import function_classes
from ftheta.theorems.optimisation.gd_strongly_convex import gd_strongly_convex
from ftheta.theorems.optimisation.pl_inequality import pl_inequality


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


def test_a_smoothness_that_was_only_met_on_a_segment_is_not_refuted_by_descent():
    """On the line to the minimiser the curvature is at most 2, beside it far above."""
    off_the_line = lambda t: t[0] ** 2 / 2 + t[1] ** 2 + 20 * (t[0] - t[1]) ** 4
    subject = Training("steep beside the line", off_the_line, np.ones(2), np.zeros(2))
    found = run(first_order_family, subject, steps=3)
    assert found.claims[0].judgement.contradicted and found.verdict is Verdict.INCONCLUSIVE
    stated = replace(subject, smoothness=2.0)
    assert run(first_order_family, stated, steps=3).verdict is Verdict.REFUTED


def test_a_ratio_that_was_only_met_on_one_path_is_not_refuted_by_another():
    """Steps of 1/L lead from 2 to the minimiser 0 at once; smaller ones meet a plateau of width 10⁻³ at 1."""

    def plateau(t):
        return t[0] ** 2 / 2 - 0.9999999e-3 * np.sqrt(np.pi) / 2 * (1 + erf((t[0] - 1) / 1e-3))

    subject = Training("a plateau", plateau, 2 * np.ones(1), np.zeros(1))
    knobs = {"step": 1 - 2 ** (-1 / 13), "steps": 31}
    found = run(pl_inequality, subject, **knobs)
    assert found.claims[0].judgement.contradicted and found.verdict is Verdict.INCONCLUSIVE
    stated = replace(subject, mu=0.99, smoothness=1.0)
    witnesses = [run(pl_inequality, one, **knobs).claims[0].claim for one in (subject, stated)]
    assert [isinstance(c, AtMost) and c.witness is not None for c in witnesses] == [False, True]
