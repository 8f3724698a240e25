r"""One network trained with each penalty, all at once: the coefficients are numbers of one compiled program.

Every recipe minimises the loss of disturbed rows plus $\gamma_2\|\theta\|^2+\gamma_J\,\mathbb E\|J\|_F^2$ by Adam, with
decoupled decay and, every few steps, a projection onto balls; what it leaves out has the coefficient that does nothing.
"""

from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from ftheta.graph.compiling import call_compiled
from ftheta.risks.filters import halves
from ftheta.training.adaptive import TRACED, Adam
from ftheta.training.losses import Loss, loss_named
from ftheta.training.regularisers.decay import largest_row, spectral_ball
from ftheta.training.regularisers.penalties import squared_pullback
from ftheta.training.study import affordable

FREE = 1e9  # a radius that is no constraint
OFTEN = 10  # steps between projections
# parameters and rows of a network that is trained with every penalty
MOST = 20_000
LEAST = 8
STARTS = 2
DRAWS = 64  # tables of noise, masks and probes, taken in turn


@dataclass(frozen=True)
class Recipe:
    """Coefficients of the penalties; the defaults do nothing."""

    name: str = "none"
    l2: float = 0.0
    decay: float = 0.0
    jacobian: float = 0.0
    spread: float = 0.0
    keep: float = 1.0
    radius: float = FREE
    row: float = FREE


def list_recipes(strength: float, scale: float = 1.0) -> tuple[Recipe, ...]:
    """Each penalty alone, at a strength that suits inputs of this scale and targets of size one."""
    return (
        Recipe(),
        Recipe("L2 penalty", l2=0.1 * strength),
        Recipe("decoupled decay", decay=strength),
        Recipe("Jacobian penalty", jacobian=strength * scale**2),
        Recipe("input noise", spread=float(np.sqrt(strength)) * scale),
        Recipe("input dropout", keep=1 / (1 + strength)),
        Recipe("spectral norms ≤ 1.5", radius=1.5),
        Recipe("rows of length ≤ 1", row=1.0),
    )


@dataclass(frozen=True, eq=False)
class Ablation:
    """Losses on the rows that were fitted and on others, (recipes, starts), and the mean ‖J‖² on both."""

    names: tuple[str, ...]
    train: np.ndarray
    test: np.ndarray
    steepness: np.ndarray
    steepness_elsewhere: np.ndarray


def draw_starts(params: Any, count: int, rng: np.random.Generator) -> np.ndarray:
    """Vectors of parameters to start from: matrices drawn anew at their own size, everything else as it is."""
    draw = lambda leaf: rng.normal(size=leaf.shape) * leaf.std() if np.ndim(leaf) >= 2 else leaf
    return np.stack(
        [np.asarray(ravel_pytree(jax.tree.map(draw, params))[0], np.float64) for _ in range(count)]
    )


def run_ablation(
    apply: Callable[[Any, Any], Any],
    params: Any,
    loss: Loss,
    fitted: tuple[np.ndarray, np.ndarray],
    others: tuple[np.ndarray, np.ndarray],
    chosen: Sequence[Recipe],
    starts: np.ndarray,
    *,
    steps: int,
    step: float = 0.01,
    seed: int = 0,
) -> Ablation:
    """Train from every start with every recipe; `fitted` and `others` are inputs and targets as the loss takes them."""
    rebuild = ravel_pytree(params)[1]
    rule = Adam(step)
    (x, y), (u, z) = (tuple(map(jnp.asarray, rows)) for rows in (fitted, others))
    shape = jax.eval_shape(apply, params, x[0]).shape
    rng = np.random.default_rng(seed)
    tables = _draw_tables(x.shape, shape, rng)
    signs = rng.choice([-1.0, 1.0], (len(u), *shape))

    def risk(theta: Any, inputs: Any, targets: Any) -> Any:
        tree = rebuild(theta)
        return jnp.mean(jax.vmap(lambda a, b: loss.of(apply(tree, a), b))(inputs, targets))

    def steep(theta: Any, inputs: Any, probes: Any) -> Any:
        f = lambda row: apply(rebuild(theta), row)
        return jnp.mean(jax.vmap(lambda row, v: squared_pullback(f, row, v))(inputs, probes))

    def objective(theta: Any, k: Any, mixed: Recipe) -> Any:
        push, chance, probes = (
            jax.lax.dynamic_index_in_dim(t, k % DRAWS, keepdims=False) for t in tables
        )
        disturbed = jnp.where(chance < mixed.keep, (x + mixed.spread * push) / mixed.keep, 0.0)
        return (
            risk(theta, disturbed, y)
            + mixed.l2 * jnp.sum(theta**2)
            + mixed.jacobian * steep(theta, x, probes)
        )

    def project(theta: Any, mixed: Recipe) -> Any:
        return ravel_pytree(largest_row(mixed.row)(spectral_ball(mixed.radius)(rebuild(theta))))[0]

    def train(start: Any, coefficients: Any) -> tuple[Any, ...]:
        mixed = Recipe("", *coefficients)

        def body(k: Any, carry: Any) -> Any:
            theta, memory = carry
            update, memory = rule.step(
                jax.grad(objective)(theta, k, mixed), k + 1.0, memory, TRACED
            )
            theta = theta + update - 2 * step * mixed.decay * theta
            often = (k % OFTEN == OFTEN - 1) | (k == steps - 1)
            return jax.lax.cond(often, lambda t: project(t, mixed), lambda t: t, theta), memory

        theta, _ = jax.lax.fori_loop(0, steps, body, (start, rule.begin(jnp.zeros_like(start))))
        return (
            risk(theta, x, y),
            risk(theta, u, z),
            steep(theta, x, tables[2][0]),
            steep(theta, u, signs),
        )

    coefficients = np.array([astuple(recipe)[1:] for recipe in chosen])
    columns = tuple(map(jnp.asarray, coefficients.T))
    over_starts = jax.vmap(train, (0, None))
    found = call_compiled(jax.vmap(over_starts, (None, 0)), jnp.asarray(starts), columns)
    return Ablation(tuple(r.name for r in chosen), *(np.asarray(v) for v in found))


def _draw_tables(
    rows: tuple[int, ...], outputs: tuple[int, ...], rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Noise and chances of being kept for all inputs, and random signs for all outputs: one of each a step."""
    noise = rng.normal(size=(DRAWS, *rows))
    chances = rng.random((DRAWS, *rows))
    signs = rng.choice([-1.0, 1.0], (DRAWS, rows[0], *outputs))
    return jnp.asarray(noise), jnp.asarray(chances), jnp.asarray(signs)


def compare_penalties(
    apply: Callable[[Any, Any], Any],
    params: Any,
    loss: str,
    x: np.ndarray,
    y: np.ndarray,
    rng: np.random.Generator,
    *,
    steps: int,
    strength: float,
) -> Ablation | None:
    """Every penalty on half of the rows, from two starts; none for few rows or a large network."""
    size = sum(np.size(leaf) for leaf in jax.tree.leaves(params))
    if size > MOST or len(x) < LEAST:
        return None
    chosen = list_recipes(strength, max(float(x.std()), 1e-12))
    named = loss_named(loss)
    a, b = halves(len(x), rng)
    targets = named.targets(y, jax.eval_shape(apply, params, x[0]).shape)
    few = affordable(size, len(x) * len(chosen) * STARTS, steps)
    starts = draw_starts(params, STARTS, rng)
    return run_ablation(
        apply, params, named, (x[a], targets[a]), (x[b], targets[b]), chosen, starts, steps=few
    )
