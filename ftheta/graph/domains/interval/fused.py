r"""Rules for whole formulas (see `ftheta/graph/patterns.py`), sharper than their nodes one by one.

Each returns an enclosure of the same slot; the caller intersects it with that of the node's own rule. Formulas that
are increasing in every variable are evaluated at the two ends, with interval arithmetic on single points, so that
rounding is taken care of by the elementary rules.
"""

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.arithmetic import (
    add,
    div,
    maximum,
    minimum,
    mul,
    neg,
    sqrt,
    square,
    sub,
)
from ftheta.graph.domains.interval.functions import MONOTONE
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array, below, sum_error
from ftheta.graph.domains.interval.sums import (
    dot_general,
    matrix_product,
    reduce_sum,
    transpose_interval,
)
from ftheta.graph.graph import Node
from ftheta.graph.patterns import (
    Centred,
    LogAddExp,
    LogSumExp,
    Normalised,
    Softmax,
    Variance,
    WeightedAverage,
)

Values = Mapping[int, Interval]
EXP = MONOTONE["exp"]
LOG = MONOTONE["log"]
LOG1P = MONOTONE["log1p"]


def number(value: int | float | Fraction) -> Interval:
    """A constant; a fraction that is no float is enclosed (Python rounds fractions correctly)."""
    nearest = float(value)
    if Fraction(nearest) == Fraction(value):
        return Interval.point(nearest)
    return Interval(np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf))


def _sum(x: Interval, axes: tuple[int, ...]) -> Interval:
    """The sum, with the axes kept at length 1."""
    total = reduce_sum(x, axes)
    return total.map(lambda end: np.expand_dims(end, axes))


def _others(terms: Interval, axes: tuple[int, ...]) -> Interval:
    """Σ_{j≠i} t_j: the sum of all terms before i and of all after, so that a large t_i leaves no rounding behind."""
    return Interval(_others_below(terms.lo, axes), -_others_below(-terms.hi, axes))


def _others_below(x: Array, axes: tuple[int, ...]) -> Array:
    n = math.prod(x.shape[a] for a in axes)
    last = range(-len(axes), 0)
    moved = np.moveaxis(x, axes, last)
    rows = moved.reshape(*moved.shape[: moved.ndim - len(axes)], n)

    def others(values: Array) -> Array:
        start = np.zeros((*values.shape[:-1], 1))
        before = np.concatenate([start, np.cumsum(values, -1)[..., :-1]], -1)
        after = np.concatenate([start, np.cumsum(values[..., ::-1], -1)[..., :-1]], -1)[..., ::-1]
        return before + after

    bound = below(others(rows) - sum_error(others(np.abs(rows)), n))
    bound = np.where(others((rows < 0).astype(float)) == 0, np.maximum(bound, 0.0), bound)
    return np.moveaxis(bound.reshape(moved.shape), last, axes)


def centre_interval(pattern: Centred, values: Values, node: Node) -> Interval:
    r"""x_i − (1/n) Σ x = ((n−1) x_i − Σ_{j≠i} x_j) / n, where every variable occurs once."""
    x = values[pattern.x.id]
    n = math.prod(x.shape[a] for a in pattern.axes)
    return div(sub(mul(number(n - 1), x), _others(x, pattern.axes)), number(n))


def variance(pattern: Variance, values: Values, node: Node) -> Interval:
    """The scaled sum of squared deviations from the mean, each deviation bounded as a whole."""
    deviation = centre_interval(Centred(pattern.x, pattern.axes), values, node)
    total = mul(number(pattern.scale), _sum(square(deviation), pattern.axes))
    return _laid_out(total, pattern.axes, pattern.keeps_axes, node)


def normalise_interval(pattern: Normalised, values: Values, node: Node) -> Interval:
    r"""c_i / (√(scale·(c_i² + R) + shift) + offset) with R = Σ_{j≠i} c_j².

    Increasing in c_i; for c_i > 0 decreasing in R. If Σ c = 0 then c_i² = (Σ_{j≠i} c_j)² ≤ (n−1) R. So the upper end
    is at c_i = h with the smallest R (h > 0) or the largest (h ≤ 0), and the function is odd in c.
    """
    c = values[pattern.c.id]
    rest = _others(square(c), pattern.axes)
    hi = _normalised_upper(pattern, Interval.point(c.hi), rest)
    lo = -_normalised_upper(pattern, Interval.point(-c.lo), rest)
    return Interval(lo, hi)


