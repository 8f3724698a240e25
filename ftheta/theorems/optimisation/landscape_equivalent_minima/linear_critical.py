r"""Critical points of linear networks with squared loss, sorted by the signs of their Hessians, in rationals.

$\mathcal L(W_1,W_2)=\frac12\|W_2W_1-Y\|_F^2$ with $Y=\mathrm{diag}(y_1>\dots>y_n>0)$ and $h\le n$ hidden units: for
every set $I$ of at most $h$ coordinates, $W_2=U_I$, $W_1=U_I^\top Y$ is critical, of loss
$\frac12\sum_{i\notin I}y_i^2$, and every critical point computes one of these products $W_2W_1=U_IU_I^\top Y$ (Baldi
and Hornik 1989). All roots of the characteristic polynomial of a symmetric matrix are real, so Descartes' rule counts
the positive ones exactly.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic import Enclosure


@dataclass(frozen=True, slots=True)
class Critical:
    """The coordinates that the network keeps, its loss, and the signs of the eigenvalues of the Hessian."""

    kept: tuple[int, ...]
    loss: Fraction
    slope: Fraction
    negative: int
    zero: int
    positive: int

    @property
    def kind(self) -> str:
        return "saddle" if self.negative else "minimum"


def inertia(matrix: Any) -> tuple[int, int, int]:
    """The numbers of negative, zero and positive eigenvalues of a symmetric rational matrix."""
    coefficients = matrix.charpoly().coeffs()
    zero = next(i for i, c in enumerate(coefficients) if c != 0)
    signs = [1 if c > 0 else -1 for c in coefficients if c != 0]
    positive = sum(a != b for a, b in pairwise(signs))
    return matrix.nrows() - zero - positive, zero, positive


def scalar_hessian(a: Fraction, w: Fraction, y: Fraction = Fraction(1)) -> Any:
    r"""Of $\frac12(aw-y)^2$."""
    mixed = 2 * a * w - y
    return _matrix([[w * w, mixed], [mixed, a * a]])


def scalar_eigenvalues(
    a: Fraction, w: Fraction, y: Fraction = Fraction(1)
) -> tuple[Enclosure, Enclosure]:
    r"""The eigenvalues of the scalar network, enclosed: half the trace minus and plus the root of the discriminant."""
    trace = a * a + w * w
    mixed = 2 * a * w - y
    root = Enclosure.exact(trace * trace - 4 * (a * a * w * w - mixed * mixed)).sqrt()
    return (Enclosure.exact(trace) - root) / 2.0, (Enclosure.exact(trace) + root) / 2.0


def critical_points(y: Sequence[int], hidden: int) -> tuple[Critical, ...]:
    """One for every product that a critical point can compute, the lowest loss first."""
    n = len(y)
    found = [
        _critical(y, hidden, kept) for r in range(hidden + 1) for kept in combinations(range(n), r)
    ]
    return tuple(sorted(found, key=lambda c: c.loss))


def _critical(y: Sequence[int], hidden: int, kept: tuple[int, ...]) -> Critical:
    n = len(y)
    # hidden unit k keeps coordinate kept[k]; the others are switched off
    W1 = [[y[j] if k < len(kept) and kept[k] == j else 0 for j in range(n)] for k in range(hidden)]
    W2 = [[1 if k < len(kept) and kept[k] == i else 0 for k in range(hidden)] for i in range(n)]
    left = [
        [
            sum(W2[i][k] * W1[k][j] for k in range(hidden)) - (y[i] if i == j else 0)
            for j in range(n)
        ]
        for i in range(n)
    ]
    slope1 = [sum(W2[i][k] * left[i][j] for i in range(n)) for k in range(hidden) for j in range(n)]
    slope2 = [sum(left[i][j] * W1[k][j] for j in range(n)) for i in range(n) for k in range(hidden)]
    loss = Fraction(sum(v * v for row in left for v in row), 2)
    return Critical(
        kept, loss, Fraction(max(map(abs, slope1 + slope2))), *inertia(_hessian(W1, W2, left))
    )


def _hessian(W1: list[list[int]], W2: list[list[int]], left: list[list[int]]) -> Any:
    r"""With respect to $(W_1,W_2)$: $\partial_{kj}\partial_{k'j'}=\delta_{jj'}(W_2^\top W_2)_{kk'}$,
    $\partial_{ik}\partial_{i'k'}=\delta_{ii'}(W_1W_1^\top)_{kk'}$, and mixed $W_{2,ik'}\dots$ with the residual."""
    h = len(W1)
    n = len(W1[0])
    ones = [("1", k, j) for k in range(h) for j in range(n)]
    twos = [("2", i, k) for i in range(n) for k in range(h)]

    def entry(p: tuple[str, int, int], q: tuple[str, int, int]) -> int:
        if p[0] == q[0] == "1":
            return sum(W2[i][p[1]] * W2[i][q[1]] for i in range(n)) if p[2] == q[2] else 0
        if p[0] == q[0] == "2":
            return sum(W1[p[2]][j] * W1[q[2]][j] for j in range(n)) if p[1] == q[1] else 0
        (_, k, j), (_, i, m) = (p, q) if p[0] == "1" else (q, p)
        return W2[i][k] * W1[m][j] + (left[i][j] if k == m else 0)

    return _matrix([[entry(p, q) for q in ones + twos] for p in ones + twos])


def _matrix(rows: Sequence[Sequence[Fraction | int]]) -> Any:
    return fmpq_mat(
        [[fmpq(Fraction(v).numerator, Fraction(v).denominator) for v in row] for row in rows]
    )
