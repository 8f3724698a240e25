"""The geometry that convolutions and pools share: lengths, strides, dilations and padding of a sliding window."""

from dataclasses import dataclass
from typing import Any

from ftheta.networks.onnx.call import Call
from ftheta.networks.onnx.wire import Malformed

LONGEST = 1 << 24  # of one axis, padding included


@dataclass(frozen=True)
class Windows:
    """One entry an axis: window length, stride, dilation, padding before and after."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    pads: tuple[tuple[int, int], ...]

    @property
    def reach(self) -> tuple[int, ...]:
        """How far each window extends, holes included."""
        return tuple((k - 1) * d + 1 for k, d in zip(self.kernel, self.dilations))


def windows(call: Call, lengths: tuple[int, ...], kernel: tuple[int, ...]) -> Windows:
    """The windows of the node over axes of these lengths, padding by `auto_pad` worked out."""
    rank = len(lengths)
    strides, dilations = (tuple(call.wholes(name, [1] * rank) or []) for name in ("strides", "dilations"))
    pads = call.wholes("pads", [0] * 2 * rank) or []
    if {len(kernel), len(strides), len(dilations), len(pads) - rank} != {rank}:
        raise Malformed(f"windows {kernel}, strides {strides}, dilations {dilations}, pads {pads} for {rank} axes")
    if min((*kernel, *strides, *dilations), default=1) < 1:
        raise Malformed(f"windows {kernel}, strides {strides}, dilations {dilations} that are not positive")
    pairs = tuple(zip(pads[:rank], pads[rank:]))
    found = Windows(kernel, strides, dilations, pairs)
    mode = call.word("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        found = Windows(kernel, strides, dilations, _same(found, lengths, mode))
    elif mode == "VALID":
        found = Windows(kernel, strides, dilations, ((0, 0),) * rank)
    if any(not 0 <= n + lo + hi <= LONGEST or r > LONGEST for n, (lo, hi), r in zip(lengths, found.pads, found.reach)):
        raise Malformed(f"pads {pads} and windows {found.reach} for axes of {lengths}")
    return found


def _same(found: Windows, lengths: tuple[int, ...], mode: str) -> tuple[tuple[int, int], ...]:
    """As many windows as the length divided by the stride, rounded up; the odd one is added at the end if UPPER."""
    totals = (max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(lengths, found.strides, found.reach))
    return tuple(halves(total, mode) for total in totals)


def halves(total: int, mode: str) -> tuple[int, int]:
    small, large = total // 2, total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)


def spatial(x: Any) -> tuple[int, ...]:
    """The lengths after the batch and channel axes."""
    if x.ndim < 3:
        raise Malformed(f"an array {x.shape} without axes to slide over")
    return x.shape[2:]
