"""Copies of a minimum, their alignment, and the critical points of linear networks."""

from fractions import Fraction
from itertools import permutations, product

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import UsageError, Verdict
from ftheta.networks import random_mlp
from ftheta.theorems.optimisation.landscape_equivalent_minima import (
    _claim_copies,
    _claim_midpoints,
    claim_critical_points,
)
from ftheta.theorems.optimisation.landscape_equivalent_minima.alignment import (
    Between,
    describe_as,
    match,
    similarity,
)
from ftheta.theorems.optimisation.landscape_equivalent_minima.linear_critical import (
    critical_points,
    inertia,
    scalar_eigenvalues,
    scalar_hessian,
)
from ftheta.theorems.optimisation.landscape_equivalent_minima.minima import (
    Midpoints,
    coincidence,
    copies,
    listed_copies,
    number_of_copies,
    random_move,
    risk_on_plane,
    two_moves,
)

from ...thoroughness import max_examples


def applied(layers, params, x):
    with jax.enable_x64(True):
        return np.asarray(layers.apply(params, x))


@given(
    st.integers(0, 10_000),
    st.sampled_from(["tanh", "arctan", "relu", "sigmoid"]),
    st.integers(1, 3),
)
@max_examples(25)
def test_a_move_changes_no_output_and_its_inverse_brings_every_weight_back(seed, hidden, depth):
    rng = np.random.default_rng(seed)
    net = random_mlp(rng, (3, *[4] * depth, 2), hidden, bias=0.5)
    x = rng.normal(size=(5, 3))
    move = random_move(net, rng)
    moved = move(net.params)
    assert np.allclose(applied(net, moved, x), applied(net, net.params, x), rtol=1e-12, atol=1e-12)
    back = move.inverse(moved)
    assert all((a == b).all() for one, two in zip(back, net.params) for a, b in zip(one, two))


@pytest.mark.parametrize(
    "hidden, width, number", [("tanh", 3, 48), ("tanh", 2, 8), ("relu", 3, 6), ("sigmoid", 4, 24)]
)
def test_all_copies_are_made_once_and_are_different(hidden, width, number):
    net = random_mlp(np.random.default_rng(0), (2, width, 1), hidden, bias=0.5)
    made = {
        tuple(np.concatenate([np.ravel(p) for pair in move(net.params) for p in pair]))
        for move in copies(net)
    }
    assert len(made) == number == number_of_copies(net)


def test_the_count_is_proved_for_generic_neurons_and_refuted_for_twins():
    net = random_mlp(np.random.default_rng(0), (2, 3, 1), "tanh", bias=0.5)
    assert [c.judge().verdict for c in _claim_copies(net, listed_copies(net))] == [
        Verdict.PROVED
    ] * 2
    (W, b), (A, _) = net.params
    W[1], b[1], A[:, 1] = -W[0], -b[0], -A[:, 0]
    assert "equal up to sign" in coincidence(net)
    assert _claim_copies(net, listed_copies(net))[0].judge().verdict is Verdict.REFUTED


def test_midpoints_are_enclosed_around_the_float_value_and_two_moves_commute():
    rng = np.random.default_rng(3)
    net = random_mlp(rng, (2, 3, 1), "tanh", bias=0.5)
    x = rng.normal(size=(20, 2))
    with jax.enable_x64(True):
        y = np.asarray(net.apply(net.params, x))
        found = Midpoints.of(net, x, y, "squared", rng)
        values = risk_on_plane(net, x, y, "squared")
    assert found.highest.lo <= found.halves.max() * (
        1 + 1e-12
    ) and found.halves.max() <= found.highest.hi * (1 + 1e-12)
    assert found.higher == 1 and _claim_midpoints(found, True)[0].judge().verdict is Verdict.PROVED
    one, two = two_moves(net)
    assert np.allclose(applied(net, two(one(net.params)), x), y)
    lowest = values <= 1e-3 * values.max()
    ends = [round((e + 0.5) / 2 * (len(values) - 1)) for e in (0.0, 1.0)]
    assert all(lowest[i, j] for i in ends for j in ends)


