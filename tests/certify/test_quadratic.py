"""Quadratic functions of ReLU networks: read exactly, excluded by certificates that never exclude a point."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.quadratic.approximate import Approximate, is_positive_definite
from ftheta.certify.quadratic.guards import Guard, clip_box
from ftheta.certify.quadratic.search import QuadraticSearch
from ftheta.certify.questions import Box, Case, Row


def network(f, inputs: int) -> TracedNetwork:
    return TracedNetwork(ft.Network.of(f, example=(inputs,)))


def search(net: TracedNetwork, case: Case, seconds: float = 10.0):
    judge = EnclosingJudge(net, case)
    assert net.quadratic is not None
    return QuadraticSearch(net.quadratic, net, case, seconds, judge.propose).run(), judge.witness


def at_least(bound: Fraction, output: int = 0) -> Row:
    return Row({}, {output: Fraction(-1)}, -bound)


def box(radius: int | Fraction, inputs: int) -> Box:
    return Box((Fraction(-radius),) * inputs, (Fraction(radius),) * inputs)


# ---- reading ---------------------------------------------------------------------------------------------------------


def test_products_are_read_with_their_factors():
    rng = np.random.default_rng(0)
    W, P = rng.normal(size=(4, 3)), rng.normal(size=(4, 4))

    def f(x):
        h = jnp.maximum(W @ x, 0.1)
        return jnp.stack([h @ P @ h - x[0] ** 2, jnp.square(x[1]) + h[2], (h * h).sum()])

    net = network(f, 3)
    read = net.quadratic
    assert read is not None and read.products == 4 + 1 + 1 + 4
    x = rng.normal(size=(20, 3))
    factors = read.network(np.concatenate([x, np.zeros((20, read.products))], axis=1))[
        :, read.outputs :
    ]
    products = factors[:, : read.products] * factors[:, read.products :]
    y = read.network(np.concatenate([x, products], axis=1))[:, : read.outputs]
    np.testing.assert_allclose(y, [np.asarray(f(row)) for row in x], rtol=2e-6, atol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[0] * x[1] * x[0],
        lambda x: jnp.maximum(x[0] * x[1], 0),
        lambda x: jnp.sin(x[0]) * x[1],
    ],
    ids=["degree three", "a ReLU of a product", "no ReLU network"],
)
def test_other_functions_are_not_read(f):
    assert network(lambda x: f(x)[None], 2).quadratic is None


# ---- proofs ----------------------------------------------------------------------------------------------------------


def has_positive_minors(M: np.ndarray) -> bool:
    """Sylvester's criterion in rationals."""
    A = [[Fraction(float(v)) for v in row] for row in M]
    for k in range(len(A)):
        if A[k][k] <= 0:
            return False
        for i in range(k + 1, len(A)):
            factor = A[i][k] / A[k][k]
            A[i] = [a - factor * b for a, b in zip(A[i], A[k])]
    return True


def test_no_matrix_is_called_positive_definite_that_is_not():
    rng = np.random.default_rng(1)
    proved = 0
    for _ in range(300):
        B = rng.normal(size=(4, 3)) * np.exp2(rng.integers(-12, 12, size=(4, 1)))
        # nearly singular: rounding decides
        M = B @ B.T + np.diag(10.0 ** rng.uniform(-22, -2, size=4))
        M = np.tril(M) + np.tril(M, -1).T
        found = is_positive_definite(Approximate.exactly(M))
        proved += found
        assert not found or has_positive_minors(M)
    assert proved > 50


def test_a_radius_is_paid_for():
    M = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert is_positive_definite(Approximate(M, np.full((2, 2), 0.05)))
    # [[0.7, 0.8], [0.8, 0.7]] is within
    assert not is_positive_definite(Approximate(M, np.full((2, 2), 0.3)))


def test_products_of_approximate_matrices_hold_the_exact_ones():
    rng = np.random.default_rng(2)
    A, B = (rng.normal(size=shape) for shape in ((3, 40), (40, 2)))
    found = Approximate.exactly(A) @ Approximate.exactly(B)
    for i in range(3):
        for j in range(2):
            exact = sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(A[i], B[:, j]))
            assert abs(exact - Fraction(float(found.centre[i, j]))) <= Fraction(
                float(found.radius[i, j])
            )


