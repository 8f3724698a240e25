"""Charts in words, for those who cannot see them: what is drawn, and the numbers that one would read off."""

from collections.abc import Iterable, Sequence
from itertools import chain
from math import isfinite

from ftheta.logic.chart import (
    Bars,
    Chart,
    Curves,
    Dag,
    Diagram,
    Heatmap,
    Histogram,
    Motion,
    Points,
    Regions,
    Series,
)

from .letters import letters
from .numbers import number

_MOST = 12  # things of one kind that are told
_DIGITS = 3


def describe_chart(chart: Chart) -> str:
    """The title of a chart and a summary of its data, in one sentence."""
    return f"{letters(chart.title)}: {'; '.join(filter(None, _tell(chart)))}"


def _tell(chart: Chart) -> Iterable[str]:
    match chart:
        case Curves(x=x, y=y, series=series):
            return [f"{letters(y.label)} against {letters(x.label)}", *_told(map(_series, series))]
        case Bars(groups=groups, categories=categories, values=values):
            return _told(
                f"{letters(group)}: {', '.join(_told(_bars(categories, row)))}"
                for group, row in zip(groups, values)
            )
        case Heatmap(label=label, values=values):
            what = letters(label) or "values"
            return [f"{what} {_range(chain.from_iterable(values))}", *_axes(chart)]
        case Histogram(edges=edges, heights=heights, curves=curves):
            return [*_histogram(edges, heights), *_told(map(_series, curves))]
        case Points(xs=xs, groups=groups):
            return [
                f"{len(xs):,} points",
                *_told(map(letters, dict.fromkeys(groups))),
                *_axes(chart),
            ]
        case Motion(times=times, groups=groups):
            moments = f"points that move, {len(times)} moments"
            return [moments, *_told(map(letters, dict.fromkeys(groups))), *_axes(chart)]
        case Regions():
            return _regions(chart)
        case Diagram(layers=layers):
            return [", ".join(_told(f"{layer.name} {layer.units:,}" for layer in layers))]
        case Dag(vertices=vertices, edges=edges):
            return [f"graph of {len(vertices)} nodes and {len(edges)} edges"]
    return []


def _told(items: Iterable[str]) -> list[str]:
    """The first of many things, and how many more there are."""
    known = list(items)
    return known if len(known) <= _MOST else [*known[:_MOST], f"and {len(known) - _MOST} more"]


def _series(series: Series) -> str:
    """Where a curve begins and ends, and what lies between; of points how many there are."""
    drawn = [(x, y) for x, y in zip(series.x, series.y) if isfinite(x) and isfinite(y)]
    name = letters(series.name)
    if not drawn:
        return f"{name}: nothing that can be drawn"
    values = _range(y for _, y in drawn)
    if series.mark == "points":
        return f"{name}: {len(drawn):,} points, {values}"
    (x0, first), (x1, last) = drawn[0], drawn[-1]
    return f"{name}: {_write(first)} at {_write(x0)}, {_write(last)} at {_write(x1)}, {values}"


def _bars(categories: Sequence[str], row: Sequence[float]) -> Iterable[str]:
    return (f"{letters(category)} {_write(value)}" for category, value in zip(categories, row))


def _histogram(edges: Sequence[float], heights: Sequence[float]) -> Iterable[str]:
    """How many bars, from where to where, and the highest."""
    if not heights:
        return []
    highest = max(range(len(heights)), key=heights.__getitem__)
    mode = f"highest, {_write(heights[highest])}, from {_write(edges[highest])} to {_write(edges[highest + 1])}"
    return [f"{len(heights)} bars from {_write(edges[0])} to {_write(edges[-1])}", mode]


def _regions(chart: Regions) -> Iterable[str]:
    of = f" of {', '.join(chart.classes[:_MOST])}" if chart.classes else ""
    wrong = sum(p[2] >= 0 and p[2] != p[3] for p in chart.points)
    among = (
        f"{len(chart.points):,} rows of data, {wrong:,} of them given another class"
        if chart.points
        else ""
    )
    means = f"{letters(chart.label)} {_range(chart.values)}" if chart.label and chart.values else ""
    return [f"{len(chart.polygons):,} regions{of}", means, among]


def _axes(chart: Heatmap | Points | Motion) -> Iterable[str]:
    """What both axes span."""
    match chart:
        case Heatmap(extent=(x0, x1, y0, y1)):
            across, up = (x0, x1), (y0, y1)
        case Points(xs=xs, ys=ys):
            across, up = xs, ys
        case Motion(xs=rows, ys=columns):
            across, up = chain.from_iterable(rows), chain.from_iterable(columns)
    return [
        f"{letters(chart.x.label) or 'x'} {_range(across)}",
        f"{letters(chart.y.label) or 'y'} {_range(up)}",
    ]


def _range(values: Iterable[float]) -> str:
    kept = [v for v in values if isfinite(v)]
    if not kept:
        return "without a finite value"
    least, most = min(kept), max(kept)
    return (
        f"always {_write(least)}"
        if least == most
        else f"between {_write(least)} and {_write(most)}"
    )


def _write(value: float) -> str:
    return number(value, _DIGITS)
