"""The geometry that convolutions and pools share: lengths, strides, dilations and padding of a sliding window."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ftheta.networks.reading import Malformed

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

    def ensure_fit(self, lengths: Sequence[int]) -> "Windows":
        """These windows, or an error if they cannot slide over axes of these lengths."""
        told = f"windows {self.kernel}, strides {self.strides}, dilations {self.dilations}, pads {self.pads}"
        rank = len(lengths)
        if {len(self.kernel), len(self.strides), len(self.dilations), len(self.pads)} != {rank}:
            raise Malformed(f"{told} for {rank} axes")
        if min((*self.kernel, *self.strides, *self.dilations), default=1) < 1:
            raise Malformed(f"{told} that are not positive")
        if any(
            not 0 <= n + lo + hi <= LONGEST or max(abs(lo), abs(hi), r, s) > LONGEST
            for n, (lo, hi), r, s in zip(lengths, self.pads, self.reach, self.strides)
        ):
            raise Malformed(f"{told} for axes of {tuple(lengths)}")
        return self


def spatial(x: Any) -> tuple[int, ...]:
    """The lengths after the batch and channel axes."""
    if x.ndim < 3:
        raise Malformed(f"an array {x.shape} without axes to slide over")
    return x.shape[2:]
