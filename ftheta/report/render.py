"""Charts as files: SVG, PNG, PDF, HTML, CSV and PGFPlots, drawn offline by vl-convert with the vendored fonts."""

import csv
import io
import re
from collections.abc import Iterator
from functools import cache
from html import escape
from typing import Any, Literal, TypeAlias

from ftheta.logic import UsageError
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
)

from .charts.frame import Spec
from .charts.measure import FONTS
from .charts.theme import ThemeName
from .described import describe_chart
from .letters import letters
from .paper import COLUMN, DOTS_PER_INCH, PER_INCH, resize, set_ticks
from .pgfplots import pgfplots
from .vega import vega

Format: TypeAlias = Literal["svg", "png", "pdf", "html", "csv", "tex"]
_OF_MARKS = re.compile(r' (?:role|aria-[a-z]+)="[^"]*"')
FORMATS: tuple[Format, ...] = ("svg", "png", "pdf", "html", "csv", "tex")


def render(
    chart: Chart,
    format: Format,
    *,
    theme: ThemeName = "light",
    width: float | None = None,
    height: float | None = None,
    title: bool = True,
    scale: float = 2.0,
) -> str | bytes:
    """The chart as text (svg, html, csv, tex) or bytes (png, pdf). `scale` is pixels of a PNG per unit."""
    if format not in FORMATS:
        raise UsageError(
            "Charts have no such format.", got=format, remedy=f"choose one of {', '.join(FORMATS)}"
        )
    if format == "csv":
        return chart_csv(chart)
    if format == "tex":
        return pgfplots(chart)
    spec = vega(chart, theme=theme, width=width, height=height, title=title)
    if format == "html":
        return _page(chart, svg(spec))
    if format == "svg":
        return svg(spec)
    return (
        png(spec, scale)
        if format == "png"
        else _converter().vega_to_pdf(spec, allowed_base_urls=[])
    )


def render_for_paper(
    chart: Chart, format: Format, width: float = COLUMN, height: float | None = None
) -> str | bytes:
    """The chart as a figure of a paper, `width` × `height` inches: labels of 8 points, ticks of 7, no title, told apart
    without colours. Without a height it takes the one that suits it."""
    if format == "csv":
        return chart_csv(chart)
    if format == "tex":
        return pgfplots(chart, width, height)
    pixels = None if height is None else height * PER_INCH
    spec = set_ticks(vega(chart, theme="paper", width=width * PER_INCH, height=pixels, title=False))
    points = 72 / PER_INCH
    if format == "pdf":
        return _converter().svg_to_pdf(resize(svg(spec), points, ""))
    if format == "png":
        return _converter().vega_to_png(spec, scale=points, ppi=DOTS_PER_INCH, allowed_base_urls=[])
    drawn = resize(svg(spec), 1 / PER_INCH, "in")
    return _page(chart, drawn) if format == "html" else drawn


def svg(spec: Spec) -> str:
    """A specification as an SVG document."""
    return _converter().vega_to_svg(spec, allowed_base_urls=[])


def png(spec: Spec, scale: float = 2.0) -> bytes:
    """A specification as a PNG image."""
    return _converter().vega_to_png(spec, scale=scale, ppi=72, allowed_base_urls=[])


def figure(chart: Chart, *, width: float | None = None, height: float | None = None) -> str:
    """The chart as an SVG element to be put into a page: named for screen readers, transparent, without its title.

    It is one image with one description; the roles that Vega gives to its marks would have each of them announced.
    Nothing inside it has an id, so any number of figures may share a page.
    """
    drawn = _OF_MARKS.sub(
        "", svg({**vega(chart, width=width, height=height, title=False), "background": None})
    )
    label = escape(describe_chart(chart), quote=True)
    return drawn.replace("<svg ", f'<svg role="img" aria-label="{label}" ', 1)


