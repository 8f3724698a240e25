"""A layered network: columns of circles from left to right, joined by lines."""

from dataclasses import dataclass

from ftheta.logic.chart import Diagram, Layer

from ..letters import letters
from .frame import TICK, Canvas, Spec, bare, empty, heading, mark, text
from .measure import wrap

_MOST_UNITS = 8
_MOST_LAYERS = 11
# pixels from circle to circle, and of a circle
_MOST_APART = 72.0
_MOST_RADIUS = 14.0


@dataclass(frozen=True, slots=True)
class Column:
    """A layer, or (without one) the place of layers that are left out; circles and dots by their heights."""

    layer: Layer | None
    hidden: int
    circles: tuple[float, ...]
    dots: tuple[float, ...]


def diagram(chart: Diagram, canvas: Canvas) -> Spec:
    """The Vega specification of a network diagram."""
    if not chart.layers:
        return empty(chart.title, canvas, "no layers to draw")
    top = 18.0 + 18 * len(heading(chart.title, canvas))
    bottom = canvas.height - 68
    shown = _visible_layers(chart.layers)
    rows = max((min(layer.units, _MOST_UNITS) for layer, _ in shown if layer), default=1)
    apart = min(_MOST_APART, (bottom - top) / max(rows, 1))
    columns = [_column(layer, hidden, (top + bottom) / 2, apart) for layer, hidden in shown]
    pitch = canvas.width / len(columns)
    radius = min(_MOST_RADIUS, 0.27 * apart, pitch / 6)
    below = min(bottom, (top + bottom + rows * apart) / 2) + 22
    middles = [(i + 0.5) * pitch for i in range(len(columns))]
    pairs = list(zip(columns, columns[1:], middles, middles[1:]))
    marks = [_edges(pairs, radius, canvas)]
    marks += [m for c, x in zip(columns, middles) for m in _circles(c, x, radius, canvas)]
    for column, x in zip(columns, middles):
        marks += _caption(column, x, pitch, below, canvas)
    return bare(chart.title, canvas, marks)


def _visible_layers(layers: tuple[Layer, ...]) -> list[tuple[Layer | None, int]]:
    """All layers, or the first and last ones with the number left out between."""
    if len(layers) <= _MOST_LAYERS:
        return [(layer, 0) for layer in layers]
    ends = _MOST_LAYERS // 2
    first = layers[:ends]
    last = layers[-ends:]
    return [*((a, 0) for a in first), (None, len(layers) - 2 * ends), *((b, 0) for b in last)]


def _column(layer: Layer | None, hidden: int, middle: float, pitch: float) -> Column:
    if layer is None:
        return Column(None, hidden, (), ())
    shown = min(max(layer.units, 0), _MOST_UNITS)
    ys = [middle + (i - (shown - 1) / 2) * pitch for i in range(shown)]
    if layer.units <= _MOST_UNITS:
        return Column(layer, 0, tuple(ys), ())
    gap = _MOST_UNITS // 2
    dots = tuple(ys[gap] + d for d in (-6.0, 0.0, 6.0))
    return Column(layer, 0, (*ys[:gap], *ys[gap + 1 :]), dots)


def _edges(pairs: list[tuple[Column, Column, float, float]], radius: float, canvas: Canvas) -> Spec:
    """All lines between neighbouring columns, as one path."""
    lines = [
        f"M{x + radius:.1f},{a:.1f}L{z - radius:.1f},{b:.1f}"
        for left, right, x, z in pairs
        for a in left.circles
        for b in right.circles
    ]
    line = {"stroke": canvas.theme.rule, "strokeWidth": 0.9, "strokeOpacity": 0.8}
    return mark("path", {"path": "".join(lines) or "M0,0", **line})


def _circles(column: Column, x: float, radius: float, canvas: Canvas) -> list[Spec]:
    theme = canvas.theme
    if column.layer is None:
        middle = [
            mark(
                "symbol", {"x": x + d, "y": canvas.height / 2 - 20, "size": 14, "fill": theme.muted}
            )
            for d in (-9, 0, 9)
        ]
        return middle
    circle = {
        "size": 4 * radius**2 * 0.785,
        "fill": theme.box,
        "stroke": theme.measured[0],
        "strokeWidth": 1.75,
    }
    circles = [
        mark("symbol", {"x": x, "y": y, "shape": "circle", **circle}) for y in column.circles
    ]
    return circles + [
        mark("symbol", {"x": x, "y": y, "size": 9, "fill": theme.muted}) for y in column.dots
    ]


def _caption(column: Column, x: float, pitch: float, y: float, canvas: Canvas) -> list[Spec]:
    """Name, width and note below a column."""
    theme = canvas.theme
    room = pitch - 8
    if column.layer is None:
        return [text([f"{column.hidden:,} more"], x, y, theme.muted, size=TICK, align="center")]
    name = wrap(letters(column.layer.name), TICK, room, bold=True, most=1)
    width = wrap(f"{column.layer.units:,}", TICK, room, most=1)
    note = wrap(letters(column.layer.note), TICK, room, most=1)
    marks = [text(name, x, y, theme.ink, size=TICK, bold=True, align="center")]
    marks.append(text(width, x, y + 16, theme.measured_text[0], size=TICK, align="center"))
    return (
        [*marks, text(note, x, y + 32, theme.muted, size=TICK, align="center")]
        if note != [""]
        else marks
    )
