r"""The arrays of the polytope splitter, and how well it knows its corners (compiled).

A corner of a bounded cell is known by two numbers. Its residual $\rho$ bounds the true distance of the computed point
from each of its $d$ hyperplanes; its width $\kappa$ is a lower bound on $|\det(n_1,\dots,n_d)|$ of their unit normals.
By Cramer's rule and Hadamard's inequality the point is off by at most $d\rho/\kappa$. Both pass from the ends $v,u$ of
an edge to the point where a form $f$ cuts it: the residuals of a convex combination are no larger than those of the
ends, and with the hyperplane $i$ that the edge leaves at $v$
$$\kappa=\kappa_v\,\frac{|f(v)-f(u)|}{|\nabla f|}\cdot\frac{|\nabla f_i|}{|f_i(u)|}.$$
So errors of earlier corners are not added up, and no determinant is needed unless a number here is poorly known.
"""

from math import sqrt
from typing import NamedTuple

import numpy as np

from ftheta.loops import inner

from .parts import FLAT, U


class Stack(NamedTuple):
    corner: np.ndarray  # (depth, corners): places in the arrays over all corners of the path
    along: np.ndarray  # (depth, corners, d): the neighbour along the edge that leaves each facet
    corners: np.ndarray
    top: np.ndarray  # how many corners of the path a slot and those below it use
    worst: np.ndarray  # largest error bound among the corners
    layer: np.ndarray
    position: np.ndarray
    partial: np.ndarray
    name: np.ndarray
    pattern: np.ndarray


class Path(NamedTuple):
    forms: np.ndarray
    candidate: np.ndarray
    candidates: np.ndarray
    zero: np.ndarray  # (layers, width): coordinates that nothing reaches
    form_error: np.ndarray
    row_size: np.ndarray
    active: np.ndarray
    middle: np.ndarray
    gap: np.ndarray
    box: np.ndarray  # (2(d+1),): centre and half-width of a bounding box, interleaved
    bounded: np.ndarray  # (1,): whether the last coordinate of every point is one
    # (sides + neurons, d+2): hyperplanes of the facets and bounds on their errors; label + sides
    plane: np.ndarray
    point: np.ndarray  # (corners of the path, d+1): homogeneous
    know: np.ndarray  # (corners of the path, 4): error bound, width, residual, |det| in float64
    facet: np.ndarray  # (corners of the path, d): labels


class Scratch(NamedTuple):
    """Arrays over the corners of one polytope, and the table that pairs new corners."""

    value: np.ndarray
    sign: np.ndarray
    forced: np.ndarray
    trial: np.ndarray  # (3, corners): values of the neurons that cut a cell of the last layer
    place: np.ndarray
    origin: np.ndarray  # (corners, 4): positive end, its edge, negative end, its edge
    new_along: np.ndarray
    form: np.ndarray  # (d+1,)
    matrix: np.ndarray  # (d, d+1): of a linear system
    table: np.ndarray  # (slots, 2): a set of facets, by its key; stamp, corner and edge in one word
    facet_key: np.ndarray  # random words that name sets of facets by their sum
    stamp: np.ndarray  # (1,)
    direction: np.ndarray  # (directions, d): for sums over corners


BOUND, WIDTH, RESIDUAL, DETERMINANT = range(4)
SHORT = 1e-7  # edges whose ends are that close, in units of the domain, are not used to pass on what is known


@inner(fastmath={"contract"})
def determinant(m, d):
    """By hand up to four dimensions, else by elimination with row pivots (destroys m)."""
    if d == 2:
        return m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]
    if d == 3:
        p = m[1, 1] * m[2, 2] - m[1, 2] * m[2, 1]
        q = m[1, 0] * m[2, 2] - m[1, 2] * m[2, 0]
        r = m[1, 0] * m[2, 1] - m[1, 1] * m[2, 0]
        return m[0, 0] * p - m[0, 1] * q + m[0, 2] * r
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


