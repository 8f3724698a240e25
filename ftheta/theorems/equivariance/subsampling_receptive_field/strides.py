r"""Subsampling: a map with stride $s$ keeps shifts by multiples of $s$ and no others."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.graph.hurry import quick_compiler_options
from ftheta.groups.defects import evaluations_afforded
from ftheta.logic import AtMost, Axis, Chart, Claim, Curves, Enclosure, Exists, Identity, Series, Witness
from ftheta.networks.architectures import Stack, formula_field, table_of
from ftheta.networks.architectures.stack import longest_chain

from .fields import Support, gradient_support, grid_axes, measured_field, structural_support

EXACT = Enclosure.exact
SHIFTS = 64
ROWS = 4
AT_ONCE = 1 << 19  # entries of inputs
ZERO = 1e-9  # relative: what counts as no change


@dataclass(frozen=True, eq=False)
class Combs:
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
        return float(self.defects[self.kept].max())

    @property
    def border_share(self) -> float:
        """The share of the outputs along the axis that change under a shift by s: few, at the ends, for a border."""
        return float((self.where > ZERO * max(float(self.where.max()), 1e-300)).mean())

    def claims(self) -> tuple[Claim, ...]:
        kept = Enclosure.measured(self.worst_kept, samples=self.rows * int(self.kept.sum()))
        claims: list[Claim] = [
            Identity(f"largest defect at shifts in {self.stride}ℤ", kept, EXACT(0), witness=self._witness(), atol=ZERO)
        ]
        if self.stride > 1 and not self.kept.all():
            k = int(np.where(self.kept, -1, self.defects).argmax())
            found = {"shift": float(self.shifts[k])}
            what = f"a shift outside {self.stride}ℤ whose defect is above 1e-6"
            claims.append(Exists(what, found, Enclosure.equal(-self.defects[k]), Enclosure.equal(-1e-6)))
        return tuple(claims)

    def _witness(self) -> Witness | None:
        if self.worst_kept <= ZERO:
            return None
        k = int(np.where(self.kept, self.defects, -1).argmax())
        tau = int(self.shifts[k])
        axis, out = axes_of(self.net) or (0, 0)

        def gap(x: Any) -> Any:
            y = self.net(x)
            moved = self.net(jnp.roll(x, tau, axis))
            return jnp.max(jnp.abs(moved - jnp.roll(y, tau // self.stride, out))) / jnp.max(jnp.abs(y))

        x = max(_inputs(self.net, self.rows), key=lambda row: float(np.nan_to_num(gap(row), nan=np.inf)))
        how = "shift then map, map then shift, in intervals rounded outward"
        return Witness({"shift": float(tau)}, enclose_number(gap, x), EXACT(0), how)

    def chart(self) -> Curves:
        shifts = np.asarray(self.shifts)
        defects = np.asarray(self.defects)
        kept = shifts % self.stride == 0
        series = (
            Series(f"multiples of {self.stride}", shifts[kept], defects[kept], mark="points"),
            Series("other shifts", shifts[~kept], defects[~kept], "other", "points"),
        )[: 1 + bool((~kept).any())]
        return Curves(
            f"defect against shift: zero at multiples of {self.stride}",
            Axis("shift τ of the input"),
            Axis("relative change of the output"),
            series,
        )


def axes_of(net: Any) -> tuple[int, int] | None:
    """The first grid axis of inputs and of outputs; None where one of them has none."""
    inside = grid_axes(net.input_shape)
    out = grid_axes(net.output_shape)
    return (inside[0], out[0]) if inside and out and len(inside) == len(out) else None


def stride_of(net: Any) -> int | None:
    """The input's side over the output's, where that is whole on every axis and the same; None elsewhere."""
    inside = grid_axes(net.input_shape)
    out = grid_axes(net.output_shape)
    if not inside or not out or len(inside) != len(out):
        return None
    ratios = {net.input_shape[a] / net.output_shape[b] for a, b in zip(inside, out)}
    (ratio, *others) = ratios
    return int(ratio) if not others and ratio == int(ratio) >= 1 else None


def comb(net: Any, stride: int) -> Combs:
    """The network on shifted inputs, as many as are affordable."""
    axis, out = axes_of(net) or (0, 0)
    side = net.input_shape[axis]
    afforded = max(8, evaluations_afforded(net) // ROWS)
    shifts = np.arange(min(side, max(SHIFTS, 2 * stride + 1), max(afforded, stride + 2)))
    x = _inputs(net, ROWS)
    moved = np.concatenate([np.roll(x, tau, axis + 1) for tau in shifts])
    with jax.enable_x64(True):
        if moved.size <= AT_ONCE:
            values = np.asarray(jax.jit(jax.vmap(net), compiler_options=dict(quick_compiler_options()))(moved))
        else:
            values = np.asarray(jax.jit(lambda xs: jax.lax.map(net, xs, batch_size=16))(moved))
    values = values.reshape(len(shifts), ROWS, *net.output_shape)
    size = np.abs(values[0]).reshape(ROWS, -1).max(1)
    size = np.where(size > 0, size, 1.0)
    near = []
    for tau, seen in zip(shifts, values):
        gaps = [np.abs(seen - np.roll(values[0], s, out + 1)) for s in {int(tau // stride), -int(-tau // stride)}]
        near.append(min(float((g.reshape(ROWS, -1).max(1) / size).max()) for g in gaps))
    near = np.nan_to_num(near, nan=np.inf)  # no number is no equality
    others = tuple(k for k in range(len(net.output_shape) + 1) if k != out + 1)
    one = values[min(stride, len(shifts) - 1)] - np.roll(values[0], 1, out + 1)
    return Combs(net, stride, shifts, near, np.abs(one).max(others), ROWS)


def _inputs(net: Any, rows: int) -> np.ndarray:
    return np.random.default_rng(0).uniform(size=(rows, *net.input_shape))


@dataclass(frozen=True, eq=False)
class Field:
    """What one output sees: by the table where there is one, by what NaN reaches, and by the gradient."""

    net: Any
    stack: Stack | None

    @cached_property
    def measured(self) -> tuple[Support, tuple[int, int]]:
        if self.stack is not None:
            return measured_field(self.stack)
        axis, _ = axes_of(self.net) or (0, 0)
        shape = self.net.input_shape
        out = self.net.output_shape
        reached = structural_support(self.net, shape, out, axis)
        seen = gradient_support(self.net, shape, out, axis, _inputs(self.net, 2 * ROWS))
        return seen, (reached.lo, reached.hi)

    @property
    def width(self) -> int:
        lo, hi = self.measured[1]
        return hi - lo + 1

    def claims(self) -> tuple[Claim, ...]:
        seen, (lo, hi) = self.measured
        if self.stack is None:
            met = Enclosure.at_least(seen.width, samples=2 * ROWS)
            return (
                AtMost("width of the gradient's support, at most what the program connects", met, EXACT(self.width)),
            )
        layers = self.stack.layers[: self.stack.last_grid]
        field, jump = formula_field(longest_chain(layers))
        return (
            Identity(
                "receptive field: 1 + Σ(k − 1)∏s, and traced back through the table", EXACT(field), EXACT(self.width)
            ),
            Identity("first place with a gradient, and by the table", EXACT(seen.lo), EXACT(lo)),
            Identity("last place with a gradient, and by the table", EXACT(seen.hi), EXACT(hi)),
            Identity("jump: ∏s, and traced back through the table", EXACT(jump), EXACT(self.stack.jump())),
        )

    def charts(self) -> tuple[Chart, ...]:
        seen, (lo, hi) = self.measured
        places = np.arange(max(0, lo - self.width // 8), min(len(seen.profile), hi + self.width // 8 + 1))
        share = seen.profile[places] / (seen.profile.max() or 1.0)
        profile = Curves(
            f"what the middle output sees: {self.width} places",
            Axis("place in the input"),
            Axis("size of the gradient, relative"),
            (Series("gradient", places, share, mark="step"),),
        )
        if self.stack is None:
            return (profile,)
        rows = [row for row in self.stack.rows() if row.field]
        k = np.arange(len(rows) + 1)
        grown = Series("receptive field", k, [1, *(row.field for row in rows)], mark="step")
        jumps = Series("jump", k, [1, *(row.jump for row in rows)], "reference", "step")
        growth = Curves("growth of the receptive field", Axis("layer"), Axis("places", "log"), (grown, jumps))
        return (growth, profile)

    def numbers(self) -> dict[str, Enclosure | float]:
        width = self.measured[0].width
        told = EXACT(width) if self.stack is not None else Enclosure.at_least(width, samples=2 * ROWS)
        return {"receptive field": EXACT(self.width), "support of the gradient": told}


def field(net: Any) -> Field:
    return Field(net, table_of(net))


def relu_pooling_gap(signals: np.ndarray, kernel: int = 3) -> int:
    r"""The largest difference between max-pooling rows of integers and the same by $\max(a,b)=a+r(b-a)$."""
    windows = np.lib.stride_tricks.sliding_window_view(signals, kernel, axis=1)
    pooled = windows[..., 0]
    for k in range(1, kernel):
        pooled = pooled + np.maximum(windows[..., k] - pooled, 0)
    return int(np.abs(pooled - windows.max(-1)).max())


def pooling_stretch(x: np.ndarray, y: np.ndarray, kernel: int = 3) -> float:
    r"""The largest $\|\mathrm{pool}\,x-\mathrm{pool}\,y\|_\infty/\|x-y\|_\infty$ over rows of `x` and `y`."""
    pool = lambda z: np.lib.stride_tricks.sliding_window_view(z, kernel, axis=1).max(-1)
    return float((np.abs(pool(x) - pool(y)).max(1) / np.abs(x - y).max(1)).max())
