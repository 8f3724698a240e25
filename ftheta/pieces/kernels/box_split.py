"""Cutting a simple polytope in two by a hyperplane (compiled): new corners on cut edges, joined to a simple graph."""

from ftheta.loops import inner

from .box_corners import BOUND, pass_on, set_plane


@inner()
def cut_edges(stack, scratch, t):
    """The edges from a corner with sign >= 0 to one with sign < 0; returns their number."""
    d = stack.along.shape[2]
    along = stack.along[t]
    m = 0
    for v in range(stack.corners[t]):
        if scratch.sign[v] < 0:
            continue
        for i in range(d):
            u = along[v, i]
            if scratch.sign[u] < 0:
                scratch.origin[m, 0], scratch.origin[m, 1], scratch.origin[m, 2] = v, i, u
                for c in range(d):
                    if along[u, c] == v:
                        scratch.origin[m, 3] = c
                m += 1
    return m


@inner(fastmath={"contract"})
def place_corner(path, scratch, row, v, u, w, number):
    """The point where the neuron vanishes on the edge w, and its facets: those of the edge, then the neuron."""
    d = path.facet.shape[1]
    at_v = scratch.origin[w, 0]
    left = scratch.origin[w, 1]
    at_u = scratch.origin[w, 2]
    high = max(scratch.value[at_v], 0.0) if scratch.sign[at_v] > 0 else 0.0
    low = max(-scratch.value[at_u], 0.0)
    s = high / (high + low) if high + low > 0.0 else 0.5
    if scratch.sign[at_v] == 0:
        s = 0.0
    for c in range(d + 1):
        path.point[row, c] = path.point[v, c] + s * (path.point[u, c] - path.point[v, c])
    q = 0
    for c in range(d):
        if c != left:
            path.facet[row, q] = path.facet[v, c]
            q += 1
    path.facet[row, d - 1] = number
    return high + low


@inner()
def pair_up(path, scratch, row, w, sides, mask):
    """Join new corner w to the others on the cut that share all but one of its old facets."""
    d = path.facet.shape[1]
    stamp = scratch.stamp[0]
    total = scratch.facet_key[path.facet[row, 0] + sides]
    for c in range(1, d - 1):
        total += scratch.facet_key[path.facet[row, c] + sides]
    for j in range(d - 1):
        key = total - scratch.facet_key[path.facet[row, j] + sides]
        z = (key ^ (key >> 29)) & mask
        while scratch.table[z, 1] >> 30 == stamp and scratch.table[z, 0] != key:
            z = (z + 1) & mask
        found = scratch.table[z, 1]
        if found >> 30 == stamp:
            other = (found >> 6) & 0xFFFFFF
            scratch.new_along[w, j] = other
            scratch.new_along[other, found & 63] = w
        else:
            scratch.table[z, 0] = key
            scratch.table[z, 1] = stamp << 30 | w << 6 | j


@inner()
def new_corners(stack, path, scratch, t, m, number, norm, allowance, sides, size):
    """A corner on every edge that the neuron cuts, next to those of the path; and the edges between them."""
    top = stack.top[t]
    scratch.stamp[0] += 1
    mask = 15
    while mask < m * (path.facet.shape[1] - 1):
        mask = 2 * mask + 1
    for w in range(m):
        v = stack.corner[t, scratch.origin[w, 0]]
        u = stack.corner[t, scratch.origin[w, 2]]
        rise = place_corner(path, scratch, top + w, v, u, w, number)
        left = path.facet[v, scratch.origin[w, 1]] + sides
        worst = stack.worst[t]
        pass_on(
            path,
            scratch,
            top + w,
            v,
            u,
            left,
            number + sides,
            rise,
            norm,
            allowance,
            worst,
            sides,
            size,
        )
        pair_up(path, scratch, top + w, w, sides, mask)


@inner()
def join(stack, path, scratch, t, slot, old, m, end):
    """Put the new corners behind the old ones of a part, and their edges; returns the largest error of the part."""
    d = path.facet.shape[1]
    corner = stack.corner[slot]
    along = stack.along[slot]
    for w in range(m):
        x = old + w
        corner[x] = stack.top[t] + w
        for c in range(d - 1):
            along[x, c] = old + scratch.new_along[w, c]
        neighbour = scratch.place[scratch.origin[w, end]]
        along[x, d - 1] = neighbour
        along[neighbour, scratch.origin[w, end + 1]] = x
    worst = 0.0
    for i in range(old + m):
        worst = max(worst, path.know[corner[i], BOUND])
    stack.corners[slot], stack.worst[slot] = old + m, worst


@inner()
def split(weights, stack, path, scratch, t, layer, k, allowance, size):
    """Slot t keeps the part where the neuron is negative; slot t+1 gets the other."""
    d = path.facet.shape[1]
    sides = path.plane.shape[0] - weights.keys.shape[0] + 1
    number = weights.neuron[weights.first[layer] + k]
    norm = set_plane(path, number + sides, path.forms[layer], k, path.form_error[layer], size)
    m = cut_edges(stack, scratch, t)
    new_corners(stack, path, scratch, t, m, number, norm, allowance, sides, size)
    n = stack.corners[t]
    above = 0
    below = 0
    for v in range(n):
        if scratch.sign[v] >= 0:
            scratch.place[v] = above
            above += 1
        else:
            scratch.place[v] = below
            below += 1
    for v in range(n):  # upwards in place: a corner never moves behind one that is still to be read
        slot = t + 1 if scratch.sign[v] >= 0 else t
        w = scratch.place[v]
        stack.corner[slot, w] = stack.corner[t, v]
        for c in range(d):
            stack.along[slot, w, c] = scratch.place[stack.along[t, v, c]]
    join(stack, path, scratch, t, t + 1, above, m, 0)
    join(stack, path, scratch, t, t, below, m, 2)
    stack.top[t] += m
    stack.top[t + 1] = stack.top[t]
