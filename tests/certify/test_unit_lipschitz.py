"""1-Lipschitz layers: their matrices, certificates against exact rationals and sampled slopes, certified radii."""

from fractions import Fraction
from math import inf, sqrt

import jax
import numpy as np
import pytest

import ftheta as ft
from ftheta.certify.norms import spectral_norm
from ftheta.certify.unit_lipschitz import (
    bound_orthogonality_defect,
    bound_potential,
    certify_unit_lipschitz,
)
from ftheta.logic import SubjectError, UsageError
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.layers import Conv, ConvexPotential, Dense, Flatten, GroupSort, ReLU, UnitDense
from ftheta.networks.operators.orthogonal import CONSTRAINTS, estimate_norm, orthogonalise_by_bjorck

RNG = np.random.default_rng(0)
ORTHOGONAL = Stack(
    "orthogonal",
    (
        UnitDense(16),
        GroupSort(),
        UnitDense(16, "cayley"),
        GroupSort(4),
        ConvexPotential(24),
        UnitDense(3, "spectral"),
    ),
    (8,),
)


def matrix(constraint: str, W: np.ndarray) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(jax.jit(CONSTRAINTS[constraint])(W))


@pytest.mark.parametrize("shape", [(6, 6), (9, 4), (4, 9), (1, 5)])
@pytest.mark.parametrize("constraint", ["bjorck", "cayley"])
def test_orthogonal_matrices_have_singular_values_one(constraint, shape):
    Q = matrix(constraint, RNG.normal(size=shape))
    np.testing.assert_allclose(np.linalg.svd(Q, compute_uv=False), 1, atol=1e-12)
    assert bound_orthogonality_defect(Q) < 1e-12


def test_bjorck_finds_the_nearest_orthogonal_matrix_and_never_expands():
    W = RNG.normal(size=(7, 4))
    left, _, right = np.linalg.svd(W, full_matrices=False)
    np.testing.assert_allclose(matrix("bjorck", W), left @ right, atol=1e-10)
    with jax.enable_x64(True):
        for steps in range(4):
            assert np.linalg.norm(orthogonalise_by_bjorck(W, steps), 2) <= 1 + 1e-9


def test_the_estimated_norm_has_the_slope_of_the_norm():
    W = RNG.normal(size=(5, 7))
    left, s, right = np.linalg.svd(W)
    with jax.enable_x64(True):
        value, slope = jax.value_and_grad(lambda W: estimate_norm(W, 12))(W)
    assert float(value) == pytest.approx(s[0], rel=1e-12)
    np.testing.assert_allclose(slope, np.outer(left[:, 0], right[0]), atol=1e-9)


@pytest.mark.parametrize("group", [1, 2, 3, 5])
def test_groups_are_sorted_along_the_channels(group):
    x = RNG.normal(size=(15 if group != 2 else 14, 3, 2))
    found = np.asarray(GroupSort(group)({}, x))
    expected = np.sort(x.reshape(-1, group, 3, 2), axis=1).reshape(x.shape)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    with pytest.raises(UsageError, match="divide"):
        GroupSort(4).out((6,))


def test_the_defect_is_bounded_in_rationals():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        Q = np.linalg.qr(rng.normal(size=(4, 3)))[0] * (
            1 + rng.uniform(-1, 1) * 10.0 ** -rng.integers(1, 16)
        )
        exact = [[sum(Fraction(a) * Fraction(b) for a, b in zip(u, v)) for v in Q.T] for u in Q.T]
        rest = [[value - (i == j) for j, value in enumerate(row)] for i, row in enumerate(exact)]
        # no entry of a matrix exceeds its norm
        assert max(abs(value) for row in rest for value in row) <= Fraction(
            bound_orthogonality_defect(Q)
        )


def test_the_certificate_holds_for_sampled_slopes_and_is_tight():
    params = ORTHOGONAL.initial(np.random.default_rng(1))
    certificate = certify_unit_lipschitz((params, ORTHOGONAL.apply))
    assert 0.9 < certificate.bound < 1 + 1e-6
    assert [layer.defect is not None for layer in certificate.layers] == [
        True,
        False,
        True,
        False,
        False,
        False,
    ]
    x = RNG.normal(size=(200, 8))
    with jax.enable_x64(True):
        values = np.asarray(
            jax.vmap(lambda row: certificate.stack.apply(certificate.params, row))(x)
        )
        own = np.asarray(jax.vmap(lambda row: ORTHOGONAL.apply(params, row))(x))
    np.testing.assert_allclose(values, own, atol=1e-10)
    apart = np.linalg.norm(values[:, None] - values, axis=2)
    distance = np.linalg.norm(x[:, None] - x, axis=2)
    assert (apart <= certificate.bound * distance + 1e-9).all()


