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

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Converges, Curves, Enclosure, Evidence, Histogram, Identity, Series

from ..orders import observed_order
from .ito import biased, corrected_limit, sum_moments

BITS = 128
DRAWS = 20_000  # of the law of norms
NODES = 48  # of each quadrature
EXPONENTS = (0.25, 0.5, 1.0)
NAMES = {0.25: "β = ¼", 0.5: "β = ½", 1.0: "β = 1"}


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
        return depth**-self.exponent

    # -- networks -------------------------------------------------------------------------------------

    def weights(self, depth: int, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        d, rho = self.dimension, self.correlation
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

    def quotients(self, alpha: float, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
        r"""Draws of $\|h_{k+1}\|^2/\|h_k\|^2$."""
        d, s2 = self.dimension, np.ones(shape)
        if self.relu:
            s2 = 2 / d * rng.chisquare(np.maximum(rng.binomial(d, 0.5, shape), 1e-300))
        g, rest = rng.normal(size=shape), rng.chisquare(d - 1, shape) if d > 1 else np.zeros(shape)
        return (1 + alpha * np.sqrt(s2 / d) * g) ** 2 + alpha**2 * s2 * rest / d

    def log_growth(self, depth: int) -> tuple[float, float]:
        r"""Mean and variance of $\log\|h_L\|^2-\log\|h_0\|^2$ of linear blocks, by Gaussian quadrature."""
        d, alpha = self.dimension, self.alpha(depth)
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
        low, high = 1 + depth * alpha2, (depth * alpha2).exp()
    return Enclosure.ball(low), second_moment(alpha2, depth), Enclosure.ball(high)


def fourth_moment(blocks: RandomBlocks, depth: int) -> Enclosure:
    r"""$\mathbb E\|h_L\|^4/\|h_0\|^4=\big(1+(2+\frac4d)\alpha^2+(1+\frac2d)\kappa\alpha^4\big)^L$ as a ball.

    $\kappa=\mathbb Es^4$ is 1, or $1+\frac5d$ of ReLU after He weights. For $\alpha=L^{-1/2}$ the limit is $e^{2+4/d}$.
    """
    with ctx.workprec(BITS):
        alpha2, share = arb(depth) ** (-2 * arb(blocks.exponent)), arb(1) / blocks.dimension
        kappa = 1 + 5 * share if blocks.relu else arb(1)
        return Enclosure.ball((1 + (2 + 4 * share) * alpha2 + (1 + 2 * share) * kappa * alpha2**2) ** depth)


@dataclass(frozen=True, eq=False)
class Draws:
    """Squared norms, relative to the start, of networks and of the law of norms: `[draw]` at the last layer."""

    blocks: RandomBlocks
    depth: int
    networks: np.ndarray
    law: np.ndarray

    def claims(self) -> tuple[Any, ...]:
        low, exact, high = moments(self.blocks.exponent, self.depth)
        fourth = fourth_moment(self.blocks, self.depth)
        variance = (fourth - exact * exact).hi
        found: list[Any] = [
            Identity("E‖h_L‖²/‖h₀‖² over networks", mean(self.networks, variance=variance), exact),
            Identity("E‖h_L‖²/‖h₀‖² over draws of the quotients", mean(self.law, variance=variance), exact),
            AtMost("1 + Lα² ≤ (1 + α²)^L", low, exact),
            AtMost("(1 + α²)^L ≤ exp(Lα²)", exact, high),
        ]
        if 16 * self.depth * self.blocks.alpha(self.depth) ** 2 <= self.blocks.dimension:  # else its tail is too heavy
            found.append(Identity("E‖h_L‖⁴/‖h₀‖⁴ over draws of the quotients", mean(self.law**2), fourth))
        if not self.blocks.relu:
            centre, spread = self.blocks.log_growth(self.depth)
            logs = mean(np.log(self.networks), variance=spread)
            found.append(Identity("E log ‖h_L‖²/‖h₀‖² over networks", logs, Enclosure.equal(centre)))
        return tuple(found)

    @property
    def z(self) -> float:
        """How many standard errors the networks' mean is off."""
        error = float(self.networks.std(ddof=1)) / np.sqrt(len(self.networks))
        return (float(self.networks.mean()) - moments(self.blocks.exponent, self.depth)[1].middle) / max(error, 1e-300)

    def histogram(self) -> Histogram:
        logs = np.log(self.law)
        low, high = np.quantile(logs, (0.001, 0.999))
        edges = np.linspace(low, high, 41)
        heights = np.histogram(logs, edges, density=True)[0]
        curves: tuple[Series, ...] = ()
        if not self.blocks.relu:
            centre, variance = self.blocks.log_growth(self.depth)
            x = np.linspace(edges[0], edges[-1], 121)
            normal = np.exp(-((x - centre) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            curves = (Series("normal law", x, normal, "reference"),)
        return Histogram(
            f"the spread of the norm after {self.depth} blocks",
            Axis("log of the squared norm"),
            Axis("density"),
            edges,
            heights,
            curves,
        )


def drawn(
    blocks: RandomBlocks, members: Sequence[Sequence[np.ndarray]], depth: int, draws: int, rng: np.random.Generator
) -> Draws:
    """The norms at the end of the networks with these weights, and `draws` of their law."""
    h = rng.normal(size=blocks.dimension)
    ends = [blocks.path(params, h, blocks.alpha(depth))[-1] for params in members]
    law = np.ones(draws)
    for _ in range(depth):
        law *= blocks.quotients(blocks.alpha(depth), (draws,), rng)
    return Draws(blocks, depth, np.array([e @ e for e in ends]) / (h @ h), law)


def normal_limit(dimension: int, depths: Sequence[int]) -> tuple[Converges, Converges]:
    r"""$\log\|h_L\|^2\to\mathcal N(1-\frac2d,\frac4d)$ at $\alpha=L^{-1/2}$: mean and variance against depth."""
    blocks = RandomBlocks(0.5, dimension)
    seen = [blocks.log_growth(depth) for depth in depths]
    limits, scales = (1 - 2 / dimension, 4 / dimension), tuple(map(float, depths))
    first, second = (
        Converges(
            f"{what} at α = L^(−1/2)",
            Enclosure.equal(limit),
            tuple(Enclosure.equal(s[k]) for s in seen),
            scales,
            4 / depths[-1],
        )
        for k, (what, limit) in enumerate(zip(("E log ‖h_L‖²/‖h₀‖²", "its variance"), limits))
    )
    return first, second


# -- pictures ---------------------------------------------------------------------------------------------------


def regimes_chart(blocks: RandomBlocks, depth: int, rng: np.random.Generator, draws: int = 200) -> Curves:
    """Norms against depth in the three regimes: median and middle 80 % of the law, and the exact second moment."""
    k, curves = np.arange(depth + 1), []
    for beta in EXPONENTS:
        alpha = depth**-beta
        path = np.concatenate([np.ones((draws, 1)), np.cumprod(blocks.quotients(alpha, (draws, depth), rng), 1)], 1)
        lo, middle, hi = np.quantile(path, (0.1, 0.5, 0.9), axis=0)
        curves.append(Series(f"median, {NAMES[beta]}", k, middle, "measured", "line", lo, hi))
        curves.append(Series(f"mean, {NAMES[beta]}", k, (1 + alpha**2) ** k, "bound"))
    return Curves(f"norms against depth, L = {depth}", Axis("layer k"), Axis("‖h_k‖²/‖h₀‖²", "log"), tuple(curves))


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
    h, blocks = rng.normal(size=dimension), RandomBlocks(1.0, dimension)
    paths = [blocks.path((smooth_weights(dimension, L, A),), h, 1 / L) for L in (*depths, 2 * depths[-1])]
    return np.array([np.linalg.norm(a[-1] - b[-1]) for a, b in pairwise(paths)]), paths


def paths_chart(dimension: int, depth: int, smooth: np.ndarray, rng: np.random.Generator, paths: int = 3) -> Curves:
    """One coordinate against depth: independent weights with step L^(-1/2), and smooth ones with step 1/L."""
    t, blocks = np.linspace(0, 1, depth + 1), RandomBlocks(0.5, dimension)
    rough = [blocks.path(blocks.weights(depth, rng), smooth[0], depth**-0.5)[:, 0] for _ in range(paths)]
    curves = [Series(f"independent weights {i + 1}", t, row, "measured") for i, row in enumerate(rough)]
    curves.append(Series("smooth weights", np.linspace(0, 1, len(smooth)), smooth[:, 0], "bound"))
    return Curves("a diffusion and a flow", Axis("t = k/L"), Axis("first coordinate of h"), tuple(curves))


def study(blocks: RandomBlocks, members: Sequence[Any], depth: int, rng: np.random.Generator) -> Evidence:
    """Everything about random networks of this depth; `members` are the weights of some."""
    seen, d = drawn(blocks, members, depth, DRAWS, rng), blocks.dimension
    depths = [max(4, depth // 4), max(8, depth // 2), max(16, depth)]
    apart, paths = smooth_distances(d, depths, rng)
    moment = moments(blocks.exponent, depth)[1]
    smooth = observed_order("smooth weights, step 1/L: distance to twice the depth", 1, depths, apart, slack=0.4)
    still = Enclosure.equal(zero_state(blocks, members[0]))
    shifted = biased(depth, rng)
    beta = blocks.exponent
    tends = "1, the identity" if beta > 0.5 else "e, a diffusion" if beta == 0.5 else "∞, an explosion"
    return Evidence(
        claims=(*seen.claims(), *normal_limit(d, depths), *smooth, *shifted.claims(), *corrected_limit(depths)),
        charts=(
            regimes_chart(blocks, depth, rng),
            paths_chart(d, depth, paths[-1], rng),
            seen.histogram(),
            shifted.histogram(),
        ),
        numbers={"E‖h_L‖²/‖h₀‖²": moment, "z-score over networks": seen.z, "Lα²": depth * blocks.alpha(depth) ** 2}
        | {f"second moment, {NAMES[b]}": moments(b, depth)[1] for b in EXPONENTS}
        | {"E‖h_L‖⁴/‖h₀‖⁴": fourth_moment(blocks, depth), "E h_L with random biases in e^z − 1": sum_moments(depth)[0]},
        as_printed=(Identity("additive noise: E‖x(1)‖² from x(0) = 0", still, Enclosure.exact(d)),),
        summary=f"the second moment grows by {moment.middle:.6g} over {depth} blocks ({seen.z:+.1f} standard errors "
        f"over {len(members)} networks); as L → ∞ it tends to {tends}",
    )


def layer_correlation(params: Sequence[Any]) -> tuple[float, float]:
    """The correlation between the weights of neighbouring layers, and its standard error under independence."""
    pairs = [(np.ravel(np.asarray(V)[:-1]), np.ravel(np.asarray(V)[1:])) for V in params]
    a, b = (np.concatenate(side) for side in zip(*pairs))
    return float(a @ b / max(np.sqrt((a @ a) * (b @ b)), 1e-300)), 1 / np.sqrt(max(1, len(a)))


def zero_state(blocks: RandomBlocks, params: Sequence[Any]) -> float:
    """The squared norm that a network makes of the zero state: additive noise would move it."""
    end = blocks.apply(params, jnp.zeros(blocks.dimension))
    return float(end @ end)
