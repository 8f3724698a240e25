r"""Upper bounds of the risk of one predictor that does not depend on the rows: a test set and what it tells.

The losses lie in $[0,1]$, their mean on $n$ independent rows is $R_n$, their variance $V$ and the sample variance
$V_n=\frac1{n-1}\sum_i(\ell_i-R_n)^2$. Each bound holds with probability at least $1-\delta$; with
$\Lambda=\ln\frac1\delta$

- Hoeffding: $R_n+\sqrt{\Lambda/2n}$;
- Chebyshev (Cantelli, $V\le\frac14$): $R_n+\sqrt{V(1-\delta)/(n\delta)}$;
- Bernstein: $R_n+\sqrt{2V\Lambda/n}+\Lambda/3n$, where $V$ or a bound of it is known; if not, $V\le R$, and
  $R\le R_n+\sqrt{2R\Lambda/n}+\Lambda/3n$ is solved for $R$;
- empirical Bernstein (`maurer2009`): $R_n+\sqrt{2V_n\ln(2/\delta)/n}+\frac{7\ln(2/\delta)}{3(n-1)}$;
- Chernoff: $\mathrm{kl}^{-1}(R_n,\Lambda/n)$;
- Clopper–Pearson, for losses 0 and 1: the largest $p$ with $P(\mathrm{Bin}(n,p)\le nR_n)\ge\delta$, which is exact.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from flint import ctx  # type: ignore[import-untyped]
from scipy.special import betaincinv

from ftheta.estimates.concentration import binomial_tail
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.shapes import Real

from .balls import BITS, above, ball, check_probability, kl_inverse, log_over

QUARTER = Fraction(1, 4)


def mean_and_variance(losses: Real[np.ndarray, "n"]) -> tuple[Fraction, Fraction]:
    r"""$R_n$ and $V_n$ (0 for a single row), exactly."""
    values, counts = np.unique(np.asarray(losses, np.float64), return_counts=True)
    if not len(values) or values[0] < 0 or values[-1] > 1 or not np.isfinite(values).all():
        got = (
            f"{len(values)} of them" if not len(values) else f"from {values[0]:g} to {values[-1]:g}"
        )
        raise SubjectError(
            "The losses must lie between 0 and 1.", got=got, remedy="clip and rescale the loss"
        )
    pairs = [(Fraction(v), int(c)) for v, c in zip(values.tolist(), counts)]
    n = sum(c for _, c in pairs)
    mean = sum((c * v for v, c in pairs), Fraction(0)) / n
    squares = sum((c * (v - mean) ** 2 for v, c in pairs), Fraction(0))
    return mean, squares / (n - 1) if n > 1 else Fraction(0)


def _check(mean: Fraction, n: int) -> None:
    if not (0 <= mean <= 1 and n >= 1):
        got = f"mean loss {float(mean):g} of {n} rows"
        remedy = "clip and rescale the loss"
        raise UsageError(
            "The bound is about losses between 0 and 1 of at least one row.", got=got, remedy=remedy
        )


def hoeffding(mean: Fraction, n: int, delta: float) -> float:
    r"""$\bar\ell+\sqrt{\ln(1/\delta)/2n}$ for the mean loss $\bar\ell$ of $n$ rows, losses in $[0,1]$."""
    _check(mean, n)
    with ctx.workprec(BITS):
        return above(ball(mean) + (log_over(delta) / (2 * n)).sqrt())


def chebyshev(mean: Fraction, n: int, delta: float, variance: Fraction = QUARTER) -> float:
    """One-sided, by Cantelli; no loss in [0, 1] has a larger variance than ¼."""
    _check(mean, n)
    d = Fraction(check_probability(delta))
    with ctx.workprec(BITS):
        return above(ball(mean) + ball(variance * (1 - d) / (n * d)).sqrt())


def bernstein(mean: Fraction, n: int, delta: float, variance: Fraction | None = None) -> float:
    r"""$\bar\ell+\sqrt{2v\ln(1/\delta)/n}+\frac{\ln(1/\delta)}{3n}$ for a loss of variance at most $v$; without
    `variance` the risk itself bounds it, and the quadratic inequality is solved."""
    _check(mean, n)
    with ctx.workprec(BITS):
        logarithm = log_over(delta)
        if variance is None:
            a = (2 * logarithm / n).sqrt()
            b = ball(mean) + logarithm / (3 * n)
            return above(((a + (a**2 + 4 * b).sqrt()) / 2) ** 2)
        return above(ball(mean) + (2 * ball(variance) * logarithm / n).sqrt() + logarithm / (3 * n))


def empirical_bernstein(mean: Fraction, n: int, delta: float, sample_variance: Fraction) -> float:
    r"""$\bar\ell+\sqrt{2\hat v\ln(2/\delta)/n}+\frac{7\ln(2/\delta)}{3(n-1)}$ with the unbiased variance $\hat v$ of
    the losses (Maurer and Pontil); infinite for one row."""
    _check(mean, n)
    if n < 2:
        return float("inf")
    with ctx.workprec(BITS):
        logarithm = log_over(delta, 2)
        spread = (2 * ball(sample_variance) * logarithm / n).sqrt()
        return above(ball(mean) + spread + 7 * logarithm / (3 * (n - 1)))


def chernoff(mean: Fraction, n: int, delta: float) -> float:
    r"""$\mathrm{kl}^{-1}(\bar\ell,\ln(1/\delta)/n)$."""
    _check(mean, n)
    with ctx.workprec(BITS):
        return kl_inverse(mean, log_over(delta) / n)


def clopper_pearson(errors: int, n: int, delta: float) -> float:
    """The exact upper bound of a proportion, confirmed in ball arithmetic: P(Bin(n, p) ≤ errors) < δ at the result."""
    if not 0 <= errors <= n or n < 1:
        raise UsageError("A proportion needs 0 ≤ errors ≤ n.", got=f"errors = {errors}, n = {n}")
    if errors == n:
        return 1.0
    guess = float(betaincinv(errors + 1, n - errors, 1 - check_probability(delta)))
    for slack in (1e-13, 1e-10, 1e-7, 1e-4, 1e-2):
        p = min(1.0, guess + slack * (1 - guess))
        if _surely_below(errors, n, Fraction(p), delta):
            return p
    return 1.0


def _surely_below(errors: int, n: int, p: Fraction, delta: float) -> bool:
    with ctx.workprec(BITS):
        tail: Any = binomial_tail(n, 1 - p, n - errors)  # at least n − errors rows are right
        return bool(tail < ball(delta))
