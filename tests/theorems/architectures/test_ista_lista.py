"""ISTA, FISTA and their network against scikit-learn's LASSO, closed forms and each other."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import Lasso

import ftheta as ft
from ftheta.logic import SubjectError, Verdict
from ftheta.relu.counts import count
from ftheta.theorems.architectures.ista_lista.lista import Lista, as_ista, layers, train_lista
from ftheta.theorems.architectures.ista_lista.sparse_coding import SparseCoding, exact_code, shrink


def problem(weight: float = 0.1, signals: int = 12, step: float = 1.0) -> SparseCoding:
    rng = np.random.default_rng(0)
    A = rng.normal(size=(10, 16)) / 3
    return SparseCoding(A, rng.normal(size=(signals, 10)), weight, step)


def test_codes_are_scikit_learns_lasso():
    p = problem()
    for code, x in zip(p.solution, p.signals):
        peer = Lasso(p.weight / len(x), fit_intercept=False, tol=1e-14, max_iter=10**6).fit(p.A, x)
        assert np.allclose(code, peer.coef_, atol=1e-6)
    assert (p.gaps(p.solution) < 1e-10).all()


def test_the_gap_bounds_the_distance_to_the_least_value():
    p = problem()
    least = p.values(p.solution)
    for codes in (*p.ista(50), *p.fista(50)):
        assert (p.duals(codes) <= least + 1e-12).all() and (p.values(codes) >= least - 1e-12).all()


@pytest.mark.parametrize("depth", [1, 2, 5])
def test_the_relu_network_is_ista(depth):
    p = problem(step=0.7)
    net = p.network(depth)
    assert np.allclose(net(p.signals), p.ista(depth)[-1], atol=1e-13)
    assert count(net).neurons == 2 * 16 * depth


def test_orthonormal_columns_need_one_step():
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.normal(size=(8, 5)))[0]
    p = SparseCoding(Q, rng.normal(size=(4, 8)), 0.3)
    assert np.allclose(p.ista(1)[-1], shrink(p.signals @ Q, 0.3), atol=1e-12)
    assert np.allclose(p.ista(1)[-1], p.solution, atol=1e-9)


def test_exact_codes_meet_the_conditions_and_others_do_not():
    eye = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    assert exact_code(eye, [Fraction(3), Fraction(1, 4)], Fraction(1)) == ([2, 0], 0)
    bent = [[Fraction(1), Fraction(1, 2)], [Fraction(0), Fraction(1)]]
    assert exact_code(bent, [Fraction(3), Fraction(2)], Fraction(1))[1] > 0


def test_untrained_lista_is_ista_in_jax_and_in_numpy():
    p = problem()
    start = as_ista(p)
    assert np.allclose(Lista(start, 4, np.zeros(0)).codes(p.signals), p.ista(4)[1:], atol=1e-12)
    assert np.allclose(layers(start, p.signals[3], 4), p.ista(4)[1:, 3], atol=1e-5)


def test_training_lowers_the_error_on_its_own_signals():
    p = problem(signals=40)
    trained = train_lista(p, 3, 150, 0)
    error = lambda codes: ((codes - p.solution) ** 2).sum()
    assert error(trained.codes(p.signals)[-1]) < error(p.ista(3)[-1])


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(SubjectError, match="dictionary"):
        SparseCoding(np.eye(3), np.zeros((2, 4)), 0.1)


def test_a_users_single_signal_is_coded_without_learning():
    rng = np.random.default_rng(2)
    A = rng.normal(size=(6, 9))
    result = ft.check("ista-lista", ft.Dataset("mine", A, A[:, 0] * 2))
    assert result.verdict in (Verdict.CERTIFIED, Verdict.CONSISTENT)
    assert ft.check("ista-lista", ft.Dataset("no signals", A)).verdict is Verdict.INAPPLICABLE
