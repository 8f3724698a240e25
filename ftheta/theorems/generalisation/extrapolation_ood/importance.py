r"""Covariate shift: the same labels, other inputs. With densities $p$ (training) and $q$ (test) and weights $w=q/p$,
$\mathbb E_q\ell=\mathbb E_p[w\ell]$, as long as $p>0$ wherever $q>0$. The price is the variance: $n$ rows are worth
about $n/\mathbb E_p[w^2]$ of the test law's own, and nothing if that is infinite.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import exp, inf, log, sqrt

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Enclosure, UsageError

CONFIDENCE = 0.9999
NODES = 400_001
REACH = 12.0  # standard deviations
ENOUGH = 300  # rows of the test distribution that a weighted mean must be worth


@dataclass(frozen=True)
class GaussianShift:
    r"""Training inputs $\mathcal N(0,1)$, test inputs $\mathcal N(\text{move},\text{spread}^2)$."""

    move: float = 1.0
    spread: float = 0.8

    def weights(self, x: np.ndarray) -> np.ndarray:
        r"""$w(x)=q(x)/p(x)$."""
        return np.exp(x**2 / 2 - ((x - self.move) / self.spread) ** 2 / 2) / self.spread

    @property
    def second_moment(self) -> float:
        r"""$\mathbb E_p[w^2]=\frac{1}{s\sqrt{2-s^2}}e^{\mu^2/(2-s^2)}$, infinite for $s^2\ge2$."""
        room = 2 - self.spread**2
        if room <= 0 or self.move**2 / room > 700:
            return inf
        return exp(self.move**2 / room - log(self.spread) - log(room) / 2)

    def test_mean(self, f: Callable[[np.ndarray], np.ndarray]) -> float:
        r"""$\mathbb E_qf$ by the trapezoidal rule on $\pm12$ standard deviations."""
        z = np.linspace(-REACH, REACH, NODES)
        density = np.exp(-(z**2) / 2) / sqrt(2 * np.pi)
        return float((f(self.move + self.spread * z) * density).sum() * (z[1] - z[0]))

    def draw(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """Inputs of `n` training rows."""
        return rng.normal(size=n)

    def weighted_mean(self, f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> Enclosure:
        r"""$\mathbb E_p[wf]$ estimated from the training inputs `x`, with its confidence."""
        return mean(self.weights(x) * f(x), confidence=CONFIDENCE)

    def plain_mean(self, f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> Enclosure:
        r"""$\mathbb E_pf$ from the training inputs `x`: what is found if the shift is forgotten."""
        return mean(f(x), confidence=CONFIDENCE)

    def is_measurable(self, n: int) -> bool:
        """Whether a weighted mean of `n` rows has a confidence interval: the weights have fourth moments, and the rows
        are worth enough of the test distribution's own."""
        return self.spread**2 < 4 / 3 and n / self.second_moment >= ENOUGH


def reweight(
    train: Sequence[Fraction], test: Sequence[Fraction], losses: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    r"""$\mathbb E_q\ell$ and $\mathbb E_p[\frac qp\ell]$ on finitely many points, in rationals."""
    if any(p == 0 < q for p, q in zip(train, test)):
        raise UsageError(
            "The test law has points that the training law never shows.", got="p = 0 < q"
        )
    both = [(p, q, loss) for p, q, loss in zip(train, test, losses) if p]
    direct = sum((q * loss for _, q, loss in both), Fraction(0))
    return direct, sum((p * (q / p) * loss for p, q, loss in both), Fraction(0))


def effective_rows(weights: np.ndarray) -> float:
    r"""$\frac{(\sum w)^2}{\sum w^2}$: how many rows of the test law these are worth."""
    return float(weights.sum() ** 2 / max(float((weights**2).sum()), 1e-300))
