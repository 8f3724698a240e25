"""A computational graph: boxes from inputs to outputs, with values and adjoints below their labels."""

from dataclasses import dataclass, replace
from itertools import pairwise

from ftheta.logic.chart import Dag, Vertex

from ..letters import letters
from .frame import Canvas, Spec, bare, empty, heading, mark, text
from .layering import Layout, layout
from .measure import shorten, text_width

_MOST = 400
_TRIALS = [(size, True) for size in (13, 12, 11, 10)] + [
    (size, False) for size in (13, 12, 11, 10, 9, 8)
]
_LARGE = [(size, True) for size in (17, 16, 15, 14)]  # for a few nodes with much room
_FEW = 12
_WIDEST = 220.0


@dataclass(frozen=True, slots=True)
class Box:
    """A node with its lines and its size in pixels; the first line is its label."""

    lines: tuple[str, ...]
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Drawing:
    """Middles of all nodes and bends, in pixels, with the size of the whole."""

    at: dict[str, tuple[float, float]]
    boxes: dict[str, Box]
    routes: tuple[tuple[str, ...], ...]
    across: bool  # from left to right, rather than from top to bottom
    letter: int
    width: float
    height: float


def dag(chart: Dag, canvas: Canvas) -> Spec:
    """The Vega specification of a computational graph. One too large for the canvas makes it larger."""
    if not chart.vertices:
        return empty(chart.title, canvas, "no nodes to draw")
    if len(chart.vertices) > _MOST:
        return empty(
            chart.title,
            canvas,
            f"{len(chart.vertices):,} nodes, {len(chart.edges):,} edges: too many to draw",
        )
    top = 14.0 + 20 * len(heading(chart.title, canvas))
    drawing = _fitting(chart, canvas.width - 24, canvas.height - top - 14)
    width = max(canvas.width, drawing.width + 24)
    height = drawing.height + top + 14
    moved = replace(
        drawing,
        at={n: (x + (width - drawing.width) / 2, y + top) for n, (x, y) in drawing.at.items()},
    )
    canvas = replace(canvas, width=width, height=height)
    marks = [
        *_arrows(moved, canvas),
        *(m for v in chart.vertices for m in _node(moved, v.id, canvas)),
    ]
    return bare(chart.title, canvas, marks)


def _fitting(chart: Dag, width: float, height: float) -> Drawing:
    """The drawing with the largest letters that fits, from left to right if that can be read."""
    for letter, across in _LARGE if len(chart.vertices) <= _FEW else ():
        drawing = _draw(chart, letter, across)
        if drawing.width <= width and drawing.height <= height:
            return drawing
    for letter, across in _TRIALS if len(chart.vertices) < 60 else _TRIALS[-1:]:
        drawing = _draw(chart, letter, across)
        if drawing.width <= width and drawing.height <= max(height, 1.4 * width):
            return drawing
    smallest = [_draw(chart, _TRIALS[-1][0], across) for across in (True, False)]
    return min(smallest, key=lambda d: max(d.width / width, 1) * max(d.height / height, 1))


def _draw(chart: Dag, letter: int, across: bool) -> Drawing:
    boxes = {v.id: _box(v, letter) for v in chart.vertices}
    size = {n: b.height if across else b.width for n, b in boxes.items()}
    found = layout([v.id for v in chart.vertices], list(chart.edges), size, gap=1.6 * letter)
    gap = 2.8 * letter if across else 2.6 * letter
    depth = 0.0
    starts = []
    for row in found.layers:
        thick = max(
            (boxes[n].width if across else boxes[n].height for n in row if n in boxes), default=0.0
        )
        starts.append(depth + thick / 2)
        depth += thick + gap
    return _place(found, boxes, starts, depth - gap, across, letter)


