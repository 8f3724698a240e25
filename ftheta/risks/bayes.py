r"""What each loss estimates: minimisers of the conditional risk $c\mapsto\mathbb E[\ell(c,Y)|X=x]$; the noise floor.

Rows with the same $x$ are one conditional law, in rationals. The least risk that any function of $x$ has on the rows
(the *noise floor*) is the mean of the least conditional risks.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.certify.balls import known
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Int, Real, Shaped

BITS = 256
THIRDS = 100  # steps of a search on the line
FAR = 40.0  # the logistic risk is searched for its minimiser up to here


@dataclass(frozen=True)
class ConditionalLaw:
    """Distinct `values` in increasing order with their `weights`, which sum to 1."""

    values: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]

    @classmethod
    def of(cls, y: Real[np.ndarray, "n"]) -> "ConditionalLaw":
        values, counts = np.unique(np.asarray(y, float), return_counts=True)
        return cls(
            tuple(map(Fraction, values.tolist())), tuple(Fraction(int(c), len(y)) for c in counts)
        )

    def expect(self, f: Any) -> Any:
        return sum((w * f(v) for v, w in zip(self.values, self.weights)), Fraction(0))

    @cached_property
    def mean(self) -> Fraction:
        return self.expect(lambda v: v)

    @cached_property
    def variance(self) -> Fraction:
        return self.risk("squared", self.mean)

    @cached_property
    def median(self) -> tuple[Fraction, Fraction]:
        r"""The ends of the interval of medians: $P(Y<m)\le\frac12\le P(Y\le m)$."""
        below = Fraction(0)
        half = Fraction(1, 2)
        ends = []
        for v, w in zip(self.values, self.weights):
            if below <= half <= below + w:
                ends.append(v)
            below += w
        return ends[0], ends[-1]

    def below(self, c: Fraction, *, too: bool) -> Fraction:
        """P(Y < c), or P(Y ≤ c) with c too."""
        return self.expect(lambda v: Fraction(v < c or (too and v == c)))

    @cached_property
    def mode(self) -> Fraction:
        """The mode: the most probable value, the smallest of several."""
        return max(zip(self.weights, [-v for v in self.values]))[1] * -1

    def risk(self, loss: str, c: Fraction) -> Fraction:
        """The conditional risk of the prediction c, exactly."""
        of = {
            "squared": lambda v: (v - c) ** 2,
            "absolute": lambda v: abs(v - c),
            "zero-one": lambda v: Fraction(v != c),
        }
        return self.expect(of[loss])

    def float_risk(self, loss: str, c: np.ndarray | float) -> np.ndarray:
        """The risk of predicting c, in float64, for every entry of `c`."""
        v, w = (np.array([float(a) for a in row]) for row in (self.values, self.weights))
        r = np.subtract.outer(np.asarray(c, float), v)
        return (r**2 if loss == "squared" else np.abs(r) if loss == "absolute" else (r != 0)) @ w

    def search_minimiser(self, loss: str) -> float:
        """The minimiser as a search on the line finds it; for the zero-one loss, among the values."""
        if loss == "zero-one":
            v = np.array([float(a) for a in self.values])
            return float(v[np.argmin(self.float_risk(loss, v))])
        ends = float(self.values[0]), float(self.values[-1])
        return least_point(lambda c: float(self.float_risk(loss, c)), *ends)


def least_point(f: Callable[[float], float], lo: float, hi: float) -> float:
    """The minimiser of a convex function on an interval, by thirds."""
    for _ in range(THIRDS):
        a = lo + (hi - lo) / 3
        b = hi - (hi - lo) / 3
        lo, hi = (lo, b) if f(a) <= f(b) else (a, hi)
    return (lo + hi) / 2


# ---- logistic and cross-entropy -------------------------------------------------------------------------------------


def log_odds(p: Fraction) -> Enclosure:
    r"""$\log\frac p{1-p}$; nothing is known of it at $p=0$ and $p=1$, where it is infinite."""
    if not 0 < p < 1:
        return Enclosure()
    with ctx.workprec(BITS):
        return known((_ball(p) / _ball(1 - p)).log())


def logistic_risk(p: Fraction, s: Any) -> Any:
    r"""$p\ln(1+e^{-s})+(1-p)\ln(1+e^s)$ in floats."""
    return float(p) * np.logaddexp(0, -np.asarray(s)) + float(1 - p) * np.logaddexp(
        0, np.asarray(s)
    )


def logistic_minimiser(p: Fraction) -> float:
    """As a search on the line finds it."""
    return least_point(lambda s: float(logistic_risk(p, s)), -FAR, FAR)


def logistic_slope(p: Fraction, s: Fraction) -> Enclosure:
    r"""The derivative $\sigma(s)-p$ of the logistic risk, in balls: it increases, and vanishes at the log-odds."""
    with ctx.workprec(BITS):
        return known(1 / (1 + (-_ball(s)).exp()) - _ball(p))


def logistic_bracket(
    p: Fraction, width: Fraction = Fraction(1, 2**40)
) -> tuple[Enclosure, Enclosure]:
    """The slope a little to either side of the log-odds: of opposite signs, so that the minimiser lies between."""
    middle = Fraction(log_odds(p).middle) if 0 < p < 1 else Fraction(FAR) * (1 if p else -1)
    return logistic_slope(p, middle - width), logistic_slope(p, middle + width)


def entropy_slope(weights: tuple[Fraction, ...]) -> Enclosure:
    r"""The largest entry of $|\mathrm{softmax}(z)-p|$, the gradient of the cross-entropy risk at $z=\log p+5$."""
    with ctx.workprec(BITS):
        z = [_ball(w).log() + 5 for w in weights if w]
        total = sum((v.exp() for v in z), arb(0))
        gaps = [known(v.exp() / total - _ball(w)) for v, w in zip(z, (w for w in weights if w))]
    return Enclosure.between(min(g.lo for g in gaps), max(g.hi for g in gaps))


def _ball(q: Fraction) -> Any:
    return arb(q.numerator) / q.denominator


# ---- groups of rows -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Groups:
    """Rows that share their x: `index[i]` is the group of row i, `laws[g]` the law of its targets."""

    index: Int[np.ndarray, "n"]
    laws: tuple[ConditionalLaw, ...]
    sizes: Int[np.ndarray, "g"]

    @classmethod
    def of(cls, x: Shaped[np.ndarray, "n *shape"], y: Real[np.ndarray, "n"]) -> "Groups":
        _, index, sizes = np.unique(
            x.reshape(len(x), -1), axis=0, return_inverse=True, return_counts=True
        )
        order = np.argsort(index.ravel(), kind="stable")
        parts = np.split(np.asarray(y, float).ravel()[order], np.cumsum(sizes)[:-1])
        return cls(index.ravel(), tuple(map(ConditionalLaw.of, parts)), sizes)

    @property
    def repeated_rows(self) -> int:
        """Rows whose x occurs more than once."""
        return int(self.sizes[self.sizes > 1].sum())

    def floor(self, loss: str) -> Fraction:
        """The least risk that a function of x has on these rows."""
        best = {
            "squared": lambda g: g.mean,
            "absolute": lambda g: g.median[0],
            "zero-one": lambda g: g.mode,
        }[loss]
        total = sum(
            (int(n) * g.risk(loss, best(g)) for n, g in zip(self.sizes, self.laws)), Fraction(0)
        )
        return total / int(self.sizes.sum())

    def noise_variance(self) -> float:
        r"""The unbiased estimate $\frac{\sum_g\sum_i(y_i-\bar y_g)^2}{\sum_g(n_g-1)}$ of the variance of the noise."""
        spare = int((self.sizes - 1).sum())
        spread = sum(float(int(n) * g.variance) for n, g in zip(self.sizes, self.laws))
        return spread / spare if spare else float("nan")
