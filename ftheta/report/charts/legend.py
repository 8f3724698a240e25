"""A row of coloured signs with their names, for charts whose marks have no end to be labelled at."""

from collections.abc import Sequence

from ..letters import letters
from .frame import TICK, Canvas, Spec, mark, text
from .measure import shorten, text_width

_ROW = 18
_SIGN = 14
_SPACE = 18


def legend_rows(
    names: Sequence[str], canvas: Canvas, sign: float = _SIGN
) -> list[list[tuple[float, str, int]]]:
    """The rows of a legend: (place, name, index) for each entry, broken where the canvas ends. A sign is so wide."""
    room = canvas.width - 90
    rows = [[]]
    x = 0.0
    for i, name in enumerate(names):
        word = shorten(letters(name), TICK, min(room - sign, 260))
        width = sign + text_width(word, TICK)
        if x and x + width > room:
            rows.append([])
            x = 0.0
        rows[-1].append((x, word, i))
        x += width + _SPACE
    return rows if names else []


def legend_height(rows: Sequence[object]) -> float:
    """The height that the rows take."""
    return _ROW * len(rows) + 6 if rows else 0.0


def row_middle(y: float, row: int) -> float:
    """The middle of a row of a legend whose first begins at `y`."""
    return y + _ROW * (row + 0.5)


def legend_width(rows: Sequence[Sequence[tuple[float, str, int]]]) -> float:
    """The width that the rows take."""
    return max(
        (row[-1][0] + _SIGN + text_width(row[-1][1], TICK) for row in rows if row), default=0.0
    )


def legend_marks(
    rows: Sequence[Sequence[tuple[float, str, int]]],
    colours: Sequence[str],
    y: float,
    ink: str,
    shape: str | Sequence[str] = "square",
    left: float = 0.0,
    opacity: Sequence[float] = (),
) -> list[Spec]:
    """The marks of a legend that begins `left` of the frame's edge (negative: outside), its first row at `y`.

    The signs have one shape, or each its own, and are opaque unless `opacity` says how much each.
    """
    marks = []
    for r, row in enumerate(rows):
        middle = row_middle(y, r)
        for x, word, i in row:
            form = shape if isinstance(shape, str) else shape[i]
            sign = {
                "x": left + x + 5,
                "y": middle,
                "shape": form,
                "size": 90 if form == "square" else 60,
            }
            turned = {"angle": 45} if form == "cross" else {}
            look = {
                "fill": colours[i % len(colours)],
                "fillOpacity": opacity[i] if opacity else 1.0,
            }
            marks.append(mark("symbol", {**sign, **turned, **look}))
            marks.append(text([word], left + x + _SIGN + 1, middle + TICK * 0.36, ink, size=TICK))
    return marks
