r"""Samplers by their steps: Euler and Heun in the noise level, DDIM, DDPM.

All take a denoiser $D(x,\sigma)=\mathbb E[x_0\mid x_0+\sigma\xi=x]$. Variance-exploding samplers follow
$\frac{dx}{d\sigma}=\frac{x-D(x,\sigma)}\sigma$ down decreasing levels. Variance-preserving ones have
$x_t=\sqrt{\bar\alpha_t}x_0+\sqrt{1-\bar\alpha_t}\,\xi$: divided by $\sqrt{\bar\alpha_t}$ it has the noise level
$\sigma_t=\sqrt{(1-\bar\alpha_t)/\bar\alpha_t}$.
"""

from collections.abc import Callable
from itertools import pairwise
from math import sqrt

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float

Denoiser = Callable[[np.ndarray, float], np.ndarray]


def karras_levels(
    steps: int, least: float = 0.002, most: float = 80.0, rho: float = 7.0
) -> Float[np.ndarray, "steps_and_one"]:
    r"""$\sigma_i=\big(\sigma_{\max}^{1/\rho}+\frac i{n-1}(\sigma_{\min}^{1/\rho}-\sigma_{\max}^{1/\rho})\big)^\rho$ for
    $i<n$ = `steps`, then 0."""
    u = (
        np.linspace(most ** (1 / rho), least ** (1 / rho), steps) ** rho
        if steps > 1
        else np.array([most])
    )
    return np.append(u, 0.0)


def linear_alphas(
    steps: int = 1000, first: float = 1e-4, last: float = 0.02
) -> Float[np.ndarray, "steps"]:
    r"""$\bar\alpha_t=\prod_{s\le t}(1-\beta_s)$ with $\beta$ evenly from `first` to `last`."""
    return np.cumprod(1 - np.linspace(first, last, steps))


def noise_levels(alphas: Float[np.ndarray, "steps"]) -> Float[np.ndarray, "steps"]:
    r"""$\sigma_t=\sqrt{(1-\bar\alpha_t)/\bar\alpha_t}$."""
    return np.sqrt((1 - alphas) / alphas)


def sample_euler(
    denoise: Denoiser, x: Float[np.ndarray, "n d"], levels: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "n d"]:
    """Euler's method down the levels: order 1."""
    for high, low in pairwise(levels.tolist()):
        x = x + (low - high) * (x - denoise(x, high)) / high
    return x


def sample_heun(
    denoise: Denoiser, x: Float[np.ndarray, "n d"], levels: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "n d"]:
    """Heun's method down the levels, order 2; a step to the level 0 is Euler's."""
    for high, low in pairwise(levels.tolist()):
        slope = (x - denoise(x, high)) / high
        guess = x + (low - high) * slope
        if low > 0:
            slope = (slope + (guess - denoise(guess, low)) / low) / 2
        x = x + (low - high) * slope
    return x


def sample_ddim(
    denoise: Denoiser, x: Float[np.ndarray, "n d"], alphas: Float[np.ndarray, "k"]
) -> Float[np.ndarray, "n d"]:
    r"""DDIM along increasing $\bar\alpha$: $x\mapsto\sqrt{\bar\alpha'}\hat x_0+\sqrt{1-\bar\alpha'}\,\hat\xi$, where
    $\hat x_0=D(x/\sqrt{\bar\alpha},\sigma)$ and $\hat\xi=(x-\sqrt{\bar\alpha}\hat x_0)/\sqrt{1-\bar\alpha}$. In
    $x/\sqrt{\bar\alpha}$ this is Euler's method down the noise levels."""
    for now, then in pairwise(alphas.tolist()):
        clean = denoise(x / sqrt(now), sqrt((1 - now) / now))
        noise = (x - sqrt(now) * clean) / sqrt(1 - now)
        x = sqrt(then) * clean + sqrt(1 - then) * noise
    return x


def sample_ddpm(
    denoise: Denoiser,
    x: Float[np.ndarray, "n d"],
    alphas: Float[np.ndarray, "k"],
    rng: np.random.Generator,
    *,
    posterior: bool = False,
) -> Float[np.ndarray, "n d"]:
    r"""Ancestral sampling along increasing $\bar\alpha$: with $\beta=1-\bar\alpha/\bar\alpha'$, the mean
    $\frac1{\sqrt{1-\beta}}\big(x-\frac\beta{\sqrt{1-\bar\alpha}}\hat\xi\big)$ and the variance $\beta$, or (posterior)
    $\tilde\beta=\beta\frac{1-\bar\alpha'}{1-\bar\alpha}$; none in a step to $\bar\alpha'=1$."""
    for now, then in pairwise(alphas.tolist()):
        beta = 1 - now / then
        clean = denoise(x / sqrt(now), sqrt((1 - now) / now))
        noise = (x - sqrt(now) * clean) / sqrt(1 - now)
        x = (x - beta / sqrt(1 - now) * noise) / sqrt(1 - beta)
        variance = beta * (1 - then) / (1 - now) if posterior else beta
        if then < 1:
            x = x + sqrt(variance) * rng.normal(size=x.shape)
    return x


def thin_alphas(
    alphas: Float[np.ndarray, "steps"], count: int
) -> Float[np.ndarray, "count_and_one"]:
    r"""The $\bar\alpha$ that `count` steps visit, from the noisiest: of every $k$th index from the last, and then 1."""
    if not 1 <= count <= len(alphas):
        raise UsageError(
            "A sampler takes at least one step and no more than its schedule has.",
            got=count,
            remedy=f"give 1 to {len(alphas)} steps",
        )
    chosen = len(alphas) - 1 - (len(alphas) // count) * np.arange(count)
    return np.append(alphas[chosen], 1.0)
