r"""Hyperplane arrangements in whole numbers: the characteristic polynomial, general position, the first layer of a net.

A hyperplane $\{w\cdot t+b=0\}$ is kept as the primitive integer row $(w,b)$; equal hyperplanes have equal rows.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import gcd, lcm
from typing import Any, TypeAlias

import numpy as np
from flint import fmpz_mat  # type: ignore[import-untyped]

from ftheta.pieces.bounds import arrangement
from ftheta.relu.exact import exact
from ftheta.relu.matrices import fraction
from ftheta.relu.network import ReluNetwork, Step

Row: TypeAlias = tuple[int, ...]
MOST_STEPS = 20_000  # flats or minors that are gone through
LARGEST = 4  # dimension up to which all of space is enumerated


def primitive(row: Sequence[Any]) -> Row | None:
    """The row in whole numbers without common factor, the first normal entry positive; None without a normal."""
    fractions = [Fraction(x) for x in row]
    scale = lcm(*(x.denominator for x in fractions))
    whole = [int(x * scale) for x in fractions]
    lead = next((x for x in whole[:-1] if x), None)
    if lead is None:
        return None
    factor = gcd(*whole) * (1 if lead > 0 else -1)
    return tuple(x // factor for x in whole)


def distinct(rows: Iterable[Row | None]) -> list[Row]:
    return list(dict.fromkeys(row for row in rows if row is not None))


def restrict(rows: Iterable[Row], to: Row) -> list[Row]:
    """The traces of the hyperplanes on one of them; those that do not meet it leave none."""
    p = next(i for i, x in enumerate(to[:-1]) if x)
    cut = ([to[p] * a - row[p] * b for a, b in zip(row, to)] for row in rows)
    return distinct(primitive([*row[:p], *row[p + 1 :]]) for row in cut)


def characteristic(rows: Sequence[Row], d: int) -> Iterator[list[int]]:
    r"""$\chi(t)$ (coefficients, constant first) of the first 0, 1, …, $n$ hyperplanes, by deletion and restriction:
    $\chi_{\mathcal A}=\chi_{\mathcal A\setminus H}-\chi_{\mathcal A^H}$."""
    chi = [0] * d + [1]
    yield chi
    for m, row in enumerate(rows):
        trace = restrict(rows[:m], row)
        below = (
            [-len(trace), 1]
            if d == 2
            else [1]
            if d == 1
            else list(characteristic(trace, d - 1))[-1]
        )
        chi = [a - b for a, b in zip(chi, [*below, 0])]
        yield chi


def count_regions(chi: Sequence[int]) -> int:
    r"""$\sum|\mu|=(-1)^d\chi(-1)$ (Zaslavsky)."""
    return sum(map(abs, chi))


def count_bounded(chi: Sequence[int]) -> int:
    r"""$|\chi(1)|$, where the normals span the space; else no region is bounded."""
    return abs(sum(chi)) if chi[0] else 0


def in_general_position(rows: Sequence[Row], d: int) -> bool:
    """Any `d` normals independent, no `d + 1` hyperplanes through one point: by minors, in whole numbers."""
    full = lambda block: fmpz_mat([list(row) for row in block]).rank() == len(block)
    normals = all(
        full([row[:-1] for row in some]) for some in combinations(rows, min(d, len(rows)))
    )
    return normals and (len(rows) <= d or all(full(some) for some in combinations(rows, d + 1)))


def in_central_position(rows: Sequence[Row], d: int) -> bool:
    """All hyperplanes through one point, any `d` normals independent."""
    rank = lambda block: fmpz_mat([list(row) for row in block]).rank()
    normals = [row[:-1] for row in rows]
    meet = len(rows) > 0 and rank(rows) == rank(normals)
    return meet and all(
        rank(some) == len(some) for some in combinations(normals, min(d, len(rows)))
    )


def central(n: int, d: int) -> int:
    r"""$2\sum_{i<d}\binom{n-1}i$."""
    return 2 * arrangement(n - 1, d - 1)


def first_layer(net: ReluNetwork) -> ReluNetwork:
    """The hidden neurons of the first step, and one output that sums them."""
    step = net.steps[0]
    on = net.steps[0].rectified
    n = int(on.sum())
    long_rows = {
        k: step.long_rows[i]
        for k, i in enumerate(np.flatnonzero(on).tolist())
        if i in step.long_rows
    }
    first = Step(step.dense()[on], step.offset[on], np.ones(n, bool), long_rows)
    return ReluNetwork((first, Step(np.ones((1, n)), np.zeros(1), np.zeros(1, bool))), net.rounded)


def on_chart(layer: ReluNetwork, chart: Any) -> list[Row]:
    """The hyperplanes of a first layer in the coordinates of a domain, exactly; neurons constant there leave none."""
    numbers = lambda values: [Fraction(float(x)) for x in values]
    basis = [
        [a + b for a, b in zip(numbers(u), numbers(v))] for u, v in zip(chart.basis.T, chart.tail.T)
    ]
    columns = [*basis, numbers(chart.origin)]
    rows = []
    first = exact(layer).steps[0]
    for weights, b in zip(first.matrix.rows, first.offset):
        row = [
            sum((fraction(a) * column[j] for j, a in weights.items()), Fraction(0))
            for column in columns
        ]
        rows.append(primitive([*row[:-1], row[-1] + fraction(b)]))
    return distinct(rows)


@dataclass(frozen=True, eq=False)
class Lattice:
    """The different hyperplanes and the characteristic polynomials of the first 0, 1, … of them."""

    rows: list[Row]
    d: int
    chis: list[list[int]]

    @property
    def regions(self) -> int:
        return count_regions(self.chis[-1])

    @property
    def bounded_regions(self) -> int:
        return count_bounded(self.chis[-1])


def find_lattice(layer: ReluNetwork, chart: Any, d: int) -> Lattice | None:
    """The hyperplanes of a first layer, examined in whole numbers; None where there are too many."""
    n = layer.widths[1]
    inputs = layer.widths[0]
    if n * inputs > 5 * MOST_STEPS or arrangement(n, d) > MOST_STEPS:
        return None
    rows = on_chart(layer, chart)
    return Lattice(rows, d, list(characteristic(rows, d)))
