r"""Rates measured, not asserted: error against neurons in dimension after dimension, with fitted exponents.

For every $d$ networks are drawn by Barron's sampling from the spectrum of $e^{-|x|^2/2}$ on the unit ball, their root
mean square error is fitted by $n^{-\alpha}$ with a Student-t interval, and the greedy network is fitted beside it. A
grid of $n$ cells gains $n^{-1/d}$ (`smoothness`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from ftheta.estimates import fit_rate, mean
from ftheta.logic.chart import Axis, Curves, Series
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import UsageError
from ftheta.logic.table import Table

from .barron import Problem, gaussian_problem

SHOWN_DIMENSIONS = (1, 2, 5, 10, 20)
NEURONS = (16, 32, 64, 128, 256, 512)


@dataclass(frozen=True, eq=False)
class Measured:
    """One dimension: mean squared errors with confidence, the greedy ones, the bounds, and both exponents."""

    dimension: int
    squares: tuple[Enclosure, ...]
    greedy: tuple[float, ...]
    bounds: tuple[float, ...]
    exponent: Enclosure
    greedy_exponent: Enclosure

    @property
    def within_bounds(self) -> bool:
        """Whether no mean contradicts Barron's bound."""
        return all(e.lo <= b * b for e, b in zip(self.squares, self.bounds))


@dataclass(frozen=True, eq=False)
class Rates:
    """Errors and fitted exponents of one dimension a row, for networks of so many `neurons`."""

    neurons: tuple[int, ...]
    rows: tuple[Measured, ...]

    def table(self) -> Table:
        """The exponents with their confidence intervals."""
        columns = (
            "d",
            "exponent",
            "from",
            "to",
            "greedy exponent",
            f"error at {self.neurons[-1]}",
            "bound there",
        )
        rows = [
            (r.dimension, r.exponent.middle, r.exponent.lo, r.exponent.hi, r.greedy_exponent.middle,
             sqrt(r.squares[-1].middle), r.bounds[-1])
            for r in self.rows
        ]  # fmt: skip
        return Table("fitted exponents", columns, tuple(rows))

    def charts(self) -> tuple[Curves, Curves]:
        """The exponents against dimension; errors against neurons for some dimensions."""
        return _draw_rates(self)


def measure_rates(
    dimensions: Sequence[int] = tuple(range(1, 21)),
    neurons: Sequence[int] = NEURONS,
    *,
    seeds: int = 32,
    seed: int = 0,
    problem: Callable[[np.random.Generator, int], Problem] = gaussian_problem,
) -> Rates:
    """Exponents for every dimension; `problem(rng, d)` is the function with its spectrum and its ball."""
    if len(neurons) < 3 or min(neurons, default=0) < 1 or min(dimensions, default=0) < 1:
        raise UsageError(
            "A rate needs three numbers of neurons, and dimensions from 1.",
            got=(dimensions, neurons),
        )
    rng = np.random.default_rng(seed)
    return Rates(
        tuple(neurons), tuple(_measure(problem(rng, d), rng, d, neurons, seeds) for d in dimensions)
    )


def _measure(
    problem: Problem, rng: np.random.Generator, d: int, neurons: Sequence[int], seeds: int
) -> Measured:
    squares = tuple(mean(problem.errors(rng, n, seeds)) for n in neurons)
    path = np.sqrt(np.maximum(problem.greedy(rng, max(neurons)), 1e-30))
    greedy = tuple(float(path[min(n, len(path)) - 1]) for n in neurons)
    counts = np.array(neurons, float)
    roots = np.sqrt([e.middle for e in squares])
    bounds = tuple(sqrt(problem.bound(n)) for n in neurons)
    return Measured(
        d, squares, greedy, bounds, fit_rate(counts, roots), fit_rate(counts, np.array(greedy))
    )


def _draw_rates(found: Rates) -> tuple[Curves, Curves]:
    """The exponents against dimension; errors against neurons for some dimensions."""
    d = [r.dimension for r in found.rows]
    drawn = [r.exponent for r in found.rows]
    exponents = (
        Series(
            "drawn networks",
            d,
            [e.middle for e in drawn],
            lo=[e.lo for e in drawn],
            hi=[e.hi for e in drawn],
        ),
        Series("greedy networks", d, [r.greedy_exponent.middle for r in found.rows], "other"),
        Series("−1/2", d, [-0.5] * len(d), "bound"),
        Series("−1/d, cells of a grid", d, [-1 / k for k in d], "reference"),
    )
    errors = []
    for r in (r for r in found.rows if r.dimension in SHOWN_DIMENSIONS):
        root = [sqrt(e.middle) for e in r.squares]
        low, high = (
            [sqrt(max(t, 1e-300)) for t in ends] for ends in zip(*((e.lo, e.hi) for e in r.squares))
        )
        errors.append(Series(f"d = {r.dimension}", found.neurons, root, lo=low, hi=high))
        errors.append(Series(f"bound, d = {r.dimension}", found.neurons, r.bounds, "bound"))
    return (
        Curves("exponents that were measured", Axis("dimension d"), Axis("exponent"), exponents),
        Curves(
            "error against neurons", Axis("neurons", "log"), Axis("‖f − f_n‖", "log"), tuple(errors)
        ),
    )
