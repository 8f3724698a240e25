"""Multiples of the rows and columns of a network's matrices, added to a vector: whole ones, or the entries listed."""

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
        for r in range(rows):
            target[r] += factor * net.weights[at + r]


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
        for r in range(rows):
            target[r] += factor * net.magnitudes[at + r]


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
        for j in range(columns):
            target[j] += factor * net.matrices[at + j]
