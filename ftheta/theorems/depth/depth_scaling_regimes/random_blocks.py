r"""Deep residual networks with random weights: $h_{k+1}=h_k+\alpha_LV_{k+1}\sigma(h_k)$, entries of variance $1/d$.

Given $h_k$, the step is Gaussian with covariance $\frac{\alpha^2}d\|\sigma(h_k)\|^2I$. If the nonlinearity keeps the
norm in the mean (the identity, or ReLU after Gaussian weights of variance $2/d$), the quotients
$\|h_{k+1}\|^2/\|h_k\|^2$ are independent with one law, that of
$(1+\alpha sg/\sqrt d)^2+\alpha^2s^2\chi^2_{d-1}/d$ with $s=1$, or
$s^2=\frac2d\sum\mathrm{ReLU}(g_i)^2$. Hence $\mathbb E\|h_L\|^2=(1+\alpha^2)^L\|h_0\|^2$, and the norms of deep
networks can be drawn without drawing a network.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import arb, ctx
from scipy import special

from ftheta.graph.enclosing import enclose_number
from ftheta.logic import Enclosure

BITS = 128
NODES = 48  # of each quadrature


@dataclass(frozen=True)
class RandomBlocks:
    r"""$\alpha_L=L^{-\beta}$, `exponent` $\beta$, in `dimension` $d$; `relu` puts a He layer and ReLU before $V$.

    `correlation` $\rho$ ties the weights of neighbouring layers: $V_{k+1}=\rho V_k+\sqrt{1-\rho^2}\,\xi$.
    """

    exponent: float
    dimension: int
    relu: bool = False
    correlation: float = 0.0

    def alpha(self, depth: int) -> float:
        r"""$\alpha_L=L^{-\beta}$."""
        return depth**-self.exponent

    # -- networks -------------------------------------------------------------------------------------

    def weights(self, depth: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        """Random weights of that many blocks, stacked."""
        d = self.dimension
        rho = self.correlation
        found = []
        for variance in (1.0, 2.0)[: 1 + self.relu]:
            V = rng.normal(size=(depth, d, d)) * np.sqrt(variance / d)
            for k in range(1, depth if rho else 0):
                V[k] = rho * V[k - 1] + np.sqrt(1 - rho**2) * V[k]
            found.append(V)
        return tuple(found)

    def apply(self, params: Sequence[Any], h: Any) -> jax.Array:
        """The network itself, in JAX."""
        alpha = self.alpha(len(params[0]))

        def block(h: Any, layer: Any) -> tuple[Any, None]:
            return h + alpha * (layer[0] @ (jax.nn.relu(layer[1] @ h) if self.relu else h)), None

        return jax.lax.scan(block, h, tuple(params))[0]

    def path(self, params: Sequence[np.ndarray], h: np.ndarray, alpha: float) -> np.ndarray:
        """The states of one network, layer by layer, in NumPy."""
        states = [h]
        for layer in zip(*params):
            h = h + alpha * (layer[0] @ (np.maximum(layer[1] @ h, 0.0) if self.relu else h))
            states.append(h)
        return np.array(states)

    # -- the law of the norm ------------------------------------------------------------------------------

    def quotients(
        self, alpha: float, shape: tuple[int, ...], rng: np.random.Generator
    ) -> np.ndarray:
        r"""Draws of $\|h_{k+1}\|^2/\|h_k\|^2$."""
        d = self.dimension
        s2 = np.ones(shape)
        if self.relu:
            s2 = 2 / d * rng.chisquare(np.maximum(rng.binomial(d, 0.5, shape), 1e-300))
        g = rng.normal(size=shape)
        rest = rng.chisquare(d - 1, shape) if d > 1 else np.zeros(shape)
        return (1 + alpha * np.sqrt(s2 / d) * g) ** 2 + alpha**2 * s2 * rest / d

    def log_growth(self, depth: int) -> tuple[float, float]:
        r"""Mean and variance of $\log\|h_L\|^2-\log\|h_0\|^2$ of linear blocks, by Gaussian quadrature."""
        d = self.dimension
        alpha = self.alpha(depth)
        g, w = special.roots_hermitenorm(NODES)
        half = (d - 1) / 2
        c, u = (np.zeros(1), np.ones(1)) if d == 1 else special.roots_genlaguerre(NODES, half - 1)
        weight = np.outer(w / w.sum(), u / u.sum())
        logs = np.log((1 + alpha * g[:, None] / np.sqrt(d)) ** 2 + 2 * alpha**2 * c[None] / d)
        first = float((weight * logs).sum())
        return depth * first, depth * float((weight * (logs - first) ** 2).sum())


def second_moment(alpha2: Any, depth: int) -> Enclosure:
    r"""$(1+\alpha^2)^L$ as a ball."""
    with ctx.workprec(BITS):
        return Enclosure.ball((1 + alpha2) ** depth)


def moments(exponent: float, depth: int) -> tuple[Enclosure, Enclosure, Enclosure]:
    r"""$1+L\alpha^2\le(1+\alpha^2)^L\le e^{L\alpha^2}$ for $\alpha=L^{-\beta}$, as balls."""
    with ctx.workprec(BITS):
        alpha2 = arb(depth) ** (-2 * arb(exponent))
        low = 1 + depth * alpha2
        high = (depth * alpha2).exp()
    return Enclosure.ball(low), second_moment(alpha2, depth), Enclosure.ball(high)


def fourth_moment(blocks: RandomBlocks, depth: int) -> Enclosure:
    r"""$\mathbb E\|h_L\|^4/\|h_0\|^4=\big(1+(2+\frac4d)\alpha^2+(1+\frac2d)\kappa\alpha^4\big)^L$ as a ball.

    $\kappa=\mathbb Es^4$ is 1, or $1+\frac5d$ of ReLU after He weights. For $\alpha=L^{-1/2}$ the limit is $e^{2+4/d}$.
    """
    with ctx.workprec(BITS):
        alpha2 = arb(depth) ** (-2 * arb(blocks.exponent))
        share = arb(1) / blocks.dimension
        kappa = 1 + 5 * share if blocks.relu else arb(1)
        return Enclosure.ball(
            (1 + (2 + 4 * share) * alpha2 + (1 + 2 * share) * kappa * alpha2**2) ** depth
        )


@dataclass(frozen=True, eq=False)
class NormDraws:
    """Squared norms, relative to the start, of networks and of the law of norms: `[draw]` at the last layer."""

    blocks: RandomBlocks
    depth: int
    networks: np.ndarray
    law: np.ndarray

    @property
    def z(self) -> float:
        """How many standard errors the networks' mean is off."""
        error = float(self.networks.std(ddof=1)) / np.sqrt(len(self.networks))
        return (
            float(self.networks.mean()) - moments(self.blocks.exponent, self.depth)[1].middle
        ) / max(error, 1e-300)


