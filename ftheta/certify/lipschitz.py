r"""How steep a network can be: a product of norms above, the steepest secant found below."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from math import isfinite, isinf
from operator import mul
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.graph.domains.interval import intervals
from ftheta.graph.enclosing import affordable
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.witness import Witness
from ftheta.networks import Description, activation
from ftheta.shapes import Float, Real

from .norms import spectral_norm
from .semidefinite import bound_slope

SMALL_SIDE = 32  # Jacobians with a side up to this are formed; larger ones are only multiplied with
POWER_STEPS = 12
CHUNK = 1 << 22  # entries of Jacobians held at once
ROWS = 2048  # points sent through the network at once
AGAIN = 8  # of the steepest secants in float64, how many are evaluated again with outward rounding
LENGTHS = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)  # of the secants tried around the steepest point
MIDDLE = 3  # of them, long enough that rounding hardly matters and short enough to be as steep as the Jacobian


def layer_norms(description: Description) -> tuple[Enclosure, ...]:
    r"""$\|W_\ell\|_2$ of every layer."""
    return tuple(spectral_norm(layer.weight) for layer in description.layers)


def product_bound(
    description: Description, norms: tuple[Enclosure, ...] | None = None
) -> Enclosure:
    r"""$\prod_\ell c_\ell\|W_\ell\|_2\ge\mathrm{Lip}(f)$, with $c_\ell$ the Lipschitz constant of the activation.

    `norms` may hold other norms of the weights that bound $\|W_\ell\|_2$.
    """
    constants = (activation(layer.activation).lipschitz for layer in description.layers)
    return reduce(mul, (c * w for c, w in zip(constants, norms or layer_norms(description))))


def semidefinite_bound(description: Description) -> float | None:
    r"""A bound of $\mathrm{Lip}(f)$ by a semidefinite program (`semidefinite.py`), where all activations but the last
    increase: their slopes are a constant times one in [0, 1]. None of other layers."""
    activations = [activation(layer.activation) for layer in description.layers]
    constants = [a.lipschitz for a in activations]
    if not all(a.monotone for a in activations[:-1]) or not all(isfinite(c.hi) for c in constants):
        return None
    bound = bound_slope([layer.weight for layer in description.layers]).bound
    return reduce(mul, constants, Enclosure.exact(bound)).hi


@dataclass(frozen=True, eq=False)
class Secant:
    r"""Two inputs and the slope $\|f(x)-f(y)\|/\|x-y\|$ between them; `tried` counts the points of the search.

    `enclosed` holds the slope with outward rounding: of all numbers where the program has no such evaluation. `slope`
    is then its value in float64, and otherwise the lower end: what has been shown.
    """

    x: Float[np.ndarray, "*shape"]
    y: Float[np.ndarray, "*shape"]
    slope: float
    tried: int
    enclosed: Enclosure

    @property
    def known(self) -> Enclosure:
        """What the search tells of the Lipschitz constant: it is at least this slope."""
        return Enclosure.at_least(self.slope, samples=self.tried)

    def against(self, bound: Enclosure) -> Witness | None:
        """This secant as a witness against `Lip(f) <= bound`; None where it is no steeper."""
        if self.slope <= bound.hi:
            return None
        at = {"x": tuple(map(float, np.ravel(self.x))), "y": tuple(map(float, np.ravel(self.y)))}
        return Witness(
            at, self.enclosed, bound, "slope between the two points, in intervals rounded outward"
        )


@np.errstate(all="ignore")
def slope(
    f: Callable[[Any], Any], x: Real[np.ndarray, "*shape"], y: Real[np.ndarray, "*shape"]
) -> float:
    r"""$\|f(x)-f(y)\|/\|x-y\|$, evaluated operation by operation (not compiled); 0 where it is not finite."""
    rise = np.linalg.norm(np.ravel(np.asarray(f(x), np.float64) - np.asarray(f(y), np.float64)))
    run = np.linalg.norm(np.ravel(x - y))
    value = float(rise / run) if run > 0 else 0.0
    return value if np.isfinite(value) else 0.0


def enclosed_slopes(
    f: Callable[[Any], Any], x: Real[np.ndarray, "n *shape"], y: Real[np.ndarray, "n *shape"]
) -> list[Enclosure]:
    r"""$\|f(x)-f(y)\|/\|x-y\|$ for each row of `x` and of `y`, with outward rounding.

    Of a large program the first few alone, or none, are evaluated: of the others nothing is known.
    """

    def slope_between(x: jax.Array, y: jax.Array) -> jax.Array:
        rise = jnp.ravel(f(x)) - jnp.ravel(f(y))
        run = jnp.ravel(x) - jnp.ravel(y)
        return jnp.sqrt(jnp.sum(rise * rise) / jnp.sum(run * run))

    unknown = [Enclosure.unknown()] * len(x)
    try:
        with jax.enable_x64(True):
            graph = trace(slope_between, x[0], y[0], fold_rounded=False)
            count = sum(affordable(graph, k) for k in range(1, len(x) + 1))
            boxes = [intervals(graph, a, b).outputs for a, b in zip(x[:count], y[:count])]
    except (GraphError, TypeError, ValueError):
        return unknown
    found = [Enclosure.between(max(0.0, float(box.lo)), float(box.hi)) for box in boxes]
    return found + unknown[len(found) :]


@np.errstate(all="ignore")
def steepest_secant(
    f: Callable[[Any], Any],
    points: Real[np.ndarray, "n *shape"],
    rng: np.random.Generator,
    *,
    climbs: int = 32,
    steps: int = 100,
) -> Secant:
    r"""The steepest secant of `f` found near `points` (one input per row).

    The Jacobian's norm at every point, then `steps` of gradient ascent on $\log\|f(x)-f(y)\|-\log\|x-y\|$ from pairs
    laid along the top singular directions at the `climbs` steepest points. (Ascent on the Jacobian's norm itself does
    nothing for ReLU, where that norm is piecewise constant.) The Jacobian at a kink may be no slope at all, so the
    result is always a secant. The steepest ones in float64, which may be rounding alone, and all along the top
    direction are evaluated again with outward rounding: the result has the largest lower bound.
    """
    shape = points.shape[1:]
    flat = points.reshape(len(points), -1)
    one = lambda x: jnp.ravel(f(x.reshape(shape)))
    norms, directions = _jacobian_tops(one, flat, rng)
    best = np.argsort(norms)[::-1][:climbs]
    spread = float(np.sqrt(np.mean(flat**2))) or 1.0
    lengths = spread * np.geomspace(1e-2, 10.0, len(best))[:, None]
    x, y = _ascend(one, flat[best], flat[best] + lengths * directions[best], steps, spread)
    candidates = np.concatenate([x, y, (x + y) / 2, flat[best[:1]]])
    candidates = candidates[np.isfinite(candidates).all(1)]
    tops, along = _jacobian_tops(one, candidates, rng)
    k = int(tops.argmax())
    pairs = [
        (candidates[k] - h * spread * along[k] / 2, candidates[k] + h * spread * along[k] / 2)
        for h in LENGTHS
    ]
    pairs += [(a, b) for a, b in zip(x, y) if np.isfinite(a).all() and np.isfinite(b).all()]
    x, y = (np.array([pair[end] for pair in pairs]) for end in (0, 1))
    slopes = _slopes(one, x, y)
    steepest = np.argsort(-slopes, kind="stable")[:AGAIN].tolist()
    # the most telling ones first
    again = list(dict.fromkeys([MIDDLE, *steepest, *reversed(range(len(LENGTHS)))]))
    enclosed = enclosed_slopes(one, x[again], y[again])
    tried = len(points) + 2 * len(best) * steps
    if all(isinf(found.lo) for found in enclosed):
        k = int(slopes.argmax())
        return Secant(
            x[k].reshape(shape), y[k].reshape(shape), float(slopes[k]), tried, Enclosure.unknown()
        )
    top = max(range(len(again)), key=lambda i: enclosed[i].lo)
    k = again[top]
    return Secant(x[k].reshape(shape), y[k].reshape(shape), enclosed[top].lo, tried, enclosed[top])


def inputs_near(
    rows: Real[np.ndarray, "m *row"] | None,
    shape: tuple[int, ...],
    n: int,
    radius: float,
    rng: np.random.Generator,
) -> Float[np.ndarray, "k *row"]:
    """Inputs to search from: up to `n` rows of the data, where there are any, and normal ones of deviation `radius`."""
    drawn = radius * rng.normal(size=(n, *shape))
    if rows is None:
        return drawn
    chosen = rows[rng.permutation(len(rows))[:n]].reshape(-1, *shape)
    return np.concatenate([chosen, drawn[: max(1, n // 4)]])


def _jacobian_tops(
    f: Callable[[Any], Any], points: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """The Jacobian's norm at each row of `points` (a lower bound of it) and the unit vector that attains it."""
    n = points.shape[1]
    m = jax.eval_shape(f, points[0]).size
    rows = min(ROWS, len(points), max(1, CHUNK // (m * n)))
    if min(m, n) > SMALL_SIDE:
        search = jax.vmap(lambda x, v: _power(f, x, v))
        starts = rng.normal(size=points.shape)
        parts = [call_compiled(search, points[i], starts[i]) for i in _batches(len(points), rows)]
    else:
        jacobian = jax.vmap(jax.jacrev(f) if m <= n else jax.jacfwd(f))
        parts = [
            _tops(np.asarray(call_compiled(jacobian, points[i])))
            for i in _batches(len(points), rows)
        ]
    norms, directions = (
        np.concatenate([np.asarray(p[k]) for p in parts])[: len(points)] for k in (0, 1)
    )
    return np.nan_to_num(norms, nan=0.0, posinf=0.0), np.nan_to_num(directions)


def _batches(total: int, rows: int) -> list[np.ndarray]:
    """Indices in batches of one size, so that one compilation serves all; the last index fills up the last batch."""
    return [np.minimum(np.arange(i, i + rows), total - 1) for i in range(0, total, rows)]


def _tops(jacobians: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    jacobians = np.where(np.isfinite(jacobians).all((1, 2), keepdims=True), jacobians, 0.0)
    wide = jacobians.shape[1] <= jacobians.shape[2]
    transposed = jacobians.transpose(0, 2, 1)
    vectors = np.linalg.eigh(jacobians @ transposed if wide else transposed @ jacobians)[1][
        ..., -1:
    ]
    directions = (transposed @ vectors if wide else vectors)[..., 0]
    directions = directions / np.maximum(np.linalg.norm(directions, axis=1, keepdims=True), 1e-300)
    return np.linalg.norm(np.einsum("pmn,pn->pm", jacobians, directions), axis=1), directions


def _power(f: Callable[[Any], Any], x: jax.Array, v: jax.Array) -> tuple[jax.Array, jax.Array]:
    forward = lambda v: jax.jvp(f, (x,), (v,))[1]
    _, backward = jax.vjp(f, x)
    unit = lambda v: v / jnp.maximum(jnp.linalg.norm(v), 1e-300)
    v = jax.lax.fori_loop(0, POWER_STEPS, lambda _, v: unit(backward(forward(v))[0]), unit(v))
    return jnp.linalg.norm(forward(v)), v


def _ascend(
    f: Callable[[Any], Any], x: np.ndarray, y: np.ndarray, steps: int, spread: float
) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of every secant after gradient ascent on the logarithm of its slope, in shrinking normalised steps."""

    def steepness(pair: jax.Array) -> jax.Array:
        rise = f(pair[0]) - f(pair[1])
        run = pair[0] - pair[1]
        return jnp.log(jnp.sum(rise**2) + 1e-300) - jnp.log(jnp.sum(run**2) + 1e-300)

    def step(pairs: jax.Array, size: jax.Array) -> tuple[jax.Array, None]:
        gradient = jnp.nan_to_num(jax.vmap(jax.grad(steepness))(pairs))
        scale = jnp.linalg.norm(gradient, axis=(1, 2), keepdims=True)
        return pairs + size * gradient / jnp.maximum(scale, 1e-300), None

    sizes = spread * np.sqrt(x.shape[1]) * np.geomspace(0.2, 0.002, steps)
    pairs = call_compiled(lambda pairs: jax.lax.scan(step, pairs, sizes)[0], np.stack([x, y], 1))
    return np.asarray(pairs[:, 0]), np.asarray(pairs[:, 1])


def _slopes(f: Callable[[Any], Any], x: np.ndarray, y: np.ndarray) -> np.ndarray:
    values = call_compiled(jax.vmap(f), np.concatenate([x, y]))
    rise = np.linalg.norm(np.asarray(values[: len(x)]) - np.asarray(values[len(x) :]), axis=1)
    run = np.linalg.norm(x - y, axis=1)
    return np.nan_to_num(rise / np.where(run > 0, run, np.inf), nan=0.0, posinf=0.0)
