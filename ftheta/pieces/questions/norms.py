r"""The Lipschitz constant of a network on a domain, $\max_i\|A_i\|$ over its cells, with rigorous ends.

In the Euclidean metric of the inputs, with the Gram matrix $G=J^\top J$ of the chart, $\|A\|^2$ is the least $s$ for
which $sG-A^\top A$ has no negative eigenvalue; for a rational $s$ that is decided exactly, by elimination with pivots
from the diagonal (Sylvester's law of inertia). Float64 says which cells to look at: all others are bounded by
$\lambda_{\max}(M)\le\|M^{2^k}\|_F^{2^{-k}}$.
"""

from collections.abc import Callable
from fractions import Fraction
from math import inf, isqrt
from typing import Literal

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import UsageError

from ..cells import Cells
from ..domains import Chart, Polyline
from ..plan import UNIT_ROUNDOFF
from ..signs import exact_sum
from .corner_values import is_exact, map_error, size_of
from .output_forms import OutputForms

Norm = Literal[1, 2, "inf"]
# maps whose norms are computed exactly; cells looked at for different maps
MOST_SETTLED = 512
MOST_SEEN = 4096
SQUARINGS = 24  # the bound exceeds the eigenvalue by a factor of d^(1/2^25)
BRACKET = Fraction(1, 2**44)  # relative width of a settled square


def lipschitz(cells: Cells, norm: Norm | float = 2, output: int | None = None) -> Enclosure:
    """The largest operator norm of the maps (or of one output's): exactly, or at least that of the cells found."""
    if norm not in (1, 2, inf, "inf"):
        raise UsageError("The norm is 1, 2 or infinity.", got=norm, where="Complex.lipschitz")
    if output is not None and not 0 <= output < cells.plan.outputs:
        raise UsageError(
            "There is no such output.", got=output, remedy=f"0 … {cells.plan.outputs - 1}"
        )
    rows = slice(None) if output is None else slice(output, output + 1)
    if not len(cells):
        return Enclosure(0.0, inf, Basis.EXACT)
    found = _settle(cells, rows, norm) if is_exact(cells) else _float(cells, rows, norm)
    return found if cells.certificate.complete else Enclosure(found.lo, inf, found.basis)


def _float(cells: Cells, rows: slice, norm: Norm | float) -> Enclosure:
    """In float64, on polylines with the length of each segment."""
    segments = cells.domain.segments if isinstance(cells.domain, Polyline) else ()
    charts = [segment.chart for segment in segments] or [cells.plan.chart]
    part = cells.centres[:, 0].astype(int) if len(charts) > 1 else np.zeros(len(cells), int)
    slopes = cells.maps[:, rows, :-1]
    steepest = 0.0
    for k, chart in enumerate(charts):
        mine = slopes[part == k]
        if norm == 2:
            mine = mine @ _orthonormalising(chart.basis)
            steepest = max(steepest, float(np.linalg.norm(mine, 2, axis=(1, 2)).max(initial=0.0)))
        else:
            length = _align(chart, norm)
            size = np.abs(mine).sum(axis=1 if norm == 1 else 2).max(initial=0.0)
            steepest = max(steepest, float(size) / float(length))
    return Enclosure.equal(steepest)


def _settle(cells: Cells, rows: slice, norm: Norm | float) -> Enclosure:
    """Cells in descending order of their upper bounds, settled one after the other until no other can be steeper."""
    with np.errstate(over="ignore", invalid="ignore"):
        upper = np.nan_to_num(_upper_bounds(cells, rows, norm), nan=inf, posinf=inf)
    order = np.argsort(-upper, kind="stable")
    gram = _gram(cells.plan.chart)
    low = 0.0
    high = 0.0
    seen = set()
    exact_maps = OutputForms(cells.plan)
    patterns = map(cells.pattern_number, order.tolist())
    for n, (i, forms) in enumerate(zip(order.tolist(), exact_maps(patterns, 16))):
        if upper[i] <= low:
            break
        if len(seen) == MOST_SETTLED or n == MOST_SEEN:
            high = max(high, float(upper[i]))
            break
        slopes = tuple(form[:-1] for form in forms[rows])
        if slopes not in seen:
            seen.add(slopes)
            value = _norm(slopes, exact_maps.denominator, gram, cells.plan.chart, norm)
            low = max(low, value.lo)
            high = max(high, value.hi)
    return Enclosure(low, high, cells.certificate.basis)


