r"""Is there a hyperplane between two classes? Either way the answer comes with a certificate in rationals.

Write $z_i=y_ix_i$. By Stiemke's lemma exactly one holds: some $w$ has $\langle z_i,w\rangle\ge0$ for all $i$, not all
zero (the rows are separable, *weakly* if some product is 0), or some $u>0$ has $\sum_iu_iz_i=0$ (they overlap). In the
first case the logistic loss falls for ever along $w$ and has no minimiser, in the second it has one (`albert1984`).

The linear program $\max\langle\sum z_i,w\rangle$ for $\langle z_i,w\rangle\ge0$, $|w_j|\le1$ is solved by HiGHS in
floats; its answer is mended to hold exactly: $w$ is projected to be orthogonal to the rows that it nearly is, and
$u=1+\lambda$ is moved by the least change $Z(Z^\top Z)^{-1}Z^\top u$ that makes $Z^\top u=0$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]
from scipy.optimize import linprog

from ftheta.relu.linear_programs import maximise
from ftheta.relu.matrices import fraction, rational, rational_matrix
from ftheta.shapes import Real
from ftheta.training.margins import bring_into_range, max_margin, separates

EXACT_ENTRIES = 60_000
EXACT_COLUMNS = 24
SMALL = 600  # entries for which the linear program itself is solved in rationals
ACTIVE = 1e-7
Kind = Literal["separable", "weakly separable", "overlapping", "undecided"]


@dataclass(frozen=True)
class Separation:
    """What is known, with `direction` w (separable) or `multipliers` u (overlapping); both hold exactly."""

    kind: Kind
    direction: tuple[Fraction, ...] | None = None
    multipliers: tuple[Fraction, ...] | None = None

    @property
    def has_minimiser(self) -> bool | None:
        return None if self.kind == "undecided" else self.kind == "overlapping"


def separation(z: Real[np.ndarray, "n d"]) -> Separation:
    """Whether rows times labels ±1 are separable by a hyperplane through 0 (a column of ones gives it an offset)."""
    best = max_margin(bring_into_range(np.asarray(z, np.float64)))
    if best is not None and separates(z, best.w):
        return Separation("separable", tuple(map(Fraction, best.w.tolist())))
    if z.size > EXACT_ENTRIES or z.shape[1] > EXACT_COLUMNS:
        return Separation("undecided")
    Z = rational_matrix(z)
    w, u = _solve_program(z)
    for found in (_direction(Z, z, w), _multipliers(Z, u), _by_simplex(z)):
        if found is not None:
            return found
    return Separation("undecided")


def products(z: Real[np.ndarray, "n d"], w: Sequence[Fraction]) -> list[Fraction]:
    r"""$\langle z_i,w\rangle$, exactly."""
    found = rational_matrix(z) * fmpq_mat([[rational(v)] for v in w])
    return [fraction(found[i, 0]) for i in range(len(z))]


def combination(z: Real[np.ndarray, "n d"], u: Sequence[Fraction]) -> list[Fraction]:
    r"""$\sum_iu_iz_i$, exactly."""
    found = fmpq_mat([[rational(v) for v in u]]) * rational_matrix(z)
    return [fraction(found[0, j]) for j in range(z.shape[1])]


def _solve_program(z: np.ndarray) -> tuple[np.ndarray | None, np.ndarray | None]:
    scale = np.maximum(np.abs(z).max(0), 1e-300)
    scaled = z / scale
    found = linprog(
        -scaled.sum(0), -scaled, np.zeros(len(z)), bounds=[(-1, 1)] * z.shape[1], method="highs"
    )
    if not found.success:
        return None, None
    return found.x / scale, 1 - found.ineqlin.marginals


def _direction(Z: Any, z: np.ndarray, w: np.ndarray | None) -> Separation | None:
    """The direction, moved to be exactly orthogonal to the rows that it is nearly orthogonal to."""
    if w is None or not w.any():
        return None
    products = z @ w
    active = np.flatnonzero(np.abs(products) <= ACTIVE * (np.abs(z) @ np.abs(w)).max())
    exact = fmpq_mat([[rational(float(v))] for v in w])
    if len(active):
        echelon, rank = rational_matrix(z[active]).rref()
        A = (
            fmpq_mat([[echelon[r, j] for j in range(z.shape[1])] for r in range(rank)])
            if rank
            else None
        )
        if A is not None:
            exact = exact - A.transpose() * (A * A.transpose()).solve(A * exact)
    values = list((Z * exact).entries())
    if any(v < 0 for v in values) or not any(v > 0 for v in values):
        return None
    kind: Kind = "separable" if all(v > 0 for v in values) else "weakly separable"
    return Separation(kind, tuple(fraction(v) for v in exact.entries()))


def _multipliers(Z: Any, u: np.ndarray | None) -> Separation | None:
    """Positive multipliers, moved by the least change that makes the rows cancel exactly."""
    if u is None:
        return None
    echelon, rank = Z.rref()
    pivots = [next(j for j in range(Z.ncols()) if echelon[r, j]) for r in range(rank)]
    weights = fmpq_mat([[rational(float(v))] for v in u])
    if rank:
        # independent columns span all of them
        B = fmpq_mat([[Z[i, j] for j in pivots] for i in range(Z.nrows())])
        weights = weights - B * (B.transpose() * B).solve(B.transpose() * weights)
    if any(v <= 0 for v in weights.entries()) or any((Z.transpose() * weights).entries()):
        return None
    return Separation("overlapping", None, tuple(fraction(v) for v in weights.entries()))


def _by_simplex(z: np.ndarray) -> Separation | None:
    """The linear program in rationals, for few rows."""
    if z.size > SMALL:
        return None
    d = z.shape[1]
    one = fmpq(1)
    zero = fmpq(0)
    rows = [tuple(rational(v) for v in row) for row in z.tolist()]
    box = [(*(s * one * (k == j) for k in range(d)), one) for j in range(d) for s in (1, -1)]
    found = maximise(
        [sum(column, zero) for column in zip(*rows)], [*((*row, zero) for row in rows), *box]
    )
    if found is None or found[0] == 0:
        return None if found is None else Separation("overlapping")
    return Separation("weakly separable", tuple(fraction(v) for v in found[1]))
