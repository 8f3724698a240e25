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

from ftheta.estimates import binomial_interval, fit_rate, mean
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Real

from .descent import RegressionTask, Runs, descend, stiffness

Start: TypeAlias = Callable[[np.random.Generator, int], np.ndarray]
MEMORY = 2_000_000_000  # bytes


def balanced_start(dimension: int, size: float = 1.0) -> Start:
    r"""$\mu=\pm s$ and $w$ uniform on the sphere of radius $s$: both signs, all directions."""

    def draw(rng: np.random.Generator, q: int) -> np.ndarray:
        w = rng.normal(size=(q, dimension))
        w *= size / np.linalg.norm(w, axis=1, keepdims=True)
        return np.column_stack([rng.choice([-size, size], q), w])

    return draw


@dataclass(frozen=True, eq=False)
class MeanField:
    """A run of `neurons` and what it started from; `bias` says whether a constant was added to every input."""

    task: RegressionTask
    runs: Runs
    start: Start
    steps: int
    bias: bool
    seed: int

    @property
    def energies(self) -> Float[np.ndarray, "steps"]:
        """Before every step and at the end."""
        return self.runs.energies[0]

    @property
    def times(self) -> Float[np.ndarray, "steps"]:
        """Of the energies."""
        return self.runs.times[0]

    @property
    def particles(self) -> Float[np.ndarray, "q c"]:
        r"""The neurons at the end, one row $(\mu,w)$ each."""
        return self.runs.end[0]

    @property
    def paths(self) -> Float[np.ndarray, "looks q c"]:
        """The neurons on the way, `(looks, neurons, 1 + d)`."""
        return self.runs.paths

    def __call__(self, x: Any) -> Float[np.ndarray, "n"]:
        """The outputs at rows."""
        return self.task.with_rows(_rows(x, self.bias)).outputs(self.runs.end)[0]

    @property
    def largest_rise(self) -> float:
        """Of the energy in one step: not positive, for the energy never rises."""
        return float(np.diff(self.energies).max(initial=0.0))

    @property
    def dissipation(self) -> float:
        r"""$\int\int|\nabla V|^2\,d\rho\,dt$, which is what the energy has lost."""
        return float(np.trapezoid(self.runs.dissipations[0], self.times))

    def fluctuations(
        self, widths: Sequence[int] = (64, 256, 1024), draws: int = 12
    ) -> "Fluctuations":
        """Networks of fewer neurons from the same law, trained as long, beside this one as the limit.

        From 64 neurons on: of 16, one network in a dozen may lack a direction that the function needs. It stays far
        off however short the steps are, and so heavy a tail hides the law of large numbers.
        """
        rng = np.random.default_rng(self.seed + 1)
        starts = [np.stack([self.start(rng, q) for _ in range(draws)]) for q in widths]
        step = 0.5 / max(
            float(stiffness(self.task, theta).max()) for theta in (self.runs.start, *starts)
        )
        # short ones: narrow networks are stiffer
        steps = int(min(20 * self.steps, np.ceil(self.times[-1] / step)))
        ends = [
            self.task.outputs(descend(self.task, theta, steps, step).end)
            for theta in (self.runs.start, *starts)
        ]
        errors = [((reached - ends[0]) ** 2).mean(1) for reached in ends[1:]]
        return Fluctuations(np.array(widths, float), errors)

    def success(
        self, widths: Sequence[int] = (2, 4, 8, 16, 32), seeds: int = 16, below: float = 1e-3
    ) -> "Success":
        """Networks of these widths from the same law: which reach `below` times the energy of no neuron at all."""
        rng = np.random.default_rng(self.seed + 2)
        return success(
            self.task, self.start, widths, seeds, self.steps, below * self.task.worth, rng
        )


