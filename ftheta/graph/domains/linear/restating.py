r"""Further expressions of a slot, through which it is relaxed more sharply than by the node that computes it.

Each is an identity of real numbers, added to the graph beside the node: $\max(x,y)=y+\mathrm{relu}(x-y)$, a maximum
over an axis as a tournament, $x/y=x\cdot\frac1y$, $\mathrm{softmax}_i(x)=e^{x_i-\mathrm{lse}(x)}$. The node stays, for
its interval; coefficients on the slot go to the further expression. What these add (the difference $x-y$, the
reciprocal) are slots of the graph whose enclosures are refined like all others.
"""

from collections.abc import Callable, Mapping
from itertools import product
from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.interval.sums import windows
from ftheta.graph.graph import Node, Slot
from ftheta.graph.patterns import LogAddExp, Pattern, Softmax, Variance

Expression = Callable[..., Any]
Known = Mapping[int, Interval]
"""Enclosures of the slots that do not depend on the inputs."""

LONGEST_PRODUCT = 64
"""Factors of a product that is taken apart."""


def restate_node(node: Node, known: Known) -> Expression | None:
    """Another expression for the (one) output of a node, as a JAX function of its operands; None where there is none,
    or where the node's own relaxation is as good."""
    rule = RULES.get(node.primitive)
    if rule is None or not node.outputs[0].is_real:
        return None
    return rule(node, known)


def restate_pattern(pattern: Pattern) -> tuple[tuple[Slot, ...], Expression] | None:
    """The slots that a formula is made of, and another expression of it."""
    if isinstance(pattern, Softmax):
        axes = tuple(pattern.axes)
        if pattern.logarithm:
            return (pattern.x,), lambda x: x - jax.nn.logsumexp(x, axes, keepdims=True)
        return (pattern.x,), lambda x: jnp.exp(x - jax.nn.logsumexp(x, axes, keepdims=True))
    if isinstance(pattern, LogAddExp):
        return (pattern.x, pattern.y), lambda x, y: y + jnp.logaddexp(x - y, 0.0)
    if isinstance(pattern, Variance):
        return (pattern.x,), _variance(pattern)
    return None


def _variance(pattern: Variance) -> Expression:
    count = float(prod(pattern.x.shape[a] for a in pattern.axes))
    scale = pattern.scale

    def expression(x: Any) -> Any:
        # half precision cannot count to 2049, nor bfloat16 to 257
        x = x.astype(jnp.promote_types(x.dtype, jnp.float32))
        centred = x - jnp.sum(x, pattern.axes, keepdims=True) / count
        total = jnp.sum(jnp.square(centred), pattern.axes, keepdims=pattern.keeps_axes)
        # the fraction itself may be no float
        return total * float(scale.numerator) / float(scale.denominator)

    return expression


def _relu(x: Any) -> Any:
    return lax.max(x, jnp.zeros_like(x))


def _larger(x: Any, y: Any) -> Any:
    return y + _relu(x - y)


def _smaller(x: Any, y: Any) -> Any:
    return y - _relu(y - x)


def _is_zero(slot: Slot, known: Known) -> bool:
    value = known.get(slot.id)
    return value is not None and value.is_point and not value.lo.any()


def _maximum(node: Node, known: Known) -> Expression | None:
    """y + relu(x − y), with a constant for y where there is one."""
    x, y = node.inputs
    if x == y or _is_zero(x, known) or _is_zero(y, known):
        return None
    if uniform(x, known) == -np.inf:
        return lambda x, y: y
    if not _finite_constants(node, known):
        return None
    return (lambda x, y: _larger(y, x)) if x.id in known else _larger


def _minimum(node: Node, known: Known) -> Expression | None:
    """y − relu(y − x)."""
    x, y = node.inputs
    if x == y or _is_zero(x, known) or _is_zero(y, known):
        return None
    if uniform(x, known) == np.inf:
        return lambda x, y: y
    if not _finite_constants(node, known):
        return None
    return (lambda x, y: _smaller(y, x)) if x.id in known else _smaller


def _clamp(node: Node, known: Known) -> Expression | None:
    """At least the lowest, then at most the highest."""
    if not _finite_constants(node, known):
        return None

    def expression(lowest: Any, x: Any, highest: Any) -> Any:
        raised = lowest + _relu(x - lowest)
        return highest - _relu(highest - raised)

    return expression


def _finite_constants(node: Node, known: Known) -> bool:
    """Differences with an infinite constant say nothing."""
    return all(
        np.isfinite(known[slot.id].magnitude).all() for slot in node.inputs if slot.id in known
    )


def _quotient(node: Node, known: Known) -> Expression | None:
    """x · (1/y), unless the numerator is one number for all entries: that is a function of y alone."""
    x, y = node.inputs
    if y.id in known or uniform(x, known) is not None:
        return None
    return lambda x, y: x * (jnp.ones_like(y) / y)


def _power(node: Node, known: Known) -> Expression | None:
    if uniform(node.inputs[1], known) is not None:
        return None
    return lambda x, y: jnp.exp(y * jnp.log(x))


