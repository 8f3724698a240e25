r"""The constructions of the chapter, each as a ladder of larger and larger networks for one function.

Every `Method` takes the goal, the activation, a size and a generator, and returns a network that can be enclosed (or a
network with a certificate of its own, the chain of Bernstein and monomials).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import Any

import numpy as np
from scipy import fft

from ftheta.networks import ACTIVATIONS, random_mlp
from ftheta.shapes import Float

from .barron import Problem, SampledBall
from .enclosed import UNIT, VALUES, Enclosed, Kuhn, Shallow
from .goal import Goal
from .greedy import Steps, frank_wolfe, unit_directions
from .staircases import SIGMOIDS, staircase

RIDGES = (1e-3, 1e-6, 1e-9)  # penalties tried, from the largest: small weights are easy to certify
SCALES = (2.0, 5.0, 12.0)  # steepness of random features, in units of the box
SAMPLES = {1: 1025, 2: 49, 3: 15}  # points per side to fit on
DRAWN = 4000  # in higher dimension
CANDIDATES = 1500
TRAINING_STEPS = 3000
WAVES = {1: 256, 2: 32}  # cosines a side of a spectrum read off samples
# points and directions of Frank–Wolfe
FITTED = 1024
DIRECTIONS = 64
HULL = 8.0  # its hull in units of the function, where no spectrum tells it


@dataclass(frozen=True, slots=True)
class Task:
    """What a construction is asked for: the goal, the error wanted, an activation, and randomness."""

    goal: Goal
    eps: float
    activation: str
    rng: np.random.Generator

    def samples(self) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "n"]]:
        rows = self.goal.grid(SAMPLES.get(self.goal.dimension, DRAWN), self.rng)
        return rows, self.goal.values(rows)


Ladder = Iterator[Enclosed]


def sizes(least: int, most: int, factor: float = 2**0.5) -> Iterator[int]:
    """least, …, most in geometric progression."""
    n = float(least)
    while round(n) < most:
        yield round(n)
        n = max(n * factor, n + 1)
    yield most


# ---- one variable: knots and steps ------------------------------------------------------------------------------


def interpolation(task: Task, most: int) -> Ladder:
    """Piecewise affine with knots where the function bends: cells are halved until samples in each are met."""
    if task.goal.dimension > 1:
        yield from _on_meshes(task, most)
        return
    wanted = task.eps
    for _ in range(12):
        knots = _knots(task.goal, 0.9 * wanted, most)
        yield _through(knots, task.goal.values(knots[:, None]))
        wanted *= 0.7
        if len(knots) > most:
            return


def _knots(goal: Goal, wanted: float, most: int) -> np.ndarray:
    inside = np.linspace(0, 1, 34)[1:-1]
    knots = np.linspace(goal.lo[0], goal.hi[0], 2)
    while len(knots) <= most:
        values = goal.values(knots[:, None])
        points = knots[:-1, None] + np.diff(knots)[:, None] * inside
        line = values[:-1, None] + np.diff(values)[:, None] * inside
        bad = (
            np.abs(goal.values(points.reshape(-1, 1)).reshape(points.shape) - line).max(1) > wanted
        )
        if not bad.any():
            break
        knots = np.sort(np.concatenate([knots, ((knots[:-1] + knots[1:]) / 2)[bad]]))
    return knots


def _through(knots: np.ndarray, values: np.ndarray) -> Shallow:
    """One ReLU a knot; lines that go on need none."""
    slopes = np.diff(values) / np.diff(knots)
    rises = np.diff(slopes, prepend=0.0)
    kept = np.abs(rises) > 0
    kept[0] |= not kept.any()  # a constant keeps one neuron of weight 0
    return Shallow(
        "relu", np.ones((kept.sum(), 1)), -knots[:-1][kept], rises[kept], float(values[0])
    )


def steps(task: Task, most: int) -> Ladder:
    """Steep sigmoids, one per step."""
    goal = task.goal
    name = task.activation
    variation = float(np.abs(np.diff(goal.dense[1])).sum())
    tail = min(1e-2, task.eps / (20 * max(variation, 1e-300)))
    for n in sizes(2, most + 1):
        made = staircase(goal.f, SIGMOIDS[name], goal.lo[0], goal.hi[0], n, tail)
        share, start = {"sigmoid": (1.0, 0.0), "tanh": (0.5, 0.5), "arctan": (1 / np.pi, 0.5)}[name]
        weights = np.full((n - 1, 1), made.steepness)
        constant = made.start + start * float(made.rises.sum())
        yield Shallow(
            name, weights, -made.steepness * made.thresholds, share * made.rises, constant
        )


# ---- meshes of boxes --------------------------------------------------------------------------------------------


def _on_meshes(task: Task, most: int) -> Ladder:
    n = 1
    while True:
        made = mesh(task.goal, n)
        if made.neurons > most:
            return
        yield made
        n = max(n + 1, round(n * 1.25))


def mesh(goal: Goal, n: int) -> Kuhn:
    """The interpolant with n cubes per side; the map to [0, n]^d is such that the box stays inside it exactly."""
    maps = [_onto(Fraction(a), Fraction(b), n) for a, b in zip(goal.lo, goal.hi)]
    scale, shift = (np.array(column) for column in zip(*maps))
    sides = [
        np.clip((np.arange(n + 1) - t) / s, a, b)
        for s, t, a, b in zip(scale, shift, goal.lo, goal.hi)
    ]
    rows = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
    return Kuhn(goal.values(rows).reshape((n + 1,) * goal.dimension), scale, shift)


def _onto(lo: Fraction, hi: Fraction, n: int) -> tuple[float, float]:
    """Floats s, β with 0 ≤ s lo + β and s hi + β ≤ n, as large as rounding lets s be."""
    slack = UNIT * float(1 + (abs(lo) + abs(hi)) / (hi - lo))
    for k in range(1, 60):
        s = float(Fraction(n) / (hi - lo)) * (1 - 2**k * slack)
        beta = float(-lo * Fraction(s) + Fraction(n * 2.0 ** (k - 1) * slack))
        if Fraction(s) * lo + Fraction(beta) >= 0 and Fraction(s) * hi + Fraction(beta) <= n:
            return s, beta
    # not for boxes with hi − lo above rounding
    raise ArithmeticError("the box is too thin for float64")


# ---- features with the best output layer ------------------------------------------------------------------------


def random_features(task: Task, most: int) -> Ladder:
    """Ridges drawn at random, the output layer by penalised least squares."""
    x, y = task.samples()
    for n in sizes(4, most):
        for scale in SCALES:
            weights, biases = _draw(task, n, scale)
            yield from _fit_outputs(task, x, y, weights, biases)


def _draw(task: Task, n: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Unit directions in the coordinates of the box, times a steepness, with thresholds inside it."""
    goal = task.goal
    rng = task.rng
    direction = rng.normal(size=(n, goal.dimension))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    direction *= rng.uniform(scale / 2, scale, size=(n, 1))
    through = rng.uniform(-1, 1, size=(n, goal.dimension))
    weights = direction / goal.halves
    return weights, -(direction * through).sum(1) - weights @ goal.centre


