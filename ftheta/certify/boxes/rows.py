r"""The rows of a question over one box: lower bounds of their excess, the best mixture of a disjunct, what is clipped.

A row $s$ is $\langle p_s,x\rangle+\langle q_s,y\rangle\le b_s$; its *excess* is the left side minus the right. A
disjunct is excluded over a box if the excess of one of its rows is positive there, or that of a mixture of them.
"""

from .arrays import compiled
from .zonotopes import TINY, U

MIXING_SWEEPS = 2
MIXING_STEPS = 6


@compiled
def bound_rows(rows, lo, hi, generators, zonotope, bounds):
    """Lower bounds of the excess of every row over the box, from the zonotope of the outputs."""
    inputs = len(lo)
    outputs = rows.outputs.shape[1]
    radii = zonotope.columns[1]
    gamma = 4.0 * (outputs + inputs + generators + 32) * U  # coefficients may be the nearest floats of rationals
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
            bounds.blame[s, i] = 0.0
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
        _spread_form(s, generators, zonotope.share, bounds)


@compiled
def _spread_form(s, generators, share, bounds):
    """From the affine form of a row: its lower bound, and which inputs are to blame for what is not their slope."""
    inputs = bounds.slopes.shape[1]
    for i in range(inputs):
        bounds.blame[s, i] = 0.0
    spread = 0.0
    for g in range(generators):
        a = abs(bounds.forms[s, g])
        spread += a
        if g >= inputs:
            for i in range(inputs):
                bounds.blame[s, i] += a * share[g, i]
    size = spread + abs(bounds.constants[s])
    bounds.least[s] = bounds.constants[s] - spread - 4.0 * (generators + 8) * U * size - TINY


@compiled
def mix_rows(rows, d, generators, share, bounds):
    r"""The convex combination of the rows of disjunct `d` with the largest lower bound, as one more row.

    If all rows hold, so does every mixture of them. With forms $a_s$ and constants $v_s$ (their errors taken off), the
    bound of a mixture is $\sum_sw_sv_s-\sum_g|\sum_sw_sa_{sg}|$, concave in $w$: each row is mixed in as far as that
    helps.
    """
    begin = rows.disjuncts[d]
    end = rows.disjuncts[d + 1]
    mixture = len(rows.bounds) + d
    best = best_row(rows, d, bounds)
    forms = bounds.forms
    for g in range(generators):
        forms[mixture, g] = forms[best, g]
    bounds.constants[mixture] = bounds.constants[best]
    value = bounds.least[best]
    for _ in range(MIXING_SWEEPS if end - begin > 1 else 0):
        for s in range(begin, end):
            if value > 0.0:
                break
            part = _best_share(mixture, s, generators, bounds)
            mixed = _mixed_bound(mixture, s, part, generators, bounds)
            if mixed > value:
                value = mixed
                bounds.constants[mixture] = (1.0 - part) * bounds.constants[mixture] + part * bounds.constants[s]
                for g in range(generators):
                    forms[mixture, g] = (1.0 - part) * forms[mixture, g] + part * forms[s, g]
    # every step rounds constant and forms by less than 8u of the largest row
    largest = 0.0
    for s in range(begin, end):
        total = abs(bounds.constants[s])
        for g in range(generators):
            total += abs(forms[s, g])
        largest = max(largest, total)
    bounds.constants[mixture] -= 8.0 * U * (MIXING_SWEEPS * (end - begin) + generators + 8) * largest + TINY
    for i in range(bounds.slopes.shape[1]):
        bounds.slopes[mixture, i] = forms[mixture, i]
    _spread_form(mixture, generators, share, bounds)


@compiled
def _mixed_bound(mixture, s, part, generators, bounds):
    """The lower bound of the mixture with a share of row `s`, in float64."""
    value = (1.0 - part) * bounds.constants[mixture] + part * bounds.constants[s]
    for g in range(generators):
        value -= abs((1.0 - part) * bounds.forms[mixture, g] + part * bounds.forms[s, g])
    return value


@compiled
def _best_share(mixture, s, generators, bounds):
    """How much of row `s` to mix in, by ternary search."""
    left = 0.0
    right = 1.0
    for _ in range(MIXING_STEPS):
        one = left + (right - left) * 0.4
        two = left + (right - left) * 0.6
        if _mixed_bound(mixture, s, one, generators, bounds) < _mixed_bound(mixture, s, two, generators, bounds):
            left = one
        else:
            right = two
    return 0.5 * (left + right)


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
def clip_box(rows, d, bounds, lo, hi, part_lo, part_hi):
    r"""Shrink a part of the box to where no row of the disjunct fails; returns whether nothing is left.

    Over the box the excess is at least $l_s+\sum_i(|a_i|+a_i\varepsilon_i)$, $x_i=m_i+\rho_i\varepsilon_i$, with the
    lower bound $l_s$: it is positive unless $|a_i|+a_i\varepsilon_i\le-l_s$ for every $i$.
    """
    first = rows.disjuncts[d]
    count = rows.disjuncts[d + 1] - first
    for k in range(count + 1):
        s = first + k if k < count else len(rows.bounds) + d
        for i in range(len(lo)):
            a = bounds.slopes[s, i]
            if a == 0.0 or not hi[i] > lo[i]:
                continue
            # so far from the corner of the least excess can x be, in radii
            reach = -bounds.least[s] / abs(a) * (1.0 + 16.0 * U)
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