@dataclass(frozen=True, eq=False)
class Fluctuations:
    r"""`squares[i]` are $\mathrm{mean}|f_q-f_\rho|^2$ of several networks of `widths[i]` neurons."""

    widths: Real[np.ndarray, "w"]
    squares: list[Float[np.ndarray, "draws"]]

    @property
    def scaled_squares(self) -> list[Enclosure]:
        r"""$q\,\mathbb E|f_q-f_\rho|^2$ at each width: about the same where the law of large numbers holds."""
        return [mean(q * square) for q, square in zip(self.widths, self.squares)]

    @property
    def order(self) -> Enclosure:
        r"""The slope of $\log|f_q-f_\rho|$ against $\log q$, about $-\frac12$, with its confidence interval."""
        roots = np.sqrt(np.concatenate(self.squares))
        return fit_rate(np.repeat(self.widths, [len(square) for square in self.squares]), roots)


@dataclass(frozen=True, eq=False)
class Success:
    """Final energies `(seeds,)` of each width, and the `target` below which a run has succeeded."""

    widths: tuple[int, ...]
    finals: tuple[Float[np.ndarray, "seeds"], ...]
    target: float
    widest: Runs

    def rates(self, confidence: float = 0.95) -> tuple[Enclosure, ...]:
        """The chance of success at each width, with its confidence interval."""
        return tuple(
            binomial_interval(int((f <= self.target).sum()), len(f), confidence)
            for f in self.finals
        )

    @property
    def shares(self) -> Float[np.ndarray, "w"]:
        """Of the runs of each width that succeeded."""
        return np.array([(f <= self.target).mean() for f in self.finals])

    @property
    def least_width(self) -> int | None:
        """The first width at which at least half of the runs succeed."""
        return next((q for q, share in zip(self.widths, self.shares) if share >= 0.5), None)


def success(
    task: RegressionTask,
    start: Start,
    widths: Sequence[int],
    seeds: int,
    steps: int,
    target: float,
    rng: np.random.Generator,
) -> Success:
    """Train `seeds` networks of each width; the energy at the end counts."""
    finals = []
    runs = None
    for q in widths:
        runs = descend(task, np.stack([start(rng, q) for _ in range(seeds)]), steps)
        finals.append(runs.energies[:, -1])
    assert runs is not None
    return Success(tuple(widths), tuple(finals), target, runs)


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
    of rows and has `energies`, `times`, `particles`, `paths`, `fluctuations()`, `success()`; its charts are drawn by
    `ftheta.theorems.charts_particles`.
    """
    task = RegressionTask.of(_rows(x, bias), y, activation)
    rows = 1 + task.X.shape[1]
    if neurons < 1 or steps < 1 or (step is not None and not step > 0):
        got = f"neurons={neurons}, steps={steps}, step={step}"
        raise UsageError(
            "A flow needs neurons, steps and a positive step.",
            got=got,
            remedy="give positive numbers",
        )
    needed = 8 * 6 * neurons * rows
    if needed > memory:
        got = f"{needed:,} bytes, allowed {memory:,}"
        raise UsageError(
            "The neurons do not fit into the memory allowed.",
            got=got,
            remedy="fewer neurons or more memory=",
        )
    given = None if start is None or callable(start) else np.asarray(start, np.float64)
    law = (
        start
        if callable(start)
        else balanced_start(rows - 1)
        if given is None
        else _resample(given)
    )
    theta = law(np.random.default_rng(seed), neurons) if given is None else given
    if theta.ndim != 2 or theta.shape[1] != rows or not np.isfinite(theta).all():
        got = f"shape {theta.shape}"
        remedy = f"give rows (μ, w) of {rows} numbers{', the last w for the bias' if bias else ''}"
        raise UsageError("The neurons do not fit the data.", got=got, remedy=remedy)
    return MeanField(task, descend(task, theta[None], steps, step), law, steps, bias, seed)


def _resample(theta: np.ndarray) -> Start:
    return lambda rng, q: theta[rng.integers(len(theta), size=q)]


def _rows(x: Any, bias: bool) -> np.ndarray:
    x = np.asarray(x, np.float64)
    if x.ndim == 1:
        x = x[:, None]
    return np.column_stack([x, np.ones(len(x))]) if bias and x.ndim == 2 else x
