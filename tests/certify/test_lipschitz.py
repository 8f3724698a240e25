"""Slopes met and products of norms."""

from typing import Any

import jax
import numpy as np
import pytest

from ftheta.certify.lipschitz import inputs_near, product_bound, slope, steepest_secant
from ftheta.certify.norms import spectral_norm
from ftheta.logic import Verdict
from ftheta.networks import ACTIVATIONS, Dense, Description, random_mlp
from ftheta.subjects import Network
from ftheta.theorems.robustness.lipschitz_bounds import (
    ABSOLUTE_VALUE,
    KNOWN,
    layer_stretches,
    lipschitz_bounds,
    steeper_than_described,
)

BOUNDED = [name for name, a in ACTIVATIONS.items() if np.isfinite(a.lipschitz.hi)]


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("hidden", BOUNDED)
def test_no_secant_is_steeper_than_the_product_of_norms(hidden):
    rng = np.random.default_rng(1)
    widths = (40, 40, 40) if hidden == "silu" else (1, 5, 1) if hidden == "gelu" else (3, 8, 8, 2)
    net = Network.described(random_mlp(rng, widths, hidden, bias=1.0))
    met = steepest_secant(net, 3 * rng.normal(size=(64, widths[0])), rng, climbs=4, steps=20)
    assert 0 < met.slope <= product_bound(net.description).hi * (1 + 1e-9)  # type: ignore[arg-type]


@pytest.mark.parametrize("shape", [(3, 7), (7, 3), (50, 60)])
def test_the_steepest_secant_of_a_linear_map_attains_its_norm(shape):
    rng = np.random.default_rng(2)
    W = rng.normal(size=shape)
    met = steepest_secant(
        lambda x: W @ x, rng.normal(size=(16, shape[1])), rng, climbs=8, steps=200
    )
    assert met.slope == pytest.approx(np.linalg.norm(W, 2), rel=1e-8 if min(shape) < 32 else 2e-2)
    assert met.slope <= spectral_norm(W).hi * (1 + 1e-9)


def test_ascent_finds_steeper_places_than_the_starting_points():
    rng = np.random.default_rng(4)
    net = Network.described(random_mlp(rng, (20, 64, 64, 5), "relu", bias=0.5))
    starts = rng.normal(size=(64, 20))
    met = [
        steepest_secant(net, starts, np.random.default_rng(0), climbs=8, steps=n).slope
        for n in (1, 150)
    ]
    assert met[1] > 1.05 * met[0]


def test_the_stretches_of_the_layers_multiply_to_the_slope():
    rng = np.random.default_rng(3)
    net = Network.described(random_mlp(rng, (4, 9, 9, 3), "tanh", bias=0.3))
    x, y = rng.normal(size=(2, 4))
    assert net.description is not None
    assert np.prod(layer_stretches(net.description, x, y)) == pytest.approx(
        slope(net, x, y), rel=1e-12
    )


def test_a_kink_where_the_formal_derivative_is_too_large_gives_no_false_slope():
    """3t − 2(t)₊ + 2(−t)₊ = t, though the formal derivative at 0 is 3."""
    f = lambda x: 3 * x - 2 * jax.nn.relu(x) + 2 * jax.nn.relu(-x)
    met = steepest_secant(f, np.zeros((4, 1)), np.random.default_rng(0), climbs=1, steps=1)
    assert met.slope == pytest.approx(1.0, rel=1e-9)


def test_known_networks_have_their_known_constants():
    rng = np.random.default_rng(0)
    for name, constant, product in [("absolute value", 1.0, 2.0), ("second difference", 4.0, 4.0)]:
        net = Network.described(KNOWN[name](8))
        bounds: Any = lipschitz_bounds.measure(net, rng, points=64).numbers
        assert bounds["steepest secant"].lo == pytest.approx(constant, rel=1e-9)
        assert product in bounds["product of norms"]
        assert bounds["product of norms"].hi <= bounds["product of Frobenius norms"].hi * (
            1 + 1e-12
        )


def test_a_network_steeper_than_its_description_is_refuted_by_a_witness():
    rng = np.random.default_rng(0)
    steep = lipschitz_bounds.measure(steeper_than_described(rng), rng, points=8)
    assert steep.claims[0].judge().verdict is Verdict.REFUTED
    assert (
        lipschitz_bounds.measure(Network.described(ABSOLUTE_VALUE), rng, points=8)
        .claims[0]
        .judge()
        .verdict.holds
    )


def test_data_rows_are_among_the_inputs_searched_from():
    rows = np.arange(12.0).reshape(6, 2) + 100
    near = inputs_near(rows, (2,), 4, 1.0, np.random.default_rng(0))
    assert {tuple(r) for r in near if r[0] > 50} <= {tuple(r) for r in rows}
    assert sum(r[0] > 50 for r in near) == 4
    assert len(near) > 4


def test_non_finite_outputs_are_no_slopes():
    f = lambda x: np.inf * x
    met = steepest_secant(f, np.ones((4, 2)), np.random.default_rng(0), climbs=2, steps=3)
    assert met.slope == 0


@pytest.mark.parametrize(
    "weight, offset", [(1e-3, 1e12), (1e-8, 1e15), (1.0, 1e15), (float(np.float32(0.1)), 1e9)]
)
def test_a_secant_that_is_rounding_refutes_nothing(weight, offset):
    net = Network.described(Description((Dense(np.array([[weight]]), np.array([offset])),)))
    rng = np.random.default_rng(0)
    found = lipschitz_bounds.measure(net, rng, points=16, climbs=2)
    steepest: Any = found.numbers["steepest secant"]
    assert steepest.lo <= weight * (1 + 1e-12)
    assert found.claims[0].judge().verdict is Verdict.CONSISTENT
