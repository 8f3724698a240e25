"""Residual blocks that are inverted."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import expm

from ftheta.flows.block_constants import block_constants
from ftheta.flows.chains import residual_chain
from ftheta.logic import Motion, Verdict
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.depth.flow_diffeomorphism import (
    flow_diffeomorphism,
    lifted_reflection,
    stage_claims,
    steepness_below_one,
)
from ftheta.theorems.depth.flow_diffeomorphism.charts import draw_stage
from ftheta.theorems.depth.flow_diffeomorphism.inverse import invert_stages


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def linear(params: Any, x: Any) -> Any:
    return jax.lax.scan(lambda x, B: (x + B @ x, None), x, params)[0]


def test_linear_blocks_are_inverted_like_a_linear_system_and_obey_liouville():
    rng = np.random.default_rng(0)
    B = 0.2 * rng.normal(size=(6, 3, 3))
    chain = residual_chain(linear, B, (3,))
    x = rng.normal(size=(5, 3))
    weights = chain.weights(B)
    constants = block_constants(chain, weights, x)
    assert [c.bound.hi for c in constants] == pytest.approx(
        [np.linalg.norm(b, 2) for b in B], rel=1e-12
    )
    (stage,) = invert_stages(chain, weights, constants, x)
    whole = np.eye(3)
    flow = np.eye(3)
    for b in B:
        whole = (np.eye(3) + b) @ whole
        flow = expm(b) @ flow
    np.testing.assert_allclose(stage.y, x @ whole.T, rtol=1e-12)
    np.testing.assert_allclose(np.linalg.solve(whole, stage.y.T).T, x, rtol=1e-9)
    assert stage.round_trip < 1e-12
    sign, logs, traces, flowed, integral = stage.volumes
    np.testing.assert_allclose(sign * np.exp(logs), np.linalg.det(whole), rtol=1e-10)
    np.testing.assert_allclose(traces, np.trace(B, axis1=1, axis2=2).sum(), rtol=1e-10)
    np.testing.assert_allclose(np.exp(flowed), np.linalg.det(flow), rtol=1e-7)
    np.testing.assert_allclose(integral, traces, rtol=1e-10)  # det e^B = e^(tr B)
    ratio, i, j = stage.stretch
    assert ratio >= np.linalg.svd(whole)[1][-1] - 1e-12 and i != j


def test_the_claims_hold_for_blocks_between_plain_layers():
    rng = np.random.default_rng(0)
    params = {"in": rng.normal(size=(3, 5)), "W": 0.3 * rng.normal(size=(4, 3, 3)) / np.sqrt(3)}

    def apply(params: Any, x: Any) -> Any:
        x = params["in"] @ x
        return jax.lax.scan(lambda x, W: (x + jnp.tanh(W @ x), None), x, params["W"])[0] ** 2

    result = run(flow_diffeomorphism, Network("between", apply, params, (5,)))
    assert result.verdict.holds, result.summary
    assert result.numbers["largest Lip(v_k)"].middle == pytest.approx(
        max(np.linalg.norm(W, 2) for W in params["W"])
    )


def test_a_block_that_is_too_steep_is_named():
    W = np.stack([0.5 * np.eye(2), 1.5 * np.eye(2), 0.5 * np.eye(2)])
    apply = lambda W, x: jax.lax.scan(lambda x, w: (x + jnp.tanh(w @ x), None), x, W)[0]
    found = steepness_below_one.check(Network("steep", apply, W, (2,)))
    assert found.status == "failed" and "1.5" in found.note and "at block 2 of 3" in found.note


def test_a_block_without_a_certificate_is_looked_at():
    apply = lambda W, x: x + (W @ x) / jnp.sqrt(1 + x @ x)
    gentle, steep = (
        steepness_below_one.check(Network("", apply, a * np.eye(2), (2,))) for a in (0.1, 9.0)
    )
    assert (
        gentle.status == "sampled" and steep.status == "failed" and "no certificate" in gentle.note
    )


def test_a_plain_network_is_told_so():
    plain = Network("plain", lambda W, x: jnp.tanh(W @ x), np.eye(3), (3,))
    result = run(flow_diffeomorphism, plain)
    assert result.verdict == "inapplicable" and "none of its" in result.checks[0].finding.note


def test_half_a_turn_reflects_the_line_in_the_plane():
    found = lifted_reflection()
    assert all(claim.judge().verdict.holds for claim in found.claims)


def test_films_of_blocks_begin_at_the_grid_and_end_where_the_blocks_lead():
    B = 0.2 * np.random.default_rng(1).normal(size=(5, 2, 2))
    chain = residual_chain(linear, B, (2,))
    x = np.random.default_rng(2).normal(size=(6, 2))
    weights = chain.weights(B)
    (stage,) = invert_stages(chain, weights, block_constants(chain, weights, x), x)
    film, _ = draw_stage(stage)
    assert isinstance(film, Motion)
    points = np.stack([film.xs, film.ys], 2)
    whole = np.eye(2)
    for b in B:
        whole = (np.eye(2) + b) @ whole
    np.testing.assert_allclose(points[-1], points[0] @ whole.T, atol=2e-3)
    assert film.times[0] == 0 and film.times[-1] == len(B)
    sides = [np.linalg.norm(np.diff(points[0][list(link)], axis=0), axis=1) for link in film.links]
    np.testing.assert_allclose(sides, np.ptp(x) / 12, atol=2e-4)


@jax.custom_jvp
def gentle(x: Any) -> Any:
    """tanh/10, with a derivative that says −5."""
    return jnp.tanh(x) / 10


gentle.defjvp(lambda primals, tangents: (gentle(primals[0]), -5 * tangents[0]))


def test_a_derivative_of_the_users_own_refutes_nothing():
    net = Network("a lying derivative", lambda a, x: x + gentle(a * x), np.array(1.0), (1,))
    result = run(flow_diffeomorphism, net, points=4)
    assert result.verdict is Verdict.CONSISTENT
    assert not any("det" in judged.claim.what for judged in result.claims)


def test_the_steepest_slope_found_of_a_block_without_a_certificate_is_no_witness():
    bent = lambda a, x: x + a * jnp.sin(x * x)  # its slope 2ax cos x² is unbounded
    chain = residual_chain(bent, np.array(0.2), (1,))
    weights = chain.weights(np.array(0.2))
    x = np.array([[0.5], [1.7], [1.8]])
    (stage,) = invert_stages(chain, weights, block_constants(chain, weights, x[:1]), x)
    claim = stage_claims(stage)[0]
    assert claim.left.lo > claim.right.hi  # as if the slope at 0.5 were the largest
    assert claim.judge().verdict is Verdict.INCONCLUSIVE
