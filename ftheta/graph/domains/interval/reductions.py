"""Reductions that are not sums: extrema, products, positions of extrema, order statistics."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.arithmetic import mul
from ftheta.graph.domains.interval.intervals import FILE, Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.interval.sums import window_ends
from ftheta.graph.graph import Node
from ftheta.graph.interpret import missing_rule

Rule = Callable[..., Any]


def monotone_reduction(reduce: Callable[[Array, tuple[int, ...]], Any]) -> Rule:
    """Maxima, minima, `all` and `any` are increasing in every entry: ends go to ends."""
    return lambda node, x: x.map(lambda end: reduce(end, node.params["axes"]))


def _of_none(end: Array, extremum: float) -> dict[str, Any]:
    """What the extremum of no real numbers is."""
    return {"initial": extremum} if end.dtype.kind == "f" else {}


def _product(factors: list[Interval], shape: tuple[int, ...]) -> list[Interval]:
    """The partial products."""
    partial = [Interval(np.ones(shape), np.ones(shape))]
    for factor in factors:
        partial.append(mul(partial[-1], factor))
    return partial[1:]


def reduce_prod(node: Node, x: Interval) -> Interval:
    """The product over the node's axes, rounded outward."""
    axes = node.params["axes"]
    kept = tuple(n for a, n in enumerate(x.shape) if a not in axes)
    last = x.map(lambda end: np.moveaxis(end, axes, range(-len(axes), 0)).reshape(*kept, -1))
    factors = [last.map(lambda end, k=k: end[..., k]) for k in range(last.shape[-1])]
    return _product(factors, kept)[-1] if factors else Interval(np.ones(kept), np.ones(kept))


def cumulative_product(node: Node, x: Interval) -> Interval:
    """Products of the first entries along the node's axis, rounded outward."""
    axis = node.params["axis"]
    n = x.shape[node.params["axis"]]
    order = range(n - 1, -1, -1) if node.params["reverse"] else range(n)
    factors = [x.map(lambda end, k=k: np.take(end, k, axis)) for k in order]
    partial = _product(factors, factors[0].shape)
    partial = partial[::-1] if node.params["reverse"] else partial
    return Interval(
        np.stack([p.lo for p in partial], axis), np.stack([p.hi for p in partial], axis)
    )


def cumulative_extremum(accumulate: Any) -> Rule:
    """The rule of a running maximum or minimum, made from `accumulate(array, axis)`; exact."""

    def rule(node: Node, x: Interval) -> Interval:
        axis = node.params["axis"]
        if node.params["reverse"]:
            return x.map(lambda end: np.flip(accumulate(np.flip(end, axis), axis), axis))
        return x.map(lambda end: accumulate(end, axis))

    return rule


def position_of_extremum(largest: bool) -> Rule:
    """The positions that may attain the extremum, from the first to the last of them."""

    def rule(node: Node, x: Interval) -> Interval:
        (axis,) = node.params["axes"]
        # truth values have no minus sign of their own
        lo = x.lo.astype(float)
        hi = x.hi.astype(float)
        lo, hi = (lo, hi) if largest else (-hi, -lo)
        possible = hi >= lo.max(axis, keepdims=True)
        last = x.shape[axis] - 1 - np.argmax(np.flip(possible, axis), axis)
        return Interval(np.argmax(possible, axis).astype(float), last.astype(float))

    return rule


def window_extremum(reduce: Callable[[Array, tuple[int, ...]], Array], fill: float) -> Rule:
    """The rule of a maximum or minimum over windows; `fill` stands outside the array and never wins. Exact."""

    def rule(node: Node, x: Interval) -> Interval:
        seen, axes = window_ends(node, x, fill)
        return seen.map(lambda end: reduce(end, axes))

    return rule


def sort(node: Node, *operands: Interval) -> Any:
    """The k-th smallest value is increasing in every entry. Values carried along (argsort) are only known to be
    some value of their row, unless the keys are."""
    axis = node.params["dimension"]
    if len(operands) == 1:
        return operands[0].map(lambda end: np.sort(end, axis))
    if node.params["num_keys"] != 1:
        raise missing_rule("interval", FILE, node, "with several keys")
    keys, *carried = operands
    return (keys.map(lambda end: np.sort(end, axis)), *(_any_of_row(c, axis) for c in carried))


def _any_of_row(x: Interval, axis: int) -> Interval:
    return Interval(
        np.broadcast_to(x.lo.min(axis, keepdims=True), x.shape),
        np.broadcast_to(x.hi.max(axis, keepdims=True), x.shape),
    )


def top_k(node: Node, x: Interval) -> tuple[Interval, Interval]:
    """The k largest, in falling order, and their positions (of which nothing is said)."""
    k = node.params["k"]
    axis = node.params["axis"]
    values = x.map(lambda end: np.take(np.flip(np.sort(end, axis), axis), range(k), axis))
    return values, Interval(np.zeros(values.shape), np.full(values.shape, float(x.shape[axis] - 1)))


RULES: dict[str, Rule] = {
    "reduce_max": monotone_reduction(
        lambda end, axes: end.max(axis=axes, **_of_none(end, -np.inf))
    ),
    "reduce_min": monotone_reduction(lambda end, axes: end.min(axis=axes, **_of_none(end, np.inf))),
    "reduce_and": monotone_reduction(lambda end, axes: end.all(axis=axes)),
    "reduce_or": monotone_reduction(lambda end, axes: end.any(axis=axes)),
    "reduce_prod": reduce_prod,
    "cumprod": cumulative_product,
    "cummax": cumulative_extremum(np.maximum.accumulate),
    "cummin": cumulative_extremum(np.minimum.accumulate),
    "argmax": position_of_extremum(largest=True),
    "argmin": position_of_extremum(largest=False),
    "reduce_window_max": window_extremum(lambda end, axes: end.max(axis=axes), -np.inf),
    "reduce_window_min": window_extremum(lambda end, axes: end.min(axis=axes), np.inf),
    "sort": sort,
    "top_k": top_k,
}
