r"""What a plan and a potential prove of the optimal cost, rounded outward.

Below: for any $f$, $\sum_ia_if_i+\sum_jb_jg_j$ with $g_j=\min_ic_{ij}-f_i$ rounded down. Above: the cost of a plan,
rounded up; where its marginals differ from $a$ and $b$ by $\eta$ in all, moving that much again costs at most
$\eta\max c$."""

from math import fsum

import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Int

from .problems import LOST, MATRIX, SQUARED, Array, Problem, U

ENTRIES = 1 << 19
FEW_COORDINATES = 16  # up to which squares are sooner computed than read from a product of matrices


def transform(problem: Problem, f: Float[np.ndarray, "n"]) -> Float[np.ndarray, "m"]:
    r"""The $c$-transform $g_j=\min_ic(x_i,y_j)-f_i$, rounded down: $f_i+g_j\le c(x_i,y_j)$ for all pairs in real
    arithmetic."""
    from .pricing import transform_below, transform_directly

    g = np.empty(problem.m)
    shrink = 1 - problem.relative_error
    if problem.kind == MATRIX:
        step = max(1, ENTRIES // problem.n)
        for first in range(0, problem.m, step):
            rows = slice(first, min(first + step, problem.m))
            least = problem.table(rows, f, columns_first=True).min(1)
            g[rows] = least - 2 * U * np.abs(least)
    elif problem.kind == SQUARED and problem.x.shape[1] > FEW_COORDINATES:
        step = max(1, ENTRIES // problem.n)
        slack = problem.table_error(f)
        for first in range(0, problem.m, step):
            rows = slice(first, min(first + step, problem.m))
            table = problem.table(rows, f, columns_first=True)
            # an entry is off by at most the slack: no other can be the smallest
            most = table.min(1) + 2 * slack
            transform_below(table, most, problem.x, problem.y[rows], f, shrink, g[rows])
    else:
        columns = np.ascontiguousarray(problem.y.T)
        transform_directly(problem.x, columns, f, problem.kind, shrink, g)
    return g - problem.underflow


def bound_below(problem: Problem, f: Float[np.ndarray, "n"], g: Float[np.ndarray, "m"]) -> float:
    """The dual value of potentials that are feasible, rounded down."""
    terms = np.concatenate([problem.a * f, problem.b * g])
    return fsum(terms) - 8 * U * fsum(np.abs(terms)) - LOST


def bound_above(
    problem: Problem,
    rows: Int[np.ndarray, "k"],
    columns: Int[np.ndarray, "k"],
    masses: Float[np.ndarray, "k"],
    misplaced: float,
) -> float:
    """The optimal cost is at most that of a plan, rounded up; `masses` are right to a relative error of 2u, up to
    `misplaced` mass in all."""
    terms = masses * problem.costs_of(rows, columns)
    cost = fsum(terms) * (1 + problem.relative_error + 8 * U)
    above = cost + misplaced * problem.largest_cost * (1 + 4 * U) + LOST + problem.underflow
    return min(above, problem.largest_cost)  # as every plan of mass 1 does


def enclose(
    problem: Problem,
    rows: Int[np.ndarray, "k"],
    columns: Int[np.ndarray, "k"],
    masses: Float[np.ndarray, "k"],
    misplaced: float,
    f: Float[np.ndarray, "n"],
) -> tuple[Enclosure, Array]:
    """The optimal cost for masses that sum to 1, and the potential of y that goes with `f`."""
    g = transform(problem, f)
    return join_bounds(
        bound_below(problem, f, g), bound_above(problem, rows, columns, masses, misplaced)
    ), g


def join_bounds(below: float, above: float) -> Enclosure:
    """The optimal cost, never negative, between a bound from `below` and one from `above`, both rounded outward.

    Bounds that contradict one another are an error: one of them is wrong, and the other may be.
    """
    lo = max(0.0, below)
    if not lo <= above:
        raise ArithmeticError(
            f"The bounds of an optimal cost contradict one another: at least {lo}, at most {above}."
        )
    return Enclosure.between(lo, above)
