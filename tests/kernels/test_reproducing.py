"""Kernels against scikit-learn, primal against dual in rationals, rows left out the slow way, features of networks."""

from fractions import Fraction
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn import kernel_ridge as peers
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel

import ftheta as ft
from ftheta.kernels.features import features, targets_of
from ftheta.kernels.reproducing import exact_ridge, kernel, kernel_ridge, monomials, ridge_primal
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.theorems.risk.kernel_lift.probes import linear_probe, ridge_objective
from ftheta.theorems.risk.kernel_lift.rivals import left_out_by_fitting, rival_gap
from ftheta.theorems.risk.kernel_lift.scores import principal_coordinates, score

X3 = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
Y3 = np.array([1.0, 2.0, 3.0])
RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
Z = RNG.normal(size=(7, 3))
Y = RNG.normal(size=30)


def test_kernels_are_those_of_scikit_learn():
    assert np.allclose(
        kernel("Gaussian", width=0.7).of(X, Z), rbf_kernel(X, Z, gamma=1 / (2 * 0.49))
    )
    assert np.allclose(kernel("Laplace", width=0.7).of(X, Z), laplacian_kernel(X, Z, gamma=1 / 0.7))
    assert np.allclose(
        kernel("polynomial", degree=3).of(X, Z), polynomial_kernel(X, Z, degree=3, gamma=1, coef0=1)
    )


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_monomials_are_the_features_of_the_polynomial_kernel(degree):
    assert np.allclose(monomials(X, degree) @ monomials(Z, degree).T, (1 + X @ Z.T) ** degree)


def test_the_ridge_of_the_catalogue():
    e = exact_ridge(X3, Y3, kernel("linear"), 1.0)
    assert (
        e is not None
        and e.theta == (1, 1)
        and e.alpha == (0, 0, 1)
        and e.dual == e.primal == (1, 2, 2)
    )
    assert e.shortcut == e.again == (0, 0, Fraction(17, 10))


@pytest.mark.parametrize("degree", [1, 2, 3])
def test_primal_is_dual_and_the_shortcut_is_right_in_rationals(degree):
    x = np.random.default_rng(degree).integers(-3, 4, (6, 2)) / 2
    e = exact_ridge(x, np.arange(6.0), kernel("polynomial", degree=degree), 0.3, degree)
    assert e is not None and e.primal == e.dual and e.shortcut == e.again


PEERS = {
    "Gaussian": {"kernel": "rbf", "gamma": 0.5},
    "linear": {"kernel": "linear"},
    "polynomial": {"kernel": "poly", "degree": 2, "gamma": 1, "coef0": 1},
}


@pytest.mark.parametrize("name", PEERS)
def test_kernel_ridge_is_scikit_learns(name):
    fit = kernel_ridge(X, Y, kernel(name), 0.4)
    options: dict[str, Any] = {"alpha": 0.4, **PEERS[name]}
    peer = peers.KernelRidge(**options).fit(X, Y)
    assert np.allclose(fit.predict(Z), peer.predict(Z), rtol=1e-8) and np.allclose(
        fit.fitted, peer.predict(X), rtol=1e-8
    )
    assert np.allclose(
        fit.residuals_left_out[:12], left_out_by_fitting(X, Y, fit.kernel, 0.4), rtol=1e-8
    )
    assert rival_gap(fit, Y, 0.4, np.random.default_rng(1), 40) > -1e-12
    if fit.kernel.features is not None:
        phi = fit.kernel.features(X)
        assert np.allclose(phi @ ridge_primal(phi, Y, 0.4), fit.fitted)


def test_a_function_is_a_kernel_and_several_outputs_are_columns():
    cosine = lambda A, B: np.cos(A[:, :1] - B[:, :1].T)
    fit = kernel_ridge(X, np.column_stack([Y, -Y]), kernel(cosine), 0.1)
    assert fit.kernel.positive is None and np.allclose(fit.fitted[:, 0], -fit.fitted[:, 1])
    with pytest.raises(UsageError, match="Unknown kernel"):
        kernel("sigmoid")
    with pytest.raises(UsageError, match="λ > 0"):
        kernel_ridge(X, Y, kernel("linear"), 0.0)


