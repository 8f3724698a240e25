r"""Small linear programs in rationals: every answer is exact, no tolerance anywhere.

A polyhedron in $\mathbb R^n$ is given by affine forms (`ftheta.relu.geometry`), $\{x:\ell_i(x)\ge0\text{ for all }i\}$.
The dual program has one row a coordinate, so that many forms in few dimensions are cheap.
"""

from collections.abc import Sequence

from flint import fmpq  # type: ignore[import-untyped]

from .geometry import Form, Point, value

ZERO = fmpq(0)
ONE = fmpq(1)
PATIENCE = 60  # pivots by the steepest cost; after them the first index (Bland), which cannot cycle


def maximise(cost: Sequence[fmpq], forms: Sequence[Form]) -> tuple[fmpq, Point] | None:
    r"""$\max\langle\text{cost},x\rangle$ on the polyhedron and a point that attains it; None if there is no maximum.

    By the simplex method on the dual, $\min\sum_i\lambda_ib_i$ for $\lambda\ge0$ with $\sum_i\lambda_ia_i=-\text{cost}$
    and $\ell_i=(a_i,b_i)$. The identity columns of the first phase keep the multipliers, which are the point.
    """
    n = len(cost)
    m = len(forms)
    rows = []
    for r, c in enumerate(cost):
        sign = -ONE if c > 0 else ONE  # right-hand sides, in the last column, are not negative
        rows.append([*(sign * f[r] for f in forms), *(ONE * (k == r) for k in range(n)), -sign * c])
    basis = list(range(m, m + n))
    artificial = [ZERO] * m + [ONE] * n
    _descend(rows, basis, artificial, m + n)
    if any(row[-1] for row, k in zip(rows, basis) if k >= m):
        return None
    for r in range(n):  # artificial columns that stay, at zero, leave where they can
        column = next((j for j in range(m) if rows[r][j]), None) if basis[r] >= m else None
        if column is not None:
            _pivot(rows, basis, r, column)
    costs = [*(f[-1] for f in forms), *[ZERO] * n]
    if not _descend(rows, basis, costs, m):
        return None
    multipliers = [
        sum((costs[k] * row[m + r] for k, row in zip(basis, rows)), ZERO) for r in range(n)
    ]
    x = tuple(y if c > 0 else -y for y, c in zip(multipliers, cost))
    return sum((c * t for c, t in zip(cost, x)), ZERO), x


def _descend(rows: list[list[fmpq]], basis: list[int], costs: Sequence[fmpq], columns: int) -> bool:
    """Pivots until no reduced cost is negative; False if the objective falls without bound."""
    price = [*costs, ZERO]
    for row, k in zip(rows, basis):
        if price[k]:
            c = price[k]
            price = [p - c * a for p, a in zip(price, row)]
    pivots = 0
    while True:
        falling = [j for j in range(columns) if price[j] < 0]
        if not falling:
            return True
        j = falling[0] if pivots >= PATIENCE else min(falling, key=price.__getitem__)
        ratios = [(row[-1] / row[j], basis[r], r) for r, row in enumerate(rows) if row[j] > 0]
        if not ratios:
            return False
        r = min(ratios)[2]
        _pivot(rows, basis, r, j)
        c = price[j]
        price = [p - c * a for p, a in zip(price, rows[r])]
        pivots += 1


def _pivot(rows: list[list[fmpq]], basis: list[int], r: int, j: int) -> None:
    lead = rows[r][j]
    top = rows[r] = [a / lead for a in rows[r]]
    for k, row in enumerate(rows):
        if k != r and row[j]:
            c = row[j]
            rows[k] = [a - c * b for a, b in zip(row, top)]
    basis[r] = j


def deepest(forms: Sequence[Form], d: int) -> tuple[fmpq, Point]:
    r"""$t^*=\max_x\min\{1,\ell_1(x),\ell_2(x),\dots\}$ and such an $x\in\mathbb R^d$.

    The polyhedron has interior points if and only if $t^*>0$ (a form that is zero everywhere has to be left out), and
    is empty if and only if $t^*<0$; at $t^*=0$ it is flat.
    """
    lifted = [(*f[:-1], -ONE, f[-1]) for f in forms]
    found = maximise([*[ZERO] * d, ONE], [*lifted, (*[ZERO] * d, -ONE, ONE)])
    assert found is not None  # feasible for t low enough, and t ≤ 1
    return found[0], found[1][:-1]


def has_interior(forms: Sequence[Form], d: int) -> Point | None:
    """An interior point of the polyhedron, or None where it is empty or flat."""
    depth, x = deepest(forms, d)
    return x if depth > 0 else None


def irredundant(forms: Sequence[Form], d: int) -> tuple[Form, ...]:
    """The forms whose half-spaces bound the (full-dimensional) polyhedron; one for each facet."""
    kept = list(dict.fromkeys(forms))
    for form in list(kept):
        others = [f for f in kept if f is not form]
        if has_interior([*others, tuple(-a for a in form)], d) is None:
            kept = others
    return tuple(kept)


def inside(forms: Sequence[Form], x: Point) -> bool:
    """Whether a point lies in the polyhedron, its boundary included."""
    return all(value(f, x) >= 0 for f in forms)
