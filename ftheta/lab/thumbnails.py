"""The small picture of a theorem: its first chart without letters and axes."""

import re
from typing import Any

from ftheta.logic import Chart, Result
from ftheta.report.charts.theme import dark_colours
from ftheta.report.render import svg
from ftheta.report.vega import vega

WIDTH = 240
HEIGHT = 140
_MARGIN = 8
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")


def thumbnail(result: Result) -> str:
    """The picture as SVG, transparent; an empty one where the theorem draws nothing."""
    if not result.charts:
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}"></svg>'
    return svg(_small(result.charts[0]))


def _small(chart: Chart) -> dict[str, Any]:
    """The inner rectangle of the chart: it is drawn so much larger that its margins can be cut away."""
    first = vega(chart, width=2 * WIDTH, height=2 * HEIGHT, title=False)
    edges = first["padding"]
    if not edges:  # a drawing without axes
        return _bare(vega(chart, width=WIDTH, height=HEIGHT, title=False))
    width = WIDTH - 2 * _MARGIN + edges["left"] + edges["right"]
    height = HEIGHT - 2 * _MARGIN + edges["top"] + edges["bottom"]
    return {
        **_bare(vega(chart, width=width, height=height, title=False)),
        "padding": _MARGIN,
        "axes": [],
    }


def _bare(spec: dict[str, Any]) -> dict[str, Any]:
    """Without a background, letters, and what stands beside the picture: the bar of the colours."""
    inside = [
        m for m in _wordless(spec["marks"]) if m["type"] != "group" or _left(m) < spec["width"]
    ]
    return {
        **spec,
        "background": None,
        "marks": inside,
        "signals": _midway(spec.get("signals", [])),
    }


def _midway(signals: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A chart that moves is met in the middle of its course, where there is most to see."""
    return [{**signal, "value": signal["value"] // 2} for signal in signals]


def _left(mark: dict[str, Any]) -> float:
    place = mark["encode"]["enter"]["x"]
    return place.get("value", 0.0) if isinstance(place, dict) else 0.0


def _wordless(marks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The marks without letters and the lines that lead to them."""
    kept = [mark for mark in marks if mark["type"] not in ("text", "rule")]
    return [
        {**mark, "marks": _wordless(mark["marks"])} if "marks" in mark else mark for mark in kept
    ]


def in_the_dark(picture: str) -> str:
    """The picture in the colours of the dark theme."""
    swaps = dark_colours()
    return _COLOUR.sub(lambda found: swaps.get(found[0], found[0]), picture)
