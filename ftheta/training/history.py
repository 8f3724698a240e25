"""What was recorded on the way."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from ftheta.shapes import Float, Int


@dataclass(frozen=True, eq=False)
class History:
    r"""`loss[i]` is the loss of $\theta_k$, $k=$ `step[i]`, on the rows that step $k$ saw, before it was taken.

    `gradient` are the norms at these steps where they were recorded. `validation` and `metrics` were evaluated at the
    steps `evaluated`.
    """

    step: Int[np.ndarray, "k"]
    loss: Float[np.ndarray, "k"]
    gradient: Float[np.ndarray, "g"]
    evaluated: Int[np.ndarray, "e"]
    validation: Float[np.ndarray, "v"]
    metrics: Mapping[str, np.ndarray] = field(default_factory=dict)

    def arrays(self) -> dict[str, np.ndarray]:
        """Under flat names, for a file."""
        named = {
            name: getattr(self, name)
            for name in ("step", "loss", "gradient", "evaluated", "validation")
        }
        return named | {f"metric.{name}": values for name, values in self.metrics.items()}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, np.ndarray]) -> "History":
        plain = {name: a for name, a in arrays.items() if not name.startswith("metric.")}
        metrics = {
            name.removeprefix("metric."): a
            for name, a in arrays.items()
            if name.startswith("metric.")
        }
        return cls(**plain, metrics=metrics)


class Recorder:
    """Grows a history a chunk at a time. What lies beyond the last committed step is left out when it is read."""

    def __init__(self, every: int, past: History | None = None) -> None:
        self.every = every
        self._parts = [] if past is None else [(past.step, past.loss, past.gradient)]
        self._evaluations = [] if past is None else _evaluations(past)

    def add(
        self, first: int, losses: Float[np.ndarray, "k"], gradients: Float[np.ndarray, "g"]
    ) -> None:
        steps = np.arange(first, first + len(losses))
        kept = steps % self.every == 0
        self._parts.append(
            (steps[kept], losses[kept], gradients[kept] if len(gradients) else gradients)
        )

    def record_evaluation(
        self, step: int, validation: float | None, metrics: Mapping[str, float]
    ) -> None:
        self._evaluations.append((step, validation, dict(metrics)))

    @property
    def last_evaluation(self) -> int:
        return self._evaluations[-1][0] if self._evaluations else -1

    def history(self, steps: int, dtype: np.dtype) -> History:
        columns = (
            [np.concatenate(parts) for parts in zip(*self._parts)]
            if self._parts
            else [np.zeros(0, dtype)] * 3
        )
        inside = columns[0] < steps
        step = columns[0][inside].astype(np.int64)
        loss = columns[1][inside]
        gradient = columns[2][inside] if len(columns[2]) else columns[2]
        seen = [e for e in self._evaluations if e[0] <= steps]
        names = seen[0][2] if seen else {}
        return History(
            step,
            loss,
            gradient,
            np.array([e[0] for e in seen], np.int64),
            np.array([e[1] for e in seen if e[1] is not None]),
            {name: np.array([e[2][name] for e in seen]) for name in names},
        )


def _evaluations(past: History) -> list[tuple[int, float | None, dict[str, float]]]:
    validation = past.validation.tolist() or [None] * len(past.evaluated)
    metrics = [
        {name: float(a[i]) for name, a in past.metrics.items()} for i in range(len(past.evaluated))
    ]
    return list(zip(past.evaluated.tolist(), validation, metrics))
