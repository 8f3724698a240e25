"""Ends of spectra: against dense eigenvalues, closed forms, and the statements that the bounds make."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse.linalg import eigsh

from ftheta.logic import Basis, UsageError
from ftheta.spectra import Operator, extremes, spectral_density, trace

from ..thoroughness import max_examples


def symmetric(values, seed=0):
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values), len(values))))[0]
    A = turn @ np.diag(values) @ turn.T
    return (A + A.T) / 2


@given(seed=st.integers(0, 10**6), n=st.integers(12, 60), k=st.integers(1, 4))
@max_examples(12)
def test_both_ends_agree_with_a_dense_computation(seed, n, k):
    rng = np.random.default_rng(seed)
    A = symmetric(rng.normal(size=n) * 10.0 ** rng.uniform(-3, 3), seed)
    found = extremes(Operator.of(A), k, tol=1e-9, products=2000, dense=0, rng=rng)
    values = np.linalg.eigvalsh(A)
    scale = np.abs(values).max()
    assert np.allclose(found.largest.values, values[::-1][:k], atol=1e-8 * scale)
    assert np.allclose(found.smallest.values, values[:k], atol=1e-8 * scale)
    assert found.converged and not found.complete


def test_every_residual_interval_contains_an_eigenvalue_even_before_convergence():
    values = np.linspace(0, 1, 400) ** 2
    A = symmetric(values)
    found = extremes(Operator.of(A), 5, tol=1e-12, products=30, dense=0)
    assert not found.converged
    for ritz in (found.largest, found.smallest):
        for i in range(5):
            near = ritz.near(i)
            assert np.any((near.lo - 1e-12 <= values) & (values <= near.hi + 1e-12))
            y = ritz.vectors[:, i]
            assert np.linalg.norm(A @ y - ritz.values[i] * y) == pytest.approx(
                ritz.residuals[i], rel=1e-6, abs=1e-12
            )


def test_restarts_reach_what_a_small_basis_cannot_hold():
    values = np.r_[np.linspace(0, 1, 900), 1.02, 1.03, 1.05, 1.1]
    found = extremes(
        Operator.of(symmetric(values)), 4, "largest", tol=1e-7, basis=12, products=3000
    )
    assert found.products > 50 and found.converged
    assert np.allclose(found.largest.values, [1.1, 1.05, 1.03, 1.02], atol=1e-7)


def test_eigenvalues_agree_with_arpack():
    A = symmetric(np.random.default_rng(3).normal(size=500) ** 3)
    theirs = np.sort(eigsh(A, k=6, which="LA")[0])[::-1]
    assert np.allclose(
        extremes(Operator.of(A), 6, "largest", tol=1e-9).largest.values, theirs, rtol=1e-9
    )


@pytest.mark.parametrize(
    "matrix", [np.eye(300) * 3, np.zeros((300, 300)), np.diag([7.0] * 2 + [0.0] * 298)]
)
def test_invariant_subspaces_and_multiple_eigenvalues_are_met(matrix):
    found = extremes(Operator.of(matrix), 2, dense=0)
    values = np.linalg.eigvalsh(matrix)
    assert np.allclose(found.largest.values, values[::-1][:2], atol=1e-12)
    assert np.allclose(found.smallest.values, values[:2], atol=1e-12)


def test_the_stated_bound_of_both_ends_holds_as_often_as_it_says():
    """At confidence 1/2 the bound may fail in half of the runs; spectra that are hard for Lanczos."""
    values = np.r_[1.0, 1 - np.linspace(0.001, 1, 399)]
    A = symmetric(values)
    rng = np.random.default_rng(1)
    runs = [
        extremes(Operator.of(A), 1, tol=1e-14, products=steps + 2, basis=60, dense=0, rng=rng)
        for steps in [6] * 60
    ]
    assert all(run.range[1] <= 1 + 1e-12 for run in runs)
    inside = [
        1.0 in run.top(0.5) and values.min() in run.bottom(0.5).widened(absolute=1e-12)
        for run in runs
    ]
    assert np.mean(inside) >= 0.5
    assert any(run.range[1] < 0.99 for run in runs)  # the bound was needed


def test_small_matrices_are_complete_and_their_ends_are_enclosed():
    values = np.linspace(-2, 5, 40)
    found = extremes(Operator.of(symmetric(values)), 1)
    assert found.complete and found.top().basis is Basis.FLOAT
    assert 5.0 in found.top() and -2.0 in found.bottom() and 5.0 in found.norm()
    assert found.top().width < 1e-10


def test_memory_does_not_grow_with_the_work():
    from ftheta.spectra.lanczos import _Process

    process = _Process(
        Operator.of(symmetric(np.linspace(0, 1, 300))),
        2,
        "largest",
        1e-14,
        10,
        np.random.default_rng(0),
    )
    process.run(200)
    assert process.V.shape == (300, 11) and process.products >= 200
    V = process.V[:, : process.size]
    assert np.abs(V.T @ V - np.eye(process.size)).max() < 1e-12


def test_the_density_integrates_to_one_and_its_moments_are_those_of_the_matrix():
    values = np.r_[np.linspace(-1, 1, 200), 4.0]
    A = symmetric(values)
    found = spectral_density(Operator.of(A), probes=16, steps=30)
    x, y = found.curve()
    assert np.trapezoid(y, x) == pytest.approx(1, abs=1e-4)
    for power in (1, 2, 3):
        assert np.mean(values**power) in found.moment(power)
    assert values.sum() in found.trace and values.sum() in trace(Operator.of(A), probes=20)


def test_the_quadrature_is_exact_for_the_full_number_of_steps():
    A = symmetric(np.arange(1.0, 13.0))
    found = spectral_density(Operator.of(A), probes=2, steps=12)
    v = np.random.default_rng(0).choice([-1.0, 1.0], 12)
    assert (found.weights[0] * np.exp(found.nodes[0])).sum() == pytest.approx(
        v
        @ np.linalg.eigh(A)[1]
        @ np.diag(np.exp(np.arange(1.0, 13.0)))
        @ np.linalg.eigh(A)[1].T
        @ v
        / 12,
        rel=1e-9,
    )


@pytest.mark.parametrize("how", [{"k": 0}, {"k": 301}, {"tol": 0.0}, {"k": 5, "basis": 6}])
def test_what_cannot_be_asked_is_refused(how):
    with pytest.raises(UsageError):
        extremes(Operator.of(np.eye(300)), dense=0, **how)
    with pytest.raises(UsageError):
        Operator.of(np.array([[1.0, 2.0], [0.0, 1.0]]))


def test_an_end_that_was_not_asked_for_is_refused():
    found = extremes(Operator.of(symmetric(np.linspace(-2, 5, 300))), 1, "largest", dense=0)
    assert 5.0 in found.top()
    with pytest.raises(UsageError, match="smallest"):
        found.bottom()
    with pytest.raises(UsageError, match="smallest"):
        found.norm()


@pytest.mark.parametrize("ends", ["largest", "smallest", "both"])
def test_the_ends_asked_for_are_covered_whatever_the_stopping_rule_and_the_restarts_do(ends):
    """Spectra whose other end is far out: a restart forgets it, and the bound of the first end needs it."""
    rng = np.random.default_rng(2)
    for _ in range(12):
        values = np.r_[rng.uniform(-3, 3), rng.random(99) * 0.1, rng.uniform(-3, 3)]
        tol = 10 ** -rng.uniform(0.5, 6)
        basis = int(rng.integers(10, 24))
        found = extremes(
            Operator.of(symmetric(values)),
            1,
            ends,
            tol=tol,
            basis=basis,
            products=60,
            dense=0,
            rng=rng,
        )
        wanted = {"top": values.max()} if ends != "smallest" else {}
        wanted |= {"bottom": values.min()} if ends != "largest" else {}
        wanted |= {"norm": np.abs(values).max()} if ends == "both" else {}
        for name, truth in wanted.items():
            assert truth in getattr(found, name)(), (name, tol, basis)


def test_the_bound_pays_for_every_size_at_which_the_run_could_have_ended():
    found = extremes(
        Operator.of(symmetric(np.linspace(0, 1, 300))),
        1,
        "largest",
        basis=24,
        products=400,
        dense=0,
    )
    assert found.looks == 6  # 4, 8, …, 24
    assert found.spill(0.9) == pytest.approx(replace(found, looks=1).spill(1 - 0.1 / 6), rel=1e-12)


@pytest.mark.parametrize("ends", ["largest", "smallest", "both"])
def test_the_ends_of_a_matrix_at_hand_are_those_of_its_whole_spectrum(ends):
    rng = np.random.default_rng(0)
    half = rng.normal(size=(450, 450))
    matrix = half + half.T
    found = extremes(Operator.of(matrix), 2, ends, dense=500)
    values = np.linalg.eigvalsh(matrix)
    assert found.complete and found.range == pytest.approx((values[0], values[-1]))
    for ritz, wanted in ((found.largest, values[::-1][:2]), (found.smallest, values[:2])):
        assert len(ritz.values) in (0, 2)
        for k, value in enumerate(ritz.values):
            assert value == pytest.approx(wanted[k])
            assert np.allclose(matrix @ ritz.vectors[:, k], value * ritz.vectors[:, k])
