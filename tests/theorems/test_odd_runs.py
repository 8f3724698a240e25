"""Numbers at the ends of float64, and runs that were forced: an answer or a clear error, never a wrong verdict."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.catalogue import theorem
from ftheta.logic import SubjectError, Verdict
from ftheta.networks import Dense, Description
from ftheta.running import run
from ftheta.subjects import Dataset, Measure, Network
from ftheta.theorems.architectures.perceptron_xor.perceptron import exact_margin, root
from ftheta.theorems.equivariance.group_equivariant_linear_maps import on_whole_orbits
from ftheta.training.margins import enclosed_margin


@pytest.mark.parametrize("scale", [1e-14, 1e-150])
def test_small_targets_that_differ_in_one_orbit_are_no_invariant_ones(scale):
    """Their differences are below 10⁻¹² and as large as they are."""
    net = on_whole_orbits(np.random.default_rng(0), targets="its own values")
    assert net.data is not None and net.data.y is not None
    small = replace(net, apply=lambda params, x: scale * net.apply(params, x))
    small = small.with_data(Dataset("small", net.data.x, scale * net.data.y))
    assert run(theorem("group-equivariant-linear-maps"), small).verdict is Verdict.INAPPLICABLE


def signs(size: float) -> Dataset:
    x = size * np.array([[1.0, 1, -1], [1, -1, 1], [1, 1, 1], [-1, 1, 1], [-1, -1, 1]])
    return Dataset(f"signs of size {size:g}", x, (x[:, 0] > 0).astype(int))


@pytest.mark.parametrize("size", [5e-324, 1e-200, 1.0, 1e150])
def test_the_perceptron_does_not_see_the_scale_of_its_rows(size):
    found = run(theorem("perceptron-xor"), signs(size))
    assert found.verdict is Verdict.PROVED
    assert (
        found.numbers["bound"].lo == run(theorem("perceptron-xor"), signs(1.0)).numbers["bound"].lo
    )


def test_the_margin_of_tiny_rows_is_enclosed_as_closely_as_that_of_others():
    z = np.array([[3.0, 4.0], [4.0, 3.0]])
    w = np.array([1.0, 1.0])
    u = np.array([0.5, 0.5])
    plain = enclosed_margin(z, w, u)
    tiny = enclosed_margin(2.0**-400 * z, w, u)
    assert tiny.lo == pytest.approx(2.0**-400 * plain.lo, rel=1e-12, abs=0)
    assert tiny.hi == pytest.approx(2.0**-400 * plain.hi, rel=1e-12, abs=0)


@pytest.mark.parametrize("size", [5e-324, 1.0])
def test_the_margin_in_rationals_is_homogeneous(size):
    rows = np.array([[3.0, 4.0], [4.0, 3.0]])
    margin, plain = exact_margin(size * rows), exact_margin(rows)
    assert margin and plain and margin.square == Fraction(size) ** 2 * plain.square


@pytest.mark.parametrize("exponent", [-1000, -3, 0, 5, 1000])
def test_roots_of_rationals_beyond_the_floats(exponent):
    assert root(Fraction(9) * Fraction(4) ** exponent) == pytest.approx(
        np.ldexp(3.0, exponent), abs=0
    )


def dense(*weights: Any) -> Network:
    layers = tuple(
        Dense(w, np.zeros(len(w)), "relu" if k + 1 < len(weights) else "identity")
        for k, w in enumerate(weights)
    )
    return Network.described(Description(layers), "dense")


def test_cells_without_parameters_are_recurrent_networks():
    cell = Network.of(lambda x: jnp.tanh(x / 2), example=(3,), name="a cell")
    assert run(theorem("rnn-dynamical"), cell, steps=5).verdict.holds


def test_huge_data_have_students():
    x = np.random.default_rng(0).choice([-1.7e308, 1.7e308], (20, 2))
    data = Dataset("huge", x, (x[:, 0] > 0).astype(int))
    assert run(theorem("chizat-bach"), data, seeds=4, steps=100).verdict is not Verdict.REFUTED


def test_a_measure_of_no_points_is_refused():
    with pytest.raises(SubjectError, match="of sum"):
        Measure.empirical("nothing", np.zeros((0, 3)))
    with pytest.raises(SubjectError):  # rows of norm 0 are no tokens
        run(theorem("attention-particle-flow"), Dataset("tiny", np.full((4, 3), 5e-324)))


@pytest.mark.parametrize(
    "id, subject, knobs",
    [
        ("ntk-kernel", dense(1e200 * np.ones((4, 2)), np.ones((1, 4))), {}),
        ("chizat-bach", Dataset("one label", np.eye(4), np.ones(4)), {"seeds": 4, "steps": 100}),
    ],
)
def test_forced_runs_that_cannot_be_carried_out_say_so(id, subject, knobs):
    with pytest.raises(SubjectError, match=r"forced|float64"):
        run(theorem(id), subject, force=True, **knobs)


def test_nothing_is_known_of_a_polynomial_through_one_abscissa_with_two_labels():
    repeated = Dataset("repeated", np.ones((6, 1)), np.arange(6))
    found = run(theorem("runge"), repeated, force=True)
    assert found.verdict is Verdict.INAPPLICABLE
    assert {j.judgement.verdict for j in found.claims} == {Verdict.INCONCLUSIVE}


def test_linear_algebra_that_overflows_is_an_error_of_the_subject():
    def huge(x):
        for _ in range(3):
            x = x + jnp.tanh(1e300 * jnp.eye(3) @ x) * 1e300
        return x

    net = Network.of(huge, example=(3,), name="huge")
    with pytest.raises(SubjectError, match="no end"):
        run(theorem("rnn-dynamical"), net)
