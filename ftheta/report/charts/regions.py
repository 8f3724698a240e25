"""Polygons in the plane, coloured by a value or by class: exact up to a few thousand, an image above."""

from collections import defaultdict
from math import ceil, floor, isfinite

from ftheta.logic.chart import Regions

from .classes import TINT, class_colours, mix, row_marks, signs
from .colourbar import bar_marks, beside, border, colour_ends, value_scale
from .frame import Canvas, Frame, Spec, draw_frame, empty, even_out, mark, specification
from .handles import INK, RIM, handle_marks, with_handle
from .legend import legend_height, legend_marks, legend_rows
from .png import EDGE, LEVELS, NOTHING, level, picture, viridis
from .scales import Scaled, make_scale

EXACT = 5000  # more polygons than this are drawn as an image
_PIXELS = 700
RIMMED = ((RIM, 4.2), (INK, 2.2))  # colours and widths of a line over the polygons
ALIKE = 2.5  # up to this ratio of the axes, a unit is as long on both
Corners = list[tuple[float, float]]
Shaded = tuple[Corners, int]  # in pixels, with the number of its colour
Valued = tuple[tuple[tuple[float, float], ...], float]  # as in the chart, with its value
Rgb = tuple[int, int, int]


def regions(chart: Regions, canvas: Canvas) -> Spec:
    """The Vega specification of a coloured subdivision."""
    kept = [(p, v) for p, v in zip(chart.polygons, _values(chart)) if _drawable(p)]
    x = make_scale(chart.x, (c[0] for p, _ in kept for c in p))
    y = make_scale(chart.y, (c[1] for p, _ in kept for c in p))
    if x is None or y is None:
        return empty(chart.title, canvas, "no polygons to draw")
    draw = _by_class if chart.classes else _by_value
    return draw(chart, kept, x, y, canvas)


def _by_value(chart: Regions, kept: list[Valued], x: Scaled, y: Scaled, canvas: Canvas) -> Spec:
    """With a bar that says which value has which colour; without a label the colours only tell polygons apart."""
    values = value_scale([v for _, v in kept]) if chart.values else None
    ends = colour_ends(values)
    frame = beside(chart.title, x, y, canvas, chart.label, values or x, alike=ALIKE)
    polygons = [([frame.at(a, b) for a, b in p], level(v, *ends)) for p, v in kept]
    inside = _polygons(polygons, [viridis(i / (LEVELS - 1)) for i in range(LEVELS)], frame)
    bar = bar_marks(frame, chart.label, values) if values and chart.label else []
    marks = [
        *inside,
        *_lines(chart, frame),
        *handle_marks(chart.handle, frame),
        border(frame),
        *bar,
    ]
    return with_handle(specification(frame, chart.title, marks, grid=False), chart.handle)


def _by_class(chart: Regions, kept: list[Valued], x: Scaled, y: Scaled, canvas: Canvas) -> Spec:
    """Each class has a colour of its own, and the legend names them: between two classes there is nothing."""
    theme = canvas.theme
    entries = signs(chart, theme.ink)
    rows = legend_rows([sign.name for sign in entries], canvas)
    frame = even_out(draw_frame(chart.title, x, y, canvas, below=legend_height(rows)), ALIKE)
    polygons = [([frame.at(a, b) for a, b in p], _class_of(v, chart)) for p, v in kept]
    colours = [mix(c, theme.background) for c in class_colours(min(len(chart.classes), LEVELS))]
    inside = _polygons(polygons, colours, frame)
    start = frame.height + 28 + (22 if x.axis.label else 0)
    legend = legend_marks(
        rows,
        [sign.colour for sign in entries],
        start,
        theme.ink,
        [sign.shape for sign in entries],
        opacity=[TINT if sign.shape == "square" else 1.0 for sign in entries],
    )
    marks = [
        *inside,
        *_lines(chart, frame),
        *row_marks(chart, frame),
        *handle_marks(chart.handle, frame),
        border(frame),
        *legend,
    ]
    return with_handle(specification(frame, chart.title, marks, grid=False), chart.handle)


def _class_of(value: float, chart: Regions) -> int:
    return (
        int(value) if isfinite(value) and 0 <= value < min(len(chart.classes), LEVELS) else NOTHING
    )


