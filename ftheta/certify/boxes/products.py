"""Multiples of the rows and columns of a network's matrices, added to a vector: whole ones, or the entries listed.

No bound depends on the order of a sum, nor on whether a product is rounded before it is added. Lines are views: indices
that are plainly not negative let the loops run on vectors.
"""

from numba.extending import register_jitable

from .arrays import inlined


@inlined
def add_column(net, k, j, factor, target):
    """Add `factor` times column `j` of the matrix of layer `k`."""
    if net.is_sparse[k]:
        line = net.by_columns.first[k] + j
        for p in range(net.by_columns.ends[line], net.by_columns.ends[line + 1]):
            target[net.by_columns.places[p]] += factor * net.by_columns.values[p]
    else:
        rows = net.widths[k + 1]
        at = net.starts[k] + j * rows
        line = net.weights[at : at + rows]
        for r in range(rows):
            target[r] += factor * line[r]


@inlined
def add_magnitudes(net, k, j, factor, target):
    """Add `factor` times the absolute values of column `j` of the matrix of layer `k`."""
    if net.is_sparse[k]:
        line = net.by_columns.first[k] + j
        for p in range(net.by_columns.ends[line], net.by_columns.ends[line + 1]):
            target[net.by_columns.places[p]] += factor * abs(net.by_columns.values[p])
    else:
        rows = net.widths[k + 1]
        at = net.starts[k] + j * rows
        line = net.magnitudes[at : at + rows]
        for r in range(rows):
            target[r] += factor * line[r]


@inlined
def add_row(net, k, r, factor, target):
    """Add `factor` times row `r` of the matrix of layer `k`."""
    if net.is_sparse[k]:
        line = net.by_rows.first[k] + r
        for p in range(net.by_rows.ends[line], net.by_rows.ends[line + 1]):
            target[net.by_rows.places[p]] += factor * net.by_rows.values[p]
    else:
        columns = net.widths[k]
        at = net.starts[k] + r * columns
        line = net.matrices[at : at + columns]
        for j in range(columns):
            target[j] += factor * line[j]


@inlined
def add_columns(net, k, columns, factors, count, target):
    """Add `factors[p]` times column `columns[p]` of the matrix of layer `k`, for all `p` below `count`."""
    if net.is_sparse[k]:
        for p in range(count):
            add_column(net, k, columns[p], factors[p], target)
    else:
        width = net.widths[k + 1]
        _add_lines(net.weights, net.starts[k], width, columns, factors, count, target)


@inlined
def add_rows(net, k, rows, factors, count, target):
    """Add `factors[p]` times row `rows[p]` of the matrix of layer `k`, for all `p` below `count`."""
    if net.is_sparse[k]:
        for p in range(count):
            add_row(net, k, rows[p], factors[p], target)
    else:
        width = net.widths[k]
        _add_lines(net.matrices, net.starts[k], width, rows, factors, count, target)


@inlined
def apply_layer(net, k, state, target, scratch):
    """Write the affine map of layer `k` at `state` into `target`."""
    for r in range(net.widths[k + 1]):
        target[r] = net.biases[net.offsets[k] + r]
    count = 0
    for j in range(net.widths[k]):
        if state[j] != 0.0:
            scratch.places[count] = j
            scratch.factors[count] = state[j]
            count += 1
    add_columns(net, k, scratch.places, scratch.factors, count, target)


@inlined
def add_many_magnitudes(net, k, columns, factors, count, target):
    """As `add_columns`, of the absolute values of the matrix."""
    if net.is_sparse[k]:
        for p in range(count):
            add_magnitudes(net, k, columns[p], factors[p], target)
    else:
        width = net.widths[k + 1]
        _add_lines(net.magnitudes, net.starts[k], width, columns, factors, count, target)


def _add_lines(matrix, start, width, lines, factors, count, target):
    """Four lines at a time: the target is then read and written a quarter as often."""
    p = 0
    while p + 4 <= count:
        a = factors[p]
        b = factors[p + 1]
        c = factors[p + 2]
        d = factors[p + 3]
        at = start + lines[p] * width
        first = matrix[at : at + width]
        at = start + lines[p + 1] * width
        second = matrix[at : at + width]
        at = start + lines[p + 2] * width
        third = matrix[at : at + width]
        at = start + lines[p + 3] * width
        fourth = matrix[at : at + width]
        for r in range(width):
            target[r] += (a * first[r] + b * second[r]) + (c * third[r] + d * fourth[r])
        p += 4
    while p < count:
        a = factors[p]
        at = start + lines[p] * width
        line = matrix[at : at + width]
        for r in range(width):
            target[r] += a * line[r]
        p += 1


_add_lines = register_jitable(error_model="numpy", fastmath={"contract"}, _nrt=False)(_add_lines)
