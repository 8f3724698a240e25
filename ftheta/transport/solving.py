r"""Optimal transport between two weighted sets of points, with what is proved of its cost.

    ft.transport(x, y)                             # |x − y|², equal weights
    ft.transport(x, y, a, b, cost="euclidean")
    ft.transport(x, y, cost=C)                     # your own matrix of costs
    ft.transport(x, y, epsilon=0.05)               # entropic: OT_ε, and what it says of the exact cost

Without `epsilon` the plan is optimal up to rounding, and the cost lies in an enclosure rounded outward: below by
potentials that are feasible for all pairs, above by the plan. `exact()` gives the optimum itself as a rational number.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

from .certificate import enclose, transform
from .line import monotone_plan
from .problems import MATRIX, Array, Problem, ensure_memory, integer_masses, read_problem

LEAST_PENALTY = 1e-30  # whose inverse single precision can hold
LARGEST_EXACT = 250_000  # pairs for which rationals are quick enough


@dataclass(frozen=True, eq=False)
class Plan:
    """Mass `masses[k]` goes from `rows[k]` of x to `columns[k]` of y; all else is zero."""

    rows: Array
    columns: Array
    masses: Array
    shape: tuple[int, int]

    def dense(self) -> Float[np.ndarray, "n m"]:
        """The whole table."""
        ensure_memory(8.0 * self.shape[0] * self.shape[1], "use rows, columns and masses")
        table = np.zeros(self.shape)
        np.add.at(table, (self.rows, self.columns), self.masses)
        return table


@dataclass(frozen=True, eq=False)
class Transport:
    """The optimal cost `value` (with a penalty ε KL where `epsilon` is given, `cost` is that without it), a `plan`, and
    potentials `f`, `g` with $f_i+g_j\\le c_{ij}$ (soft where `epsilon` is given).

    `x`, `y` are the points; `iterations` counts pivots, or Sinkhorn's iterations.
    """

    value: Enclosure
    cost: Enclosure
    plan: Plan
    f: Array
    g: Array
    x: Array
    y: Array
    epsilon: float | None
    iterations: int
    problem: Problem

    @property
    def potentials(self) -> tuple[Array, Array]:
        """f on the rows of x, g on those of y."""
        return self.f, self.g

    @property
    def gap(self) -> float:
        """The width of the enclosure, relative to the value."""
        return self.value.width / max(abs(self.value.middle), 1e-300)

    @property
    def map(self) -> Array:
        r"""The barycentric map $x_i\mapsto\sum_jP_{ij}y_j/\sum_jP_{ij}$; NaN for points without mass."""
        total = np.zeros(self.plan.shape[0])
        moved = np.zeros((self.plan.shape[0], self.y.shape[1]))
        np.add.at(total, self.plan.rows, self.plan.masses)
        np.add.at(moved, self.plan.rows, self.plan.masses[:, None] * self.y[self.plan.columns])
        with np.errstate(invalid="ignore", divide="ignore"):
            return moved / total[:, None]

    def path(self, t: float) -> tuple[Array, Array]:
        """Points and masses on the way at time t from 0 to 1: each mass moves straight and evenly."""
        there = self.plan.masses > 0
        start = self.x[self.plan.rows[there]]
        end = self.y[self.plan.columns[there]]
        return (1 - t) * start + t * end, self.plan.masses[there]

    def exact(self) -> Fraction:
        """The optimal cost, without penalty, as a rational number; of problems with few pairs."""
        from .rationals import order_pairs, solve_in_rationals

        pairs = self.problem.n * self.problem.m
        if pairs > LARGEST_EXACT:
            remedy = "the enclosure `cost` is proved for any number"
            raise UsageError(
                "Rationals are for fewer pairs.",
                got=f"{pairs:,} of at most {LARGEST_EXACT:,}",
                remedy=remedy,
            )
        place_x = np.full(self.plan.shape[0], -1)
        place_y = np.full(self.plan.shape[1], -1)
        place_x[self.problem.kept_x] = np.arange(self.problem.n)
        place_y[self.problem.kept_y] = np.arange(self.problem.m)
        near = order_pairs(place_x[self.plan.rows], place_y[self.plan.columns], self.plan.masses)
        return solve_in_rationals(self.problem, near).value * Fraction(self.problem.mass)

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON; masses that are zero are left out."""
        there = self.plan.masses > 0
        return {
            "value": _ends(self.value),
            "cost": _ends(self.cost),
            "epsilon": self.epsilon,
            "points": list(self.plan.shape),
            "rows": self.plan.rows[there].tolist(),
            "columns": self.plan.columns[there].tolist(),
            "masses": self.plan.masses[there].tolist(),
            "f": self.f.tolist(),
            "g": self.g.tolist(),
            "iterations": self.iterations,
        }

    def __str__(self) -> str:
        n, m = self.plan.shape
        sort = "proved" if self.value.basis is Basis.EXACT else "certified in float64"
        lines = [f"{n:,} points to {m:,} points in dimension {self.x.shape[1]}"]
        if self.epsilon is not None:
            lines.append(f"  entropic cost, ε = {self.epsilon:g}: {_show(self.value)} ({sort})")
        lines.append(f"  optimal cost: {_show(self.cost)} (proved)")
        lines.append(
            f"  plan: {int((self.plan.masses > 0).sum()):,} pairs with mass; iterations: {self.iterations:,}"
        )
        return "\n".join(lines)

    __repr__ = __str__


