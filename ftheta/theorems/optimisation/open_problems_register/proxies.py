"""Proxies of open problems that run in seconds: many seeds at once, each with its own data and its own start."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.estimates import binomial_interval
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Axis, Curves, Series
from ftheta.particles.tokens.sphere import SOFTMAX, token_cosines
from ftheta.theorems.observations import Observed
from ftheta.training.losses import cross_entropy, loss_named, squared
from ftheta.training.races import STEPS, at_best_step, train_all
from ftheta.training.study import affordable


def perceptron(params: Any, x: Any) -> Any:
    """One hidden ReLU layer; the mask switches neurons off, so that all widths share one compiled program."""
    W, b, a, mask = params
    return a @ (jax.lax.stop_gradient(mask) * jax.nn.relu(W @ x + b))


def neurons(
    rng: np.random.Generator, inputs: int, width: int, room: int, power: float = 1.0
) -> Any:
    r"""`width` neurons of `room`, with outer weights $\pm w^{-\text{power}}$."""
    mask = (np.arange(room) < width).astype(float)
    outer = rng.choice((-1.0, 1.0), (1, room)) / width**power
    return rng.normal(size=(room, inputs)), 0.5 * rng.normal(size=room), outer, mask


# ---- why gradient descent works, and how many neurons it needs -------------------------------------------------------


def wide_networks_fit_noise(rng: np.random.Generator, seeds: int) -> Observed:
    """log₁₀ of the final loss on random labels, 64 neurons less 4."""
    data = [(rng.normal(size=(20, 5)), rng.choice((-1.0, 1.0), (20, 1))) for _ in range(seeds)]
    runs = [(neurons(rng, 5, width, 64, 0.5), *pair) for width in (4, 64) for pair in data]
    ends = np.log10(train_all(perceptron, squared, optax.sgd, runs, 1500, 0.005).losses[:, -1])
    return Observed("log₁₀ loss of 64 neurons − of 4", ends[seeds:] - ends[:seeds])


def more_students_succeed(rng: np.random.Generator, seeds: int) -> Observed:
    """Whether students of a teacher with 3 neurons reach a thousandth of the size of its outputs, by their number."""
    widths = (3, 6, 12, 24)
    data = []
    for _ in range(seeds):
        W, b, a, _ = neurons(rng, 3, 3, 3)
        x = rng.normal(size=(64, 3))
        data.append((x, np.maximum(x @ W.T + b, 0) @ a.T))
    runs = [(neurons(rng, 3, q, widths[-1]), *pair) for q in widths for pair in data]
    ends = (
        train_all(perceptron, squared, optax.adam, runs, 1000, 0.02)
        .losses[:, -1]
        .reshape(len(widths), seeds)
    )
    won = ends < 1e-3 * np.array([np.mean(y**2) for _, y in data])
    bands = [binomial_interval(int(w.sum()), seeds, 0.95) for w in won]
    lows = [band.lo for band in bands]
    highs = [band.hi for band in bands]
    series = (Series("success", widths, won.mean(axis=1), lo=lows, hi=highs),)
    title = "students that match a teacher with 3 neurons"
    chart = Curves(title, Axis("students q", "log"), Axis("part of the seeds (95 % band)"), series)
    return Observed("success with 3 students − with 24", won[0].astype(float) - won[-1], chart)


# ---- what architectures and optimisers prefer -----------------------------------------------------------------------


def factors_complete_matrices(rng: np.random.Generator, seeds: int) -> Observed:
    """Error on the hidden entries of a 6×6 matrix of rank 1: a product of two matrices less one matrix."""
    runs_deep = []
    runs_flat = []
    hidden = []
    for _ in range(seeds):
        target = np.outer(rng.normal(size=6), rng.normal(size=6)).ravel()
        seen = rng.permutation(36)[:26]
        places = np.eye(36)[seen]
        runs_deep.append(
            (
                (0.01 * rng.normal(size=(6, 6)), 0.01 * rng.normal(size=(6, 6))),
                places,
                target[seen, None],
            )
        )
        runs_flat.append(((np.zeros((6, 6)),), places, target[seen, None]))
        hidden.append((target, np.setdiff1d(np.arange(36), seen)))
    errors = []
    for runs in (runs_deep, runs_flat):
        params = train_all(_entry, squared, optax.sgd, runs, 1500, 0.5).params
        made = [np.asarray(_multiply([p[k] for p in params])).ravel() for k in range(seeds)]
        errors.append(
            [np.mean((m - t)[h] ** 2) / np.mean(t[h] ** 2) for m, (t, h) in zip(made, hidden)]
        )
    return Observed(
        "hidden error of a product − of one matrix", np.array(errors[0]) - np.array(errors[1])
    )


def _multiply(params: Any) -> Any:
    return params[0] @ params[1] if len(params) > 1 else params[0]


def _entry(params: Any, place: Any) -> Any:
    return (place @ _multiply(params).ravel())[None]


def _score(weights: Any, row: Any) -> Any:
    """A linear model: one score for a vector of weights, one per class for a matrix."""
    return weights @ row


def _positive_score(score: Any, _: Any) -> Any:
    """The logistic loss of rows that are multiplied by their labels."""
    return jax.nn.softplus(-score)


def adam_seeks_another_margin(rng: np.random.Generator, seeds: int) -> Observed:
    """The ℓ∞ margin min⟨z, θ⟩/‖θ‖_∞ of descent less that of Adam on separable rows."""
    runs = []
    for _ in range(seeds):
        z = rng.normal(size=(30, 4)) * np.array([3.0, 1.0, 0.3, 0.3])
        z *= np.sign(z @ np.array([0.5, 1.0, 1.0, 1.0]))[:, None]
        runs.append((np.zeros(4), z, np.zeros((30, 1))))
    ends = []
    for rule, step in ((optax.sgd, 0.2), (optax.adam, 0.02)):
        theta = train_all(_score, _positive_score, rule, runs, 5000, step).params
        ends.append([float((z @ t).min() / np.abs(t).max()) for t, (_, z, _) in zip(theta, runs)])
    return Observed(
        "ℓ∞ margin of gradient descent − of Adam", np.array(ends[0]) - np.array(ends[1])
    )


def zipf_words(
    rng: np.random.Generator, words: int = 24, noise: float = 0.3
) -> tuple[np.ndarray, np.ndarray]:
    """Word k about 64/k times as a one-hot row; its label is a word of its own, or at random another one."""
    counts = np.maximum(1, (64 / np.arange(1, words + 1)).astype(int))
    word = np.repeat(np.arange(words), counts)
    other = word[rng.integers(len(word), size=len(word))]
    labels = np.where(rng.random(len(word)) < noise, other, rng.permutation(words)[word])
    return np.eye(words)[word], labels


def race_with_adam(apply: Any, loss: Any, runs: list[Any], steps: int, title: str) -> Observed:
    """Adam against gradient descent, each at its best step of the grid."""
    rules = (("Adam", optax.adam), ("gradient descent", optax.sgd))
    courses = {
        name: at_best_step(train_all(apply, loss, rule, runs, steps, STEPS).losses)
        for name, rule in rules
    }
    k = np.arange(steps) + 1
    series = tuple(
        Series(name, k, np.median(c, axis=0), role, lo=c.min(axis=0), hi=c.max(axis=0))
        for (name, c), role in zip(courses.items(), ("measured", "other"))
        if np.isfinite(c).all()
    )
    chart = (
        Curves(f"{title}: each rule at its best step", Axis("step"), Axis("loss"), series)
        if series
        else None
    )
    return Observed(
        "loss of Adam − of gradient descent",
        courses["Adam"][:, -1] - courses["gradient descent"][:, -1],
        chart,
    )


def adam_on_heavy_tails(
    x: np.ndarray, y: np.ndarray
) -> Callable[[np.random.Generator, int], Observed]:
    """A linear classifier from small random weights, on these rows; without any, on words of Zipf's law."""

    def measure(rng: np.random.Generator, seeds: int) -> Observed:
        runs = []
        for _ in range(seeds):
            rows, labels = (x, y) if len(x) else zipf_words(rng)
            K = int(labels.max()) + 1
            runs.append((0.01 * rng.normal(size=(K, rows.shape[1])), rows, np.eye(K)[labels]))
        return race_with_adam(_score, cross_entropy, runs, 30, "a linear classifier")

    return measure


