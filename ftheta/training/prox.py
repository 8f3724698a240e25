r"""Proximal maps $\mathrm{prox}_f(x)=\arg\min_uf(u)+\frac12\|u-x\|^2$ in closed form, each beside that of its conjugate
$f^*$, and what every proximal map is: firmly non-expansive."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import largest
from ftheta.graph.enclosing import enclose_number
from ftheta.logic import AtMost, Axis, Curves, Enclosure, Identity, Series, Witness

Map = Callable[[Any], Any]
SHAPE = (4, 3)  # of the matrices on which the maps are tried
CORNERS = -np.full(SHAPE, 3.0), np.full(SHAPE, 3.0)


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
    Pair("box", clip, lambda x: soft_threshold(x, 1.0), lambda u: jnp.where(jnp.all(jnp.abs(u) <= 1), 0.0, jnp.inf)),
    Pair("ℓ2", shrink_norm, into_ball, lambda u: jnp.sqrt(jnp.sum(u**2))),
    Pair("nuclear", shrink_spectrum, into_spectral_ball, lambda u: jnp.sum(jnp.linalg.svd(u, compute_uv=False))),
    Pair("x ≥ 0 (ReLU)", jax.nn.relu, lambda x: jnp.minimum(x, 0), lambda u: jnp.where(jnp.all(u >= 0), 0.0, jnp.inf)),
)


def moreau(rng: np.random.Generator, points: int) -> tuple[Identity, ...]:
    r"""$\mathrm{prox}_f(x)+\mathrm{prox}_{f^*}(x)=x$ at random points, for every pair."""
    x = rng.normal(size=(points, *SHAPE)) * 2
    claims = []
    for pair in PAIRS:
        gap = largest(np.abs(np.asarray(jax.vmap(pair.prox)(x) + jax.vmap(pair.conjugate)(x)) - x))
        seen = Enclosure.measured(gap, samples=points)
        claims.append(Identity(f"prox_f + prox_f* − I, f = {pair.name}", seen, Enclosure.exact(0), atol=1e-12))
    return tuple(claims)


def optimal(rng: np.random.Generator, points: int) -> AtMost:
    r"""The largest gain met of a random $u$ over $p=\mathrm{prox}_f(x)$ in $f(u)+\frac12\|u-x\|^2$: none."""
    x, gains = rng.normal(size=(points, *SHAPE)) * 2, []
    for pair in PAIRS:
        p = np.asarray(jax.vmap(pair.prox)(x))
        near = p + rng.normal(size=p.shape) * rng.choice([1e-3, 1e-1, 1.0], size=(points, 1, 1))
        cost = lambda u, x=x, pair=pair: jax.vmap(pair.value)(u) + jnp.sum((u - x) ** 2, axis=(1, 2)) / 2
        gains.append(np.asarray(cost(p) - cost(near)))
    return AtMost(
        "largest gain over a proximal point",
        Enclosure.measured(largest(*gains), samples=5 * points),
        Enclosure.exact(0),
        atol=1e-12,
    )


def firmness(name: str, prox: Map, lo: np.ndarray, hi: np.ndarray, rng: np.random.Generator, pairs: int) -> AtMost:
    r"""$\|p(x)-p(y)\|^2\le\langle p(x)-p(y),x-y\rangle$ at random pairs, far apart and close; the worst
    pair is evaluated again as a witness where it fails. The points come from the box with corners `lo`, `hi`."""
    x = rng.uniform(lo, hi, size=(pairs, *np.shape(lo)))
    near = x + (hi - lo) * rng.normal(size=x.shape) * rng.choice(
        [1e-3, 1e-2, 1e-1, 1.0], size=(pairs, *[1] * np.ndim(lo))
    )
    y = np.clip(near, lo, hi)
    excess = _excess(np.asarray(jax.vmap(prox)(x)), np.asarray(jax.vmap(prox)(y)), x, y)
    worst = int(np.argmax(np.nan_to_num(excess, nan=np.inf)))
    zero, witness = Enclosure.exact(0), None
    if excess[worst] > 1e-9:
        again = enclose_number(
            lambda x, y: _excess(prox(x)[None], prox(y)[None], x[None], y[None])[0], x[worst], y[worst]
        )
        at = {"x": tuple(map(float, x[worst].ravel())), "y": tuple(map(float, y[worst].ravel()))}
        witness = Witness(at, again, zero, "the map at the two points, in intervals rounded outward")
    what = f"largest ‖p(x) − p(y)‖² − ⟨p(x) − p(y), x − y⟩, {name}"
    return AtMost(what, Enclosure.measured(float(excess[worst]), samples=pairs), zero, witness=witness, atol=1e-9)


def _excess(p: Any, q: Any, x: Any, y: Any) -> Any:
    d, e = (p - q).reshape(len(x), -1), (x - y).reshape(len(x), -1)
    return (d * d).sum(axis=1) - (d * e).sum(axis=1)


def asymmetry(prox: Map, lo: np.ndarray, hi: np.ndarray, rng: np.random.Generator, points: int) -> float:
    r"""The largest entry of $J-J^\top$ of the map's Jacobian at random points: a proximal map is a gradient."""
    x = rng.uniform(lo, hi, size=(points, *np.shape(lo)))
    J = np.asarray(jax.vmap(jax.jacobian(prox))(x)).reshape(points, np.size(lo), np.size(lo))
    return float(np.abs(J - J.transpose(0, 2, 1)).max())


def soft_threshold_is_relu(level: Fraction) -> Identity:
    r"""$S_\lambda(x)=\mathrm{relu}(x-\lambda)-\mathrm{relu}(-x-\lambda)=x-\mathrm{clip}(x,-\lambda,\lambda)$ for every
    real $x$: the three are affine between $-\lambda$ and $\lambda$ and beyond, so four points decide."""
    relu = lambda t: max(t, Fraction(0))
    gap = Fraction(0)
    for x in (-level - 1, -level, level, level + 1):
        sign = (x > 0) - (x < 0)
        soft = sign * relu(abs(x) - level)
        gap = max(gap, abs(soft - (relu(x - level) - relu(-x - level))), abs(soft - (x - min(max(x, -level), level))))
    return Identity("S_λ − two ReLUs, S_λ + clip − I, on the whole line", Enclosure.exact(gap), Enclosure.exact(0))


def everywhere(rng: np.random.Generator, points: int) -> tuple[AtMost | Identity, ...]:
    """What is claimed of every map of `PAIRS`."""
    firm = (firmness(pair.name, pair.prox, *CORNERS, rng, points) for pair in PAIRS)
    return *moreau(rng, points), optimal(rng, points), soft_threshold_is_relu(Fraction(1)), *firm


def prox_chart(level: float, other: Map | None = None, name: str = "") -> Curves:
    """Proximal maps of one number."""
    x = np.linspace(-3, 3, 241)
    series = [
        Series("identity", x, x, "reference"),
        Series("|x| (soft threshold)", x, np.asarray(soft_threshold(x, level))),
        Series("[−1, 1] (clip)", x, np.clip(x, -1, 1)),
        Series("x ≥ 0 (ReLU)", x, np.maximum(x, 0)),
        Series("½x²", x, x / 2),
    ]
    if other is not None:
        series.append(Series(name, x, np.array([float(np.asarray(other(np.array(v)))) for v in x]), "bound"))
    return Curves("proximal maps of one number", Axis("x"), Axis("prox(x)"), tuple(series))