def _ends(number: Enclosure) -> dict[str, Any]:
    return {"lo": number.lo, "hi": number.hi, "basis": str(number.basis)}


def _show(number: Enclosure) -> str:
    return f"{number.middle:.12g}, in [{number.lo:.17g}, {number.hi:.17g}]"


def transport(
    x: ArrayLike,
    y: ArrayLike,
    a: ArrayLike | None = None,
    b: ArrayLike | None = None,
    cost: str | ArrayLike = "sqeuclidean",
    epsilon: float | None = None,
) -> Transport:
    r"""The cheapest way to move mass from `x` to `y`.

    Parameters
    ----------
    x, y
        Points as rows (n, d) and (m, d); of the line, numbers.
    a, b
        Weights, all alike if not given. Both must have the same sum: masses that differ are an error.
    cost
        "sqeuclidean" $|x-y|^2$, "euclidean" $|x-y|$, "cityblock" $\sum_k|x_k-y_k|$, or a matrix (n, m) of costs.
    epsilon
        Penalise the plan by $\varepsilon\,\mathrm{KL}(P|a\otimes b)$ and use Sinkhorn's iteration.
    """
    problem = read_problem(x, y, a, b, cost)
    if epsilon is not None:
        if not (isinstance(epsilon, (int, float)) and LEAST_PENALTY <= epsilon < np.inf):
            what = f"ε is a positive number, at least {LEAST_PENALTY:g}."
            raise UsageError(
                what, got=epsilon, remedy="leave it out for exact transport, or scale the points up"
            )
        return _solve_entropic(problem, x, y, float(epsilon))
    if problem.kind != MATRIX and problem.x.shape[1] == 1:
        return _solve_on_the_line(problem, x, y)
    from .network import solve

    supply, demand, total, misplaced = integer_masses(problem)
    flow = solve(problem, supply, demand, total)
    masses = flow.flow / total
    value, g = enclose(problem, flow.rows, flow.columns, masses, misplaced, flow.f)
    return _result(problem, x, y, value, (flow.rows, flow.columns, masses), flow.f, g, flow.pivots)


def _solve_on_the_line(problem: Problem, x: ArrayLike, y: ArrayLike) -> Transport:
    """The monotone plan, whose optimality is a theorem; its potentials follow from it along the stairs."""
    from .line import line_cost

    p = 2 if problem.kind == 0 else 1
    weights = (None, None) if problem.uniform else problem.weights
    rows, columns, masses = monotone_plan(problem.x[:, 0], problem.y[:, 0], *weights)
    value = line_cost(problem.x[:, 0], problem.y[:, 0], *weights, p=p)
    f, g = _climb_stairs(problem, rows, columns)
    return _result(problem, x, y, value, (rows, columns, masses), f, g, 0)


def _climb_stairs(problem: Problem, rows: Array, columns: Array) -> tuple[Array, Array]:
    """Potentials with equality on the pairs of a monotone plan, in the order of the line."""
    costs = problem.costs_of(rows, columns)
    f = np.zeros(problem.n)
    g = np.zeros(problem.m)
    if not len(rows):
        return f, g
    g[columns[0]] = costs[0]
    for k in range(1, len(rows)):
        i = rows[k]
        j = columns[k]
        if i == rows[k - 1]:
            g[j] = costs[k] - f[i]
        elif j == columns[k - 1]:
            f[i] = costs[k] - g[j]
        else:  # both move on: the cheapest pair across keeps both inequalities
            across = problem.costs_of(np.array([i]), np.array([columns[k - 1]]))[0]
            f[i] = across - g[columns[k - 1]]
            g[j] = costs[k] - f[i]
    return f, g


def _solve_entropic(problem: Problem, x: ArrayLike, y: ArrayLike, epsilon: float) -> Transport:
    from .sinkhorn import solve_entropic

    found = solve_entropic(problem, epsilon)
    rows, columns = np.divmod(np.arange(problem.n * problem.m), problem.m)
    pairs = (rows, columns, found.plan.ravel())
    return _result(
        problem, x, y, found.cost, pairs, found.f, found.g, found.iterations, found.value, epsilon
    )


def _result(
    problem: Problem,
    x: ArrayLike,
    y: ArrayLike,
    cost: Enclosure,
    pairs: tuple[Array, Array, Array],
    f: Array,
    g: Array,
    iterations: int,
    value: Enclosure | None = None,
    epsilon: float | None = None,
) -> Transport:
    """In terms of what was handed in: points without mass again, and the mass of the weights."""
    points_x = np.asarray(x, float).reshape(len(np.asarray(x)), -1)
    points_y = np.asarray(y, float).reshape(len(np.asarray(y)), -1)
    rows, columns, masses = pairs
    whole = 1.0 if problem.mass == 1 else problem.mass
    plan = Plan(
        problem.kept_x[rows],
        problem.kept_y[columns],
        masses * whole,
        (len(points_x), len(points_y)),
    )
    scaled = cost if whole == 1 else cost * whole
    said = value if value is not None else cost
    return Transport(
        said if whole == 1 else said * whole,
        scaled,
        plan,
        _spread(f, problem.kept_x, len(points_x)),
        _spread(g, problem.kept_y, len(points_y)),
        points_x,
        points_y,
        epsilon,
        iterations,
        problem,
    )


def _spread(values: Array, kept: Array, count: int) -> Array:
    """Values at all points; NaN at those without mass."""
    if len(kept) == count:
        return values
    whole = np.full(count, np.nan)
    whole[kept] = values
    return whole


__all__ = ["Plan", "Transport", "transform", "transport"]
