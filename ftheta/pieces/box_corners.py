"""The arrays of the polytope splitter, and how well it knows its corners (compiled)."""

from math import sqrt
from typing import NamedTuple

import numpy as np

from .kernel_parts import U, compiled


class Stack(NamedTuple):
    point: np.ndarray  # (depth, corners, d+1)
    radius: np.ndarray  # (depth, corners)
    facet: np.ndarray  # (depth, corners, d): labels
    along: np.ndarray  # (depth, corners, d): the neighbour along the edge that leaves the facet
    corners: np.ndarray
    worst: np.ndarray
    layer: np.ndarray
    position: np.ndarray
    partial: np.ndarray
    name: np.ndarray
    pattern: np.ndarray


class Path(NamedTuple):
    forms: np.ndarray
    candidate: np.ndarray
    candidates: np.ndarray
    form_error: np.ndarray
    row_size: np.ndarray
    active: np.ndarray
    middle: np.ndarray
    gap: np.ndarray
    box: np.ndarray  # (2(d+1),): centre and half-width of a bounding box, interleaved
    sides: np.ndarray  # (sides, d+2): forms of the domain's sides and bounds on their errors
    matrix: np.ndarray  # (d, d): scratch for a determinant


class Scratch(NamedTuple):
    """Arrays over corners, and the table that pairs new corners."""

    value: np.ndarray
    sign: np.ndarray
    forced: np.ndarray
    place: np.ndarray
    point: np.ndarray
    radius: np.ndarray
    facet: np.ndarray
    along: np.ndarray
    origin: np.ndarray  # (corners, 4): positive end, its edge, negative end, its edge
    new_point: np.ndarray
    new_radius: np.ndarray
    new_facet: np.ndarray
    new_along: np.ndarray
    table_key: np.ndarray
    table_corner: np.ndarray
    table_edge: np.ndarray
    table_stamp: np.ndarray
    facet_key: np.ndarray  # random words that name sets of facets by their sum
    stamp: np.ndarray  # (1,)


class Cells(NamedTuple):
    vertices: np.ndarray
    radius: np.ndarray
    label: np.ndarray
    ends: np.ndarray
    name: np.ndarray
    pattern: np.ndarray
    maps: np.ndarray


@compiled(fastmath={"contract"})
def determinant(m, d):
    """By hand up to four dimensions, else by elimination with row pivots (destroys m)."""
    if d == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if d == 3:
        p = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
        q = m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0]
        r = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
        return m[0, 0] * p - m[0, 1] * q + m[0, 2] * r
    if d == 4:
        s0 = m[0, 0] * m[1, 1] - m[1, 0] * m[0, 1]
        s1 = m[0, 0] * m[1, 2] - m[1, 0] * m[0, 2]
        s2 = m[0, 0] * m[1, 3] - m[1, 0] * m[0, 3]
        s3 = m[0, 1] * m[1, 2] - m[1, 1] * m[0, 2]
        s4 = m[0, 1] * m[1, 3] - m[1, 1] * m[0, 3]
        s5 = m[0, 2] * m[1, 3] - m[1, 2] * m[0, 3]
        c0 = m[2, 0] * m[3, 1] - m[3, 0] * m[2, 1]
        c1 = m[2, 0] * m[3, 2] - m[3, 0] * m[2, 2]
        c2 = m[2, 0] * m[3, 3] - m[3, 0] * m[2, 3]
        c3 = m[2, 1] * m[3, 2] - m[3, 1] * m[2, 2]
        c4 = m[2, 1] * m[3, 3] - m[3, 1] * m[2, 3]
        c5 = m[2, 2] * m[3, 3] - m[3, 2] * m[2, 3]
        return s0 * c5 - s1 * c4 + s2 * c3 + s3 * c2 - s4 * c1 + s5 * c0
    result = 1.0
    for i in range(d):
        best = i
        for j in range(i + 1, d):
            if abs(m[j, i]) > abs(m[best, i]):
                best = j
        if m[best, i] == 0.0:
            return 0.0
        if best != i:
            for c in range(i, d):
                m[i, c], m[best, c] = m[best, c], m[i, c]
        result *= m[i, i]
        for j in range(i + 1, d):
            f = m[j, i] / m[i, i]
            for c in range(i + 1, d):
                m[j, c] -= f * m[i, c]
    return result


@compiled(fastmath={"contract"})
def corner_error(weights, path, point, facet, size):
    """A bound on the error of a corner from its residuals r on its d facets and the determinant of their unit normals.

    By Cramer's rule and Hadamard's inequality |δ| ≤ Σ_i r_i Π_{j≠i}|n_j| / |det(n_1 … n_d)|; the determinant is
    lowered by what rounding and the errors of the forms can do to it. The largest homogeneous coordinate is held fixed
    (the last one for points of a box).
    """
    d = facet.shape[0]
    held = d
    scale = size
    unbounded = point[d] != 1.0
    if unbounded:
        scale = min(size, 1.0)
        for c in range(d):
            if abs(point[c]) > abs(point[held]):
                held = c
    m = path.matrix
    reach = 0.0
    doubt = (d * d * d) * 2.0**d * U
    for i in range(d):
        label = facet[i]
        residual = 0.0
        weight = 0.0
        norm = 0.0
        column = 0
        if label < 0:
            error = path.sides[-1 - label, d + 1]
        else:
            layer = weights.unit_layer[label]
            k = weights.unit_coordinate[label]
            error = path.form_error[layer]
        for c in range(d + 1):
            a = path.sides[-1 - label, c] if label < 0 else path.forms[layer, c, k]
            term = a * point[c]
            residual += term
            weight += abs(term)
            if c != held:
                norm += a * a
                m[i, column] = a
                column += 1
        norm = sqrt(norm)
        if norm * scale <= 4.0 * d * error:
            return 4.0 * size * sqrt(d + 1.0)
        residual = abs(residual) + 1.001 * sqrt(d + 1.0) * error + 2.0 * (d + 3) * U * weight
        inverse = 1.0 / norm
        reach += residual * inverse
        doubt += 2.0 * error * inverse / scale
        for c in range(d):
            m[i, c] *= inverse
    wide = abs(determinant(m, d)) - doubt
    if not wide > 0.0:
        return 4.0 * size * sqrt(d + 1.0)
    error = 1.3 * reach / wide
    # a direction must be known well enough not to be confused with its opposite
    return error if not unbounded or error < 1e-3 * abs(point[held]) else 4.0 * size * sqrt(d + 1.0)
