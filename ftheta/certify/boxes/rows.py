r"""The rows of a question over one box: lower bounds of their excess, the best mixture of a disjunct, what is clipped.

A row $s$ is $\langle p_s,x\rangle+\langle q_s,y\rangle\le b_s$; its *excess* is the left side minus the right. A
disjunct is excluded over a box if the excess of one of its rows is positive there, or that of a mixture of them; in a
part of a box where neurons have fixed signs, with multiples of the cuts.
"""

from .arrays import MOST_GENERATORS, TINY, U, compiled
from .mixtures import weigh
from .multipliers import add_multiple, best_multiplier, lower_bound, lower_bound_in

SWEEPS = 2  # through rows and cuts that are mixed one by one
MOST_KEPT = 8  # rows that become cuts


@compiled
def bound_rows(rows, lo, hi, generators, zonotope, bounds):
    """Lower bounds of the excess of every row over the box, from the zonotope of the outputs."""
    inputs = len(lo)
    outputs = rows.outputs.shape[1]
    radii = zonotope.columns[1]
    # coefficients may be the nearest floats of rationals
    gamma = 4.0 * (outputs + inputs + generators + 32) * U
    for s in range(len(rows.bounds)):
        value = -rows.bounds[s]
        size = abs(value)  # of all terms that are summed
        error = TINY
        for r in range(outputs):
            q = rows.outputs[s, r]
            if q != 0.0:
                value += q * zonotope.centre[r]
                size += abs(q) * (abs(zonotope.centre[r]) + radii[r] + zonotope.error[r])
                error += abs(q) * zonotope.error[r]
        for i in range(inputs):
            p = rows.inputs[s, i]
            bounds.slopes[s, i] = 0.0
            if p != 0.0:
                centre = 0.5 * lo[i] + 0.5 * hi[i]
                radius = max(hi[i] - centre, centre - lo[i])
                value += p * centre
                bounds.slopes[s, i] = p * radius
                size += abs(p) * (abs(centre) + radius) + TINY
        for g in range(generators):
            a = 0.0
            for r in range(outputs):
                a += rows.outputs[s, r] * zonotope.generators[g, r]
            if g < inputs:
                a += bounds.slopes[s, g]
                bounds.slopes[s, g] = a
            bounds.forms[s, g] = a
        bounds.constants[s] = value - (error + gamma * size) * (1.0 + gamma)
        bounds.box_least[s] = lower_bound(bounds.forms[s], bounds.constants[s], generators)
        bounds.least[s] = lower_bound_in(
            zonotope.ball, bounds.forms[s], bounds.constants[s], generators
        )


@compiled
def mix_rows(rows, d, generators, zonotope, bounds):
    r"""The best mixture of the rows of disjunct `d` and of the cuts, as one more row.

    Where all rows hold and all cuts are at most zero, the same is true of $\sum_sw_sr_s+\sum_c\beta_cc$ for all
    $w,\beta\ge0$. In `bounds.points` is the point at which the largest of these functions is least.
    """
    begin = rows.disjuncts[d]
    own = rows.disjuncts[d + 1] - begin
    mixture = len(rows.bounds) + d
    cuts = zonotope.cuts
    count = own + cuts.count[0]
    form = bounds.forms[mixture]
    weights = zonotope.weights
    if count == 1 or generators > MOST_GENERATORS:
        _mix_one_by_one(rows, d, generators, zonotope, bounds)
    else:
        for j in range(count):
            c = j - own
            other = bounds.forms[begin + j] if j < own else cuts.forms[c]
            for g in range(generators):
                zonotope.mixed[j, g] = other[g]
            zonotope.mixed_constants[j] = (
                bounds.constants[begin + j] if j < own else cuts.constants[c]
            )
        weigh(
            zonotope.mixed,
            zonotope.mixed_constants,
            count,
            generators,
            zonotope.tableau,
            zonotope.basis,
            weights,
            zonotope.form,
        )
        for i in range(bounds.points.shape[1]):
            bounds.points[d, i] = zonotope.form[i]
    constant = 0.0
    size = 0.0
    for g in range(generators):
        form[g] = 0.0
    for j in range(count):
        w = weights[j]
        if w > 0.0:
            c = j - own
            other = bounds.forms[begin + j] if j < own else cuts.forms[c]
            other_constant = bounds.constants[begin + j] if j < own else cuts.constants[c]
            constant += w * other_constant
            size += abs(w * other_constant)
            for g in range(generators):
                form[g] += w * other[g]
                size += abs(w * other[g])
    bounds.constants[mixture] = constant - 8.0 * U * (count + generators + 8) * size - TINY
    for i in range(bounds.slopes.shape[1]):
        bounds.slopes[mixture, i] = form[i]
    bounds.box_least[mixture] = lower_bound(form, bounds.constants[mixture], generators)
    bounds.least[mixture] = lower_bound_in(
        zonotope.ball, form, bounds.constants[mixture], generators
    )


@compiled
def _mix_one_by_one(rows, d, generators, zonotope, bounds):
    """Weights of the rows and the cuts, from the best row on: each is added as far as that raises the lower bound."""
    begin = rows.disjuncts[d]
    own = rows.disjuncts[d + 1] - begin
    cuts = zonotope.cuts
    count = own + cuts.count[0]
    weights = zonotope.weights
    form = zonotope.form
    best = best_row(rows, d, bounds)
    for j in range(count):
        weights[j] = 1.0 if begin + j == best else 0.0
    for g in range(generators):
        form[g] = bounds.forms[best, g]
    constant = bounds.constants[best]
    for _ in range(SWEEPS if count > 1 else 0):
        for j in range(count):
            c = j - own
            other = bounds.forms[begin + j] if j < own else cuts.forms[c]
            other_constant = bounds.constants[begin + j] if j < own else cuts.constants[c]
            beta = best_multiplier(form, constant, other, other_constant, generators)
            if beta > 0.0:
                constant = add_multiple(form, constant, other, other_constant, beta, generators)
                weights[j] += beta
    total = 0.0
    for j in range(count):
        total += weights[j]
    for j in range(count):
        weights[j] /= total
    for i in range(bounds.points.shape[1]):
        bounds.points[d, i] = -1.0 if form[i] > 0.0 else 1.0


