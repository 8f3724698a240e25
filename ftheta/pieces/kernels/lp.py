r"""Depth-first splitting of cells given by half-spaces, by linear programming (compiled); for many dimensions.

A polytope in ten dimensions has thousands of corners but only some tens of facets, so a cell is kept as the rows
$g_i\ge0$ of the neurons that were split on the way to it, one certified interior point $x_0$, and a simplex dictionary
at one of its vertices. Depth-first splitting was taken rather than reverse search over sign vectors because a cell
shares its forms, rows and dictionary with its parts: a decision then costs a few pivots, and nothing is visited twice.

Let $\varphi=\pm z_k$ be a neuron with $\varphi(x_0)>0$. It is lowered from vertex to vertex until
* a vertex $v$ has $\varphi(v)<0$: a point between $x_0$ and $v$ is evaluated in all rows, and when all are positive
  beyond their rounding errors it proves that the part $\varphi<0$ has an interior; or
* it is least: the dictionary names multipliers $y\ge0$, and $\varphi-\sum_iy_ig_i\ge0$ on the box, a minimum over a box
  with all rounding errors subtracted, proves that $\varphi\ge0$ on the cell.
What can be proved neither way is decided in rational arithmetic. A cell whose interior float64 cannot point at is
*thin*: all decisions about it and its parts are rational.
"""

from ftheta.loops import entry, inner, outlined, woven

from .lp_cells import (
    ACTIVE,
    ACTIVES,
    BOTH,
    INACTIVE,
    NEXT,
    OPEN,
    SIDE,
    VISITED,
    WAITING,
    decide,
    deepen,
    draw,
    least_margin,
    refresh,
    split,
    take_form,
    turn_form,
)
from .parts import (
    ASKED,
    CELLS,
    CUTS,
    DEEPER,
    DONE,
    FORCED,
    FULL,
    GUESSED,
    HEIGHT,
    KEPT,
    LIMIT,
    PAUSE,
    SIGN,
    WIDER,
    WORK,
    add_column,
    add_columns,
    centre_test,
    copy_and_add_column,
    descend,
    measure_forms,
    set_active,
    threshold,
)

SHALLOW = 1e-6  # interior points nearer to a row are drawn inwards on entering a layer
# positions of a cell before it is split by the neurons of a layer
FRESH = -1
SORTING = -2


@inner()
def start_forms(weights, path, layer, target):
    """The next layer's forms before any coordinate is added: the offsets, times the form of the constant one."""
    begin = weights.first[layer + 1]
    for c in range(target.shape[0]):
        for j in range(weights.sizes[layer + 1]):
            target[c, j] = weights.offset[begin + j] * path.unit[c]


@woven()
def enter(weights, stack, path, t, layer, size):
    """On entering a layer: how large its forms are, and which neurons keep one sign on the whole box."""
    measure_forms(weights, path, layer, size)
    refresh(stack, path, t)
    allowance = threshold(path, layer, 0.0, size, path.mean.shape[0])
    centre_test(path.forms[layer], weights.sizes[layer], path.box, allowance, path.middle, path.gap)
    for i in (NEXT, ACTIVES, WAITING, VISITED):
        path.progress[i] = 0
    for c in range(path.mean.shape[0]):
        path.mean[c] = 0.0
    stack.position[t] = SORTING


@woven()
def verdict(stack, path, counters, gauges, t, layer, k, allowance, ask):
    """The decision about one neuron, or the exact answer that was given to it; without answers a guess."""
    forced = counters[FORCED]
    counters[FORCED] = OPEN
    if forced != OPEN:
        return forced
    found = decide(stack, path, counters, gauges, t, layer, k, allowance)
    if found == OPEN and not ask:
        counters[GUESSED] += 1
        return ACTIVE if path.progress[SIDE] > 0 else INACTIVE
    return found


@woven()
def sort_layer(weights, stack, path, counters, gauges, t, layer, allowance, need_map, ask):
    """Sort the coordinates into active, inactive and candidates; False if an exact answer is needed first."""
    begin = weights.first[layer]
    passed = weights.keys.shape[0] - 1
    progress = path.progress
    while progress[NEXT] < weights.sizes[layer]:
        k = progress[NEXT]
        number = weights.neuron[begin + k]
        on = path.middle[k] > 0.0
        if number == passed:
            on = True
        elif path.zero[layer, k]:
            on = False
        elif path.gap[k] <= 0.0:
            found = verdict(stack, path, counters, gauges, t, layer, k, allowance, ask)
            if found == OPEN:
                counters[ASKED] = k
                return False
            note_vertex(path)
            if found == BOTH:
                path.candidate[layer, progress[WAITING]] = k
                progress[WAITING] += 1
                progress[NEXT] += 1
                continue
            on = found == ACTIVE
        if on:
            path.active[progress[ACTIVES]] = k
            progress[ACTIVES] += 1
            if number != passed:
                set_active(weights, layer, k, t, stack)
        progress[NEXT] += 1
    path.candidates[layer] = progress[WAITING]
    if need_map:
        start_forms(weights, path, layer, stack.partial[t])
        add_columns(
            weights, layer, path.forms[layer], path.active, progress[ACTIVES], stack.partial[t]
        )
    stack.position[t] = 0
    return True


