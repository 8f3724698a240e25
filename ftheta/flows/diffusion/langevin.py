r"""Langevin dynamics $dx=\nabla\log p\,dt+\sqrt2\,dW$ on the line and in discrete steps."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ftheta.flows.mixtures import Mixture
from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

NODES = 20_001


def spectral_gap(law: Mixture, iterations: int = 40) -> float:
    r"""The least $\lambda>0$ with $-(pf')'=\lambda pf$ for some $f$: the rate at which Langevin dynamics on the line
    forget their start.

    Inverse iteration: $f'\leftarrow-\frac1p\int_{-\infty}^xfp$ for $f$ of mean zero, with Simpson's rule on an even
    grid; the integral is taken from the nearer end, where nothing cancels.
    """
    deviation = float(np.sqrt(law.variance))
    x = np.linspace(law.atoms.min() - 9 * deviation, law.atoms.max() + 9 * deviation, NODES)
    h = float(x[1] - x[0])
    p = law.density(x)
    p /= _integrate(p, h)[-1]
    f = x - float(_integrate(x * p, h)[-1])
    slope = np.ones_like(x)
    for _ in range(iterations):
        flux = f * p
        from_left = _integrate(flux, h)
        from_right = _integrate(flux[::-1], h)[::-1]
        slope = np.where(x < float(law.mean()[0]), -from_left, from_right) / p
        f = _integrate(slope, h)
        f -= _integrate(f * p, h)[-1]
        size = np.sqrt(_integrate(f**2 * p, h)[-1])
        f /= size
        slope /= size
    return float(_integrate(slope**2 * p, h)[-1])


def _integrate(values: np.ndarray, h: float) -> np.ndarray:
    """Running integrals on an even grid, of fourth order: the trapezoidal rule less the next term of its error."""
    halves = (values[1:] + values[:-1]) / 2
    slopes = np.gradient(values, h)
    return np.append(0.0, np.cumsum(h * halves - h**2 / 12 * np.diff(slopes)))


def unadjusted_langevin(
    score: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, "n d"],
    step: float,
    steps: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n d"]:
    r"""$x\leftarrow x+h\nabla\log p(x)+\sqrt{2h}\,\xi$, as many times as there are `steps`, with $h$ = `step`."""
    for _ in range(steps):
        x = x + step * score(x) + np.sqrt(2 * step) * rng.normal(size=x.shape)
    return x


def _read_start(start: Any) -> np.ndarray:
    try:
        rows = np.atleast_2d(np.asarray(start, np.float64))
    except (TypeError, ValueError):
        raise UsageError(
            "The start is rows of numbers.", where="ft.langevin", got=type(start).__name__
        ) from None
    if not rows.size:
        raise UsageError("The start has no rows.", where="ft.langevin", got=f"shape {rows.shape}")
    return rows


def langevin(
    score: Callable[[np.ndarray], np.ndarray],
    start: Any,
    *,
    step: float,
    steps: int = 1000,
    seed: int = 0,
) -> Float[np.ndarray, "n d"]:
    r"""Where chains of unadjusted Langevin steps are after `steps` of them, from the rows of `start`.

    `score` maps rows to $\nabla\log p=-\nabla V$ at each. Steps above $2/L$, with $L$ the largest curvature of $V$,
    diverge, and that is said; on $V=x^2/2$ the chains end with the variance $\frac1{1-h/2}$.
    """
    rows = _read_start(start)
    if np.shape(score(rows)) != rows.shape:
        got = f"shape {np.shape(score(rows))}, not {rows.shape}"
        raise UsageError(
            "A score has one row of the size of x for every row.", where="ft.langevin", got=got
        )
    if not (step > 0 and steps >= 1 and np.isfinite(rows).all()):
        raise UsageError(
            "Langevin steps need a positive step, at least one step and a finite start.",
            where="ft.langevin",
            got=f"step {step}, steps {steps}",
        )
    with np.errstate(all="ignore"):
        found = unadjusted_langevin(score, rows, step, steps, np.random.default_rng(seed))
    if not np.isfinite(found).all():
        raise UsageError(
            "The chains diverge.",
            where="ft.langevin",
            got=f"step {step}",
            remedy="take a smaller step, below 2/L",
        )
    return found
