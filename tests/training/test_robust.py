"""Robust losses inside `ftheta.fit`: bounds against certified ones and samples, attacks inside balls, schedules."""

from functools import partial
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.datasets.bundled import digits
from ftheta.logic import SubjectError, UsageError
from ftheta.networks import random_mlp
from ftheta.networks.architectures.stack import Stack
from ftheta.networks.layers import (
    GELU,
    Conv,
    Dense,
    Flatten,
    GlobalMean,
    GroupSort,
    Norm,
    Pool,
    ReLU,
    Residual,
    UnitDense,
)
from ftheta.training import RobustLoss
from ftheta.training.losses import LOSSES, loss_named
from ftheta.training.robust.attacks import climb
from ftheta.training.robust.chains import chain_of
from ftheta.training.robust.losses import worst_output
from ftheta.training.robust.propagation import (
    Box,
    bound_by_intervals,
    bound_by_lines,
    boxes,
    margins_by_intervals,
)

from .problems import same_bits

RNG = np.random.default_rng(0)
X = RNG.random((60, 4))
Y = (X @ np.array([1.0, -1.0, 0.5, 0.0]) > 0.3).astype(int)
NET = random_mlp(np.random.default_rng(1), (4, 12, 12, 3), "relu", bias=0.2)
CONVOLUTIONS = Stack(
    "small images",
    (
        Conv(3, padding=1, channels=3),
        Norm(),
        ReLU(),
        Pool(2, 2, mean=True),
        Conv(2, channels=4),
        ReLU(),
        Flatten(),
        Dense(3),
    ),
    (1, 6, 6),
)


def margins(label: int, classes: int = 3) -> np.ndarray:
    return np.eye(classes)[label] - np.eye(classes)


def linear_bounds(chain, params, x, radius, rows):
    """Intervals and lines for one input."""
    with jax.enable_x64(True):
        found = jax.jit(partial(both_bounds, chain))(params, x, np.full(x.shape, radius), rows)
    return [np.asarray(one) for one in found]


def both_bounds(chain, params, x, radius, rows):
    before = boxes(chain, params, Box(x, radius))
    return [bound(chain, params, before, (rows,)) for bound in (bound_by_intervals, bound_by_lines)]


@pytest.mark.parametrize("radius", [0.0, 0.01, 0.3])
def test_bounds_of_a_list_of_layers_lie_below_all_samples_and_agree_with_certified_ones(radius):
    chain = chain_of(NET)
    x = X[0]
    intervals, lines = linear_bounds(chain, NET.params, x, radius, margins(1))
    near = x + radius * RNG.uniform(-1, 1, size=(2000, 4))
    least = (np.asarray(NET(near)) @ margins(1).T).min(axis=0)
    assert (intervals <= least + 1e-9).all() and (lines <= least + 1e-9).all()
    certified = ft.bounds(NET, ft.Ball(x, radius), rows=margins(1))
    assert (
        certified.lower >= intervals - 1e-9
    ).all()  # its bounds before ReLUs are at least as sharp
    before = ft.bounds(NET, ft.Ball(x, radius), method="interval")
    with jax.enable_x64(True):
        box = boxes(chain, NET.params, Box(jnp.asarray(x), jnp.full(4, radius)))[-1]
    np.testing.assert_allclose(box.lo, before.lower, atol=1e-9)
    np.testing.assert_allclose(box.hi, before.upper, atol=1e-9)


@pytest.mark.parametrize("circular", [False, True])
def test_bounds_of_convolutions_lie_below_all_samples(circular):
    stack = Stack("images", CONVOLUTIONS.layers, (1, 6, 6), circular)
    params = stack.initial(np.random.default_rng(2))
    x = RNG.random((1, 6, 6))
    net = (params, stack.apply)
    intervals, lines = linear_bounds(chain_of(net), params, x, 0.05, margins(0))
    near = x + 0.05 * RNG.uniform(-1, 1, size=(500, 1, 6, 6))
    with jax.enable_x64(True):
        outputs = np.asarray(jax.vmap(lambda row: stack.apply(params, row))(near))
        exact = np.asarray(stack.apply(params, x)) @ margins(0).T
    least = (outputs @ margins(0).T).min(axis=0)
    assert (intervals <= least + 1e-9).all() and (lines <= least + 1e-9).all()
    none = linear_bounds(chain_of(net), params, x, 0.0, margins(0))
    np.testing.assert_allclose(none, [exact, exact], atol=1e-9)


