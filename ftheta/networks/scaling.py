r"""Layers behind a fixed scaling of the inputs: a scaler of scikit-learn, $(x-\mu)/\sigma$ before the first layer.

The numbers of the scaling are constants, and the parameters are those of the layers. So there are two lists of layers:
the own one, whose parameters were trained, on scaled inputs; and the folded one, $W(sx+t)+b=(Ws)x+(b+Wt)$, which is
the same function of the unscaled input up to the rounding of its numbers. What is said of parameters (gradients,
Hessians, norms, tangent kernels) belongs to the first, what is said of the function may be read off either.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import fsum
from typing import Any, Literal

import numpy as np

from ftheta.lazy import jax
from ftheta.shapes import Float

from .description import Dense, Description

U = 2.0**-53
SMALLEST = 2.0**-1074  # of all floats above 0
Operation = Literal["add", "sub", "mul", "div"]


@dataclass(frozen=True, eq=False)
class Scaling:
    """Constants that act on every entry of the input, one after the other: `("sub", μ)`, then `("div", σ)`.

    Each array of constants has one number for each of the `d` entries.
    """

    steps: tuple[tuple[Operation, np.ndarray], ...]

    def __call__(self, x: Any) -> Any:
        """The scaled input; `x` has the shape `(..., d)`."""
        for operation, constant in self.steps:
            x = _apply_operation(operation, x, constant)
        return x

    @property
    def changes_something(self) -> bool:
        """Whether some step is not the addition of 0 or the multiplication by 1."""
        neutral = {"add": 0.0, "sub": 0.0, "mul": 1.0, "div": 1.0}
        return any(np.any(constant != neutral[operation]) for operation, constant in self.steps)

    def folded_into(self, first: Dense) -> Dense:
        """The first layer as a function of the unscaled input, each number rounded to float64."""
        weight = first.weight
        bias = first.bias
        for operation, constant in reversed(self.steps):
            if operation in ("mul", "div"):
                with np.errstate(all="ignore"):
                    weight = _apply_operation(operation, weight, constant)
                continue
            shift = constant if operation == "add" else -constant
            if shift.any():
                bias = np.array(
                    [fsum((b, *(row * shift).tolist())) for b, row in zip(bias, weight)]
                )
        return Dense(weight, bias, first.activation)

    def bound_folding_error(self, first: Dense) -> Float[np.ndarray, "m d"]:
        """Of every entry of the matrix of `folded_into`, a bound of what rounding has changed it by.

        Later factors multiply what earlier ones have lost: an entry that underflows on the way may end as a large one.
        """
        weight = first.weight
        error = np.zeros(weight.shape)
        for operation, constant in reversed(self.steps):
            if operation not in ("mul", "div"):
                continue
            with np.errstate(all="ignore"):
                weight = _apply_operation(operation, weight, constant)
                carried = _apply_operation(operation, error, np.abs(constant))
                error = (carried + U * np.abs(weight)) * (1 + 8 * U) + 4 * SMALLEST
        return error


def _apply_operation(operation: Operation, x: Any, constant: np.ndarray) -> Any:
    if operation == "add":
        return x + constant
    if operation == "sub":
        return x - constant
    return x * constant if operation == "mul" else x / constant


@dataclass(frozen=True, eq=False)
class ScaledLayers:
    """The list of `layers` on inputs that pass a `scaling` first."""

    scaling: Scaling
    layers: Description

    @property
    def widths(self) -> tuple[int, ...]:
        return self.layers.widths

    @property
    def params(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """The parameters: those of the layers."""
        return self.layers.params

    def apply(self, params: Sequence[tuple[Any, Any]], x: Any) -> "jax.Array":
        """The value at an unscaled input `x` of shape `(..., d_0)`, with the given parameters of the layers."""
        return self.layers.apply(params, self.scaling(x))

    @cached_property
    def folded_layers(self) -> Description:
        """The list of layers of the same function of unscaled inputs, up to the rounding of its first layer."""
        first, *others = self.layers.layers
        return Description((self.scaling.folded_into(first), *others))


def behind(scaling: Scaling, layers: Description) -> Description | ScaledLayers:
    """The layers on scaled inputs; the layers themselves where the scaling changes nothing."""
    return ScaledLayers(scaling, layers) if scaling.changes_something else layers
