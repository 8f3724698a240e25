r"""How far the mean of n independent draws strays from its expectation: bounds, exact tails, experiments.

Radii and tails are Arb balls, so that a comparison of them proves. The tail of a law with two atoms is binomial: beyond
the mean its terms fall geometrically; they are summed until they no longer matter, and the rest is enclosed by the
geometric series $t\rho/(1-\rho)$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import sqrt
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq, fmpz  # type: ignore[import-untyped]

from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Float, Real

from .means import binomial_interval

BITS = 160  # of the ball arithmetic
DRAWS = 4_000_000  # numbers held at once in an experiment, at most


@dataclass(frozen=True)
class Law:
    """A discrete law: distinct `values` in increasing order and their `probabilities`, all rational."""

    values: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]

    @classmethod
    def of(cls, values: Sequence[float], weights: Sequence[float]) -> "Law":
        """The law with these atoms; the weights are divided by their exact sum."""
        atoms, where = np.unique(np.asarray(values, np.float64), return_inverse=True)
        sums = [Fraction(0)] * len(atoms)
        for k, weight in zip(where.ravel().tolist(), np.asarray(weights, np.float64).tolist()):
            sums[k] += Fraction(weight)
        total = sum(sums, Fraction(0))
        kept = [(Fraction(v), w / total) for v, w in zip(atoms.tolist(), sums) if w]
        return cls(tuple(v for v, _ in kept), tuple(w for _, w in kept))

    @cached_property
    def mean(self) -> Fraction:
        """The expectation."""
        return sum((v * w for v, w in zip(self.values, self.probabilities)), Fraction(0))

    @cached_property
    def variance(self) -> Fraction:
        """The expected squared distance from the mean."""
        return sum(
            (w * (v - self.mean) ** 2 for v, w in zip(self.values, self.probabilities)), Fraction(0)
        )

    def sample_means(
        self, rng: np.random.Generator, n: int, trials: int
    ) -> Float[np.ndarray, "trials"]:
        """The means of `trials` samples of size n."""
        weights, values = (
            np.array([float(v) for v in row]) for row in (self.probabilities, self.values)
        )
        weights /= weights.sum()
        block = max(1, DRAWS // len(values))
        sizes = [min(block, trials - done) for done in range(0, trials, block)]
        return (
            np.concatenate([rng.multinomial(n, weights, size=size) @ values for size in sizes]) / n
        )


def _ball(q: Fraction | int) -> Any:
    return arb(fmpq(q.numerator, q.denominator))


def hoeffding_radius(n: int, delta: float, width: float) -> Any:
    r"""$w\sqrt{\ln(2/\delta)/(2n)}$ for draws in an interval of length $w$: exceeded with probability at most δ."""
    with ctx.workprec(BITS):
        return _ball(Fraction(width)) * ((2 / _ball(Fraction(delta))).log() / (2 * n)).sqrt()


def chebyshev_radius(n: int, delta: float, variance: Fraction) -> Any:
    r"""$\sqrt{\mathrm{Var}/(n\delta)}$: exceeded with probability at most δ."""
    with ctx.workprec(BITS):
        return _ball(variance / (n * Fraction(delta))).sqrt()


def binomial_tail(n: int, q: Fraction, k: int) -> Any:
    r"""$P(K\ge k)$ for $K\sim\mathrm{Bin}(n,q)$, as a ball."""
    with ctx.workprec(BITS):
        if k <= 0:
            return arb(1)
        if k > n or q == 0:
            return arb(0)
        if q == 1:
            return arb(1)
        if k <= n * q:  # left of the mean the terms grow: sum the other side
            return 1 - binomial_tail(n, 1 - q, n - k + 1)
        odds = _ball(q / (1 - q))
        term = arb(fmpz.bin_uiui(n, k)) * _ball(q) ** k * _ball(1 - q) ** (n - k)
        total = term
        for j in range(k, n):
            ratio = odds * (n - j) / (j + 1)
            term = term * ratio
            total = total + term
            if j % 16 == 0 and term < total * arb(2) ** -120:
                rest = term * ratio / (1 - ratio)
                return total + rest.union(arb(0))
        return total


def deviation_tail(law: Law, n: int, radius: Any, candidates: int = 1) -> Enclosure:
    r"""$P(|\bar X_n-\mathbb EX|>\text{radius})$ for a law with at most two atoms, exactly.

    With `candidates` $M$, $\bar X_n$ is the smallest of $M$ independent sample means: what a selection on the sample
    returns.
    """
    if len(law.values) == 1:
        return Enclosure.exact(0)
    if len(law.values) != 2:
        raise ValueError(f"Exact tails are for at most two atoms, got {len(law.values)}.")
    with ctx.workprec(BITS):
        q = law.probabilities[-1]
        # K deviates from nq by more than this
        steps = radius * n / _ball(law.values[-1] - law.values[0])
        above = _ball(n * q) + steps
        below = _ball(n * (1 - q)) + steps
        bounds = []
        for up, down in ((above.upper(), below.upper()), (above.lower(), below.lower())):
            high = binomial_tail(n, q, _next(up))
            low = binomial_tail(n, 1 - q, _next(down))
            bounds.append(1 - (1 - low) ** candidates + high**candidates)
        lo, hi = (Enclosure.ball(bound) for bound in bounds)
    return Enclosure.between(max(lo.lo, 0.0), min(hi.hi, 1.0))


def _next(x: Any) -> int:
    """The least whole number above x (an exact ball)."""
    return int(x.floor().unique_fmpz()) + 1


def deviation_frequency(
    law: Law, rng: np.random.Generator, n: int, radius: float, trials: int, candidates: int = 1
) -> tuple[Enclosure, float]:
    """The same probability from an experiment of at most `trials` samples: Clopper–Pearson interval and frequency."""
    trials = max(20, min(trials, 4 * DRAWS // (len(law.values) * candidates)))
    means = law.sample_means(rng, n, trials * candidates).reshape(trials, candidates).min(1)
    exceeded = int((np.abs(means - float(law.mean)) > radius).sum())
    return binomial_interval(exceeded, trials), exceeded / trials


@dataclass(frozen=True, slots=True)
class Deviation:
    """One radius with the probability that it is exceeded: exact where the law has two atoms, and in an experiment."""

    name: str
    radius: Enclosure
    tail: Enclosure
    frequency: float
    z: float

    def trivial(self, bound: float) -> float:
        """What the tail cannot exceed anyway: nothing in [0, bound] deviates by more than `bound`."""
        return 0.0 if self.radius.lo >= bound else 1.0


def deviation(
    name: str,
    law: Law,
    n: int,
    radius: Any,
    rng: np.random.Generator,
    trials: int,
    candidates: int = 1,
) -> Deviation:
    """Exact tail (two atoms) or Clopper–Pearson interval, with the frequency and its z-score under the exact tail."""
    measured, frequency = deviation_frequency(law, rng, n, float(radius), trials, candidates)
    tail = deviation_tail(law, n, radius, candidates) if len(law.values) <= 2 else measured
    spread = sqrt(max(tail.middle * (1 - tail.middle), 0.0) / (measured.samples or 1))
    z = (frequency - tail.middle) / spread if spread > 0 and tail is not measured else 0.0
    return Deviation(name, Enclosure.ball(radius), tail, frequency, z)


def zero_one_law(outputs: Float[np.ndarray, "n *k"], labels: Real[np.ndarray, "n *l"]) -> Law:
    """The empirical law of the 0-1 loss.

    Several outputs predict the class of the largest, a single one predicts by its sign (labels in {0, 1} or {−1, 1}).
    Labels may be one-hot. An output that is not finite predicts nothing and is wrong.
    """
    outputs = outputs.reshape(len(outputs), -1)
    labels = labels.reshape(len(labels), -1)
    wanted = labels.argmax(1) if labels.shape[1] > 1 else labels[:, 0]
    predicted = (
        outputs.argmax(1)
        if outputs.shape[1] > 1
        else np.where(outputs[:, 0] > 0, 1, wanted.min(initial=0))
    )
    wrong = (predicted != wanted) | ~np.isfinite(outputs).all(1)
    return Law.of(wrong.astype(float).tolist(), [1.0] * len(wrong))


def risk_intervals(law: Law, n: int, delta: float, radius: Any) -> dict[str, Enclosure]:
    """What a 0-1 loss on n rows tells of the true risk, at confidence 1 − δ: Hoeffding's interval and the exact one."""
    rate = float(law.mean)
    return {
        "risk within (Hoeffding)": Enclosure.estimate(
            rate, float(radius), samples=n, confidence=1 - delta
        ),
        "risk within (Clopper–Pearson)": binomial_interval(round(rate * n), n, 1 - delta),
    }
