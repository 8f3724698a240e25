r"""Lipschitz constants of residual blocks: bounds rounded outward, or the steepest slope found."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.certify.steepness import steepness
from ftheta.graph.errors import GraphError
from ftheta.logic.enclosure import Enclosure
from ftheta.shapes import Real

from .chains import Chain, Stage

# dimensions up to which the slope of a block without a certificate is looked for at points
LARGEST_STATE = 64


@dataclass(frozen=True)
class BlockConstant:
    """Of one block: a bound of Lip(v), or the steepest slope found and why there is no bound."""

    number: int
    bound: Enclosure
    why: str = ""

    @property
    def value(self) -> float:
        """The bound, or without one the steepest slope found."""
        return self.bound.hi if self.bound.hi < inf else self.bound.lo


def block_constants(
    chain: Chain, weights: Sequence[Any], x: Real[np.ndarray, "n *shape"]
) -> list[BlockConstant]:
    """Of every residual block of the chain with these stacked weights: certified where each of its nodes has a rule,
    else the steepest slope at the rows of `x`."""
    found: list[BlockConstant] = []
    seen: list[Any] | None = None
    for i in chain.residual_stages:
        stage = chain.stages[i]
        theta = [np.asarray(w) for w in weights[i]]
        for k, part in enumerate(stage.parts):
            still = {**part.fixed, **{slot.id: w[k] for slot, w in zip(part.weights, theta)}}
            try:
                found.append(
                    BlockConstant(
                        len(found) + 1, steepness(part.nodes, part.start, part.end, still)
                    )
                )
            except GraphError as error:
                if seen is None and stage.size <= LARGEST_STATE:
                    seen = jax.vmap(lambda x: chain.states(weights, x)[1])(x)
                met = (
                    inf
                    if seen is None
                    else _steepest_slope(stage, [w[k] for w in theta], np.asarray(seen[i])[:, k])
                )
                known = (
                    Enclosure.at_least(met, samples=len(x))
                    if met < inf
                    else Enclosure.at_least(0.0)
                )
                found.append(BlockConstant(len(found) + 1, known, str(error).splitlines()[0]))
    return found


def _steepest_slope(stage: Stage, theta: list[np.ndarray], states: np.ndarray) -> float:
    r"""The largest $\|Dv\|_2$ at the states (rows)."""
    flat = lambda z: jnp.ravel(stage.field(theta, z.reshape(stage.shape)))
    slopes = np.asarray(jax.vmap(jax.jacfwd(flat))(states.reshape(len(states), -1)))
    return float(np.linalg.norm(slopes, 2, axis=(1, 2)).max())
