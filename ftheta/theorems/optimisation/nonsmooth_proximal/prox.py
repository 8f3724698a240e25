r"""Proximal maps $\mathrm{prox}_f(x)=\arg\min_uf(u)+\frac12\|u-x\|^2$ in closed form, each beside that of its conjugate
$f^*$, and what every proximal map is: firmly non-expansive."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

Map = Callable[[Any], Any]


def soft_threshold(x: Any, level: Any) -> Any:
    r"""$\mathrm{prox}$ of $\lambda\|\cdot\|_1$: $\mathrm{sign}(x)\max(|x|-\lambda,0)$; `level` is $\lambda$."""
    return jnp.sign(x) * jnp.maximum(jnp.abs(x) - level, 0)


def clip(x: Any, level: Any = 1.0) -> Any:
    r"""The projection onto the box $[-\lambda,\lambda]^d$."""
    return jnp.clip(x, -level, level)


def shrink_norm(x: Any, level: Any = 1.0) -> Any:
    r"""$\mathrm{prox}$ of $\lambda\|\cdot\|_2$: $\max(1-\lambda/\|x\|,0)\,x$."""
    size = jnp.sqrt(jnp.sum(x**2))
    return jnp.where(size > level, (1 - level / jnp.where(size > 0, size, 1.0)) * x, 0.0)


def into_ball(x: Any, level: Any = 1.0) -> Any:
    r"""The projection onto the ball of radius $\lambda$."""
    size = jnp.sqrt(jnp.sum(x**2))
    return x * jnp.where(size > level, level / jnp.where(size > 0, size, 1.0), 1.0)


def shrink_spectrum(x: Any, level: Any = 1.0) -> Any:
    r"""$\mathrm{prox}$ of $\lambda$ times the nuclear norm: every singular value is shrunk by $\lambda$."""
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return (u * jnp.maximum(s - level, 0)) @ v


def into_spectral_ball(x: Any, level: Any = 1.0) -> Any:
    r"""The projection onto $\{\|X\|_2\le\lambda\}$: every singular value is cut at $\lambda$."""
    u, s, v = jnp.linalg.svd(x, full_matrices=False)
    return (u * jnp.minimum(s, level)) @ v


@dataclass(frozen=True, eq=False)
class Pair:
    """A function, its proximal map, and the proximal map of its conjugate, each from its own closed form."""

    name: str
    prox: Map
    conjugate: Map
    value: Map


PAIRS = (
    Pair("ℓ1", lambda x: soft_threshold(x, 1.0), clip, lambda u: jnp.sum(jnp.abs(u))),
    Pair(
        "box",
        clip,
        lambda x: soft_threshold(x, 1.0),
        lambda u: jnp.where(jnp.all(jnp.abs(u) <= 1), 0.0, jnp.inf),
    ),
    Pair("ℓ2", shrink_norm, into_ball, lambda u: jnp.sqrt(jnp.sum(u**2))),
    Pair(
        "nuclear",
        shrink_spectrum,
        into_spectral_ball,
        lambda u: jnp.sum(jnp.linalg.svd(u, compute_uv=False)),
    ),
    Pair(
        "x ≥ 0 (ReLU)",
        jax.nn.relu,
        lambda x: jnp.minimum(x, 0),
        lambda u: jnp.where(jnp.all(u >= 0), 0.0, jnp.inf),
    ),
)


def draw_pairs(
    lo: np.ndarray, hi: np.ndarray, rng: np.random.Generator, pairs: int
) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs $x,y$ in the box with corners `lo`, `hi`: some far apart, some close."""
    x = rng.uniform(lo, hi, size=(pairs, *np.shape(lo)))
    near = x + (hi - lo) * rng.normal(size=x.shape) * rng.choice(
        [1e-3, 1e-2, 1e-1, 1.0], size=(pairs, *[1] * np.ndim(lo))
    )
    return x, np.clip(near, lo, hi)


def firmness_excess(prox: Map, x: Any, y: Any) -> Any:
    r"""$\|p(x)-p(y)\|^2-\langle p(x)-p(y),x-y\rangle$ for each pair of rows: at most 0 for a proximal map $p$."""
    d = (jax.vmap(prox)(x) - jax.vmap(prox)(y)).reshape(len(x), -1)
    e = (x - y).reshape(len(x), -1)
    return (d * d).sum(axis=1) - (d * e).sum(axis=1)


def asymmetry(
    prox: Map, lo: np.ndarray, hi: np.ndarray, rng: np.random.Generator, points: int
) -> float:
    r"""The largest entry of $J-J^\top$ of the map's Jacobian at random points: a proximal map is a gradient."""
    x = rng.uniform(lo, hi, size=(points, *np.shape(lo)))
    J = np.asarray(jax.vmap(jax.jacobian(prox))(x)).reshape(points, np.size(lo), np.size(lo))
    return float(np.abs(J - J.transpose(0, 2, 1)).max())
