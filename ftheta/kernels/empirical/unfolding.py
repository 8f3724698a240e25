r"""Products of a parameter with what a network computes, as one product of matrices: rows of features times $W$.

A matrix that multiplies vectors, and a convolution, are $Z=AW$ with one row of $A$ a position (of a token, of a pixel)
and the entries of $W$ in an order of their own. Then $\partial_Wf=A^\top\Delta$ with $\Delta$ the adjoint of $Z$. XLA
computes double-precision convolutions in plain loops; unfolded into windows they are products, which are fast.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import prod
from typing import Any

import jax
import jax.numpy as jnp

from ftheta.graph.graph import Node, Slot


@dataclass(frozen=True, eq=False)
class Use:
    """One product with a parameter: `columns(operand)` are the columns of $A$ in a few blocks and `adjoints(δ)` is $Δ$,
    `positions` rows each.

    Uses of one parameter with the same `layout` have the entries of $W$ in the same order.
    """

    operand: Slot
    result: Slot
    positions: int
    inputs: int
    outputs: int
    layout: Any
    columns: Callable[[Any], list[Any]]
    adjoints: Callable[[Any], Any]

    def features(self, operand: Any) -> Any:
        """All of $A$."""
        return jnp.concatenate(self.columns(operand), -1)


def use_of(node: Node, parameter: Slot) -> Use | None:
    """How the node multiplies the parameter, if it is such a product and multiplies something else by it."""
    sides = [i for i, slot in enumerate(node.inputs) if slot.id == parameter.id]
    if len(sides) != 1:
        return None
    if node.primitive == "dot_general":
        return _matrix(node, sides[0])
    if node.primitive == "conv_general_dilated" and sides[0] == 1 and unfolds(node):
        return _convolution(node)
    return None


def _matrix(node: Node, side: int) -> Use | None:
    contracted, batch = node.params["dimension_numbers"]
    if batch[0]:
        return None
    matrix = node.inputs[side]
    other = node.inputs[1 - side]
    # in the order of the parameter's axes
    pairs = sorted(zip(contracted[side], contracted[1 - side]))
    free = [k for k in range(len(other.shape)) if k not in contracted[1 - side]]
    positions = prod(other.shape[k] for k in free)
    inputs = prod(other.shape[k] for _, k in pairs)
    outputs = matrix.size // max(1, inputs)
    order = (*free, *(k for _, k in pairs))

    def adjoints(delta: Any) -> Any:  # the axes of the left factor come first
        return (
            delta.reshape(outputs, positions).T if side == 0 else delta.reshape(positions, outputs)
        )

    columns = lambda x: [x.transpose(order).reshape(positions, inputs)]
    layout = ("matrix", matrix.shape, tuple(a for a, _ in pairs))
    return Use(other, node.outputs[0], positions, inputs, outputs, layout, columns, adjoints)


# -- convolutions --------------------------------------------------------------------------------


def unfolds(node: Node) -> bool:
    """One group, and no holes between the pixels (as a transposed convolution has them)."""
    p = node.params
    return (
        p["feature_group_count"] == 1
        and p["batch_group_count"] == 1
        and all(k == 1 for k in p["lhs_dilation"])
    )


def _convolution(node: Node) -> Use:
    kernel = node.params["dimension_numbers"].rhs_spec
    out = node.params["dimension_numbers"].out_spec
    weight = node.inputs[1]
    result = node.outputs[0]
    outputs = weight.shape[kernel[0]]
    positions = result.size // outputs
    inputs = weight.size // outputs

    def adjoints(delta: Any) -> Any:
        return delta.transpose(_channels_last(out)).reshape(positions, outputs)

    layout = ("convolution", weight.shape, tuple(kernel))
    return Use(
        node.inputs[0], result, positions, inputs, outputs, layout, partial(windows, node), adjoints
    )


def windows(node: Node, x: Any) -> list[Any]:
    """What each output pixel sees, `(images · pixels, part of the window · channels)`: a block for each line of the
    window along the last axis. So an image is copied once for each pixel of a line, not of the window."""
    p = node.params
    spec = p["dimension_numbers"]
    window = [node.inputs[1].shape[k] for k in spec.rhs_spec[2:]]
    pixels = [node.outputs[0].shape[k] for k in spec.out_spec[2:]]
    edges = [(0, 0, 0), *((a, b, 0) for a, b in p["padding"]), (0, 0, 0)]
    padded = jax.lax.pad(x.transpose(_channels_last(spec.lhs_spec)), jnp.zeros((), x.dtype), edges)
    axes = list(zip(window, pixels, p["window_strides"], p["rhs_dilation"]))
    last = len(axes)  # the axis of images comes first

    def see(image: Any, axis: int, offset: int) -> Any:
        _, n, step, hole = axes[axis - 1]
        first = offset * hole
        return jax.lax.slice_in_dim(image, first, first + (n - 1) * step + 1, step, axis)

    lines = [jnp.concatenate([see(padded, last, k) for k in range(window[-1])], -1)]
    for axis in range(1, last):
        lines = [see(line, axis, k) for line in lines for k in range(window[axis - 1])]
    return [line.reshape(-1, line.shape[-1]) for line in lines]


def _channels_last(spec: Any) -> tuple[int, ...]:
    """Axes in the order: images (or outputs of a filter), pixels, channels."""
    return (spec[0], *spec[2:], spec[1])
