"""Reductions over axes, and running sums."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from ftheta.networks.onnx.call import Call
from ftheta.networks.programs.call import Rule, RuleTable, axis_of

# the axes became an input in opset 13; for all other reductions in 18
_INPUT_SINCE = {"ReduceSum": 13}


def _over(reduce: Callable[[Any, Any, tuple[int, ...], bool], Any]) -> Rule:
    """`reduce(library, x, axes, keepdims)`; without a list of axes it goes over all, or over none if so asked: then
    nothing is summed, but a sum of squares still squares."""

    def rule(call: Call, x: Any, *_: Any) -> Any:
        axes = call.list_of("axes", 1, _INPUT_SINCE.get(call.node.op, 18))
        if not axes:
            axes = [] if call.whole("noop_with_empty_axes", 0) else range(x.ndim)
        over = tuple(axis_of(a, x.ndim) for a in axes)
        return reduce(call.xp, x, over, bool(call.whole("keepdims", 1)))

    return rule


def _reduce_by_name(name: str) -> Rule:
    return _over(lambda xp, x, axes, keep: getattr(xp, name)(x, axis=axes, keepdims=keep))


def _norm(xp: Any, x: Any, axes: tuple[int, ...], keep: bool) -> Any:
    return xp.sqrt(xp.sum(x * x, axis=axes, keepdims=keep))


def _cumsum(call: Call, x: Any, *_: Any) -> Any:
    (axis,) = call.numbers(1) or [0]
    axis = axis_of(axis, x.ndim)
    reverse = call.whole("reverse", 0)
    x = jnp.flip(x, axis) if reverse else x
    total = jnp.cumsum(x, axis) - x if call.whole("exclusive", 0) else call.xp.cumsum(x, axis)
    return jnp.flip(total, axis) if reverse else total


RULES: RuleTable = {
    **{
        f"Reduce{word}": _reduce_by_name(word.lower())
        for word in ("Sum", "Mean", "Max", "Min", "Prod")
    },
    "ReduceL1": _over(lambda xp, x, axes, keep: xp.sum(abs(x), axis=axes, keepdims=keep)),
    "ReduceL2": _over(_norm),
    "ReduceSumSquare": _over(lambda xp, x, axes, keep: xp.sum(x * x, axis=axes, keepdims=keep)),
    "ReduceLogSum": _over(lambda xp, x, axes, keep: xp.log(xp.sum(x, axis=axes, keepdims=keep))),
    "ReduceLogSumExp": _over(lambda xp, x, axes, keep: jax.nn.logsumexp(x, axes, keepdims=keep)),
    "CumSum": _cumsum,
}
