r"""What an output sees: by the gradient, and by what cannot be told from a program without running it.

The support of the gradient at one input is only part of what an output sees, as ReLU and max-pooling look away. For a
table of windows it is all of it at two inputs: with positive weights a rising ramp makes every maximum the last of its
window, a falling one the first, so that both ends of the receptive field are reached.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.hurry import quick_compiler_options
from ftheta.networks.architectures import Stack, table_of

BATCH = 64
GRADIENTS = 8  # inputs at which a network without a table is differentiated


@dataclass(frozen=True)
class Support:
    """The places of the input, along an axis, on which one output depends."""

    lo: int
    hi: int
    profile: np.ndarray  # how much, place by place

    @property
    def width(self) -> int:
        return self.hi - self.lo + 1


def measure_field(stack: Stack, layer: int | None = None) -> tuple[Support, tuple[int, int]]:
    """The support of the gradient of a middle output of the layer, and what the table says of it.

    The windows are run on one channel of a ring so long that nothing wraps around.
    """
    layer = stack.last_grid if layer is None else layer
    windows = Stack(stack.name, stack.layers[:layer], stack.input_shape, stack.circular)
    field = windows.field(layer)
    jump = max(1, round(windows.jump(layer)))
    length = jump * -(-(2 * field + 4 * jump) // jump)
    thin = windows.thin(length)
    o = thin.shapes[-1][-1] // 2
    params = thin.averaging()
    gradient = jax.jit(
        jax.grad(lambda x: thin.apply(params, x)[0, o]),
        compiler_options=dict(quick_compiler_options()),
    )
    ramp = np.linspace(1.0, 2.0, length)[None]
    with jax.enable_x64(True):
        seen = sum(np.abs(np.asarray(gradient(x)))[0] for x in (ramp, ramp[:, ::-1].copy()))
    return support_of(np.asarray(seen)), thin.seen(layer, o)


def support_of(profile: np.ndarray) -> Support:
    places = np.flatnonzero(profile)
    if not len(places):
        return Support(0, -1, profile)
    return Support(int(places[0]), int(places[-1]), profile)


def grid_axes(shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes of an image or signal: the two longest of three, the longer of two; None where there is none."""
    if len(shape) == 3:
        return (1, 2) if shape[0] <= min(shape[1:]) and shape[1] == shape[2] else (0, 1)
    if len(shape) == 2:
        return (1,) if shape[0] <= shape[1] else (0,)
    return None


def gradient_support(
    f: Callable[[Any], Any],
    shape: tuple[int, ...],
    out: tuple[int, ...],
    axis: int,
    inputs: np.ndarray,
) -> Support:
    """Along a grid axis of the input: the union over these inputs of where the middle output has a gradient."""
    ends = grid_axes(out) or ()
    middle = tuple(n // 2 for k, n in enumerate(out) if k in ends)

    def value(x: Any) -> Any:
        y = jnp.moveaxis(f(x), ends, tuple(range(len(ends))))
        return y[middle].sum()

    with jax.enable_x64(True):
        found = np.abs(np.asarray(jax.jit(lambda xs: jax.lax.map(jax.grad(value), xs))(inputs)))
    others = tuple(k for k in range(len(shape) + 1) if k != axis + 1)
    return support_of(found.max(others))


def structural_support(
    f: Callable[[Any], Any], shape: tuple[int, ...], out: tuple[int, ...], axis: int
) -> Support:
    """Along an axis: the places from which NaN reaches the middle output. Arithmetic and maxima hand NaN on, whatever
    the weights are, so that this is what the program connects; choices by comparison may hide some of it."""
    ends = grid_axes(out) or ()
    middle = tuple(slice(None) if k not in ends else n // 2 for k, n in enumerate(out))
    probes = np.ones((shape[axis], *shape))
    for i in range(shape[axis]):
        probes[(i, *(slice(None) if k != axis else i for k in range(len(shape))))] = np.nan
    with jax.enable_x64(True):
        values = np.asarray(jax.jit(lambda xs: jax.lax.map(f, xs, batch_size=BATCH))(probes))
    reached = np.isnan(values[(slice(None), *middle)]).reshape(shape[axis], -1).any(1)
    return support_of(reached.astype(float))


def axes_of(net: Any) -> tuple[int, int] | None:
    """The first grid axis of inputs and of outputs; None where one of them has none."""
    inside = grid_axes(net.input_shape)
    out = grid_axes(net.output_shape)
    return (inside[0], out[0]) if inside and out and len(inside) == len(out) else None


def draw_inputs(net: Any, rows: int) -> np.ndarray:
    """Some inputs of the network, always the same ones."""
    return np.random.default_rng(0).uniform(size=(rows, *net.input_shape))


@dataclass(frozen=True, eq=False)
class Field:
    """What one output of a network sees: by its `table`, where there is one, else by what NaN reaches (`lo` to `hi`);
    and by the gradient (`support`)."""

    table: Stack | None
    support: Support
    lo: int
    hi: int

    @property
    def width(self) -> int:
        return self.hi - self.lo + 1


def find_field(net: Any) -> Field:
    """The receptive field of the middle output along the first axis of the grid."""
    table = table_of(net)
    if table is not None:
        support, (lo, hi) = measure_field(table)
        return Field(table, support, lo, hi)
    axis, _ = axes_of(net) or (0, 0)
    shape = net.input_shape
    out = net.output_shape
    reached = structural_support(net, shape, out, axis)
    support = gradient_support(net, shape, out, axis, draw_inputs(net, GRADIENTS))
    return Field(None, support, reached.lo, reached.hi)
