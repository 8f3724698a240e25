r"""Which limit a given residual network is near: the identity, a flow, a diffusion, or none.

Two numbers decide. The size $\alpha$ of a block is $\|v_k(x_k)\|/\|x_k\|$. The exponent $H$ tells how blocks add up: of
the residuals $u_k=v_k(x)$ at one fixed $x$, sums of $m$ neighbours grow like $m^H$; independent blocks have
$H=\frac12$, blocks that vary smoothly with depth $H=1$. A network of $L$ blocks moves its input by about
$\alpha L^H$ of its length: much less than 1 is the identity, much more an explosion; between the two lies a flow if
$H$ is near 1, a diffusion if $H$ is near ½.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates.rates import fit_rate
from ftheta.graph.compiling import call_compiled
from ftheta.logic.enclosure import Enclosure

from .chains import Chain

# of α L^H: below it is the identity, above it an explosion
SMALL = 0.1
LARGE = 10.0
FEWEST = 8  # blocks from which an exponent is fitted


@dataclass(frozen=True, eq=False)
class Regime:
    """`sizes[k]` of each block, `sums[m]` of the residuals and of the weights, signs flipped at random beside."""

    blocks: int
    sizes: np.ndarray
    lags: np.ndarray
    field_sums: np.ndarray
    weight_sums: np.ndarray
    flipped: np.ndarray  # [draw]: ‖x_L‖² less what the blocks add in the mean, over the start
    norms: np.ndarray  # [k]: mean of ‖x_k‖²/‖x₀‖²
    flipped_norms: np.ndarray  # [draw, k]

    @property
    def alpha(self) -> float:
        """The size of a block, in the mean square."""
        return float(np.sqrt(np.mean(self.sizes**2)))

    @property
    def field_exponent(self) -> Enclosure:
        return _exponent(self.lags, self.field_sums)

    @property
    def weight_exponent(self) -> Enclosure:
        return _exponent(self.lags, self.weight_sums)

    @property
    def displacement(self) -> float:
        r"""$\alpha L^H$, with $H$ cut to $[\frac12,1]$."""
        return self.alpha * self.blocks ** float(np.clip(self.field_exponent.middle, 0.5, 1.0))

    @property
    def name(self) -> str:
        """The limit that the network is nearest to."""
        H = self.field_exponent.middle
        if self.displacement < SMALL:
            return "identity"
        if self.displacement > LARGE:
            return "explosion"
        return "flow (ODE)" if H > 0.75 else "diffusion (SDE)"

    @property
    def beta(self) -> float:
        r"""The exponent of $\alpha=L^{-\beta}$."""
        return -float(np.log(max(self.alpha, 1e-300)) / np.log(self.blocks))


def _exponent(lags: np.ndarray, sums: np.ndarray) -> Enclosure:
    """Half the slope of log sums against log lags; nothing is known where sums vanish."""
    usable = (sums > 0) & np.isfinite(sums)
    if usable.sum() < 3:
        return Enclosure()
    return fit_rate(lags[usable], sums[usable]) * 0.5


def measure_regime(
    chain: Chain, weights: Sequence[Any], x: np.ndarray, draws: int, rng: np.random.Generator
) -> Regime:
    """Of the longest stage, from the states that the inputs `x` have before it."""
    i = chain.longest_stage
    stage = chain.stages[i]
    theta = tuple(weights[i])
    L = len(stage)
    # [row, k, ...]
    before = call_compiled(jax.vmap(lambda row: chain.states(weights, row)[1][i]), x)
    start = jnp.asarray(before)[:, 0]
    signs = rng.choice([-1.0, 1.0], size=(draws, L))
    rows = start[np.arange(draws) % len(x)]

    def follow(start: Any, signs: Any) -> tuple[Any, Any, Any]:
        def move(z: Any, layer: Any) -> tuple[Any, Any]:
            sign, theta = layer
            v = stage.field(theta, z)
            return z + sign * v, (_square(z), _square(v))

        end, (norms, added) = jax.lax.scan(move, start, (signs, theta), length=L)
        return jnp.append(norms, _square(end)), added, stage_residuals(start)

    def stage_residuals(z: Any) -> Any:
        return jax.lax.map(lambda theta: jnp.ravel(stage.field(theta, z)), theta) if theta else None

    norms, added, fields = call_compiled(jax.vmap(follow), rows, signs)
    own, steps, _ = call_compiled(jax.vmap(follow), start, np.ones((len(x), L)))
    norms, added, own, steps = (np.asarray(part) for part in (norms, added, own, steps))
    lags = np.unique(np.geomspace(1, max(1, L // 2), 8).astype(int))
    flat = np.concatenate(
        [np.asarray(w).reshape(L, -1) for w in theta if np.ndim(w) > 2] or [np.zeros((L, 1))], 1
    )
    u = np.asarray(fields)[: len(x)] if fields is not None else np.zeros((1, L, 1))
    return Regime(
        L,
        np.sqrt(np.mean(steps / np.maximum(own[:, :-1], 1e-300), 0)),
        lags,
        np.mean([_sums(row, lags) for row in u], 0),
        _sums(flat, lags),
        (norms[:, -1] - norms[:, 0] - added.sum(1)) / norms[:, 0],
        np.mean(own / own[:, :1], 0),
        norms / norms[:, :1],
    )


def _square(z: Any) -> Any:
    return jnp.sum(z**2)


def _sums(rows: np.ndarray, lags: np.ndarray) -> np.ndarray:
    """The mean squared length of sums of m neighbouring rows, for every m of `lags`."""
    total = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, 0)])
    return np.array([np.mean(np.sum((total[m:] - total[:-m]) ** 2, 1)) for m in lags])
