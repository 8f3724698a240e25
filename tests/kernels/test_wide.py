"""Closed-form kernels against quadrature, against random networks and against published values."""

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import special

from ftheta.kernels.dispatch import nngp, ntk
from ftheta.kernels.wide.closed_forms import closed_form, fully_connected
from ftheta.kernels.wide.duals import dual
from ftheta.kernels.wide.from_weights import architecture_of
from ftheta.kernels.wide.layers import (
    Activation,
    AveragePool,
    Conv,
    Dense,
    Flatten,
    LayerNorm,
    Residual,
)
from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.subjects import Network
from ftheta.theorems.width.ntk_kernel.relu import WideLimit
from trials.kernels import BITS, exact_kernels, relative_error

from ..thoroughness import max_examples

SMOOTH = {
    "erf": (special.erf, lambda u: 2 / sqrt(pi) * np.exp(-(u**2))),
    "sine": (np.sin, np.cos),
    "square": (np.square, lambda u: 2 * u),
    "tanh": (np.tanh, lambda u: 1 / np.cosh(u) ** 2),
    "sigmoid": (special.expit, lambda u: special.expit(u) * special.expit(-u)),
    "gelu": (
        lambda u: u * special.ndtr(u),
        lambda u: special.ndtr(u) + u * np.exp(-(u**2) / 2) / sqrt(2 * pi),
    ),
}
variances = st.floats(0.05, 10.0)
correlations = st.floats(-1.0, 1.0)


def plane_integral(f, p, q, c):
    """E f(u) f(v) by the trapezoidal rule in the plane, which is spectrally accurate for smooth f."""
    t = np.linspace(-9, 9, 401)
    weight = np.exp(-(t**2) / 2) / sqrt(2 * pi) * (t[1] - t[0])
    rho = c / sqrt(p * q)
    u = sqrt(p) * t[:, None]
    v = sqrt(q) * (rho * t[:, None] + sqrt(max(0.0, 1 - rho**2)) * t[None, :])
    return weight @ (f(u) * f(v)) @ weight


def array(value):
    return np.array([[float(value)]])


@max_examples(20)
@given(st.sampled_from(sorted(SMOOTH)), variances, variances, correlations)
@example("tanh", 2.0, 3.0, 0.96875)  # poles near the real line: coefficients fall slowly
@example("tanh", 3.0, 3.0, -0.99)
@example("tanh", 10.0, 10.0, 0.999)
def test_dual_activations_are_gaussian_integrals(name, p, q, rho):
    c = rho * sqrt(p * q)
    found = dual(name).moments(array(p), array(q), array(c))
    for value, f in zip(found, SMOOTH[name]):
        assert value[0, 0] == pytest.approx(plane_integral(f, p, q, c), abs=1e-11, rel=1e-11)


def test_the_series_of_tanh_agrees_with_thirty_digits():
    """The plane integral by the trapezoidal rule in thirty digits (mpmath), at ρ = 31/32."""
    found = dual("tanh").moments(array(2), array(3), array(31 / 32 * sqrt(6)))
    assert found[0][0, 0] == pytest.approx(0.52922003445954439968, abs=1e-12)
    assert found[1][0, 0] == pytest.approx(0.30172649588759244321, abs=1e-12)


@given(
    variances,
    variances,
    correlations,
    st.sampled_from([("relu", 0.0), ("leaky-relu", 0.01), ("abs", -1.0)]),
)
def test_bent_lines_are_sums_of_orthant_moments(p, q, rho, named):
    """A second derivation: E[u₊v₊] of the four signs, each an arc-cosine integral over an angle."""
    name, leak = named
    # a planar Gaussian: a direction times a length, E r² = 2
    theta = (np.arange(20_000) + 0.5) * 2 * pi / 20_000
    u = np.cos(theta)
    v = rho * np.cos(theta) + sqrt(1 - rho**2) * np.sin(theta)
    bend = lambda t: np.where(t > 0, t, leak * t)
    expected = 2 * sqrt(p * q) * np.mean(bend(u) * bend(v))
    assert dual(name).moments(array(p), array(q), array(rho * sqrt(p * q)))[0][
        0, 0
    ] == pytest.approx(expected, abs=1e-6)