def uniform(slot: Slot, known: Known) -> float | None:
    """The value of a constant that is the same everywhere and known exactly."""
    value = known.get(slot.id)
    if value is None or not value.is_point or not slot.is_real:
        return None
    values = np.unique(value.lo)
    return float(values[0]) if values.size == 1 else None


def _tournament(join: Callable[[Any, Any], Any]) -> Callable[[Node, Known], Expression | None]:
    """A reduction as a tree of joins of halves."""

    def rule(node: Node, known: Known) -> Expression | None:
        axes = tuple(node.params["axes"])
        source = node.inputs[0].shape
        count = prod(source[a] for a in axes)
        if count < 2 or (node.primitive == "reduce_prod" and count > LONGEST_PRODUCT):
            return None

        def expression(x: Any) -> Any:
            kept = [a for a in range(len(source)) if a not in axes]
            row = x.transpose(*kept, *axes).reshape(*node.shape, count)
            return _join_halves(join, row, count)

        return expression

    return rule


def _join_halves(join: Callable[[Any, Any], Any], row: Any, count: int) -> Any:
    """The join of all entries along the last axis."""
    while count > 1:
        half = count // 2
        joined = join(row[..., :half], row[..., half : 2 * half])
        row = jnp.concatenate([joined, row[..., 2 * half :]], -1) if count % 2 else joined
        count = half + count % 2
    return row[..., 0]


def _windows(join: Callable[[Any, Any], Any]) -> Callable[[Node, Known], Expression | None]:
    """Maxima and minima over windows: what is read at each offset, joined. Where a window reaches over the edge,
    another of its entries is read again."""

    def rule(node: Node, known: Known) -> Expression | None:
        reads = _entries_read(node)
        if reads is None or len(reads) < 2:
            return None
        return lambda x: _join_all(join, [jnp.ravel(x)[read] for read in reads])

    return rule


def _join_all(join: Callable[[Any, Any], Any], parts: list[Any]) -> Any:
    while len(parts) > 1:
        pairs = [join(a, b) for a, b in zip(parts[::2], parts[1::2])]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def _entries_read(node: Node) -> list[Array] | None:
    """For each offset of the window the numbers of the entries that the windows read; None if one is empty."""
    p = node.params
    source = node.inputs[0].shape
    numbers = np.arange(1, prod(source) + 1, dtype=np.float64).reshape(source)
    seen = _window_view(numbers, p)
    rank = len(source)
    reads = [
        seen[(..., *offset)].astype(np.int64) - 1
        for offset in product(*map(range, seen.shape[rank:]))
    ]
    first = np.full(reads[0].shape, -1)
    for read in reads:
        first = np.where(first < 0, read, first)
    if (first < 0).any():
        return None
    return [np.where(read < 0, first, read) for read in reads]


def _window_view(numbers: Array, p: Mapping[str, Any]) -> Array:
    return windows(
        numbers,
        p["window_dimensions"],
        p["window_strides"],
        p["padding"],
        p["base_dilation"],
        p["window_dilation"],
        0.0,
    )


def _dot_general(node: Node, known: Known) -> Expression | None:
    """x·x with itself is a sum of squares."""
    (contract_x, contract_y), (batch_x, batch_y) = node.params["dimension_numbers"]
    same = node.inputs[0] == node.inputs[1] and contract_x == contract_y and batch_x == batch_y
    if (
        not same
        or batch_x != tuple(sorted(batch_x))
        or len(contract_x) + len(batch_x) != len(node.inputs[0].shape)
    ):
        return None
    return lambda x, y: jnp.sum(jnp.square(x), contract_x)


def _convolution(node: Node, known: Known) -> Expression | None:
    """With a kernel that varies: patches of the image times the kernel."""
    p = node.params
    if node.inputs[1].id in known or p["batch_group_count"] != 1 or p["feature_group_count"] != 1:
        return None
    numbers = p["dimension_numbers"]

    def expression(x: Any, kernel: Any) -> Any:
        window = kernel.transpose(numbers.rhs_spec)  # (out, in, *window)
        # (batch, in · window, *space)
        patches = lax.conv_general_dilated_patches(
            x.transpose(numbers.lhs_spec),
            window.shape[2:],
            p["window_strides"],
            p["padding"],
            p["lhs_dilation"],
            p["rhs_dilation"],
        )
        result = jnp.tensordot(patches, window.reshape(window.shape[0], -1), ((1,), (1,)))
        return jnp.moveaxis(result, -1, 1).transpose(np.argsort(numbers.out_spec))

    return expression


RULES: dict[str, Callable[[Node, Known], Expression | None]] = {
    "max": _maximum,
    "min": _minimum,
    "clamp": _clamp,
    "div": _quotient,
    "pow": _power,
    "reduce_max": _tournament(_larger),
    "reduce_min": _tournament(_smaller),
    "reduce_prod": _tournament(lambda x, y: x * y),
    "reduce_window_max": _windows(_larger),
    "reduce_window_min": _windows(_smaller),
    "dot_general": _dot_general,
    "conv_general_dilated": _convolution,
}
