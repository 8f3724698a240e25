"""Subjects that no textbook has: zeros, one atom, a function that is no map. They get an answer, not an exception."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.catalogue import theorem
from ftheta.logic import Status, SubjectError
from ftheta.running import assess, run
from ftheta.subjects import Dataset, Measure, Network, Target, Training


def first_failure(id: str, subject: Any) -> str:
    """The note of the first hypothesis that fails."""
    found = assess(theorem(id), subject).findings
    return next(finding.note for finding in found if finding.status is Status.FAILED)


def test_what_a_theorem_cannot_be_about_fails_a_hypothesis():
    still = Training("zero weights", lambda w: jnp.sum(jnp.tanh(w) ** 2), np.zeros(2))
    assert "0" in first_failure("normalisation-layers", still)
    line = Measure.empirical("a line", np.ones((3, 1)))
    assert "never move" in first_failure("attention-particle-flow", line)
    scalar = Target("a sum", jnp.sum, (0.0, 0.0), (1.0, 1.0))
    assert "no map" in first_failure("nonsmooth-proximal", scalar)
    nothing = Dataset("zeros", np.zeros((4, 2)), np.ones(4))
    assert "0" in first_failure("nonsmooth-proximal", nothing)
    assert "nothing to learn" in first_failure("training-loop", nothing)
    fixed = Network.of(lambda x: x.sum(), example=(2,), name="a sum")
    fixed = fixed.with_data(Dataset("rows", np.eye(2), np.ones(2)))
    assert "no parameters" in first_failure("linear-model-convex-erm", fixed)


@pytest.mark.parametrize(
    "id, subject, knobs",
    [
        (
            "sgd-robbins-monro",
            Measure.empirical("one atom", np.zeros((1, 1))),
            {"paths": 20, "steps": 20},
        ),
        ("linear-model-convex-erm", Dataset("zeros", np.zeros((4, 2)), np.full(4, 1.5)), {}),
    ],
)
def test_rows_without_variety_refute_nothing(id, subject, knobs):
    assert run(theorem(id), subject, **knobs).verdict.holds


def test_an_objective_without_a_hessian_is_told_so():
    undefined = Training("a logarithm", lambda t: jnp.log(t[0]), -np.ones(1))
    with pytest.raises(SubjectError, match="second derivatives"):
        run(theorem("first-order-family"), undefined)
