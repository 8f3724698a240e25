"""The perceptron against a plain loop, margins against a peer, threshold functions by linear programs."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from sklearn.svm import SVC

import ftheta as ft
from ftheta.logic import UsageError, Verdict
from ftheta.risks.separation import products
from ftheta.theorems.architectures.perceptron_xor.perceptron import (
    exact_margin,
    perceptron,
    square_radius,
)
from ftheta.theorems.architectures.perceptron_xor.threshold_functions import (
    cube,
    not_excluded_by_pairs,
    shown_by_weights,
)

from ...thoroughness import max_examples

AXES = np.array([[1.0, 0.0], [0.0, 1.0]])
small = arrays(float, st.tuples(st.integers(1, 8), st.integers(1, 3)), elements=st.integers(-3, 3))


def plain_loop(z: np.ndarray, passes: int) -> list[int]:
    """In fractions, without any of the short cuts."""
    w = [Fraction(0)] * z.shape[1]
    mistakes = []
    for _ in range(passes):
        for i, row in enumerate(z.tolist()):
            if sum(Fraction(a) * b for a, b in zip(row, w)) <= 0:
                w = [b + Fraction(a) for a, b in zip(row, w)]
                mistakes.append(i)
    return mistakes


def test_two_axes_make_two_mistakes_which_is_the_bound():
    run = perceptron(AXES)
    best = exact_margin(AXES)
    assert best is not None and run.finished
    assert len(run.mistakes) == 2 == square_radius(AXES) / best.square


@max_examples(60)
@given(small)
def test_the_mistakes_are_those_of_the_plain_loop(z):
    run = perceptron(z, 60)
    assert list(run.mistakes) == plain_loop(z, run.passes)[: len(run.mistakes)]
    if run.finished:
        assert run.wrong(z) == 0


def test_rows_that_float64_cannot_tell_apart_are_decided_in_rationals():
    tiny = 2.0**-60
    z = np.array([[1.0, 1.0], [-1.0, -1.0 + 2.0**-52], [tiny, -tiny]])
    run = perceptron(z, 200)
    assert list(run.mistakes) == plain_loop(z, run.passes)[: len(run.mistakes)]


@max_examples(60)
@given(small)
def test_novikoffs_bound_holds_wherever_there_is_a_margin(z):
    best = exact_margin(z)
    if best is None:
        return
    run = perceptron(z, 100_000)
    assert run.finished and len(run.mistakes) <= square_radius(z) / best.square
    assert min(products(z, best.v)) == 1


def test_the_margin_is_that_of_a_support_vector_machine():
    rng = np.random.default_rng(0)
    labels = np.where(np.arange(60) % 2, 1.0, -1.0)
    x = rng.normal(size=(60, 3)) + 4 * labels[:, None] * np.array([1.0, 0.5, 0.0])
    both = np.concatenate([x * labels[:, None], -x * labels[:, None]])
    peer = SVC(C=1e12, kernel="linear", tol=1e-10).fit(both, np.r_[np.ones(60), -np.ones(60)])
    best = exact_margin(x * labels[:, None])
    assert best is not None
    assert float(best.square) ** 0.5 == pytest.approx(1 / np.linalg.norm(peer.coef_), rel=1e-4)


def test_xor_goes_round_for_ever():
    x = np.column_stack([cube(2), np.ones(4)]).astype(float)
    z = np.where(x[:, 0] != x[:, 1], 1.0, -1.0)[:, None] * x
    run = perceptron(z)
    assert run.cycled and not run.finished and run.wrong(z) > 0 and exact_margin(z) is None


def test_no_rows_are_refused():
    with pytest.raises(UsageError):
        perceptron(np.zeros((0, 2)))


@pytest.mark.parametrize("bits", [1, 2, 3])
def test_threshold_functions_are_those_of_a_linear_program(bits):
    points = np.column_stack([cube(bits), np.ones(2**bits)]).astype(float)
    found = []
    for labels in product([0, 1], repeat=2**bits):
        z = np.where(labels, 1.0, -1.0)[:, None] * points
        if linprog(
            np.zeros(bits + 1), -z, -np.ones(len(z)), bounds=[(None, None)] * (bits + 1)
        ).success:
            found.append(sum(b << i for i, b in enumerate(labels)))
    assert sorted(found) == shown_by_weights(bits).tolist() == not_excluded_by_pairs(bits).tolist()


def test_the_counts_of_the_catalogue():
    assert [len(shown_by_weights(n)) for n in (1, 2, 3, 4)] == [4, 14, 104, 1882]
    assert np.array_equal(shown_by_weights(4), not_excluded_by_pairs(4))
    with pytest.raises(UsageError):
        shown_by_weights(5)


def test_users_rows_are_judged_with_and_without_an_offset():
    x = np.array([[1.0], [2.0], [3.0], [4.0]])
    data = ft.Dataset("a threshold at 2.5", x, np.array([0, 0, 1, 1]))
    assert ft.check("perceptron-xor", data).verdict is Verdict.INAPPLICABLE
    assert ft.check("perceptron-xor", data, offset=True).verdict is Verdict.PROVED