def adam_on_network(
    net: Any, x: np.ndarray, y: np.ndarray, loss: str
) -> Callable[[np.random.Generator, int], Observed]:
    """The network from its own weights, shuffled within each array: a random start of the right sizes."""
    targets = loss_named(loss).targets(y, net.output_shape)

    def measure(rng: np.random.Generator, seeds: int) -> Observed:
        shuffled = lambda: jax.tree.map(
            lambda a: rng.permutation(np.ravel(a)).reshape(np.shape(a)), net.params
        )
        runs = [(shuffled(), x, targets) for _ in range(seeds)]
        steps = affordable(seeds * len(STEPS) * net.parameters, len(x), 60)
        return race_with_adam(net.apply, loss_named(loss).of, runs, steps, net.name)

    return measure


# ---- transformers, grokking, infinite depth -------------------------------------------------------------------------


def tokens_meet(rng: np.random.Generator, seeds: int) -> Observed:
    """0.99 less the smallest cosine of 8 tokens on the sphere at time 40, softmax attention with β = 2."""
    ends = []
    for _ in range(seeds):
        x = rng.normal(size=(8, 3))
        unit = x / np.linalg.norm(x, axis=1, keepdims=True)
        ends.append(float(token_cosines(unit, 2.0, SOFTMAX, np.array([0.0, 40.0]))[-1].min()))
    return Observed("0.99 − smallest cosine", 0.99 - np.array(ends))


