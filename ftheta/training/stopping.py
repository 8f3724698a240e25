"""When a run ends before its last step. Rules on losses and gradients act at an exact step, whatever the chunks."""

from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.shapes import Float, Int


@dataclass(frozen=True, slots=True)
class Stop:
    """End when the `loss` or the norm of the `gradient` is that small, when there was no improvement for `patience`
    steps (of the validation loss where there is one, else of the loss), or after so many `seconds`."""

    loss: float | None = None
    gradient: float | None = None
    patience: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (
                np.isfinite(value) and (field.name == "loss" or value >= 0)
            ):
                raise UsageError(
                    "A stopping rule needs a finite number.", where=f"Stop.{field.name}", got=value
                )


class Best(NamedTuple):
    """The smallest loss so far and its step."""

    loss: float = np.inf
    step: int = 0

    def after(self, losses: Float[np.ndarray, "k"], first: int) -> "Best":
        if not len(losses) or not (losses < self.loss).any():
            return self
        k = int(np.nanargmin(losses))
        return Best(float(losses[k]), first + k)


class End(NamedTuple):
    """The number of steps taken and the reason."""

    step: int
    reason: str


def first_end(
    stop: Stop,
    best: Best | None,
    losses: Float[np.ndarray, "k"],
    gradients: Float[np.ndarray, "g"],
    first: int,
) -> End | None:
    """The earliest end within a chunk whose step `first + k` had loss `losses[k]`; `best` is None where another loss
    than these decides about patience."""
    ends = []
    if stop.loss is not None:
        ends += [
            End(first + int(k), f"loss at most {stop.loss:g}")
            for k in np.flatnonzero(losses <= stop.loss)[:1]
        ]
    if stop.gradient is not None:
        small = np.flatnonzero(gradients <= stop.gradient)[:1]
        ends += [End(first + int(k), f"gradient norm at most {stop.gradient:g}") for k in small]
    if stop.patience is not None and best is not None:
        late = np.flatnonzero(
            first + np.arange(len(losses)) - last_improvement(best, losses, first) >= stop.patience
        )
        ends += [End(first + int(k), say_out_of_patience(stop.patience)) for k in late[:1]]
    return min(ends, default=None, key=lambda end: end.step)


def last_improvement(
    best: Best, losses: Float[np.ndarray, "k"], first: int
) -> Int[np.ndarray, "k"]:
    """For each step of a chunk, the latest step up to it whose loss was smaller than all before."""
    before = np.minimum.accumulate(np.concatenate([[best.loss], losses]))[:-1]
    steps = np.where(losses < before, first + np.arange(len(losses)), best.step)
    return np.maximum.accumulate(steps) if len(steps) else steps


def say_out_of_patience(patience: int) -> str:
    """Why a run ended whose loss did not improve for `patience` steps."""
    return f"no improvement for {patience:,} steps"