def test_a_function_handed_in_is_expanded_like_a_named_activation():
    found = dual(lambda u: jnp.tanh(u)).moments(array(1.3), array(0.4), array(0.5))
    named = dual("tanh").moments(array(1.3), array(0.4), array(0.5))
    assert np.allclose(found, named, rtol=1e-13)


@pytest.mark.parametrize("depth", [1, 3, 10])
@pytest.mark.parametrize("away", [1e-1, 1e-3, 1e-6, 1e-9, 1e-14])
@pytest.mark.parametrize("sign, scale", [(1.0, 1.0), (1.0, 1e-40), (-1.0, 1.0), (-1.0, 1e40)])
def test_relu_kernels_agree_with_many_digits_at_the_hardest_angles(sign, scale, away, depth):
    """A cosine that is rounded once would leave nothing of these kernels near opposite inputs."""
    x = np.array([1.0, -2.0, 0.5])
    y = sign * scale * (x + away * np.array([0.3, 0.1, -0.7]))
    for bias in (0.0, 0.3):
        found = closed_form(fully_connected("relu", depth, weight=2.0, bias=bias), x[None], y[None])
        with ctx.workprec(BITS):
            k, theta, size_k, size_theta = exact_kernels("relu", depth, 2.0, bias, x, y)
            assert relative_error(float(found.nngp[0, 0]), k, size_k) <= 1e-13
            assert relative_error(float(found.ntk[0, 0]), theta, size_theta) <= 1e-13


@pytest.mark.parametrize("name", ["erf", "gelu", "sine"])
@pytest.mark.parametrize(
    "p, q, away", [(1e8, 1e8, 1e-12), (3e4, 5e7, 1e-6), (2.0, 3.0, 1e-15), (1e-9, 1e4, 0.5)]
)
def test_closed_forms_of_smooth_activations_agree_with_many_digits(name, p, q, away):
    """Large variances and nearly equal arguments: (1 + 2p)(1 + 2q) − 4c² is a difference of large numbers."""
    with ctx.workprec(BITS):
        size = (arb(p) * arb(q)).sqrt()
        c = size * (1 - arb(away))
        found = dual(name).through(array(p), array(q), array(c.mid()), array((size - c).mid()))
        for ours, truth in zip(found[:2], EXACTLY[name](arb(p), arb(q), c)):
            assert relative_error(float(ours[0, 0]), truth, abs(truth) + 1e-280) <= (
                1e-12 if name == "sine" else 1e-13
            )


def exact_erf(p, q, c):
    square = (1 + 2 * p) * (1 + 2 * q)
    return 2 / arb.pi() * (2 * c / square.sqrt()).asin(), 4 / arb.pi() / (square - 4 * c**2).sqrt()


def exact_sine(p, q, c):
    near = (c - (p + q) / 2).exp() / 2
    far = (-c - (p + q) / 2).exp() / 2
    return near - far, near + far


def exact_gelu(p, q, c):
    root = ((1 + p) * (1 + q) - c**2).sqrt()
    both = arb(1) / 4 + arb.atan2(c, root) / (2 * arb.pi())
    bend = 1 / (1 + p) + 1 / (1 + q) - 1
    square = p * q + bend * c**2
    slope = both + c * ((1 + 2 * bend) + square / root**2) / (2 * arb.pi() * root)
    return c * both + square / (2 * arb.pi() * root), slope


EXACTLY = {"erf": exact_erf, "sine": exact_sine, "gelu": exact_gelu}


@pytest.mark.parametrize(
    ("depth", "expected"), [(1, 0.3183098862), (2, 0.6857086363), (3, 1.0603881068)]
)
def test_the_deep_kernel_of_orthogonal_inputs(depth, expected):
    layers = fully_connected("relu", depth, weight=2.0)
    found = ntk(layers, np.eye(2))  # K = x·x′/d doubled by the first layer: unit variance
    assert found[0, 1] == pytest.approx(expected, abs=1e-10)
    assert found[0, 0] == pytest.approx(depth + 1, rel=1e-14)


