r"""Transport in rational arithmetic: the optimum itself, whatever float64 can or cannot tell apart.

The start is a plan that is nearly optimal, found in floats and made feasible exactly. A basis is a spanning tree of
$n+m-1$ pairs; potentials make the reduced costs $c_{ij}-f_i-g_j$ zero on it. Pairs whose reduced cost may be negative
are sought in float64 with an error bound, and decided in whole numbers. By Bland's rule, the first such pair enters
and the first of the pairs that are emptied leaves, the simplex ends."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np

from .problems import Array, Problem, U, exact_masses

Pair = tuple[int, int]


@dataclass(frozen=True)
class RationalPlan:
    """The optimal `value`, the masses of a plan by pair, and potentials with $f_i+g_j\\le c_{ij}$ that have that
    value."""

    value: Fraction
    plan: dict[Pair, Fraction]
    f: list[Fraction]
    g: list[Fraction]


def solve_in_rationals(problem: Problem, near: Sequence[Pair]) -> RationalPlan:
    """The optimum for masses that sum to 1; `near` are pairs that are likely to be used, most likely first."""
    a, b = exact_masses(problem)
    costs = [[problem.exact_cost(i, j) for j in range(problem.m)] for i in range(problem.n)]
    mass_scale = lcm(*(q.denominator for q in (*a, *b)))
    cost_scale = lcm(*(q.denominator for row in costs for q in row))
    search = _Search(
        [[int(q * cost_scale) for q in row] for row in costs],
        [int(q * mass_scale) for q in a],
        [int(q * mass_scale) for q in b],
        near,
    )
    flow, f, g = search.run()
    plan = {pair: Fraction(amount, mass_scale) for pair, amount in flow.items() if amount}
    value = sum((costs[i][j] * amount for (i, j), amount in plan.items()), Fraction(0))
    return RationalPlan(
        value, plan, [Fraction(v, cost_scale) for v in f], [Fraction(v, cost_scale) for v in g]
    )


class _Search:
    """Whole costs and masses; the basis is `flow`, a dictionary of n + m − 1 pairs."""

    def __init__(
        self, costs: list[list[int]], supply: list[int], demand: list[int], near: Sequence[Pair]
    ) -> None:
        self.costs = costs
        self.n = len(supply)
        self.m = len(demand)
        self.floats = np.array([[float(c) for c in row] for row in costs])
        self.flow = _fill(supply, demand, near)

    def run(self) -> tuple[dict[Pair, int], list[int], list[int]]:
        while True:
            f, g = self._potentials()
            entering = self._find_entering(f, g)
            if entering is None:
                return self.flow, f, g
            self._pivot(entering)

    def _neighbours(self) -> list[list[int]]:
        beside: list[list[int]] = [[] for _ in range(self.n + self.m)]
        for i, j in self.flow:
            beside[i].append(self.n + j)
            beside[self.n + j].append(i)
        return beside

    def _potentials(self) -> tuple[list[int], list[int]]:
        """Potentials that make the reduced costs of the basis zero; that of the first source is zero."""
        beside = self._neighbours()
        known: list[int | None] = [None] * (self.n + self.m)
        known[0] = 0
        waiting = [0]
        while waiting:
            u = waiting.pop()
            here = known[u]
            assert here is not None
            for v in beside[u]:
                if known[v] is None:
                    cost = self.costs[u][v - self.n] if u < self.n else self.costs[v][u - self.n]
                    known[v] = cost - here
                    waiting.append(v)
        whole = [value if value is not None else 0 for value in known]
        return whole[: self.n], whole[self.n :]

    def _find_entering(self, f: list[int], g: list[int]) -> Pair | None:
        """The first pair with a negative reduced cost."""
        left = np.array([float(v) for v in f])
        right = np.array([float(v) for v in g])
        reduced = self.floats - left[:, None] - right
        sizes = np.abs(self.floats) + np.abs(left)[:, None] + np.abs(right)
        for i, j in np.argwhere(reduced <= 8 * U * sizes):
            if self.costs[i][j] < f[i] + g[j]:
                return int(i), int(j)
        return None

    def _pivot(self, entering: Pair) -> None:
        """Send as much as possible around the cycle; the first of the pairs that are emptied leaves."""
        i, j = entering
        way = self._way(self.n + j, i)
        losing = [_pair(u, v, self.n) for u, v in zip(way[::2], way[1::2])]
        gaining = [_pair(u, v, self.n) for u, v in zip(way[1::2], way[2::2])]
        amount = min(self.flow[pair] for pair in losing)
        leaving = min(pair for pair in losing if self.flow[pair] == amount)
        for pair in losing:
            self.flow[pair] -= amount
        for pair in gaining:
            self.flow[pair] += amount
        del self.flow[leaving]
        self.flow[entering] = amount

    def _way(self, start: int, end: int) -> list[int]:
        """The nodes of the tree from one to the other."""
        beside = self._neighbours()
        before = {start: start}
        waiting = [start]
        while end not in before:
            u = waiting.pop()
            for v in beside[u]:
                if v not in before:
                    before[v] = u
                    waiting.append(v)
        way = [end]
        while way[-1] != start:
            way.append(before[way[-1]])
        return way[::-1]


def _pair(u: int, v: int, n: int) -> Pair:
    return (u, v - n) if u < n else (v, u - n)


def _fill(supply: list[int], demand: list[int], near: Sequence[Pair]) -> dict[Pair, int]:
    """A feasible basis: each pair in turn takes as much as it can, and closes one row or column that it uses up."""
    rows = dict(enumerate(supply))
    columns = dict(enumerate(demand))
    flow: dict[Pair, int] = {}

    def take(i: int, j: int) -> None:
        amount = min(rows[i], columns[j])
        flow[i, j] = amount
        rows[i] -= amount
        columns[j] -= amount
        if rows[i] == 0 and (len(rows) > 1 or len(columns) == 1):
            del rows[i]
        else:
            del columns[j]

    for i, j in near:
        if i in rows and j in columns and len(rows) + len(columns) > 2:
            take(i, j)
    while rows and columns:
        take(next(iter(rows)), next(iter(columns)))
    return flow


def order_pairs(rows: Array, columns: Array, flow: Array) -> list[Pair]:
    """The pairs of a plan, those with the most mass first."""
    order = np.argsort(-flow, kind="stable")
    return [(int(rows[k]), int(columns[k])) for k in order]
