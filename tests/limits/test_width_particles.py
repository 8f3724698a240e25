"""Neurons as particles, and gradient descent on wide networks, against closed forms and automatic differentiation."""

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.networks import random_mlp
from ftheta.subjects import Network
from ftheta.theorems.width.mean_field_limit import particles
from ftheta.theorems.width.overparam_gd import overparametrised


def test_the_moments_of_one_gaussian_neuron():
    t = np.linspace(-12, 12, 200_001)
    density = np.exp(-(t**2) / 2) / sqrt(2 * pi)
    first, second = (np.trapezoid(np.maximum(t, 0) ** k * density, t) for k in (1, 2))
    assert particles.GAUSSIAN.mean == pytest.approx(first, abs=1e-9)
    assert particles.GAUSSIAN.variance == pytest.approx(second - first**2, abs=1e-9)
    assert sqrt(particles.GAUSSIAN.variance / 100) == pytest.approx(0.0583819, abs=5e-8)


def test_the_velocity_is_minus_q_times_the_gradient_of_the_energy():
    rng = np.random.default_rng(0)
    theta = rng.normal(size=(7, 4))
    X = rng.normal(size=(5, 3))
    y = rng.normal(size=5)

    def loss(theta):
        outputs = jax.vmap(lambda x: particles.mean_network((theta[:, 0], theta[:, 1:]), x))(X)
        return jnp.mean((outputs - y) ** 2) / 2

    with jax.enable_x64(True):
        value, gradient = jax.jit(jax.value_and_grad(loss))(jnp.asarray(theta))
    found, velocity = particles.energy(theta, X, y)
    assert found == pytest.approx(float(value), rel=1e-12)
    assert np.allclose(velocity, -7 * np.asarray(gradient), rtol=1e-10, atol=1e-14)


def test_the_energy_falls_at_the_rate_of_the_dissipation():
    rng = np.random.default_rng(1)
    flow = particles.follow(rng.normal(size=(50, 3)), rng.normal(size=(9, 2)), rng.normal(size=9), 40, 0.05)
    assert (np.diff(flow.energies) < 0).all()
    assert flow.rate == pytest.approx(-flow.dissipation, rel=1e-5)


def test_the_contributions_of_a_layer_have_the_output_as_their_mean():
    rng = np.random.default_rng(2)
    net = Network.described(random_mlp(rng, (3, 8, 6, 2), "tanh"))
    X = rng.normal(size=(4, 3))
    assert net.description is not None
    with jax.enable_x64(True):
        found = particles.contributions(net.description, X)
    assert np.allclose(found.mean(1), [float(net(x)[0]) for x in X], rtol=1e-12)


def test_resampled_layers_obey_the_variance_law():
    rng = np.random.default_rng(3)
    atoms = rng.normal(size=30) ** 3
    errors = particles.resample(atoms, (4, 16), 4000, rng)
    for i in range(2):
        assert errors.moments.variance in errors.scaled_square(i)


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
    assert abs(overparametrised.smallest_eigenvalue(np.stack([np.cos(angle), np.sin(angle)], 1))) < 1e-12


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
