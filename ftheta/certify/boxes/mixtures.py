r"""The mixture of affine functions with the largest lower bound over a box: a small linear program.

Functions $f_j=c_j+\sum_gA_{jg}\varepsilon_g$, $\varepsilon\in[-1,1]^G$, cannot all be at most zero at one point if some
$\sum_jw_jf_j$ with $w\ge0$, $\sum_jw_j=1$ is positive all over the box. The best weights solve
$$\max_w\sum_jw_jc_j-\sum_g\Bigl|\sum_jw_jA_{jg}\Bigr|,$$
with the split $\sum_jw_jA_{jg}=p_g-q_g$, $p,q\ge0$, a program with $G+1$ rows that begins at the best single function.
It is solved by the simplex method in float64; whoever uses the weights bounds their mixture anew. The multipliers of
the rows are the point $\varepsilon$ at which the largest $f_j$ is least.
"""

import numpy as np

from .arrays import Array, compiled

PIVOTS = 60
SLIGHT = 1e-11  # what counts as zero in a pivot, beside 1


@compiled
def weigh(forms, constants, count, generators, tableau, basis, weights, point):
    """Weights of the first `count` functions, and the point where the largest of them is least; returns the bound.

    `tableau` has a row for the sum of the weights and one for each generator; its columns are the weights, $p$ (those
    of $q$ are their negatives) and the right side. `basis` has the variable of each row: $j$ a weight, $m+g$ a $p_g$,
    $-g-1$ a $q_g$.
    """
    m = count
    last = m + generators
    start = 0
    value = -np.inf
    for j in range(m):
        bound = constants[j]
        for g in range(generators):
            bound -= abs(forms[j, g])
        if bound > value:
            value = bound
            start = j
    price = tableau[generators + 1]  # reduced costs
    for j in range(m):
        tableau[0, j] = 1.0
        price[j] = constants[start] - constants[j]
    for g in range(generators):
        tableau[0, m + g] = 0.0
        price[m + g] = 1.0
    tableau[0, last] = 1.0
    basis[0] = start
    for g in range(generators):
        sign = 1.0 if forms[start, g] >= 0.0 else -1.0
        row = tableau[g + 1]
        for j in range(m):
            row[j] = -sign * (forms[j, g] - forms[start, g])
            price[j] -= row[j]
        for h in range(generators):
            row[m + h] = 0.0
        row[m + g] = sign
        price[m + g] = 0.0 if sign > 0.0 else 2.0
        row[last] = abs(forms[start, g])
        basis[g + 1] = m + g if sign > 0.0 else -g - 1
    price[start] = 0.0
    for _ in range(PIVOTS):
        if value > 0.0:
            break
        entering = -1
        turned = 1.0
        lowest = -SLIGHT
        for j in range(last):
            if price[j] < lowest:
                lowest = price[j]
                entering = j
                turned = 1.0
            if j >= m and 2.0 - price[j] < lowest:
                lowest = 2.0 - price[j]
                entering = j
                turned = -1.0
        if entering < 0:
            break
        leaving = -1
        ratio = np.inf
        for r in range(generators + 1):
            a = turned * tableau[r, entering]
            if a > SLIGHT and tableau[r, last] < ratio * a:
                ratio = tableau[r, last] / a
                leaving = r
        if leaving < 0:
            break
        value -= lowest * ratio
        _pivot(tableau, basis, leaving, entering, turned, lowest, m, generators)
    for j in range(m):
        weights[j] = 0.0
    for r in range(generators + 1):
        if 0 <= basis[r] < m:
            weights[basis[r]] = max(tableau[r, last], 0.0)
    for g in range(generators):
        point[g] = min(1.0, max(-1.0, price[m + g] - 1.0))
    return value


@compiled
def _pivot(tableau, basis, leaving, entering, turned, cost, m, generators):
    """Bring column `entering` (or its negative, if `turned` is −1) into the basis in place of that of row `leaving`."""
    last = m + generators
    lead = tableau[leaving]
    scale = 1.0 / (turned * lead[entering])
    for j in range(last + 1):
        lead[j] *= scale
    for r in range(generators + 1):
        factor = turned * tableau[r, entering]
        if r != leaving and factor != 0.0:
            row = tableau[r]
            for j in range(last + 1):
                row[j] -= factor * lead[j]
            row[last] = max(row[last], 0.0)
    price = tableau[generators + 1]
    for j in range(last):
        price[j] -= cost * lead[j]
    g = entering - m
    basis[leaving] = entering if turned > 0.0 else -g - 1


def find_lowest_point(forms: Array, constants: Array) -> Array:
    """Where in the cube the largest of a few affine functions is least, by the same steps uncompiled."""
    count, generators = forms.shape
    point = np.empty(generators)
    weigh(
        forms,
        constants - constants.max() - np.abs(forms).sum(1).max(),  # it stops at a positive bound
        count,
        generators,
        np.empty((generators + 2, count + generators + 1)),
        np.empty(generators + 1, np.int64),
        np.empty(count),
        point,
    )
    return point
