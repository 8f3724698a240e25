"""What the relaxations cost a bound: the gap between the two affine functions of a node, weighed by the coefficient
that its slot has, and laid on the entries of the slots that the node reads. Floats: they choose, they prove nothing."""

from collections.abc import Mapping

import numpy as np

from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.log_sum_exp import Reduction
from ftheta.graph.domains.linear.products import Contraction, Product
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.graph import Slot


@np.errstate(all="ignore")
def share_of_gaps(relaxed: Relaxed, reached: Mapping[int, Array]) -> dict[int, Array]:
    """Slot id → the costs (boxes, *shape) of its entries' ranges, for functionals that reached slots with these
    coefficients (boxes, functionals, *shape)."""
    shares: dict[int, Array] = {}
    for number, A in reached.items():
        relaxation = relaxed.relaxation(relaxed.program.graph.slots[number])
        weight = np.abs(A).sum(1)
        if isinstance(relaxation, Lines):
            parts = [_of_lines(relaxed, relaxation, weight)]
        elif isinstance(relaxation, Product):
            parts = _of_product(relaxed, relaxation, weight)
        elif isinstance(relaxation, Contraction):
            parts = _of_contraction(relaxed, relaxation, weight)
        elif isinstance(relaxation, Reduction):
            parts = [_of_reduction(relaxed, relaxation, weight)]
        else:
            continue
        for slot, part in zip(relaxation.operands, parts):
            found = np.nan_to_num(part, nan=0.0, posinf=0.0)
            shares[slot.id] = shares[slot.id] + found if slot.id in shares else found
    return shares


def _middle(relaxed: Relaxed, slot: Slot) -> Array:
    x = relaxed.enclosures[slot.id]
    return x.lo / 2 + x.hi / 2


def _radius(relaxed: Relaxed, slot: Slot) -> Array:
    x = relaxed.enclosures[slot.id]
    return x.hi / 2 - x.lo / 2


def _of_lines(relaxed: Relaxed, lines: Lines, weight: Array) -> Array:
    middle = _middle(relaxed, lines.operands[0])
    gap = (lines.upper_slope - lines.lower_slope) * middle + lines.upper_offset - lines.lower_offset
    return weight * np.maximum(gap, 0.0)


def _of_product(relaxed: Relaxed, product: Product, weight: Array) -> list[Array]:
    wide = [
        spread.push(_radius(relaxed, slot))
        for slot, spread in zip(product.operands, product.spreads)
    ]
    cost = weight * wide[0] * wide[1]
    return [spread.pull(cost) for spread in product.spreads]


def _of_contraction(relaxed: Relaxed, contraction: Contraction, weight: Array) -> list[Array]:
    x, y = (
        layout.push(_radius(relaxed, slot))
        for slot, layout in zip(contraction.operands, contraction.layouts)
    )
    A = weight.reshape(len(weight), x.shape[1], x.shape[2], y.shape[3])
    first = x * (A @ y.swapaxes(-1, -2))
    second = y * (x.swapaxes(-1, -2) @ A)
    return [
        layout.pull(np.broadcast_to(part, (len(weight), *part.shape[1:])))
        for layout, part in zip(contraction.layouts, (first, second))
    ]


def _of_reduction(relaxed: Relaxed, reduction: Reduction, weight: Array) -> Array:
    """Spread over the entries by how far each may move the result."""
    (slot,) = reduction.operands
    middle = _middle(relaxed, slot)[:, None]
    ones = np.ones((len(middle), 1, *reduction.below[1].shape[1:]))
    gap = reduction.push(-ones, [middle]) - reduction.push(ones, [middle])
    axes = tuple(1 + a for a in reduction.axes)
    reach = reduction.below[0] * _radius(relaxed, slot)
    part = reach / np.maximum(reach.sum(axes, keepdims=True), 1e-300)
    cost = weight * np.maximum(gap[:, 0], 0.0)
    return part * cost.reshape(
        [len(cost), *(1 if a in reduction.axes else n for a, n in enumerate(slot.shape))]
    )