def test_a_step_too_long_is_seen_in_the_certificate_of_a_potential():
    W = RNG.normal(size=(6, 4))
    square = spectral_norm(W).hi ** 2
    assert bound_potential(W, -2 / square * W.T) == pytest.approx(1, abs=1e-12)
    assert bound_potential(W, -3 / square * W.T) == pytest.approx(2, rel=1e-9)
    off = 1e-3 * RNG.normal(size=(4, 6))
    most = 1 + np.linalg.norm(W, 2) * np.linalg.norm(off)
    assert 1 < bound_potential(W, -2 / square * W.T + off) <= most + 0.01


@pytest.mark.nightly
def test_a_trained_network_keeps_its_certificate_and_no_attack_enters_its_radii():
    x = RNG.normal(size=(80, 8))
    y = (x[:, 0] > 0).astype(int) + (x[:, 1] > 0.5)
    net = ft.Network(
        "orthogonal", ORTHOGONAL.apply, ORTHOGONAL.initial(np.random.default_rng(2)), (8,)
    )
    scaled = lambda scores, label: -jax.nn.log_softmax(10 * scores)[label.astype(int)]
    trained = ft.fit(net, (x, y), scaled, step=0.02, steps=150).network
    certificate = certify_unit_lipschitz(trained)
    assert certificate.excess < 2e-3
    radii = certificate.radii(x, y)
    found = ft.attack(certificate, x[:16], norm=2, label=y[:16], steps=10, starts=1)
    assert (
        (radii > 0).mean() > 0.9
        and np.isfinite(found.distance).all()
        and (found.distance >= radii[:16]).all()
    )


def test_radii_of_a_linear_classifier_are_exact():
    """$w=(3,4)$ over 5: margin 2·(wx + b), constant 1 of each of two opposite outputs: radius (wx + b)."""
    stack = Stack("linear", (Dense(2),), (2,))
    w = np.array([3.0, 4.0]) / 5 / sqrt(2)
    params = [{"weight": np.stack([w, -w]), "bias": np.zeros(2)}]
    certificate = certify_unit_lipschitz((params, stack.apply))
    radius = certificate.radii(np.array([[1.0, 1.0], [-1.0, 0.0]]), np.array([0, 0]))
    assert (
        radius[0] == pytest.approx(1.4, rel=1e-12) and radius[0] <= 1.4 + 1e-15 and radius[1] == 0
    )


@pytest.mark.parametrize("labels", [[-1, 0], [0, 3], [0.0, 1.0], [0]])
def test_labels_that_are_no_outputs_have_no_radius(labels):
    stack = Stack("plain", (Dense(3),), (2,))
    certificate = certify_unit_lipschitz((stack.initial(RNG), stack.apply))
    with pytest.raises(UsageError, match="number of an output"):
        certificate.radii(np.ones((2, 2)), np.array(labels))


def test_layers_without_a_certificate_are_refused_by_name():
    stack = Stack("images", (Conv(3, channels=2), Flatten(), Dense(2)), (1, 4, 4))
    with pytest.raises(SubjectError, match="conv"):
        certify_unit_lipschitz((stack.initial(RNG), stack.apply))
    with pytest.raises(UsageError, match="made of layers"):
        certify_unit_lipschitz((np.zeros(2), lambda w, x: w @ x))
    with pytest.raises(UsageError, match="constraint"):
        UnitDense(3, "nearly")  # type: ignore[arg-type]


def test_dense_layers_count_with_their_norm():
    stack = Stack("plain", (Dense(4), ReLU(), Dense(2)), (3,))
    params = stack.initial(RNG)
    product = np.prod([np.linalg.norm(layer["weight"], 2) for layer in (params[0], params[2])])
    bound = certify_unit_lipschitz((params, stack.apply)).bound
    assert product * (1 - 1e-12) <= bound <= product * (1 + 1e-9) and bound < inf
