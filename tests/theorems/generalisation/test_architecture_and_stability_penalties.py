"""Jacobians, probes, power iteration, spectral normalisation, input noise and the ablation: against second methods."""

from fractions import Fraction
from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.lipschitz import product_bound
from ftheta.certify.norms import spectral_norm
from ftheta.estimates import mean
from ftheta.logic import UsageError, Verdict
from ftheta.networks import Dense, Description, random_mlp
from ftheta.running import run
from ftheta.theorems.generalisation.architecture_and_stability_penalties import (
    architecture_and_stability_penalties as theorem,
)
from ftheta.theorems.generalisation.architecture_and_stability_penalties import probe_variance
from ftheta.theorems.generalisation.architecture_and_stability_penalties.ablations import (
    Recipe,
    compare_penalties,
    draw_starts,
    list_recipes,
    run_ablation,
)
from ftheta.theorems.generalisation.architecture_and_stability_penalties.charts import (
    draw_ablation,
    tabulate_ablation,
)
from ftheta.theorems.generalisation.architecture_and_stability_penalties.input_noise import (
    cubature,
    find_smooth_rows,
    noise_adds,
    noise_predicted,
)
from ftheta.theorems.generalisation.architecture_and_stability_penalties.stacks import stack_layers
from ftheta.training.losses import loss_named
from ftheta.training.regularisers.penalties import (
    jacobian_at,
    power_iteration,
    probe,
    spectrally_normalised,
    squared_pullback,
)

RNG = np.random.default_rng(0)
NET = random_mlp(RNG, (3, 8, 4), "tanh", bias=0.3)
X = RNG.normal(size=(3, 3))


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def f(v):
    return NET.apply(NET.params, v)


def test_the_values_of_the_catalogue():
    result = run(theorem, draws=20, steps=5)
    numbers = result.example_numbers
    assert [judged.judgement.verdict for judged in result.examples[:3]] == [Verdict.PROVED] * 3
    assert result.examples[3].judgement.verdict is Verdict.CONSISTENT  # the order of the remainder
    assert (
        numbers["penalty of the linear map"].middle == 16
        and Fraction(902, 100) in numbers["noise loss of the example"]
    )
    assert numbers["x² at 1: what s² multiplies"].middle == 6 != numbers["its slope squared"].middle


def test_jacobians_are_those_of_finite_differences():
    J = np.asarray(jacobian_at(f, X[0]))
    h = 1e-6
    peer = np.stack([(f(X[0] + h * e) - f(X[0] - h * e)) / (2 * h) for e in np.eye(3)], axis=1)
    assert np.allclose(J, peer, atol=1e-8)


def test_all_signs_average_to_the_trace():
    J = np.asarray(jacobian_at(f, X[0]))
    signs = np.array(list(product((1.0, -1.0), repeat=4)))
    seen = np.asarray(jax.vmap(lambda v: squared_pullback(f, jnp.asarray(X[0]), v))(signs))
    assert seen.mean() == pytest.approx((J**2).sum())
    assert seen.var() == pytest.approx(probe_variance(J, "signs"))


@pytest.mark.parametrize("kind, scale", [("signs", 1.0), ("Gaussian", 1.0), ("uniform", 1 / 3)])
def test_random_probes_are_unbiased_or_biased_by_their_variance(kind, scale):
    J = np.asarray(jacobian_at(f, X[0]))
    v = np.asarray(probe(jax.random.key(0), kind, (20_000, 4)))
    draws = ((v @ J) ** 2).sum(1)
    assert scale * (J**2).sum() in mean(draws)
    if kind != "uniform":
        assert probe_variance(J, kind) in mean((draws - (J**2).sum()) ** 2)


def test_an_unknown_probe_is_refused():
    with pytest.raises(UsageError):
        probe(jax.random.key(0), "bells", (3,))


@given(st.integers(0, 10_000), st.integers(1, 6), st.integers(1, 6))
def test_power_iteration_rises_to_the_norm_within_its_bound(seed, rows, columns):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(rows, columns)) * rng.uniform(0.1, 2, size=columns)
    found = power_iteration(W, 30, rng)
    error, bound = found.errors(W)
    assert (np.diff(found.values) >= -1e-9 * found.values[-1]).all()
    assert found.values[-1] <= spectral_norm(W).hi * (1 + 1e-12)
    assert (error <= bound + 1e-9).all()


def test_equal_singular_values_are_no_trouble_for_the_bound_without_a_gap():
    W = np.diag([2.0, 2.0, 1.0])
    found = power_iteration(W, 20, np.random.default_rng(0))
    error, bound = found.errors(W)
    assert (error <= bound + 1e-12).all() and error[-1] < 1e-9 < bound[-1] < 1


def test_spectral_normalisation_gives_norms_of_one_and_a_contraction():
    deep = random_mlp(RNG, (5, 20, 20, 3), "relu")
    calm = spectrally_normalised(deep)
    for layer in calm.layers:
        assert np.linalg.norm(layer.weight, 2) == pytest.approx(1, abs=1e-12)
    assert product_bound(calm).hi <= 1 + 1e-9
    rows = RNG.normal(size=(50, 5))
    out = np.asarray(calm.apply(calm.params, rows))
    gaps = (
        np.linalg.norm(out[:, None] - out[None], axis=-1),
        np.linalg.norm(rows[:, None] - rows[None], axis=-1),
    )
    assert (gaps[0] <= gaps[1] * (1 + 1e-9)).all()
    half = spectrally_normalised(deep, 0.5)
    assert np.linalg.norm(half.layers[0].weight, 2) == pytest.approx(0.5)


