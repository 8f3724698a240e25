r"""Two weighted sets of points and the cost of moving mass between them, read from what a user hands in.

The masses $a_i$, $b_j$ are normalised to sum 1 exactly: what is meant by weights $w$ is $a_i=w_i/\sum_kw_k$, in real
arithmetic. Costs are those of the stored coordinates, in real arithmetic too: $|x-y|^2$, $|x-y|$, $\sum_k|x_k-y_k|$, or
the entries of a matrix.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import fsum, gcd, inf, isfinite, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.logic.errors import SubjectError, UsageError, suggest
from ftheta.shapes import Float, Int

Array = np.ndarray
COSTS = ("sqeuclidean", "euclidean", "cityblock")
SQUARED, EUCLIDEAN, CITYBLOCK, MATRIX = range(4)
U = 2.0**-53
BALANCED = 1e-9  # relative difference of two masses that is taken for rounding
LARGEST_COST = 1e290
LOST = 1e-280  # more than all underflows
LOST_ROOT = 1e-161  # more than the root of what is lost of one square
MANY_TERMS = 16  # coordinates from which a squared distance is dearer to compute than to read
FEW_PAIRS = 1 << 20


@dataclass(frozen=True, eq=False)
class Problem:
    """Points `x` (n, d) and `y` (m, d), or a `matrix` (n, m) of costs; positive masses `a`, `b` of sum 1 up to
    rounding.

    `mass` is what the weights handed in sum to. Weights are `uniform` where none were given. `kept_x` and `kept_y`
    say which rows of what was handed in have a positive weight; the others take no part. `weights` are those of the
    kept rows as they were given."""

    x: Array
    y: Array
    a: Array
    b: Array
    kind: int
    mass: float
    uniform: bool
    kept_x: Array
    kept_y: Array
    weights: tuple[Array, Array]
    matrix: Array | None = None

    @property
    def n(self) -> int:
        return len(self.a)

    @property
    def m(self) -> int:
        return len(self.b)

    @cached_property
    def relative_error(self) -> float:
        """Of a cost that is computed from differences of coordinates."""
        return 0.0 if self.matrix is not None else (self.x.shape[1] + 4) * U

    @cached_property
    def underflow(self) -> float:
        """What a computed cost may be off by beyond its relative error: squares below the least float64 number are
        lost, and roots of what is lost are not small."""
        return LOST_ROOT * sqrt(self.x.shape[1]) if self.kind == EUCLIDEAN else LOST

    @cached_property
    def centre(self) -> Array:
        return (self.x.mean(0) + self.y.mean(0)) / 2

    @cached_property
    def largest_cost(self) -> float:
        """An upper bound of all costs."""
        if self.matrix is not None:
            return float(self.matrix.max())
        lo = np.minimum(self.x.min(0), self.y.min(0))
        hi = np.maximum(self.x.max(0), self.y.max(0))
        with np.errstate(over="ignore"):
            sides = (hi - lo) * (1 + 4 * U)
            total = sides.sum() if self.kind == CITYBLOCK else (sides**2).sum()
            total = np.sqrt(total) if self.kind == EUCLIDEAN else total
            return float(
                total * (1 + self.relative_error * 4) + (self.underflow if sides.any() else 0.0)
            )

    def costs_of(
        self, rows: Int[np.ndarray, "k"], columns: Int[np.ndarray, "k"]
    ) -> Float[np.ndarray, "k"]:
        """The costs of some pairs, from differences of coordinates."""
        if self.matrix is not None:
            return self.matrix[rows, columns]
        steps = self.x[rows] - self.y[columns]
        if self.kind == CITYBLOCK:
            return np.abs(steps).sum(1)
        squares = np.einsum("kd,kd->k", steps, steps)
        return np.sqrt(squares) if self.kind == EUCLIDEAN else squares

    def exact_cost(self, i: int, j: int) -> Fraction:
        """The cost of one pair as a rational number."""
        if self.matrix is not None:
            return Fraction(float(self.matrix[i, j]))
        steps = [Fraction(float(s)) - Fraction(float(t)) for s, t in zip(self.x[i], self.y[j])]
        if self.kind == EUCLIDEAN and len(steps) > 1:
            raise UsageError(
                "Euclidean distances are no rational numbers.", remedy='cost="sqeuclidean" has them'
            )
        powers = [s * s for s in steps] if self.kind == SQUARED else [abs(s) for s in steps]
        return sum(powers, Fraction(0))

    def table(self, rows: slice, potential: Array, *, columns_first: bool = False) -> Array:
        """The costs of a block of rows with all columns, less the potential of the columns; up to `table_error`.

        With `columns_first` the roles of x and y are exchanged.
        """
        x, y = (self.y, self.x) if columns_first else (self.x, self.y)
        if self.matrix is not None:
            block = self.matrix.T[rows] if columns_first else self.matrix[rows]
            return np.ascontiguousarray(block - potential)
        if self.kind != SQUARED:
            from .pricing import tabulate_distances

            block = x[rows]
            table = np.empty((len(block), len(y)))
            tabulate_distances(block, np.ascontiguousarray(y.T), potential, self.kind, table)
            return table
        if self._squares is not None:
            kept = self._squares.T if columns_first else self._squares
            return np.subtract(kept[rows], potential, order="C")
        return self._tabulate_squares(x[rows], y, potential)

    @cached_property
    def _squares(self) -> Array | None:
        """All squared distances, where these are few but have many terms: passes over all pairs then read them."""
        if self.kind != SQUARED or self.x.shape[1] < MANY_TERMS or self.n * self.m > FEW_PAIRS:
            return None
        return self._tabulate_squares(self.x, self.y, np.zeros(self.m))

    def _tabulate_squares(self, x: Array, y: Array, potential: Array) -> Array:
        """Squared distances less the potential of the columns, as one product of matrices."""
        block = x - self.centre
        other = y - self.centre
        ones = np.ones((len(block), 1))
        left = np.concatenate([-2 * block, np.einsum("kd,kd->k", block, block)[:, None], ones], 1)
        last = np.einsum("kd,kd->k", other, other) - potential
        right = np.concatenate([other, np.ones((len(other), 1)), last[:, None]], 1)
        return left @ right.T

    def table_error(self, potential: Array) -> float:
        """What an entry of `table` may be off by, in float64."""
        if self.matrix is not None:
            return (
                4
                * U
                * (float(np.abs(self.matrix).max()) + float(np.abs(potential).max(initial=0.0)))
            )
        d = self.x.shape[1]
        far = max(
            float(np.abs(self.x - self.centre).max()), float(np.abs(self.y - self.centre).max())
        )
        potentials = float(np.abs(potential).max(initial=0.0))
        if self.kind != SQUARED:
            return 2 * (d + 4) * U * self.largest_cost + 4 * U * potentials + 2 * self.underflow
        return 4 * (d + 8) * U * (4 * d * far**2 + potentials)


def read_problem(
    x: ArrayLike,
    y: ArrayLike,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    cost: str | ArrayLike = "sqeuclidean",
) -> Problem:
    """The problem that is meant, or an error that says what is wrong with it."""
    matrix = None
    kind = MATRIX
    points_x = read_points(x, "x")
    points_y = read_points(y, "y")
    if isinstance(cost, str):
        if cost not in COSTS:
            raise UsageError(
                "That is no cost.",
                got=cost,
                remedy=suggest(cost, COSTS, f"one of {', '.join(COSTS)}"),
            )
        kind = COSTS.index(cost)
        if points_x.shape[1] != points_y.shape[1]:
            raise SubjectError(
                "The points of the two sets have different dimensions.",
                got=f"x has {points_x.shape[1]} columns, y has {points_y.shape[1]}",
                remedy="give the same columns in both",
            )
    else:
        matrix = _read_matrix(cost, len(points_x), len(points_y))
    weights_x = read_weights(a, len(points_x), "a")
    weights_y = read_weights(b, len(points_y), "b")
    mass = _ensure_balance(weights_x, weights_y, a is not None, b is not None)
    kept_x = np.flatnonzero(weights_x)
    kept_y = np.flatnonzero(weights_y)
    problem = Problem(
        points_x[kept_x],
        points_y[kept_y],
        weights_x[kept_x] / fsum(weights_x),
        weights_y[kept_y] / fsum(weights_y),
        kind,
        mass,
        a is None and b is None,
        kept_x,
        kept_y,
        (weights_x[kept_x], weights_y[kept_y]),
        None if matrix is None else np.ascontiguousarray(matrix[np.ix_(kept_x, kept_y)]),
    )
    if not problem.largest_cost < LARGEST_COST:
        raise SubjectError(
            "The costs are too large for float64.", got=f"up to {problem.largest_cost:g}"
        )
    return problem


def _read_floats(given: Any, name: str, what: str) -> Array:
    """Numbers as float64, where that is what they are: a whole number above 2⁵³ is refused, not rounded."""
    try:
        numbers = np.asarray(given)
        if numbers.dtype.kind in "cmMSU":  # complex numbers, times and words
            raise TypeError
        floats = numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise SubjectError(what, where=name, got=type(given).__name__) from None
    rounded = _find_rounded(numbers, floats)
    if rounded is not None:
        raise SubjectError(
            "A number has no exact float64 value and would be rounded.",
            where=name,
            got=str(rounded),
            remedy="subtract the same number from all of them, or give floats",
        )
    return floats


def _find_rounded(numbers: np.ndarray, floats: Array) -> Any:
    """An entry that changed when it became float64, if any; NaN is none."""
    kind = numbers.dtype.kind
    if kind == "b" or (kind == "f" and numbers.dtype.itemsize <= 8):
        return None
    if kind in "iu" and (not numbers.size or max(-int(numbers.min()), int(numbers.max())) <= 2**53):
        return None
    # Python compares numbers of different types by their values
    pairs = zip(numbers.ravel().tolist(), floats.ravel().tolist())
    if kind == "f":
        pairs = zip(numbers.ravel(), floats.ravel())
    return next((n for n, x in pairs if isfinite(x) and n != x), None)


def read_points(given: ArrayLike, name: str) -> Float[np.ndarray, "n d"]:
    """Points as rows; numbers alone are points of the line."""
    points = _read_floats(given, name, "Points are real numbers.")
    if points.size == 0:
        raise SubjectError(
            "There are no points.",
            where=name,
            got=f"shape {points.shape}",
            remedy="give at least one",
        )
    if points.ndim == 0:
        raise SubjectError(
            "Points are an array of numbers or of rows.", where=name, got="one number"
        )
    rows = points.reshape(len(points), -1)
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        i, k = bad[0]
        got = f"{rows[i, k]} ({len(bad)} such {'value' if len(bad) == 1 else 'values'})"
        raise SubjectError(
            "Points must be finite.", where=f"{name}[{i}, {k}]", got=got, remedy="drop these rows"
        )
    return rows


def read_weights(given: ArrayLike | None, count: int, name: str) -> Float[np.ndarray, "n"]:
    """Non-negative weights, one for each point; all alike where none are given."""
    if given is None:
        return np.ones(count)
    weights = _read_floats(given, name, "Weights are real numbers.").ravel()
    if len(weights) != count:
        raise SubjectError(
            "There must be one weight per point.", where=name, got=f"{count} points, {len(weights)}"
        )
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if len(bad):
        got = f"{weights[bad[0]]} ({len(bad)} such weights)"
        raise SubjectError(
            "Weights are finite and not negative.", where=f"{name}[{bad[0]}]", got=got
        )
    if not weights.any():
        raise SubjectError("All weights are zero.", where=name)
    if not weights.max() <= LARGEST_COST:
        raise SubjectError(
            "Weights are too large for float64.", where=name, got=f"up to {weights.max():g}"
        )
    return weights


def _read_matrix(given: Any, n: int, m: int) -> Array:
    matrix = _read_floats(given, "cost", "Costs are real numbers.")
    if matrix.shape != (n, m):
        raise SubjectError(
            "A matrix of costs has a row for each x and a column for each y.", got=str(matrix.shape)
        )
    if not np.isfinite(matrix).all():
        remedy = "give forbidden pairs a large cost, such as 1e32"
        raise SubjectError("Costs must be finite.", got="NaN or infinity", remedy=remedy)
    if matrix.min() < 0:
        remedy = "add a constant to all of them: the plan stays the same"
        raise SubjectError("Costs are not negative.", got=f"{matrix.min():g}", remedy=remedy)
    return matrix


def _ensure_balance(a: Array, b: Array, given_a: bool, given_b: bool) -> float:
    """The common mass; weights that were not given take that of the others."""
    total_a = fsum(a)
    total_b = fsum(b)
    if not (given_a and given_b):
        return total_a if given_a else total_b if given_b else 1.0
    if abs(total_a - total_b) > BALANCED * max(total_a, total_b):
        raise SubjectError(
            "The two masses differ.",
            got=f"{total_a:.12g} and {total_b:.12g}, a difference of {abs(total_a - total_b):.3g}",
            remedy="divide each by its sum, if they are meant as probabilities",
        )
    return 1.0 if abs(total_a - 1) <= BALANCED else total_a


def exact_masses(problem: Problem) -> tuple[list[Fraction], list[Fraction]]:
    """The masses as rational numbers, which sum to 1."""
    if problem.uniform:
        return [Fraction(1, problem.n)] * problem.n, [Fraction(1, problem.m)] * problem.m
    sides = []
    for weights in problem.weights:
        rationals = [Fraction(float(w)) for w in weights]
        total = sum(rationals, Fraction(0))
        sides.append([w / total for w in rationals])
    return sides[0], sides[1]


def integer_masses(problem: Problem) -> tuple[Array, Array, int, float]:
    """Whole numbers proportional to the masses and their sum; and how much mass they misplace, at most.

    Whole weights, and equal ones, are proportional to whole numbers exactly; others are rounded to multiples of
    $2^{-60}$.
    """
    left, right = (w if _are_whole(w) else None for w in problem.weights)
    if left is not None and right is not None:
        common = gcd(int(left.sum()), int(right.sum()))
        supply = left.astype(np.int64) * (int(right.sum()) // common)
        demand = right.astype(np.int64) * (int(left.sum()) // common)
        return supply, demand, int(supply.sum()), 0.0
    total = 1 << 60
    sides = []
    for weights in (problem.a, problem.b):
        whole = np.maximum(np.rint(weights * total).astype(np.int64), 1)
        whole[int(weights.argmax())] += total - int(whole.sum())
        sides.append(whole)
    wrong = fsum(np.abs(side / total - w).sum() for side, w in zip(sides, (problem.a, problem.b)))
    return sides[0], sides[1], total, wrong + 8 * U


def _are_whole(weights: Array) -> bool:
    """Whether all weights are whole numbers, and few enough for products of two sums."""
    return bool((weights == np.rint(weights)).all() and weights.sum() < 2**30)


def available_memory() -> float:
    """Bytes that can be had without swapping; infinite where the system does not say."""
    try:
        with Path("/proc/meminfo").open(encoding="ascii") as lines:
            for line in lines:
                if line.startswith("MemAvailable:"):
                    return float(line.split()[1]) * 1024
    except OSError:
        pass
    return inf


def ensure_memory(needed: float, remedy: str) -> None:
    """Refuse what would not fit into memory."""
    there = available_memory()
    if needed > 0.8 * there:
        got = f"{needed / 1e9:.3g} GB needed, {there / 1e9:.3g} GB available"
        raise UsageError("This needs more memory than there is.", got=got, remedy=remedy)
