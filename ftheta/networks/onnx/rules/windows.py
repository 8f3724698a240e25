"""The sliding windows of a node, from its attributes."""

from dataclasses import replace

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.windows import Windows
from ftheta.networks.reading import Malformed


def windows(call: Call, lengths: tuple[int, ...], kernel: tuple[int, ...]) -> Windows:
    """The windows of the node over axes of these lengths, padding by `auto_pad` worked out."""
    rank = len(lengths)
    strides, dilations = (
        tuple(call.wholes(name, [1] * rank) or []) for name in ("strides", "dilations")
    )
    pads = call.wholes("pads", [0] * 2 * rank) or []
    if len(pads) != 2 * rank:
        raise Malformed(f"pads {pads} for {rank} axes")
    found = Windows(kernel, strides, dilations, tuple(zip(pads[:rank], pads[rank:]))).ensure_fit(
        lengths
    )
    mode = call.word("auto_pad", "NOTSET")
    if mode.startswith("SAME"):
        return replace(found, pads=_same(found, lengths, mode)).ensure_fit(lengths)
    return replace(found, pads=((0, 0),) * rank) if mode == "VALID" else found


def _same(found: Windows, lengths: tuple[int, ...], mode: str) -> tuple[tuple[int, int], ...]:
    """As many windows as the length divided by the stride, rounded up; the odd one is added at the end if UPPER."""
    totals = (
        max((-(-n // s) - 1) * s + r - n, 0) for n, s, r in zip(lengths, found.strides, found.reach)
    )
    return tuple(halves(total, mode) for total in totals)


def halves(total: int, mode: str) -> tuple[int, int]:
    """`total` padding split between the two sides; SAME_UPPER puts the odd one at the end, SAME_LOWER at the start."""
    small = total // 2
    large = total - total // 2
    return (small, large) if mode == "SAME_UPPER" else (large, small)
