"""Uniform convergence tried out: random classes against Sauer and Shelah, coins against the union bound, half-lines
against the VC radius."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from flint import ctx  # type: ignore[import-untyped]

from ftheta.estimates.concentration import Law, deviation_tail
from ftheta.logic import Enclosure
from ftheta.risks.bounds.balls import BITS, ball
from ftheta.risks.bounds.uniform import uniform_coverage

from .shattering import cover_count, sauer_shelah, vc_dimension

TRIALS = 400


@dataclass(frozen=True)
class Setting:
    """Sample size `n`, failure probability `delta`, a class of `hypotheses` predictors, the `radius` wanted of it,
    and the `norm` of a ball of linear functions."""

    n: int
    delta: float
    hypotheses: int
    radius: float
    norm: float


def largest_sauer_ratio(rng: np.random.Generator, classes: int, points: int = 6) -> float:
    """The number of patterns over Sauer and Shelah's bound for their VC dimension, at worst over random classes."""
    worst = 0.0
    for _ in range(classes):
        patterns = rng.random((rng.integers(1, 2**points), points)) < rng.random()
        size = len(np.unique(patterns, axis=0))
        worst = max(worst, size / sauer_shelah(points, vc_dimension(patterns)))
    return worst


def largest_distance_from_half(dimensions: int) -> Fraction:
    """Of 2d points, halfspaces through 0 make half of all labellings: how far from it for d up to `dimensions`."""
    half = Fraction(1, 2)
    return max(abs(Fraction(cover_count(2 * d, d), 4**d) - half) for d in range(1, dimensions + 1))


def probability_that_one_strays(setting: Setting, rows: int) -> Enclosure:
    """The exact probability that one of so many independent fair coins strays by the radius in `rows` throws."""
    coin = Law.of([0.0, 1.0], [0.5, 0.5])
    with ctx.workprec(BITS):
        one = ball(deviation_tail(coin, rows, ball(setting.radius)))
        return Enclosure.ball(1 - (1 - one) ** setting.hypotheses)


@dataclass(frozen=True, eq=False)
class Coverage:
    """In how many `trials` some half-line strays by more than the VC radius, and the largest deviation of each."""

    exceeded: int
    trials: int
    deviations: np.ndarray


def try_half_lines(setting: Setting, rng: np.random.Generator) -> Coverage:
    """Samples of the uniform distribution, and the largest deviation over all half-lines."""
    trials = max(40, min(TRIALS, 4_000_000 // setting.n))
    exceeded, deviations = uniform_coverage(setting.n, setting.delta, trials, rng)
    return Coverage(exceeded, trials, deviations)
