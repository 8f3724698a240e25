"""Flows from noise to data: exact velocities, coupling layers, traces, and the models of `ft.flow`."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import ftheta as ft
from ftheta.flows.continuous import carry_with_density, normal_log_density
from ftheta.flows.coupling import fit_coupling
from ftheta.flows.matching import conditional_variance, divergence, velocity
from ftheta.flows.mixture_integrals import LineMixture
from ftheta.flows.mixtures import Mixture
from ftheta.flows.traces import PROBES, draw_probes, estimate_divergence, probe_variance
from ftheta.flows.velocity_networks import VelocityNetwork
from ftheta.logic import UsageError
from ftheta.networks.description import random_mlp

from ..thoroughness import max_examples

LAW = Mixture(np.array([[-1.0, 0.3], [1.5, -0.5]]), np.array([0.4, 0.6]), 0.09)
ROWS = np.random.default_rng(0).normal(size=(120, 2)) @ np.array([[1.0, 0.8], [0.0, 0.5]])
ROWS[:, 1] += ROWS[:, 0] ** 2


def test_log_densities_are_those_of_scipy():
    x = np.random.default_rng(1).normal(size=(20, 2))
    peer = sum(
        w * stats.multivariate_normal(a, 0.09 * np.eye(2)).pdf(x)
        for w, a in zip(LAW.weights, LAW.atoms)
    )
    assert np.allclose(LAW.log_density(x), np.log(peer))


@pytest.mark.parametrize("t", [0.0, 0.3, 0.8])
def test_the_divergence_is_that_of_the_velocity(t):
    x = np.random.default_rng(2).normal(size=(6, 2))
    h = 1e-6
    traces = sum(
        (velocity(LAW, t, x + h * e) - velocity(LAW, t, x - h * e))[:, j]
        for j, e in enumerate(np.eye(2))
    )
    assert np.allclose(divergence(LAW, t, x), traces / (2 * h), atol=1e-6)


def test_velocity_and_variance_are_conditional_moments_on_a_grid():
    law = Mixture(np.array([[-1.0], [2.0]]), np.array([0.5, 0.5]), 0.25)
    t = 0.4
    x = 0.3
    ends = np.linspace(-6, 8, 20_001)
    noise = (x - t * ends) / (1 - t)
    shares = np.exp(law.log_density(ends[:, None]) - noise**2 / 2)
    shares /= shares.sum()
    lines = ends - noise
    mean = float(shares @ lines)
    at = np.array([[x]])
    assert velocity(law, t, at)[0, 0] == pytest.approx(mean, rel=1e-9)
    assert conditional_variance(law, t, at)[0] == pytest.approx(
        float(shares @ (lines - mean) ** 2), rel=1e-9
    )


def test_the_density_carried_by_the_exact_velocity_is_that_of_the_mixture():
    start = np.random.default_rng(3).normal(size=(10, 2))
    ends, change = carry_with_density(
        lambda t, x: velocity(LAW, t, x),
        lambda t, x: divergence(LAW, t, x),
        start,
        np.linspace(0, 1, 201),
    )
    assert np.allclose(normal_log_density(start) + change, LAW.log_density(ends), atol=1e-4)


@max_examples(6)
@given(st.integers(0, 10_000), st.integers(1, 3), st.floats(0.05, 1.5))
def test_means_in_balls_enclose_quadrature(seed, atoms, noise):
    rng = np.random.default_rng(seed)
    law = Mixture(rng.normal(size=(atoms, 1)), rng.dirichlet(np.ones(atoms)), 0.2)
    line = LineMixture.of(law, noise)
    found = line.mean(lambda x: line.score(x) ** 2, 1e6)
    noised = law.add_noise(noise)

    x = np.linspace(-25, 25, 4001)[:, None]
    peer = float(np.exp(noised.log_density(x)) @ noised.score(x)[:, 0] ** 2) * float(
        x[1, 0] - x[0, 0]
    )
    assert float(found.mid()) == pytest.approx(peer, rel=1e-6)


def test_a_coupling_flow_inverts_itself_and_improves_on_a_gaussian():
    flow = fit_coupling(ROWS, np.random.default_rng(0), layers=4)
    x, change = flow.inverse(ROWS)
    back, forward = flow.forward(x)
    assert np.allclose(back, ROWS, atol=1e-9)
    assert np.allclose(change + forward, 0, atol=1e-9)
    plain = stats.multivariate_normal(ROWS.mean(0), np.cov(ROWS.T, bias=True)).logpdf(ROWS).mean()
    assert flow.log_density(ROWS).mean() > plain + 0.2


@pytest.mark.parametrize("kind", PROBES)
def test_probes_have_the_variance_of_their_formula(kind):
    A = np.array([[1.0, 2, 0], [-1, 3, 1], [4, 0, -2]])
    z = draw_probes(kind, np.random.default_rng(5), 40_000, 3)
    draws = np.einsum("ni,ij,nj->n", z, A, z)
    expected = float(probe_variance([[Fraction(v) for v in row] for row in A.tolist()], kind))
    assert draws.mean() == pytest.approx(2, abs=6 * np.sqrt(expected / len(draws)))
    assert draws.var() == pytest.approx(expected, rel=0.1)


def test_the_divergence_of_a_velocity_network_is_the_mean_of_its_probes():
    net = VelocityNetwork(
        random_mlp(np.random.default_rng(0), (4, 8, 8, 3), "tanh", bias=0.5).layers
    )
    x = np.random.default_rng(1).normal(size=(5, 3))
    signs = np.array(np.meshgrid(*[[-1.0, 1.0]] * 3)).reshape(3, -1).T
    guesses = [estimate_divergence(lambda y: net(0.3, y), x, np.tile(z, (5, 1))) for z in signs]
    assert np.allclose(np.mean(guesses, 0), net.divergence(0.3, x), atol=1e-6)


@pytest.mark.parametrize("kind", ["coupling", "exact"])
def test_the_density_of_a_model_integrates_to_the_share_of_its_samples(kind):
    """A trained flow has tails that no box holds: the mass of a box is compared with the samples inside of it."""
    model = ft.flow(ROWS, kind)
    u = np.linspace(-7, 7, 281)
    v = np.linspace(-5, 20, 501)
    grid = np.stack(np.meshgrid(u, v), -1).reshape(-1, 2)
    logs, errors = model.log_density(grid)
    mass = np.exp(logs).sum() * (u[1] - u[0]) * (v[1] - v[0])
    assert errors.max() < 1e-6
    assert mass <= 1.005
    made = model.sample(20_000)
    inside = (abs(made[:, 0]) < 7) & (made[:, 1] > -5) & (made[:, 1] < 20)
    share = inside.mean()
    assert share > 0.95
    assert mass == pytest.approx(share, abs=5 * np.sqrt(1e-2 / len(made)) + 2e-3)
    assert made[inside].mean(0) == pytest.approx(ROWS.mean(0), abs=0.4)


@pytest.mark.nightly
def test_a_trained_velocity_stays_above_the_floor_and_its_density_integrates_to_one():
    model = ft.flow(ROWS, "matching", steps=600)
    assert model.floor is not None and model.loss.hi > model.floor.lo
    u = np.linspace(-7, 7, 71)
    v = np.linspace(-5, 20, 126)
    grid = np.stack(np.meshgrid(u, v), -1).reshape(-1, 2)
    assert np.exp(model.log_density(grid)[0]).sum() * (u[1] - u[0]) * (
        v[1] - v[0]
    ) == pytest.approx(1, abs=0.02)


def test_bad_input_is_refused():
    with pytest.raises(UsageError, match="did you mean"):
        ft.flow(ROWS, "coupler")
    with pytest.raises(UsageError, match="constant"):
        ft.flow(np.stack([ROWS[:, 0], np.ones(len(ROWS))], 1), "exact")
    with pytest.raises(UsageError, match="finite"):
        ft.flow(np.array([[np.inf, 1.0], [0.0, 0.0]]))
    with pytest.raises(UsageError, match="entries per row"):
        ft.flow(ROWS, "coupling").log_density(np.ones((3, 5)))


@pytest.mark.parametrize("kind", ["matching", "coupling", "exact"])
def test_rows_without_a_density_or_with_squares_that_overflow_are_refused(kind):
    with pytest.raises(UsageError, match="constant"):
        ft.flow(np.stack([ROWS[:, 0], np.ones(len(ROWS))], 1), kind, steps=1)
    with pytest.raises(UsageError, match="no float64 numbers"):
        ft.flow(1e200 * ROWS, kind, steps=1)


def test_a_blur_that_is_no_number_is_refused():
    with pytest.raises(UsageError, match="blur"):
        ft.flow(ROWS, "exact", spread=float("nan"))


def test_a_coupling_flow_does_not_depend_on_where_the_columns_lie():
    """What is added to the covariance is relative to the spread of each column, not to the distance of their means."""
    moved = ft.flow(ROWS + np.array([0.0, 2.0**30]), "coupling", layers=0)
    assert moved.loss.middle == pytest.approx(
        ft.flow(ROWS, "coupling", layers=0).loss.middle, abs=1e-6
    )


def test_a_law_of_many_rows_is_not_that_of_the_first_ones():
    rows = np.repeat([0.0, 1.0], [6000, 6000])[:, None]
    assert ft.diffuse(rows).law.atoms.mean() == pytest.approx(0, abs=0.1)
    density = ft.flow(rows, "exact").log_density(np.array([[0.0], [1.0]]))[0]
    assert density[0] == pytest.approx(density[1], abs=0.1)
