r"""Rosenblatt's perceptron, decided without rounding, and the margin that bounds its mistakes.

With $z_i=y_ix_i$ the perceptron adds $z_i$ to $w$ whenever $\langle z_i,w\rangle\le0$, so that $w=\sum_ic_iz_i$ with
whole $c_i$. The sign of a product is taken from float64 where its error bound allows, from rationals elsewhere.
Every $v$ with $\langle z_i,v\rangle\ge1$ bounds the mistakes by $R^2\|v\|^2$ (Novikoff); the shortest such $v$ solves a
quadratic program, and is found in rationals from the rows that support it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ftheta.logic import UsageError
from ftheta.relu.matrices import fraction, rational_matrix
from ftheta.risks.separation import combination, products
from ftheta.training.margins import bring_into_range, max_margin

UNIT = np.finfo(np.float64).eps
TINIEST = float(np.finfo(np.float64).smallest_subnormal)
EXACT_ENTRIES = 20_000  # numbers of Z for which the quadratic program is solved in rationals


@dataclass(frozen=True, eq=False)
class Perceptron:
    """`mistakes` are the rows in the order in which they were added to w = Σ `counts`ᵢ zᵢ.

    `finished`: a whole pass without a mistake. `cycled`: w came back after a pass to where it was, so that the mistakes
    never end. Neither: the budget ran out."""

    mistakes: tuple[int, ...]
    counts: np.ndarray
    passes: int
    finished: bool
    cycled: bool

    def weights(self, z: np.ndarray) -> np.ndarray:
        return self.counts @ z

    def wrong(self, z: np.ndarray) -> int:
        r"""How many rows have $\langle z_i,w\rangle\le0$ at the end, exactly."""
        return sum(v <= 0 for v in products(z, self.exact_weights(z)))

    def exact_weights(self, z: np.ndarray) -> list[Fraction]:
        return combination(z, [Fraction(int(c)) for c in self.counts])


def perceptron(z: np.ndarray, budget: int = 10_000) -> Perceptron:
    """Pass over the rows in order, again and again, from w = 0, until a pass makes no mistake."""
    z = np.asarray(z, np.float64)
    if z.ndim != 2 or not z.size:
        raise UsageError(
            "The perceptron needs rows times labels, one per row.", got=f"shape {z.shape}"
        )
    counts = np.zeros(len(z), np.int64)
    w = np.zeros(z.shape[1])
    size = np.zeros(z.shape[1])
    mistakes: list[int] = []
    seen: dict[bytes, list[np.ndarray]] = {}
    for done in range(1, budget + 2):
        before = len(mistakes)
        for i, row in enumerate(z):
            if not _wrong_side(row, z, w, size, counts, len(mistakes)):
                continue
            if len(mistakes) == budget:
                return Perceptron(tuple(mistakes), counts, done, False, False)
            mistakes.append(i)
            counts[i] += 1
            w = w + row
            size = size + np.abs(row)
        if len(mistakes) == before:
            return Perceptron(tuple(mistakes), counts, done, True, False)
        earlier = seen.setdefault((w + 0.0).tobytes(), [])
        if any(
            not any(combination(z, list(map(Fraction, (counts - c).tolist())))) for c in earlier
        ):
            return Perceptron(tuple(mistakes), counts, done, False, True)
        earlier.append(counts.copy())
    raise AssertionError("every pass but the last makes a mistake, and the budget counts them")


def _wrong_side(
    row: np.ndarray,
    z: np.ndarray,
    w: np.ndarray,
    size: np.ndarray,
    counts: np.ndarray,
    mistakes: int,
) -> bool:
    r"""$\langle z_i,w\rangle\le0$; in rationals where float64 cannot tell. `size` is $\sum_ic_i|z_i|$."""
    product = float(row @ w)
    underflow = (len(row) + 2) * TINIEST  # of products, and of the bound itself
    error = 2 * (mistakes + len(row) + 2) * UNIT * float(np.abs(row) @ size) + underflow
    if abs(product) > error:
        return product < 0
    used = np.flatnonzero(counts)
    if not len(used):
        return True
    exact = combination(z[used], [Fraction(int(c)) for c in counts[used]])
    return sum((Fraction(a) * b for a, b in zip(row.tolist(), exact)), Fraction(0)) <= 0


@dataclass(frozen=True, eq=False)
class ExactMargin:
    r"""The shortest `v` with $\langle z_i,v\rangle\ge1$ and its multipliers: $v=\sum_iu_iz_i$, $u\ge0$, and $u_i>0$
    only where the product is 1. The largest margin is $1/\|v\|$."""

    v: tuple[Fraction, ...]
    multipliers: tuple[Fraction, ...]

    @property
    def square(self) -> Fraction:
        r"""$\gamma^2=1/\|v\|^2$."""
        return 1 / sum((a * a for a in self.v), Fraction(0))


def exact_margin(z: np.ndarray) -> ExactMargin | None:
    """The quadratic program in rationals; None where the rows are not separable, or too many."""
    found = max_margin(bring_into_range(z)) if z.size <= EXACT_ENTRIES else None
    if found is None:
        return None
    by_weight = np.argsort(-found.u)[: int((found.u > 1e-9 * found.u.max()).sum())]
    support = _independent(z[by_weight])
    rows = by_weight[list(support)]
    S = rational_matrix(z[rows])
    ones = rational_matrix(np.ones((len(rows), 1)))
    u = [fraction(a) for a in (S * S.transpose()).solve(ones).entries()]
    v = combination(z[rows], u)
    if any(a < 0 for a in u) or any(p < 1 for p in products(z, v)):
        return None
    multipliers = [Fraction(0)] * len(z)
    for i, a in zip(rows.tolist(), u):
        multipliers[i] = a
    return ExactMargin(tuple(v), tuple(multipliers))


def _independent(rows: np.ndarray) -> Sequence[int]:
    """The first rows that are linearly independent, in rationals."""
    echelon, rank = rational_matrix(rows.T).rref()
    return [next(j for j in range(echelon.ncols()) if echelon[r, j]) for r in range(rank)]


def square_radius(z: np.ndarray) -> Fraction:
    r"""$R^2=\max_i\|z_i\|^2$, exactly."""
    return max(sum((Fraction(a) ** 2 for a in row), Fraction(0)) for row in z.tolist())


def root(q: Fraction) -> float:
    """The square root of a rational that may be beyond the floats, while its root is one."""
    half = (q.numerator.bit_length() - q.denominator.bit_length()) // 2
    return float(np.ldexp(float(q / Fraction(4) ** half) ** 0.5, half))