def test_features_of_a_list_of_layers_are_what_enters_the_last():
    net = random_mlp(np.random.default_rng(0), (3, 8, 5, 2), "tanh", bias=0.3)
    found = features(net.apply, net.params, X)
    hidden = np.tanh(
        np.tanh(X @ net.layers[0].weight.T + net.layers[0].bias) @ net.layers[1].weight.T
        + net.layers[1].bias
    )
    assert np.allclose(found.phi, hidden) and found.affine
    assert np.allclose(found.weight, net.layers[-1].weight) and np.allclose(
        found.bias, net.layers[-1].bias
    )
    assert np.allclose(found.spectrum()[:5], np.linalg.eigvalsh(hidden @ hidden.T / 30)[::-1][:5])


class Convolutional(eqx.Module):
    conv: eqx.nn.Conv1d
    norm: eqx.nn.LayerNorm
    head: eqx.nn.Linear

    def __call__(self, x):
        h = jax.nn.gelu(self.conv(x[None])).ravel()
        return self.head(self.norm(h)) * 2.0


def test_features_of_any_network_are_found_in_its_graph():
    a, b = jax.random.split(jax.random.key(0))
    net = ft.Network.of(
        Convolutional(
            eqx.nn.Conv1d(1, 3, 2, key=a), eqx.nn.LayerNorm(9), eqx.nn.Linear(9, 2, key=b)
        ),
        (4,),
    )
    x = np.random.default_rng(0).normal(size=(20, 4))
    found = features(net.apply, net.params, x)
    assert found.phi.shape == (20, 9) and not found.affine  # the factor 2 comes after the product
    plain = features(lambda p, x: net.apply(p, x) / 2, net.params, x)
    assert np.allclose(plain.phi, found.phi)
    assert np.allclose(plain.phi.mean(1), 0, atol=1e-6)  # what a layer norm leaves


def test_a_network_that_ends_otherwise_is_refused_or_told_apart():
    with pytest.raises(SubjectError, match="no last linear layer"):
        features(lambda p, x: jnp.tanh(p * x), np.ones(3), X)
    net = random_mlp(np.random.default_rng(0), (3, 8, 1), "relu", bias=0.3)
    assert not features(lambda p, x: jnp.tanh(net.apply(p, x)), net.params, X).affine


def test_the_linear_probe_is_scikit_learns_ridge_with_rows_left_out_by_hand():
    phi = np.random.default_rng(1).normal(size=(25, 6))
    y = np.random.default_rng(2).normal(size=(25, 2))
    probe = linear_probe(phi, y, 0.7)
    peer = Ridge(0.7).fit(phi, y)
    assert np.allclose(probe.weight, peer.coef_) and np.allclose(probe.bias, peer.intercept_)
    for i in (0, 9, 24):
        rest = np.arange(25) != i
        again = Ridge(0.7).fit(phi[rest], y[rest]).predict(phi[i : i + 1])[0]
        assert np.allclose(probe.left_out[i], again)
    rival = np.random.default_rng(3).normal(size=probe.weight.shape)
    assert probe.objective(phi, y) < ridge_objective(phi, y, rival, probe.bias, 0.7)


def test_scores_and_principal_coordinates():
    y = targets_of(np.zeros((4, 1)), np.array([0, 1, 1, 2]), 3)
    assert y.shape == (4, 3) and score(y, y, np.array([0, 1, 1, 2])) == 1.0
    real = np.arange(4.0)[:, None]
    assert score(real, real, None) == 1.0 and score(np.full((4, 1), 1.5), real, None) == 0.0
    at = principal_coordinates(X)
    assert (
        at.shape == (30, 2)
        and at[:, 0].var() >= at[:, 1].var()
        and principal_coordinates(X[:, :1]).shape == (30, 2)
    )
