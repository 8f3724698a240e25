r"""Descent on functions that need not be convex: the least gradient against its bound, with and without noise.

For $F$ $L$-smooth and bounded below, $\tau\le\frac1L$: $F_{k+1}\le F_k-\frac\tau2\|\nabla F_k\|^2$, and so
$\min_{k<K}\|\nabla F_k\|^2\le\frac{2(F_0-F^*)}{\tau K}$.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx

from ftheta.estimates import fit_rate, largest, mean, worst_ratio
from ftheta.graph import GraphError, Interval, intervals, trace
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Rate, Series, Witness

from .descent import Path, descend
from .landscapes import curvature_along_gradient
from .methods import steepest
from .worst_cases import flattest_gradient

DOUBLINGS = 12
ROUNDING = 1e-13
COUNTS = (16, 64, 256, 1024, 4096)


def smoothness_on_box(objective: Callable[[Any], Any], lo: np.ndarray, hi: np.ndarray) -> float | None:
    r"""A bound on $\|\nabla^2F\|_2$ over a box in interval arithmetic (by row sums); none where it is out of reach."""
    try:
        box: Any = intervals(trace(jax.hessian(objective), lo, fold_rounded=False), Interval(lo, hi)).outputs
    except GraphError:
        return None
    entries = np.maximum(np.abs(box.lo), np.abs(box.hi)).reshape(lo.size, lo.size)
    rows = float(entries.sum(axis=1).max())
    if lo.size > 1:
        rows = float(np.nextafter(rows * (1 + 4 * lo.size * np.finfo(float).eps), np.inf))
    return rows if np.isfinite(rows) else None


def met_smoothness(path: Path, tau: float) -> float:
    r"""The largest $2(F_{k+1}-F_k+\tau\|g_k\|^2)/(\tau^2\|g_k\|^2)$: the curvature that the steps have felt."""
    drop, slopes = np.diff(path.values), path.slopes[:-1]
    felt = slopes > ROUNDING * (slopes.max(initial=0.0) + np.abs(path.values).max() / tau)
    bent = 2 * (drop + tau * slopes)[felt] / (tau**2 * slopes[felt])
    return float(np.nan_to_num(bent, nan=np.inf, posinf=np.inf).max(initial=0.0))


def careful_descent(objective: Callable[[Any], Any], start: np.ndarray, steps: int, step: float) -> tuple[Path, float]:
    r"""Gradient descent with $\tau=h/L$, $L$ doubled until no step has felt more: the run, and that $L$."""
    L = max(curvature_along_gradient(objective, start), 1e-6)
    path = descend(steepest(step / L), objective, start, steps)
    for _ in range(DOUBLINGS):
        felt = met_smoothness(path, step / L)
        if felt <= L:
            break
        L *= 2 if not np.isfinite(felt) else max(2.0, min(felt / L, 64.0))
        path = descend(steepest(step / L), objective, start, steps)
    return path, L


@dataclass(frozen=True, eq=False)
class Stationarity:
    r"""A run of step $\tau$ on the `objective` $F$, $L$-smooth, which can fall by at most `room` $=F_0-F^*$."""

    objective: Callable[[Any], Any]
    path: Path
    tau: float
    room: float
    smoothness: float

    @property
    def least(self) -> np.ndarray:
        r"""$\min_{k<K}\|\nabla F_k\|^2$ for $K=1,\dots$"""
        return np.minimum.accumulate(self.path.slopes[:-1])

    @property
    def bound(self) -> np.ndarray:
        return 2 * self.room / (self.tau * np.arange(1, len(self.path)))

    def claims(self) -> tuple[AtMost, ...]:
        values, zero = self.path.values, Enclosure.exact(0)
        broken = np.diff(values) + self.tau / 2 * self.path.slopes[:-1]
        worst = largest(broken)
        rounding = ROUNDING * float(np.abs(values[:1]).max())
        ratio = worst_ratio(self.least, self.bound)
        falls = AtMost(
            "max over k of F_{k+1} − F_k + (τ/2)‖∇F_k‖²",
            Enclosure.equal(worst),
            zero,
            witness=self._step_again(int(np.argmax(np.nan_to_num(broken, nan=np.inf)))) if worst > rounding else None,
            atol=rounding,
        )
        what = "max over K of min_{k<K} ‖∇F_k‖² / (2(F₀ − F*)/(τK))"
        return falls, AtMost(what, Enclosure.equal(ratio), Enclosure.exact(1))

    def _step_again(self, k: int) -> Witness:
        """One step from θ_k, and what it should gain, in intervals."""

        def missing(theta: Any, tau: Any) -> Any:
            slope = jax.grad(self.objective)(theta)
            gain = self.objective(theta) - self.objective(theta - tau * slope)
            return tau / 2 * jnp.sum(slope * slope) - gain

        left = enclose_number(missing, self.path.points[k], self.tau)
        return Witness({"k": float(k)}, left, Enclosure.exact(0), "one step from θ_k, in intervals rounded outward")

    def chart(self, name: str) -> Curves:
        K = np.arange(1, len(self.path))
        shown = self.least > 1e-6 * self.bound[-1]
        sharp = self.room / (self.tau * K + 0.5 / self.smoothness)
        curves = (
            Series("bound 2(F₀ − F*)/(τK)", K, self.bound, "bound"),
            Series("least ‖∇F‖²", K[shown], self.least[shown]),
            Series("Huber function made for K", K, sharp, "reference"),
        )
        return Curves(f"the least gradient of {name}", Axis("steps K", "log"), Axis("min ‖∇F_k‖²", "log"), curves)


def cosine_inequality() -> AtMost:
    r"""The descent of $F=1-\cos x$ with $\tau=1$, $1-\cos(x-\sin x)\le1-\cos x-\frac12\sin^2x$, is
    $|\sin\frac{x-\sin x}2|\le\sin^2\frac x2$ by $1-\cos x-\frac12\sin^2x=\frac12(1-\cos x)^2$.

    On $[0,1.2]$ it follows from $x-\sin x\le\frac{x^3}6$ and $\sin\frac x2\ge\frac x\pi$; within 1 of $\pi$,
    $e=\pi-x$, from $\cos a\le1-\frac{a^2}2+\frac{a^4}{24}$ and $a=\frac{e+\sin e}2\in[e-\frac{e^3}{12},e]$. In between
    balls decide; the function is even and has period $2\pi$.
    """
    with ctx.workprec(64):
        pieces, worst = 4096, arb(0)
        lo, width = arb("1.19"), (arb.pi() - arb("0.99") - arb("1.19")) / pieces
        for i in range(pieces):
            x = (lo + i * width).union(lo + (i + 1) * width)
            worst = worst.max(abs(((x - x.sin()) / 2).sin()) / (x / 2).sin() ** 2)
    most = Enclosure.at_most(Enclosure.ball(worst).hi, Enclosure.exact(1).basis)
    return AtMost("largest |sin((x − sin x)/2)| / sin²(x/2) on [1.2, π − 1]", most, Enclosure.exact(1))


def attained(steps: int) -> Identity:
    """The order 1/K is attained, in rationals."""
    slope, formula = flattest_gradient(steps)
    what = f"min ‖∇F‖² − L(F₀ − F*)/(K + ½) on a Huber function, K = {steps}"
    return Identity(what, Enclosure.exact(slope - formula), Enclosure.exact(0))


def noisy_cosine(
    rng: np.random.Generator, start: float, sigma: float, paths: int
) -> tuple[tuple[AtMost, ...], Rate, Curves]:
    r"""SGD on $1-\cos x$ with gradient noise of variance $\sigma^2$ and $\tau=1/\sqrt K$: the average of
    $\|\nabla F(\theta_k)\|^2$ over $k<K$ beside $(2(F_0-F^*)+\sigma^2)/\sqrt K$."""
    room, found = 1 - np.cos(start), []
    for K in COUNTS:
        x, total = np.full(paths, float(start)), np.zeros(paths)
        for noise in sigma * rng.choice([-1.0, 1.0], size=(K, paths)):
            total += np.sin(x) ** 2
            x -= (np.sin(x) + noise) / np.sqrt(K)
        found.append(total / K)
    bounds = [(2 * room + sigma**2) / np.sqrt(K) for K in COUNTS]
    seen = [mean(f, within=(0.0, 1.0)) for f in found]  # averages of sin²
    claims = tuple(
        AtMost(f"mean of ‖∇F‖² over {K} noisy steps", m, Enclosure.equal(b)) for K, m, b in zip(COUNTS, seen, bounds)
    )
    middles = [float(f.mean()) for f in found]
    slope = fit_rate(np.array(COUNTS[1:]), np.array(middles[1:]))
    rate = Rate("average ‖∇F‖² of SGD", 0.5, slope, tuple(map(float, COUNTS[1:])), tuple(middles[1:]), slack=0.1)
    curves = (
        Series("bound (2LΔ + σ²)/√K", COUNTS, bounds, "bound"),
        Series("measured", COUNTS, middles, lo=[m.lo for m in seen], hi=[m.hi for m in seen]),
    )
    return (
        claims,
        rate,
        Curves("SGD on 1 − cos x with steps 1/√K", Axis("steps K", "log"), Axis("mean ‖∇F_k‖²", "log"), curves),
    )