def test_skips_keep_singular_values_away_from_zero():
    found = stack_layers(np.random.default_rng(1).normal(size=(24, 8, 8)))
    assert (found.floor <= found.skipped).all() and found.plain[-1] < 1e-9 < found.skipped[-1]


@pytest.mark.parametrize("d, degree", [(1, 9), (2, 9), (5, 3)])
def test_cubature_has_the_moments_of_the_normal_law(d, degree):
    points, weights = cubature(d)
    moments = {1: 0.0, 2: 1.0, 3: 0.0, 4: 3.0, 5: 0.0, 6: 15.0, 7: 0.0, 8: 105.0, 9: 0.0}
    for p in range(1, degree + 1):
        assert weights @ points[:, 0] ** p == pytest.approx(moments[p], abs=1e-10)
    assert weights.sum() == pytest.approx(1)
    assert weights @ np.prod(points[:, :2], axis=1) == pytest.approx(0, abs=1e-12)


@pytest.mark.nightly
def test_noise_adds_the_slope_and_the_curvature_to_the_loss():
    """Against draws of noise, and in closed form for a square."""
    x = jnp.asarray(X[0])
    y = jnp.asarray(RNG.normal(size=4) + 3)
    slope, bend = (float(v) for v in noise_predicted(f, x, y))
    assert float(noise_adds(f, x, y, 1e-3)) == pytest.approx(slope + bend, rel=1e-4)
    assert abs(bend) > 0.05 * slope  # what the Jacobian penalty alone would miss
    s = 0.05
    e = np.random.default_rng(2).normal(size=(40_000, 3))
    e = np.concatenate([e, -e])  # odd orders cancel
    losses = np.asarray(((f(x + s * e) - y) ** 2).sum(1) - ((f(x) - y) ** 2).sum())
    pairs = (losses[: len(e) // 2] + losses[len(e) // 2 :]) / (2 * s**2)
    assert abs(mean(pairs).middle - slope - bend) < 0.05 * (slope + abs(bend))
    square = lambda v: v**2
    one = jnp.ones(1)
    assert [float(v) for v in noise_predicted(square, one, 0 * one)] == [4.0, 2.0]
    assert float(noise_adds(square, one, 0 * one, 0.1)) == pytest.approx(6 + 3 * 0.01)


def test_rows_on_or_near_kinks_are_not_called_smooth():
    relu = Description((Dense(np.eye(2), np.zeros(2), "relu"), Dense(np.ones((1, 2)), np.zeros(1))))
    g = lambda v: relu.apply(relu.params, v)
    rows = np.array([[0.0, 1.0], [1.0, 1.0], [1e-5, 1.0], [-1.0, 0.5]])
    assert find_smooth_rows(g, rows).tolist() == [1, 3]
    assert find_smooth_rows(f, X).tolist() == [0, 1, 2]


def test_recipes_that_leave_everything_out_train_like_fit_and_penalties_do_what_they_say():
    x = RNG.normal(size=(24, 3))
    y = np.sin(x[:, :1]) + 0.3 * RNG.normal(size=(24, 1))
    net = random_mlp(RNG, (3, 10, 1), "tanh")
    starts = draw_starts(net.params, 1, RNG)
    chosen = (
        Recipe(),
        Recipe("strong L2", l2=1.0),
        Recipe("flat", jacobian=1.0),
        Recipe("ball", radius=0.3),
    )
    found = run_ablation(
        net.apply, net.params, loss_named("squared"), (x, y), (x, y), chosen, starts, steps=60
    )
    sizes = np.cumsum([np.size(leaf) for leaf in jax.tree.leaves(net.params)])[:-1]
    parts = np.split(starts[0], sizes)
    shapes = [np.shape(leaf) for leaf in jax.tree.leaves(net.params)]
    flat = [p.reshape(s) for p, s in zip(parts, shapes)]
    peer = ft.fit(
        ([(flat[0], flat[1]), (flat[2], flat[3])], net.apply),
        (x, y),
        "squared",
        "adam",
        step=0.01,
        steps=60,
    )
    assert (
        found.train[0, 0]
        == pytest.approx(peer.loss, rel=1e-6)
        == pytest.approx(found.test[0, 0], rel=1e-6)
    )
    assert (found.train[1:, 0] > found.train[0, 0]).all()
    assert (found.steepness[1:, 0] < 0.7 * found.steepness[0, 0]).all()
    assert len(tabulate_ablation(found).rows) == 4 == len(draw_ablation(found).categories)
    assert list_recipes(0.1)[0] == Recipe()


def test_large_networks_and_few_rows_are_not_trained():
    rows = RNG.normal(size=(4, 3)), RNG.normal(size=(4, 1))
    net = random_mlp(RNG, (3, 5, 1), "relu")
    assert (
        compare_penalties(net.apply, net.params, "squared", *rows, RNG, steps=5, strength=0.1)
        is None
    )


def test_the_theorem_on_networks_of_ones_own():
    net = ft.Network.described(random_mlp(RNG, (3, 6, 2), "relu", bias=0.2))
    bare = run(theorem, net, draws=200)
    assert bare.verdict is Verdict.CONSISTENT and not bare.tables
    x = RNG.normal(size=(20, 3))
    data = ft.Dataset("classes", x, (x[:, 0] > 0).astype(int))
    judged = run(theorem, net.with_data(data), draws=200, steps=20)
    assert judged.verdict is Verdict.CONSISTENT and len(judged.tables[0].rows) == 8
    kinked = run(theorem, breaker=True, force=True)
    assert kinked.verdict is Verdict.REFUTED
