r"""Subsampling: a map with stride $s$ keeps shifts by multiples of $s$ and no others."""

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.graph.hurry import quick_compiler_options
from ftheta.groups.defects import evaluations_afforded
from ftheta.logic import Enclosure

from .fields import axes_of, draw_inputs, grid_axes

SHIFTS = 64
ROWS = 4
AT_ONCE = 1 << 19  # entries of inputs
ZERO = 1e-9  # relative: what counts as no change


@dataclass(frozen=True, eq=False)
class ShiftDefects:
    r"""The defect of a map against shifts of its input along the first axis of the grid.

    `defects[k]` is the least relative distance of $f(T_\tau x)$, $\tau$ = `shifts[k]`, to the two shifts of $f(x)$
    nearest to $\tau/s$, the worst of some rows; `where` is the largest change of every output at shift s.
    """

    net: Any
    stride: int
    shifts: np.ndarray
    defects: np.ndarray
    where: np.ndarray
    rows: int

    @property
    def kept(self) -> np.ndarray:
        return self.shifts % self.stride == 0

    @property
    def worst_kept(self) -> float:
        """The largest defect at shifts by multiples of s."""
        return float(self.defects[self.kept].max())

    @property
    def border_share(self) -> float:
        """The share of the outputs along the axis that change under a shift by s: few, at the ends, for a border."""
        return float((self.where > ZERO * max(float(self.where.max()), 1e-300)).mean())

    @property
    def worst_other(self) -> tuple[int, float] | None:
        """The shift by no multiple of s with the largest defect, and this; None where all shifts are multiples."""
        if self.kept.all():
            return None
        k = int(np.where(self.kept, -1, self.defects).argmax())
        return int(self.shifts[k]), float(self.defects[k])

    def enclose_worst_kept(self) -> tuple[int, Enclosure]:
        """The shift by a multiple of s with the largest defect, and the defect there of one row, in intervals."""
        k = int(np.where(self.kept, self.defects, -1).argmax())
        tau = int(self.shifts[k])
        axis, out = axes_of(self.net) or (0, 0)

        def gap(x: Any) -> Any:
            y = self.net(x)
            moved = self.net(jnp.roll(x, tau, axis))
            return jnp.max(jnp.abs(moved - jnp.roll(y, tau // self.stride, out))) / jnp.max(
                jnp.abs(y)
            )

        x = max(
            draw_inputs(self.net, self.rows),
            key=lambda row: float(np.nan_to_num(gap(row), nan=np.inf)),
        )
        return tau, enclose_number(gap, x)


def stride_of(net: Any) -> int | None:
    """The input's side over the output's, where that is whole on every axis and the same; None elsewhere."""
    inside = grid_axes(net.input_shape)
    out = grid_axes(net.output_shape)
    if not inside or not out or len(inside) != len(out):
        return None
    ratios = {net.input_shape[a] / net.output_shape[b] for a, b in zip(inside, out)}
    (ratio, *others) = ratios
    return int(ratio) if not others and ratio == int(ratio) >= 1 else None


def measure_shifts(net: Any, stride: int) -> ShiftDefects:
    """The network on shifted inputs, as many as are affordable."""
    axis, out = axes_of(net) or (0, 0)
    side = net.input_shape[axis]
    afforded = max(8, evaluations_afforded(net) // ROWS)
    shifts = np.arange(min(side, max(SHIFTS, 2 * stride + 1), max(afforded, stride + 2)))
    x = draw_inputs(net, ROWS)
    moved = np.concatenate([np.roll(x, tau, axis + 1) for tau in shifts])
    with jax.enable_x64(True):
        if moved.size <= AT_ONCE:
            values = np.asarray(
                jax.jit(jax.vmap(net), compiler_options=dict(quick_compiler_options()))(moved)
            )
        else:
            values = np.asarray(jax.jit(lambda xs: jax.lax.map(net, xs, batch_size=16))(moved))
    values = values.reshape(len(shifts), ROWS, *net.output_shape)
    size = np.abs(values[0]).reshape(ROWS, -1).max(1)
    size = np.where(size > 0, size, 1.0)
    near = []
    for tau, seen in zip(shifts, values):
        gaps = [
            np.abs(seen - np.roll(values[0], s, out + 1))
            for s in {int(tau // stride), -int(-tau // stride)}
        ]
        near.append(min(float((g.reshape(ROWS, -1).max(1) / size).max()) for g in gaps))
    near = np.nan_to_num(near, nan=np.inf)  # no number is no equality
    others = tuple(k for k in range(len(net.output_shape) + 1) if k != out + 1)
    one = values[min(stride, len(shifts) - 1)] - np.roll(values[0], 1, out + 1)
    return ShiftDefects(net, stride, shifts, near, np.abs(one).max(others), ROWS)
