"""Charts for a paper: as wide as a column, with letters of 8 and 7 points there, and without a title."""

import re
from typing import Any

from ftheta.logic.errors import UsageError

from .charts.frame import LETTER, TICK

COLUMN = 3.25  # inches, in the usual two-column styles
PER_INCH = 72 * LETTER / 8  # pixels of the drawing: a label of 12 pixels is set in 8 points
DOTS_PER_INCH = 600
SCREEN = 96  # pixels per inch, where a chart is not for paper
_TICK = LETTER * 7 / 8  # pixels that are 7 points
_INCHES = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "bp": 1 / 72, "px": 1 / 96}
_LENGTH = re.compile(r"(\d+(?:\.\d*)?|\.\d+) ?(in|cm|mm|pt|bp|px)")
_LEAST = 1.0
_MOST = 40.0


def read_length(words: str) -> float:
    """A length such as `3.25in`, `84mm` or `240pt` (TeX's points), in inches."""
    found = _LENGTH.fullmatch(words.strip().lower())
    if found is None:
        remedy = f"a number and a unit: {', '.join(_INCHES)}; for example 3.25in"
        raise UsageError("This is not a length.", got=words, remedy=remedy)
    inches = float(found[1]) * _INCHES[found[2]]
    if not _LEAST <= inches <= _MOST:
        raise UsageError(
            "A figure cannot have this size.", got=words, remedy=f"from {_LEAST:g}in to {_MOST:g}in"
        )
    return inches


def set_ticks(part: Any) -> Any:
    """The specification with what is as large as a tick label set in 7 points; it was given a little more room."""
    if isinstance(part, list):
        return [set_ticks(p) for p in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _tick_size(value) if key in _SIZES else set_ticks(value) for key, value in part.items()
    }


_SIZES = ("fontSize", "labelFontSize")


def _tick_size(size: Any) -> Any:
    if isinstance(size, dict):
        return {**size, "value": _tick_size(size.get("value"))}
    return _TICK if size == TICK else size


def resize(drawn: str, factor: float, unit: str) -> str:
    """An SVG document whose pixels are so many of the unit; what is drawn is scaled with it."""

    def scale(found: re.Match[str]) -> str:
        return f'{found[1]}="{float(found[2]) * factor:.4f}{unit}"'

    return re.sub(r'\b(width|height)="([\d.]+)"', scale, drawn, count=2)
