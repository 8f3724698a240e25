"""The parts of a plane in the colours of their classes, the rows of data among them, and what the signs mean."""

from collections.abc import Sequence
from colorsys import hls_to_rgb
from dataclasses import dataclass
from math import isfinite

from ftheta.logic.chart import Regions

from .frame import Frame, Spec, mark

TINT = 0.5  # the opacity of a part: the rows in the same colour stand out against it
_TEN = (
    "#4e79a7",
    "#f28e2b",
    "#59a14f",
    "#e15759",
    "#b07aa1",
    "#edc948",
    "#76b7b2",
    "#ff9da7",
    "#9c755f",
    "#8c8580",
)
_MOST = 16  # classes that the legend names
_GOLDEN = 0.618033988749895  # steps of the hue that come near no earlier one for long
_RIGHT = "row given its own class"
_WRONG = "row given another class"
_UNKNOWN = "row of unknown class"


@dataclass(frozen=True, slots=True)
class Sign:
    """An entry of the legend."""

    name: str
    colour: str
    shape: str


def class_colours(count: int) -> list[str]:
    """A colour for each class: ten that are easy to tell apart, then more around the circle of hues."""
    return [_TEN[k] if k < len(_TEN) else _hue(k) for k in range(count)]


def _hue(k: int) -> str:
    parts = hls_to_rgb(k * _GOLDEN % 1.0, 0.45 + 0.2 * (k % 2), 0.6)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def mix(colour: str, background: str) -> tuple[int, int, int]:
    """A colour at the opacity of a part, over the background."""
    pairs = [(int(colour[i : i + 2], 16), int(background[i : i + 2], 16)) for i in (1, 3, 5)]
    r, g, b = (round(TINT * a + (1 - TINT) * z) for a, z in pairs)
    return r, g, b


def signs(chart: Regions, ink: str) -> list[Sign]:
    """The legend: the classes that occur, and the kinds of rows."""
    colours = class_colours(len(chart.classes))
    points = _drawable(chart)
    seen = {int(c) for c in (*chart.values, *(p[2] for p in points)) if isfinite(c)}
    found = [Sign(name, colours[c], "square") for c, name in enumerate(chart.classes) if c in seen]
    if len(found) > _MOST:
        found = [*found[:_MOST], Sign(f"and {len(found) - _MOST} more", ink, "square")]
    kinds = {_kind(p, chart) for p in points}
    shapes = {_RIGHT: "circle", _WRONG: "cross", _UNKNOWN: "circle"}
    return found + [Sign(kind, ink, shape) for kind, shape in shapes.items() if kind in kinds]


def _drawable(chart: Regions) -> list[Sequence[float]]:
    return [p for p in chart.points if len(p) == 4 and isfinite(p[0]) and isfinite(p[1])]


def _kind(point: Sequence[float], chart: Regions) -> str:
    own, given = point[2:4]
    known = 0 <= own < len(chart.classes)
    return _UNKNOWN if not known else _RIGHT if own == given else _WRONG


def row_marks(chart: Regions, frame: Frame) -> list[Spec]:
    """The rows of data: discs of the colour of their class, crosses where they are given another one."""
    colours = class_colours(len(chart.classes))
    ink = frame.canvas.theme.ink
    empty = frame.canvas.theme.background
    marks = []
    for point in sorted(
        _drawable(chart), key=lambda p: _kind(p, chart) == _WRONG
    ):  # what is wrong lies above
        if not (frame.x.spans(point[:1]) and frame.y.spans(point[1:2])):
            continue
        x, y = frame.at(point[0], point[1])
        kind = _kind(point, chart)
        fill = empty if kind == _UNKNOWN else colours[int(point[2])]
        look = {"x": round(x, 2), "y": round(y, 2), "fill": fill, "stroke": ink, "strokeWidth": 1}
        shape = (
            {"shape": "cross", "size": 90, "angle": 45}
            if kind == _WRONG
            else {"shape": "circle", "size": 36}
        )
        marks.append(mark("symbol", {**look, **shape}))
    return marks
