r"""Adam against gradient descent on a transformer, each at its best step: a proxy of why Adam helps.

All rules are members of one family, $\theta\leftarrow\theta-a\,\frac{\hat m}{\sqrt{\hat v}+\varepsilon}-b\,g-c\,p$ with
$p\leftarrow0.9\,p+g$; so all runs, of every rule, step and seed, are one compiled program.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import jax
import numpy as np
import optax

from ftheta.graph.hurry import quick_compiler_options
from ftheta.networks.transformers.gpt import Gpt, frequencies_loss, next_token_loss
from ftheta.training.program import Problem
from ftheta.training.races import at_best_step, stack_trees

DECADES = np.arange(-1.0, 1.1, 0.5)
GRIDS = {
    "Adam": 10 ** (DECADES - 1.5),
    "gradient descent": 10 ** (DECADES - 0.5),
    "momentum": 10 ** (DECADES - 1),
}
"""The steps of every rule, around those that are best for small transformers."""
WORK = 1e12  # multiplications that one race may take
SHORT = 1e10  # those of one that is compiled in a hurry


def make_rule(weights: Any) -> optax.GradientTransformation:
    """The rule with these weights a (Adam), b (descent), c (momentum)."""
    adam = optax.scale_by_adam()
    ball = optax.trace(0.9)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        (u, state_u) = adam.update(updates, state[0])
        (p, state_p) = ball.update(updates, state[1])
        a, b, c = weights
        return jax.tree.map(lambda u, g, p: -(a * u + b * g + c * p), u, updates, p), (
            state_u,
            state_p,
        )

    return optax.GradientTransformation(
        lambda params: (adam.init(params), ball.init(params)), update
    )


@lru_cache(maxsize=4)
def _program(gpt: Gpt, steps: int, hurry: bool) -> Callable[..., Any]:
    """Losses (rules, starts, steps) on these rows, one run after the other."""

    def one(start: Any, x: Any, y: Any, weights: Any) -> Any:
        problem = Problem(
            gpt.apply, next_token_loss, optax.with_extra_args_support(make_rule(weights))
        )
        return problem.roll(problem.start(start), x, y, None, steps, steps).losses

    def every(starts: Any, x: Any, y: Any, rules: Any) -> Any:
        return jax.lax.map(
            lambda rule: jax.lax.map(lambda start: one(start, x, y, rule), starts), rules
        )

    return jax.jit(every, compiler_options=dict(quick_compiler_options()) if hurry else None)


@dataclass(frozen=True, eq=False)
class Race:
    """Losses (rules, steps of the grid, seeds, training steps) of one architecture on all rows at every step."""

    losses: np.ndarray
    entropy: float

    @classmethod
    def run(
        cls,
        gpt: Gpt,
        x: np.ndarray,
        y: np.ndarray,
        steps: int,
        seeds: int,
        rng: np.random.Generator,
    ) -> "Race":
        """Train from `seeds` starts by every rule with every step of its grid, on the rows `x`, `y`."""
        rules = np.concatenate(
            [np.outer(grid, unit) for grid, unit in zip(GRIDS.values(), np.eye(len(GRIDS)))]
        )
        starts = jax.tree.map(
            lambda a: a.astype(np.float32), stack_trees([gpt.start(rng) for _ in range(seeds)])
        )
        a_step = 6 * gpt.parameters * x.size * len(rules) * seeds
        steps = min(steps, max(2, int(WORK / a_step)))
        found = _program(gpt, steps, steps * a_step < SHORT)(starts, x, y, rules.astype(np.float32))
        return cls(
            np.asarray(found, float).reshape(len(GRIDS), -1, seeds, steps), frequencies_loss(y)
        )

    @cached_property
    def best(self) -> dict[str, np.ndarray]:
        """The courses (seeds, steps) of every rule at its best step; not numbers where that ends the grid."""
        return {rule: at_best_step(losses) for rule, losses in zip(GRIDS, self.losses)}

    def ends(self, rule: str) -> np.ndarray:
        """The last loss of a rule at its best step, seed by seed."""
        return self.best[rule][:, -1]

    def gaps(self) -> dict[str, np.ndarray]:
        """For every other rule, the loss of Adam at its best step less that of the rule at its own, seed by seed."""
        return {rule: self.ends("Adam") - self.ends(rule) for rule in GRIDS if rule != "Adam"}
