"""Compiled passes over blocks of the table of all pairs, of which only a few rows are held at a time."""

import numpy as np

from ftheta.loops import entry, entry_with_arrays

from .simplex import Array

COLUMNS = 512  # at a time: what is computed of them stays in the nearest cache


@entry_with_arrays
def smallest_of_rows(table: Array, below: Array, columns: Array, least: Array) -> None:
    """Of each row the smallest entry (`least`), and where the few smallest are that lie below the bound of the row
    (`columns`, −1 where there are no more of them)."""
    rows, width = table.shape
    k = columns.shape[1]
    values = np.empty(k)
    for i in range(rows):
        lowest = np.inf
        for j in range(width):
            lowest = min(lowest, table[i, j])
        least[i] = lowest
        columns[i, :] = -1
        if not lowest < below[i]:
            continue
        values[:] = below[i]
        for j in range(width):
            entry = table[i, j]
            if entry < values[k - 1]:
                at = k - 1
                while at > 0 and values[at - 1] > entry:
                    values[at] = values[at - 1]
                    columns[i, at] = columns[i, at - 1]
                    at -= 1
                values[at] = entry
                columns[i, at] = j


@entry
def transform_below(
    table: Array, most: Array, x: Array, y: Array, f: Array, shrink: float, out: Array
) -> None:
    """`out[j]` is a lower bound of the smallest $|x_i-y_j|^2-f_i$ over $i$, one of those whose entry in row $j$ of the
    `table` is at `most[j]`: only these are computed, from differences of coordinates, whose relative error `shrink`
    undoes."""
    rows, width = table.shape
    for j in range(rows):
        bound = np.inf
        for i in range(width):
            if table[j, i] <= most[j]:
                total = 0.0
                for k in range(x.shape[1]):
                    step = x[i, k] - y[j, k]
                    total += step * step
                entry = total * shrink - f[i]
                entry -= 2.3e-16 * abs(entry)
                bound = min(bound, entry)
        out[j] = bound


@entry_with_arrays
def transform_directly(
    x: Array, columns: Array, f: Array, kind: int, shrink: float, out: Array
) -> None:
    """`out[j]` is a lower bound of the smallest $c(x_i,y_j)-f_i$ over $i$, of which each cost (`kind` 0: squared
    Euclidean, 1: Euclidean, 2: city block) is computed from differences.

    `columns` are the coordinates of y, one after the other; `shrink` undoes the relative error of a cost.
    """
    d, m = columns.shape
    for first in range(0, m, COLUMNS):
        least = out[first : first + COLUMNS]
        costs = np.empty(least.size)
        least[:] = np.inf
        for i in range(x.shape[0]):
            potential = f[i]
            costs[:] = 0.0
            for k in range(d):
                at = x[i, k]
                coordinates = columns[k, first : first + COLUMNS]
                for j in range(least.size):
                    step = at - coordinates[j]
                    costs[j] += abs(step) if kind == 2 else step * step
            for j in range(least.size):
                cost = np.sqrt(costs[j]) if kind == 1 else costs[j]
                entry = cost * shrink - potential
                least[j] = entry if entry < least[j] else least[j]
    for j in range(
        m
    ):  # the rounding of a difference grows less than the difference: it may wait for the smallest
        out[j] -= 2.3e-16 * abs(out[j])


@entry
def tabulate_distances(x: Array, columns: Array, potential: Array, kind: int, out: Array) -> None:
    """`out[i, j]` is the distance (`kind` 1: Euclidean, 2: city block) of row i of x from column j, less a
    potential."""
    d, width = columns.shape
    for i in range(x.shape[0]):
        row = out[i]
        row[:] = 0.0
        for k in range(d):
            at = x[i, k]
            for j in range(width):
                step = at - columns[k, j]
                row[j] += abs(step) if kind == 2 else step * step
        for j in range(width):
            row[j] = (row[j] if kind == 2 else np.sqrt(row[j])) - potential[j]
