"""Linearised training in closed form against integration, linear algebra and closed forms."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.kernels.empirical.kernel import empirical
from ftheta.kernels.lazy import lazy_training
from ftheta.kernels.linearisation import linearised
from ftheta.kernels.regimes import drift_with_width, kernel_drift, lazy_scale
from ftheta.kernels.wide.closed_forms import closed_form, fully_connected
from ftheta.kernels.wide.layers import Dense
from ftheta.logic import UsageError
from ftheta.networks import random_mlp
from ftheta.subjects import Network
from ftheta.theorems.width.ntk_kernel.relu import kernel_flow
from ftheta.theorems.width.ntk_kernel.tangent import kernel_drift as by_contraction


def problem(outputs=2, n=5):
    rng = np.random.default_rng(0)
    net = Network.described(random_mlp(rng, (3, 20, outputs), "tanh", bias=0.2))
    return net, rng.normal(size=(n, 3)), rng.normal(size=(n, outputs)), rng.normal(size=(4, 3))


def features(net, x):
    """The Jacobian of all outputs as one matrix."""
    with jax.enable_x64(True):
        rows = lambda p: jax.vmap(lambda row: jnp.ravel(net.apply(p, row)))(jnp.asarray(x)).ravel()
        J = jax.jit(jax.jacfwd(rows))(jax.tree.map(jnp.asarray, net.params))
        return np.concatenate(
            [np.asarray(leaf).reshape(leaf.shape[0], -1) for leaf in jax.tree.leaves(J)], 1
        )


def test_the_closed_form_is_descent_in_the_parameters_of_the_linearised_network():
    net, x, y, test = problem()
    found = linearised(net, x, y, test)
    both = features(net, np.concatenate([x, test]))
    J = both[: y.size]
    T = both[y.size :]
    f0, t0 = (np.stack([np.asarray(net(row)) for row in rows]).ravel() for rows in (x, test))
    eta = 0.3 / found.spectrum[0]
    theta = np.zeros(J.shape[1])
    for _ in range(7):
        theta += eta * J.T @ (y.ravel() - f0 - J @ theta)
    assert np.allclose(found.after(7, eta), (f0 + J @ theta).reshape(y.shape), rtol=1e-9)
    # one step is θ ↦ Aθ + b
    A = np.eye(J.shape[1]) - eta * J.T @ J
    b = eta * J.T @ (y.ravel() - f0)
    for _ in range(18):  # twice as many steps each time, 262,144 in the end
        A, b = A @ A, A @ b + b
    theta = A @ theta + b
    assert np.allclose(found.at(), y, rtol=1e-6)
    assert np.allclose(found.predict(), (t0 + T @ theta).reshape(4, 2), rtol=1e-4)


def test_the_flow_is_the_limit_of_short_steps_and_starts_at_the_network():
    net, x, y, test = problem()
    found = linearised(net, x, y, test)
    t = 3 / found.spectrum[0]
    assert np.allclose(found.at(t), found.after(40_000, t / 40_000), rtol=1e-3)
    assert np.allclose(found.at(0.0), [np.asarray(net(row)) for row in x])
    assert np.allclose(found.predict(0.0), [np.asarray(net(row)) for row in test])
    assert found.loss(0.0) > found.loss(t) > found.loss() == pytest.approx(0, abs=1e-18)


def test_the_textbook_flow_of_two_rows():
    dense = (Dense(2.0),)
    x = np.array([[1.0, 0.0], [0.5, np.sqrt(0.75)]]) * np.sqrt(2)
    K = closed_form(dense, x).ntk  # 2 on the diagonal, 1 beside it
    assert np.allclose(K, [[2, 1], [1, 2]])
    found = linearised(dense, x, np.array([1.0, 0.0]))
    assert np.allclose(found.at(1.0), [0.791166745, 0.159046186], atol=5e-10)
    assert np.allclose(found.at(1.0), kernel_flow(K, np.array([1.0, 0.0]), 1.0))


def test_ridge_regression_alignment_and_effective_dimension_are_their_formulas():
    layers = fully_connected("relu", 2, weight=2.0, bias=0.1)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(6, 3))
    y = rng.normal(size=6)
    test = rng.normal(size=(2, 3))
    found = linearised(layers, x, y, test)
    K = closed_form(layers, x).ntk
    k = closed_form(layers, test, x).ntk
    assert np.allclose(
        found.predict(ridge=0.3), k @ np.linalg.solve(K + 0.3 * np.eye(6), y), rtol=1e-9
    )
    assert found.effective_dimension(0.3) == pytest.approx(
        np.trace(K @ np.linalg.inv(K + 0.3 * np.eye(6))), rel=1e-9
    )
    aligned = y @ K @ y / np.linalg.norm(K) / (y @ y)
    assert found.alignment == pytest.approx(aligned, rel=1e-12)
    assert found.modes.sum() == pytest.approx(1)
    assert (found.modes * found.spectrum).sum() == pytest.approx(y @ K @ y / (y @ y), rel=1e-9)
    assert found.largest_step == pytest.approx(2 / np.linalg.eigvalsh(K)[-1])


def test_the_spread_of_wide_networks_is_that_of_linearised_ones_drawn_at_random():
    layers = fully_connected("relu", 1, weight=2.0)
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3, 2))
    y = rng.normal(size=3)
    test = rng.normal(size=(2, 2))
    found = linearised(layers, x, y, test)
    own = closed_form(layers, x)
    cross = closed_form(layers, test, x)
    joint = np.block([[own.nngp, cross.nngp.T], [cross.nngp, closed_form(layers, test).nngp]])
    t = 2 / found.spectrum[0]
    f0 = rng.multivariate_normal(np.zeros(5), joint, size=200_000)
    decay = np.linalg.eigh(own.ntk)
    A = (
        cross.ntk
        @ np.linalg.inv(own.ntk)
        @ (np.eye(3) - decay[1] @ np.diag(np.exp(-t * decay[0])) @ decay[1].T)
    )
    ends = f0[:, 3:] + (y - f0[:, :3]) @ A.T
    assert np.allclose(found.predict(t), A @ y)
    error = found.spread(t) / np.sqrt(2 * len(f0))
    assert (np.abs(ends.std(0) - found.spread(t)) < 4.5 * error).all()
    assert np.allclose(linearised(layers, x, y, x).spread(), 0, atol=1e-6)


def test_the_drift_is_that_of_contracted_jacobians_and_falls_with_the_width():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(6, 3))
    y = rng.normal(size=6)
    make = lambda m, rng: Network.described(random_mlp(rng, (3, m, 1), "tanh"))
    net = make(30, np.random.default_rng(4))
    with jax.enable_x64(True):
        expected = by_contraction(net.apply, net.params, x, y, 20)
    assert kernel_drift(net, x, y, 20) == pytest.approx(expected, rel=1e-8)
    found = drift_with_width(make, (16, 64, 256), x, y, draws=3, steps=20)
    assert found.order.middle < -0.3
    assert found.moved.shape == (3, 3)


def test_the_lazy_scale_is_where_outputs_meet_their_linearisation():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4, 3))
    y = rng.normal(size=4)
    bent = Network("bent", lambda p, x: jnp.sum(jnp.tanh(p * x)), rng.normal(size=3), (3,))
    alpha = lazy_scale(bent, x, y, within=0.02)
    with jax.enable_x64(True):
        apart = lazy_training(bent, x, y, (alpha / 2, alpha)).apart
        linear = lazy_training(
            Network("linear", lambda p, x: p @ x, rng.normal(size=3), (3,)), x, y
        )
    assert apart[0] > 0.02 >= apart[1]
    assert (linear.apart < 1e-9).all()
    assert np.allclose(linear.moved * linear.scales, linear.moved[0] * linear.scales[0], rtol=1e-9)


def test_an_empirical_kernel_agrees_with_the_closed_form_of_its_architecture():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(3, 2))
    m = 200
    draws = 60
    limit = closed_form((*fully_connected("relu", 1, weight=2.0),), x).ntk
    kernels = []
    apply = lambda p, x: np.sqrt(2 / m) * p[1] @ jax.nn.relu(p[0] @ x)
    for _ in range(draws):
        W = rng.normal(size=(m, 2))
        a = rng.normal(size=m)
        kernels.append(empirical(Network("two layers", apply, [W, a], (2,)), x))
    z = (np.mean(kernels, 0) - limit) / (np.std(kernels, 0, ddof=1) / np.sqrt(draws))
    assert np.abs(z).max() < 4


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda net, x, y: linearised(net, x, y[:2]), "one finite target"),
        (lambda net, x, y: linearised(net, x, y[:, :1]), "do not fit"),
        (lambda net, x, y: linearised(net, x, y).predict(), "no test rows"),
        (lambda net, x, y: linearised(net, x, y, x).spread(), "infinitely wide"),
        (lambda net, x, y: linearised(net, x, y).at(-1.0), "not negative"),
        (lambda net, x, y: linearised(net, x, y).effective_dimension(0.0), "ridge"),
        (lambda net, x, y: linearised(net, x, y, memory=100), "memory"),
        (lambda net, x, y: linearised(3, x, y), "network or of an architecture"),
        (lambda net, x, y: lazy_scale(net, x, y, within=2.0), "between 0 and 1"),
        (lambda net, x, y: drift_with_width(lambda m, rng: net, (4,), x, y), "between widths"),
    ],
)
def test_what_cannot_be_asked_is_said(call, match):
    net, x, y, _ = problem()
    with pytest.raises(UsageError, match=match):
        call(net, x, y)