def _fit_outputs(
    task: Task, x: np.ndarray, y: np.ndarray, weights: np.ndarray, biases: np.ndarray
) -> Ladder:
    features = VALUES[task.activation](x @ weights.T + biases)
    mean = features.mean(0)
    level = y.mean()
    u, s, vt = np.linalg.svd(features - mean, full_matrices=False)
    for ridge in RIDGES:
        outer = vt.T @ (s / (s * s + (ridge * s[0]) ** 2 + 1e-300) * (u.T @ (y - level)))
        yield Shallow(task.activation, weights, biases, outer, float(level - mean @ outer))


def greedy(task: Task, most: int) -> Ladder:
    """Orthogonal greedy: the ridge that fits the residual best, then all output weights anew."""
    x, y = task.samples()
    per = CANDIDATES // len(SCALES)
    drawn = [_draw(task, per, scale) for scale in SCALES]
    weights, biases = (np.concatenate(part) for part in zip(*drawn))
    features = VALUES[task.activation](x @ weights.T + biases)
    features -= features.mean(0)
    length = np.linalg.norm(features, axis=0)
    level = y.mean()
    basis = np.empty((len(x), 0))
    chosen = []
    residual = y - level
    due = set(sizes(4, most))
    for k in range(1, min(most, len(biases)) + 1):
        gains = np.abs(residual @ features) / np.maximum(length, 1e-300)
        gains[chosen] = -1.0
        chosen.append(int(np.argmax(gains)))
        column = features[:, chosen[-1]] - basis @ (basis.T @ features[:, chosen[-1]])
        basis = np.column_stack([basis, column / max(float(np.linalg.norm(column)), 1e-300)])
        residual = residual - basis[:, -1] * (basis[:, -1] @ residual)
        if k in due:
            yield from _fit_outputs(task, x, y, weights[chosen], biases[chosen])


def train_layer(task: Task, most: int) -> Ladder:
    """One hidden layer by gradient descent (Adam) in the coordinates of the box."""
    from ftheta.training import fit

    x, y = task.samples()
    inside = (x - task.goal.centre) / task.goal.halves
    size = max(float(np.abs(y).max()), 1e-300)
    for n in sizes(8, min(most, 256), 2.0):
        start = random_mlp(
            task.rng, (task.goal.dimension, n, 1), task.activation, gain=4.0, bias=1.0
        )
        net = fit(
            start, (inside, (y / size)[:, None]), step=0.01, steps=TRAINING_STEPS, progress=False
        ).network
        read = Shallow.read(net)
        weights = read.weights / task.goal.halves
        biases = read.biases - weights @ task.goal.centre
        features = VALUES[task.activation](x @ weights.T + biases)
        level = float((y - features @ (size * read.outer)).mean())
        yield Shallow(task.activation, weights, biases, size * read.outer, level)


