"""A black box on a grid, seen through its responses to unit impulses."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.enclosing import enclose_number
from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.witness import Witness
from ftheta.shapes import Float, Int, Real

from .linearity import Kind, kind_of

ENTRIES = 1 << 24  # of the matrix, up to which every impulse is tried
CHUNK = 1 << 21  # values sent through the network at once
# relative to the largest entry: what counts as zero where responses carry rounding
FLOAT_ZERO = 1e-9


@dataclass(frozen=True)
class Layout:
    """A grid of pixels with S channels in and T out; `channels_first` where the channel axis leads."""

    grid: tuple[int, ...]
    S: int
    T: int
    channels_first: bool = False
    bare: bool = False  # a ring without a channel axis

    @property
    def pixels(self) -> int:
        return int(np.prod(self.grid))

    def inner(self, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`f` as a map between arrays of shape `(*grid, S)` and `(*grid, T)`."""
        if self.bare:
            return lambda x: f(x[..., 0])[..., None]
        if self.channels_first:
            return lambda x: jnp.moveaxis(f(jnp.moveaxis(x, -1, 0)), 0, -1)
        return f


def layout_of(source: tuple[int, ...], target: tuple[int, ...]) -> Layout | None:
    """The grid that inputs and outputs of these shapes share, or None."""
    if len(source) == len(target) == 1:
        return Layout(source, 1, 1, bare=True) if source == target else None
    if len(source) != len(target) or not source or min(*source, *target) < 1:
        return None
    if source[:-1] == target[:-1]:
        return Layout(source[:-1], source[-1], target[-1])
    if source[1:] == target[1:]:
        return Layout(source[1:], source[0], target[0], channels_first=True)
    return None


@dataclass(frozen=True, eq=False)
class Responses:
    """`aligned[k, s]` is the response, shape `(*grid, T)`, to a unit impulse in channel s at `positions[k]`, shifted
    back to the origin. `exact`: computed in integers without rounding. `complete`: every pixel was tried."""

    layout: Layout
    positions: Int[np.ndarray, "k axes"]
    aligned: Real[np.ndarray, "k s *grid t"]
    exact: bool
    f: Callable[[Any], Any]

    @property
    def complete(self) -> bool:
        return len(self.positions) == self.layout.pixels

    def known(self, value: Any) -> Enclosure:
        """A maximum over the impulses, with what it is worth."""
        if not self.complete:
            return Enclosure.at_least(float(value), samples=len(self.positions))
        return Enclosure.exact(Fraction(value)) if self.exact else Enclosure.equal(float(value))

    @cached_property
    def scale(self) -> float:
        return float(np.abs(self.aligned).max())

    @cached_property
    def kernel(self) -> Real[np.ndarray, "*grid s t"]:
        """The response to the impulse at the origin, shape `(*grid, S, T)`: the only kernel it can be."""
        return np.moveaxis(self.aligned[0], 0, -2)

    @cached_property
    def mean_kernel(self) -> Float[np.ndarray, "*grid s t"]:
        """The kernel of the Reynolds projection onto the maps that commute with translations (rational: as floats)."""
        return np.moveaxis(self.aligned.mean(0), 0, -2)

    @cached_property
    def distance(self) -> Any:
        r"""$\max|W-C_\psi|$, entry by entry, with $C_\psi$ the convolution with the kernel."""
        return np.abs(self.aligned - self.aligned[0]).max().item()

    @cached_property
    def defect(self) -> Any:
        r"""$\max_\tau\max|WT_\tau-T_\tau W|$: the entries of the commutators are differences of aligned responses."""
        return np.ptp(self.aligned, axis=0).max().item()

    def is_zero(self, value: Any) -> bool:
        return value == 0 if self.exact else abs(value) <= FLOAT_ZERO * self.scale

    @cached_property
    def interior_defect(self) -> Any | None:
        """The spread of the responses to impulses that no border can touch; None where fewer than two are so far in."""
        middle = np.array(self.layout.grid) // 2
        nearest = int(np.abs(self.positions - middle).sum(1).argmin())
        noise = 0 if self.exact else FLOAT_ZERO * self.scale
        support = np.argwhere(np.abs(self.aligned[nearest]).max((0, -1)) > noise)
        wrapped = np.minimum(support, np.array(self.layout.grid) - support)
        reach = wrapped.max(0) if len(support) else np.zeros(len(self.layout.grid), int)
        inside = (
            (self.positions > reach) & (self.positions < np.array(self.layout.grid) - 1 - reach)
        ).all(1)
        return np.ptp(self.aligned[inside], axis=0).max().item() if inside.sum() > 1 else None

    @property
    def shares_weights(self) -> bool:
        """Whether it is a convolution at least away from the border."""
        inner = self.interior_defect
        return self.is_zero(self.defect) or (inner is not None and self.is_zero(inner))

    def commutators(self, axis: int = 0) -> Real[np.ndarray, "shifts"]:
        r"""$\max|WT_\tau-T_\tau W|$ for the shifts $\tau$ along one axis; needs every impulse."""
        grid = self.layout.grid
        spread = self.aligned.reshape(*grid, -1)
        return np.array(
            [np.abs(np.roll(spread, -k, axis) - spread).max() for k in range(grid[axis])]
        )

    def energies(self) -> tuple[Enclosure, Enclosure]:
        r"""$\|W\|_F^2$ and $\|PW\|_F^2+\|W-PW\|_F^2$ for the Reynolds projection $P$."""
        N = len(self.aligned)
        flat = self.aligned.reshape(len(self.aligned), -1)
        if self.exact and (2 * N * self.scale) ** 2 * N >= 2.0**62:  # would not fit an integer
            flat = flat.astype(np.float64)
        total = flat.sum(0)
        columns = (flat**2).sum(0), total**2, ((N * flat - total) ** 2).sum(0)
        whole, kept, lost = (sum(map(Fraction, column.tolist())) for column in columns)
        both = whole, kept / N + lost / (N * N)
        if not self.complete:
            first, second = (Enclosure.measured(float(value), samples=N) for value in both)
        else:
            exact = self.exact and flat.dtype == self.aligned.dtype
            first, second = (
                Enclosure.exact(value) if exact else Enclosure.equal(float(value)) for value in both
            )
        return first, second

    def witness(self) -> Witness | None:
        """The largest entry of a commutator, evaluated again by two runs without compilation; None where it is zero."""
        if self.is_zero(self.defect):
            return None
        flat = self.aligned.reshape(len(self.aligned), -1)
        entry = int(np.ptp(flat, axis=0).argmax())
        s, *r, t = np.unravel_index(entry, self.aligned.shape[1:])
        here, there = (
            self.positions[int(pick)] for pick in (flat[:, entry].argmin(), flat[:, entry].argmax())
        )
        grid = np.array(self.layout.grid)
        at = {"impulse": tuple(map(float, here)), "shift": tuple(map(float, (there - here) % grid))}
        runs = [
            (self._impulse(q, int(s)), (*((q + r) % grid).tolist(), int(t))) for q in (here, there)
        ]
        if self.exact:
            values = [
                Fraction(np.asarray(self.f(impulse))[place].item()) for impulse, place in runs
            ]
            gap = Enclosure.exact(abs(values[1] - values[0]))
        else:
            ends = [
                enclose_number(lambda x, place=place: self.f(x)[place], impulse)
                for impulse, place in runs
            ]
            gap = abs(ends[1] - ends[0])
        return Witness(at, gap, Enclosure.exact(0), "shift then map, map then shift, once more")

    def _impulse(self, q: np.ndarray, s: int) -> np.ndarray:
        x = np.zeros((*self.layout.grid, self.layout.S), self.aligned.dtype)
        x[(*q, s)] = 1
        return x

    def run(self, images: Real[np.ndarray, "n *grid s"]) -> Real[np.ndarray, "n *grid t"]:
        """The black box on a stack of images of shape `(*grid, S)`."""
        return np.asarray(self._compile(images))

    @cached_property
    def _compile(self) -> Callable[[Any], Any]:
        return jax.jit(jax.vmap(self.f))