def _normalised_upper(pattern: Normalised, h: Interval, rest: Interval) -> Array:
    n = math.prod(h.shape[a] for a in pattern.axes)
    scale = number(pattern.scale)
    least = Interval.point(rest.lo)
    bound = div(number(1), scale)
    if pattern.centred and n > 1:
        least = maximum(least, div(square(h), number(n - 1)))
        bound = div(mul(bound, number(n - 1)), number(n))
    chosen = Interval(np.where(h.lo > 0, least.lo, rest.hi), np.where(h.lo > 0, least.hi, rest.hi))
    radicand = add(mul(scale, add(square(h), chosen)), number(pattern.shift))
    value = div(h, add(sqrt(radicand), number(pattern.offset))).hi
    value = np.where(h.hi <= 0, np.minimum(value, 0.0), value)
    return np.minimum(value, sqrt(bound).hi)


def softmax(pattern: Softmax, values: Values, node: Node) -> Interval:
    r"""p_i is increasing in x_i and decreasing in every other x_j, so with x in [l, u]

    e^{l_i} / (e^{l_i} + Σ_{j≠i} e^{u_j})  ≤  p_i  ≤  e^{u_i} / (e^{u_i} + Σ_{j≠i} e^{l_j}).
    """
    x = values[pattern.x.id]
    top = Interval.point(x.hi.max(axis=pattern.axes, keepdims=True))
    low, high = (EXP(sub(Interval.point(end), top)) for end in (x.lo, x.hi))
    most = _odds(high, _others(low, pattern.axes))
    fewest = _odds(low, _others(high, pattern.axes))
    lo = np.nan_to_num(fewest.lo, nan=0.0)
    hi = np.nan_to_num(most.hi, nan=1.0)
    probability = Interval(np.clip(lo, 0.0, 1.0), np.clip(hi, 0.0, 1.0))
    if not pattern.logarithm:
        return probability
    return Interval(LOG.lower(probability.lo), np.minimum(LOG.upper(probability.hi), 0.0))


def _odds(own: Interval, others: Interval) -> Interval:
    """a / (a + b) for a, b ≥ 0; where both may vanish (all terms underflow) anything in [0, 1]."""
    total = add(own, others)
    return minimum(div(own, total), Interval.point(1.0))


def log_sum_exp(pattern: LogSumExp, values: Values, node: Node) -> Interval:
    """log Σ exp xᵢ, monotone in every xᵢ and so bounded at the two ends."""
    x = values[pattern.x.id]

    def at(end: Array) -> Interval:
        top = np.max(end, axis=pattern.axes, keepdims=True)
        shift = Interval.point(np.where(np.isfinite(top), top, 0.0))
        return add(LOG(_sum(EXP(sub(Interval.point(end), shift)), pattern.axes)), shift)

    return _laid_out(Interval(at(x.lo).lo, at(x.hi).hi), pattern.axes, pattern.keeps_axes, node)


def log_add_exp(pattern: LogAddExp, values: Values, node: Node) -> Interval:
    """log(exp x + exp y), monotone in both and so bounded at the two ends."""
    x = values[pattern.x.id]
    y = values[pattern.y.id]

    def at(a: Array, b: Array) -> Interval:
        p = Interval.point(a)
        q = Interval.point(b)
        gap = sub(maximum(p, q), minimum(p, q))
        return add(maximum(p, q), LOG1P(EXP(neg(gap))))

    return Interval(at(x.lo, y.lo).lo, at(x.hi, y.hi).hi)


def weighted_average(pattern: WeightedAverage, values: Values, node: Node) -> Interval:
    r"""Σ_j p_j v_j = λ + Σ_j p_j (v_j − λ) for weights that sum to 1: with λ in the middle of the v_j the widths of the
    weights count little; and the average lies in the hull of the v_j."""

    def average(weights: Interval, v: Interval) -> Interval:
        lo = v.lo.min(axis=-2, keepdims=True)
        hi = v.hi.max(axis=-2, keepdims=True)
        middle = Interval.point(np.where(np.isfinite(lo) & np.isfinite(hi), lo / 2 + hi / 2, 0.0))
        product = matrix_product(weights, sub(v, middle))
        return add(product, middle).meet(Interval(*np.broadcast_arrays(lo, hi, product.lo)[:2]))

    def product(x: Interval, y: Interval) -> Interval:
        if pattern.weights_first:
            return average(x, y)
        return average(y.map(transpose_interval), x.map(transpose_interval)).map(transpose_interval)

    return dot_general(node, *[values[slot.id] for slot in node.inputs], product=product)


def _laid_out(x: Interval, axes: tuple[int, ...], keeps_axes: bool, node: Node) -> Interval:
    if keeps_axes:
        return x.map(
            lambda end: np.broadcast_to(end, node.shape) if node.shape else end.reshape(())
        )
    return x.map(lambda end: np.squeeze(end, axes))


FUSED: dict[type, Callable[[Any, Values, Node], Interval]] = {
    Centred: centre_interval,
    Variance: variance,
    Normalised: normalise_interval,
    Softmax: softmax,
    LogSumExp: log_sum_exp,
    LogAddExp: log_add_exp,
    WeightedAverage: weighted_average,
}
