r"""How much residual blocks stretch.

If $\mathrm{Lip}(v_k)\le b<1$, the Jacobian of $T$ blocks has its singular values in $[(1-b)^T,(1+b)^T]$, while that of
$T$ plain layers $x\mapsto v_k(x)$ has them below $b^T$.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb

from ftheta.certify.lipschitz import enclosed_slopes
from ftheta.flows.chains import Chain, Stage
from ftheta.graph.compiling import call_compiled
from ftheta.logic import Enclosure

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
        """The stage applied to a flat state; without `residual`, its layers without the identity beside them."""

        def move(z: Any, theta: Any) -> tuple[Any, None]:
            v = self.stage.field(theta, z.reshape(self.stage.shape)).ravel()
            return (z + v if residual else v), None

        return jax.lax.scan(move, x, self.theta, length=len(self.stage))[0]

    def _slopes(self, residual: bool) -> np.ndarray:
        """Jacobians at every state, or their products with a few unit vectors: shape (states, size, columns)."""
        d = self.stage.size
        columns = np.eye(d) if d <= LARGEST else _units(d)
        slope = lambda x: jax.vmap(
            lambda u: jax.jvp(lambda z: self.forward(z, residual), (x,), (u,))[1], out_axes=1
        )(columns)
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
        return float(
            (
                np.linalg.norm(slopes, 2, axis=(1, 2))
                if whole
                else np.linalg.norm(slopes, axis=1).max(1)
            ).max()
        )

    @property
    def bounds(self) -> tuple[float, float]:
        r"""$(1-b)^T$ and $(1+b)^T$."""
        T = len(self.stage)
        return max(0.0, 1 - self.b) ** T, (1 + self.b) ** T

    @property
    def forms_jacobians(self) -> bool:
        """Whether the state is small enough for whole Jacobians."""
        return self.stage.size <= LARGEST

    def extreme_direction(self, i: int, above: bool, bound: float) -> np.ndarray | None:
        """Along which state `i` is stretched most (`above`) or least, where that is beyond the bound."""
        if not self.forms_jacobians:
            return None
        _, values, rows = np.linalg.svd(self._slopes(True)[i])
        beyond = values[0] > bound if above else values[-1] < bound
        return rows[0 if above else -1] if beyond else None

    def secant(self, x: np.ndarray, u: np.ndarray) -> Enclosure:
        """The slope of the stage between two states near `x`, along `u`, in intervals rounded outward."""
        return enclosed_slopes(self._apply_blocks, (x + STEP * u)[None], (x - STEP * u)[None])[0]

    def exact_bound(self, above: bool) -> Enclosure:
        r"""$(1\pm b)^T$ as a ball."""
        return Enclosure.ball((1 + (1 if above else -1) * arb(self.b)) ** len(self.stage))

    def perturbation(self, residual: bool) -> np.ndarray:
        """The size of one perturbation of the first state after each block, from 1 on."""
        x = jnp.asarray(self.x[0].ravel())
        u = jnp.asarray(_units(self.stage.size)[0])

        def move(carry: Any, theta: Any) -> tuple[Any, Any]:
            z, w = carry

            def block(z: Any) -> Any:
                v = self.stage.field(theta, z.reshape(self.stage.shape)).ravel()
                return z + v if residual else v

            new, slope = jax.jvp(block, (z,), (w,))
            return (new, slope), jnp.linalg.norm(slope)

        sizes = call_compiled(lambda x, u: jax.lax.scan(move, (x, u), self.theta)[1], x, u)
        return np.append(1.0, np.asarray(sizes))

    def _apply_blocks(self, x: Any) -> Any:
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
    before = jax.vmap(lambda row: [seen[0] for seen in chain.states(weights, row)[1]])(
        jnp.asarray(x)
    )
    return [
        Stretch(chain.stages[i], weights[i], np.asarray(before[i]), b)
        for i in chain.residual_stages
    ]
