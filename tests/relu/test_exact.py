"""Rational networks: nothing is lost on the way in, and the way out says what is."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import ftheta.relu.exact as exact_forms
from ftheta.logic import SubjectError
from ftheta.networks.description import Dense, Description, random_mlp
from ftheta.relu.exact import exact, from_description, round_weights
from ftheta.relu.matrices import FLOATS, RATIONALS, ExactMatrix, fraction, rational
from ftheta.relu.network import ExactNetwork, ReluNetwork, Step

from .nets import networks, points


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_float_is_taken_at_its_exact_binary_value(x: float) -> None:
    assert Fraction(int(rational(x).p), int(rational(x).q)) == Fraction(x)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_nan_and_infinity_are_refused(bad: float) -> None:
    with pytest.raises(SubjectError, match="rational number"):
        rational(bad)


def test_floats_survive_the_round_trip_bit_by_bit() -> None:
    net = from_description(random_mlp(np.random.default_rng(0), [3, 5, 4, 2], bias=0.3))
    back = round_weights(exact(net))
    assert back.is_exact and back.largest_error == 0
    for one, other in zip(net.steps, back.network.steps):
        assert np.array_equal(one.dense(), other.dense()) and np.array_equal(
            one.offset, other.offset
        )


def test_rounding_reports_what_it_lost() -> None:
    lost = round_weights(ExactNetwork.affine([[Fraction(1, 3)]]))
    assert not lost.is_exact
    assert lost.largest_error == float(abs(Fraction(1, 3) - Fraction(1 / 3)))


def test_a_weight_beyond_float64_is_refused() -> None:
    with pytest.raises(SubjectError, match="too large"):
        round_weights(ExactNetwork.affine([[10**400]]))


@given(networks(), st.data())
def test_the_float_realisation_follows_the_exact_one(
    net: ExactNetwork, data: st.DataObject
) -> None:
    x = data.draw(points(net.widths[0]))
    floats = round_weights(net).network(np.array(x, float))
    assert np.allclose(floats, [float(v) for v in net(x)], rtol=1e-9, atol=1e-6)


def test_sparse_and_dense_steps_have_one_exact_form() -> None:
    A = np.array([[0.0, 1.5], [0.25, 0.0]])
    assert ExactMatrix.of(A) == ExactMatrix.of(sparse.csr_array(A)) == ExactMatrix.of(A.tolist())


def test_an_output_relu_becomes_a_step_of_its_own() -> None:
    net = from_description(Description((Dense(np.array([[1.0]]), np.array([0.0]), "relu"),)))
    assert net(np.array([-2.0])) == 0 and net(np.array([2.0])) == 2
    with pytest.raises(SubjectError, match="normal form"):
        from_description(Description((Dense(np.array([[1.0]]), np.array([0.0]), "tanh"),)))


def test_points_of_another_dimension_are_refused() -> None:
    with pytest.raises(SubjectError, match="dimension"):
        ExactNetwork.affine([[1, 2]])([1])


def test_steps_with_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(SubjectError, match="step needs"):
        Step(np.eye(2), np.zeros(3), np.zeros(2, bool))
    with pytest.raises(SubjectError, match="finite"):
        Step(np.full((1, 1), np.nan), np.zeros(1), np.zeros(1, bool))
    with pytest.raises(SubjectError, match="chain"):
        ReluNetwork.dense([np.eye(2), np.eye(3)], [np.zeros(2), np.zeros(3)])


@given(st.lists(st.lists(st.integers(-3, 3), min_size=2, max_size=2), min_size=2, max_size=2))
def test_the_two_algebras_agree(table: list[list[int]]) -> None:
    A = np.array(table, float)
    B = np.array([[1.0, -2.0], [0.0, 3.0]])
    pairs = [
        (FLOATS.product(A, B), RATIONALS.product(ExactMatrix.of(A), ExactMatrix.of(B))),
        (FLOATS.block([A, B]), RATIONALS.block([ExactMatrix.of(A), ExactMatrix.of(B)])),
        (FLOATS.stack([A, B]), RATIONALS.stack([ExactMatrix.of(A), ExactMatrix.of(B)])),
        (FLOATS.beside([A, B]), RATIONALS.beside([ExactMatrix.of(A), ExactMatrix.of(B)])),
        (FLOATS.scale(2, A), RATIONALS.scale(2, ExactMatrix.of(A))),
    ]
    for floats, rationals in pairs:
        assert ExactMatrix.of(np.asarray(floats)) == rationals
    assert RATIONALS.nnz(ExactMatrix.of(A)) == FLOATS.nnz(A)
    assert RATIONALS.image(ExactMatrix.of(A), (fmpq(1), fmpq(2))) == tuple(
        map(rational, A @ np.array([1.0, 2.0]))
    )


@pytest.mark.parametrize("share", [0.1, 0.9])
def test_a_product_with_a_dense_matrix_is_that_of_fractions(share):
    rng = np.random.default_rng(3)
    one = np.where(rng.random((6, 5)) < share, rng.integers(-9, 9, (6, 5)) / 8, 0.0)
    other = rng.integers(-9, 9, (5, 3)) / 4
    found = ExactMatrix.of(one).times([[rational(t) for t in row] for row in other.tolist()])
    meant = [
        [sum(Fraction(one[i, j]) * Fraction(other[j, k]) for j in range(5)) for k in range(3)]
        for i in range(6)
    ]
    assert [[fraction(t) for t in row] for row in found] == meant


def test_rationals_are_kept_by_the_numbers_of_the_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    """A copy shares them, a weight that is changed in place does not; few are kept."""
    W, V = np.array([[1.0, 2.0]]), np.array([[1.5]])
    net, twin = (
        ReluNetwork.dense([W.copy(), V.copy()], [np.zeros(1), np.zeros(1)]) for _ in range(2)
    )
    kept = exact(net)
    assert exact(twin) is kept
    net.steps[0].matrix[0, 0] = 3.0
    assert exact(net)([1, 0]) == (Fraction(9, 2),) and exact(twin)([1, 0]) == (Fraction(3, 2),)
    monkeypatch.setattr(exact_forms, "MOST_KEPT", 3)
    assert exact(net) is exact(net) and exact(twin) is not kept
    monkeypatch.setattr(exact_forms, "MOST_KEPT", 2)
    assert exact(net) is not exact(net)


def test_a_sparse_network_has_its_own_rationals() -> None:
    A = np.array([[0.0, 1.5], [0.25, 0.0]])
    matrices = sparse.csr_array(A), sparse.csr_array(A.T)
    one, other = (
        ReluNetwork((Step(matrix, np.zeros(2), np.zeros(2, bool)),)) for matrix in matrices
    )
    assert exact(one)([1, 2]) == (Fraction(3), Fraction(1, 4))
    assert exact(other)([1, 2]) == (Fraction(1, 2), Fraction(3, 2))
