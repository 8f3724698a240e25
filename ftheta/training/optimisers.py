"""Optimisers by name; any other is an optax transformation."""

from collections.abc import Callable
from math import isfinite
from typing import TYPE_CHECKING, Any, TypeAlias

from ftheta.logic.errors import UsageError

if TYPE_CHECKING:
    import optax

Step: TypeAlias = float | Callable[[Any], Any]

FLAT = 50_000  # parameters below which the optimiser sees one vector

# what `optax` calls it, its options, and the step it takes when none is given
OPTIMISERS: dict[str, tuple[str, dict[str, Any], float]] = {
    "gd": ("sgd", {}, 1e-2),
    "sgd": ("sgd", {}, 1e-2),
    "momentum": ("sgd", {"momentum": 0.9}, 1e-2),
    "nesterov": ("sgd", {"momentum": 0.9, "nesterov": True}, 1e-2),
    "adam": ("adam", {}, 1e-3),
    "amsgrad": ("amsgrad", {}, 1e-3),
    "adamw": ("adamw", {}, 1e-3),
}


def plain_step(optimiser: Any, step: Step | None) -> float | None:
    """The step of gradient descent without momentum; None of other methods, and of schedules."""
    if not isinstance(optimiser, str) or optimiser.lower() not in ("gd", "sgd"):
        return None
    size = OPTIMISERS[optimiser.lower()][2] if step is None else step
    return float(size) if isinstance(size, (int, float)) else None


def optimiser_named(
    optimiser: "str | optax.GradientTransformation", step: Step | None = None, parameters: int = 0
) -> "tuple[str, optax.GradientTransformationExtraArgs]":
    """A name for print and the optax transformation; `step` is a number or a schedule (step number → step).

    `parameters` is the size of the network: the named optimisers act on each number alone, and on a small network one
    flat vector instead of many leaves halves the time of compilation. A large one is not copied.
    """
    import optax

    if isinstance(optimiser, optax.GradientTransformation):
        if step is not None:
            raise UsageError(
                "An optax optimiser has its own step.",
                got=f"step={step}",
                remedy="leave `step` out",
            )
        return "an optax optimiser", optax.with_extra_args_support(optimiser)
    if not isinstance(optimiser, str) or optimiser.lower() not in OPTIMISERS:
        remedy = f"choose one of {', '.join(OPTIMISERS)}, or give an optax transformation such as optax.lion(1e-4)"
        raise UsageError("Unknown optimiser.", got=optimiser, remedy=remedy)
    maker, options, usual = OPTIMISERS[optimiser.lower()]
    size = usual if step is None else step
    real = isinstance(size, (int, float)) and not isinstance(size, bool)
    if not callable(size) and not (real and isfinite(size) and size > 0):
        raise UsageError(
            "The step must be a positive number.", got=size, remedy="give a step such as 1e-3"
        )
    told = "a schedule of steps" if callable(size) else f"step {size:g}"
    made = getattr(optax, maker)(size, **options)
    made = optax.flatten(made) if parameters < FLAT else made
    return f"{optimiser.lower()}, {told}", optax.with_extra_args_support(made)