def _values(chart: Regions) -> list[float]:
    """A value for every polygon; where there are too few, none."""
    return [*chart.values, *[float("nan")] * (len(chart.polygons) - len(chart.values))]


def _drawable(polygon: tuple[tuple[float, float], ...]) -> bool:
    return len(polygon) >= 3 and all(isfinite(c) for corner in polygon for c in corner)


def _polygons(polygons: list[Shaded], colours: list[Rgb], frame: Frame) -> list[Spec]:
    """Polygons in the colours that they number."""
    return (
        _exact(polygons, colours, frame)
        if len(polygons) <= EXACT
        else [_raster(polygons, colours, frame)]
    )


def _exact(polygons: list[Shaded], colours: list[Rgb], frame: Frame) -> list[Spec]:
    """One path for each colour: polygons of the same colour are drawn together."""
    paths: dict[int, list[str]] = defaultdict(list)
    for corners, shade in polygons:
        paths[shade].append("M" + "L".join(f"{x:.2f},{y:.2f}" for x, y in corners) + "Z")
    thin = max(0.25, min(0.9, 14 / (1 + len(polygons)) ** 0.5))
    return [
        mark(
            "path",
            {
                "path": "".join(path),
                "fill": frame.canvas.theme.box
                if shade == NOTHING
                else "#{:02x}{:02x}{:02x}".format(*colours[shade]),
                "stroke": "#0f172b",
                "strokeWidth": thin,
                "strokeOpacity": 0.75,
                "strokeJoin": "round",
            },
        )
        for shade, path in sorted(paths.items())
    ]


def _lines(chart: Regions, frame: Frame) -> list[Spec]:
    """The lines over the polygons as one path: dark with a light rim, to be seen on every colour."""
    kept = [
        line
        for line in chart.lines
        if len(line) > 1 and all(isfinite(c) for corner in line for c in corner)
    ]
    if not kept:
        return []
    inked = (
        "M" + "L".join(f"{x:.2f},{y:.2f}" for x, y in (frame.at(a, b) for a, b in line))
        for line in kept
    )
    path = "".join(inked)
    stroke = {"path": path, "strokeCap": "round", "strokeJoin": "round"}
    return [mark("path", {**stroke, "stroke": ink, "strokeWidth": wide}) for ink, wide in RIMMED]


def _raster(polygons: list[Shaded], colours: list[Rgb], frame: Frame) -> Spec:
    """An image of the polygons, with a dark pixel where one ends beside another."""
    scale = _PIXELS / max(frame.width, frame.height)
    wide = ceil(frame.width * scale)
    high = ceil(frame.height * scale)
    owner = [[-1] * wide for _ in range(high)]
    for i, (corners, _) in enumerate(polygons):
        _fill(owner, [(x * scale, y * scale) for x, y in corners], i)
    shades = [shade for _, shade in polygons] + [NOTHING]
    edged = len(polygons) < 60_000  # with more, the edges would cover everything
    rows = []
    for above, row in zip([owner[0], *owner], owner):
        lefts = [row[0], *row[:-1]]
        ends = (here != left or here != up for here, left, up in zip(row, lefts, above))
        rows.append(
            bytes(
                EDGE if edged and end and here >= 0 else shades[here]
                for here, end in zip(row, ends)
            )
        )
    url = picture(rows, colours)
    return mark(
        "image",
        {"url": url, "x": 0, "y": 0, "width": frame.width, "height": frame.height, "aspect": False},
    )


def _fill(owner: list[list[int]], corners: Corners, index: int) -> None:
    """Give the pixels inside a polygon to it, row by row: even-odd rule at the middle of each pixel."""
    wide = len(owner[0])
    high = len(owner)
    ys = [y for _, y in corners]
    edges = list(zip(corners, [*corners[1:], corners[0]]))
    for row in range(max(0, floor(min(ys))), min(high, ceil(max(ys)))):
        middle = row + 0.5
        cuts = sorted(
            x0 + (middle - y0) * (x1 - x0) / (y1 - y0)
            for (x0, y0), (x1, y1) in edges
            if (y0 <= middle) != (y1 <= middle)
        )
        for a, b in zip(cuts[::2], cuts[1::2]):
            first = max(0, ceil(a - 0.5))
            last = min(wide, ceil(b - 0.5))
            if last > first:
                owner[row][first:last] = [index] * (last - first)
