r"""Is a query in the convex hull of the training rows? Either way with a certificate that is checked in rationals.

Inside: weights $\lambda\ge0$, $\sum_i\lambda_i=1$, $\sum_i\lambda_ix_i=q$. Outside: a direction $w$ and a gap
$\langle w,q\rangle-\max_i\langle w,x_i\rangle>0$. By Farkas' lemma one of them exists. A linear program in float64
(HiGHS) finds it; the hyperplane is then evaluated exactly, and the few rows with weight are combined in rationals.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]
from scipy.optimize import linprog

from ftheta.logic.enclosure import nearest_float
from ftheta.logic.errors import UsageError
from ftheta.relu.matrices import fraction, rational

MOST_ENTRIES = 20_000_000
EXACT_COLUMNS = 100
TINY = 1e-9
LARGEST = float(np.finfo(np.float64).max)
Kind = Literal["inside", "outside", "undecided"]


@dataclass(frozen=True, eq=False)
class Membership:
    r"""Inside: `weights` of the `rows` that make up the query, exactly. Outside: a `normal` with the exact `gap`
    $\langle w,q\rangle-\max_i\langle w,x_i\rangle$, and `distance`, the gap of a unit normal: no combination of rows is
    nearer. Undecided, on the boundary up to rounding or too large for rationals: what the linear program left over."""

    kind: Kind
    rows: tuple[int, ...] = ()
    weights: tuple[Fraction, ...] = ()
    normal: np.ndarray | None = None
    gap: Fraction = Fraction(0)
    distance: float = 0.0

    def residual(self, x: np.ndarray, query: np.ndarray) -> Fraction:
        r"""Of a query inside: the largest of $|\sum_i\lambda_ix_i-q|$, $|\sum_i\lambda_i-1|$ and $-\min_i\lambda_i$,
        evaluated again in rationals; 0 for a right certificate."""
        columns = zip(query.tolist(), *(x[k].tolist() for k in self.rows))
        off = []
        for target, *entries in columns:
            combined = sum((w * Fraction(v) for w, v in zip(self.weights, entries)), Fraction(0))
            off.append(abs(combined - Fraction(target)))
        return max([*off, abs(sum(self.weights, Fraction(-1))), -min(self.weights)])


def membership(x: np.ndarray, query: np.ndarray) -> Membership:
    """Whether `query` is a convex combination of the rows of `x`."""
    x = np.asarray(x, np.float64).reshape(len(x), -1)
    q = np.asarray(query, np.float64).reshape(-1)
    if x.shape[1] != q.size or not len(x):
        raise UsageError(
            "The query has the length of a row.", got=f"{q.size} numbers, rows of {x.shape[1]}"
        )
    if x.size > MOST_ENTRIES:
        raise UsageError(
            "There are too many numbers for a linear program.",
            got=f"{x.size:,}",
            remedy="take fewer rows",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.ptp(np.vstack([x, q]), axis=0)
        scale = np.where(spread > 0, np.minimum(spread, LARGEST), 1.0)
        scaled = np.where(np.isfinite(spread), (x - q) / scale, x / scale - q / scale)
    found = linprog(np.zeros(len(x)), None, None, np.vstack([scaled.T, np.ones(len(x))]), np.r_[np.zeros(q.size), 1.0],
                    bounds=(0, None), method="highs")  # fmt: skip
    if found.status == 0:
        return _inside(x, q, found.x)
    return _outside(x, q, scaled, scale)


def _inside(x: np.ndarray, q: np.ndarray, weights: np.ndarray) -> Membership:
    """The rows that have weight, combined again exactly: the vertex of a linear program has independent ones."""
    rows = np.flatnonzero(weights > TINY)
    if q.size > EXACT_COLUMNS:
        return Membership("undecided", tuple(rows.tolist()))
    exact = _solve_exactly(x[rows], q)
    if exact is None or min(exact) < 0:
        return Membership("undecided", tuple(rows.tolist()))
    return Membership("inside", tuple(rows.tolist()), tuple(exact))


def _solve_exactly(x: np.ndarray, q: np.ndarray) -> list[Fraction] | None:
    r"""The only $\lambda$ with $\sum\lambda_i=1$, $\sum\lambda_ix_i=q$, or None if there is none or more than one."""
    columns = [[rational(v) for v in row] + [fmpq(1)] for row in x.tolist()]
    right = [rational(v) for v in q.tolist()] + [fmpq(1)]
    table = fmpq_mat([[*(column[k] for column in columns), right[k]] for k in range(len(right))])
    reduced, rank = table.rref()
    n = len(columns)
    if rank != n or any(reduced[k, j] != (1 if j == k else 0) for k in range(n) for j in range(n)):
        return None
    return [fraction(reduced[k, n]) for k in range(n)]


def _outside(x: np.ndarray, q: np.ndarray, scaled: np.ndarray, scale: np.ndarray) -> Membership:
    r"""The widest gap: $\max s$ for $\langle u,x_i-q\rangle\le-s$, $|u_j|\le1$, in scaled coordinates."""
    n, d = scaled.shape
    found = linprog(np.r_[np.zeros(d), -1.0], np.column_stack([scaled, np.ones(n)]), np.zeros(n),
                    bounds=[(-1, 1)] * d + [(None, None)], method="highs")  # fmt: skip
    if found.status != 0 or found.x[-1] <= 0:
        return Membership("undecided")
    room = min(
        1.0, float(scale.min()) * 2.0**1000
    )  # a normal for rows below 2⁻¹⁰⁰⁰ has to be a float
    normal = np.where(
        scaled.any(0), room * found.x[:-1] / scale, 0.0
    )  # constant columns tell nothing
    gap = _gap(x, q, normal)
    if gap <= 0:
        return Membership("undecided")
    size = float(np.abs(normal).max())
    length = Fraction(size) * Fraction(float(np.linalg.norm(normal / size)))
    return Membership("outside", normal=normal, gap=gap, distance=nearest_float(gap / length))


def _gap(x: np.ndarray, q: np.ndarray, normal: np.ndarray) -> Fraction:
    """Exactly; only the rows that can be the nearest are evaluated in rationals."""
    near = x @ normal
    slack = 1e-9 * (np.abs(x) @ np.abs(normal)).max()
    rows = np.flatnonzero(near >= near.max() - slack)
    w = [Fraction(v) for v in normal.tolist()]

    def product(row: list[float]) -> Fraction:
        return sum((a * Fraction(b) for a, b in zip(w, row)), Fraction(0))

    return product(q.tolist()) - max(product(x[k].tolist()) for k in rows)
