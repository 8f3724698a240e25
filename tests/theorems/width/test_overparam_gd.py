"""Gradient descent on wide networks, against closed forms and automatic differentiation."""

from math import pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.theorems.width.overparam_gd import overparametrised


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