def _page(chart: Chart, drawn: str) -> str:
    title = escape(letters(chart.title))
    style = "body{margin:2rem;display:flex;justify-content:center}svg{max-width:100%;height:auto}"
    head = f'<meta charset="utf-8"><title>{title}</title><style>{style}</style>'
    return f'<!DOCTYPE html>\n<html lang="en"><head>{head}</head><body>{drawn}</body></html>\n'


@cache
def _converter() -> Any:
    import vl_convert

    vl_convert.register_font_directory(str(FONTS))
    return vl_convert


# -- data -------------------------------------------------------------------------------------------


def chart_csv(chart: Chart) -> str:
    """The data of the chart, one row for each thing that is drawn."""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(_rows(chart))
    return file.getvalue()


def _rows(chart: Chart) -> Iterator[tuple[Any, ...]]:
    match chart:
        case Curves(series=series):
            yield "series", "x", "y", "lo", "hi"
            for s in series:
                yield from (
                    (s.name, *row) for row in zip(s.x, s.y, _pad(s.lo, s.x), _pad(s.hi, s.x))
                )
        case Bars(categories=categories, groups=groups, values=values):
            yield "category", "group", "value"
            yield from (
                (c, g, v) for g, row in zip(groups, values) for c, v in zip(categories, row)
            )
        case Heatmap():
            yield "x", "y", "value"
            yield from _cells(chart)
        case Histogram(edges=edges, heights=heights, curves=curves):
            yield "series", "from", "to", "height"
            yield from (("histogram", *row) for row in zip(edges, edges[1:], heights))
            yield from ((s.name, x, x, y) for s in curves for x, y in zip(s.x, s.y))
        case Regions(polygons=polygons, values=values, classes=classes) if classes:
            named = lambda c: next((name for k, name in enumerate(classes) if k == c), "")
            yield "kind", "number", "x", "y", "class", "given class"
            for i, (p, v) in enumerate(zip(polygons, values)):
                yield from (("region", i, *corner, named(v), "") for corner in p)
            for i, (x, y, own, given) in enumerate(chart.points):
                yield "row", i, x, y, named(own), named(given)
        case Regions(polygons=polygons, values=values):
            yield "region", "x", "y", "value"
            yield from (
                (i, *corner, v)
                for i, (p, v) in enumerate(zip(polygons, _pad(values, polygons)))
                for corner in p
            )
        case Points(xs=xs, ys=ys, groups=groups):
            yield "x", "y", "group"
            yield from zip(xs, ys, _pad(groups, xs))
        case Motion(times=times, xs=xs, ys=ys, groups=groups):
            yield "time", "point", "x", "y", "group"
            for t, a, b in zip(times, xs, ys):
                yield from ((t, i, *row) for i, row in enumerate(zip(a, b, _pad(groups, a))))
        case Diagram(layers=layers):
            yield "layer", "units", "note"
            yield from ((layer.name, layer.units, layer.note) for layer in layers)
        case Dag(vertices=vertices, edges=edges):
            yield "kind", "id or from", "label or to", "note"
            yield from (("vertex", v.id, v.label, v.note) for v in vertices)
            yield from (("edge", a, b, "") for a, b in edges)


def _pad(values: tuple[Any, ...], like: tuple[Any, ...]) -> tuple[Any, ...]:
    return values if len(values) == len(like) else ("",) * len(like)


def _cells(chart: Heatmap) -> Iterator[tuple[float, float, float]]:
    """The middle of each cell with its value; even in the logarithm on a logarithmic axis."""
    x0, x1, y0, y1 = chart.extent
    for i, row in enumerate(chart.values):
        y = _between(y0, y1, (i + 0.5) / len(chart.values), chart.y.scale)
        yield from (
            (_between(x0, x1, (j + 0.5) / len(row), chart.x.scale), y, v) for j, v in enumerate(row)
        )


def _between(lo: float, hi: float, share: float, scale: str) -> float:
    return (
        lo ** (1 - share) * hi**share
        if scale == "log" and lo > 0 and hi > 0
        else lo + share * (hi - lo)
    )