def late_generalisation(rng: np.random.Generator, seeds: int) -> Observed:
    """A diagonal network β = u² − v² from a large start with weight decay: it fits first and generalises later."""
    n = 24
    d = 40
    tau = 0.02
    decay = 0.01
    X = rng.normal(size=(seeds, n, d)) / np.sqrt(n)
    truth = np.zeros((seeds, d))
    truth[:, :3] = rng.choice((-1.0, 1.0), (seeds, 3))
    at = np.unique(np.geomspace(1, 20_000, 60).astype(int))
    u = np.full((seeds, d), 1.5)
    v = np.full((seeds, d), 1.5)
    fitted = []
    general = []
    for k in range(at[-1] + 1):
        off = u * u - v * v - truth
        residual = (X @ off[..., None])[..., 0]
        if k in at:
            fitted.append((residual**2).mean(axis=1))
            general.append((off**2).sum(axis=1) / n)  # of fresh rows
        pull = (X.mT @ residual[..., None])[..., 0]
        u = u - tau * u * (2 * pull + decay)
        v = v - tau * v * (decay - 2 * pull)
    return _delay(at, np.array(fitted), np.array(general))


def _delay(at: np.ndarray, fitted: np.ndarray, general: np.ndarray) -> Observed:
    """The logarithm of how much later the test loss falls below a tenth of its first value than the training loss."""
    first = lambda losses, limit: (
        at[np.argmax(losses < limit, axis=0)] + np.where((losses < limit).any(axis=0), 0, np.inf)
    )
    level = general[0] / 10
    effects = np.log10(first(fitted, level)) - np.log10(first(general, level))
    series = (
        Series("training rows", at, np.median(fitted, axis=1), "other"),
        Series("test rows", at, np.median(general, axis=1)),
    )
    chart = Curves(
        "fits first, generalises later (median seed)",
        Axis("step", "log"),
        Axis("squared loss", "log"),
        series,
    )
    return Observed("log₁₀ of the time to fit − to generalise", effects, chart)


def depth_has_a_limit(rng: np.random.Generator, seeds: int) -> Observed:
    """Residual networks with steps 1/L, trained: how far depths 8 and 16 are apart, less depths 4 and 8."""
    x = np.linspace(-1.0, 1.0, 32)[:, None]
    depths = (4, 8, 16)
    most = 16
    draws = [
        (
            rng.normal(size=(6, 6)),
            rng.normal(size=6),
            rng.normal(size=(6, 1)),
            rng.normal(size=(1, 6)) / 6,
        )
        for _ in range(seeds)
    ]
    targets = [np.sin(3 * x + rng.uniform(0, 3)) for _ in draws]
    deep = lambda a: np.broadcast_to(a, (most, *a.shape)).copy()
    step = lambda depth: np.where(np.arange(most) < depth, 1 / depth, 0.0)
    runs = [
        ((deep(W), deep(b), E, R, step(depth)), x, y)
        for depth in depths
        for (W, b, E, R), y in zip(draws, targets)
    ]
    params = train_all(_residual, squared, _layerwise, runs, 150, 0.02).params
    with jax.enable_x64(True):
        outputs = call_compiled(
            jax.vmap(lambda p: jax.vmap(lambda row: _residual(p, row))(x)), params
        )
    made = np.asarray(outputs).reshape(len(depths), seeds, -1)
    apart = np.log10(np.sqrt(np.mean(np.diff(made, axis=0) ** 2, axis=-1)))
    return Observed("log₁₀ distance of depths 8, 16 − of depths 4, 8", apart[1] - apart[0])


def _residual(params: Any, x: Any) -> Any:
    """x ← x + h tanh(Wx + b), layer by layer; layers with h = 0 do nothing."""
    W, b, E, R, h = params
    step = lambda state, layer: (state + layer[2] * jnp.tanh(layer[0] @ state + layer[1]), None)
    return R @ jax.lax.scan(step, E @ x, (W, b, jax.lax.stop_gradient(h)))[0]


def _layerwise(size: Any) -> optax.GradientTransformation:
    """Descent whose step in a layer grows with their number, 1/h: the flow of the parameters then has a limit."""

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        dW, db, dE, dR, dh = updates
        scale = jnp.where(params[4] > 0, 1 / jnp.where(params[4] > 0, params[4], 1.0), 0.0)
        moved = dW * scale[:, None, None], db * scale[:, None], dE, dR, dh
        return jax.tree.map(lambda g: -size * g, moved), state

    return optax.GradientTransformation(lambda params: optax.EmptyState(), update)
