"""Curves with their labels at their ends, on paper below: measured solid, bounds dashed, references thin and grey."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import count, repeat

from ftheta.logic.chart import Curves, Series

from .frame import TICK, Canvas, Frame, Spec, draw_frame, empty, field, mark, specification, text
from .labels import KEY, LEADING, SIZE, Label, Pen, Placed, margin, place, room
from .legend import legend_height, legend_rows, row_middle
from .scales import Scaled, make_scale
from .theme import BOUND_DASHES, MEASURED_DASHES, PAPER, SHAPES, Theme
from .thinning import MOST, keep_extremes, space_out

_DASHES = ([7, 4], [3, 3], [10, 3, 2, 3], [2, 2])

# of the width: a label in the margin still stands beside a curve that ends here
_NEAR_THE_EDGE = 0.98
_MARKS = 8  # shapes along a line
_FINE_DASHES = ([], [1, 2], [5, 2], [8, 2, 1, 2], [3, 1])


def curves(chart: Curves, canvas: Canvas) -> Spec:
    """The Vega specification of a chart of curves."""
    x = make_scale(chart.x, (v for s in chart.series for v in s.x))
    y = make_scale(chart.y, _heights(chart.series, x), nice=True) if x else None
    if x is None or y is None:
        return empty(chart.title, canvas, "no finite values to draw")
    frame, labels = label_series(chart.title, x, y, canvas, chart.series)
    data, marks = draw_series(chart.series, frame)
    return specification(frame, chart.title, [*marks, *labels], data=data)


def _heights(series: Sequence[Series], x: Scaled) -> Iterable[float]:
    """The values that the vertical axis has to span."""
    for s in series:
        yield from (b for a, b in zip(s.x, s.y) if x.keeps(a))
        yield from s.lo
        yield from s.hi


def label_series(
    title: str, x: Scaled, y: Scaled, canvas: Canvas, series: Sequence[Series]
) -> tuple[Frame, list[Spec]]:
    """The frame of a chart with room for the labels of its series at the right, and the marks of the labels.

    Whether they have keys depends on what is drawn and not on where it happens to be, so that the frame does not jump
    while a slider moves.
    """
    ends = [_last(s, x, y) for s in series]
    names = [s.name if end else f"{s.name} (no finite values)" for s, end in zip(series, ends)]
    if canvas.printed:
        return _name_below(title, x, y, canvas, names, pens(series, canvas.theme))
    keyed = len(series) > 1 or any(end and x.fraction(end[0]) < _NEAR_THE_EDGE for end in ends)
    frame = draw_frame(title, x, y, canvas, right=margin(names, canvas.width, keyed))
    labels = [
        Label(name, frame.at(*end), pen.words, pen)
        if end
        else Label(name, (frame.width, frame.height), canvas.theme.muted)
        for name, end, pen in zip(names, ends, pens(series, canvas.theme))
    ]
    return frame, _label_marks(
        place(labels, room(frame.right, keyed), 0, frame.height), keyed, frame
    )


def _name_below(
    title: str, x: Scaled, y: Scaled, canvas: Canvas, names: Sequence[str], chosen: Sequence[Pen]
) -> tuple[Frame, list[Spec]]:
    """The frame with the names of the series in rows below it: a column of a paper has no room at the right."""
    rows = legend_rows(names, canvas, KEY + 6)
    frame = draw_frame(title, x, y, canvas, below=legend_height(rows))
    start = frame.height + frame.bottom - legend_height(rows) - 2
    marks: list[Spec] = []
    for r, row in enumerate(rows):
        middle = row_middle(start, r)
        for at, word, i in row:
            marks += _key(chosen[i], at, middle, canvas.theme)
            marks.append(
                text([word], at + KEY + 6, middle + TICK * 0.36, canvas.theme.ink, size=TICK)
            )
    return frame, marks


def _last(series: Series, x: Scaled, y: Scaled) -> tuple[float, float] | None:
    """The point of a series furthest to the right, of those that can be drawn."""
    kept = ((a, b) for a, b in zip(series.x, series.y) if x.keeps(a) and y.keeps(b))
    last = max(kept, key=lambda point: point[0], default=None)
    return None if last is None else (x.cut(last[0]), y.cut(last[1]))


def draw_series(series: Sequence[Series], frame: Frame) -> tuple[list[Spec], list[Spec]]:
    """Data and marks of the series inside a frame."""
    data: list[Spec] = []
    layers: dict[str, list[Spec]] = {
        "reference": _between(series, frame, data),
        "measured": [],
        "bound": [],
    }
    for i, (s, pen) in enumerate(zip(series, pens(series, frame.canvas.theme))):
        layers["measured" if s.role == "other" else s.role] += _marks(
            f"series{i}", s, _points(s, frame), pen, data
        )
    # bounds last: their dashes let curves below be seen
    return data, [m for layer in layers.values() for m in layer]


def pens(series: Sequence[Series], theme: Theme) -> list[Pen]:
    """A colour of its own for every series: bounds are orange and dashed, references grey, the rest blue first. On
    paper each has dashes and a shape of its own beside its colour."""
    chosen = _coloured_pens(series, theme)
    return _tell_apart(series, chosen) if theme is PAPER else chosen


def _tell_apart(series: Sequence[Series], chosen: Sequence[Pen]) -> list[Pen]:
    """The same pens with dashes and shapes that differ; a line whose dashes are taken is marked with its shape."""
    seen: dict[str, int] = {}
    apart = []
    for k, (s, pen) in enumerate(zip(series, chosen)):
        role = "measured" if s.role == "other" else s.role
        i = seen.setdefault(role, 0)
        seen[role] += 1
        dashes = {"measured": MEASURED_DASHES, "bound": BOUND_DASHES, "reference": _FINE_DASHES}[
            role
        ]
        lap = i // len(dashes)
        sign = SHAPES[(k if pen.points else lap) % len(SHAPES)]
        look = {
            "dash": dashes[i % len(dashes)],
            "shape": sign,
            "marked": lap > 0 and not pen.points,
        }
        apart.append(replace(pen, width=0.7 * pen.width, **look))
    return apart


def _coloured_pens(series: Sequence[Series], theme: Theme) -> list[Pen]:
    measured = count()
    bounds = count()
    references = count()
    chosen = []
    for s in series:
        if s.role == "bound":
            i = next(bounds)
            k = i % len(theme.bounds)
            dash = _DASHES[i % len(_DASHES)]
            chosen.append(Pen(theme.bounds[k], theme.bounds_text[k], dash, 2, s.mark == "points"))
        elif s.role == "reference":
            dash = _FINE_DASHES[next(references) % len(_FINE_DASHES)]
            chosen.append(Pen(theme.reference, theme.muted, dash, 1.25, s.mark == "points"))
        else:
            k = (
                next(measured)
                + (s.role == "other" and not any(t.role == "measured" for t in series))
            ) % len(theme.measured)
            chosen.append(
                Pen(theme.measured[k], theme.measured_text[k], [], 2.25, s.mark == "points")
            )
    return chosen


Point = tuple[float, float, float | None, float | None]  # x, y and the band


def _points(series: Series, frame: Frame) -> list[Point | None]:
    """What can be drawn of a series; None where there is a gap. Thinned if there are many."""
    x = frame.x
    y = frame.y
    banded = len(series.lo) == len(series.hi) == len(series.x)
    los = [_end(v, frame, -1) for v in series.lo] if banded else repeat(None)
    his = [_end(v, frame, 1) for v in series.hi] if banded else repeat(None)
    rows: list[Point | None] = list(zip(series.x, series.y, los, his))
    if not (rows and x.spans(series.x) and y.spans(series.y)):
        rows = [
            (x.cut(p[0]), y.cut(p[1]), *p[2:]) if p and x.keeps(p[0]) and y.keeps(p[1]) else None
            for p in rows
        ]
        # one gap for several
        rows = [row for before, row in zip([None, *rows], rows) if row or before]
    return _thin(rows, series.mark == "points", frame)


def _end(value: float | None, frame: Frame, side: int) -> float | None:
    """An end of the band; one that cannot be drawn goes to the edge of the frame."""
    if value is None or value != value:
        return None
    if frame.y.keeps(value):
        return frame.y.cut(value)
    return frame.y.hi if side > 0 and value > 0 else frame.y.lo


def _thin(rows: list[Point | None], scattered: bool, frame: Frame) -> list[Point | None]:
    kept: list[Point | None] = []
    pieces: list[list[Point]] = [[]]
    for row in rows:
        if row is None:
            pieces.append([])
        else:
            pieces[-1].append(row)
    many = sum(len(piece) for piece in pieces) > MOST
    for piece in pieces:
        if scattered:
            chosen = space_out([(*frame.at(p[0], p[1]), "") for p in piece])
        elif many:
            chosen = keep_extremes([p[0] for p in piece], [p[1] for p in piece], frame.x.fraction)
        else:
            chosen = range(len(piece))
        kept += [*(piece[i] for i in chosen), None]
    return kept[:-1]


def _marks(
    name: str, series: Series, points: list[Point | None], pen: Pen, data: list[Spec]
) -> list[Spec]:
    banded = any(p is not None and p[2] is not None and p[3] is not None for p in points)
    data.append({"name": name, "values": [_row(p, banded) if p else _gap(points) for p in points]})
    at = {"x": field("x", "x"), "y": field("y", "y")}
    marks = []
    if banded:
        band = {
            "x": at["x"],
            "y": field("lo", "y"),
            "y2": field("hi", "y"),
            "fill": pen.colour,
            "fillOpacity": 0.16,
        }
        marks.append(
            mark(
                "area",
                {**band, "defined": {"signal": "datum.ok && datum.lo != null && datum.hi != null"}},
                data=name,
            )
        )
    if series.mark == "points":
        marks.append(_dots(name, pen))
    else:
        line = {
            "stroke": pen.colour,
            "strokeWidth": pen.width,
            "strokeDash": {"value": pen.dash},
            "defined": field("ok"),
        }
        interpolate = {"interpolate": "step-after"} if series.mark == "step" else {}
        marks.append(mark("line", {**at, **line, **interpolate, "strokeJoin": "round"}, data=name))
        marks += _lonely(name, points, pen, data)
        marks += _marks_of(name, points, pen, data) if pen.marked else []
    return marks


def _row(point: Point, banded: bool) -> Spec:
    x, y, lo, hi = point
    return (
        {"x": x, "y": y, "lo": lo, "hi": hi, "ok": True} if banded else {"x": x, "y": y, "ok": True}
    )


def _gap(points: list[Point | None]) -> Spec:
    """A row that interrupts the line; it needs a place, which is not drawn."""
    somewhere = next(p for p in points if p is not None)
    return {"x": somewhere[0], "y": somewhere[1], "lo": None, "hi": None, "ok": False}


def _lonely(name: str, points: list[Point | None], pen: Pen, data: list[Spec]) -> list[Spec]:
    """Points with a gap on either side, which a line alone would not show."""
    around = [None, *points, None]
    alone = [
        p
        for before, p, after in zip(around, points, around[2:])
        if p and before is None and after is None
    ]
    if not alone:
        return []
    data.append({"name": f"{name}alone", "values": [{"x": p[0], "y": p[1]} for p in alone]})
    return [_dots(f"{name}alone", pen)]


def _marks_of(name: str, points: list[Point | None], pen: Pen, data: list[Spec]) -> list[Spec]:
    """A few points of a line, evenly spaced, with its shape."""
    drawn = [p for p in points if p is not None]
    few = drawn[:: max(1, len(drawn) // _MARKS)]
    data.append({"name": f"{name}marked", "values": [{"x": p[0], "y": p[1]} for p in few]})
    return [_dots(f"{name}marked", pen)]


def _dots(name: str, pen: Pen) -> Spec:
    dot = {
        "x": field("x", "x"),
        "y": field("y", "y"),
        "size": 34,
        "fill": pen.colour,
        "fillOpacity": 0.85,
    }
    return mark("symbol", {**dot, "shape": pen.shape}, data=name)


def _between(series: Sequence[Series], frame: Frame, data: list[Spec]) -> list[Spec]:
    """The room between the one measured curve and its one bound, lightly coloured."""
    bounds, measured = (
        [s for s in series if s.role == role and s.mark == "line"] for role in ("bound", "measured")
    )
    if (
        len(bounds) != 1
        or len(measured) != 1
        or bounds[0].x != measured[0].x
        or len(bounds[0].x) < 2
    ):
        return []
    rows = [
        p
        for p in zip(bounds[0].x, bounds[0].y, measured[0].y)
        if frame.x.keeps(p[0]) and all(map(frame.y.keeps, p[1:]))
    ]
    kept = range(len(rows))
    if len(rows) > MOST:
        kept = keep_extremes([r[0] for r in rows], [r[1] for r in rows], frame.x.fraction)
    x = frame.x
    y = frame.y
    values = [
        {"x": x.cut(rows[i][0]), "y": y.cut(rows[i][1]), "z": y.cut(rows[i][2])} for i in kept
    ]
    data.append({"name": "between", "values": values})
    area = {"x": field("x", "x"), "y": field("y", "y"), "y2": field("z", "y")}
    return [
        mark(
            "area",
            {**area, "fill": frame.canvas.theme.bounds[0], "fillOpacity": 0.07},
            data="between",
        )
    ]


def _label_marks(labels: Sequence[Placed], keyed: bool, frame: Frame) -> list[Spec]:
    """The labels in the right margin. Nothing of them is inside the frame, where it would look like data."""
    left = frame.width + 11
    marks: list[Spec] = []
    for placed in labels:
        middle = placed.y - (len(placed.lines) - 1) * LEADING / 2
        if keyed and placed.label.pen is not None:
            marks += _key(placed.label.pen, left, middle, frame.canvas.theme)
        indent = KEY + 6 if keyed else 0
        marks.append(
            _label(list(placed.lines), left + indent, middle + SIZE * 0.36, placed.label.colour)
        )
    return marks


def _key(pen: Pen, x: float, y: float, theme: Theme) -> list[Spec]:
    """A piece of a curve, or one of its points, in a small box; `y` is its middle."""
    box = {"x": x, "y": y - 6.5, "width": KEY, "height": 13, "cornerRadius": 3}
    edge = theme.box if theme is PAPER else theme.grid
    frame = mark("rect", {**box, "fill": theme.box, "stroke": edge, "strokeWidth": 1})
    sign = mark(
        "symbol", {"x": x + KEY / 2, "y": y, "size": 34, "fill": pen.colour, "shape": pen.shape}
    )
    if pen.points:
        return [frame, sign]
    line = {"x": x + 2, "x2": x + KEY - 2, "y": y, "stroke": pen.colour, "strokeWidth": pen.width}
    rule = mark("rule", {**line, "strokeDash": {"value": pen.dash}})
    return [frame, rule, sign] if pen.marked else [frame, rule]


def _label(lines: list[str], x: float, y: float, colour: str) -> Spec:
    label = text(lines, x, y, colour, size=SIZE, bold=True)
    label["encode"]["enter"]["lineHeight"] = {"value": LEADING}
    return label
