"""Best approximation of low rank: the certificate, the training and the ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.low_rank import decompose
from ftheta.logic import Basis, Converges, Verdict
from ftheta.theorems.architectures.autoencoder_svd_rom import (
    autoencoder_claims,
    galerkin,
    second_minimiser,
)
from ftheta.theorems.architectures.autoencoder_svd_rom.best_rank import (
    competitors,
    dual_bound,
    loss,
    sine,
    weyl_excess,
)
from ftheta.theorems.architectures.autoencoder_svd_rom.training import (
    critical_gradient,
    train,
    way_down,
)
from ftheta.theorems.snapshots import SNAPSHOTS, snapshots

shapes = st.tuples(st.integers(2, 12), st.integers(2, 12))


def matrix(shape: tuple[int, int], seed: int, decay: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=shape) * decay ** np.arange(shape[1])


@given(shapes, st.integers(0, 99), st.floats(0.3, 1.0))
def test_the_dual_bound_meets_the_truncated_decomposition(shape, seed, decay):
    X = matrix(shape, seed, decay)
    found = decompose(X)
    for r in range(1, min(shape)):
        best = loss(X, found.V[:, :r])
        bound = dual_bound(X, r)
        assert bound <= best + 1e-12 * (X**2).sum()
        assert bound == pytest.approx(best, abs=1e-11 * (X**2).sum())


@given(shapes, st.integers(0, 99), st.integers(1, 5))
def test_no_matrix_of_rank_r_comes_below_the_dual_bound(shape, seed, r):
    X = matrix(shape, seed)
    rng = np.random.default_rng(seed + 1000)
    r = min(r, min(shape) - 1)
    left = rng.normal(size=(shape[0], r))
    right = rng.normal(size=(r, shape[1]))
    for _ in range(3):  # least squares in turn: free factors, not projections
        left = X @ np.linalg.pinv(right)
        right = np.linalg.pinv(left) @ X
    assert ((X - left @ right) ** 2).sum() >= dual_bound(X, r) * (1 - 1e-10) - 1e-10


@given(shapes, st.integers(0, 99))
def test_more_rows_than_columns_change_neither_singular_values_nor_losses(shape, seed):
    X = matrix(shape, seed)
    found = decompose(X)
    assert found.sigma == pytest.approx(np.linalg.svd(X, compute_uv=False), abs=1e-12)
    assert loss(X, found.V[:, :1]) == pytest.approx(
        loss(found.X, found.V[:, :1]), rel=1e-10, abs=1e-12
    )


def test_rivals_have_rank_r_and_obey_weyl():
    found = decompose(matrix((9, 7), 3))
    rivals = competitors(found, 2, np.random.default_rng(0), 8)
    assert all(np.linalg.matrix_rank(B, tol=1e-9) == 2 for B in rivals)
    excess, nearest = weyl_excess(found, 2, rivals)
    assert excess < 1e-12
    assert nearest >= found.tail(2) ** 0.5
    cheat = [found.truncate(3)]  # of rank three: Weyl's shift by two does not hold for it
    assert weyl_excess(found, 2, cheat)[0] > 0.1


@pytest.mark.parametrize("kind", ["travelling pulse", "nearly tied", "diagonal 3 2 1"])
def test_training_settles_on_the_top_subspace_with_the_least_loss(kind):
    found = decompose(snapshots(kind, 30, 20))
    for r in (1, 2):
        trained = train(found.X, r, np.random.default_rng(r), 5000)
        assert trained.settled
        assert sine(found.V[:, :r], trained.basis) < 1e-10
        assert trained.losses[-1] == pytest.approx(found.tail(r), rel=1e-9)
        assert (np.diff(trained.losses) <= 1e-12 * trained.losses[0] + 1e-12).all()


def test_a_training_cut_short_claims_no_limit():
    found = decompose(snapshots("nearly tied", 0, 0))
    trained = train(found.X, 3, np.random.default_rng(0), 5)
    assert not trained.settled
    claims = autoencoder_claims(found, 3, trained)
    judged = [c.judge().verdict for c in claims]
    assert any(isinstance(c, Converges) for c in claims)
    assert Verdict.REFUTED not in judged and Verdict.INCONCLUSIVE in judged


def test_the_sine_is_exact_at_small_right_and_equal_angles():
    e = np.eye(4)
    assert sine(e[:, :2], e[:, :2]) == 0
    assert sine(e[:, :2], e[:, 1:3]) == 1
    t = 1e-9
    turned = np.stack([e[:, 0], np.cos(t) * e[:, 1] + np.sin(t) * e[:, 2]], 1)
    assert sine(e[:, :2], turned) == pytest.approx(1e-9, rel=1e-6)


@given(shapes, st.integers(0, 99))
def test_every_eigen_subspace_is_critical_and_all_but_the_top_have_a_way_down(shape, seed):
    found = decompose(matrix(shape, seed))
    scale = float((found.sigma**2).sum())
    for r in range(1, len(found.sigma)):
        saddle = np.delete(found.V[:, : r + 1], r - 1, axis=1)
        assert critical_gradient(found.X, saddle) < 1e-11 * scale
        drop, formula = way_down(found, r)
        assert drop == pytest.approx(formula, abs=1e-12 * scale)
    generic = np.linalg.qr(np.random.default_rng(seed).normal(size=(shape[1], 1)))[0]
    assert critical_gradient(found.X, generic) > 1e-6 * scale


def test_the_gradient_is_that_of_the_loss_of_encoder_and_decoder():
    X = matrix((5, 4), 0)
    Q = np.linalg.qr(matrix((4, 2), 1))[0]
    value = lambda E, D: ((X - X @ E @ D) ** 2).sum()
    h = 1e-6
    square = 0.0
    for which in (0, 1):
        for place in np.ndindex((4, 2) if which == 0 else (2, 4)):
            ends = []
            for sign in (1, -1):
                factors = [Q.copy(), Q.T.copy()]
                factors[which][place] += sign * h
                ends.append(value(*factors))
            square += ((ends[0] - ends[1]) / (2 * h)) ** 2
    assert critical_gradient(X, Q) == pytest.approx(square**0.5, rel=1e-6)


def test_a_tie_has_a_second_minimiser_in_integers_and_a_gap_has_none():
    tied = second_minimiser(decompose(np.diag([3.0, 2.0, 2.0, 1.0])), 2)
    assert (
        tied is not None
        and tied.left.basis is Basis.EXACT
        and tied.left.lo == 1
        and "loss 5 and 5" in tied.how
    )
    assert second_minimiser(decompose(np.diag([3.0, 2.0, 1.0])), 2) is None


def test_the_circling_pulse_has_ties_at_even_rank_only():
    found = decompose(snapshots("circling pulse", 32, 0))
    assert all(found.resolution(r) > 1e-3 for r in (1, 3, 5))
    assert all(found.resolution(r) < 1e-12 for r in (2, 4, 6))


def test_every_kind_of_snapshot_is_finite_and_a_matrix():
    for kind in SNAPSHOTS:
        X = snapshots(kind, 6, 5)
        assert X.ndim == 2 and np.isfinite(X).all()


def test_the_reduced_heat_equation_keeps_its_bound_for_any_code_and_is_exact_for_a_whole_one():
    rng = np.random.default_rng(3)
    u, L, tau = galerkin.heat_equation(rng)
    for r in (1, 5):
        basis = np.linalg.qr(rng.normal(size=(len(L), r)))[0]
        found = galerkin.reduce_dynamics(u, L, tau, basis)
        assert (found.error <= found.bound * (1 + 1e-12)).all()
    whole = galerkin.reduce_dynamics(u, L, tau, np.eye(len(L)))
    assert whole.error.max() < 1e-12 and whole.bound.max() < 1e-10


def test_one_wave_of_the_heat_equation_decays_as_in_closed_form():
    points = galerkin.POINTS
    _, L, tau = galerkin.heat_equation(np.random.default_rng(0))
    wave = np.sin(np.pi * np.arange(1, points + 1) / (points + 1))
    rate = 4 * (points + 1) ** 2 * np.sin(np.pi / (2 * (points + 1))) ** 2
    basis = wave[:, None] / np.linalg.norm(wave)
    states = galerkin.step_backward(basis.T @ wave, basis.T @ L @ basis, tau)
    expected = np.linalg.norm(wave) / (1 + tau * rate) ** np.arange(galerkin.STEPS + 1)
    assert states[:, 0] == pytest.approx(expected, rel=1e-9)
