"""Grouped horizontal bars: a row for each category, a colour for each group."""

from collections.abc import Sequence
from dataclasses import replace
from math import ceil, isfinite

from ftheta.logic.chart import Axis, Bars

from ..letters import letters
from ..numbers import number, typeset
from .frame import TICK, Canvas, Frame, Spec, draw_frame, empty, mark, specification, text
from .legend import legend_height, legend_marks, legend_rows
from .measure import shorten, text_width
from .scales import Scaled, make_scale
from .theme import PAPER_FILLS

_THICK = 9.0
_PART = 5.0


def natural_height(chart: Bars) -> float:
    """The height at which the bars are neither thin nor fat."""
    row = max(1, len(chart.groups)) * (_THICK + _PART) + 12
    return min(1600.0, max(160.0, 110 + row * max(1, len(chart.categories))))


def bars(chart: Bars, canvas: Canvas) -> Spec:
    """The Vega specification of grouped horizontal bars."""
    values = [v for group in chart.values for v in group]
    x = make_scale(chart.x, values, nice=True, zero=chart.x.scale == "linear")
    if x is None or not chart.categories:
        return empty(chart.title, canvas, "no finite values to draw")
    legend = legend_rows(chart.groups, canvas) if len(chart.groups) > 1 else []
    rows = Scaled(Axis(), 0.0, float(len(chart.categories)))
    frame = draw_frame(chart.title, x, rows, canvas, right=62.0, below=legend_height(legend))
    words = [shorten(letters(c), TICK, 0.32 * canvas.width) for c in chart.categories]
    frame = replace(frame, left=22 + max(text_width(w, TICK) for w in words), y_ticks=())
    theme = canvas.theme
    colours = PAPER_FILLS if canvas.printed else theme.point_colours
    row = frame.height / len(chart.categories)
    marks = [m for c in range(len(words)) for m in _row(chart, c, row, frame, colours)]
    step = max(1, ceil(14 / row))  # where rows are too thin to be named one by one
    names = [
        text([word], -8, (c + 0.5) * row + TICK * 0.36, theme.muted, size=TICK, align="right")
        for c, word in enumerate(words)
        if c % step == 0
    ]
    start = frame.height + frame.bottom - legend_height(legend) - 4
    return specification(
        frame, chart.title, [*marks, *names, *legend_marks(legend, colours, start, theme.ink)]
    )


def _row(
    chart: Bars, category: int, row: float, frame: Frame, colours: Sequence[str]
) -> list[Spec]:
    """The bars of one category with the numbers at their ends."""
    groups = len(chart.values)
    pitch = min(_THICK + _PART, (row - min(8.0, row * 0.2)) / max(1, groups))
    thick = max(0.5, min(_THICK, pitch * 0.7))
    top = (category + 0.5) * row - pitch * groups / 2
    start = frame.x.fraction(frame.x.cut(0.0)) * frame.width
    marks = []
    for g, group in enumerate(chart.values):
        value = group[category] if category < len(group) else float("nan")
        middle = top + (g + 0.5) * pitch
        end = _end(value, frame) if value == value else start
        box = {
            "x": min(start, end),
            "x2": max(start, end),
            "y": middle - thick / 2,
            "height": thick,
            "cornerRadius": 1.5,
        }
        marks.append(mark("rect", {**box, "fill": colours[g % len(colours)]}))
        if pitch >= 9:
            words = typeset(number(value, 3)) if value == value else "n/a"
            marks.append(
                text(
                    [words],
                    max(start, end) + 5,
                    middle + 3.4,
                    frame.canvas.theme.muted,
                    size=TICK if frame.canvas.printed else 9.5,
                )
            )
    return marks


def _end(value: float, frame: Frame) -> float:
    """Where a bar ends; one that is infinite fills the frame, one that a logarithm has no place for is empty."""
    if not isfinite(value):
        return frame.width if value > 0 else 0.0
    return frame.x.fraction(value) * frame.width if frame.x.keeps(value) else 0.0
