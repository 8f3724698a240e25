"""A grid of values as colours: an image, and for small grids the numbers too."""

from ftheta.logic.chart import Heatmap

from ..numbers import number, typeset
from .colourbar import bar_marks, beside, border, colour_ends, value_scale
from .frame import TICK, Canvas, Frame, Spec, bare, empty, heading, mark, specification, text
from .measure import text_width
from .png import LEVELS, level, picture
from .scales import make_scale

_MOST_NUMBERS = 150
_ABOVE = 40.0  # pixels for the title of a picture


def heatmap(chart: Heatmap, canvas: Canvas) -> Spec:
    """The Vega specification of a heatmap. On a logarithmic axis the cells are even in the logarithm."""
    columns = max((len(row) for row in chart.values), default=0)
    flat = [v for row in chart.values for v in row]
    x = make_scale(chart.x, chart.extent[:2])
    y = make_scale(chart.y, chart.extent[2:])
    values = value_scale(flat)
    if not columns or x is None or y is None or values is None:
        return empty(chart.title, canvas, "no finite values to draw")
    ends = colour_ends(values)
    if chart.grey:
        return _photograph(chart, canvas, (min(flat), max(flat)))
    rows = [
        bytes(level(v, *ends) for v in row).ljust(columns, b"\xff")
        for row in reversed(chart.values)
    ]
    frame = beside(chart.title, x, y, canvas, chart.label, values, alike=1.6)
    image = {"url": picture(rows), "x": 0, "y": 0, "width": frame.width, "height": frame.height}
    picture_mark = mark("image", {**image, "aspect": False, "smooth": {"value": False}})
    marks = [
        picture_mark,
        border(frame),
        *_numbers(chart, frame, ends),
        *bar_marks(frame, chart.label, values),
    ]
    return specification(frame, chart.title, marks, grid=False)


def _photograph(chart: Heatmap, canvas: Canvas, ends: tuple[float, float]) -> Spec:
    """The values from black to white in square pixels, in the middle of the canvas."""
    columns = max(len(row) for row in chart.values)
    lines = [bytes(level(v, *ends) for v in row).ljust(columns, b"\xff") for row in chart.values]
    greys = [(g, g, g) for g in (round(255 * i / (LEVELS - 1)) for i in range(LEVELS))]
    above = _ABOVE if heading(chart.title, canvas) else 0.0
    side = min(canvas.width / columns, (canvas.height - above) / len(lines))
    place = {
        "x": (canvas.width - side * columns) / 2,
        "y": above,
        "width": side * columns,
        "height": side * len(lines),
    }
    image = {"url": picture(lines[::-1], greys), **place, "aspect": False}
    return bare(chart.title, canvas, [mark("image", {**image, "smooth": {"value": False}})])


def _numbers(chart: Heatmap, frame: Frame, ends: tuple[float, float]) -> list[Spec]:
    """The values written into their cells, where all of them fit."""
    rows = len(chart.values)
    columns = max(len(row) for row in chart.values)
    wide = frame.width / columns
    high = frame.height / rows
    if rows * columns > _MOST_NUMBERS or high < TICK + 6:
        return []
    words = [[typeset(number(v, 3)) if v == v else "–" for v in row] for row in chart.values]
    if any(text_width(word, TICK) > wide - 6 for row in words for word in row):
        return []
    return [
        text(
            [word],
            (j + 0.5) * wide,
            (rows - i - 0.5) * high + TICK * 0.36,
            _ink(v, ends),
            size=TICK,
            align="center",
        )
        for i, row in enumerate(words)
        for j, (word, v) in enumerate(zip(row, chart.values[i]))
    ]


def _ink(value: float, ends: tuple[float, float]) -> str:
    """Letters that can be read on the colour of the value."""
    here = level(value, *ends)
    return "#0f1729" if LEVELS * 0.55 < here < LEVELS else "#fefefe" if here < LEVELS else "#64748c"