def _place(
    found: Layout,
    boxes: dict[str, Box],
    starts: list[float],
    depth: float,
    across: bool,
    letter: int,
) -> Drawing:
    spans = {
        n: (boxes[n].height if across else boxes[n].width) / 2 if n in boxes else 2.0
        for n in found.place
    }
    low = min(p - spans[n] for n, p in found.place.items())
    breadth = max(p + spans[n] for n, p in found.place.items()) - low
    at = {}
    for start, row in zip(starts, found.layers):
        for n in row:
            place = found.place[n] - low
            at[n] = (start, place) if across else (place, start)
    width, height = (depth, breadth) if across else (breadth, depth)
    return Drawing(at, boxes, found.routes, across, letter, width, height)


def _box(vertex: Vertex, letter: int) -> Box:
    label = shorten(letters(vertex.label), letter, _WIDEST, bold=True)
    notes = [
        shorten(letters(line), letter - 1, _WIDEST)
        for line in vertex.note.splitlines()[:4]
        if line.strip()
    ]
    widest = max(
        [text_width(label, letter, bold=True), *(text_width(n, letter - 1) for n in notes)]
    )
    return Box(
        (label, *notes),
        max(widest + 1.5 * letter, 3.0 * letter),
        (letter + 4) * (1 + len(notes)) + 0.8 * letter,
    )


def _node(drawing: Drawing, name: str, canvas: Canvas) -> list[Spec]:
    box = drawing.boxes[name]
    (x, y) = drawing.at[name]
    theme = canvas.theme
    letter = drawing.letter
    left = x - box.width / 2
    top = y - box.height / 2
    shape = {
        "x": left,
        "y": top,
        "width": box.width,
        "height": box.height,
        "cornerRadius": 6,
        "fill": theme.box,
    }
    marks = [mark("rect", {**shape, "stroke": theme.measured[0], "strokeWidth": 1.25})]
    baseline = top + 0.4 * letter + letter
    for i, line in enumerate(box.lines):
        size, colour = (letter, theme.ink) if i == 0 else (letter - 1, theme.muted)
        marks.append(
            text(
                [line],
                x,
                baseline + i * (letter + 4),
                colour,
                size=size,
                bold=i == 0,
                align="center",
            )
        )
    return marks


def _arrows(drawing: Drawing, canvas: Canvas) -> list[Spec]:
    """A smooth line for each edge, with a head at its end."""
    theme = canvas.theme
    lines = []
    heads = []
    for route in drawing.routes:
        points = [drawing.at[n] for n in route]
        points[0] = _port(drawing, route[0], 1)
        points[-1] = _port(drawing, route[-1], -1)
        lines.append(_curve(points, drawing.across))
        x, y = points[-1]
        heads.append(
            f"M{x:.1f},{y:.1f}l-7,-3.5v7Z" if drawing.across else f"M{x:.1f},{y:.1f}l-3.5,-7h7Z"
        )
    if not lines:
        return []
    line = {"path": "".join(lines), "stroke": theme.reference, "strokeWidth": 1.2}
    return [mark("path", line), mark("path", {"path": "".join(heads), "fill": theme.reference})]


def _port(drawing: Drawing, name: str, side: int) -> tuple[float, float]:
    """Where an edge leaves (side 1) or enters (side −1) a box."""
    (x, y) = drawing.at[name]
    box = drawing.boxes[name]
    return (x + side * box.width / 2, y) if drawing.across else (x, y + side * box.height / 2)


def _curve(points: list[tuple[float, float]], across: bool) -> str:
    """Bézier curves through the points that start and end along the direction of the graph."""
    path = "M{:.1f},{:.1f}".format(*points[0])
    for (x, y), (u, v) in pairwise(points):
        a = ((x + u) / 2, y)
        b = ((x + u) / 2, v)
        if not across:
            a = (x, (y + v) / 2)
            b = (u, (y + v) / 2)
        path += "C{:.1f},{:.1f} {:.1f},{:.1f} {:.1f},{:.1f}".format(*a, *b, u, v)
    return path