def test_margins_of_all_pairs_are_those_of_the_rows():
    chain = chain_of(NET)
    with jax.enable_x64(True):
        before = boxes(chain, NET.params, Box(jnp.asarray(X[0]), jnp.full(4, 0.1)))
        label = jnp.eye(3)[2]
        one = margins_by_intervals(chain, NET.params, before, label)
        other = bound_by_intervals(chain, NET.params, before, (label[None], -jnp.eye(3)))
    np.testing.assert_allclose(one, other, atol=1e-12)


def test_linear_bounds_are_exact_where_no_relu_bends():
    linear = random_mlp(np.random.default_rng(3), (4, 3), "relu")
    found = linear_bounds(chain_of(linear), linear.params, X[0], 0.2, margins(0))
    rows = margins(0) @ linear.layers[0].weight
    exact = rows @ X[0] - 0.2 * np.abs(rows).sum(1)
    np.testing.assert_allclose(found, [exact, exact], atol=1e-12)


@pytest.mark.parametrize(
    "name", ["squared", "half-squared", "absolute", "huber", "logistic", "hinge", "cross-entropy"]
)
def test_the_worst_output_has_the_largest_loss_of_a_box(name):
    lo = np.array([-1.0, 0.2, -0.5])
    hi = np.array([0.5, 0.4, 2.0])
    target = {"cross-entropy": np.array([0.0, 1.0, 0.0])}.get(name, np.array([1.0, -1.0, 1.0]))

    def bound(terms):
        rows = sum(terms)
        return jnp.sum(jnp.minimum(rows * lo, rows * hi), axis=1)

    with jax.enable_x64(True):
        worst = LOSSES[name].of(worst_output(name, bound, jnp.asarray(target)), target)
        corners = [
            [pair[bit] for pair, bit in zip(zip(lo, hi), bits)] for bits in np.ndindex(2, 2, 2)
        ]
        met = max(float(LOSSES[name].of(jnp.asarray(corner), target)) for corner in corners)
    assert float(worst) == pytest.approx(met)


@pytest.mark.parametrize("norm, dual", [(inf, 1), (2, 2)])
def test_the_attack_finds_the_known_maximiser_of_a_linear_function_and_stays_inside(norm, dual):
    w = np.array([1.0, -2.0, 0.5])
    x = np.array([0.1, 0.9, 0.5])
    with jax.enable_x64(True):
        ascend = lambda clip: climb(
            lambda z: z @ w, jnp.asarray(x), 0.3, jax.random.key(0), norm=norm, steps=8, clip=clip
        )
        free, clipped = map(np.asarray, (ascend(None), ascend((0.0, 1.0))))
    best = 0.3 * np.linalg.norm(w, dual)
    assert 0.99 * best <= (free - x) @ w <= best + 1e-12
    assert (
        np.linalg.norm(clipped - x, norm) <= 0.3 + 1e-12
        and clipped.min() >= 0
        and clipped.max() <= 1
    )


@pytest.mark.parametrize("method", ["adversarial", "ibp", "crown-ibp", "small-box"])
def test_a_linear_logistic_model_has_its_worst_loss_in_closed_form(method):
    w = np.array([[1.0, -2.0, 0.5]])
    linear = random_mlp(np.random.default_rng(0), (3, 1))
    layer = type(linear.layers[0])(w, np.array([0.1]))
    net = type(linear)((layer,))
    x = RNG.normal(size=(7, 3))
    y = np.where(RNG.random(7) < 0.5, -1.0, 1.0)[:, None]
    loss = loss_named("logistic")
    robust = RobustLoss(method, 0.2)
    with jax.enable_x64(True):
        found = jax.jit(robust.losses(net, net.apply, loss, y))(
            net.params, jnp.asarray(x), jnp.asarray(y), 0
        )
    margin = y[:, 0] * (x @ w[0] + 0.1) - 0.2 * np.abs(w).sum()
    np.testing.assert_allclose(np.asarray(found), np.log1p(np.exp(-margin)), rtol=1e-12)


def test_the_losses_stand_in_the_right_order():
    loss = loss_named("cross-entropy")
    targets = loss.targets(Y, (3,))
    value = {}
    with jax.enable_x64(True):
        x, y = jnp.asarray(X), jnp.asarray(targets)
        for name, robust in {
            "attacked": RobustLoss("adversarial", 0.1),
            "lines": RobustLoss("crown-ibp", 0.1, linear=(1.0, 1.0)),
            "intervals": RobustLoss("ibp", 0.1),
            "small": RobustLoss("small-box", 0.1, small=0.1),
        }.items():
            value[name] = np.asarray(
                jax.jit(robust.losses(NET, NET.apply, loss, targets))(NET.params, x, y, 0)
            )
        plain = np.asarray(jax.vmap(lambda a, b: loss.of(NET.apply(NET.params, a), b))(x, y))
    assert (plain <= value["attacked"] + 1e-9).all()
    assert all((value["attacked"] <= value[name] + 1e-9).all() for name in ("lines", "intervals"))
    assert value["lines"].mean() < value["intervals"].mean()
    assert value["small"].mean() < value["intervals"].mean()


