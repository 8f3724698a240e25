r"""Charts as PGFPlots source: curves, bars, points and histograms, to be put into a paper that loads `pgfplots`."""

from collections.abc import Iterable, Iterator, Sequence
from math import isfinite

from ftheta.logic import UsageError
from ftheta.logic.chart import Axis, Bars, Chart, Curves, Histogram, Points, Series

from .charts.bars import natural_height
from .charts.curves import pens
from .charts.frame import LETTER
from .charts.labels import Pen
from .charts.scales import make_scale
from .charts.theme import PAPER, PAPER_FILLS, SHAPES
from .charts.thinning import MOST, keep_extremes, space_out
from .letters import letters
from .paper import COLUMN, PER_INCH
from .tex import AMS, words_to_tex

_RATIO = 0.62  # of the height to the width
_MARKS = {
    "circle": "*",
    "square": "square*",
    "triangle-up": "triangle*",
    "diamond": "diamond*",
    "cross": "+",
    "triangle-down": "triangle*, mark options={rotate=180}",
    "triangle-right": "triangle*, mark options={rotate=270}",
    "triangle-left": "triangle*, mark options={rotate=90}",
}
_STYLE = (
    r"label style={font=\fontsize{8}{9.6}\selectfont}",
    r"tick label style={font=\fontsize{7}{8.4}\selectfont}",
    r"legend style={font=\fontsize{7}{8.4}\selectfont, draw=none, fill=none, at={(0.5,-0.3)}, anchor=north}",
    "legend cell align=left",
    "grid=major",
    "grid style={black!10}",
    "unbounded coords=jump",
)


def pgfplots(chart: Chart, width: float = COLUMN, height: float | None = None) -> str:
    r"""The chart as a `tikzpicture`, `width` × `height` inches without its legend, which stands below."""
    match chart:
        case Curves():
            plots = list(_curve_plots(chart.series, chart.x, chart.y))
            options = [*_axis("x", chart.x, chart), *_axis("y", chart.y, chart)]
        case Points():
            plots = list(_group_plots(chart))
            options = [*_axis("x", chart.x, chart), *_axis("y", chart.y, chart)]
        case Histogram():
            plots = [_histogram_plot(chart), *_curve_plots(chart.curves, chart.x, chart.y)]
            options = [*_axis("x", chart.x, chart), *_axis("y", chart.y, chart), "ymin=0"]
        case Bars():
            plots = list(_bar_plots(chart))
            options = [*_axis("x", chart.x, chart), *_categories(chart)]
            height = height or natural_height(chart) / PER_INCH
        case _:
            raise _refuse(chart, f"a chart of the kind {chart.kind!r}")
    size = [f"width={width:g}in", f"height={height or _RATIO * width:.4g}in"]
    return _picture(chart, [*size, *options, *_STYLE], plots)


def _refuse(chart: Chart, got: str) -> UsageError:
    remedy = "draw it as .pdf, .svg or .png, or take its data as .csv"
    return UsageError(
        "PGFPlots has no such drawing.", where=letters(chart.title), got=got, remedy=remedy
    )


def _picture(chart: Chart, options: Sequence[str], plots: Sequence[str]) -> str:
    colours = (*PAPER.measured, *PAPER.bounds, PAPER.reference, *PAPER_FILLS)
    source = "".join([*options, *plots])
    used = [c for c in dict.fromkeys(colours) if _name(c) in source]
    packages = (
        "amsmath,amssymb,pgfplots" if any(command in source for command in AMS) else "pgfplots"
    )
    lines = [
        f"% {_ascii(letters(chart.title))}",
        rf"% \usepackage{{{packages}}} \pgfplotsset{{compat=1.18}}",
        r"\begin{tikzpicture}",
        *(rf"\definecolor{{{_name(c)}}}{{HTML}}{{{c[1:].upper()}}}" for c in used),
        r"\begin{axis}[",
        *(f"  {option}," for option in options),
        "]",
        *plots,
        r"\end{axis}",
        r"\end{tikzpicture}",
    ]
    return "\n".join(lines) + "\n"


def _ascii(text: str) -> str:
    return text.encode("ascii", "replace").decode()


def _name(colour: str) -> str:
    return f"ftheta{colour[1:].upper()}"


def _axis(name: str, axis: Axis, chart: Chart) -> list[str]:
    if axis.scale == "symlog":
        raise _refuse(chart, "a symmetric logarithmic axis")
    options = [f"{name}label={{{words_to_tex(axis.label)}}}"] if axis.label else []
    if axis.scale == "log":
        options.append(f"{name}mode=log")
    if axis.years:
        options.append(f"{name} tick label style={{/pgf/number format/1000 sep={{}}}}")
    return options


# -- curves -----------------------------------------------------------------------------------------------------------


def _curve_plots(series: Sequence[Series], x: Axis, y: Axis) -> Iterator[str]:
    for s, pen in zip(series, pens(series, PAPER)):
        kept = _kept(s, x)
        if len(s.lo) == len(s.hi) == len(s.x):
            yield _band(s, kept, pen, x, y)
        coordinates = _coordinates([(s.x[i], s.y[i]) for i in kept], x, y)
        yield f"\\addplot[{', '.join(_look(s, pen, len(kept)))}] coordinates {{{coordinates}}};"
        yield rf"\addlegendentry{{{words_to_tex(s.name)}}}"


