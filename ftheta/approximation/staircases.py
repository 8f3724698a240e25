r"""Steep sigmoids as a staircase: one hidden layer that follows a continuous function of one variable.

Cut $[a,b]$ into $n$ cells of width $h$ with centres $m_k$ and let $t_k$ be the ends between them. The network

$$g(x)=f(m_0)+\sum_{k=1}^{n-1}\big(f(m_k)-f(m_{k-1})\big)\,\sigma\big(s(x-t_k)\big)$$

has $n-1$ neurons. At $x$ all thresholds but the nearest are at least $h/2$ away, where $\sigma$ is within
$\eta=\max(|\sigma(-sh/2)|,|1-\sigma(sh/2)|)$ of its limits. What is left is a mean of the values at two centres within
$h$ of $x$, so for a non-decreasing $\sigma$ between 0 and 1, with $V=\sum_k|f(m_k)-f(m_{k-1})|$,

$$\sup|f-g|\le\omega_f(h)+\eta V.$$
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.logic.enclosure import Enclosure
from ftheta.logic.witness import Witness
from ftheta.shapes import Float

from .suprema import Oscillation, Scalar, Supremum, bounds_of, ranges, supremum

SIGMOIDS: dict[str, Callable[[Any], Any]] = {
    "sigmoid": jax.nn.sigmoid,
    "tanh": lambda z: (1 + jnp.tanh(z)) / 2,
    "arctan": lambda z: 0.5 + jnp.arctan(z) / np.pi,
    "constant ½": lambda z: 0.5 + 0.0 * z,
}
STEEPEST = 2.0**40  # weights times the width of a cell


@dataclass(frozen=True, eq=False)
class Staircase:
    r"""$x\mapsto c+\sum_kv_k\,\sigma(s(x-t_k))$ on [lo, hi], `steepness` $s$, for the function f."""

    f: Scalar
    sigma: Scalar
    lo: float
    hi: float
    start: float
    rises: Float[np.ndarray, "k"]
    thresholds: Float[np.ndarray, "k"]
    steepness: float

    @property
    def cells(self) -> int:
        """One more than there are neurons."""
        return len(self.rises) + 1

    def __call__(self, x: Any) -> Any:
        return self.start + jnp.sum(self.rises * self.sigma(self.steepness * (x - self.thresholds)))

    def error(self, budget: int = 60_000) -> Supremum:
        r"""$\sup|f-g|$ on [lo, hi], proved from both sides."""
        return supremum(
            bounds_of(lambda x: self.f(x) - self(x), 1),
            [self.lo],
            [self.hi],
            relative=0.01,
            budget=budget,
        )

    def bound(self, spread: Oscillation, tail: float) -> Enclosure:
        r"""$\omega_f(h)+\eta V$."""
        variation = float(np.abs(self.rises).sum())
        return spread.modulus((self.hi - self.lo) / self.cells) + Enclosure.exact(
            tail
        ) * Enclosure.equal(variation)

    def beyond(self, error: Enclosure, spread: Oscillation, tail: float) -> Witness | None:
        """The error against the bound with its sum in rationals, where it is larger; None elsewhere."""
        variation = sum((abs(Fraction(rise)) for rise in self.rises.tolist()), Fraction(0))
        modulus = spread.modulus((self.hi - self.lo) / self.cells)
        bound = modulus + Enclosure.exact(tail) * Enclosure.exact(variation)
        how = "the error in intervals on cells, the bound in intervals and rationals"
        return Witness({"n": float(self.cells)}, error, bound, how) if error.lo > bound.hi else None

    def on(self, x: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
        """Its values at points."""
        box = ranges(self, x[:, None], x[:, None])
        return (box.lo + box.hi) / 2


def staircase(f: Scalar, sigma: Scalar, lo: float, hi: float, cells: int, tail: float) -> Staircase:
    """The network of the docstring above, steep enough that σ is within `tail` of its limits half a cell away."""
    edges = np.linspace(lo, hi, cells + 1)
    centres = ((edges[:-1] + edges[1:]) / 2)[:, None]
    box = ranges(f, centres, centres)
    values = (box.lo + box.hi) / 2
    steep = steepness(sigma, tail) * 2 * cells / (hi - lo)
    return Staircase(f, sigma, lo, hi, float(values[0]), np.diff(values), edges[1:-1], steep)


def steepness(sigma: Scalar, tail: float) -> float:
    """The least power of two z with σ(−z) ≤ tail and σ(z) ≥ 1 − tail, or `STEEPEST`."""
    z = 1.0
    while z < STEEPEST and not (shortfall(sigma, z) <= tail):
        z *= 2
    return z


def find_fall(sigma: Scalar, z: float) -> tuple[float, float] | None:
    """Two points, the first one smaller, where a function is surely larger at the first; None where none was met.

    Looked at are a grid of [−2z, 2z] and points ever further out."""
    far = z * np.geomspace(2, STEEPEST, 257)
    at = np.concatenate([-far[::-1], z * np.linspace(-2, 2, 4097)[1:-1], far])
    box = ranges(sigma, at[:, None], at[:, None])
    highest = np.maximum.accumulate(box.lo)
    below = np.flatnonzero(box.hi[1:] < highest[:-1])
    if not len(below):
        return None
    last = int(below[0]) + 1
    return float(at[np.argmax(box.lo[:last])]), float(at[last])


def shortfall(sigma: Scalar, z: float) -> float:
    """How far σ is from its limits 0 and 1 at −z and z, rounded up."""
    at = np.array([[-z], [z]])
    box = ranges(sigma, at, at)
    return float(
        max(np.abs(box.lo[0]), np.abs(box.hi[0]), np.abs(1 - box.lo[1]), np.abs(1 - box.hi[1]))
    )
