"""Many runs compiled as one program: several seeds, each with its own data and start, and several step sizes."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

import jax
import numpy as np
import optax

from ftheta.graph.hurry import quick_compiler_options
from ftheta.shapes import Float

from .program import Chunk, Problem

Rule: TypeAlias = Callable[[Any], optax.GradientTransformation]  # step size -> optimiser
STEPS = 10.0 ** np.arange(-2.5, 2.6, 0.5)  # step sizes that are tried
SHORT = 1e10  # multiplications of a race that is compiled in a hurry


class Trained(NamedTuple):
    """Losses (…, seeds, steps) and the last parameters, in NumPy."""

    losses: Float[np.ndarray, "*sizes seeds steps"]
    params: Any


def stack_trees(trees: list[Any]) -> Any:
    """One tree whose arrays have a leading axis over the given ones."""
    return jax.tree.map(lambda *leaves: np.stack(leaves), *trees)


def train_all(apply: Any, loss: Any, rule: Rule, runs: list[Any], steps: int, step: Any) -> Trained:
    """All runs (start, x, y) at once; `step` is one number, or several that every run is made with (a leading axis)."""
    starts, x, y = stack_trees(runs)
    work = np.size(step) * steps * x.shape[1] * sum(leaf.size for leaf in jax.tree.leaves(starts))
    roll = _program(apply, loss, rule, steps, np.ndim(step) > 0, work < SHORT)
    with jax.enable_x64(True):
        chunk = jax.tree.map(np.asarray, roll(starts, x, y, np.asarray(step)))
    return Trained(chunk.losses, chunk.state.params)


@lru_cache(maxsize=16)  # compiling takes longer than running
def _program(
    apply: Any, loss: Any, rule: Rule, steps: int, many: bool, hurry: bool
) -> Callable[..., Chunk]:
    def one(params: Any, x: Any, y: Any, size: Any) -> Chunk:
        problem = Problem(apply, loss, optax.with_extra_args_support(rule(size)))
        return problem.roll(problem.start(params), x, y, None, steps, steps)

    over_runs = jax.vmap(one, (0, 0, 0, None))
    race = jax.vmap(over_runs, (None, None, None, 0)) if many else over_runs
    return jax.jit(race, compiler_options=dict(quick_compiler_options()) if hurry else None)


def at_best_step(
    losses: Float[np.ndarray, "sizes seeds steps"],
) -> Float[np.ndarray, "seeds steps"]:
    """Of losses (step sizes, seeds, steps), the courses with the lowest mean end: (seeds, steps). Not numbers where the
    best step is an end of the grid: a better one may lie beyond, and a comparison would not be fair."""
    ends = np.where(np.isfinite(losses[..., -1]), losses[..., -1], np.inf).mean(axis=1)
    best = int(np.argmin(ends))
    return losses[best] if 0 < best < len(ends) - 1 else np.full_like(losses[best], np.nan)
