r"""How far two samples are apart, with an interval for the laws behind them and a p-value for their being one.

    ft.distance(x, y)                        # W₁
    ft.distance(x, y, kind="energy").p_value

The interval is about the laws that independent rows were drawn from. It holds at the sizes at hand, under what it says
it assumes; that of `bures` is nominal, by the central limit theorem.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from math import log, sqrt
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import ArrayLike

from ftheta.lazy import special
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.logic.errors import SubjectError, UsageError, suggest
from ftheta.shapes import Float

from .gaussian import gaussian_distance, gaussian_map, sample_moments
from .line import line_cost
from .problems import Array, ensure_memory, read_points
from .two_sample import (
    PermutationTest,
    deviation_radius,
    draw_assignments,
    median_distance,
    permutation_test,
)

Kind: TypeAlias = Literal["w1", "w2", "mmd", "energy", "bures"]
KINDS: tuple[Kind, ...] = get_args(Kind)
PERMUTATIONS = 999
WORK = 2e8  # rows times permutations
FEWEST = 99
MOST_MOVED = 1500  # rows of two samples that are moved a hundred times in a few seconds
MOST_PRODUCTS = 2e10  # of numbers, for all covariances of one test: seconds
ROUNDING = 1e-9  # of a statistic, by its largest value; a tie counts as reached
LARGEST = 1e100  # entry of a row whose squares and products are floats


@dataclass(frozen=True, eq=False)
class Distance:
    """The distance `value` of the two samples, and an `interval` for that of the laws they were drawn from.

    `w1` and `w2` are Wasserstein distances with the Euclidean distance, `mmd` has a Gaussian kernel of `bandwidth`,
    `energy` is the root of $2E|x-y|-E|x-x'|-E|y-y'|$, `bures` is W₂ of the Gaussians with the samples' moments (the
    root of the Fréchet distance)."""

    kind: Kind
    value: Enclosure
    interval: Enclosure
    bandwidth: float | None
    x: Array = field(repr=False)
    y: Array = field(repr=False)
    seed: int = 0

    @cached_property
    def test(self) -> PermutationTest | None:
        """The permutation test with this statistic, made when it is first asked for; there is none where it
        would take minutes: for `w1` and `w2` of more rows than `MOST_MOVED` in more than one dimension, and for `bures`
        of many rows of many entries."""
        rows = len(self.x) + len(self.y)
        count = int(min(PERMUTATIONS, max(FEWEST, WORK // rows)))
        rng = np.random.default_rng(self.seed)
        if self.kind in ("mmd", "energy"):
            ensure_memory(32.0 * rows * count, "give fewer rows")
            kernel = "gaussian" if self.kind == "mmd" else "energy"
            return permutation_test(
                self.x, self.y, kernel, bandwidth=self.bandwidth, permutations=count, rng=rng
            )
        if self.kind == "w1" and self.x.shape[1] == 1:
            return line_test(self.x[:, 0], self.y[:, 0], permutations=count, rng=rng)
        d = self.x.shape[1]
        if self.kind == "bures":
            count = min(count, int(MOST_PRODUCTS // (rows * d**2 + 20 * d**3)))
        elif d > 1:
            count = FEWEST if rows <= MOST_MOVED else 0
        if count < FEWEST:
            return None
        ensure_memory(16.0 * rows * count, "give fewer rows")
        return relabelling_test(self._statistic, self.x, self.y, permutations=count, rng=rng)

    def _statistic(self, x: Array, y: Array) -> float:
        """The distance to the power 1 or 2, whose order is that of the distance."""
        if self.kind == "bures":
            return gaussian_distance(*sample_moments(x), *sample_moments(y))
        return _wasserstein_cost(x, y, 1 if self.kind == "w1" else 2).middle

    @property
    def p_value(self) -> float | None:
        """The probability, under one law for all rows, of a statistic as large as this one: valid at every size."""
        return None if self.test is None else self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers, for JSON; an end of the interval that is not bounded is None."""
        end = lambda number: number if np.isfinite(number) else None
        return {
            "kind": self.kind,
            "rows": [len(self.x), len(self.y)],
            "value": {"lo": self.value.lo, "hi": self.value.hi, "basis": str(self.value.basis)},
            "interval": {
                "lo": end(self.interval.lo),
                "hi": end(self.interval.hi),
                "level": self.interval.level,
                "nominal": self.interval.nominal is not None,
                "assuming": self.interval.assuming,
            },
            "p_value": self.p_value,
            "bandwidth": self.bandwidth,
        }

    def __str__(self) -> str:
        sort = "nominal" if self.interval.nominal is not None else "confidence"
        lines = [
            f"{self.kind} of {len(self.x):,} and {len(self.y):,} rows: {self.value.middle:.12g}"
        ]
        span = f"[{self.interval.lo:.6g}, {self.interval.hi:.6g}]"
        lines.append(
            f"  of the laws: {span} ({sort} {self.interval.level:g}; {self.interval.assuming})"
        )
        told = (
            "not for samples of this size; kind energy has one"
            if self.p_value is None
            else f"{self.p_value:.4g}"
        )
        lines.append(f"  p-value for one law (permutations): {told}")
        return "\n".join(lines)

    __repr__ = __str__


