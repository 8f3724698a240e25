"""What the limit of residual networks needs, and the flow that one network discretises."""

from itertools import product
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.flows.chains import residual_chain
from ftheta.logic import Curves
from ftheta.running import run
from ftheta.subjects import Network
from ftheta.theorems.depth.neural_ode_limit import contrasts, neural_ode_limit
from ftheta.theorems.depth.neural_ode_limit.contrasts import errors_at
from ftheta.theorems.depth.neural_ode_limit.interpolation import interpolate_weights


@pytest.fixture(autouse=True)
def double_precision():
    with jax.enable_x64(True):
        yield


def test_the_mean_square_with_noise_is_that_over_all_signs():
    T = 5
    rate = 0.7
    noise = 0.4
    ends = [
        np.prod([1 + (rate + noise * s) / T for s in signs]) for signs in product((-1, 1), repeat=T)
    ]
    smooth, rough, plain = errors_at(rate, noise, T)
    assert float(rough) ** 2 == pytest.approx(
        np.mean((np.array(ends) - np.exp(rate)) ** 2), rel=1e-12
    )
    assert float(smooth) == pytest.approx(np.exp(rate) - (1 + rate / T) ** T, rel=1e-12)
    assert float(plain) == pytest.approx(np.exp(rate) - (rate / T) ** T, rel=1e-12)


def test_noise_halves_the_order_and_plain_layers_have_no_limit():
    found = contrasts()
    assert all(claim.judge().verdict.holds for claim in found.claims)
    (chart,) = found.charts
    assert isinstance(chart, Curves)
    smooth, rough, plain = (np.array(series.y) for series in chart.series)
    assert smooth[-1] / smooth[-2] == pytest.approx(0.5, rel=0.01)
    assert rough[-1] / rough[-2] == pytest.approx(0.5**0.5, rel=0.01) and plain[
        -1
    ] == pytest.approx(np.e)


def network(depth: int, rng: np.random.Generator) -> Network:
    A, B = rng.normal(size=(2, 3, 3))
    t = np.arange(depth)[:, None, None] / depth
    W = {"W": (A * np.cos(t) + B * np.sin(t)), "in": rng.normal(size=(3, 2))}

    def apply(params: Any, x: Any) -> Any:
        block = lambda x, W: (x + jnp.tanh(W @ x) / depth, None)
        return jax.lax.scan(block, params["in"] @ x, params["W"])[0]

    return Network("given", apply, W, (2,))


def test_a_network_is_its_own_flow_in_as_many_steps_as_it_has_blocks():
    net = network(12, np.random.default_rng(0))
    x = np.array([0.3, -1.0])
    chain = residual_chain(net.apply, net.params, (2,))
    flow = interpolate_weights(chain, 1, chain.weights(net.params), x)
    np.testing.assert_allclose(flow.output(flow.layers(12), flow.start), net(x), rtol=1e-12)
    W = next(w for w in flow.weights(np.array([0.5 / 12, 3 / 12])) if w.shape[1:] == (3, 3))
    np.testing.assert_allclose(
        W, [(net.params["W"][0] + net.params["W"][1]) / 2, net.params["W"][3]], rtol=1e-12
    )


def test_the_distance_of_a_given_network_to_its_flow_is_bounded():
    result = run(neural_ode_limit, network(16, np.random.default_rng(0)))
    assert result.verdict.holds, result.summary


def test_a_plain_network_is_told_so():
    plain = Network("plain", lambda W, x: jnp.tanh(W @ x), np.eye(3), (3,))
    result = run(neural_ode_limit, plain)
    assert result.verdict == "inapplicable" and "none of its" in result.checks[0].finding.note
