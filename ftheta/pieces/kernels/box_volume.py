r"""Volumes of simple polytopes from their corners (compiled), by Lawrence's formula.

With a direction $c$, unit normals $n_i$ (inward) of the hyperplanes through the corner $v$ and
$c=\sum_i\gamma_{v,i}n_i$,
$$\mathrm{vol}=\Bigl|\sum_v\frac{(c\cdot v-h)^d}{d!\,|\det(n_1,\dots,n_d)|\,\prod_i\gamma_{v,i}}\Bigr|,\qquad
\gamma_{v,i}=\frac{c\cdot(u_i-v)}{n_i\cdot(u_i-v)}$$
for any $h$; $u_i$ is the neighbour of $v$ along the edge that leaves hyperplane $i$. Terms are large where $c$ is
almost orthogonal to an edge, and cancel; so several directions are tried.
"""

import numpy as np

from ftheta.loops import inner, outlined

from .box_corners import DETERMINANT, SHORT, WIDTH, distance


@inner(fastmath={"contract"})
def eliminate(m):
    """Solve for the last column of the d × (d+1) matrix, in place, with row pivots. Returns the determinant."""
    d = m.shape[0]
    result = 1.0
    for i in range(d):
        best = i
        for j in range(i + 1, d):
            if abs(m[j, i]) > abs(m[best, i]):
                best = j
        pivot = m[best, i]
        if pivot == 0.0:
            return 0.0
        if best != i:
            for c in range(i, d + 1):
                m[i, c], m[best, c] = m[best, c], m[i, c]
        result *= pivot
        inverse = 1.0 / pivot
        for j in range(i + 1, d):
            f = m[j, i] * inverse
            for c in range(i + 1, d + 1):
                m[j, c] -= f * m[i, c]
    for i in range(d - 1, -1, -1):
        for c in range(i + 1, d):
            m[i, d] -= m[i, c] * m[c, d]
        m[i, d] /= m[i, i]
    return result


@inner(fastmath={"contract"})
def gradient_product(path, row, pattern, sides, direction, m):
    """|det| times the product of all γ of a corner, from its normals: edges may be short or of no length."""
    d = path.facet.shape[1]
    for i in range(d):
        label = path.facet[row, i]
        inside = label < 0 or pattern[label >> 6] >> np.uint64(label & 63) & np.uint64(
            1
        ) == np.uint64(1)
        for c in range(d):
            m[c, i] = path.plane[label + sides, c] * (1.0 if inside else -1.0)
        m[i, d] = direction[i]
    result = abs(eliminate(m))
    for i in range(d):
        result *= m[i, d]
    return result


@inner(fastmath={"contract"})
def weigh_corners(path, stack, scratch, t, sides, size):
    """The product of the n·(u-v) over |det| of every corner, 0 if an edge is short; False if a corner is unknown."""
    d = path.facet.shape[1]
    for v in range(stack.corners[t]):
        row = stack.corner[t, v]
        if path.know[row, WIDTH] == 0.0:
            return False
        weight = 1.0 / path.know[row, DETERMINANT]
        for i in range(d):
            rise = abs(
                distance(path, path.facet[row, i] + sides, stack.corner[t, stack.along[t, v, i]])
            )
            weight *= rise if rise > SHORT * size else 0.0
        scratch.trial[0, v] = weight
    return True


@inner(fastmath={"contract"})
def sum_corners(path, stack, scratch, t, sides, direction):
    """Lawrence's sum for one direction, and the sum of its absolute terms."""
    d = path.facet.shape[1]
    n = stack.corners[t]
    weight = scratch.trial[0]
    height = scratch.trial[1]
    low = 1e308
    high = -1e308
    for v in range(n):
        h = 0.0
        for c in range(d):
            h += direction[c] * path.point[stack.corner[t, v], c]
        height[v] = h
        low = min(low, h)
        high = max(high, h)
    total = 0.0
    magnitude = 0.0
    for v in range(n):
        term = weight[v]
        if term != 0.0:
            divisor = 1.0
            for i in range(d):
                divisor *= height[stack.along[t, v, i]] - height[v]
        else:
            term = 1.0
            row = stack.corner[t, v]
            divisor = gradient_product(
                path, row, stack.pattern[t], sides, direction, scratch.matrix
            )
        for i in range(d):
            term *= (height[v] - 0.5 * (low + high)) / (i + 1)
        term /= divisor
        total += term
        magnitude += abs(term)
    return abs(total), magnitude


@outlined()
def polytope_volume(path, stack, scratch, t, sides, size):
    """The volume of the finished cell in slot t of the stack, by the best of several directions."""
    if not weigh_corners(path, stack, scratch, t, sides, size):
        return np.nan
    volume, least = sum_corners(path, stack, scratch, t, sides, scratch.direction[0])
    for k in range(1, scratch.direction.shape[0]):
        other, magnitude = sum_corners(path, stack, scratch, t, sides, scratch.direction[k])
        if magnitude < least:
            volume = other
            least = magnitude
    return volume