def distance(
    x: ArrayLike, y: ArrayLike, kind: Kind = "w1", confidence: float = 0.95, *, seed: int = 0
) -> Distance:
    """The distance of two samples.

    Parameters
    ----------
    x, y
        Independent rows (n, d) and (m, d); of the line, numbers.
    kind
        "w1", "w2", "mmd", "energy" or "bures".
    confidence
        Of the interval.
    seed
        Of the permutations behind the p-value.
    """
    if kind not in KINDS:
        raise UsageError(
            "That is no distance.",
            got=kind,
            remedy=suggest(str(kind), KINDS, f"one of {', '.join(KINDS)}"),
        )
    if not (isinstance(confidence, (int, float)) and 0 < confidence < 1):
        raise UsageError("A confidence lies between 0 and 1.", got=confidence)
    rows = read_points(x, "x")
    others = read_points(y, "y")
    if rows.shape[1] != others.shape[1]:
        got = f"x has {rows.shape[1]} columns, y has {others.shape[1]}"
        raise SubjectError("The rows of the two samples have different lengths.", got=got)
    _require_squares(rows, others)
    if kind in ("w1", "w2"):
        return _wasserstein(rows, others, kind, confidence, seed)
    if kind == "bures":
        return _bures(rows, others, confidence, seed)
    return _discrepancy(rows, others, kind, confidence, seed)


def _require_squares(x: Array, y: Array) -> None:
    """Raise where squares of distances would overflow, or vanish although the rows differ."""
    pooled = np.concatenate([x, y])
    largest = float(np.abs(pooled).max(initial=0.0))
    widest = 0.0 if largest > LARGEST else float(np.ptp(pooled, axis=0).max(initial=0.0))
    if largest > LARGEST or 0 < widest < 1 / LARGEST:
        got = (
            f"entries up to {largest:.2g}"
            if largest > LARGEST
            else f"rows within {widest:.2g} of one another"
        )
        raise SubjectError(
            "Squares of these distances are no float64 numbers.",
            got=got,
            remedy="scale the rows of both samples alike",
        )


# -- Wasserstein -------------------------------------------------------------------------------------------------------


def _wasserstein(x: Array, y: Array, kind: Kind, confidence: float, seed: int) -> Distance:
    """On the line by sorting, elsewhere by exact transport."""
    p = 1 if kind == "w1" else 2
    cost = _wasserstein_cost(x, y, p)
    value = cost if p == 1 else cost.sqrt()
    return Distance(kind, value, _wasserstein_interval(x, y, cost, p, confidence), None, x, y, seed)


def _wasserstein_cost(x: Array, y: Array, p: int) -> Enclosure:
    if x.shape[1] == 1:
        return line_cost(x[:, 0], y[:, 0], p=p)
    from .solving import transport

    return transport(x, y, cost="euclidean" if p == 1 else "sqeuclidean").value


def _wasserstein_interval(
    x: Array, y: Array, cost: Enclosure, p: int, confidence: float
) -> Enclosure:
    r"""For laws in the smallest box that holds all rows, of diameter $D$.

    Above: $W_p^p$ of the laws is at most the mean of that of samples (convexity), from which it differs by
    $D^p\sqrt{\frac12\ln\frac2\delta(\frac1n+\frac1m)}$ at most (McDiarmid). Below: $W_p\ge W_1$ of any coordinate,
    whose empirical value errs by the widths of two bands for distribution functions (`massart1990`)."""
    n = len(x)
    m = len(y)
    d = x.shape[1]
    risk = 1 - confidence
    sides = np.maximum(x.max(0), y.max(0)) - np.minimum(x.min(0), y.min(0))
    D = float(np.sqrt((sides**2).sum()))
    upper = cost.hi + D**p * sqrt(0.5 * log(2 / risk) * (1 / n + 1 / m))
    lower = 0.0
    for k in range(d):
        found = cost.lo if d == 1 and p == 1 else line_cost(x[:, k], y[:, k]).lo
        lower = max(lower, found - line_radius(n, m, float(sides[k]), risk / (2 * d)))
    hi = min(upper ** (1 / p), D)
    assumed = f"independent rows, both laws in the box of the rows, of diameter {D:.6g}"
    return Enclosure(lower, hi, Basis.SAMPLED, min(n, m), confidence, assuming=assumed)


