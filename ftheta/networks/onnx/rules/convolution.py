"""Convolutions in any number of axes, and their transposes."""

from dataclasses import replace
from typing import Any

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.convolution import convolve, convolve_transposed
from ftheta.networks.operators.windows import Windows, spatial
from ftheta.networks.programs.call import RuleTable

from .windows import halves, windows


def _conv(call: Call, x: Any, kernel: Any, bias: Any = None) -> Any:
    w = windows(call, spatial(x), kernel.shape[2:])
    return convolve(x, kernel, bias, w, call.whole("group", 1))


def _conv_transpose(call: Call, x: Any, kernel: Any, bias: Any = None) -> Any:
    w = windows(call, spatial(x), kernel.shape[2:])
    extra = call.wholes("output_padding", [0] * len(w.kernel)) or []
    w = replace(w, pads=_cut(call, w, spatial(x), extra))
    return convolve_transposed(x, kernel, bias, w, call.whole("group", 1), extra)


def _cut(
    call: Call, w: Windows, lengths: tuple[int, ...], extra: list[int]
) -> tuple[tuple[int, int], ...]:
    """What is cut off the full result: `pads`, or what leaves the `output_shape`, or the strides times the input."""
    mode = call.word("auto_pad", "NOTSET")
    wanted = call.wholes("output_shape")
    if wanted is None and not mode.startswith("SAME"):
        return w.pads
    wanted = (
        [n * s for n, s in zip(lengths, w.strides)] if wanted is None else wanted[-len(lengths) :]
    )
    full = [s * (n - 1) + e + r for s, n, e, r in zip(w.strides, lengths, extra, w.reach)]
    return tuple(halves(max(f - n, 0), mode) for f, n in zip(full, wanted))


RULES: RuleTable = {"Conv": _conv, "ConvTranspose": _conv_transpose}