# ---- steps: Barron's sampling, and Frank–Wolfe ------------------------------------------------------------------


def barron_sampling(task: Task, most: int) -> Ladder:
    """Neurons drawn from the spectrum, and their mean."""
    goal = task.goal
    sample, moment = spectrum_of(goal)
    problem = Problem.on(goal.values, sample, moment, ball_around(goal))
    for n in sizes(16, most, 2.0):
        drawn = problem.neurons(task.rng, n)
        yield from _sigmoids(
            task, Steps(drawn.directions, drawn.thresholds, drawn.coefficients / n)
        )


def frank_wolfe_steps(task: Task, most: int) -> Ladder:
    """Frank–Wolfe in the hull of steps along some directions, with thresholds between samples."""
    goal = task.goal
    rng = task.rng
    x, y = task.samples()
    if len(x) > FITTED:
        some = rng.choice(len(x), FITTED, replace=False)
        x = x[some]
        y = y[some]
    wanted = y - _level(goal)
    if has_spectrum(goal):
        sample, moment = spectrum_of(goal)
        along = sample(rng, DIRECTIONS)[0]
        size = 2 * ball_around(goal).radius * moment
    else:
        along = rng.normal(size=(DIRECTIONS, goal.dimension)) / goal.halves
        size = HULL * float(np.abs(wanted).max())
    path = frank_wolfe(x - goal.centre, wanted, unit_directions(along), size, most)
    for k in sizes(16, most, 2.0):
        yield from _sigmoids(task, path.network(k))


def _sigmoids(task: Task, steps: Steps) -> Ladder:
    """Sigmoids in place of steps, steeper and steeper."""
    goal = task.goal
    for steepness in (8.0, 32.0, 128.0):
        weights = steps.directions * (steepness / ball_around(goal).radius)
        biases = -weights @ goal.centre - steps.thresholds * (steepness / ball_around(goal).radius)
        yield Shallow(task.activation, weights, biases, steps.coefficients, _level(goal))


def ball_around(goal: Goal) -> SampledBall:
    """The ball about the centre of the box through its corners."""
    return SampledBall(goal.centre, float(np.linalg.norm(goal.halves)), goal.centre[None])


def _level(goal: Goal) -> float:
    return float(goal.values(goal.centre[None])[0])


def has_spectrum(goal: Goal) -> bool:
    """Whether the spectrum is known, or few variables let samples tell it."""
    return goal.dimension in WAVES or (
        goal.spectrum is not None and isfinite(goal.spectrum.first_moment.hi)
    )


def spectrum_of(goal: Goal) -> tuple[Callable[..., Any], float]:
    """The spectrum that is known, or the cosines of the even extension beyond the box, from samples."""
    known = goal.spectrum
    if known is not None and isfinite(known.first_moment.hi):
        return known.sample, known.first_moment.hi
    d = goal.dimension
    n = WAVES[goal.dimension]
    sides = [(np.arange(n) + 0.5) / n * (b - a) + a for a, b in zip(goal.lo, goal.hi)]
    rows = np.stack([x.ravel() for x in np.meshgrid(*sides, indexing="ij")], 1)
    found = fft.dctn(goal.values(rows).reshape((n,) * d), type=2) / n**d
    numbers = np.stack([k.ravel() for k in np.meshgrid(*(np.arange(n),) * d, indexing="ij")], 1)
    sizes_ = found.ravel() / 2 ** (numbers == 0).sum(1)
    waves = []
    for signs in product((1, -1), repeat=d - 1):  # a product of cosines is a mean of cosines
        waves.append(np.array([1, *signs]) * numbers * np.pi / (2 * goal.halves))
    omega = np.concatenate(waves)
    amplitudes = np.tile(sizes_, len(waves)) / len(waves)
    phases = -omega @ np.asarray(goal.lo) + np.where(amplitudes < 0, np.pi, 0.0)
    weight = np.abs(amplitudes) * np.linalg.norm(omega, axis=1)
    total = float(weight.sum())
    share = weight / total if total > 0 else np.full(len(weight), 1 / len(weight))

    def sample(rng: np.random.Generator, p: int) -> tuple[np.ndarray, np.ndarray]:
        k = rng.choice(len(omega), size=p, p=share)
        return omega[k], phases[k]

    return sample, total


@dataclass(frozen=True, slots=True)
class Method:
    """A construction, the activations it works with (the first by default) and the dimensions it reaches."""

    build: Callable[[Task, int], Iterator[Any]]
    activations: tuple[str, ...]
    dimensions: int | None
    says: str


SIGMOIDAL = ("sigmoid", "tanh", "arctan")
ANY = (
    "tanh",
    "relu",
    *(name for name in ACTIVATIONS if name in VALUES and name not in ("tanh", "relu")),
)
