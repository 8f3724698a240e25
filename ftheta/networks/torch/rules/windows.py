"""The sliding windows of an operator, from arguments that may be one number for all axes."""

from collections.abc import Callable, Sequence
from typing import Any

from ftheta.networks.operators.windows import Windows
from ftheta.networks.reading import Malformed


def spread(value: int | Sequence[int], rank: int) -> tuple[int, ...]:
    """One number an axis: a single one is for all of them."""
    given = (value,) if isinstance(value, int) else tuple(value)
    found = given * rank if len(given) == 1 else given
    if len(found) != rank or not all(isinstance(n, int) for n in found):
        raise Malformed(f"{given} for {rank} axes")
    return found


def windows(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, rank: int) -> Windows:
    """The windows over the last axes of `x`; padding may be a word."""
    lengths = x.shape[x.ndim - rank :]
    kernel = spread(kernel, rank)
    strides = spread(stride, rank)
    dilations = spread(dilation, rank)
    if padding == "same":  # the odd place is added at the end
        totals = [d * (k - 1) for k, d in zip(kernel, dilations)]
        pads = tuple((t // 2, t - t // 2) for t in totals)
    else:
        pads = tuple((n, n) for n in spread(0 if padding == "valid" else padding, rank))
    return Windows(kernel, strides, dilations, pads).ensure_fit(lengths)


def with_batch_axis(x: Any, rank: int, function: Callable[[Any], Any]) -> Any:
    """The function of (batch, channel, …) also for one image (channel, …)."""
    if x.ndim == rank + 2:
        return function(x)
    if x.ndim != rank + 1:
        raise Malformed(
            f"an array {x.shape} where (batch, channel, …) with {rank} more axes is needed"
        )
    return function(x[None])[0]