def test_the_ramp_moves_radius_and_shares():
    loss = loss_named("cross-entropy")
    targets = loss.targets(Y, (3,))
    ramped = RobustLoss("ibp", 0.1, ramp=(10, 30), clean=0.25)
    at_once = lambda epsilon: RobustLoss("ibp", epsilon, clean=0.0)
    with jax.enable_x64(True):
        x, y = jnp.asarray(X), jnp.asarray(targets)
        compiled = lambda robust: jax.jit(robust.losses(NET, NET.apply, loss, targets))
        ramped_losses, small, half_way, full = map(
            compiled, (ramped, at_once(1e-12), at_once(0.05), at_once(0.1))
        )
        plain = small(NET.params, x, y, 0)
        np.testing.assert_allclose(ramped_losses(NET.params, x, y, 10), plain, atol=1e-9)
        half = 0.625 * plain + 0.375 * half_way(NET.params, x, y, 0)
        np.testing.assert_allclose(ramped_losses(NET.params, x, y, 20), half, rtol=1e-9, atol=1e-9)
        end = 0.25 * plain + 0.75 * full(NET.params, x, y, 0)
        np.testing.assert_allclose(ramped_losses(NET.params, x, y, 500), end, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("method", ["adversarial", "crown-ibp"])
def test_a_robust_run_is_resumed_bit_for_bit(method, tmp_path):
    robust = RobustLoss(method, 0.05, ramp=(5, 15), attack_steps=2)
    how = {"loss": "cross-entropy", "step": 0.01, "batch": 25, "robust": robust}
    once = ft.fit(NET, (X, Y), **how, steps=24)
    first = ft.fit(NET, (X, Y), **how, steps=11, checkpoint=tmp_path / "run.npz")
    rest = ft.fit(NET, (X, Y), **how, steps=24, checkpoint=tmp_path / "run.npz", resume=True)
    assert same_bits(rest.params, once.params) and (rest.history.loss == once.history.loss).all()
    assert same_bits(first.resume(24).params, once.params)
    assert method in str(once)


def test_interval_training_certifies_digits_that_plain_training_does_not():
    images = digits()
    x = images.x[:300].reshape(300, -1)
    y = images.y[:300]
    start = random_mlp(np.random.default_rng(5), (64, 24, 24, 10), "relu")
    pairs = np.array([np.eye(10)[i] - np.eye(10)[j] for i in range(10) for j in range(10)])
    share = {}
    for name, robust in {
        "plain": None,
        "ibp": RobustLoss("ibp", 0.05, clip=(0, 1), ramp=(0, 150)),
    }.items():
        net = ft.fit(start, (x, y), "cross-entropy", step=0.01, steps=300, robust=robust).network
        lower = ft.bounds(net, ft.Ball(x, 0.05), rows=pairs).lower.reshape(300, 10, 10)
        with_label = np.where(np.eye(10, dtype=bool)[y], 1.0, lower[np.arange(300), y])
        share[name] = float(np.mean(with_label.min(axis=1) > 0))
    assert share["ibp"] > 0.9 and share["plain"] < 0.7


def test_convolutions_are_trained_by_intervals_and_evaluated_plainly():
    params = CONVOLUTIONS.initial(np.random.default_rng(0))
    x = RNG.random((20, 1, 6, 6))
    y = (x.mean(axis=(1, 2, 3)) > 0.5).astype(int)
    net = ft.Network("images", CONVOLUTIONS.apply, params, (1, 6, 6))
    robust = RobustLoss("small-box", 0.02, clip=(0, 1), attack_steps=2)
    fit = ft.fit(net, (x, y), "cross-entropy", step=0.01, steps=30, robust=robust)
    assert fit.history.loss[-1] < fit.history.loss[0]
    loss = loss_named("cross-entropy")
    with jax.enable_x64(True):
        plain = [float(loss.of(fit.network(row), np.eye(3)[label])) for row, label in zip(x, y)]
    assert fit.loss == pytest.approx(np.mean(plain), rel=1e-9)


def test_any_network_and_loss_is_trained_adversarially_in_float32():
    linear = (np.zeros(4, np.float32), lambda w, x: jnp.tanh(x) @ w)
    robust = RobustLoss("adversarial", 0.1, 2)
    fit = ft.fit(
        linear,
        (X, Y.astype(float)),
        lambda p, t: jnp.sum(jnp.cosh(p - t)),
        "gd",
        steps=20,
        robust=robust,
    )
    assert fit.history.loss[-1] < fit.history.loss[0] and fit.params.dtype == np.float32


@pytest.mark.nightly
def test_a_burst_is_located_in_robust_training():
    burst = ft.fit(
        NET, (X, Y), "cross-entropy", "gd", step=1e200, steps=20, robust=RobustLoss("ibp", 0.1)
    )
    assert burst.stopped_by == "not finite" and burst.trouble is not None


@pytest.mark.parametrize(
    "words, said",
    [
        (("ibq", 0.1), "Unknown robust loss"),
        (("ibp", -0.1), "positive"),
        (("ibp", inf), "positive"),
        (("ibp", 0.1, 2), "norm ∞"),
        (("adversarial", 0.1, 1), "norms 2 and ∞"),
        (("ibp", 0.1, inf, (1, 0)), "clip"),
        (("ibp", 0.1, inf, None, (5, 2)), "ramp"),
        (("ibp", 0.1, inf, None, (0, 0), 1.5), "clean"),
        (("adversarial", 0.1, inf, None, (0, 0), 0.0, 0), "attack_steps"),
        (("small-box", 0.1, inf, None, (0, 0), 0.0, 8, 0.0), "small"),
    ],
)
def test_wrong_numbers_are_refused(words, said):
    with pytest.raises(UsageError, match=said):
        RobustLoss(*words)


@pytest.mark.parametrize(
    "layer, said",
    [(GELU(), "gelu"), (Residual((Dense(4),)), "residual block")],
    ids=["GELU", "residual"],
)
def test_layers_without_bounds_are_refused_by_name(layer, said):
    stack = Stack("net", (Dense(4), layer, Dense(2)), (4,))
    with pytest.raises(SubjectError, match=said):
        ft.fit(
            (stack.initial(RNG), stack.apply),
            (X, Y),
            "cross-entropy",
            steps=1,
            robust=RobustLoss("ibp", 0.1),
        )


def test_what_has_no_bounds_is_refused():
    def fit(net: Any, loss: Any = "cross-entropy", method: Any = "ibp", y: np.ndarray = Y) -> Any:
        return ft.fit(net, (X, y), loss, steps=1, robust=RobustLoss(method, 0.1))

    with pytest.raises(SubjectError, match="list of layers"):
        fit((np.zeros((2, 4)), lambda w, x: w @ x))
    with pytest.raises(SubjectError, match="increasing activations"):
        fit(random_mlp(RNG, (4, 5, 2), "gelu"))
    with pytest.raises(SubjectError, match="ReLU"):
        fit(random_mlp(RNG, (4, 5, 2), "tanh"), method="crown-ibp")
    with pytest.raises(UsageError, match="worst value of this loss"):
        fit(NET, loss=LOSSES["zero-one"].of)
    with pytest.raises(SubjectError, match="one class per row"):
        fit(NET, y=np.full((60, 3), 1 / 3))
    with pytest.raises(UsageError, match="RobustLoss"):
        ft.fit(NET, (X, Y), "cross-entropy", steps=1, robust="ibp")  # type: ignore[arg-type]


def test_layers_of_norm_one_are_bounded_by_intervals():
    stack = Stack(
        "orthogonal", (UnitDense(6, "cayley"), GroupSort(3), UnitDense(2, "spectral")), (4,)
    )
    params = stack.initial(RNG)
    with jax.enable_x64(True):
        box = boxes(
            chain_of((params, stack.apply)), params, Box(jnp.asarray(X[0]), jnp.full(4, 0.1))
        )[-1]
        near = X[0] + 0.1 * RNG.uniform(-1, 1, size=(300, 4))
        outputs = np.asarray(jax.vmap(lambda row: stack.apply(params, row))(near))
    assert (box.lo <= outputs.min(0) + 1e-9).all() and (box.hi >= outputs.max(0) - 1e-9).all()


def test_largest_entries_of_windows_are_bounded_by_intervals():
    stack = Stack("pooled", (Conv(3, channels=2), Pool(2, 2), GlobalMean(), Dense(2)), (1, 6, 6))
    params = stack.initial(RNG)
    x = RNG.random((1, 6, 6))
    with jax.enable_x64(True):
        box = boxes(
            chain_of((params, stack.apply)), params, Box(jnp.asarray(x), jnp.full(x.shape, 0.1))
        )[-1]
        near = x + 0.1 * RNG.uniform(-1, 1, size=(300, 1, 6, 6))
        outputs = np.asarray(jax.vmap(lambda row: stack.apply(params, row))(near))
    assert (box.lo <= outputs.min(0) + 1e-9).all() and (box.hi >= outputs.max(0) - 1e-9).all()
