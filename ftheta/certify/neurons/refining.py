"""Bounds of single neurons by branch and bound: each open bound splits the neurons below that matter most to it."""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftheta.processes.compilation import clock
from ftheta.shapes import Float

from .domains import Domains
from .frames import Array, Layer
from .inputs import Inputs
from .lines import Climb, Start
from .splitting import Task, bound_domains, first_domains, halve


@dataclass(frozen=True)
class Effort:
    """`rounds` of splitting until a `deadline` of `clock`, by `workers` (threads)."""

    rounds: int
    deadline: float
    workers: Executor | None = None

    def map(self, function: Callable[[Any], Any], items: Iterable[Any]) -> Iterable[Any]:
        return map(function, items) if self.workers is None else self.workers.map(function, items)


CHUNK = 256  # domains that are split at once
PLAN = Climb(6, rate=0.15, push_rate=0.15)


def refine_rows(
    inputs: Inputs,
    layers: Sequence[Layer],
    start: Start,
    slopes: Float[np.ndarray, "n u"],
    effort: Effort,
) -> Float[np.ndarray, "n"]:
    """Proved lower bounds of the rows of `start`, from good `slopes` on; 0 where a row is shown not to be negative.

    In every round the worst domain of each row is split.
    """
    rows = len(start.constant)
    task = Task(
        inputs,
        layers,
        lambda targets, _: start.select(targets),
        None,
        lambda _, weights: weights,
        lambda bound, *_: bound > 0,
    )
    first = first_domains(task, np.arange(rows), slopes, np.zeros((rows, 0), np.float32))
    plan = replace(PLAN, deadline=effort.deadline)
    pool = bound_domains(task, first, replace(plan, steps=2)).open
    for _ in range(effort.rounds):
        worst = _pick_worst(pool)
        if not len(worst) or clock() > effort.deadline:
            break
        parts = [halve(pool.select(worst[i : i + CHUNK])) for i in range(0, len(worst), CHUNK)]
        rest = np.ones(len(pool), bool)
        rest[worst] = False
        pool = pool.select(np.flatnonzero(rest))
        for outcome in effort.map(lambda part: bound_domains(task, part, plan), parts):
            pool = pool.join(outcome.open)
    least = np.full(rows, np.inf)
    np.minimum.at(least, pool.target, pool.bound)
    return np.where(np.isinf(least), 0.0, least)


def _pick_worst(pool: Domains) -> Array:
    """Of every target the domain with the lowest bound, where it can be split."""
    order = np.lexsort((pool.bound, pool.target))
    target = pool.target[order]
    is_first = np.ones(len(order), bool)
    is_first[1:] = target[1:] != target[:-1]
    worst = order[is_first]
    return worst[pool.split[worst] >= 0]