def draw_norms(
    blocks: RandomBlocks,
    members: Sequence[Sequence[np.ndarray]],
    depth: int,
    draws: int,
    rng: np.random.Generator,
) -> NormDraws:
    """The norms at the end of the networks with these weights, and `draws` of their law."""
    h = rng.normal(size=blocks.dimension)
    ends = [blocks.path(params, h, blocks.alpha(depth))[-1] for params in members]
    law = np.ones(draws)
    for _ in range(depth):
        law *= blocks.quotients(blocks.alpha(depth), (draws,), rng)
    return NormDraws(blocks, depth, np.array([e @ e for e in ends]) / (h @ h), law)


def smooth_weights(dimension: int, depth: int, coefficients: np.ndarray) -> np.ndarray:
    r"""$V(k/L)$ with $V(t)=\sum_jA_j\cos(j\pi t)$: weights that vary smoothly with depth."""
    t = np.arange(depth) / depth
    waves = np.cos(np.pi * np.outer(t, np.arange(len(coefficients))))
    return np.einsum("kj,jab->kab", waves, coefficients)


def smooth_distances(
    dimension: int, depths: Sequence[int], rng: np.random.Generator
) -> tuple[np.ndarray, list[np.ndarray]]:
    """How far networks with the same smooth weights and step 1/L are from those of twice the depth; their paths."""
    A = rng.normal(size=(3, dimension, dimension)) / np.sqrt(3 * dimension)
    h = rng.normal(size=dimension)
    blocks = RandomBlocks(1.0, dimension)
    paths = [
        blocks.path((smooth_weights(dimension, L, A),), h, 1 / L) for L in (*depths, 2 * depths[-1])
    ]
    return np.array([np.linalg.norm(a[-1] - b[-1]) for a, b in pairwise(paths)]), paths


def layer_correlation(params: Sequence[Any]) -> tuple[float, float]:
    """The correlation between the weights of neighbouring layers, and its standard error under independence."""
    pairs = [(np.ravel(np.asarray(V)[:-1]), np.ravel(np.asarray(V)[1:])) for V in params]
    a, b = (np.concatenate(side) for side in zip(*pairs))
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300)), 1 / np.sqrt(max(1, len(a)))


def image_of_zero(blocks: RandomBlocks, params: Sequence[Any]) -> Enclosure:
    """The squared norm that a network makes of the zero state, in intervals: additive noise would move it."""

    def square(*params: Any) -> Any:
        return jnp.sum(blocks.apply(params, jnp.zeros(blocks.dimension)) ** 2)

    return enclose_number(square, *params)