def test_the_box_around_an_ellipse_is_tight_and_outside():
    # 4x² + 4xy + 2y² ≤ 1
    guard = Guard(Approximate.exactly(np.array([[-1.0, 0, 0], [0, 4.0, 2.0], [0, 2.0, 2.0]])))
    low, high = clip_box(guard, np.full(2, -9.0), np.full(2, 9.0))
    exact = np.sqrt([0.5, 1.0])  # the diagonal of the inverse
    assert (high > exact).all() and (low < -exact).all()
    np.testing.assert_allclose(high, exact, rtol=1e-6)


# ---- answers ---------------------------------------------------------------------------------------------------------


def test_a_threshold_beside_the_greatest_value():
    net = network(lambda x: ((jnp.maximum(x, 0) + jnp.maximum(-x, 0)) ** 2).sum()[None], 2)  # |x|²
    above, _ = search(net, Case(box(1, 2), ((at_least(2 + Fraction(1, 10**5)),),)))
    assert above.closed
    met, witness = search(
        net, Case(box(1, 2), ((at_least(Fraction(2) - Fraction(1, 10**5)),),)), 2.0
    )
    assert not met.closed and witness is not None


def test_a_closed_loop_decreases_between_two_level_sets():
    """x⁺ᵀx⁺ − xᵀx in six states with a saturated controller: boxes alone would be divided for minutes."""
    A = 0.9 * np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]

    def f(x):
        u = jnp.maximum(jnp.minimum(A @ x, 0.5), -0.5)
        return jnp.stack([u @ u - x @ x, x @ x])

    net = network(f, 6)
    rows = (
        Row({}, {1: Fraction(1)}, Fraction(2)),
        at_least(Fraction(1), 1),
        at_least(Fraction(-1, 10)),
    )
    found, _ = search(net, Case(box(1, 6), (rows,)))
    assert found.closed and found.boxes < 20
    worse = (*rows[:2], at_least(Fraction(-1, 2)))  # |u|² ≥ |x|² − 1/2 does happen
    found, witness = search(net, Case(box(1, 6), (worse,)), 3.0)
    assert not found.closed and witness is not None


@pytest.mark.parametrize("networks", [1, pytest.param(30, marks=pytest.mark.nightly)])
def test_nothing_is_excluded_that_samples_meet(networks):
    rng = np.random.default_rng(4)
    closed = 0
    for _ in range(networks):
        W, b, P = rng.normal(size=(4, 2)), rng.normal(size=4), rng.normal(size=(4, 4))

        def f(x, W=W, b=b, P=P):
            h = jnp.maximum(W @ x + b, 0)
            return jnp.stack([h @ P @ h, x @ x])

        net = network(f, 2)
        y, _ = net.propagate(rng.uniform(-1, 1, size=(4000, 2)))
        inner = y[y[:, 1] <= 0.7, 0]
        spread = inner.max() - inner.min()
        for share, is_met in ((-1e-3, True), (0.2, False)):
            bound = Fraction(float(inner.max() + share * spread))
            rows = (Row({}, {1: Fraction(1)}, Fraction(7, 10)), at_least(bound))
            found, _ = search(net, Case(box(1, 2), (rows,)), 0.5)
            assert not (is_met and found.closed)
            closed += found.closed
    assert closed >= networks / 2


def test_verify_uses_certificates_where_boxes_do_not_suffice():
    rng = np.random.default_rng(5)
    A = 0.95 * np.linalg.qr(rng.normal(size=(6, 6)))[0]
    net = ft.Network.of(lambda x: (jnp.maximum(A @ x, -0.4) ** 2).sum()[None] - x @ x, example=(6,))
    shell = ft.Outputs(lambda y: y[0] < Fraction(1, 10)).on([-2] * 6, 2)
    assert ft.verify(net, shell, budget=4).answer == "unsat"