def test_the_two_layer_kernels_at_sixty_degrees():
    X = np.array([[1.0, 0.0], [0.5, sqrt(0.75)]])
    layers = (Dense(2.0), Activation("relu"), Dense(1.0))  # 1/√m Σ a_r ReLU(w_r·x)
    covariance = (sqrt(3) / 2 + pi / 3) / (2 * pi)
    assert nngp(layers, X)[0, 1] == pytest.approx(covariance, rel=1e-14)
    assert ntk(layers, X)[0, 1] == pytest.approx(covariance + 1 / 6, rel=1e-14)


@max_examples(10)
@given(st.integers(0, 1000), st.integers(1, 4))
def test_the_recursion_is_that_of_the_wide_relu_limit(seed, depth):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(5, 3))
    gains = tuple(rng.uniform(0.5, 2, depth))
    layers = [Dense(3.0)]
    for gain in gains:
        layers += [Activation("relu"), Dense(2 * gain)]
    K, T = WideLimit(gains).kernels(X)
    found = closed_form(tuple(layers), X)
    assert np.allclose(found.nngp, K, rtol=1e-12) and np.allclose(found.ntk, T, rtol=1e-12)
    assert np.allclose(closed_form(tuple(layers), X, X[:2] + 0.0).ntk, T[:, :2], rtol=1e-12)


def test_networks_of_finite_width_scatter_around_the_limit():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(3, 4))
    for activation, bias in (("relu", 0.3), ("tanh", 0.0)):
        draws = []
        first = random_mlp(rng, (4, 256, 1), activation)
        for _ in range(60):
            weights = random_mlp(rng, (4, 256, 1), activation, bias=bias).params
            draws.append(ntk(Network("random", first.apply, weights, (4,)), X))  # compiled once
        layers = (Dense(2.0, bias**2, 4), Activation(activation), Dense(2.0, bias**2, 256))
        z = (np.mean(draws, 0) - ntk(layers, X)) / (np.std(draws, 0, ddof=1) / sqrt(len(draws)))
        assert np.abs(z).max() < 4  # one hidden layer: the mean is the limit at every width


def test_the_architecture_is_read_off_the_weights():
    net = Network.described(
        random_mlp(np.random.default_rng(0), (3, 400, 400, 2), "relu", bias=0.5)
    )
    assert net.description is not None
    first, bend, second, *_ = architecture_of(net.description)
    assert isinstance(first, Dense) and isinstance(second, Dense) and bend == Activation("relu")
    assert (first.fan_in, second.fan_in) == (3, 400)
    assert second.weight == pytest.approx(2.0, rel=0.02) and second.bias == pytest.approx(
        0.25, rel=0.3
    )
    X = np.random.default_rng(1).normal(size=(4, 3))
    assert np.linalg.norm(
        ntk(net, X) - ntk(architecture_of(net.description), X)
    ) < 0.2 * np.linalg.norm(ntk(net, X))


# -- residual blocks and images --------------------------------------------------------------------


def test_residual_networks_have_the_covariance_of_random_ones():
    rng = np.random.default_rng(2)
    X = np.random.default_rng(3).normal(size=(2, 3))
    layers = (Dense(1.5), Residual((Activation("relu"), Dense(0.8))), Dense(1.0))
    m = 64
    draws = []
    for _ in range(3000):
        h = X @ rng.normal(size=(3, m)) * sqrt(1.5 / 3)
        h = h + np.maximum(h, 0) @ rng.normal(size=(m, m)) * sqrt(0.8 / m)
        f = h @ rng.normal(size=m) / sqrt(m)
        draws.append(np.outer(f, f))
    z = (np.mean(draws, 0) - nngp(layers, X)) / (np.std(draws, 0) / sqrt(len(draws)))
    assert np.abs(z).max() < 4