@inner(fastmath={"contract"})
def set_plane(path, row, forms, k, error, size):
    """Form k becomes the hyperplane of a facet, with unit normal in a bounded body. Returns the length of the normal.

    Its error bound holds for its value at any point of the body; it is infinite if the normal itself is in doubt.
    """
    d = forms.shape[0] - 1
    bounded = path.bounded[0]
    square = 0.0
    for c in range(d):
        square += forms[c, k] * forms[c, k]
    norm = sqrt(square)
    inverse = 1.0 / norm if bounded and norm > 0.0 else 1.0
    for c in range(d + 1):
        path.plane[row, c] = forms[c, k] * inverse
    weight = norm * size + abs(forms[d, k])
    bound = 1.001 * sqrt(d + 1.0) * (error + 8.0 * (d + 2) * U * weight) * inverse
    is_known = norm > FLAT and error < 1e-4 * norm * size
    path.plane[row, d + 1] = bound if not bounded or is_known else np.inf
    return norm


@inner(fastmath={"contract"})
def inspect(path, scratch, row, sides, size):
    """Width, residual and error bound of a corner from its hyperplanes themselves, by a determinant.

    The determinant is lowered by what rounding and the errors of the hyperplanes can do to it. The largest homogeneous
    coordinate is held fixed (the last one in a bounded body).
    """
    d = path.facet.shape[1]
    point = path.point[row]
    bounded = path.bounded[0]
    held = d
    scale = size
    if not bounded:
        scale = min(size, 1.0)
        for c in range(d):
            if abs(point[c]) > abs(point[held]):
                held = c
    reach = 0.0
    doubt = (d * d * d) * 2.0**d * U
    unknown = 4.0 * size * sqrt(d + 1.0)
    path.know[row, WIDTH] = 0.0
    path.know[row, RESIDUAL] = unknown
    path.know[row, BOUND] = unknown
    path.know[row, DETERMINANT] = 0.0
    for i in range(d):
        plane = path.plane[path.facet[row, i] + sides]
        error = plane[d + 1]
        residual = 0.0
        square = 0.0
        column = 0
        for c in range(d + 1):
            residual += plane[c] * point[c]
            if c != held:
                square += plane[c] * plane[c]
                scratch.matrix[i, column] = plane[c]
                column += 1
        norm = sqrt(square)
        if not (norm > FLAT and norm * scale > 4.0 * d * error):
            return
        inverse = 1.0 / norm
        reach = max(reach, (abs(residual) + error) * inverse)
        doubt += 2.0 * error * inverse / scale
        for c in range(d):
            scratch.matrix[i, c] *= inverse
    found = abs(determinant(scratch.matrix, d))
    width = found - doubt
    if not width > 0.0:
        return
    bound = 1.3 * d * reach / width
    # a direction must be known well enough not to be confused with its opposite
    if bounded or bound < 1e-3 * abs(point[held]):
        path.know[row, WIDTH] = width
        path.know[row, RESIDUAL] = 1.3 * reach
        path.know[row, DETERMINANT] = found
        path.know[row, BOUND] = min(bound, unknown)


@inner(fastmath={"contract"})
def distance(path, plane, corner):
    """The value of a hyperplane's form at a corner: in a bounded body the signed distance."""
    v = 0.0
    for c in range(path.point.shape[1]):
        v += path.plane[plane, c] * path.point[corner, c]
    return v


@inner(fastmath={"contract"})
def pass_on(path, scratch, row, v, u, left, new, rise, norm, allowance, worst, sides, size):
    """The same for a corner on the edge from v to u, from what is known of the two.

    The edge leaves the hyperplane `left` at v; the form of the hyperplane `new` has a normal of length `norm` and
    changes by `rise` along the edge, and `allowance` bounds the error of its values.
    """
    d = path.facet.shape[1]
    height = abs(distance(path, left, u))
    doubt = path.plane[left, d + 1] + 1.001 * worst
    know = path.know
    steep = rise / norm
    width = 0.999 * know[v, WIDTH] * (steep - 2.0 * allowance / norm) / (height + doubt)
    known = (
        norm > FLAT
        and rise > 1e3 * allowance
        and height > 1e3 * doubt
        and min(steep, height) > SHORT * size
    )
    if path.bounded[0] and known and width > 0.0:
        residual = max(know[v, RESIDUAL], know[u, RESIDUAL], path.plane[new, d + 1])
        residual += 8.0 * U * size * sqrt(d + 0.0)
        know[row, WIDTH] = width
        know[row, RESIDUAL] = residual
        know[row, BOUND] = min(1.01 * d * residual / width, 4.0 * size * sqrt(d + 1.0))
        know[row, DETERMINANT] = know[v, DETERMINANT] * steep / height
    else:
        inspect(path, scratch, row, sides, size)
