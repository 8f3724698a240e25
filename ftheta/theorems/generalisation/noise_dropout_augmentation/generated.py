r"""Training on generated data: what the rows of a generator cost in bias and gain in variance.

Least squares with $p$ columns on $n$ rows $y=Xw^*+\sigma\epsilon$, and on $c$ further copies of the inputs whose
targets $Xv+\sigma\epsilon'$ a generator makes. The fit to all of them is $\frac{\hat w+c\hat v}{1+c}$, so that with
$\Delta=\frac1n\|X(v-w^*)\|^2$ the excess risk $\frac1n\|X(w-w^*)\|^2$ is on average
$$\frac{p\sigma^2}n\frac1{1+c}+\Big(\frac c{1+c}\Big)^2\Delta,\qquad
\frac{p\sigma^2}n\Big(1+\frac c{(1+c)^2}\Big)\text{ if }v=\hat w\text{ is fitted to the same rows.}$$
The first is below $\frac{p\sigma^2}n$, the excess risk without generated rows, exactly if
$\Delta<\frac{p\sigma^2}n\frac{1+c}c$; the second never is.
"""

from fractions import Fraction
from itertools import product
from math import sqrt
from typing import Any

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import Axis, Claim, Curves, Enclosure, Examples, Identity, Series
from ftheta.risks.averages import fractions

COPIES = (0, 1, 2, 4, 8, 16, 32)
OFF = 0.5  # Δ of a generator that is a little wrong, in units of pσ²/n
DRAWS = 400
OWN = "fitted to the same rows"
GENERATORS = {"the law itself": 0.0, "a little wrong": OFF, "very wrong": 4.0}


def excess(p: int, n: int, variance: Any, copies: Any, off: Any) -> Any:
    r"""$\frac{p\sigma^2}n\frac1{1+c}+(\frac c{1+c})^2\Delta$."""
    return p * variance / (n * (1 + copies)) + (copies / (1 + copies)) ** 2 * off


def excess_of_own(p: int, n: int, variance: Any, copies: Any) -> Any:
    r"""$\frac{p\sigma^2}n(1+\frac c{(1+c)^2})$: the generator is the fit to the real rows."""
    return p * variance / n * (1 + copies / (1 + copies) ** 2)


def excess_by_signs(X: np.ndarray, wrong: np.ndarray | None, sigma: Fraction) -> Fraction:
    r"""The mean over all signs of the noise $\pm\sigma$, with one copy, in fractions.

    `wrong` is $v-w^*$, or None for a generator that is fitted to the same rows.
    """
    n = len(X)
    hat = _hat_matrix(X)
    total = Fraction(0)
    for signs in product((-sigma, sigma), repeat=2 * n):
        real = hat @ np.array(signs[:n], dtype=object)
        made = hat @ np.array(signs[n:], dtype=object)
        made = made + (real if wrong is None else X @ wrong)
        error = (real + made) / 2
        total += (error**2).sum()
    return total / (n * 4**n)


def draw_excess(
    X: np.ndarray, shift: np.ndarray | None, copies: int, rng: np.random.Generator
) -> np.ndarray:
    r"""Excess risks of drawn trainings, $\sigma=1$; `shift` is $X(v-w^*)$, None for a generator fitted to the rows."""
    n, p = X.shape
    basis = np.linalg.qr(X)[0]
    real = rng.normal(size=(DRAWS, p)) @ basis.T
    made = rng.normal(size=(DRAWS, p)) / sqrt(max(copies, 1)) @ basis.T
    made += real if shift is None else shift
    return ((real + copies * made) ** 2).sum(1) / (1 + copies) ** 2 / n


def show_generated_rows(rng: np.random.Generator) -> Examples:
    """Both formulas summed up over all signs of the noise, and against drawn trainings."""
    X = rng.normal(size=(30, 4))
    n, p = X.shape
    claims = _claim_formulas()
    c = 4
    for name, off in GENERATORS.items():
        shift = _shift(X, off * p / n)
        variance = (2 * p / (1 + c) ** 2 + 4 / (1 + c) * (c / (1 + c)) ** 2 * off * p) / n**2
        drawn = mean(draw_excess(X, shift, c, rng), variance=variance)
        formula = Enclosure.equal(excess(p, n, 1.0, c, off * p / n))
        what = (
            f"generated rows, generator: {name}; excess risk with {c} copies, and the mean of draws"
        )
        claims.append(Identity(what, formula, drawn))
    return Examples(tuple(claims), (_draw_risks(X, rng),), numbers=_numbers())


def _claim_formulas() -> list[Claim]:
    """Three rows of small integers with two columns, one copy, noise ±1/2, in fractions."""
    X = fractions(np.array([[1, 0], [1, 1], [1, 3]]))
    wrong = fractions(np.array([1, -1])) / 3
    sigma = Fraction(1, 2)
    off = ((X @ wrong) ** 2).sum() / 3
    one = Fraction(1)
    formula = excess(2, 3, sigma**2, one, off)
    own = excess_of_own(2, 3, sigma**2, one)
    zero = Enclosure.exact(0)
    known = {
        "generated rows, a given generator: Σ over signs − formula": excess_by_signs(
            X, wrong, sigma
        )
        - formula,
        f"generated rows, a generator {OWN}: Σ over signs − formula": excess_by_signs(
            X, None, sigma
        )
        - own,
    }
    return [Identity(what, Enclosure.exact(value), zero) for what, value in known.items()]


def _numbers() -> dict[str, Enclosure | float]:
    """Shares of pσ²/n, the excess risk without generated rows, with four copies."""
    four = Fraction(4)
    one = Fraction(1)
    return {
        "4 generated copies, no bias: share of the excess risk": Enclosure.exact(
            excess(1, 1, one, four, Fraction(0))
        ),
        f"4 generated copies, {OWN}: share of the excess risk": Enclosure.exact(
            excess_of_own(1, 1, one, four)
        ),
    }


def _draw_risks(X: np.ndarray, rng: np.random.Generator) -> Curves:
    n, p = X.shape
    series = []
    copies = np.array(COPIES)
    for name, off in GENERATORS.items():
        formula = excess(p, n, 1.0, copies, off * p / n)
        shift = _shift(X, off * p / n)
        measured = [draw_excess(X, shift, c, rng).mean() for c in COPIES]
        series.append(Series(f"formula: {name}", copies, formula, "bound"))
        series.append(Series(name, copies, measured, "measured", "points"))
    measured = [draw_excess(X, None, c, rng).mean() for c in COPIES]
    series.append(Series(f"formula: {OWN}", copies, excess_of_own(p, n, 1.0, copies), "bound"))
    series.append(Series(OWN, copies, measured, "measured", "points"))
    title = "training on generated rows"
    return Curves(
        title, Axis("generated rows per real row"), Axis("excess risk / σ²"), tuple(series)
    )


def _shift(X: np.ndarray, off: float) -> np.ndarray:
    """$X(v-w^*)$ along the first column, with $\\Delta$ = `off`."""
    return X[:, 0] * sqrt(off * len(X)) / np.linalg.norm(X[:, 0])


def _hat_matrix(X: np.ndarray) -> np.ndarray:
    """$X(X^\\top X)^{-1}X^\\top$ of two columns, in fractions."""
    (a, b), (_, d) = X.T @ X
    inverse = np.array([[d, -b], [-b, a]], dtype=object) / (a * d - b * b)
    return X @ inverse @ X.T
