"""Neurons as particles, against closed forms and automatic differentiation."""

from math import pi, sqrt

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.networks import random_mlp
from ftheta.subjects import Network
from ftheta.theorems.width.mean_field_limit import particles


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
    flow = particles.follow(
        rng.normal(size=(50, 3)), rng.normal(size=(9, 2)), rng.normal(size=9), 40, 0.05
    )
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
