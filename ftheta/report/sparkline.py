"""The first curves of a chart as a small picture of Braille dots, for the terminal."""

from ftheta.logic.chart import Curves

from .charts.scales import Scaled, make_scale
from .letters import letters

# the bits of a Braille letter: four rows, two columns
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
_MOST_SERIES = 4


def sparkline(chart: Curves, columns: int, rows: int = 8) -> list[list[tuple[str, int]]]:
    """Rows of letters, each with the index of the series whose dots it shows (−1 for none).

    Where several series meet in one letter it belongs to the later one. Without anything to draw there are no rows.
    """
    series = chart.series[:_MOST_SERIES]
    x, y = _scales(chart)
    if x is None or y is None or columns < 8:
        return []
    bits = [[0] * columns for _ in range(rows)]
    owner = [[-1] * columns for _ in range(rows)]
    wide = 2 * columns - 1
    high = 4 * rows - 1
    for index, s in enumerate(series):
        previous = None
        for a, b in zip(s.x, s.y):
            if not (x.keeps(a) and y.keeps(b)):
                previous = None
                continue
            here = round(x.fraction(a) * wide), round((1 - y.fraction(b)) * high)
            for column, row in _line(
                here if previous is None or s.mark == "points" else previous, here
            ):
                bits[row // 4][column // 2] |= _DOTS[row % 4][column % 2]
                owner[row // 4][column // 2] = index
            previous = here
    return [[(chr(0x2800 + b), o) for b, o in zip(row, owners)] for row, owners in zip(bits, owner)]


def _line(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """The dots between two dots."""
    (a, b) = start
    (c, d) = end
    steps = max(abs(c - a), abs(d - b), 1)
    return [
        (a + round((c - a) * i / steps), b + round((d - b) * i / steps)) for i in range(steps + 1)
    ]


def caption(chart: Curves) -> tuple[str, str, str, str]:
    """What stands around the picture: the ends of the vertical axis, above and below, and of the horizontal one."""
    x, y = _scales(chart)
    if x is None or y is None:
        return "", "", "", letters(chart.x.label)
    first, last = x.write_ends()
    below, above = y.write_ends()
    return above, below, first, f"{letters(chart.x.label)} → {last}"


def _scales(chart: Curves) -> tuple[Scaled | None, Scaled | None]:
    """The two axes, as long as the series that are drawn."""
    drawn = chart.series[:_MOST_SERIES]
    x = make_scale(chart.x, (v for s in drawn for v in s.x))
    y = make_scale(chart.y, (v for s in drawn for v in s.y))
    return x, y
