"""Images of another size: nearest neighbours and linear interpolation."""

from collections.abc import Sequence
from typing import Any

from ftheta.networks.operators.resampling import LONGEST, resample_axis
from ftheta.networks.programs.call import Call, Rule, RuleTable
from ftheta.networks.reading import Malformed


def _sizes(
    x: Any, rank: int, size: Sequence[int] | None, factors: Sequence[float | None]
) -> list[tuple[int, float]]:
    """The new length of every axis and its scale: the factor given, else the quotient of the lengths."""
    lengths = x.shape[x.ndim - rank :]
    if not size:
        size = [int(n * (f or 1.0)) for n, f in zip(lengths, factors)]
    if len(size) != rank or any(not 0 < m <= LONGEST for m in size):
        raise Malformed(f"axes of {lengths} resampled to {list(size)}")
    return [(m, m / n if not f else float(f)) for m, n, f in zip(size, lengths, factors)]


def _by(mode: str, where: str, rank: int) -> Rule:
    def rule(
        call: Call,
        x: Any,
        output_size: Any = None,
        align_corners: bool = False,
        scales: float | None = None,
        scales_d: float | None = None,
        scales_h: float | None = None,
        scales_w: float | None = None,
        scale_factors: Any = None,
    ) -> Any:
        given = scale_factors or (
            [scales] if rank == 1 else [scales_d, scales_h, scales_w][3 - rank :]
        )
        how = "align_corners" if align_corners else where
        for axis, (length, scale) in enumerate(_sizes(x, rank, output_size, given), x.ndim - rank):
            x = resample_axis(x, axis, scale, length, mode, how, "floor")
        return x

    return rule


RULES: RuleTable = {
    **{f"upsample_nearest{n}d": _by("nearest", "asymmetric", n) for n in (1, 2, 3)},
    "upsample_linear1d": _by("linear", "half_pixel", 1),
    "upsample_bilinear2d": _by("linear", "half_pixel", 2),
    "upsample_trilinear3d": _by("linear", "half_pixel", 3),
}