# -- one map, exactly -----------------------------------------------------------------------------


def _norm(slopes: tuple, below: int, gram: fmpq_mat, chart: Chart, norm: Norm | float) -> Enclosure:
    if norm != 2:
        length = _align(chart, norm)
        lines = zip(*slopes) if norm == 1 else slopes
        return Enclosure.exact(Fraction(max(sum(map(abs, line)) for line in lines), below) / length)
    A = fmpq_mat([[fmpq(a, below) for a in row] for row in slopes])
    if not any(map(any, slopes)):
        return Enclosure.exact(0)
    return _root(*_largest_square(A.transpose() * A, gram))


def _largest_square(square: fmpq_mat, gram: fmpq_mat) -> tuple[Fraction, Fraction]:
    r"""Two rationals around the largest $s$ with $\det(sG-A^\top A)=0$."""
    if square.nrows() == 1:
        s = square[0, 0] / gram[0, 0]
        return Fraction(int(s.p), int(s.q)), Fraction(int(s.p), int(s.q))
    ratio, unit = _in_floats(gram.solve(square))
    guess = unit * Fraction(max(float(np.linalg.eigvals(ratio).real.max()), 1e-300))
    high = _beyond(guess, 1, lambda s: _is_at_least(s, square, gram))
    low = _beyond(guess, -1, lambda s: not _is_at_least(s, square, gram))
    return low, high


def _in_floats(matrix: fmpq_mat) -> tuple[np.ndarray, Fraction]:
    """A matrix that is not 0 in units of a power of two: squares of slopes may lie beyond the range of floats."""
    rows = [[Fraction(int(x.p), int(x.q)) for x in row] for row in matrix.table()]
    largest = max(abs(x) for row in rows for x in row)
    unit = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())
    return np.array([[float(x / unit) for x in row] for row in rows]), unit


def _beyond(guess: Fraction, sign: int, reached: Callable[[Fraction], bool]) -> Fraction:
    """The first point on one side of the guess, in steps that double, that passes the test; zero at the least."""
    step = BRACKET
    while (s := guess * (1 + sign * step)) > 0 and not reached(s):
        step *= 2
    return max(s, Fraction(0))


def _is_at_least(s: Fraction, square: fmpq_mat, gram: fmpq_mat) -> bool:
    r"""Whether $sG-A^\top A$ has no negative eigenvalue: by elimination with the diagonal as pivots."""
    rest = (gram * fmpq(s.numerator, s.denominator) - square).table()
    while rest:
        pivot = next((k for k in range(len(rest)) if rest[k][k]), None)
        if any(row[k] < 0 for k, row in enumerate(rest)):
            return False
        if pivot is None:
            return not any(map(any, rest))
        p = rest[pivot]
        others = [k for k in range(len(rest)) if k != pivot]
        rest = [[rest[i][j] - rest[i][pivot] * p[j] / p[pivot] for j in others] for i in others]
    return True


