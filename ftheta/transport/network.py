r"""Exact transport by column generation: a sparse network simplex, and passes over all pairs that add the arcs it
lacks.

Points are grouped by halving them along their widest coordinate, and the centres of the groups are matched first.
Their potentials, extended by $c$-transforms $g_j=\min_ic_{ij}-f_i$, say which pairs may matter: those with the
smallest reduced costs become arcs. The simplex solves the problem on these; a pass over all pairs (`price`) finds
those with negative reduced costs; they are added, and the simplex goes on from its basis. Memory is proportional to
the number of points. Costs are rounded to integers, so potentials are optimal up to that rounding; `certificate` says
what is proved."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from .problems import LOST, MATRIX, Array, Problem

ENTRIES = 1 << 19  # of the table of all pairs that are held at once
FIRST = 10  # arcs for each point at the start
MORE = 6  # arcs for each point from a pass over all pairs
FEW = 1000  # points for which no groups are made
GROUP = 6  # points in a group, about
COST_BITS = 61  # costs times the number of nodes stay below two to this power
COARSE = 2.0**12  # between the dearest pair that is used and the limit of costs
REFINEMENTS = 3  # of the unit of costs
PIVOTS = 20_000  # in compiled code, before Ctrl-C is heeded


@dataclass(frozen=True, eq=False)
class Flow:
    """A plan on a tree: `flow` units of `total` go from `rows` to `columns`; potentials `f`, `g` in units of the cost.

    `passes` over all pairs and `pivots` were made.
    """

    rows: Array
    columns: Array
    flow: Array
    total: int
    f: Array
    g: Array
    passes: int
    pivots: int


def solve(problem: Problem, supply: Array, demand: Array, total: int) -> Flow:
    """An optimal plan for whole masses, up to the rounding of costs."""
    f = _guess_potential(problem, supply, demand, total)
    rows, columns, f, g = _choose_arcs(problem, f)
    limit = float(min(problem.largest_cost, 2 * problem.costs_of(rows, columns).max())) or 1.0
    refinements = 0
    while True:
        found = _Search(problem, supply, demand, limit).run(rows, columns, f, g, total)
        used = float(problem.costs_of(found.rows, found.columns)[found.flow > 0].max(initial=0.0))
        if (
            int(found.flow.sum()) < total
        ):  # pairs that are needed cost more than leaving mass where it is
            if limit >= problem.largest_cost:
                raise ArithmeticError(
                    "No plan for all of the mass was found, although every pair may be used."
                )
            limit = problem.largest_cost
        elif (
            limit <= used < problem.largest_cost
        ):  # costs above the limit are taken for it: none of them may be used
            limit = min(4 * used, problem.largest_cost)
        elif (
            0 < used < limit / COARSE and refinements < REFINEMENTS
        ):  # dear pairs make the unit of all costs coarse
            limit = 4 * used
            refinements += 1
        else:
            return found


# -- potentials to begin with ------------------------------------------------------------------------------------------


def _guess_potential(problem: Problem, supply: Array, demand: Array, total: int) -> Array:
    """A potential of x: that of a coarser problem, extended to all points; zero where there is none."""
    if problem.kind == MATRIX or min(problem.n, problem.m) < FEW:
        return np.zeros(problem.n)
    coarse_x, coarse_supply = _group(problem.x, supply)
    coarse_y, coarse_demand = _group(problem.y, demand)
    every_x = np.arange(len(coarse_x))
    every_y = np.arange(len(coarse_y))
    coarse = Problem(
        coarse_x,
        coarse_y,
        coarse_supply / total,
        coarse_demand / total,
        problem.kind,
        1.0,
        False,
        every_x,
        every_y,
        (coarse_supply, coarse_demand),
    )
    found = solve(coarse, coarse_supply, coarse_demand, total)
    mixed = Problem(
        problem.x,
        coarse_y,
        problem.a,
        coarse.b,
        problem.kind,
        1.0,
        False,
        every_x,
        every_y,
        problem.weights,
    )
    return _pass(mixed, found.g, 1)[1]


def _group(points: Array, masses: Array) -> tuple[Array, Array]:
    """Centres and masses of groups of near points."""
    waiting = [np.arange(len(points))]
    centres = []
    sums = []
    while waiting:
        members = waiting.pop()
        block = points[members]
        if len(members) <= GROUP:
            weights = masses[members]
            sums.append(weights.sum())
            centres.append(weights.astype(float) @ block / float(weights.sum()))
            continue
        widest = int((block.max(0) - block.min(0)).argmax())
        order = np.argpartition(block[:, widest], len(members) // 2)
        waiting += [members[order[: len(members) // 2]], members[order[len(members) // 2 :]]]
    return np.array(centres), np.array(sums, np.int64)


# -- passes over all pairs ---------------------------------------------------------------------------------------------


def _pass(
    problem: Problem,
    potential: Array,
    k: int,
    below: Array | None = None,
    *,
    columns_first: bool = False,
) -> tuple[Array, Array]:
    """For each row the `k` smallest costs less the potential of the columns, where these are below a bound: their
    columns, −1 for none, and the smallest one."""
    from .pricing import smallest_of_rows

    count = problem.m if columns_first else problem.n
    width = problem.n if columns_first else problem.m
    found = np.empty((count, min(k, width)), np.int32)
    least = np.empty(count)
    bounds = np.full(count, np.inf) if below is None else below
    step = max(1, ENTRIES // width)
    for start in range(0, count, step):
        rows = slice(start, min(start + step, count))
        table = problem.table(rows, potential, columns_first=columns_first)
        smallest_of_rows(table, bounds[rows], found[rows], least[rows])
    return found, least


def _choose_arcs(problem: Problem, f: Array) -> tuple[Array, Array, Array, Array]:
    """The pairs with the smallest reduced costs, for each row and each column; and potentials on both sides."""
    from_columns, g = _pass(problem, f, FIRST, columns_first=True)
    from_rows, f = _pass(problem, g, FIRST)
    rows = np.concatenate(
        [np.repeat(np.arange(problem.n), from_rows.shape[1]), from_columns.ravel()]
    )
    columns = np.concatenate(
        [from_rows.ravel(), np.repeat(np.arange(problem.m), from_columns.shape[1])]
    )
    pairs = np.unique(rows.astype(np.int64) * problem.m + columns)
    return pairs // problem.m, pairs % problem.m, f, g


# -- the simplex and its arcs ------------------------------------------------------------------------------------------


class _Search:
    """One run of the simplex, with costs above `limit` taken for it."""

    def __init__(self, problem: Problem, supply: Array, demand: Array, limit: float) -> None:
        from . import simplex

        self.kernels: Any = simplex
        self.problem = problem
        self.supply = supply
        self.demand = demand
        self.limit = max(limit, LOST)  # below, the unit of costs underflows
        self.nodes = problem.n + problem.m
        self.unit = self.limit / 2.0 ** (COST_BITS - int(self.nodes + 2).bit_length())
        # dearer than any way around by other pairs, so that mass is left out only where pairs beyond that are needed
        self.dearest = min(problem.n, problem.m) * round(self.limit / self.unit) + 1
        self.arcs = simplex.make_arcs(self.nodes, 2 * FIRST * self.nodes)
        self.tree = simplex.make_tree(self.nodes)
        self.counters = np.array([self.nodes, self.nodes, 0], np.int64)
        self.passes = 0

    def run(self, rows: Array, columns: Array, f: Array, g: Array, total: int) -> Flow:
        """Arcs for the start, then the simplex and passes over all pairs until no pair has a negative reduced cost."""
        costs = self._add(rows, columns)
        first = self.nodes
        order = first + np.argsort(costs - f[rows] - g[columns], kind="stable")
        supply = self.supply.copy()
        demand = self.demand.copy()
        self.kernels.fill_greedily(self.arcs, order, supply, demand)
        self.kernels.hang_up(self.arcs, self.tree, supply, demand, order, self.dearest)
        k = MORE
        while True:
            self._pivot()
            if not self._price(k):
                return self._flow(total)

    def _add(self, rows: Array, columns: Array) -> Array:
        """More arcs; their costs."""
        count = int(self.counters[0])
        if count + len(rows) > len(self.arcs.source):
            self._forget(len(rows))
            count = int(self.counters[0])
        costs = self.problem.costs_of(rows, columns)
        new = slice(count, count + len(rows))
        self.arcs.source[new] = rows
        self.arcs.target[new] = columns + self.problem.n
        self.arcs.cost[new] = np.rint(np.minimum(costs, self.limit) / self.unit).astype(np.int64)
        self.arcs.flow[new] = 0
        self.arcs.in_tree[new] = False
        self.counters[0] = count + len(rows)
        return costs

    def _forget(self, needed: int) -> None:
        """Make room: drop the arcs outside the tree whose reduced costs are largest, or make the arrays larger."""
        count = int(self.counters[0])
        arcs = self.arcs
        pi = self.tree.potential
        reduced = arcs.cost[:count] + pi[arcs.source[:count]] - pi[arcs.target[:count]]
        keep = arcs.in_tree[:count].copy()
        keep[: self.nodes] = True
        spare = max(0, len(arcs.source) // 2 - int(keep.sum()))
        outside = np.flatnonzero(~keep)
        keep[outside[np.argsort(reduced[outside], kind="stable")[:spare]]] = True
        kept = np.flatnonzero(keep)
        place = np.full(count, -1, np.int32)
        place[kept] = np.arange(len(kept))
        larger = self.kernels.make_arcs(0, max(len(arcs.source), len(kept) + needed))
        for old, new in zip(arcs, larger):
            new[: len(kept)] = old[kept]
        inner = self.tree.arc[: self.nodes]
        inner[:] = place[inner]
        self.arcs = larger
        self.counters[0] = len(kept)
        self.counters[1] = self.nodes

    def _pivot(self) -> None:
        block = max(16, int(0.5 * (int(self.counters[0]) - self.nodes) ** 0.5))
        while not self.kernels.pivot_until_optimal(
            self.arcs, self.tree, self.counters, block, PIVOTS
        ):
            pass

    def _price(self, k: int) -> bool:
        """Add the pairs with the most negative reduced costs; whether there were any."""
        f, g = self._potentials()
        self.passes += 1
        tolerance = 2 * self.problem.table_error(g) + 4 * self.unit
        columns, _ = _pass(self.problem, g, k, f - tolerance)
        rows, which = np.nonzero(columns >= 0)
        if not len(rows):
            return False
        self._add(rows, columns[rows, which].astype(np.int64))
        return True

    def _potentials(self) -> tuple[Array, Array]:
        pi = self.tree.potential[:-1] * self.unit
        return -pi[: self.problem.n], pi[self.problem.n :]

    def _flow(self, total: int) -> Flow:
        first = self.nodes
        used = first + np.flatnonzero(self.arcs.in_tree[first : int(self.counters[0])])
        f, g = self._potentials()
        return Flow(
            self.arcs.source[used].astype(np.int64),
            self.arcs.target[used].astype(np.int64) - self.problem.n,
            self.arcs.flow[used],
            total,
            f,
            g,
            self.passes,
            int(self.counters[2]),
        )
