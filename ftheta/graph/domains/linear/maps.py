r"""Linear maps with constant coefficients: each with its transpose, and with what their rounding can amount to.

A map takes arrays (n, *source) to arrays (n, *target), n of them at once. `push` applies it, `pull` its transpose, both
in conventional sums of at most `push_terms` and `pull_terms` products an entry: a computed coefficient then errs by at
most $\gamma_k|L|^\top|A|$, whatever the order of summation. `size(M)` is $|L|M$ rounded up, for $M\ge0$. Constants that
are known up to an interval are taken at its middle, and `doubt(M)` is (their radii) $M$ rounded up.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array, above, gamma, sum_error
from ftheta.graph.domains.linear.rounding import lost_to_underflow
from ftheta.graph.graph import Node
from ftheta.graph.layout import from_matrices, matrices

Move = Callable[[Array], Array]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class LinearMap:
    """See the head of the file. `sign` is that of all coefficients, 0 where they have both: then `parts` are the maps
    of the positive and of the negative ones. Without terms a direction is exact."""

    push: Move
    pull: Move
    size: Move
    push_terms: int = 0
    pull_terms: int = 0
    sign: int = 1
    parts: Callable[[], tuple["LinearMap", "LinearMap"]] | None = None
    doubt: Move | None = None

    def pull_error(self, magnitude: Array) -> tuple[Array, Array]:
        """What the rounding of pulled coefficients can amount to for operands of this magnitude (B, *source): an array
        (B, *target) to be weighed by |A|, and a number (B,) besides."""
        spread = np.zeros(1)
        lost = np.zeros(len(magnitude))
        if self.pull_terms:
            spread = gamma(self.pull_terms) * self.size(magnitude)
            lost = lost_to_underflow(self.pull_terms, magnitude)
        if self.doubt is not None:
            spread = spread + self.doubt(magnitude)
        return spread, lost

    def split(self) -> tuple["LinearMap | None", "LinearMap | None"]:
        """The maps of the positive and of the negative coefficients."""
        if self.parts is not None:
            return self.parts()
        return (self, None) if self.sign > 0 else (None, self)


def moving(push: Move, pull: Move, copies: int = 1) -> LinearMap:
    """A map that moves entries, each to at most `copies` places: pulling adds up the copies."""
    return LinearMap(push, pull, size=push, pull_terms=0 if copies == 1 else copies)


def adding(push: Move, pull: Move, push_terms: int, pull_terms: int = 0) -> LinearMap:
    """A map with coefficients 0 and 1 that adds up entries."""
    return LinearMap(push, pull, lambda m: _upper_sum(push(m), push_terms), push_terms, pull_terms)


def negate(inner: LinearMap) -> LinearMap:
    """−L, for a map L without negative coefficients."""
    return replace(inner, push=lambda x: -inner.push(x), pull=lambda A: -inner.pull(A), sign=-1)


def identity() -> LinearMap:
    """v itself."""
    return moving(lambda x: x, lambda A: A)


def spread_out(source: Shape, target: Shape) -> LinearMap:
    """An operand of an entrywise primitive: itself, or repeated along the axes in which it has length 1."""
    if source == target:
        return identity()
    full = (1,) * (len(target) - len(source)) + source
    axes = tuple(1 + a for a, (n, m) in enumerate(zip(full, target)) if n != m)

    def pull(A: Array) -> Array:
        return A.sum(axes, keepdims=True).reshape(len(A), *source)

    def push(x: Array) -> Array:
        return np.broadcast_to(x.reshape(len(x), *full), (len(x), *target))

    return moving(push, pull, _copies(source, target))


def _copies(source: Shape, target: Shape) -> int:
    return max(1, prod(target) // max(1, prod(source)))


# ---- products with constants --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weights:
    """A constant: its middle, and the radius of what it may be (None where it is known)."""

    middle: Array
    radius: Array | None = None

    @classmethod
    @np.errstate(all="ignore")
    def of(cls, x: Interval) -> "Weights":
        if x.is_point:
            return cls(x.lo)
        known = x.lo == x.hi
        middle = np.where(known, x.lo, x.lo + (x.hi - x.lo) / 2)
        reach = np.maximum(above(x.hi - middle), above(middle - x.lo))
        return cls(middle, np.where(known, 0.0, reach))


Build = Callable[[Array], tuple[Move, Move]]
"""From an array of weights to `push` and `pull`."""


def with_weights(weights: Weights, build: Build, push_terms: int, pull_terms: int) -> LinearMap:
    """The map with these weights; `build` makes the two directions of it from an array of them."""
    push, pull = build(weights.middle)
    push_size, _ = build(np.abs(weights.middle))

    def part(w: Array) -> LinearMap:
        return with_weights(Weights(w), build, push_terms, pull_terms)

    doubt = None
    if weights.radius is not None:
        push_radius, _ = build(weights.radius)
        doubt = lambda magnitude: _upper_sum(push_radius(magnitude), push_terms)
    return LinearMap(
        push,
        pull,
        lambda magnitude: _upper_sum(push_size(magnitude), push_terms),
        push_terms,
        pull_terms,
        sign=0,
        parts=lambda: (
            part(np.maximum(weights.middle, 0.0)),
            part(np.minimum(weights.middle, 0.0)),
        ),
        doubt=doubt,
    )


@np.errstate(all="ignore")
def _upper_sum(total: Array, terms: int) -> Array:
    """An upper bound of sums of non-negative products; infinite where nothing is known."""
    return np.where(np.isnan(total), np.inf, above(total + sum_error(total, terms)))


def scaling(weights: Weights, source: Shape, target: Shape) -> LinearMap:
    """Entry by entry: v ↦ w·v."""
    spread = spread_out(source, target)

    def build(w: Array) -> tuple[Move, Move]:
        full = np.broadcast_to(w, target)
        return lambda x: spread.push(x) * full, lambda A: spread.pull(A * full)

    return with_weights(weights, build, push_terms=1, pull_terms=_copies(source, target))


def contraction(node: Node, index: int, other: Weights) -> LinearMap:
    """`dot_general` of the operand `index` with a constant."""
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    mine, others = ((batch_x, contract_x), (batch_y, contract_y))
    if index == 1:
        mine, others = others, mine
    source = node.inputs[index].shape
    stacks, inner = (prod(source[a] for a in axes) for axes in mine)
    free = prod(source) // max(1, stacks * inner)
    outer = prod(node.shape) // max(1, stacks * free)
    # the leading axis is one more of the stack
    here = ((0, *(a + 1 for a in mine[0])), tuple(a + 1 for a in mine[1]))

    def build(w: Array) -> tuple[Move, Move]:
        kernel = matrices(w, *others, last=False)  # (stacks, inner, outer)

        def push(x: Array) -> Array:
            stack = matrices(x, *here, last=True).reshape(len(x), stacks, free, inner)
            product = _multiply(stack, kernel)
            product = product if index == 0 else product.swapaxes(-1, -2)
            return product.reshape(len(x), *node.shape)

        def pull(A: Array) -> Array:
            if index == 0:
                result = A.reshape(len(A), stacks, free, outer)
            else:
                result = A.reshape(len(A), stacks, outer, free).swapaxes(-1, -2)
            back = _multiply(result, kernel.swapaxes(-1, -2))
            return from_matrices(back, (len(A), *source), *here, last=True)

        return push, pull

    return with_weights(other, build, push_terms=max(1, inner), pull_terms=max(1, outer))


def _multiply(stack: Array, kernel: Array) -> Array:
    """(n, stacks, rows, inner) times (stacks, inner, outer), as few large products."""
    n, stacks, count, inner = stack.shape
    if stacks == 1:
        return (stack.reshape(n * count, inner) @ kernel[0]).reshape(n, 1, count, -1)
    wide = stack.transpose(1, 0, 2, 3).reshape(stacks, n * count, inner) @ kernel
    return wide.reshape(stacks, n, count, -1).transpose(1, 0, 2, 3)


# ---- sums -----------------------------------------------------------------------------------------------------------


def summation(source: Shape, axes: Sequence[int]) -> LinearMap:
    """The sum over the axes; pulled back, every entry gets the coefficient of its sum."""
    summed = tuple(1 + a for a in axes)

    def pull(A: Array) -> Array:
        return np.broadcast_to(np.expand_dims(A, summed), (len(A), *source))

    return adding(lambda x: x.sum(summed), pull, push_terms=max(1, prod(source[a] for a in axes)))


def cumulative_sum(shape: Shape, axis: int, backwards: bool) -> LinearMap:
    """Partial sums along an axis; the transpose sums from the other end."""

    def run(x: Array, backwards: bool) -> Array:
        return (
            np.flip(np.cumsum(np.flip(x, 1 + axis), 1 + axis), 1 + axis)
            if backwards
            else np.cumsum(x, 1 + axis)
        )

    terms = max(1, shape[axis])
    return adding(lambda x: run(x, backwards), lambda A: run(A, not backwards), terms, terms)
