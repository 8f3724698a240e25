"""What is seen at one step, and what there is to say of it."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any

VANISHING = 1e-3  # gradient of the first matrix ÷ that of the last
EXPLODING = 1e3


@dataclass(frozen=True, slots=True)
class Observation:
    """After `step` steps and so many `seconds`: the `loss` and the `step_size` η; the share of `dead` units of each
    activation on the batch; the norm of the gradient of each array in `gradients`, and `gradient_ratio`, that of the
    first matrix ÷ that of the last; the `sharpness` (a Rayleigh quotient, hence at most the largest eigenvalue of the
    Hessian) and the `limit` beyond which the method is unstable on a quadratic; the `cost` of watching so far, as a
    share of the time of training; what there is to say, `notes`."""

    step: int
    seconds: float
    loss: float | None
    step_size: float | None = None
    dead: Mapping[str, float] = field(default_factory=dict)
    gradients: Mapping[str, float] = field(default_factory=dict)
    gradient_ratio: float | None = None
    sharpness: float | None = None
    limit: float | None = None
    cost: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def document(self) -> dict[str, Any]:
        """As plain values for JSON; what is not finite is null."""
        return {name: _plain(value) for name, value in asdict(self).items()}


def describe_trouble(
    dead: Mapping[str, float], ratio: float | None, sharpness: float | None, limit: float | None
) -> tuple[str, ...]:
    """What there is to say of one step: layers that are dead, gradients out of scale, steps that are too large."""
    notes = [
        f"every unit of {name} is dead on the batch" for name, share in dead.items() if share == 1
    ]
    if ratio is not None and ratio < VANISHING:
        notes.append(f"gradients vanish towards the input: first matrix ÷ last {ratio:.2g}")
    if ratio is not None and ratio > EXPLODING:
        notes.append(f"gradients explode towards the input: first matrix ÷ last {ratio:.2g}")
    if sharpness is not None and limit is not None and sharpness > limit:
        notes.append(
            f"sharpness {sharpness:.4g} is beyond the limit of stability {limit:.4g}: the step is too large"
        )
    return tuple(notes)


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not isfinite(value):
        return None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    return value
