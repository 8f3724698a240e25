"""Points that move. All their places are in the specification, in tenths of a pixel; its signal `frame` says which of
them are drawn.

A still picture shows the last ones. A page that sets the signal shows the others, and has nothing to ask for.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil, hypot, isfinite, log10

from ftheta.logic.chart import Motion

from ..letters import letters
from ..numbers import number, typeset
from .frame import (
    LETTER,
    Canvas,
    Frame,
    Spec,
    draw_frame,
    empty,
    even_out,
    mark,
    specification,
    text,
)
from .handles import handle_marks, with_handle
from .legend import legend_height, legend_marks, legend_rows, legend_width
from .scales import Scaled, make_scale

_NOW = "data('course')[frame]"
_FAR = 30.0  # per cent of its size and clearness that the farthest point has
_STEP = 30  # tenths of a pixel of a way that are drawn as one straight line


def motion(chart: Motion, canvas: Canvas) -> Spec:
    """The Vega specification of moving points."""
    frames = min(len(chart.times), len(chart.xs), len(chart.ys))
    count = min(map(len, (*chart.xs[:frames], *chart.ys[:frames])), default=0)
    x = make_scale(chart.x, chain(*chart.xs, (a for line in chart.lines for a, _ in line)))
    y = make_scale(chart.y, chain(*chart.ys, (b for line in chart.lines for _, b in line)))
    if x is None or y is None or not count:
        return empty(chart.title, canvas, "no finite places to draw")
    groups = chart.groups if len(chart.groups) == count else ("",) * count
    names = list(dict.fromkeys(groups))
    legend = legend_rows(names, canvas) if len(names) > 1 or names[0] else []
    frame = _draw_frame(chart, x.roomy(), y.roomy(), legend_height(legend), canvas)
    course = _course(chart, frame, frames, count)
    palette = canvas.theme.point_colours
    colours = [palette[names.index(group) % len(palette)] for group in groups]
    start = frame.height + frame.bottom - legend_height(legend) - 4
    left = max(14 - frame.left, (frame.width - legend_width(legend)) / 2) if chart.alike else 0.0
    data, moving = _moving(chart, colours, "near" in course[0], canvas)
    marks = [
        *(_line(line, frame) for line in chart.lines),
        *(_ways(course, colours) if chart.ways else ()),
        *moving,
        *handle_marks(chart.handle, frame),
        _clock(frame),
        *legend_marks(legend, palette, start, canvas.theme.ink, "circle", left),
    ]
    data = [{"name": "course", "values": course}, *data]
    spec = specification(frame, chart.title, marks, data=data)
    spec["signals"] = [{"name": "frame", "value": frames - 1}]
    spec = with_handle(spec, chart.handle)
    return spec if _axes(chart) else {**spec, "axes": []}


def _axes(chart: Motion) -> bool:
    """A chart whose axes have no names is a picture without them."""
    return bool(chart.x.label or chart.y.label)


def _draw_frame(chart: Motion, x: Scaled, y: Scaled, below: float, canvas: Canvas) -> Frame:
    frame = draw_frame(chart.title, x, y, canvas, below=below)
    if not _axes(chart):
        frame = replace(frame, left=14.0, right=14.0, bottom=14.0 + below)
    frame = replace(frame, top=frame.top + LETTER)  # the clock stands above the points
    return even_out(frame) if chart.alike else frame


def _course(chart: Motion, frame: Frame, frames: int, count: int) -> list[Spec]:
    """What each frame shows: the clock, the places in pixels, and `near` where some points are not as near as all."""
    near = [_nearness(chart, frame, k, count) for k in range(frames)]
    flat = all(min(row) == 100 for row in near)
    return [
        {
            "clock": _caption(chart, k),
            "x": [*map(int, frame.x.places(chart.xs[k][:count], 0, 10 * frame.width))],
            "y": [*map(int, frame.y.places(chart.ys[k][:count], 10 * frame.height, 0))],
            **({} if flat else {"near": near[k]}),
        }
        for k in range(frames)
    ]


def _nearness(chart: Motion, frame: Frame, k: int, count: int) -> Sequence[int]:
    """How large and clear every point is in a frame, in per cent; 0 is one that has no place."""
    xs = chart.xs[k][:count]
    ys = chart.ys[k][:count]
    near: Sequence[int] = (100,) * count
    if k < len(chart.depths) and len(chart.depths[k]) >= count:
        middle = (100 + _FAR) / 2
        half = (100 - _FAR) / 2
        near = [
            int(middle + half * min(max(z, -1.0), 1.0)) if isfinite(z) else 100
            for z in chart.depths[k]
        ]
    if frame.x.spans(xs) and frame.y.spans(ys):
        return near[:count]
    return [n if frame.x.keeps(a) and frame.y.keeps(b) else 0 for n, a, b in zip(near, xs, ys)]


def _caption(chart: Motion, k: int) -> str:
    """The time of a frame, with as many decimals as tell it from the next."""
    time = chart.times[k]
    last = abs(chart.times[-1])
    decimals = ceil(-log10(last / len(chart.times))) if 1e-9 < last < 1e6 else 0
    plain = abs(time) < 1e6 and last >= 1e-9
    written = f"{time:,.{max(0, decimals)}f}".replace("-", "−") if plain else typeset(number(time))
    return f"{letters(chart.clock)} = {written}"


def _line(line: Sequence[tuple[float, float]], frame: Frame) -> Spec:
    """A line that stands still."""
    corners = [frame.at(a, b) for a, b in line if frame.x.keeps(a) and frame.y.keeps(b)]
    return mark(
        "path", {"path": _path(corners), "stroke": frame.canvas.theme.rule, "strokeWidth": 1}
    )


def _ways(course: Sequence[Spec], colours: Sequence[str]) -> Iterator[Spec]:
    """The whole ways of the points, thin, as one path for each colour."""
    paths: dict[str, str] = defaultdict(str)
    for i, colour in enumerate(colours):
        places = [
            (row["x"][i], row["y"][i]) for row in course if "near" not in row or row["near"][i]
        ]
        way = places[:1]
        for x, y in places:
            if hypot(x - way[-1][0], y - way[-1][1]) >= _STEP:
                way.append((x, y))
        paths[colour] += _path([(x / 10, y / 10) for x, y in (*way, *places[-1:])])
    thin = {"strokeWidth": 1, "strokeOpacity": 0.28, "strokeJoin": "round"}
    return (
        mark("path", {"path": path or "M0,0", "stroke": colour, **thin})
        for colour, path in paths.items()
    )


def _path(corners: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f},{y:.1f}" for x, y in corners) if len(corners) > 1 else ""


def _moving(
    chart: Motion, colours: Sequence[str], deep: bool, canvas: Canvas
) -> tuple[list[Spec], list[Spec]]:
    """Data and marks of what moves: the lines between the points, and the points."""
    at = {axis: {"signal": f"0.1 * {_NOW}.{axis}[datum.i]"} for axis in "xy"}
    near = f"0.01 * {_NOW}.near[datum.i]" if deep else "1"
    links = [{"i": i, "ok": ok} for link in chart.links for i, ok in _join(link, len(colours))]
    line = mark(
        "line", {"stroke": colours[0], "strokeOpacity": 0.55, "strokeWidth": 1.25}, data="links"
    )
    line["encode"]["update"] = {**at, "defined": {"signal": f"datum.ok && {near} > 0"}}
    size = (
        24
        if links
        else 110
        if chart.alike and len(colours) < 50
        else 64
        if len(colours) < 120
        else 40
    )
    dot = {
        "fill": {"field": "fill"},
        "shape": "circle",
        "stroke": canvas.theme.background,
        "strokeWidth": 0.75,
    }
    dots = mark("symbol", {**dot, "opacity": 0.9, "size": size}, data="points")
    seen = {"opacity": {"signal": f"0.9 * {near}"}, "size": {"signal": f"{size} * {near}"}}
    dots["encode"]["update"] = {**at, **(seen if deep else {})}
    points = {
        "name": "points",
        "values": [{"i": i, "fill": colour} for i, colour in enumerate(colours)],
    }
    return (
        ([{"name": "links", "values": links}, points], [line, dots])
        if links
        else ([points], [dots])
    )


def _join(link: Sequence[float], count: int) -> Iterator[tuple[int, bool]]:
    """The points that a line joins, and one that is not drawn, for the gap before the next line."""
    kept = [int(i) for i in link if isfinite(i) and 0 <= i < count]
    yield from ((i, True) for i in kept)
    yield from ((i, False) for i in kept[-1:])


def _clock(frame: Frame) -> Spec:
    clock = text([""], frame.width, -8, frame.canvas.theme.ink, size=LETTER, align="right")
    clock["encode"]["update"] = {"text": {"signal": f"{_NOW}.clock"}}
    return clock
