"""A scatter, coloured by group."""

from ftheta.logic.chart import Points

from .frame import Canvas, Spec, draw_frame, empty, mark, specification
from .legend import legend_height, legend_marks, legend_rows
from .scales import make_scale
from .theme import SHAPES
from .thinning import space_out

_MOST_GROUPS = 16


def points(chart: Points, canvas: Canvas) -> Spec:
    """The Vega specification of a scatter."""
    x = make_scale(chart.x, chart.xs)
    y = make_scale(chart.y, chart.ys)
    if x is None or y is None:
        return empty(chart.title, canvas, "no finite values to draw")
    groups = chart.groups if len(chart.groups) == len(chart.xs) else ("",) * len(chart.xs)
    rows = [(a, b, g) for a, b, g in zip(chart.xs, chart.ys, groups) if x.keeps(a) and y.keeps(b)]
    if not rows:
        return empty(chart.title, canvas, "no finite values to draw")
    x = x.roomy()
    y = y.roomy()
    names = list(dict.fromkeys(g for _, _, g in rows))
    shown = names[:_MOST_GROUPS] + (
        [f"and {len(names) - _MOST_GROUPS} more"] if len(names) > _MOST_GROUPS else []
    )
    legend = legend_rows(shown, canvas) if len(names) > 1 or names[0] else []
    frame = draw_frame(chart.title, x, y, canvas, below=legend_height(legend))
    theme = canvas.theme
    colours = theme.point_colours
    placed = [(*frame.at(a, b), g) for a, b, g in rows]
    kept = [placed[i] for i in space_out(placed)]
    size = 40 if len(kept) < 300 else 18 if len(kept) < 2000 else 9
    shapes = SHAPES if canvas.printed else ("circle",)
    marks = [
        _group(
            [p for p in kept if p[2] == n],
            colours[i % len(colours)],
            shapes[i % len(shapes)],
            size,
            i,
        )
        for i, n in enumerate(names)
    ]
    start = frame.height + frame.bottom - legend_height(legend) - 4
    entries = legend_marks(
        legend, colours, start, theme.ink, [shapes[i % len(shapes)] for i in range(len(shown))]
    )
    data = [m.pop("values") for m in marks]
    return specification(frame, chart.title, [*marks, *entries], data=data)


def _group(
    rows: list[tuple[float, float, str]], colour: str, shape: str, size: int, index: int
) -> Spec:
    dot = {
        "x": {"field": "x"},
        "y": {"field": "y"},
        "size": size,
        "fill": colour,
        "fillOpacity": 0.75,
        "shape": shape,
    }
    name = f"group{index}"
    values = {"name": name, "values": [{"x": round(x, 2), "y": round(y, 2)} for x, y, _ in rows]}
    return {**mark("symbol", dot, data=name), "values": values}
