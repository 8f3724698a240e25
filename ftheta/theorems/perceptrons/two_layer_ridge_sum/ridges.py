r"""Sums of ridge functions $\sum_sa_s\sigma(\langle x,w_s\rangle+b_s)$ with random $(w_s,b_s)$ and the best $a$."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import fsum, sqrt, ulp
from typing import Any

import jax.numpy as jnp
import numpy as np
from flint import arb, arb_mat, ctx

from ftheta.logic import AtMost, Axis, Chart, Curves, Enclosure, Heatmap, Identity, Series, SubjectError, Witness
from ftheta.networks.activations import activation
from ftheta.relu.line.cpa1d import PiecewiseAffine, affine, combination, relu
from ftheta.relu.line.points import square_error
from ftheta.subjects.values import POINTS

PANELS = (6, 30, 100)  # the numbers of terms that the seed draws
STEEPNESS = 3.0
SOLVES = 100  # least-squares problems at most
BLOCK = 256
DEPENDENT = 1e-7  # a term is left out when all but this part of it is spanned by the ones before
TOLERANCE = 1e-7  # of the residual's products with the terms, some of which were left out

BITS = 1024  # of the balls in which least squares are solved again
WEIGHTED = 8  # terms whose best weights are found in balls to bound the error of the best weights of all


@dataclass(frozen=True, eq=False)
class Ridges:
    """Directions $w_s$ (one a row) and offsets $b_s$."""

    directions: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets)

    def __call__(self, x: np.ndarray, word: str) -> np.ndarray:
        """One column a term, one row a point."""
        inner = np.zeros((len(x), -(-len(self) // BLOCK) * BLOCK))  # JAX compiles one program a shape
        inner[:, : len(self)] = x @ self.directions.T + self.offsets
        return np.asarray(activation(word).function(jnp.asarray(inner)))[:, : len(self)]

    def begins(self, other: "Ridges") -> bool:
        """Whether these are the first terms of the other, bit for bit."""
        p = len(self)
        same = np.array_equal(self.directions, other.directions[:p])
        return p <= len(other) and same and np.array_equal(self.offsets, other.offsets[:p])


Draw = Callable[[int], Ridges]


def drawn(rng: np.random.Generator, terms: int, dimension: int) -> Ridges:
    r"""Gaussian directions and creases through uniform points of $[-1,1]^d$. The numbers of a term are drawn together,
    so that from the same seed fewer terms are the first of more."""
    from scipy.special import ndtri  # here, because it is slow to import

    u = rng.random((terms, 2 * dimension))
    w = STEEPNESS * ndtri(np.clip(u[:, :dimension], 1e-12, 1 - 1e-12))
    return Ridges(w, -np.sum(w * (2 * u[:, dimension:] - 1), axis=1))


def sizes(terms: int) -> list[int]:
    """The numbers of terms that are tried: all of them, or as many as are affordable, the seed's among them."""
    some = {round(float(p)) for p in np.linspace(1, terms, min(terms, SOLVES))}
    return sorted(some | {p for p in PANELS if p <= terms} | {terms})


def rescale_to_cube(x: np.ndarray) -> np.ndarray:
    r"""The points moved and stretched into $[-1,1]^d$."""
    lo = x.min(axis=0)
    hi = x.max(axis=0)
    return (2 * x - lo - hi) / np.where(hi > lo, hi - lo, 1.0)


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
class Study:
    r"""Best fits for more and more terms.

    `size` is the root mean square of $y$, `growth` the largest step upwards of the error, `correlation` the largest
    $|\langle\phi_s,r\rangle|/(\|\phi_s\|\|y\|)$ of the residual $r$ at the last, `bare` the error without weights.
    """

    fits: dict[int, Fit]
    last: Ridges
    size: float
    growth: float
    correlation: float
    bare: float
    grows: Witness | None = None
    bare_again: Witness | None = None

    @property
    def errors(self) -> list[float]:
        return [fit.error for fit in self.fits.values()]

    @property
    def shown(self) -> dict[str, float]:
        chosen = sorted({p for p in PANELS if p in self.fits} | {max(self.fits)})
        return {f"error at p = {p}": self.fits[p].error for p in chosen}

    @property
    def claims(self) -> tuple[AtMost, Identity]:
        zero = Enclosure.exact(0)
        most = max(self.fits)
        what = f"largest growth of the error from p to more, up to {most}"
        slack = 1e-9 * self.size
        along = Enclosure.equal(self.correlation)
        return (
            AtMost(what, Enclosure.equal(self.growth), zero, witness=self.grows, atol=slack),
            Identity("largest ⟨term, residual⟩ of the best weights", along, zero, atol=TOLERANCE),
        )

    @property
    def misprint(self) -> AtMost:
        best = Enclosure.equal(self.fits[max(self.fits)].error)
        what = "error without output weights ≤ error with them"
        return AtMost(what, Enclosure.equal(self.bare), best, witness=self.bare_again)