def _root(low: Fraction, high: Fraction) -> Enclosure:
    """The square roots of two rationals, rounded outward: integer roots of numbers with 120 more bits."""
    shift = lambda q: max(0, 120 - q.numerator.bit_length() + q.denominator.bit_length()) // 2
    a = shift(low)
    b = shift(high)
    below = Fraction(isqrt((low.numerator << 2 * a) // low.denominator), 1 << a)
    above = Fraction(isqrt((high.numerator << 2 * b) // high.denominator) + 1, 1 << b)
    return Enclosure(Enclosure.exact(below).lo, Enclosure.exact(above).hi, Basis.EXACT)


def _gram(chart: Chart) -> fmpq_mat:
    numbers, exponent = exact_sum(chart.basis, chart.tail)
    D, d = chart.basis.shape
    J = fmpq_mat([[fmpq(x, 1 << exponent) for x in numbers[i * d : (i + 1) * d]] for i in range(D)])
    return J.transpose() * J


def _align(chart: Chart, norm: Norm | float) -> Fraction:
    r"""$c$ with $\|Jt\|=c\|t\|$: 1 for coordinate planes and boxes, the length of the step for segments."""
    if chart.basis.shape[1] == 1:
        parts = [
            abs(Fraction(a) + Fraction(b))
            for a, b in zip(chart.basis[:, 0].tolist(), chart.tail[:, 0].tolist())
        ]
        return sum(parts, Fraction(0)) if norm == 1 else max(parts)
    axes = chart.basis != 0
    units = (
        (chart.basis[axes] == 1).all()
        and (axes.sum(axis=0) == 1).all()
        and (axes.sum(axis=1) <= 1).all()
    )
    if chart.tail.any() or not units:
        raise UsageError(
            "In a slanted slice only the Euclidean norm is measured.",
            got=f"norm = {norm}",
            remedy="norm=2, or a Box",
        )
    return Fraction(1)


# -- all maps, in float64 rounded upward ----------------------------------------------------------


def _upper_bounds(cells: Cells, rows: slice, norm: Norm | float) -> np.ndarray:
    slopes = cells.maps[:, rows, :-1]
    size = size_of(cells)
    _, m, d = slopes.shape
    error = map_error(cells.plan, size) / size
    if norm != 2:
        length = _align(cells.plan.chart, norm)
        sums = np.abs(slopes).sum(axis=1 if norm == 1 else 2).max(axis=1)
        return (1 + 1e-12) * (sums + max(m, d) * error) / Enclosure.exact(length).lo
    turn, defect = _orthonormal(cells.plan.chart)
    reach = 1.001 * float(np.linalg.norm(turn))
    B = slopes @ turn
    slack = reach * (error + 4 * (d + 2) * UNIT_ROUNDOFF * np.linalg.norm(slopes, axis=(1, 2)))
    M = B.transpose(0, 2, 1) @ B if d <= m else B @ B.transpose(0, 2, 1)
    rounding = 4 * (max(m, d) + 2) * UNIT_ROUNDOFF * (B**2).sum(axis=(1, 2))
    return (1 + 1e-12) * (np.sqrt(_largest_eigenvalue(M) + rounding) + slack) / (1 - defect) ** 0.5


def _largest_eigenvalue(M: np.ndarray) -> np.ndarray:
    r"""An upper bound for symmetric $M\ge0$: $\|M^{2^k}\|_F^{2^{-k}}$, each square normalised.

    A product of $k\times k$ matrices of norm 1 errs by at most $\gamma_k$, and its norm is at least $1/k$.
    """
    k = M.shape[1]
    size = np.linalg.norm(M, axis=(1, 2))
    bound = size.copy()
    power = 1.0
    N = M / np.maximum(size, 1e-300)[:, None, None]
    for _ in range(SQUARINGS):
        N = N @ N
        size = np.linalg.norm(N, axis=(1, 2)) + 4 * k * UNIT_ROUNDOFF
        power /= 2
        bound *= (size * (1 + 8 * k * k * UNIT_ROUNDOFF)) ** power
        N /= np.maximum(size, 1e-300)[:, None, None]
    return bound * (1 + 1e-12)


def _orthonormalising(basis: np.ndarray) -> np.ndarray:
    r"""A matrix $R$ such that the columns of $JR$ are nearly orthonormal; squares neither overflow nor vanish."""
    scale = 2.0 ** np.frexp(np.abs(basis).max())[1]
    J = basis / scale
    return np.linalg.inv(np.linalg.cholesky(J.T @ J)).T / scale


def _orthonormal(chart: Chart) -> tuple[np.ndarray, float]:
    r"""A float64 matrix $R$ and a bound $\epsilon$ on $\|R^\top GR-1\|_F$: $\|A\|\le\|AR\|/\sqrt{1-\epsilon}$."""
    R = _orthonormalising(chart.basis)
    exact = fmpq_mat([[fmpq(*float(x).as_integer_ratio()) for x in row] for row in R.tolist()])
    d = len(R)
    defect = exact.transpose() * _gram(chart) * exact - fmpq_mat(
        [[fmpq(i == j) for j in range(d)] for i in range(d)]
    )
    return R, 1.001 * float(
        np.linalg.norm([float(Fraction(int(x.p), int(x.q))) for x in defect.entries()])
    )
