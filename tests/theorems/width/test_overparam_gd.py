"""Gradient descent on wide networks, against closed forms and automatic differentiation."""

from math import pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.theorems.width.overparam_gd import deep, overparametrised, unit_circle


@pytest.mark.parametrize(("degrees", "least"), [(60.0, 1 / 3), (90.0, 1 / 2)])
def test_the_smallest_eigenvalue_of_two_inputs(degrees, least):
    assert overparametrised.at_angle(degrees) == pytest.approx(least, rel=1e-13)


def test_the_limit_gram_matrix_is_the_mean_of_gated_inner_products():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(3, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    gates = rng.normal(size=(200_000, 4)) @ X.T > 0
    both = np.einsum("ri,rj->ij", gates, gates, dtype=float) / len(gates)
    expected = overparametrised.limit_gram(X)
    error = np.abs(X @ X.T) * np.sqrt(both * (1 - both) / len(gates))
    assert (np.abs(both * (X @ X.T) - expected) < 4.5 * error).all()


def test_opposite_inputs_may_make_the_limit_singular():
    angle = np.arange(8) * pi / 4
    assert (
        abs(overparametrised.smallest_eigenvalue(np.stack([np.cos(angle), np.sin(angle)], 1)))
        < 1e-12
    )


def test_descent_is_gradient_descent():
    X = np.array([[1.0, 0.0], [0.6, 0.8]])
    y = np.array([0.5, -1.0])
    found = overparametrised.descend(X, y, 20, 0.1, 6, 1, np.random.default_rng(7))
    again = np.random.default_rng(7)
    W = again.normal(size=(1, 20, 2))[0]
    a = again.choice([-1.0, 1.0], (1, 20, 1))[0, :, 0]

    def half_square(W):
        return jnp.sum((jax.nn.relu(X @ W.T) @ a / jnp.sqrt(20.0) - y) ** 2) / 2

    with jax.enable_x64(True):
        both = jax.jit(jax.value_and_grad(half_square))
        for k in range(7):
            value, gradient = both(W)
            assert found.residuals[0, k] == pytest.approx(2 * float(value), rel=1e-10)
            W = W - 0.1 * np.asarray(gradient)


def test_gradients_of_deep_networks_are_those_of_automatic_differentiation():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(3, 2))
    y = rng.normal(size=3)
    weights = [rng.normal(size=shape) for shape in ((5, 2), (4, 5), (1, 4))]

    def loss(layers):
        h = jnp.asarray(X)
        for weight in layers[:-1]:
            h = jax.nn.relu(jnp.sqrt(2 / weight.shape[1]) * h @ weight.T)
        u = jnp.sqrt(2 / layers[-1].shape[1]) * h @ layers[-1].T
        return jnp.sum((u[:, 0] - y) ** 2) / 2

    with jax.enable_x64(True):
        expected = jax.grad(loss)([jnp.asarray(weight) for weight in weights])
    found = deep.gap_and_gradients(weights, X, y)[1]
    for one, other in zip(found, expected):
        assert one == pytest.approx(np.asarray(other), rel=1e-10)


def test_the_kernel_of_a_wide_deep_network_is_near_its_limit():
    rng = np.random.default_rng(9)
    X = np.array([[1.0, 0.0], [0.0, 1.0]])
    weights = [rng.normal(size=shape) for shape in ((1024, 2), (1024, 1024), (1, 1024))]
    # with the target u − 1 for one row alone the gradient of ½‖u − y‖² is that of its output
    rows = []
    for row in X:
        u = deep.gap_and_gradients(weights, row[None], np.zeros(1))[0]
        slopes = deep.gap_and_gradients(weights, row[None], u - 1)[1]
        rows.append(np.concatenate([slope.ravel() for slope in slopes]))
    kernel = np.array(rows) @ np.array(rows).T
    assert np.linalg.eigvalsh(kernel) == pytest.approx(deep.limit_eigenvalues(X, 2), rel=0.15)


def test_a_step_too_large_breaks_the_promise_of_deep_networks(monkeypatch):
    data = unit_circle(np.random.default_rng(0))
    small = (
        deep.limit_eigenvalues(data.x, 2) / 50
    )  # as if the kernel were so small: steps 50 times as large
    monkeypatch.setattr(deep, "limit_eigenvalues", lambda X, depth: small)
    (claim,) = deep.show_deep_networks(data.x, data.y, np.random.default_rng(1)).claims
    assert not claim.left.hi <= 1