@compiled
def blame_inputs(rows, d, generators, share, bounds):
    """Which generators lower the bound of a disjunct's best row, and to which inputs they belong."""
    inputs = bounds.slopes.shape[1]
    best = best_row(rows, d, bounds)
    for i in range(inputs):
        bounds.blame[d, i] = 0.0
    for g in range(generators):
        a = abs(bounds.forms[best, g])
        bounds.parts[d, g] = a
        if g >= inputs:
            for i in range(inputs):
                bounds.blame[d, i] += a * share[g, i]


@compiled
def blame_for_gaps(d, generators, share, gaps, bounds):
    """As `blame_inputs`, by what each neuron costs the bound of the disjunct's only row."""
    inputs = bounds.slopes.shape[1]
    for i in range(inputs):
        bounds.blame[d, i] = 0.0
    for g in range(inputs, generators):
        bounds.parts[d, g] = gaps[g]
        for i in range(inputs):
            bounds.blame[d, i] += gaps[g] * share[g, i]


@compiled
def keep_rows(rows, generators, bounds, cuts):
    """Lower bounds of the rows of the one disjunct that is open, affine in the inputs, as the first cuts.

    A counter-example in this box meets all of its rows. Returns how many cuts there are: none where several disjuncts
    are open.
    """
    inputs = bounds.slopes.shape[1]
    open_disjunct = -1
    for d in range(len(rows.disjuncts) - 1):
        if not is_excluded(rows, d, bounds):
            if open_disjunct >= 0:
                return 0
            open_disjunct = d
    if open_disjunct < 0:
        return 0
    kept = 0
    for s in range(rows.disjuncts[open_disjunct], rows.disjuncts[open_disjunct + 1]):
        if kept == MOST_KEPT:
            break
        # other generators mean something else in the next pass: they take their least values
        constant = lower_bound(bounds.forms[s, inputs:], bounds.constants[s], generators - inputs)
        for g in range(cuts.forms.shape[1]):
            cuts.forms[kept, g] = bounds.forms[s, g] if g < inputs else 0.0
        cuts.constants[kept] = constant
        cuts.least[kept] = lower_bound(cuts.forms[kept], constant, inputs)
        kept += 1
    return kept


@compiled
def best_row(rows, d, bounds):
    """The row of a disjunct whose excess has the largest lower bound."""
    best = rows.disjuncts[d]
    for s in range(rows.disjuncts[d], rows.disjuncts[d + 1]):
        if bounds.least[s] > bounds.least[best]:
            best = s
    return best


@compiled
def is_excluded(rows, d, bounds):
    """Whether at every point of the box some row of the disjunct fails."""
    excluded = bounds.least[len(rows.bounds) + d] > 0.0
    for s in range(rows.disjuncts[d], rows.disjuncts[d + 1]):
        excluded = excluded or bounds.least[s] > 0.0 or (rows.strict[s] and bounds.least[s] >= 0.0)
    return excluded


@compiled
def clip_to_row(least, slopes, lo, hi, part_lo, part_hi):
    r"""Shrink a part of the box to where a row can hold; returns whether nothing is left.

    Over the box the excess is at least $l+\sum_i(|a_i|+a_i\varepsilon_i)$, $x_i=m_i+\rho_i\varepsilon_i$, with the
    lower bound $l$: it is positive unless $|a_i|+a_i\varepsilon_i\le-l$ for every $i$.
    """
    for i in range(len(lo)):
        a = slopes[i]
        if a == 0.0 or not hi[i] > lo[i]:
            continue
        # so far from the corner of the least excess can x be, in radii
        reach = -least / abs(a) * (1.0 + 16.0 * U)
        if not reach < 2.0:
            continue
        centre = 0.5 * lo[i] + 0.5 * hi[i]
        radius = max(hi[i] - centre, centre - lo[i]) * (1.0 + 8.0 * U) + TINY
        far = reach * radius * (1.0 + 8.0 * U) + 8.0 * U * (abs(lo[i]) + abs(hi[i])) + TINY
        if a > 0.0:
            part_hi[i] = min(part_hi[i], lo[i] + far)
        else:
            part_lo[i] = max(part_lo[i], hi[i] - far)
        if part_lo[i] > part_hi[i]:
            return True
    return False


@compiled
def clip_box(rows, d, bounds, cuts, lo, hi, part_lo, part_hi):
    """Shrink a part of the box to where the rows of the disjunct and the cuts can hold; whether nothing is left."""
    first = rows.disjuncts[d]
    count = rows.disjuncts[d + 1] - first
    inputs = len(lo)
    for k in range(count + 1):
        s = first + k if k < count else len(rows.bounds) + d
        if clip_to_row(bounds.box_least[s], bounds.slopes[s], lo, hi, part_lo, part_hi):
            return True
    for c in range(cuts.count[0]):
        if clip_to_row(cuts.least[c], cuts.forms[c, :inputs], lo, hi, part_lo, part_hi):
            return True
    return False