@given(st.integers(0, 10_000), st.sampled_from(["tanh", "relu"]))
@max_examples(15)
def test_matching_one_layer_is_the_best_of_all_orders_and_signs(seed, hidden):
    rng = np.random.default_rng(seed)
    a, b = (random_mlp(rng, (2, 4, 1), hidden, bias=0.5) for _ in range(2))
    signs = product((1.0, -1.0), repeat=4) if hidden == "tanh" else [(1.0,) * 4]
    (W, c), (A, e) = b.params
    best = -np.inf
    for sign, order in product(signs, list(permutations(range(4)))):
        s = np.array(sign)
        o = list(order)
        best = max(best, similarity(a.params, [(s[:, None] * W[o], s * c[o]), (A[:, o] * s, e)]))
    assert similarity(a.params, match(a, b.params)(b.params)) == pytest.approx(
        best, rel=1e-12, abs=1e-12
    )


@pytest.mark.parametrize("hidden", ["tanh", "relu"])
def test_a_scrambled_copy_of_a_deep_network_is_brought_back_and_leaves_no_barrier(hidden):
    rng = np.random.default_rng(4)
    net = random_mlp(rng, (5, 8, 7, 2), hidden, bias=0.5)
    x = rng.normal(size=(30, 5))
    other = describe_as(net, random_move(net, rng)(net.params))
    y = applied(net, net.params, x)
    between = Between.of(net, other, x, y, "squared")
    plain, aligned = between.barriers()
    assert plain > 1e-3 and aligned < 1e-20 and between.before <= between.after
    move = match(net, other.params)
    undone = move.inverse(move(other.params))
    assert all((a == b).all() for one, two in zip(undone, other.params) for a, b in zip(one, two))


def test_networks_of_other_shapes_are_refused():
    rng = np.random.default_rng(0)
    with pytest.raises(UsageError, match="one architecture"):
        match(random_mlp(rng, (2, 3, 1)), random_mlp(rng, (2, 4, 1)).params)


def test_the_critical_points_of_a_linear_network_have_the_hessians_of_jax():
    y = np.diag([3.0, 2.0, 1.0])
    h = 2
    loss = lambda t: ((t[6:].reshape(3, h) @ t[:6].reshape(h, 3) - y) ** 2).sum() / 2
    hessian = jax.jit(jax.hessian(loss))
    gradient = jax.jit(jax.grad(loss))
    for point in critical_points((3, 2, 1), h):
        W1 = np.zeros((h, 3))
        W2 = np.zeros((3, h))
        for k, i in enumerate(point.kept):
            W1[k, i], W2[i, k] = y[i, i], 1.0
        theta = np.concatenate([W1.ravel(), W2.ravel()])
        with jax.enable_x64(True):
            values = np.linalg.eigvalsh(np.asarray(hessian(theta)))
            slope = np.abs(np.asarray(gradient(theta))).max()
        signs = (values < -1e-9).sum(), (np.abs(values) <= 1e-9).sum(), (values > 1e-9).sum()
        assert signs == (point.negative, point.zero, point.positive) and slope == 0
        assert loss(theta) == pytest.approx(float(point.loss))
        assert (point.kind == "minimum") == (point.kept == (0, 1))


def test_the_claims_about_linear_networks_are_proved():
    assert {c.judge().verdict for c in claim_critical_points(critical_points((3, 2, 1), 2))} == {
        Verdict.PROVED
    }


@given(st.fractions(-3, 3, max_denominator=8), st.fractions(-3, 3, max_denominator=8))
def test_the_eigenvalues_of_the_scalar_network_agree_with_numpy(a, w):
    matrix = scalar_hessian(a, w)
    dense = np.array(
        [[float(Fraction(int(v.p), int(v.q))) for v in row] for row in matrix.tolist()]
    )
    for ball, value in zip(scalar_eigenvalues(a, w), np.linalg.eigvalsh(dense)):
        assert value in ball.widened(rel=1e-9, absolute=1e-9)
    assert sum(inertia(matrix)) == 2
