"""Receptive fields and defects against shifts, drawn."""

import numpy as np

from ftheta.logic import Axis, Curves, Series
from ftheta.networks.architectures import Stack

from .fields import Field
from .strides import ShiftDefects


def draw_profile(field: Field) -> Curves:
    """How much the middle output depends on each place of the input."""
    profile = field.support.profile
    margin = field.width // 8
    places = np.arange(max(0, field.lo - margin), min(len(profile), field.hi + margin + 1))
    share = profile[places] / (profile.max() or 1.0)
    return Curves(
        f"what the middle output sees: {field.width} places",
        Axis("place in the input"),
        Axis("size of the gradient, relative"),
        (Series("gradient", places, share, mark="step"),),
    )


def draw_growth(table: Stack) -> Curves:
    """Receptive field and jump, layer by layer."""
    rows = [row for row in table.rows() if row.field]
    k = np.arange(len(rows) + 1)
    fields = Series("receptive field", k, [1, *(row.field for row in rows)], mark="step")
    jumps = Series("jump", k, [1, *(row.jump for row in rows)], "reference", "step")
    return Curves(
        "growth of the receptive field", Axis("layer"), Axis("places", "log"), (fields, jumps)
    )


def draw_defects(seen: ShiftDefects) -> Curves:
    """The relative change of the output against the shift of the input."""
    kept = seen.kept
    series = [
        Series(f"multiples of {seen.stride}", seen.shifts[kept], seen.defects[kept], mark="points")
    ]
    if not kept.all():
        series.append(
            Series("other shifts", seen.shifts[~kept], seen.defects[~kept], "other", "points")
        )
    return Curves(
        f"defect against shift: zero at multiples of {seen.stride}",
        Axis("shift τ of the input"),
        Axis("relative change of the output"),
        tuple(series),
    )
