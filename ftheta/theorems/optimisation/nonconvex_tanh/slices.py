r"""Slices of a loss through the parameters of a network: its values and the sign of its curvature on a line or plane.

On the plane $\theta+su+tv$ the loss is a function of two numbers whose Hessian has the entries
$u^\top\nabla^2\mathcal L\,u$, $u^\top\nabla^2\mathcal L\,v$, $v^\top\nabla^2\mathcal L\,v$: all of them come from two
nested forward sweeps, without a Hessian. The number of its negative eigenvalues says whether the slice is convex (0),
a saddle (1) or concave (2) there.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.logic import UsageError
from ftheta.spectra.objective import Objective

ROUNDING = 1e-9  # curvature below this part of the largest is taken for 0
Risk = Callable[[Any], Any]  # one row of parameters -> number


@dataclass(frozen=True, eq=False)
class Plane:
    r"""Values and curvature on the grid $\theta+s_ju+t_iv$: `loss[i, j]`, and the 2×2 Hessians `bend[i, j]`."""

    s: np.ndarray
    t: np.ndarray
    loss: np.ndarray
    bend: np.ndarray

    @property
    def convexity(self) -> np.ndarray:
        r"""$\lambda_{\min}/\max|\lambda|$ of the slice at each point, in [−1, 1]: negative where it is not convex, −1
        where its strongest bend is downwards; NaN where it overflowed."""
        low, _, size = self._ends
        return np.where(
            size > 0, low / np.where(size > 0, size, 1.0), np.where(size == 0, 0.0, np.nan)
        )

    @property
    def negative(self) -> np.ndarray:
        """Negative eigenvalues of the slice at each point: 0 convex, 1 saddle, 2 concave; NaN where it overflowed."""
        low, high, size = self._ends
        count = (low < -ROUNDING * size).astype(float) + (high < -ROUNDING * size)
        return np.where(np.isnan(size), np.nan, count)

    @property
    def _ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The two eigenvalues and the larger of their absolute values."""
        finite = np.asarray(np.isfinite(self.bend).all(axis=(2, 3)))
        values = np.linalg.eigvalsh(np.where(finite.reshape(*finite.shape, 1, 1), self.bend, 0.0))
        return values[..., 0], values[..., 1], np.where(finite, np.abs(values).max(axis=-1), np.nan)


@dataclass(frozen=True, eq=False)
class Line:
    r"""Values, slopes and curvature at the points $\theta+s_ju$."""

    s: np.ndarray
    loss: np.ndarray
    bend: np.ndarray

    @property
    def concave(self) -> float:
        """The part of the points with negative curvature."""
        return float(np.mean(self.bend < -ROUNDING * np.abs(self.bend).max(initial=0.0)))

    @property
    def largest_bulge(self) -> tuple[float, float, float]:
        r"""Neighbours $s_i<s_j<s_k$ of equal distance with the largest $\mathcal L(s_j)-\frac12(\mathcal L(s_i)+
        \mathcal L(s_k))$: the middle, the distance, and that bulge."""
        n = len(self.s)
        best = (0.0, 0.0, -np.inf)
        for reach in (2**k for k in range(n.bit_length()) if 2 ** (k + 1) < n):
            bulge = self.loss[reach:-reach] - (self.loss[: -2 * reach] + self.loss[2 * reach :]) / 2
            j = int(np.nanargmax(bulge))
            if bulge[j] > best[2]:
                best = float(self.s[j + reach]), float(self.s[reach] - self.s[0]), float(bulge[j])
        return best


def risk_of(objective: Objective) -> Risk:
    """The mean loss over the rows as a function of one row of parameters."""
    x = objective.examples.x
    y = objective.examples.y
    model = objective.model

    def risk(theta: Any) -> jax.Array:
        params = objective.build(theta)
        return jnp.mean(
            jax.vmap(lambda row, target: objective.loss.of(model.apply(params, row), target))(x, y)
        )

    return risk


def directions(rng: np.random.Generator, params: Any, count: int) -> np.ndarray:
    r"""Random directions as rows, each row of a weight matrix scaled to the norm of that row of the network's own
    ("filter normalisation"), so that slices of networks of different scales can be compared."""
    rows = []
    for _ in range(count):
        parts = []
        for leaf in jax.tree.leaves(params):
            own = np.asarray(leaf, np.float64)
            noise = rng.normal(size=own.shape)
            parts.append((noise / np.maximum(_size(noise), 1e-300) * _size(own)).ravel())
        row = np.concatenate(parts)
        rows.append(row if np.linalg.norm(row) > 0 else rng.normal(size=row.shape))
    return np.stack(rows)


def _size(a: np.ndarray) -> np.ndarray:
    """The norm of every row of an array, over all its other axes; of a vector, the absolute values."""
    return np.sqrt((a**2).sum(axis=tuple(range(1, a.ndim)), keepdims=True))


def lines(
    risk: Risk, start: np.ndarray, directions: np.ndarray, reach: float = 1.0, points: int = 129
) -> tuple[Line, ...]:
    """The slices through `start` along each row of `directions`, `reach` times it to either side."""
    s = _grid(reach, points)

    def at(t: Any, u: Any) -> Any:
        along = lambda r: risk(start + r * u)
        slope = lambda r: jax.jvp(along, (r,), (jnp.ones_like(r),))[1]
        return along(t), jax.jvp(slope, (t,), (jnp.ones_like(t),))[1]

    with jax.enable_x64(True):
        walk = jax.jit(lambda u: jax.lax.map(lambda t: at(t, u), s))
        found = [walk(u) for u in directions]
    return tuple(Line(s, np.asarray(loss), np.asarray(bend)) for loss, bend in found)


def plane(
    risk: Risk,
    start: np.ndarray,
    u: np.ndarray,
    v: np.ndarray,
    reach: float = 1.0,
    points: int = 41,
) -> Plane:
    """The slice through `start` spanned by u and v."""
    s = _grid(reach, points)

    def along(at: Any) -> Any:
        return risk(start + at[0] * u + at[1] * v)

    both = lambda at: (along(at), jax.jacfwd(jax.jacfwd(along))(at))
    grid = np.stack(np.meshgrid(s, s), axis=-1).reshape(-1, 2)
    with jax.enable_x64(True):
        loss, bend = call_compiled(lambda rows: jax.lax.map(both, rows), grid)
    n = len(s)
    return Plane(s, s, np.asarray(loss).reshape(n, n), np.asarray(bend).reshape(n, n, 2, 2))


def _grid(reach: float, points: int) -> np.ndarray:
    if not (np.isfinite(reach) and reach > 0 and points >= 3):
        raise UsageError(
            "A slice needs a positive reach and at least three points.",
            got=f"{reach}, {points} points",
        )
    return np.linspace(-reach, reach, points)
