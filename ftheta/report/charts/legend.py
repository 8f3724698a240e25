"""A row of coloured signs with their names, for charts whose marks have no end to be labelled at."""

from collections.abc import Sequence

from ..letters import letters
from .frame import TICK, Canvas, Spec, mark, text
from .measure import shortened, text_width

_ROW, _SIGN, _SPACE = 18, 14, 18


def legend_rows(names: Sequence[str], canvas: Canvas) -> list[list[tuple[float, str, int]]]:
    """The rows of a legend: (place, name, index) for each entry, broken where the canvas ends."""
    room, rows, x = canvas.width - 90, [[]], 0.0
    for i, name in enumerate(names):
        word = shortened(letters(name), TICK, min(room - _SIGN, 260))
        width = _SIGN + text_width(word, TICK)
        if x and x + width > room:
            rows.append([])
            x = 0.0
        rows[-1].append((x, word, i))
        x += width + _SPACE
    return rows if names else []


def legend_height(rows: Sequence[object]) -> float:
    """The height that the rows take."""
    return _ROW * len(rows) + 6 if rows else 0.0


def legend_width(rows: Sequence[Sequence[tuple[float, str, int]]]) -> float:
    """The width that the rows take."""
    return max((row[-1][0] + _SIGN + text_width(row[-1][1], TICK) for row in rows if row), default=0.0)


def legend_marks(
    rows: Sequence[Sequence[tuple[float, str, int]]],
    colours: Sequence[str],
    y: float,
    ink: str,
    shape: str = "square",
    left: float = 0.0,
) -> list[Spec]:
    """The marks of a legend that begins `left` of the frame's edge (negative: outside), its first row at `y`."""
    marks = []
    for r, row in enumerate(rows):
        middle = y + _ROW * (r + 0.5)
        for x, word, i in row:
            sign = {"x": left + x + 5, "y": middle, "shape": shape, "size": 90 if shape == "square" else 60}
            marks.append(mark("symbol", {**sign, "fill": colours[i % len(colours)]}))
            marks.append(text([word], left + x + _SIGN + 1, middle + TICK * 0.36, ink, size=TICK))
    return marks
