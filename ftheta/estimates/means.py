"""Means and proportions with confidence intervals."""

from math import sqrt

import numpy as np
from scipy import special

from ftheta.logic import Basis, Enclosure

CONFIDENCE = 1 - 1e-6  # a Monte-Carlo statement in a report may be wrong once in a million runs


def mean(values: np.ndarray, confidence: float = CONFIDENCE) -> Enclosure:
    r"""The mean of independent draws: $\bar x\pm t_{n-1}\,s/\sqrt n$ at the given confidence."""
    values = np.asarray(values, np.float64).ravel()
    n = values.size
    if n < 2:
        raise ValueError(f"A mean with an error needs at least two draws, got {n}.")
    quantile = special.stdtrit(n - 1, (1 + confidence) / 2)
    error = float(quantile * values.std(ddof=1) / sqrt(n))
    return Enclosure.estimate(float(values.mean()), error, samples=n, confidence=confidence)


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> Enclosure:
    """The exact (Clopper–Pearson) interval of a proportion."""
    tail = (1 - confidence) / 2
    lo = 0.0 if successes == 0 else float(special.betaincinv(successes, trials - successes + 1, tail))
    hi = 1.0 if successes == trials else float(special.betaincinv(successes + 1, trials - successes, 1 - tail))
    return Enclosure(lo, hi, Basis.SAMPLED, trials, confidence)
