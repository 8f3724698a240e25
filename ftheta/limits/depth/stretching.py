r"""How much residual blocks stretch.

If $\mathrm{Lip}(v_k)\le b<1$, the Jacobian of $T$ blocks has its singular values in $[(1-b)^T,(1+b)^T]$, while that of
$T$ plain layers $x\mapsto v_k(x)$ has them below $b^T$.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.graph.compiling import call_compiled
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Series, Witness

from .chains import Chain, Stage

LARGEST = 64  # dimensions up to which whole Jacobians are taken
DIRECTIONS = 16
STEP = 1e-5


@dataclass(frozen=True, eq=False)
class Stretch:
    """One stage of a network: `x` are states before it; `b` bounds the Lipschitz constant of each of its blocks."""

    stage: Stage
    theta: tuple[Any, ...]
    x: np.ndarray
    b: float

    def forward(self, x: Any, residual: bool = True) -> Any:
        def move(z: Any, theta: Any) -> tuple[Any, None]:
            v = self.stage.field(theta, z.reshape(self.stage.shape)).ravel()
            return (z + v if residual else v), None

        return jax.lax.scan(move, x, self.theta, length=len(self.stage))[0]

    def _slopes(self, residual: bool) -> np.ndarray:
        """Jacobians at every state, or their products with a few unit vectors: shape (states, size, columns)."""
        d = self.stage.size
        columns = np.eye(d) if d <= LARGEST else _units(d)
        slope = lambda x: jax.vmap(lambda u: jax.jvp(lambda z: self.forward(z, residual), (x,), (u,))[1], out_axes=1)(
            columns
        )
        return np.asarray(call_compiled(jax.vmap(slope), self.x.reshape(len(self.x), -1)))

    @cached_property
    def factors(self) -> tuple[np.ndarray, np.ndarray]:
        """The largest and the smallest stretching seen at every state."""
        slopes = self._slopes(True)
        if self.stage.size <= LARGEST:
            values = np.linalg.svd(slopes, compute_uv=False)
        else:
            values = np.linalg.norm(slopes, axis=1)
        return values.max(1), values.min(1)

    @cached_property
    def plain(self) -> float:
        """The largest stretching of the same layers without the identity beside them."""
        slopes = self._slopes(False)
        whole = self.stage.size <= LARGEST
        return float((np.linalg.norm(slopes, 2, axis=(1, 2)) if whole else np.linalg.norm(slopes, axis=1).max(1)).max())

    @property
    def bounds(self) -> tuple[float, float]:
        T = len(self.stage)
        return max(0.0, 1 - self.b) ** T, (1 + self.b) ** T

    def claims(self, name: str) -> tuple[Claim, ...]:
        lo, hi = (Enclosure.equal(v) for v in self.bounds)
        largest, smallest = self.factors
        n = len(self.x)
        top, low = int(largest.argmax()), int(smallest.argmin())
        claims: list[Claim] = [
            AtMost(
                f"largest stretching {name}, at most (1 + c/T)^T",
                Enclosure.at_least(float(largest.max()), samples=n),
                hi,
                witness=self._witness(top, -1, above=True, bound=hi),
            ),
            AtMost(
                f"(1 − c/T)^T, at most the smallest stretching {name}",
                lo,
                Enclosure(-np.inf, float(smallest.min()), lo.basis.SAMPLED, n),
                witness=self._witness(low, 0, above=False, bound=lo),
            ),
        ]
        if self.stage.size <= LARGEST:
            below = Enclosure.equal(self.b ** len(self.stage))
            what = f"largest stretching of the plain layers {name}, at most (c/T)^T"
            claims.append(AtMost(what, Enclosure.at_least(self.plain, samples=n), below))
        return tuple(claims)

    def _witness(self, i: int, which: int, *, above: bool, bound: Enclosure) -> Witness | None:
        """Along the direction of the extreme singular value, the secant through two states near by."""
        if self.stage.size > LARGEST:
            return None
        _, values, rows = np.linalg.svd(self._slopes(True)[i])
        beyond = values[0] > bound.lo if above else values[-1] < bound.lo
        if not beyond:
            return None
        x, u = self.x[i].ravel(), rows[0 if above else -1]
        met = enclosed_slopes(self._unrolled, (x + STEP * u)[None], (x - STEP * u)[None])[0]
        exact = Enclosure.ball((1 + (1 if above else -1) * arb(self.b)) ** len(self.stage))
        sides = (met, exact) if above else (exact, met)
        return Witness({"x": tuple(map(float, x))}, *sides, "a secant through the blocks, in intervals rounded outward")

    def _unrolled(self, x: Any) -> Any:
        for k in range(len(self.stage)):
            theta = [w[k] for w in self.theta]
            x = x + self.stage.field(theta, x.reshape(self.stage.shape)).ravel()
        return x


def _units(d: int) -> np.ndarray:
    u = np.random.default_rng(0).normal(size=(DIRECTIONS, d))
    return u / np.linalg.norm(u, axis=1, keepdims=True)


def stretches(chain: Chain, params: Any, x: np.ndarray, b: float) -> list[Stretch]:
    """Every residual stage with the states that these inputs have before it."""
    weights = chain.weights(params)
    before = jax.vmap(lambda row: [seen[0] for seen in chain.states(weights, row)[1]])(jnp.asarray(x))
    return [Stretch(chain.stages[i], weights[i], np.asarray(before[i]), b) for i in chain.residual_stages]


def against_depth(found: Sequence[Stretch]) -> Curves:
    """Norms of the Jacobian after each block, with the identity beside the layers and without."""
    s = max(found, key=lambda s: len(s.stage))
    T = np.arange(len(s.stage) + 1)
    x = jnp.asarray(s.x[0].ravel())
    size = s.stage.size
    u = jnp.asarray(_units(size)[0])

    def grown(residual: bool) -> np.ndarray:
        def move(carry: Any, theta: Any) -> tuple[Any, Any]:
            z, w = carry

            def block(z: Any) -> Any:
                v = s.stage.field(theta, z.reshape(s.stage.shape)).ravel()
                return z + v if residual else v

            new, slope = jax.jvp(block, (z,), (w,))
            return (new, slope), jnp.linalg.norm(slope)

        return np.asarray(call_compiled(lambda x, u: jax.lax.scan(move, (x, u), s.theta)[1], x, u))

    rows = [np.append(1.0, grown(residual)) for residual in (True, False)]
    bounds = [(1 + sign * s.b) ** T for sign in (1, -1)]
    series = [
        Series("residual", T, rows[0]),
        Series("plain", T[rows[1] > 1e-300], rows[1][rows[1] > 1e-300], "other"),
        Series("(1 + c/T)^k", T, bounds[0], "bound"),
    ]
    if s.b < 1:
        series.append(Series("(1 − c/T)^k", T, bounds[1], "bound"))
    return Curves("one perturbation, block by block", Axis("blocks"), Axis("its size", "log"), tuple(series))
