"""Least squares in the output weights for more and more terms."""

from dataclasses import dataclass
from itertools import pairwise
from math import fsum, sqrt, ulp
from typing import Any

import numpy as np
from flint import arb, arb_mat, ctx

from ftheta.logic import Enclosure, SubjectError

from .ridges import Draw, Ridges, rescale_to_cube

PANELS = (6, 30, 100)  # the numbers of terms that the seed draws
SOLVES = 100  # least-squares problems at most
DEPENDENT = 1e-7  # a term is left out when all but this part of it is spanned by the ones before
BITS = 1024  # of the balls in which least squares are solved again
# terms whose best weights are found in balls to bound the error of the best weights of all
WEIGHTED = 8


def choose_sizes(terms: int) -> list[int]:
    """The numbers of terms that are tried: all of them, or as many as are affordable, the seed's among them."""
    some = {round(float(p)) for p in np.linspace(1, terms, min(terms, SOLVES))}
    return sorted(some | {p for p in PANELS if p <= terms} | {terms})


@dataclass(frozen=True, eq=False)
class Fit:
    """The values of the best sum of so many terms, and its root mean square error on the points."""

    values: np.ndarray
    error: float


def fit_output_weights(features: np.ndarray, y: np.ndarray) -> Fit:
    r"""Least squares in the output weights: $y$ projected on the span of the columns.

    An orthonormal basis is built column by column (Gram and Schmidt, twice); columns that depend on the ones before are
    left out. Solving for the weights themselves would lose digits where two terms are almost the same.
    """
    basis = np.empty((len(y), min(features.shape)))
    kept = 0
    for column in features.T:
        norm = float(np.linalg.norm(column))
        if kept == basis.shape[1] or not norm > 0:
            continue
        q = column / norm
        before = basis[:, :kept]
        for _ in range(2):
            q = q - before @ (before.T @ q)
        rest = float(np.linalg.norm(q))
        if rest > DEPENDENT:
            basis[:, kept] = q / rest
            kept += 1
    values = basis[:, :kept] @ (basis[:, :kept].T @ y)
    return Fit(values, sqrt(float(np.mean((values - y) ** 2))))


@dataclass(frozen=True, eq=False)
class Growth:
    """A step from few to more terms at which the least error grows, the growth enclosed in balls."""

    few: int
    more: int
    enclosure: Enclosure


@dataclass(frozen=True, eq=False)
class Fits:
    r"""Best fits for more and more terms.

    `size` is the root mean square of $y$, `growth` the largest step upwards of the error, `correlation` the largest
    $|\langle\phi_s,r\rangle|/(\|\phi_s\|\|y\|)$ of the residual $r$ at the last, `bare` the error without weights.
    `grows` is the first step at which the error grows by more than rounding. `bare_ball` and `best_ball` enclose the
    error without weights and that with the best ones, of `WEIGHTED` terms at least.
    """

    fits: dict[int, Fit]
    last: Ridges
    size: float
    growth: float
    correlation: float
    bare: float
    grows: Growth | None
    bare_ball: Enclosure
    best_ball: Enclosure

    @property
    def errors(self) -> list[float]:
        return [fit.error for fit in self.fits.values()]

    @property
    def most(self) -> int:
        """The largest number of terms."""
        return max(self.fits)

    @property
    def panels(self) -> dict[str, float]:
        """The errors at the seed's numbers of terms and at the largest one."""
        chosen = sorted({p for p in PANELS if p in self.fits} | {self.most})
        return {f"error at p = {p}": self.fits[p].error for p in chosen}


def fit_more_and_more(draw: Draw, x: np.ndarray, y: np.ndarray, terms: int, word: str) -> Fits:
    """Fits for every number of terms tried; `draw(p)` gives p terms."""
    if not np.isfinite(y).all():
        raise SubjectError(
            "The values to fit must be finite.",
            got=f"{np.count_nonzero(~np.isfinite(y))} that are not",
        )
    inside = rescale_to_cube(x)
    last = draw(terms)
    fits = {p: fit_output_weights(draw(p)(inside, word), y) for p in choose_sizes(terms)}
    errors = [fit.error for fit in fits.values()]
    features = last(inside, word)
    norms = np.linalg.norm(features, axis=0) * float(np.linalg.norm(y))
    products = np.abs(features.T @ (fits[terms].values - y)) / np.where(norms > 0, norms, 1.0)
    slack = 1e-9 * float(np.abs(y).max())
    steps = [(p, q) for p, q in pairwise(fits) if fits[q].error > 1.01 * fits[p].error + slack]
    grows = None
    if steps:
        few, more = steps[0]
        enclosure = _enclose_growth(draw(few)(inside, word), draw(more)(inside, word), y)
        grows = Growth(few, more, enclosure)
    return Fits(
        fits,
        last,
        sqrt(float(np.mean(y**2))),
        max((b - a for a, b in pairwise(errors)), default=0.0),
        float(products.max()),
        sqrt(float(np.mean((features.sum(axis=1) - y) ** 2))),
        grows,
        *_enclose_bare_and_best(features, y),
    )


def _enclose_growth(few: np.ndarray, more: np.ndarray, y: np.ndarray) -> Enclosure:
    """By how much the least error with more terms exceeds that with few, for the stored values of the terms."""
    with ctx.workprec(BITS):
        before = _least_error(few, y)
        after = _least_error(more, y)
        return (
            Enclosure.unknown()
            if before is None or after is None
            else Enclosure.ball(after - before)
        )


def _enclose_bare_and_best(features: np.ndarray, y: np.ndarray) -> tuple[Enclosure, Enclosure]:
    """The error of the sum of all terms, and an upper bound of that with the best weights: the best of a few terms."""
    with ctx.workprec(BITS):
        sums = [fsum(row) for row in features.tolist()]  # rounded once
        off = arb_mat([[arb(total, ulp(total)) - float(v)] for total, v in zip(sums, y)])
        bare = ((off.transpose() * off)[0, 0] / len(y)).sqrt()
        best = _least_error(features[:, :WEIGHTED], y)
    most = Enclosure.unknown() if best is None else Enclosure.between(0.0, Enclosure.ball(best).hi)
    return Enclosure.ball(bare), most


def _least_error(features: np.ndarray, y: np.ndarray) -> Any:
    """The root mean square of what no sum of the columns reaches; None where they depend on one another."""
    F = arb_mat(features.tolist())
    target = arb_mat([[float(v)] for v in y])
    right = F.transpose() * target
    try:
        weights = (F.transpose() * F).solve(right)
    except ZeroDivisionError:
        return None
    square = (target.transpose() * target - right.transpose() * weights)[0, 0]
    return (square / len(y)).max(0).sqrt()
