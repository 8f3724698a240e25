r"""Means and proportions with confidence intervals that hold at the number of draws at hand.

An interval for a mean needs to know something of the law of the draws: no interval from finitely many of them holds for
every law. What is known is said by the caller and printed with the interval:

- the draws are 0 or 1: `binomial_interval` (Clopper and Pearson);
- the draws lie in an interval: `mean(…, within=(a, b))`, by bets (`waudbysmith2024`);
- their variance is at most $v$: `mean(…, variance=v)`, by Catoni's influence function (`catoni2012`);
- nothing: `mean(…)`, by the central limit theorem. Its level is nominal, and the enclosure says so.
"""

from collections.abc import Callable
from math import log, sqrt

import numpy as np

from ftheta.lazy import special
from ftheta.logic.enclosure import Basis, Enclosure
from ftheta.shapes import Real

CONFIDENCE = 1 - 1e-6  # a Monte-Carlo statement in a report may be wrong once in a million runs
LIMIT_THEOREM = "by the central limit theorem, not guaranteed at this sample size"
STAKE = 0.75  # the largest share of a bettor's capital that one draw may cost


def mean(
    values: Real[np.ndarray, "n"],
    confidence: float = CONFIDENCE,
    *,
    within: tuple[float, float] | None = None,
    variance: float | None = None,
) -> Enclosure:
    r"""The mean of the law of independent draws, as well as what is known of that law allows.

    `within` is an interval that contains every draw, `variance` a bound of the variance. Without either the interval is
    $\bar x\pm t_{n-1}\,s/\sqrt n$, and its level only nominal.
    """
    draws = np.asarray(values, np.float64).ravel()
    n = draws.size
    if n < 2:
        raise ValueError(f"A mean with an error needs at least two draws, got {n}.")
    # where numbers overflowed on the way, draws or what bounds them, nothing is known of their mean
    seen = (
        within if within is not None else draws if variance is None else np.append(draws, variance)
    )
    if not np.isfinite(seen).all():
        return Enclosure(basis=Basis.SAMPLED, samples=n)
    if within is not None:
        return _bounded_mean(draws, within, confidence)
    if variance is not None:
        return _mean_given_variance(draws, variance, confidence)
    centre = float(draws.mean())
    error = float(special.stdtrit(n - 1, (1 + confidence) / 2) * deviation(draws) / sqrt(n))
    return Enclosure.approximate(
        centre, error, samples=n, nominal=confidence, assuming=LIMIT_THEOREM
    )


def deviation(draws: Real[np.ndarray, "n"]) -> float:
    r"""$\sqrt{\frac1{n-1}\sum(x_i-\bar x)^2}$ of draws of any size: they are brought into range by a power of two,
    which rounds nothing, that no square vanishes or overflows."""
    exponent = int(np.frexp(np.abs(draws).max())[1])
    return float(np.ldexp(np.ldexp(draws, -exponent).std(ddof=1), exponent))


def binomial_interval(successes: int, trials: int, confidence: float = CONFIDENCE) -> Enclosure:
    """The exact (Clopper–Pearson) interval of a proportion."""
    tail = (1 - confidence) / 2
    lo = (
        0.0
        if successes == 0
        else float(special.betaincinv(successes, trials - successes + 1, tail))
    )
    hi = (
        1.0
        if successes == trials
        else float(special.betainccinv(successes + 1, trials - successes, tail))
    )
    return Enclosure(lo, hi, Basis.SAMPLED, trials, confidence)


# -- draws in a known interval ---------------------------------------------------------------------


def _bounded_mean(draws: np.ndarray, within: tuple[float, float], confidence: float) -> Enclosure:
    """Each end by bets at half of the error probability, then moved outward by the rounding of float64."""
    a, b = within
    if not (np.isfinite([a, b]).all() and a <= draws.min() and draws.max() <= b):
        raise ValueError(f"Draws from {draws.min()} to {draws.max()} do not lie in [{a}, {b}].")
    assumed = f"draws in [{a:.6g}, {b:.6g}]"
    if a == b:
        return Enclosure(a, b, Basis.SAMPLED, draws.size, confidence, assuming=assumed)
    shares = np.clip((draws - a) / (b - a), 0.0, 1.0)
    tail = (1 - confidence) / 2
    from_below = a + (b - a) * _least_mean(shares, tail)
    from_above = b - (b - a) * _least_mean(1 - shares, tail)
    rounding = 4 * np.finfo(float).eps * max(abs(a), abs(b))
    # where the two have crossed, one of them is wrong
    lo = max(a, min(from_below, from_above) - rounding)
    hi = min(b, max(from_below, from_above) + rounding)
    return Enclosure(lo, hi, Basis.SAMPLED, draws.size, confidence, assuming=assumed)