def image_network(params, x, pool, padding):
    """Two convolutions 3 × 3 and a linear read-out in the tangent-kernel parametrisation, by JAX's own convolution."""
    W, V, a = params
    h = x.transpose(2, 0, 1)[None]
    for k in (W, V):
        wrapped = jnp.pad(
            h,
            ((0, 0), (0, 0), (1, 1), (1, 1)),
            mode="wrap" if padding == "circular" else "constant",
        )
        h = jax.lax.conv(wrapped, k, (1, 1), "VALID") * sqrt(2 / (9 * k.shape[1]))
        h = jax.nn.relu(h)
    flat = h.mean((2, 3)).ravel() if pool else h.ravel()
    return a @ flat / jnp.sqrt(flat.size)


@pytest.mark.parametrize(("pool", "padding"), [(True, "same"), (False, "circular")])
def test_image_kernels_are_the_means_of_random_convolutional_networks(pool, padding):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(2, 3, 4, 2))
    m = 48
    head = AveragePool() if pool else Flatten()
    block = (Conv(3, 2.0, padding=padding), Activation("relu"))
    layers = (*block, *block, head, Dense(1.0))
    draws = []
    tangents = []
    apply = lambda p, x: image_network(p, x, pool, padding)
    values = jax.jit(jax.vmap(apply, (None, 0)))
    for k in range(150):
        sizes = [(m, 2, 3, 3), (m, m, 3, 3), (m if pool else 12 * m,)]
        net = Network("images", apply, [rng.normal(size=s) for s in sizes], X.shape[1:])
        if k < 40:
            tangents.append(ntk(net, X))
        with jax.enable_x64(True):
            f = np.asarray(values(net.params, X))
        draws.append(np.outer(f, f))
    limit = closed_form(layers, X)
    z = (np.mean(draws, 0) - limit.nngp) / (np.std(draws, 0) / sqrt(len(draws)))
    assert np.abs(z).max() < 4
    # at width 48 the mean is not yet the limit
    assert np.allclose(np.mean(tangents, 0), limit.ntk, rtol=0.15)


@pytest.mark.parametrize(
    ("layers", "x", "match"),
    [
        ((Conv(3), Dense()), np.eye(2), "images"),
        ((Conv(3), Dense()), np.ones((1, 2, 2, 1)), "ends in an image"),
        ((Conv(2), Flatten()), np.ones((1, 2, 2, 1)), "odd"),
        ((Residual((Dense(), Activation("relu"))),), np.eye(2), "ends in a Dense"),
        ((Residual((Conv(3, stride=2),)), Flatten()), np.ones((1, 4, 4, 1)), "keeps the size"),
        ((AveragePool(3), Flatten()), np.ones((1, 4, 4, 1)), "tile"),
        ((LayerNorm(), Dense()), np.zeros((1, 2)), "normalise"),
        ((Dense(), Activation("rleu")), np.eye(2), "Unknown activation"),
        ((Dense(),), np.array([[np.nan, 1.0]]), "finite"),
        ((Dense(),), np.ones(3), "rows"),
    ],
)
def test_what_cannot_be_computed_is_said(layers, x, match):
    with pytest.raises(UsageError, match=match):
        ntk(layers, x)


def test_a_memory_budget_that_is_too_small_is_said():
    with pytest.raises(UsageError, match="memory"):
        ntk((Conv(3), AveragePool(), Dense()), np.ones((10, 8, 8, 1)), memory=1000)


def test_the_kernels_of_a_network_without_a_description_are_not_guessed():
    with pytest.raises(UsageError, match="architecture"):
        nngp(Network("f", lambda p, x: p @ x, np.ones(2), (2,)), np.eye(2))
    with pytest.raises(UsageError, match=r"ft\.Network\.of"):
        ntk(lambda x: x, np.eye(2))


def test_rows_of_another_size_are_refused():
    net = Network.described(random_mlp(np.random.default_rng(0), (3, 8, 2)), "mlp")
    for x1, x2 in (((4, 2), None), ((4, 3), (4, 5)), ((3,), None), ((2, 3, 1, 2), None)):
        with pytest.raises(UsageError, match="not inputs"):
            nngp(net, np.ones(x1), None if x2 is None else np.ones(x2))
    assert nngp(net, np.ones((4, 3))).shape == (4, 4)
