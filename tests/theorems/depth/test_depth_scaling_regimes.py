"""Random residual networks of great depth, and which limit a given network is near."""

from math import exp, log, pi, sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from ftheta.flows.chains import residual_chain
from ftheta.flows.regimes import Regime, measure_regime
from ftheta.logic import Verdict
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.depth.depth_scaling_regimes import depth_scaling_regimes, signs_claim
from ftheta.theorems.depth.depth_scaling_regimes.random_blocks import (
    RandomBlocks,
    layer_correlation,
    moments,
    smooth_weights,
)


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("beta, moment", [(0.5, 2.7048138), (1.0, 1.0100497), (0.25, 13780.6123)])
def test_the_second_moment_of_a_hundred_blocks(beta, moment):
    low, exact, high = moments(beta, 100)
    assert (
        exact.middle == pytest.approx(moment, rel=5e-8) and low.hi < exact.lo and exact.hi < high.lo
    )


@pytest.mark.parametrize("relu", [False, True])
def test_the_quotients_have_the_law_that_networks_have(relu):
    blocks = RandomBlocks(0.5, 6, relu)
    rng = np.random.default_rng(0)
    h = rng.normal(size=6)
    own = []
    for _ in range(4000):
        path = blocks.path(blocks.weights(1, rng), h, 0.7)
        own.append(path[-1] @ path[-1] / (h @ h))
    found: Any = stats.ks_2samp(own, blocks.quotients(0.7, (40_000,), rng))
    assert found.pvalue > 1e-4


def test_the_logarithm_of_a_quotient_is_integrated_to_many_digits():
    blocks = RandomBlocks(0.5, 3)
    # normal and χ²₂
    alpha = blocks.alpha(50)
    density = lambda g, c: exp(-(g**2) / 2) / sqrt(2 * pi) * exp(-c / 2) / 2
    value = lambda g, c: log((1 + alpha * g / sqrt(3)) ** 2 + alpha**2 * c / 3) * density(g, c)
    wanted = 50 * integrate.dblquad(value, 0, 60, -8, 8, epsabs=1e-12)[0]
    assert blocks.log_growth(50)[0] == pytest.approx(wanted, abs=1e-7)


def test_the_law_of_the_logarithm_tends_to_a_normal_one():
    centre, variance = RandomBlocks(0.5, 16).log_growth(100_000)
    assert centre == pytest.approx(1 - 2 / 16, abs=1e-4) and variance == pytest.approx(
        4 / 16, abs=1e-4
    )


def test_the_network_and_its_path_agree():
    for relu in (False, True):
        blocks = RandomBlocks(0.5, 5, relu)
        rng = np.random.default_rng(0)
        params = blocks.weights(7, rng)
        h = rng.normal(size=5)
        np.testing.assert_allclose(
            blocks.apply(params, h), blocks.path(params, h, 7**-0.5)[-1], rtol=1e-12
        )


@pytest.mark.parametrize("relu", [False, True])
def test_additive_noise_as_printed_is_refuted_in_intervals(relu):
    (printed,) = run(depth_scaling_regimes, relu=relu, depth=10, dimension=4, draws=16).as_printed
    assert printed.judgement.verdict is Verdict.REFUTED


def test_tied_layers_are_seen():
    rng = np.random.default_rng(0)
    for rho in (0.0, 0.5):
        found, error = layer_correlation(RandomBlocks(0.5, 20, correlation=rho).weights(50, rng))
        assert abs(found - rho) < 5 * error


def looked_at(blocks: Any, params: Any, d: int, draws: int = 300) -> Regime:
    chain = residual_chain(blocks, params, (d,))
    rng = np.random.default_rng(5)
    return measure_regime(chain, chain.weights(params), rng.normal(size=(8, d)), draws, rng)


def stepping(alpha: float) -> Any:
    return lambda V, h: jax.lax.scan(lambda h, V: (h + alpha * jnp.tanh(V @ h), None), h, V)[0]


@pytest.mark.parametrize(
    "smooth, alpha, name",
    [
        (False, 64**-0.5, "diffusion (SDE)"),
        (False, 1 / 6400, "identity"),
        (True, 1 / 64, "flow (ODE)"),
        (True, 1 / 6400, "identity"),
    ],
)
def test_the_regime_of_a_network_is_told_from_its_weights(smooth, alpha, name):
    rng = np.random.default_rng(2)
    A = rng.normal(size=(3, 12, 12)) / np.sqrt(36)
    V = smooth_weights(12, 64, A) if smooth else rng.normal(size=(64, 12, 12)) / np.sqrt(12)
    found = looked_at(stepping(alpha), V, 12)
    assert found.name == name, found
    H = found.weight_exponent.middle
    assert H > 0.8 if smooth else abs(H - 0.5) < 0.1
    assert signs_claim(found).judge().verdict.holds


def test_a_network_that_explodes_is_told():
    V = np.random.default_rng(0).normal(size=(64, 12, 12)) / np.sqrt(12)
    linear = lambda V, h: jax.lax.scan(lambda h, V: (h + 3 * V @ h, None), h, V)[0]
    assert looked_at(linear, V, 12).name == "explosion"


def test_the_same_weights_in_every_layer_add_up_like_a_flow():
    V = np.broadcast_to(np.random.default_rng(0).normal(size=(12, 12)) / np.sqrt(12), (16, 12, 12))
    found = looked_at(stepping(1 / 16), np.array(V), 12)
    assert found.field_exponent.middle == pytest.approx(1, abs=1e-6) and found.name == "flow (ODE)"


def test_random_signs_leave_the_mean_square_of_the_sums():
    """Two linear blocks in one dimension: the four choices of signs, by hand."""
    a = 0.3
    b = -0.7
    mean = np.mean([((1 + s * a) * (1 + t * b)) ** 2 for s in (-1, 1) for t in (-1, 1)])
    assert mean == pytest.approx(1 + a**2 + b**2 * (1 + a**2))


def test_a_network_with_few_blocks_is_told_so():
    short = Network("short", stepping(1.0), np.zeros((3, 4, 4)), (4,))
    result = run(depth_scaling_regimes, short)
    assert (
        result.verdict == "inapplicable" and "3 blocks of one kind" in result.checks[0].finding.note
    )
