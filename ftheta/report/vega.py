"""Charts as Vega specifications: one builder a kind."""

from collections.abc import Callable
from typing import Any

from ftheta.logic.chart import Bars, Chart

from .charts.bars import bars, natural_height
from .charts.curves import curves
from .charts.dag import dag
from .charts.diagram import diagram
from .charts.frame import Canvas, Spec
from .charts.heatmap import heatmap
from .charts.histogram import histogram
from .charts.motion import motion
from .charts.points import points
from .charts.regions import regions
from .charts.theme import THEMES, ThemeName

_BUILDERS: dict[str, Callable[[Any, Canvas], Spec]] = {
    "curves": curves,
    "bars": bars,
    "heatmap": heatmap,
    "histogram": histogram,
    "regions": regions,
    "points": points,
    "motion": motion,
    "diagram": diagram,
    "dag": dag,
}
_SIZES = {
    "curves": (720, 420),
    "heatmap": (600, 480),
    "histogram": (720, 400),
    "regions": (600, 500),
    "points": (640, 460),
    "motion": (640, 520),
    "diagram": (720, 340),
    "dag": (720, 360),
}


def vega(
    chart: Chart,
    *,
    theme: ThemeName = "light",
    width: float | None = None,
    height: float | None = None,
    title: bool = True,
) -> Spec:
    """The complete Vega specification of a chart, `width` × `height` pixels with its margins.

    Without a size a chart takes the one that suits it; a computational graph takes the height it needs in any case.
    `title=False` leaves the title to the page around it. For paper it grows by what stands below the drawing, unless it
    has a height.
    """
    natural = (720, natural_height(chart)) if isinstance(chart, Bars) else _SIZES[chart.kind]
    if theme == "paper" and width and not isinstance(chart, Bars):
        natural = (width, width * natural[1] / natural[0])
    canvas = Canvas(
        width or natural[0],
        height or natural[1],
        THEMES[theme],
        title,
        grows=theme == "paper" and height is None,
    )
    return _BUILDERS[chart.kind](chart, canvas)