def _look(series: Series, pen: Pen, count: int) -> Iterator[str]:
    yield f"color={_name(pen.colour)}"
    if pen.points:
        yield f"only marks, mark size=1.5pt, mark={_MARKS[pen.shape]}"
        return
    yield f"line width={pen.width * 8 / LETTER:.3g}pt"
    if pen.dash:
        steps = (
            f"{'off' if i % 2 else 'on'} {length * 8 / LETTER:.2g}pt"
            for i, length in enumerate(pen.dash)
        )
        yield f"dash pattern={' '.join(steps)}"
    if series.mark == "step":
        yield "const plot"
    yield (
        f"mark repeat={max(1, count // 8)}, mark={_MARKS[pen.shape]}" if pen.marked else "mark=none"
    )


def _kept(series: Series, x: Axis) -> Sequence[int]:
    """The points to write: TeX has little memory, so those that a reader would not miss are left out."""
    scale = make_scale(x, series.x)
    if len(series.x) <= MOST or scale is None:
        return range(len(series.x))
    if series.mark == "points":
        return space_out([(500 * scale.fraction(a), b, "") for a, b in zip(series.x, series.y)])
    return keep_extremes(series.x, series.y, scale.fraction)


def _band(series: Series, kept: Sequence[int], pen: Pen, x: Axis, y: Axis) -> str:
    there = [(series.x[i], series.lo[i]) for i in kept]
    back = [(series.x[i], series.hi[i]) for i in reversed(kept)]
    inside = [point for point in (*there, *back) if _fits(point[0], x) and _fits(point[1], y)]
    look = f"draw=none, fill={_name(pen.colour)}, fill opacity=0.16, mark=none, forget plot"
    return f"\\addplot[{look}] coordinates {{{_coordinates(inside, x, y)}}} -- cycle;"


def _coordinates(points: Iterable[tuple[float, float]], x: Axis, y: Axis) -> str:
    """The points as PGFPlots reads them; what an axis has no place for is a gap."""
    return " ".join(f"({_number(a, x)},{_number(b, y)})" for a, b in points)


def _number(value: float, axis: Axis) -> str:
    return f"{value:.7g}" if _fits(value, axis) else "nan"


def _fits(value: float, axis: Axis) -> bool:
    return isfinite(value) and (value > 0 or axis.scale != "log")


# -- points, histograms, bars -----------------------------------------------------------------------------------------


def _group_plots(chart: Points) -> Iterator[str]:
    groups = chart.groups if len(chart.groups) == len(chart.xs) else ("",) * len(chart.xs)
    x = make_scale(chart.x, chart.xs)
    y = make_scale(chart.y, chart.ys)
    if x is None or y is None:
        return
    rows = [(a, b, g) for a, b, g in zip(chart.xs, chart.ys, groups) if x.keeps(a) and y.keeps(b)]
    kept = [
        rows[i]
        for i in space_out(
            [(500 * x.fraction(a), 500 * y.fraction(b), g) for a, b, g in rows], MOST
        )
    ]
    for k, name in enumerate(dict.fromkeys(groups)):
        colour = _name(PAPER.point_colours[k % len(PAPER.point_colours)])
        look = (
            f"only marks, mark size=1.2pt, color={colour}, mark={_MARKS[SHAPES[k % len(SHAPES)]]}"
        )
        coordinates = _coordinates([(a, b) for a, b, g in kept if g == name], chart.x, chart.y)
        yield f"\\addplot[{look}] coordinates {{{coordinates}}};"
        if name:
            yield rf"\addlegendentry{{{words_to_tex(name)}}}"


def _histogram_plot(chart: Histogram) -> str:
    heights = [h if isfinite(h) else 0.0 for h in chart.heights]
    ends = list(zip(chart.edges, [*heights, *heights[-1:]]))  # the last edge closes the last bar
    look = f"ybar interval, fill={_name(PAPER.measured[0])}, fill opacity=0.45, draw=white, forget plot"
    return f"\\addplot[{look}] coordinates {{{_coordinates(ends, chart.x, chart.y)}}};"


def _categories(chart: Bars) -> list[str]:
    count = len(chart.categories)
    names = ",".join(f"{{{words_to_tex(c)}}}" for c in chart.categories)
    ticks = [f"ytick={{{','.join(str(i + 1) for i in range(count))}}}", f"yticklabels={{{names}}}"]
    log = ["log origin=infty"] if chart.x.scale == "log" else []
    return [
        "xbar",
        "bar width=4pt",
        "y dir=reverse",
        "ymin=0.5",
        f"ymax={count + 0.5}",
        *ticks,
        *log,
    ]


def _bar_plots(chart: Bars) -> Iterator[str]:
    for k, (name, values) in enumerate(zip(chart.groups, chart.values)):
        fill = _name(PAPER_FILLS[k % len(PAPER_FILLS)])
        coordinates = _coordinates([(v, i + 1.0) for i, v in enumerate(values)], chart.x, Axis())
        yield f"\\addplot[fill={fill}, draw=black, line width=0.3pt] coordinates {{{coordinates}}};"
        if len(chart.groups) > 1:
            yield rf"\addlegendentry{{{words_to_tex(name)}}}"