def respond(
    apply: Callable[[Any, Any], Any], params: Any, layout: Layout, rng: np.random.Generator
) -> Responses:
    """The responses of $x\\mapsto$ `apply(params, x)`: to every impulse, or to a sample of them on large grids."""
    positions = _positions(layout, rng)
    exact = _in_integers(apply, params, layout)
    f = exact or layout.inner(lambda x: apply(params, x))
    aligned = _align(f, layout, positions, np.int64 if exact else np.float64)
    if exact:  # integer arithmetic is modulo 2^64: right where the float64 result agrees with it
        floats = layout.inner(lambda x: apply(params, x))
        if (
            not np.array_equal(aligned, _align(floats, layout, positions, np.float64))
            or np.abs(aligned).max() > 2**31
        ):
            f = floats
            exact = None
            aligned = aligned.astype(np.float64)
    return Responses(layout, positions, aligned, exact is not None, f)


def _positions(layout: Layout, rng: np.random.Generator) -> np.ndarray:
    """Every pixel in row-major order, or the origin, the opposite corner and a random choice of others."""
    per_impulse = layout.S * layout.pixels * layout.T
    if layout.pixels * per_impulse <= ENTRIES:
        chosen = np.arange(layout.pixels)
    else:
        drawn = rng.choice(
            layout.pixels, min(layout.pixels, max(14, ENTRIES // per_impulse)), replace=False
        )
        chosen = np.unique([0, layout.pixels - 1, *drawn])
    return np.stack(np.unravel_index(chosen, layout.grid), -1)


def _in_integers(
    apply: Callable[[Any, Any], Any], params: Any, layout: Layout
) -> Callable[[Any], Any] | None:
    """The map in int64, where its parameters are integers and every operation keeps them so; else None."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(params)]
    if not leaves or not all(
        np.array_equal(a, np.round(a)) and np.abs(a).max(initial=0) < 2**31 for a in leaves
    ):
        return None
    whole = jax.tree.map(lambda a: np.asarray(a).astype(np.int64), params)
    f = layout.inner(lambda x: apply(whole, x))
    example = jax.ShapeDtypeStruct((*layout.grid, layout.S), np.int64)
    try:
        graph = trace(f, example)
    except (GraphError, TypeError, ValueError):
        return None
    whole_numbers = all(slot.dtype == np.int64 for node in graph.nodes for slot in node.outputs)
    return f if whole_numbers and kind_of(f, example) is Kind.LINEAR else None


def _align(
    f: Callable[[Any], Any], layout: Layout, positions: np.ndarray, dtype: Any
) -> np.ndarray:
    S = layout.S
    grid = layout.grid
    compiled = jax.jit(jax.vmap(f))
    rows = max(1, CHUNK // (layout.pixels * (S + layout.T)))
    axes = tuple(range(len(grid)))
    found = np.empty((len(positions), S, *grid, layout.T), dtype)
    for start in range(0, len(positions), rows):
        k = (
            np.minimum(np.arange(start, start + rows), len(positions) - 1)
            if len(positions) > rows
            else slice(None)
        )
        where = positions[k]
        for s in range(S):
            impulses = np.zeros((len(where), *grid, S), dtype)
            impulses[(np.arange(len(where)), *where.T, s)] = 1
            for i, out in zip(range(start, len(positions)), np.asarray(compiled(impulses))):
                found[i, s] = np.roll(out, tuple(-positions[i]), axes)
    return found
