r"""Grokking: a network that has memorised its training pairs, and generalises to the whole operation much later.

Protocol (after Power et al. 2022, with the network of Gromov 2023): a share of the pairs $(a,b)$ of a table trains one
hidden layer of squares, $c\mapsto V(U_a+U'_b)^2$, by AdamW with all rows at every step and $\beta_2=0.98$; the others
validate. $t_{mem}$ and $t_{gen}$ are the first steps looked at where the training and the validation accuracy reach the
threshold; the delay is their ratio.
"""

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from ftheta.datasets import dataset
from ftheta.logic import UsageError
from ftheta.risks.watching import Recipe, Watched, WatchedRows, log_steps, start, watch

from .tables import Operation

LOOKS = 100


@dataclass(frozen=True)
class Protocol:
    """A share `fraction` of the pairs trains `hidden` units for `steps` steps."""

    fraction: float = 0.5
    decay: float = 1.0
    hidden: int = 128
    step: float = 0.005
    steps: int = 3000
    activation: str = "square"
    threshold: float = 0.95

    def __post_init__(self) -> None:
        if not (
            0 < self.fraction < 1
            and 0 < self.threshold <= 1
            and self.hidden >= 1
            and self.steps >= 1
        ):
            remedy = "0 < fraction < 1, 0 < threshold ≤ 1, at least one unit and one step"
            raise UsageError("This protocol cannot be run.", got=repr(self), remedy=remedy)

    def limit_steps(self, operation: Operation, work: float) -> "Protocol":
        """With no more steps than so many floating-point operations allow: six per row and weight."""
        weights = 3 * operation.elements * self.hidden
        return replace(
            self,
            steps=max(
                1, min(self.steps, int(work / (6 * len(operation) * self.fraction * weights)))
            ),
        )


@dataclass(frozen=True, eq=False)
class GrokkingRun:
    """One seed: accuracies after `at` steps, and the two times, infinite where the budget ended before."""

    protocol: Protocol
    seed: int
    watched: Watched

    @property
    def at(self) -> np.ndarray:
        return self.watched.at

    @property
    def train(self) -> np.ndarray:
        return 1 - self.watched.train_error

    @property
    def validation(self) -> np.ndarray:
        return 1 - self.watched.test_error

    @property
    def memorised_at(self) -> float:
        return self._first(self.train)

    @property
    def generalised_at(self) -> float:
        return self._first(self.validation)

    @property
    def delay(self) -> float:
        return self.generalised_at / self.memorised_at if isfinite(self.memorised_at) else inf

    def _first(self, accuracy: np.ndarray) -> float:
        reached = np.flatnonzero(accuracy >= self.protocol.threshold)
        return float(max(self.at[reached[0]], 1)) if len(reached) else inf


def grok(operation: Operation, protocol: Protocol | None = None, seed: int = 0) -> GrokkingRun:
    """Train one network on a random share of the table. A function of its arguments, seed included."""
    protocol = protocol or Protocol()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(operation))
    n = round(protocol.fraction * len(operation))
    if not 0 < n < len(operation):
        remedy = "give more pairs, or another fraction"
        raise UsageError(
            "The share leaves no pair to train on or none to validate.",
            got=f"{n} pairs",
            remedy=remedy,
        )
    x = operation.inputs()
    y = operation.targets()
    p = operation.elements
    params = start(rng, (2 * p, protocol.hidden, p), biases=False)
    recipe = Recipe(protocol.step, protocol.decay, protocol.activation, beta=0.98)
    train, rest = (WatchedRows.of(x[part], y[part]) for part in (order[:n], order[n:]))
    return GrokkingRun(
        protocol, seed, watch(params, train, rest, recipe, log_steps(protocol.steps, LOOKS))
    )


def grokking_cell(
    seed: int,
    p: int = 97,
    operation: str = "a+b",
    fraction: float = 0.4,
    decay: float = 1.0,
    hidden: int = 256,
    step: float = 0.005,
    steps: int = 10_000,
    activation: str = "square",
) -> dict[str, Any]:
    """One cell of a sweep: the times, the delay and both curves. `operation` is of Z/p, or a group such as S5."""
    data = (
        dataset("group", of=operation)
        if operation[:1].isupper()
        else dataset("modular", p=p, operation=operation)
    )
    run = grok(
        Operation.of(operation, data.x, data.y),
        Protocol(fraction, decay, hidden, step, steps, activation),
        seed,
    )
    seen = lambda time: time if isfinite(time) else None
    return {
        "t_mem": seen(run.memorised_at),
        "t_gen": seen(run.generalised_at),
        "delay": seen(run.delay),
        "train_accuracy": float(run.train[-1]),
        "validation_accuracy": float(run.validation[-1]),
        "at": run.at,
        "train": run.train,
        "validation": run.validation,
    }
