"""The bar that says which colour stands for which value, and the square in which both axes are alike."""

from dataclasses import replace
from math import isfinite

from ftheta.logic.chart import Axis

from ..letters import letters
from .frame import TICK, Canvas, Frame, Spec, draw_frame, even_out, field, mark, text
from .measure import shorten, text_width
from .png import colour
from .scales import Scaled, make_scale

_WIDTH = 14
_GAP = 16
_STRIPS = 64


def value_scale(values: list[float]) -> Scaled | None:
    """The values that the colours span; None if none is finite."""
    finite = [v for v in values if isfinite(v)]
    return make_scale(Axis(), finite) if finite else None


def colour_ends(values: Scaled | None) -> tuple[float, float]:
    """The values of the first and the last colour, those of the bar: what differs by rounding alone has one colour."""
    return (values.lo, values.hi) if values else (0.0, 0.0)


def beside(
    title: str, x: Scaled, y: Scaled, canvas: Canvas, label: str, values: Scaled, alike: float
) -> Frame:
    """A frame with room for the bar at its right. Where one axis is at most `alike` times as long as the other, a unit
    is as long on both."""
    words = max((text_width(t.label, TICK) for t in values.ticks(6)), default=0.0)
    bar = _GAP + _WIDTH + 8 + max(words, min(text_width(letters(label), TICK), 90) - _WIDTH) + 10
    frame = draw_frame(title, x, y, canvas, right=bar)
    # the label stands above the bar
    frame = replace(frame, top=max(frame.top, 22.0)) if label else frame
    return even_out(frame, alike)


def bar_marks(frame: Frame, label: str, values: Scaled) -> list[Spec]:
    """The bar with its ticks and, above it, what the values are."""
    theme = frame.canvas.theme
    # on whole pixels its edges are straight
    x = round(frame.left + frame.width + _GAP) - frame.left
    height = min(frame.height, 260.0)
    marks = [_strips(x, height)]
    for tick in values.ticks(max(2, int(height / 44))):
        y = (1 - values.fraction(tick.value)) * height
        marks.append(
            mark("rule", {"x": x + _WIDTH, "x2": x + _WIDTH + 4, "y": y, "stroke": theme.rule})
        )
        marks.append(text([tick.label], x + _WIDTH + 7, y + TICK * 0.36, theme.muted, size=TICK))
    if label:
        marks.append(text([shorten(letters(label), TICK, 110)], x, -8, theme.ink, size=TICK))
    return marks


def _strips(x: float, height: float) -> Spec:
    """All colours, the first below. An image would have to be loaded, a gradient to have a name on its page."""
    thick = height / _STRIPS
    values = [
        {"y": height - (i + 1) * thick, "c": colour((i + 0.5) / _STRIPS)} for i in range(_STRIPS)
    ]
    # no gap shines through
    strip = {"y": field("y"), "fill": field("c"), "width": _WIDTH, "height": thick + 0.5}
    rows = mark("rect", strip, data="colours")
    return {
        **mark("group", {"x": x}),
        "data": [{"name": "colours", "values": values[::-1]}],
        "marks": [rows],
    }


def border(frame: Frame) -> Spec:
    """A thin line around the picture."""
    box = {
        "x": 0,
        "y": 0,
        "width": frame.width,
        "height": frame.height,
        "stroke": frame.canvas.theme.rule,
    }
    return mark("rect", {**box, "strokeWidth": 1})