def line_radius(n: int, m: int, length: float, risk: float) -> float:
    r"""$D\big(\sqrt{\ln(4/\delta)/2n}+\sqrt{\ln(4/\delta)/2m}\big)$: how far the empirical $W_1$ of laws on a segment
    of length $D$ is off, except with probability $\delta$."""
    return length * (sqrt(log(4 / risk) / (2 * n)) + sqrt(log(4 / risk) / (2 * m)))


def line_test(
    x: Float[np.ndarray, "n"],
    y: Float[np.ndarray, "m"],
    *,
    permutations: int,
    rng: np.random.Generator,
) -> PermutationTest:
    r"""The permutation test with the statistic $W_1=\int|F-G|$ of the line."""
    pooled = np.concatenate([x, y])
    order = np.argsort(pooled, kind="stable")
    gaps = np.diff(pooled[order])
    weights, exact = draw_assignments(len(x), len(y), permutations, rng)
    values = np.empty(weights.shape[1])
    for start in range(0, len(values), 64):
        some = slice(start, start + 64)
        values[some] = gaps @ np.abs(np.cumsum(weights[order, some], axis=0)[:-1])
    size = float(gaps.sum())
    reaches = values >= values[0] - 1e-12 * size
    return PermutationTest(
        float(values[0]),
        values if exact else values[1:],
        float(reaches.mean()),
        exact,
        bandwidth=1.0,
    )


def relabelling_test(
    statistic: Callable[[Array, Array], float],
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    *,
    permutations: int,
    rng: np.random.Generator,
) -> PermutationTest:
    """The permutation test with any statistic of two samples, computed anew for every relabelling."""
    pooled = np.concatenate([x, y])
    weights, exact = draw_assignments(len(x), len(y), permutations, rng)
    values = np.array([statistic(pooled[w > 0], pooled[w < 0]) for w in weights.T])
    # what is no number reaches it
    reaches = ~(values < values[0] - ROUNDING * np.abs(values).max())
    return PermutationTest(
        float(values[0]),
        values if exact else values[1:],
        float(reaches.mean()),
        exact,
        bandwidth=1.0,
    )


# -- kernels and moments -----------------------------------------------------------------------------------------------


def _discrepancy(x: Array, y: Array, kind: Kind, confidence: float, seed: int) -> Distance:
    n = len(x)
    m = len(y)
    pooled = np.concatenate([x, y])
    h = median_distance(pooled) if kind == "mmd" else None
    kernel = "gaussian" if kind == "mmd" else "energy"
    found = permutation_test(x, y, kernel, bandwidth=h, permutations=0)
    root = sqrt(max(found.statistic, 0.0))
    if kind == "mmd":
        radius = deviation_radius(n, m, 1 - confidence)
        assumed = "independent rows, the bandwidth as if chosen before"
        highest = sqrt(2.0)
    else:
        D = float(np.linalg.norm(pooled.max(0) - pooled.min(0)))
        radius = sqrt(2.0) * deviation_radius(n, m, 1 - confidence, D / 2)
        assumed = f"independent rows, both laws in the box of the rows, of diameter {D:.6g}"
        highest = sqrt(2 * D)
    low = max(0.0, root - radius)
    interval = Enclosure(
        low,
        max(low, min(root + radius, highest)),
        Basis.SAMPLED,
        min(n, m),
        confidence,
        assuming=assumed,
    )
    return Distance(kind, Enclosure.equal(root), interval, h, x, y, seed)


def _bures(x: Array, y: Array, confidence: float, seed: int) -> Distance:
    r"""The influence of a row on the squared distance is its Kantorovich potential, a quadratic form."""
    if min(len(x), len(y)) < 2:
        raise SubjectError("A covariance needs at least two rows.", got=f"{len(x)} and {len(y)}")
    (m, S), (w, V) = sample_moments(x), sample_moments(y)
    square = gaussian_distance(m, S, w, V)
    error = sqrt(
        _influence(x, m, S, w, V).var() / len(x) + _influence(y, w, V, m, S).var() / len(y)
    )
    reach = float(special.ndtri((1 + confidence) / 2)) * error
    lo = sqrt(max(0.0, square - reach))
    hi = sqrt(square + reach)
    assumed = "independent rows; by the central limit theorem, not guaranteed at this sample size"
    interval = Enclosure(
        lo, hi, Basis.SAMPLED, min(len(x), len(y)), nominal=confidence, assuming=assumed
    )
    return Distance("bures", Enclosure.equal(sqrt(square)), interval, None, x, y, seed)


def _influence(x: Array, m: Array, S: Array, w: Array, V: Array) -> Array:
    """Of each row on W₂² of the Gaussians, up to a constant."""
    centred = x - m
    T = gaussian_map(S, V)
    return (
        2 * centred @ (m - w)
        + np.einsum("nd,nd->n", centred, centred)
        - np.einsum("nd,de,ne->n", centred, T, centred)
    )
