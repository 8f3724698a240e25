r"""`mean_field`: a two-layer network as a measure of neurons, and training as its flow.

The network is $f_\rho(x)=\int\mu\,\sigma(\langle w,x\rangle)\,d\rho$ with $\rho$ the mean of $q$ atoms. Training
moves $\rho$ down the gradient of $F(\rho)=\frac12\mathrm{mean}(f_\rho-y)^2$ in Wasserstein space, with
$\dot F=-\int|\nabla V|^2d\rho$. From independent neurons the outputs at any time are within $O(q^{-1/2})$ of those of
the limit.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ftheta.estimates import binomial_interval, mean
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Identity, Series, UsageError

from .. import orders
from .descent import Runs, Task, descend, stiffness

Start: TypeAlias = Callable[[np.random.Generator, int], np.ndarray]
MEMORY = 2_000_000_000  # bytes
LOOKS, SHOWN = 24, 60  # points of a path and paths that are drawn


def balanced(dimension: int, size: float = 1.0) -> Start:
    r"""$\mu=\pm s$ and $w$ uniform on the sphere of radius $s$: both signs, all directions."""

    def draw(rng: np.random.Generator, q: int) -> np.ndarray:
        w = rng.normal(size=(q, dimension))
        w *= size / np.linalg.norm(w, axis=1, keepdims=True)
        return np.column_stack([rng.choice([-size, size], q), w])

    return draw


@dataclass(frozen=True, eq=False)
class MeanField:
    """A run of `neurons` and what it started from; `bias` says whether a constant was added to every input."""

    task: Task
    runs: Runs
    start: Start
    steps: int
    bias: bool
    seed: int

    @property
    def energies(self) -> np.ndarray:
        return self.runs.energies[0]

    @property
    def times(self) -> np.ndarray:
        return self.runs.times[0]

    @property
    def particles(self) -> np.ndarray:
        r"""The neurons at the end, one row $(\mu,w)$ each."""
        return self.runs.end[0]

    @property
    def paths(self) -> np.ndarray:
        """The neurons on the way, `(looks, neurons, 1 + d)`."""
        return self.runs.paths

    def __call__(self, x: Any) -> np.ndarray:
        """The outputs at rows."""
        return self.task.with_rows(_rows(x, self.bias)).outputs(self.runs.end)[0]

    def claims(self) -> tuple[Claim, ...]:
        """The energy never rises, and what it lost is what was dissipated."""
        rise = Enclosure.equal(float(np.diff(self.energies).max(initial=0.0)))
        lost, spent = self.energies[0] - self.energies[-1], np.trapezoid(self.runs.dissipations[0], self.times)
        return (
            AtMost("largest rise of the energy in a step", rise, Enclosure.exact(0), atol=1e-14),
            Identity(
                "F(0) − F(t) = ∫∫|∇V|² dρ dt", Enclosure.equal(float(lost)), Enclosure.equal(float(spent)), rtol=0.05
            ),
        )

    def fluctuations(self, widths: Sequence[int] = (64, 256, 1024), draws: int = 12) -> "Fluctuations":
        """Networks of fewer neurons from the same law, trained as long, beside this one as the limit.

        From 64 neurons on: of 16, one network in a dozen may lack a direction that the function needs. It stays far
        off however short the steps are, and so heavy a tail hides the law of large numbers.
        """
        rng = np.random.default_rng(self.seed + 1)
        starts = [np.stack([self.start(rng, q) for _ in range(draws)]) for q in widths]
        step = 0.5 / max(float(stiffness(self.task, theta).max()) for theta in (self.runs.start, *starts))
        steps = int(min(20 * self.steps, np.ceil(self.times[-1] / step)))  # short ones: narrow networks are stiffer
        ends = [self.task.outputs(descend(self.task, theta, steps, step).end) for theta in (self.runs.start, *starts)]
        errors = [((reached - ends[0]) ** 2).mean(1) for reached in ends[1:]]
        return Fluctuations(np.array(widths, float), errors)

    def success(self, widths: Sequence[int] = (2, 4, 8, 16, 32), seeds: int = 16, below: float = 1e-3) -> "Success":
        """Networks of these widths from the same law: which reach `below` times the energy of no neuron at all."""
        rng = np.random.default_rng(self.seed + 2)
        return success(self.task, self.start, widths, seeds, self.steps, below * self.task.worth, rng)

    def charts(self) -> tuple[Curves, Curves]:
        return energy_chart(self.runs), trajectory_chart(self.paths)


@dataclass(frozen=True, eq=False)
class Fluctuations:
    r"""`squares[i]` are $\mathrm{mean}|f_q-f_\rho|^2$ of several networks of `widths[i]` neurons."""

    widths: np.ndarray
    squares: list[np.ndarray]

    @property
    def scaled(self) -> list[Enclosure]:
        r"""$q\,\mathbb E|f_q-f_\rho|^2$ at each width: about the same where the law of large numbers holds."""
        return [mean(q * square) for q, square in zip(self.widths, self.squares)]

    def claims(self) -> tuple[Claim, ...]:
        roots = np.sqrt(np.concatenate(self.squares))
        scales = np.repeat(self.widths, [len(square) for square in self.squares])
        return orders.observed_order("|f_q − f_ρ| after training", 0.5, scales, roots, slack=0.2)

    def chart(self) -> Curves:
        middle = np.array([np.sqrt(s.mean()) for s in self.squares])
        guide = middle[0] * np.sqrt(self.widths[0] / self.widths)
        lo, hi = (np.array([np.sqrt(np.quantile(s, level)) for s in self.squares]) for level in (0.1, 0.9))
        lines = (
            Series("slope −1/2", self.widths, guide, "reference"),
            Series("networks trained", self.widths, middle, "measured", "line", lo, hi),
        )
        return Curves("fluctuation after training", Axis("neurons q", "log"), Axis("|f_q − f_ρ|", "log"), lines)


@dataclass(frozen=True, eq=False)
class Success:
    """Final energies `(seeds,)` of each width, and the `target` below which a run has succeeded."""

    widths: tuple[int, ...]
    finals: tuple[np.ndarray, ...]
    target: float
    widest: Runs

    def rates(self, confidence: float = 0.95) -> tuple[Enclosure, ...]:
        """The chance of success at each width, with its confidence interval."""
        return tuple(binomial_interval(int((f <= self.target).sum()), len(f), confidence) for f in self.finals)

    @property
    def shares(self) -> np.ndarray:
        return np.array([(f <= self.target).mean() for f in self.finals])

    @property
    def least_width(self) -> int | None:
        """The first width at which at least half of the runs succeed."""
        return next((q for q, share in zip(self.widths, self.shares) if share >= 0.5), None)

    def chart(self, unit: int = 1) -> Curves:
        """Success against the width in units of so many neurons."""
        x, rates = np.array(self.widths) / unit, self.rates()
        seen = Series(
            "runs that succeed", x, self.shares, "measured", "line", [r.lo for r in rates], [r.hi for r in rates]
        )
        label = "neurons q" if unit == 1 else "neurons of the student / of the teacher"
        return Curves("success against width", Axis(label, "log"), Axis("share of runs"), (seen,))


def success(
    task: Task, start: Start, widths: Sequence[int], seeds: int, steps: int, target: float, rng: np.random.Generator
) -> Success:
    """Train `seeds` networks of each width; the energy at the end counts."""
    finals, runs = [], None
    for q in widths:
        runs = descend(task, np.stack([start(rng, q) for _ in range(seeds)]), steps)
        finals.append(runs.energies[:, -1])
    assert runs is not None
    return Success(tuple(widths), tuple(finals), target, runs)


def energy_chart(runs: Runs) -> Curves:
    """The energies of all runs against time: their median, and all between the extremes."""
    kept = np.unique(np.geomspace(1, runs.energies.shape[1], 120).astype(int) - 1)
    lo, middle, hi = np.quantile(np.maximum(runs.energies[:, kept], 1e-300), (0.0, 0.5, 1.0), axis=0)
    time = np.median(runs.times[:, kept], 0)
    band = Series("energy F", time[1:], middle[1:], "measured", "line", lo[1:], hi[1:])
    return Curves("decay of the energy", Axis("time t", "log"), Axis("F", "log"), (band,))


def trajectory_chart(paths: np.ndarray, teacher: np.ndarray | None = None) -> Curves:
    r"""Where the neurons go, $|\mu|w$ in a plane of the first two coordinates, one line each, by the sign of $\mu$."""
    paths = paths[:: -(-len(paths) // LOOKS), :SHOWN]
    places = np.abs(paths[..., :1]) * paths[..., 1:3]
    places = np.concatenate([places, np.full_like(places[:1], np.inf)])  # a gap after each neuron
    series = []
    if teacher is not None:
        at = np.abs(teacher[:, :1]) * teacher[:, 1:3] / len(teacher)
        at = at / np.linalg.norm(at, axis=1, keepdims=True) * np.linalg.norm(places[:-1], axis=-1).max()
        rays = np.stack([np.zeros_like(at), at, np.full_like(at, np.inf)], 1).reshape(-1, 2)
        series.append(Series("teacher's directions", rays[:, 0], rays[:, 1], "reference"))
    for name, chosen in (("μ > 0", paths[-1, :, 0] > 0), ("μ < 0", paths[-1, :, 0] <= 0)):
        if chosen.any():
            lines = places[:, chosen].swapaxes(0, 1).reshape(-1, 2)
            series.append(Series(name, lines[:, 0], lines[:, 1], "measured" if "> 0" in name else "other"))
    return Curves("paths of the neurons", Axis("|μ| w₁"), Axis("|μ| w₂"), tuple(series))


def mean_field(
    x: Any,
    y: Any,
    *,
    neurons: int = 1000,
    steps: int = 500,
    step: float | None = None,
    activation: str = "relu",
    bias: bool = True,
    start: Start | np.ndarray | None = None,
    seed: int = 0,
    memory: int = MEMORY,
) -> MeanField:
    r"""Train $f=\frac1q\sum_k\mu_k\sigma(\langle w_k,x\rangle)$ of so many `neurons` on rows `x` and numbers `y`.

    With `bias` a constant 1 is added to each row. `start(rng, q)` draws $q$ rows $(\mu,w)$ (or is such an array); by
    default $\mu=\pm1$ and $|w|=1$. Without `step` the steps are as long as the energy falls. The result is a function
    of rows and has `energies`, `times`, `particles`, `paths`, `claims()`, `charts()`, `fluctuations()`, `success()`.
    """
    task = Task.of(_rows(x, bias), y, activation)
    rows = 1 + task.X.shape[1]
    if neurons < 1 or steps < 1 or (step is not None and not step > 0):
        got = f"neurons={neurons}, steps={steps}, step={step}"
        raise UsageError("A flow needs neurons, steps and a positive step.", got=got, remedy="give positive numbers")
    if (needed := 8 * 6 * neurons * rows) > memory:
        got = f"{needed:,} bytes, allowed {memory:,}"
        raise UsageError(
            "The neurons do not fit into the memory allowed.", got=got, remedy="fewer neurons or more memory="
        )
    given = None if start is None or callable(start) else np.asarray(start, np.float64)
    law = balanced(rows - 1) if start is None else start if callable(start) else _resampled(given)
    theta = law(np.random.default_rng(seed), neurons) if given is None else given
    if theta.ndim != 2 or theta.shape[1] != rows or not np.isfinite(theta).all():
        got, remedy = (
            f"shape {theta.shape}",
            f"give rows (μ, w) of {rows} numbers{', the last w for the bias' if bias else ''}",
        )
        raise UsageError("The neurons do not fit the data.", got=got, remedy=remedy)
    return MeanField(task, descend(task, theta[None], steps, step), law, steps, bias, seed)


def _resampled(theta: Any) -> Start:
    return lambda rng, q: theta[rng.integers(len(theta), size=q)]


def _rows(x: Any, bias: bool) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim == 1:
        x = x[:, None]
    return np.column_stack([x, np.ones(len(x))]) if bias and x.ndim == 2 else x
