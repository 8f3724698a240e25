"""How much residual blocks stretch."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.flows.chains import residual_chain
from ftheta.logic import Verdict
from ftheta.running import run
from ftheta.theorems.depth.resnet_block_34 import resnet_block_34, stretch_claims
from ftheta.theorems.depth.resnet_block_34.stretching import stretches


def blocks(params, x):
    for U, V in zip(*params):
        x = x + V @ jnp.tanh(U @ x)
    return x


def weights(rng, T, d, c):
    Q = np.linalg.qr(rng.normal(size=(2, T, d, d)))[0] * np.sqrt(c / T)
    return Q[0], Q[1]


@pytest.mark.parametrize("T, c", [(3, 1.0), (10, 2.5)])
def test_the_factors_are_the_singular_values_of_the_jacobian(T, c):
    rng = np.random.default_rng(0)
    params = weights(rng, T, 4, c)
    x = rng.normal(size=(5, 4))
    with jax.enable_x64(True):
        (found,) = stretches(residual_chain(blocks, params, (4,)), params, x, c / T)
        values = [
            np.linalg.svd(np.asarray(jax.jacrev(lambda z: blocks(params, z))(jnp.asarray(row))))[1]
            for row in x
        ]
        assert found.factors[0] == pytest.approx([v[0] for v in values])
        assert found.factors[1] == pytest.approx([v[-1] for v in values])
        lo = (1 - c / T) ** T
        hi = (1 + c / T) ** T
        assert (
            found.bounds == pytest.approx((lo, hi))
            and lo <= found.factors[1].min() <= found.factors[0].max() <= hi
        )
        assert all(
            claim.judge().verdict is Verdict.CONSISTENT for claim in stretch_claims(found, "here")
        )


@pytest.mark.parametrize("sign", [1, -1])
def test_the_bounds_are_attained_at_the_origin_and_broken_by_a_witness_beyond(sign):
    rng = np.random.default_rng(0)
    U, _ = weights(rng, 10, 4, 1.0)
    params = U, sign * U.swapaxes(1, 2)
    with jax.enable_x64(True):
        chain = residual_chain(blocks, params, (4,))
        (found,) = stretches(chain, params, np.zeros((1, 4)), 0.1)
        assert (
            found.factors[0][0]
            == pytest.approx((1 + sign * 0.1) ** 10)
            == pytest.approx(found.factors[1][0])
        )
        (wrong,) = stretches(chain, params, np.zeros((1, 4)), 0.05)
        first, second, _ = (claim.judge().verdict for claim in stretch_claims(wrong, "here"))
        assert (first if sign > 0 else second) is Verdict.REFUTED


def test_wide_states_are_measured_along_directions():
    rng = np.random.default_rng(0)
    params = weights(rng, 3, 100, 1.0)
    with jax.enable_x64(True):
        (found,) = stretches(
            residual_chain(blocks, params, (100,)), params, rng.normal(size=(2, 100)), 1 / 3
        )
        assert (2 / 3) ** 3 <= found.factors[1].min() <= found.factors[0].max() <= (4 / 3) ** 3


def test_a_users_residual_network_is_judged_by_its_blocks():
    rng = np.random.default_rng(0)
    gentle = ft.Network("gentle", blocks, weights(rng, 6, 5, 0.9), (5,))
    assert run(resnet_block_34, gentle).verdict is Verdict.CONSISTENT
    steep = ft.Network("steep", blocks, weights(rng, 6, 5, 3.0), (5,))
    result = run(resnet_block_34, steep)
    assert result.verdict is Verdict.INAPPLICABLE and "at most 3" in result.summary
