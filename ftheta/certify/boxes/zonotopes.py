r"""Zonotopes of one box through a ReLU network, rounded outward.

Every state $h$ of the network is enclosed, over a box of inputs, by
$$h_i=c_i+\sum_gG_{gi}\varepsilon_g+[-e_i,e_i],\qquad\varepsilon_g\in[-1,1],$$
where the first generators are those of the inputs, and each ReLU of undecided sign adds one. $e$ holds all rounding,
so that no bound depends on how a sum was ordered: with $u=2^{-53}$, a sum of $k$ products errs by at most
$\gamma_k=ku/(1-ku)$ times the sum of absolute values, and $|h_i|\le|c_i|+\sum_g|G_{gi}|+e_i$ bounds those.

A ReLU on $z\in[l,h]$ with $l<0<h$ is $\lambda z+m\pm m$ for any $\lambda\in[0,1]$ and
$2m=\max(-\lambda l,(1-\lambda)h)$: the difference $\max(z,0)-\lambda z$ is convex, zero at its least and largest at an
end.

In a part of the box some neurons have a fixed sign, $s$ of $z$: they are passed on or zero, and $-sz\le0$ is a *cut*,
which bounds of neurons above and of the rows of the question may use (`multipliers`). So is a lower bound of a row of
the question that is affine in the inputs: where it is positive, there is no counter-example.

Generators are rows, so that all inner loops run over neurons and are vectorised without re-ordering a sum. Neurons that
are zero over the box are left out: `active` lists the others, and columns stand in its order.
"""

from .arrays import HUGE, MOST_CUTS, OFF, ON, TINY, UNDECIDED, U, compiled
from .multipliers import add_multiple, best_multiplier, lower_bound, lower_bound_in
from .products import add_column, add_columns, add_many_magnitudes

BEYOND_RANGE = -1  # what `enclose_box` says instead of a number of generators
EMPTY = -2


@compiled
def enclose_box(net, lo, hi, signs, kept, zonotope):
    """Enclose the outputs over the part of the box `lo ≤ x ≤ hi` where neurons have the `signs` (0: any) and the first
    `kept` cuts, functions of the inputs alone, are not positive.

    Returns the number of generators, `EMPTY` where no point has these signs, or `BEYOND_RANGE`.

    On return `generators`, `centre`, `error` and, in `columns[1]`, the radii without the error are those of the
    outputs.
    """
    _enclose_inputs(lo, hi, zonotope)
    zonotope.cuts.count[0] = kept
    layers = len(net.widths) - 1
    generators = net.widths[0]
    active = net.widths[0]
    fresh = 0  # generators at the end of the list that belong to one neuron each
    for k in range(layers):
        _apply_affine(net, k, active, generators, fresh, zonotope)
        if k < layers - 1:
            if _make_cuts(net, k, signs, generators, zonotope):
                return EMPTY
            fresh = _bound_neurons(net, k, signs, generators, zonotope)
            if fresh < 0:
                return BEYOND_RANGE
            active = _rectify(net, k, generators, zonotope)
            generators += fresh
    return generators


@compiled
def _enclose_inputs(lo, hi, zonotope):
    """One generator for every input; its radius reaches both ends, whatever the centre was rounded to."""
    inputs = len(lo)
    for i in range(inputs):
        centre = 0.5 * lo[i] + 0.5 * hi[i]
        radius = max(hi[i] - centre, centre - lo[i]) * (1.0 + 4.0 * U)
        is_wide = hi[i] > lo[i]
        zonotope.centre[i] = centre
        zonotope.error[i] = 0.0 if is_wide else radius
        zonotope.active[i] = i
        for g in range(inputs):
            zonotope.entering[g, i] = 0.0
            zonotope.share[i, g] = 0.0
        zonotope.entering[i, i] = radius + TINY if is_wide else 0.0
        zonotope.share[i, i] = 1.0


@compiled
def _apply_affine(net, k, active, generators, fresh, zonotope):
    """The affine map of layer `k`: centres, generators and errors, and the radii in `columns[1]`."""
    rows = net.widths[k + 1]
    shift = net.offsets[k]
    sums = zonotope.sums
    columns = zonotope.columns
    entering = zonotope.entering
    leaving = zonotope.generators
    gamma = 2.0 * (active + generators + 32) * U
    # the errors that enter, and those of all sums to come, as one error of what enters
    for q in range(active):
        columns[0, q] = abs(zonotope.centre[q])
    for g in range(generators):
        for q in range(active):
            columns[0, q] += abs(entering[g, q])
    for r in range(rows):
        sums[0, r] = net.biases[shift + r]
        sums[1, r] = gamma * abs(net.biases[shift + r]) + TINY
    for q in range(active):
        columns[0, q] = zonotope.error[q] * (1.0 + 8.0 * U) + gamma * columns[0, q]
    add_columns(net, k, zonotope.active, zonotope.centre, active, sums[0])
    add_many_magnitudes(net, k, zonotope.active, columns[0], active, sums[1])
    settled = generators - fresh
    for g in range(generators):
        for r in range(rows):
            leaving[g, r] = 0.0
    for g in range(settled):  # most time is spent here
        add_columns(net, k, zonotope.active, entering[g], active, leaving[g])
    g = settled
    for q in range(active):  # fresh generators stand in the order of their neurons
        if g < generators and entering[g, q] != 0.0:
            add_column(net, k, zonotope.active[q], entering[g, q], leaving[g])
            g += 1
    for r in range(rows):
        zonotope.centre[r] = sums[0, r]
        zonotope.error[r] = sums[1, r] * (1.0 + 2.0 * (active + 8) * U)
        columns[1, r] = 0.0
    for g in range(generators):
        for r in range(rows):
            columns[1, r] += abs(leaving[g, r])