@inner()
def note_vertex(path):
    """Add the vertex just reached to the sum of all, whose mean is a point inside."""
    path.progress[VISITED] += 1
    for c in range(path.mean.shape[0]):
        path.mean[c] += path.vertex[c]


@outlined()
def recentre(stack, path, counters, t):
    """Draw the interior point towards the vertices that were met, and if it is near a row still, away from it."""
    met = path.progress[VISITED]
    if met == 0 or stack.thin[t]:
        return
    for c in range(path.mean.shape[0]):
        path.mean[c] /= met
    draw(stack, path, t)
    if least_margin(stack, path, t, stack.point[t]) < SHALLOW:
        deepen(stack, path, counters, t)


@woven()
def split_by(weights, stack, path, counters, t, layer, k, allowance, proved, need_map):
    """Split the cell on top of the stack by a candidate that takes both signs."""
    error = allowance * take_form(path.forms[layer], k, path.form)
    if not proved:
        path.progress[SIDE] = 1
    elif path.progress[SIDE] < 0:
        turn_form(path)
    number = weights.neuron[weights.first[layer] + k]
    split(stack, path, counters, t, number, error, proved)
    set_active(weights, layer, k, t + 1, stack)
    if need_map:
        copy_and_add_column(
            weights, layer, path.forms[layer], k, stack.partial[t], stack.partial[t + 1]
        )
    counters[HEIGHT] += 1
    counters[CUTS] += 1
    counters[WORK] += stack.count[t] * 32 + weights.sizes[layer + 1]


@woven()
def keep(stack, cells, counters, t, outputs, want_maps):
    """Store cell `t` of the stack among the `cells` found; False if there is no room."""
    c = counters[KEPT]
    if c == cells.name.shape[0]:
        return False
    n = stack.point.shape[1]
    for j in range(n):
        cells.point[c, j] = stack.point[t, j]
    cells.thin[c] = stack.thin[t]
    cells.name[c] = stack.name[t]
    for w in range(stack.pattern.shape[1]):
        cells.pattern[c, w] = stack.pattern[t, w]
    if want_maps:
        for j in range(outputs):
            for i in range(n + 1):
                cells.maps[c, j, i] = stack.partial[t, i, j]
    counters[KEPT] = c + 1
    return True


@entry
def run(
    weights, stack, path, cells, counters, gauges, size, ask, store, want_maps, max_cells, pause
):
    """Enumerate until done or until something is needed; a call can be resumed."""
    last = weights.sizes.shape[0] - 2
    depth, room = stack.label.shape
    d = path.mean.shape[0]
    counters[WORK] = 0
    while counters[HEIGHT] > 0:
        t = counters[HEIGHT] - 1
        layer = stack.layer[t]
        need_map = layer < last or want_maps
        if stack.position[t] == FRESH:
            enter(weights, stack, path, t, layer, size)
            counters[WORK] += weights.sizes[layer] * (4 + (weights.sizes[layer + 1] >> 3))
        allowance = threshold(path, layer, 0.0, size, d)
        if stack.position[t] == SORTING:
            if not sort_layer(
                weights, stack, path, counters, gauges, t, layer, allowance, need_map, ask
            ):
                return SIGN
            recentre(stack, path, counters, t)
        was_split = False
        while stack.position[t] < path.candidates[layer]:
            if t + 2 > depth or stack.count[t] + 1 > room:
                return DEEPER if t + 2 > depth else WIDER
            k = path.candidate[layer, stack.position[t]]
            answered = counters[FORCED] != OPEN
            found = verdict(stack, path, counters, gauges, t, layer, k, allowance, ask)
            if found == OPEN:
                counters[ASKED] = k
                return SIGN
            stack.position[t] += 1
            if found == BOTH:
                split_by(
                    weights, stack, path, counters, t, layer, k, allowance, not answered, need_map
                )
                stack.position[t + 1] = stack.position[t]
                was_split = True
                break
            if found == ACTIVE:
                set_active(weights, layer, k, t, stack)
                if need_map:
                    add_column(weights, layer, path.forms[layer], k, stack.partial[t])
        if was_split:
            continue
        if layer < last:
            descend(weights, path, layer, t, stack)
            continue
        if counters[CELLS] == max_cells:
            return LIMIT
        if store and not keep(stack, cells, counters, t, weights.sizes[last + 1], want_maps):
            return FULL
        counters[CELLS] += 1
        counters[HEIGHT] -= 1
        if counters[WORK] > pause:
            return PAUSE
    return DONE
