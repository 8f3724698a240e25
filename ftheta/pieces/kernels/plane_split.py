"""One polygon, split by the line on which a neuron vanishes (compiled)."""

from ftheta.loops import inner

from .parts import LEAST, U  # fmt: skip


@inner()
def line(weights, path, label):
    """The form of an edge and the bound on its error: a neuron on the current path, or a side of the domain."""
    if label < 0:
        side = path.sides[-1 - label]
        return side[0], side[1], side[2], side[3]
    layer = weights.unit_layer[label]
    k = weights.unit_coordinate[label]
    forms = path.forms[layer]
    return forms[0, k], forms[1, k], forms[2, k], path.form_error[layer]


@inner(fastmath={"contract"})
def crossing(weights, path, scratch, polygon, i, j, edge, number, size):
    """The point of edge i–j where the neuron vanishes, with a bound on its error.

    The bound comes from the residuals of the point on its two lines and the angle between them (Cramer's rule), so
    errors of earlier corners do not add up.
    """
    v = max(scratch.value[i] * scratch.sign[i], 0.0)
    u = max(scratch.value[j] * scratch.sign[j], 0.0)
    total = v + u
    s = v / total if total > 0.0 else 0.5
    x = polygon[0, i] + s * (polygon[0, j] - polygon[0, i])
    y = polygon[1, i] + s * (polygon[1, j] - polygon[1, i])
    a, b, c, e = line(weights, path, edge)
    p, q, r, f = line(weights, path, number)
    g = (abs(a) + abs(b)) * size
    h = (abs(p) + abs(q)) * size
    first = abs(a * x + b * y + c) + 1.8 * e + 8.0 * U * (g + abs(c))
    second = abs(p * x + q * y + r) + 1.8 * f + 8.0 * U * (h + abs(r))
    wide = (
        abs((a * size) * (q * size) - (b * size) * (p * size))
        - (g + e) * (f + 8.0 * U * h)
        - (h + f) * e
    )
    error = 4.0 * size
    if wide > LEAST:  # else products that underflow may be part of it
        error = min(error, 1.00001 * size * (first * (h + f) + second * (g + e)) / wide)
    return x, y, error


@inner()
def put(polygon, label, n, x, y, error, edge):
    """Append the corner (x, y), its error and the label of the edge behind it; the new number of corners."""
    polygon[0, n] = x
    polygon[1, n] = y
    polygon[2, n] = error
    label[n] = edge
    return n + 1


@inner()
def split(weights, stack, path, scratch, t, number, size):
    """Slot t keeps the part where the neuron is negative; slot t+1 gets the part where it is positive."""
    n = stack.corners[t]
    old = stack.polygon[t]
    old_label = stack.label[t]
    up = stack.polygon[t + 1]
    up_label = stack.label[t + 1]
    down = scratch.spare
    down_label = scratch.spare_label
    sign = scratch.sign
    above = 0
    below = 0
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        x = old[0, i]
        y = old[1, i]
        e = old[2, i]
        edge = old_label[i]
        if sign[i] > 0:
            above = put(up, up_label, above, x, y, e, edge)
        elif sign[i] < 0:
            below = put(down, down_label, below, x, y, e, edge)
        else:  # a corner on the line: the new edge leaves it on the side that the ring does not follow
            above = put(up, up_label, above, x, y, e, edge if sign[j] > 0 else number)
            below = put(down, down_label, below, x, y, e, edge if sign[j] < 0 else number)
        if sign[i] * sign[j] < 0:
            px, py, pe = crossing(weights, path, scratch, old, i, j, edge, number, size)
            above = put(up, up_label, above, px, py, pe, edge if sign[j] > 0 else number)
            below = put(down, down_label, below, px, py, pe, edge if sign[j] < 0 else number)
    worst = 0.0
    for i in range(above):
        worst = max(worst, up[2, i])
    stack.worst[t + 1] = worst
    worst = 0.0
    for i in range(below):
        old[0, i], old[1, i], old[2, i] = down[0, i], down[1, i], down[2, i]
        old_label[i] = down_label[i]
        worst = max(worst, down[2, i])
    stack.worst[t] = worst
    stack.corners[t + 1] = above
    stack.corners[t] = below


@inner()
def area(polygon, n):
    """The area of a polygon; differences to its first corner keep small polygons accurate."""
    x = polygon[0, 0]
    y = polygon[1, 0]
    doubled = 0.0
    for i in range(1, n - 1):
        doubled += (polygon[0, i] - x) * (polygon[1, i + 1] - y) - (polygon[0, i + 1] - x) * (
            polygon[1, i] - y
        )
    return 0.5 * doubled