@compiled
def _make_cuts(net, k, signs, generators, zonotope):
    """One cut for each neuron of layer `k` whose sign is fixed; returns whether one shows that the part is empty."""
    shift = net.offsets[k]
    cuts = zonotope.cuts
    room = cuts.forms.shape[1]
    for r in range(net.widths[k + 1]):
        sign = float(signs[shift + r])
        if sign == 0.0 or cuts.count[0] == MOST_CUTS:
            continue
        c = cuts.count[0]
        for g in range(generators):
            cuts.forms[c, g] = -sign * zonotope.generators[g, r]
        for g in range(generators, room):
            cuts.forms[c, g] = 0.0
        cuts.constants[c] = -sign * zonotope.centre[r] - zonotope.error[r] * (1.0 + 4.0 * U) - TINY
        cuts.least[c] = lower_bound(cuts.forms[c], cuts.constants[c], generators)
        if not abs(cuts.least[c]) < HUGE:
            continue
        cuts.count[0] = c + 1
        if lower_bound_in(zonotope.ball, cuts.forms[c], cuts.constants[c], generators) > 0.0:
            return True
    return False


@compiled
def _bound_with_cuts(sign, r, generators, zonotope):
    """A lower bound of `sign` times what enters neuron `r`, by multiples of the cuts, in the ball."""
    form = zonotope.form
    cuts = zonotope.cuts
    for g in range(generators):
        form[g] = sign * zonotope.generators[g, r]
    constant = sign * zonotope.centre[r] - zonotope.error[r] * (1.0 + 4.0 * U) - TINY
    for c in range(cuts.count[0]):
        beta = best_multiplier(form, constant, cuts.forms[c], cuts.constants[c], generators)
        if beta > 0.0:
            constant = add_multiple(
                form, constant, cuts.forms[c], cuts.constants[c], beta, generators
            )
    return lower_bound_in(zonotope.ball, form, constant, generators)


@compiled
def _bound_neurons(net, k, signs, generators, zonotope):
    """Bounds of what enters the ReLUs of layer `k`, in `columns[2]` and `columns[3]`, and the lines above undecided
    ones; returns how many are undecided, −1 beyond the range."""
    shift = net.offsets[k]
    columns = zonotope.columns
    lines = zonotope.lines
    widening = 2.0 * (generators + 8) * U
    undecided = 0
    for r in range(net.widths[k + 1]):
        centre = zonotope.centre[r]
        radius = columns[1, r] + zonotope.error[r]
        radius += widening * (radius + abs(centre)) + TINY
        if not radius + abs(centre) < HUGE:
            return -1
        low = centre - radius
        high = centre + radius
        lines[3, shift + r] = (radius + abs(centre)) * (1.0 + 4.0 * U)
        sign = signs[shift + r]
        is_open = net.rectified[shift + r] and low < 0.0 < high and sign == 0
        if is_open and (zonotope.cuts.count[0] > 0 or zonotope.ball.used[0] > 0):
            low = max(low, _bound_with_cuts(1.0, r, generators, zonotope))
            if low < 0.0:
                high = min(high, -_bound_with_cuts(-1.0, r, generators, zonotope))
        columns[2, r] = low
        columns[3, r] = high
        if not net.rectified[shift + r] or low >= 0.0 or sign > 0:
            lines[0, shift + r] = ON
        elif high <= 0.0 or sign < 0:
            lines[0, shift + r] = OFF
        else:
            slope = min(1.0, high / (high - low))
            lines[0, shift + r] = UNDECIDED
            lines[1, shift + r] = slope
            lines[2, shift + r] = max(-slope * low, (1.0 - slope) * high) * (1.0 + 8.0 * U) + TINY
            undecided += 1
    return undecided


@compiled
def _rectify(net, k, generators, zonotope):
    """What leaves the ReLUs of layer `k`, for the neurons that are not zero; returns how many these are."""
    shift = net.offsets[k]
    inputs = net.widths[0]
    columns = zonotope.columns
    sums = zonotope.sums
    lines = zonotope.lines
    count = 0
    newest = generators
    for r in range(net.widths[k + 1]):
        n = shift + r
        if lines[0, n] == OFF:
            continue
        q = count
        zonotope.active[q] = r
        count += 1
        columns[0, q] = 1.0
        sums[0, q] = zonotope.centre[r]
        sums[1, q] = zonotope.error[r]
        sums[2, q] = 0.0
        if lines[0, n] == ON:
            continue
        slope = lines[1, n]
        half = 0.5 * lines[2, n]
        size = slope * (abs(zonotope.centre[r]) + columns[1, r]) + half
        columns[0, q] = slope
        sums[0, q] = slope * zonotope.centre[r] + half
        sums[1, q] = slope * zonotope.error[r] * (1.0 + 4.0 * U) + 8.0 * U * size + TINY
        sums[2, q] = half
        total = TINY
        for i in range(inputs):
            total += abs(zonotope.generators[i, r])
        for i in range(inputs):
            zonotope.share[newest, i] = abs(zonotope.generators[i, r]) / total
        zonotope.owner[newest] = n
        newest += 1
    for g in range(generators):
        for q in range(count):
            zonotope.entering[g, q] = columns[0, q] * zonotope.generators[g, zonotope.active[q]]
    for g in range(generators, newest):
        for q in range(count):
            zonotope.entering[g, q] = 0.0
    g = generators
    for q in range(count):
        zonotope.centre[q] = sums[0, q]
        zonotope.error[q] = sums[1, q]
        if lines[0, shift + zonotope.active[q]] == UNDECIDED:
            zonotope.entering[g, q] = sums[2, q]
            g += 1
    return count