def _least_mean(shares: np.ndarray, tail: float) -> float:
    r"""A number that the mean of draws $x_t\in[0,1]$ is below with probability at most `tail` $=\alpha$.

    A bettor who believes that the mean exceeds $m$ stakes $\lambda_t$, chosen before $x_t$ is seen: the capital
    $\prod_t(1+\lambda_t(x_t-m))$ is a non-negative martingale if the mean is $m$, so it reaches $1/\alpha$ with
    probability at most $\alpha$. Every $m$ at which it does is ruled out. The stakes
    $\lambda_t=\min(\sqrt{2\ln(1/\alpha)/(n\hat\sigma_{t-1}^2)},\,c/m)$ aim at the variance seen so far
    (`waudbysmith2024`); each factor, hence the capital, falls as $m$ grows, so the numbers ruled out end at one place.
    """
    n = shares.size
    count = np.arange(1, n + 1)
    running = (0.5 + np.cumsum(shares)) / (count + 1)
    spread = (0.25 + np.cumsum((shares - running) ** 2)) / (count + 1)
    before = np.concatenate([[0.25], spread[:-1]])  # known when the stake is chosen
    wanted = np.sqrt(2 * log(1 / tail) / (n * before))
    goal = log(1 / tail)

    def ruled_out(m: float) -> bool:
        stakes = np.minimum(wanted, STAKE / m)
        return bool(np.cumsum(np.log1p(stakes * (shares - m))).max() >= goal * (1 + 1e-9))

    lo = 0.0
    hi = 1.0
    while hi - lo > 1e-13 + 1e-6 * min(lo, 1 - hi):
        m = (lo + hi) / 2
        if ruled_out(m):
            lo = m
        else:
            hi = m
    return lo


# -- draws of bounded variance ---------------------------------------------------------------------


def _mean_given_variance(draws: np.ndarray, variance: float, confidence: float) -> Enclosure:
    r"""Every $m$ with $|\sum_i\psi(\alpha(x_i-m))|\le n\ln(1+\frac12\alpha^2v)+\ln\frac2\delta$.

    Catoni's $\psi(t)=\operatorname{sign}t\,\ln(1+|t|+t^2/2)$ lies between $-\ln(1-t+t^2/2)$ and $\ln(1+t+t^2/2)$, so at
    the true mean $\mathbb E\exp(\pm\sum_i\psi)\le(1+\alpha^2v/2)^n$, and Markov's inequality does the rest. The sum
    falls as $m$ grows: the $m$ are an interval. $\alpha=\sqrt{2\ln(2/\delta)/(nv)}$.
    """
    n = draws.size
    assumed = f"variance ≤ {variance:.6g}"
    if not (np.isfinite(variance) and variance >= 0):
        raise ValueError(f"A bound of the variance is a finite number from 0, got {variance}.")
    rounding = 8 * np.finfo(float).eps * float(np.abs(draws).max())
    if variance == 0:
        least = float(draws.min())
        largest = float(draws.max())
        return Enclosure(
            least - rounding, largest + rounding, Basis.SAMPLED, n, confidence, assuming=assumed
        )
    goal = log(2 / (1 - confidence))
    alpha = sqrt(2 * goal / (n * variance))
    allowed = (n * np.log1p(alpha**2 * variance / 2) + goal) * (1 + 1e-9)

    def tilt(m: float) -> float:
        t = alpha * (draws - m)
        return float((np.sign(t) * np.log1p(np.abs(t) + t**2 / 2)).sum())

    centre = float(draws.mean())
    step = sqrt(variance / n)
    lo = _first_beyond(lambda m: tilt(m) > allowed, centre, -step)
    hi = _first_beyond(lambda m: tilt(m) < -allowed, lo, step)
    return Enclosure(lo - rounding, hi + rounding, Basis.SAMPLED, n, confidence, assuming=assumed)


def _first_beyond(ruled_out: Callable[[float], bool], start: float, step: float) -> float:
    """A number that is ruled out, near the first one from `start` in the direction of `step`."""
    inner = start
    while not ruled_out(inner + step):
        inner += step
        step *= 2
    outer = inner + step
    while abs(outer - inner) > 1e-6 * abs(step) + 1e-15 * abs(outer):
        middle = (inner + outer) / 2
        if ruled_out(middle):
            outer = middle
        else:
            inner = middle
    return outer
