r"""Sums of ridge functions $\sum_sa_s\sigma(\langle x,w_s\rangle+b_s)$ with random $(w_s,b_s)$ and the best $a$."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

import jax.numpy as jnp
import numpy as np

from ftheta.logic import Axis, Chart, Curves, Enclosure, Heatmap, Identity, Series
from ftheta.networks.activations import activation

from .cpa1d import PiecewiseAffine, affine, combination, relu

PANELS = (6, 30, 100)  # the numbers of terms that the seed draws
STEEPNESS = 3.0
POINTS = {1: 401, 2: 29}  # of the grid, along every axis
ROWS = 1500  # in more dimensions, or of a dataset
SOLVES = 120  # least-squares problems at most


@dataclass(frozen=True, eq=False)
class Ridges:
    """Directions $w_s$ (one a row) and offsets $b_s$."""

    directions: np.ndarray
    offsets: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets)

    def __call__(self, x: np.ndarray, word: str) -> np.ndarray:
        """One column a term, one row a point."""
        return np.asarray(activation(word).function(jnp.asarray(x @ self.directions.T + self.offsets)))

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
    some = {int(round(p)) for p in np.linspace(1, terms, min(terms, SOLVES))}
    return sorted(some | {p for p in PANELS if p <= terms} | {terms})


def grid(lo: Sequence[float], hi: Sequence[float]) -> np.ndarray:
    """Points of the box, one a row: a grid in one or two dimensions, else uniform ones."""
    lo, hi = np.asarray(lo, float), np.asarray(hi, float)
    if len(lo) not in POINTS:
        return lo + (hi - lo) * np.random.default_rng(0).random((ROWS, len(lo)))
    axes = [np.linspace(a, b, POINTS[len(lo)]) for a, b in zip(lo, hi)]
    return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(lo))


def centred(x: np.ndarray) -> np.ndarray:
    r"""The points moved and stretched into $[-1,1]^d$."""
    lo, hi = x.min(axis=0), x.max(axis=0)
    return (2 * x - lo - hi) / np.where(hi > lo, hi - lo, 1.0)


@dataclass(frozen=True, eq=False)
class Fit:
    """The best output weights for so many terms, the values, and the root mean square error on the points."""

    weights: np.ndarray
    values: np.ndarray
    error: float


def fitted(features: np.ndarray, y: np.ndarray) -> Fit:
    """Least squares in the output weights, every column first scaled to norm 1."""
    norms = np.linalg.norm(features, axis=0)
    scaled = features / np.where(norms > 0, norms, 1.0)
    a = np.linalg.lstsq(scaled, y, rcond=1e-15)[0] / np.where(norms > 0, norms, 1.0)
    values = features @ a
    return Fit(a, values, sqrt(float(np.mean((values - y) ** 2))))


def fits(draw: Draw, x: np.ndarray, y: np.ndarray, terms: int, word: str) -> dict[int, Fit]:
    """The best fit for every number of terms tried; `draw(p)` gives the terms."""
    inside = centred(x)
    return {p: fitted(draw(p)(inside, word), y) for p in sizes(terms)}


def largest_increase(errors: Sequence[float]) -> float:
    """The largest step upwards; at most 0 for errors that never grow."""
    return max((b - a for a, b in zip(errors, errors[1:])), default=0.0)


def correlation(features: np.ndarray, residual: np.ndarray, y: np.ndarray) -> float:
    r"""$\max_s|\langle\phi_s,r\rangle|/(\|\phi_s\|\|y\|)$, which vanishes for the best output weights."""
    norms = np.linalg.norm(features, axis=0) * max(float(np.linalg.norm(y)), 1e-300)
    return float(np.max(np.abs(features.T @ residual) / np.where(norms > 0, norms, 1.0)))


def constant_across(ridges: Ridges) -> Identity:
    r"""Along $v=w_{j+1}e_j-w_je_{j+1}$, which span the hyperplane, $\langle w,v\rangle=0$: rationally, every term."""
    worst = Fraction(0)
    for row in ridges.directions.tolist():
        w = [Fraction(t) for t in row]
        for j, (a, b) in enumerate(zip(w, w[1:])):
            v = {j: b, j + 1: -a}
            worst = max(worst, abs(sum(w[k] * v[k] for k in v)))
    what = f"change of ⟨x, w⟩ along its hyperplanes, {len(ridges)} terms"
    return Identity(what, Enclosure.exact(worst), Enclosure.exact(0))


def square_interpolant(cells: int) -> PiecewiseAffine:
    r"""$\frac1nr(x)+\frac2n\sum_{0<s<n}r(x-\frac sn)$, which is $x^2$ at the points $\frac sn$ of $[0,1]$."""
    n = Fraction(cells)
    return combination([((2 if s else 1) / n, relu(affine(1, -s / n))) for s in range(cells)])


def square_error(f: PiecewiseAffine, cells: int) -> Fraction:
    r"""$\sup_{[0,1]}|x^2-f|$ for $f$ affine on the cells: on each it is attained at an end or where $2x$ is the slope."""
    ends = [Fraction(s, cells) for s in range(cells + 1)]
    worst = Fraction(0)
    for a, b in zip(ends, ends[1:]):
        left, right = f(a), f(b)
        turning = (right - left) / (b - a) / 2
        inside = [turning] if a < turning < b else []
        worst = max(worst, *(abs(x * x - left - (right - left) / (b - a) * (x - a)) for x in (a, b, *inside)))
    return worst


def charts(
    x: np.ndarray, y: np.ndarray, fits: dict[int, Fit], p: Sequence[int], errors: Sequence[float]
) -> list[Chart]:
    """The seed's panels in one or two dimensions, and the error against the number of terms."""
    shown = [q for q in PANELS if q in fits] or [max(fits)]
    floor = 1e-16 * max(float(np.abs(y).max()), 1e-300)
    curve = Series("root mean square error", p, np.maximum(errors, floor))
    found: list[Chart] = [Curves("more terms are never worse", Axis("terms p", "log"), Axis("error", "log"), (curve,))]
    if x.shape[1] == 1:
        order = np.argsort(x[:, 0])
        t, target = x[order, 0], Series("target", x[order, 0], y[order], "reference")
        series = (
            Series(f"p = {q}", t, fits[q].values[order], "measured" if q == shown[-1] else "other") for q in shown
        )
        found.insert(0, Curves("sums of ridge functions", Axis("x"), Axis("value"), (target, *series)))
    if x.shape[1] == 2 and len(x) == POINTS[2] ** 2:
        side, extent = POINTS[2], (*np.sort(x[:, 0])[[0, -1]].tolist(), *np.sort(x[:, 1])[[0, -1]].tolist())
        for name, values in [("target", y), *((f"p = {q}", fits[q].values) for q in shown)]:
            found.append(Heatmap(name, Axis("x₁"), Axis("x₂"), values.reshape(side, side).T, extent, "value"))
    return found
