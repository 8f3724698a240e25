"""Bars between consecutive edges, with curves over them."""

from math import isfinite

from ftheta.logic.chart import Histogram

from .curves import draw_series, label_series
from .frame import Canvas, Frame, Spec, empty, field, mark, specification
from .scales import make_scale


def histogram(chart: Histogram, canvas: Canvas) -> Spec:
    """The Vega specification of a histogram."""
    bars = [
        (a, b, h)
        for a, b, h in zip(chart.edges, chart.edges[1:], chart.heights)
        if all(map(isfinite, (a, b, h))) and (chart.x.scale != "log" or (a > 0 and b > 0))
    ]
    x = make_scale(
        chart.x, [*(e for bar in bars for e in bar[:2]), *(v for s in chart.curves for v in s.x)]
    )
    heights = [*(h for _, _, h in bars), *(v for s in chart.curves for v in s.y)]
    y = make_scale(chart.y, heights, nice=True, zero=True)
    if x is None or y is None:
        return empty(chart.title, canvas, "no finite values to draw")
    frame, labels = label_series(chart.title, x, y, canvas, chart.curves)
    data, marks = draw_series(chart.curves, frame)
    return specification(frame, chart.title, [_bars(bars, frame, data), *marks, *labels], data=data)


def _bars(bars: list[tuple[float, float, float]], frame: Frame, data: list[Spec]) -> Spec:
    floor = frame.y.cut(0.0)
    rows = [{"a": frame.x.cut(a), "b": frame.x.cut(b), "h": frame.y.cut(h)} for a, b, h in bars]
    data.append({"name": "bars", "values": rows})
    edge = frame.width / max(1, len(bars)) > 5
    colour = frame.canvas.theme.measured[0]
    sides = {
        "x": field("a", "x"),
        "x2": field("b", "x"),
        "y": field("h", "y"),
        "y2": {"scale": "y", "value": floor},
    }
    stroke = {
        "stroke": frame.canvas.theme.background if edge else colour,
        "strokeWidth": 0.75 if edge else 0.25,
    }
    return mark("rect", {**sides, **stroke, "fill": colour, "fillOpacity": 0.45}, data="bars")
