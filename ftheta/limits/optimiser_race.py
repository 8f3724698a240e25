r"""Adam against descent on a transformer, each at its best step of a grid: a proxy of the question why Adam helps.

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

from ftheta.graph.hurry import hurried
from ftheta.logic import Axis, Chart, Claim, Curves, Enclosure, Evidence, Series, Table
from ftheta.networks.transformers.gpt import Gpt, frequencies_loss, next_token_loss
from ftheta.training.program import Problem

from .proxies import ADAM, at_best_step, stacked
from .register import STATUS, Observed

DECADES = np.arange(-1.0, 1.1, 0.5)
GRIDS = {"Adam": 10 ** (DECADES - 1.5), "descent": 10 ** (DECADES - 0.5), "momentum": 10 ** (DECADES - 1)}
"""The steps of every rule, around those that are best for small transformers."""
WORK = 1e12  # multiplications that one race may take
SHORT = 1e10  # those of one that is compiled in a hurry


def member(weights: Any) -> optax.GradientTransformation:
    """The rule with these weights a (Adam), b (descent), c (momentum)."""
    adam, ball = optax.scale_by_adam(), optax.trace(0.9)

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        (u, state_u), (p, state_p) = adam.update(updates, state[0]), ball.update(updates, state[1])
        a, b, c = weights
        return jax.tree.map(lambda u, g, p: -(a * u + b * g + c * p), u, updates, p), (state_u, state_p)

    return optax.GradientTransformation(lambda params: (adam.init(params), ball.init(params)), update)


@lru_cache(maxsize=4)
def _program(gpt: Gpt, steps: int, hurry: bool) -> Callable[..., Any]:
    """Losses (rules, starts, steps) on these rows, one run after the other."""

    def one(start: Any, x: Any, y: Any, weights: Any) -> Any:
        problem = Problem(gpt.apply, next_token_loss, optax.with_extra_args_support(member(weights)))
        return problem.roll(problem.start(start), x, y, None, steps, steps).losses

    def every(starts: Any, x: Any, y: Any, rules: Any) -> Any:
        return jax.lax.map(lambda rule: jax.lax.map(lambda start: one(start, x, y, rule), starts), rules)

    return jax.jit(every, compiler_options=dict(hurried()) if hurry else None)


@dataclass(frozen=True, eq=False)
class Race:
    """Losses (rules, steps of the grid, seeds, training steps) of one architecture on all rows at every step."""

    losses: np.ndarray
    entropy: float

    @classmethod
    def of(cls, gpt: Gpt, x: np.ndarray, y: np.ndarray, steps: int, seeds: int, rng: np.random.Generator) -> "Race":
        rules = np.concatenate([np.outer(grid, unit) for grid, unit in zip(GRIDS.values(), np.eye(len(GRIDS)))])
        starts = jax.tree.map(lambda a: a.astype(np.float32), stacked([gpt.start(rng) for _ in range(seeds)]))
        a_step = 6 * gpt.parameters * x.size * len(rules) * seeds
        steps = min(steps, max(2, int(WORK / a_step)))
        found = _program(gpt, steps, steps * a_step < SHORT)(starts, x, y, rules.astype(np.float32))
        return cls(np.asarray(found, float).reshape(len(GRIDS), -1, seeds, steps), frequencies_loss(y))

    @cached_property
    def best(self) -> dict[str, np.ndarray]:
        """The courses (seeds, steps) of every rule at its best step; not numbers where that ends the grid."""
        return {rule: at_best_step(losses) for rule, losses in zip(GRIDS, self.losses)}

    def ends(self, rule: str) -> np.ndarray:
        return self.best[rule][:, -1]

    def observed(self) -> tuple[Observed, ...]:
        adam = self.ends("Adam")
        return tuple(Observed(f"loss of Adam − of {rule}", adam - self.ends(rule)) for rule in GRIDS if rule != "Adam")

    # -- pictures --------------------------------------------------------------------------------------

    def charts(self) -> tuple[Chart, ...]:
        return self.by_step_size(), self.courses()

    def by_step_size(self) -> Curves:
        """The last loss against the step; a run that diverged is not drawn."""
        series = []
        for (rule, grid), losses in zip(GRIDS.items(), self.losses):
            last = losses[..., -1]
            ok = np.isfinite(last).all(1) & (last.max(1) < 2 * losses[:, :, 0].max())
            series.append(_band(rule, grid[ok], last[ok].T))
        return Curves(
            "loss after training against the step", Axis("step", "log"), Axis("loss (band: all starts)"), tuple(series)
        )

    def courses(self) -> Curves:
        k = np.arange(1, self.losses.shape[-1] + 1)
        series = tuple(_band(rule, k, c) for rule, c in self.best.items() if np.isfinite(c).all())
        level = Series("frequencies", (1, len(k)), (self.entropy,) * 2, "reference")
        return Curves(
            "each rule at its best step", Axis("training step"), Axis("loss (band: all starts)"), (*series, level)
        )

    def table(self) -> Table:
        rows = []
        for (rule, grid), losses in zip(GRIDS.items(), self.losses):
            last = np.where(np.isfinite(losses[..., -1]), losses[..., -1], np.inf)
            k = int(last.mean(1).argmin())
            inside = "yes" if 0 < k < len(grid) - 1 else "no: an end of the grid"
            rows.append(
                (rule, float(grid[k]), float(last[k].mean()), float(last[k].min()), float(last[k].max()), inside)
            )
        return Table("best steps", ("rule", "step", "mean loss", "least", "largest", "inside the grid"), tuple(rows))


def _band(name: str, x: np.ndarray, values: np.ndarray) -> Series:
    """The mean over seeds (first axis) between the least and the largest."""
    return Series(name, x, values.mean(0), lo=values.min(0), hi=values.max(0))


def race_evidence(race: Race, parameters: int, vocabulary: int) -> Evidence:
    """Claims that a sample can at best agree with: an open problem has no theorem."""
    seeds, steps = race.losses.shape[2:]
    seen = race.observed()
    claims: tuple[Claim, ...] = tuple(o.claim(f"{ADAM} a transformer") for o in seen)
    means = {f"loss of {rule}": Enclosure.measured(float(race.ends(rule).mean()), samples=seeds)
             for rule in GRIDS if np.isfinite(race.ends(rule)).all()}  # fmt: skip
    told = ", ".join(f"{o.what} {o.effects.mean():.3g} in {o.agree:.0%} of the seeds" for o in seen)
    return Evidence(
        claims,
        race.charts(),
        {"parameters": Enclosure.exact(parameters), "seeds": Enclosure.exact(seeds)}
        | {"all tokens alike": float(np.log(vocabulary)), "frequencies": race.entropy}
        | means,
        (race.table(),),
        summary=f"after {steps} steps, each rule at its best step: {told}; {STATUS}",
    )
