r"""What noise on the input adds to the squared loss.

Noise of variance $s^2$ adds $s^2\big(\|J\|_F^2+\langle f-y,\Delta f\rangle\big)+O(s^4)$: the Jacobian penalty, and a
term that vanishes on average where $f(x)=\mathbb E[y\,|\,x]$, or where $f$ is affine. The left side is an integral over
the normal distribution, here by cubature.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure

Function = Callable[[Any], Any]  # of one input
ROWS = 8  # at which derivatives are formed
SPREAD = 1e-4  # of the noise whose effect is compared with the expansion
ROUNDING = 1e-14  # of a network's output, relative
MOVES = 2048  # rows times inputs, of which second derivatives are taken


def cubature(d: int) -> tuple[np.ndarray, np.ndarray]:
    r"""Points and weights that integrate $\mathcal N(0,I_d)$: Gauss–Hermite for $d\le2$ (degree 9), else
    $\pm\sqrt d\,e_i$ (degree 3)."""
    if d <= 2:
        nodes, weights = np.polynomial.hermite_e.hermegauss(5)
        grids = np.meshgrid(*[np.arange(5)] * d, indexing="ij")
        which = np.stack([g.ravel() for g in grids], -1)
        return nodes[which], (weights / weights.sum())[which].prod(1)
    axes = sqrt(d) * np.eye(d)
    return np.concatenate([axes, -axes]), np.full(2 * d, 1 / (2 * d))


def noise_adds(f: Function, x: Any, y: Any, spread: float) -> Any:
    r"""$\big(\mathbb E\|f(x+s\varepsilon)-y\|^2-\|f(x)-y\|^2\big)/s^2$ by cubature."""
    points, weights = cubature(int(np.prod(np.shape(x))))
    square = lambda v: jnp.sum(jnp.square(f(v) - y))
    moved = jax.vmap(lambda e: square(x + spread * e.reshape(jnp.shape(x))) - square(x))(
        jnp.asarray(points)
    )
    return jnp.sum(weights * moved) / spread**2


def noise_predicted(f: Function, x: Any, y: Any) -> tuple[Any, Any]:
    r"""$\|J\|_F^2$ and $\langle f-y,\Delta f\rangle$ at one input."""
    flat = lambda v: jnp.ravel(f(v.reshape(jnp.shape(x))))
    d = int(np.prod(np.shape(x)))
    along = lambda e: jax.jvp(lambda v: jax.jvp(flat, (v,), (e,))[1], (jnp.ravel(x),), (e,))[1]
    laplacian = jnp.sum(jax.lax.map(along, jnp.eye(d)), 0)
    J = jax.jacrev(flat)(jnp.ravel(x))
    return jnp.sum(J**2), jnp.sum((flat(jnp.ravel(x)) - jnp.ravel(y)) * laplacian)


def find_smooth_rows(f: Function, X: np.ndarray) -> np.ndarray:
    """Rows around which f bends as its second derivative says, within the reach of the noise: no kink is near."""
    X = X[: max(1, min(ROWS, MOVES // int(np.prod(X.shape[1:]))))]
    points, _ = cubature(int(np.prod(X.shape[1:])))
    moves = jnp.asarray(choose_spread(X) * points).reshape(-1, *X.shape[1:])

    def off(row: Any) -> Any:
        value = f(row)

        def along(move: Any) -> tuple[Any, Any]:
            bend = jax.jvp(lambda v: jax.jvp(f, (v,), (move,))[1], (row,), (move,))[1]
            return jnp.max(jnp.abs(f(row + move) + f(row - move) - 2 * value - bend)), jnp.max(
                jnp.abs(bend)
            )

        gaps, bends = jax.lax.map(along, moves)
        return jnp.max(gaps), jnp.max(bends), jnp.max(jnp.abs(value))

    gap, bend, size = (
        np.asarray(v) for v in call_compiled(lambda x: jax.lax.map(off, x), jnp.asarray(X))
    )
    return np.flatnonzero(
        np.isfinite(gap) & (gap <= 1e-5 * bend + ROUNDING * np.maximum(size, 1e-3))
    )


def choose_spread(X: np.ndarray) -> float:
    """The spread of the noise, such that the points of the cubature are as near in any dimension."""
    return SPREAD / max(1.0, float(np.sqrt(np.prod(X.shape[1:]))))


@dataclass(frozen=True, eq=False)
class Expansion:
    """At some rows: what a little noise `added`, divided by $s^2$, and the two terms of the expansion; `tolerance` is
    for the remainder and for rounding."""

    rows: np.ndarray
    added: np.ndarray
    slopes: np.ndarray
    bends: np.ndarray
    tolerance: float

    @property
    def gaps(self) -> np.ndarray:
        """How far the two sides are apart at each row; infinite where one is not a number."""
        return np.nan_to_num(np.abs(self.added - self.slopes - self.bends), nan=np.inf)


def expand(f: Function, X: np.ndarray, Y: np.ndarray) -> Expansion:
    """Both sides of the expansion at rows of `X` with targets `Y`, those without breakpoints nearby if any."""
    smooth = find_smooth_rows(f, X)
    rows = smooth if len(smooth) else np.arange(min(ROWS, len(X)))  # none: the run was forced
    spread = choose_spread(X)

    def at(row: Any) -> Any:
        x, y = row
        return (
            noise_adds(f, x, y, spread),
            *noise_predicted(f, x, y),
            jnp.max(jnp.abs(f(x))) + jnp.max(jnp.abs(y)),
        )

    pairs = (jnp.asarray(X[rows]), jnp.asarray(Y[rows]))
    added, slopes, bends, sizes = (
        np.asarray(v) for v in call_compiled(lambda r: jax.lax.map(at, r), pairs)
    )
    size = max(float(np.abs(slopes).max() + np.abs(bends).max()), 1e-12)
    rounding = 10 * ROUNDING * float(sizes.max()) ** 2 / spread**2  # of a difference divided by s²
    return Expansion(rows, added, slopes, bends, 1e-4 * size + rounding)


def enclose_gap(f: Function, X: np.ndarray, Y: np.ndarray, row: int) -> Enclosure:
    """The gap between the two sides at one row, in intervals rounded outward."""
    spread = choose_spread(X)

    def gap(x: Any, y: Any) -> Any:
        slope, bend = noise_predicted(f, x, y)
        return jnp.abs(noise_adds(f, x, y, spread) - slope - bend)

    return enclose_number(gap, np.asarray(X[row], np.float64), np.asarray(Y[row], np.float64))


@dataclass(frozen=True, eq=False)
class Remainders:
    """What is left of the effect of noise, against its `spreads`: after both terms, and after the slope `alone`."""

    spreads: np.ndarray
    after_both: np.ndarray
    alone: np.ndarray


def measure_remainders(f: Function, x: np.ndarray, gap: float, spreads: np.ndarray) -> Remainders:
    """At one input `x`, with the target f(x) + `gap`."""

    def both_sides(x: Any) -> Any:
        y = f(x) + gap
        return jax.vmap(lambda s: noise_adds(f, x, y, s))(jnp.asarray(spreads)), *noise_predicted(
            f, x, y
        )

    added, slope, bend = (np.asarray(v) for v in call_compiled(both_sides, jnp.asarray(x)))
    added = added * spreads**2
    return Remainders(
        spreads, np.abs(added - spreads**2 * (slope + bend)), np.abs(added - spreads**2 * slope)
    )