def study(draw: Draw, x: np.ndarray, y: np.ndarray, terms: int, word: str) -> Study:
    """Fits for every number of terms tried; `draw(p)` gives p terms."""
    if not np.isfinite(y).all():
        raise SubjectError("The values to fit must be finite.", got=f"{np.count_nonzero(~np.isfinite(y))} that are not")
    inside = rescale_to_cube(x)
    last = draw(terms)
    fits = {p: fit_output_weights(draw(p)(inside, word), y) for p in sizes(terms)}
    errors = [fit.error for fit in fits.values()]
    features = last(inside, word)
    norms = np.linalg.norm(features, axis=0) * float(np.linalg.norm(y))
    products = np.abs(features.T @ (fits[terms].values - y)) / np.where(norms > 0, norms, 1.0)
    steps = [(p, q) for p, q in pairwise(fits) if fits[q].error > 1.01 * fits[p].error + 1e-9 * float(np.abs(y).max())]
    witness = None
    if steps:
        few, more = ((p, draw(p)(inside, word)) for p in steps[0])
        witness = _growth_again(few, more, y)
    return Study(
        fits,
        last,
        sqrt(float(np.mean(y**2))),
        max((b - a for a, b in pairwise(errors)), default=0.0),
        float(products.max()),
        sqrt(float(np.mean((features.sum(axis=1) - y) ** 2))),
        witness,
        _bare_again(features, y),
    )


def _growth_again(few: tuple[int, np.ndarray], more: tuple[int, np.ndarray], y: np.ndarray) -> Witness:
    """The least errors with fewer and with more terms, for the values of the terms as they are stored, in balls."""
    with ctx.workprec(BITS):
        errors = [_least_error(features, y) for _, features in (few, more)]
    growth = Enclosure.unknown() if None in errors else Enclosure.ball(errors[1] - errors[0])
    at = {"p": float(few[0]), "more": float(more[0])}
    return Witness(at, growth, Enclosure.exact(0), "least squares in balls")


def _bare_again(features: np.ndarray, y: np.ndarray) -> Witness:
    """The error of the sum of all terms, and an upper bound of that with the best weights: the best of a few terms."""
    few = features[:, :WEIGHTED]
    with ctx.workprec(BITS):
        sums = [fsum(row) for row in features.tolist()]  # rounded once
        off = arb_mat([[arb(total, ulp(total)) - float(v)] for total, v in zip(sums, y)])
        bare = ((off.transpose() * off)[0, 0] / len(y)).sqrt()
        best = _least_error(few, y)
    most = Enclosure.unknown() if best is None else Enclosure.between(0.0, Enclosure.ball(best).hi)
    return Witness({"terms": float(few.shape[1])}, Enclosure.ball(bare), most, "least squares in balls")


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


def constant_across(ridges: Ridges) -> Identity:
    r"""Along $v=w_{j+1}e_j-w_je_{j+1}$ (a basis where no $w_j=0$), $\langle w,v\rangle=0$: every term, in rationals."""
    worst = Fraction(0)
    for row in ridges.directions.tolist():
        w = [Fraction(t) for t in row]
        for j, (a, b) in enumerate(pairwise(w)):
            v = {j: b, j + 1: -a}
            worst = max(worst, abs(sum(w[k] * v[k] for k in v)))
    what = f"change of ⟨x, w⟩ along its hyperplanes, {len(ridges)} terms"
    return Identity(what, Enclosure.exact(worst), Enclosure.exact(0))


def square_interpolant(cells: int) -> PiecewiseAffine:
    r"""$\frac1nr(x)+\frac2n\sum_{0<s<n}r(x-\frac sn)$, which is $x^2$ at the points $\frac sn$ of $[0,1]$."""
    n = Fraction(cells)
    return combination([((2 if s else 1) / n, relu(affine(1, -s / n))) for s in range(cells)])


def interpolation_error(cells: int) -> tuple[Identity, Enclosure]:
    r"""That $4n^2\sup|x^2-f|=1$, in rationals; and the supremum."""
    sup = square_error(square_interpolant(cells), cells)
    what = f"4n² sup |x² − interpolation|, n = {cells}"
    return Identity(what, Enclosure.exact(4 * cells**2 * sup), Enclosure.exact(1)), Enclosure.exact(sup)


def charts(x: np.ndarray, y: np.ndarray, study: Study) -> list[Chart]:
    """The seed's panels in one or two dimensions, and the error against the number of terms."""
    fits = study.fits
    shown = [q for q in PANELS if q in fits] or [max(fits)]
    floor = 1e-16 * max(float(np.abs(y).max()), 1e-300)
    curve = Series("root mean square error", list(fits), np.maximum(study.errors, floor))
    found: list[Chart] = [Curves("more terms are never worse", Axis("terms p", "log"), Axis("error", "log"), (curve,))]
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0])
        t = x[order, 0]
        target = Series("target", x[order, 0], y[order], "reference")
        series = [Series(f"p = {q}", t, fits[q].values[order], "other") for q in shown[:-1]]
        series.append(Series(f"p = {shown[-1]}", t, fits[shown[-1]].values[order]))
        found.insert(0, Curves("sums of ridge functions", Axis("x"), Axis("value"), (target, *series)))
    if x.shape[1] == 2 and len(x) == POINTS[2] ** 2:
        side = POINTS[2]
        extent = (*np.sort(x[:, 0])[[0, -1]].tolist(), *np.sort(x[:, 1])[[0, -1]].tolist())
        for name, values in [("target", y), *((f"p = {q}", fits[q].values) for q in shown)]:
            found.append(Heatmap(name, Axis("x₁"), Axis("x₂"), values.reshape(side, side).T, extent, "value"))
    return found
