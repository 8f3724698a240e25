"""The chart of a run: small panels of SVG, written by hand because a page is written every few seconds of training.

A renderer of charts takes longer for one picture than watching may take in a minute.
"""

from collections.abc import Mapping, Sequence
from html import escape
from math import isfinite, log10
from typing import TypeAlias

from .observation import Observation

Points: TypeAlias = list[tuple[float, float]]
WIDTH = 440
HEIGHT = 210
LEFT = 56
RIGHT = 12
TOP = 30
BOTTOM = 26
MOST_POINTS = 800
MOST_LINES = 12
COLOURS = ("#1d4ed8", "#b45309", "#15803d", "#7c3aed", "#be123c", "#0e7490")
STYLE = (
    "body{font:15px/1.5 system-ui,sans-serif;margin:24px;color:#111}"
    "figure{display:inline-block;vertical-align:top;margin:0 12px 12px 0;max-width:440px}"
    "svg{max-width:100%;height:auto}"
    "figcaption{font-size:12px;padding-left:56px}h1{font-size:20px}li{color:#b91c1c}"
)


def draw_page(title: str, seen: Sequence[Observation]) -> str:
    """One HTML file without a script that loads itself again every few seconds."""
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta http-equiv=refresh content=3>"
        f"<meta name=viewport content='width=device-width'><title>{escape(title)}</title><style>{STYLE}</style>"
        f"<h1>{escape(title)}</h1>{draw_panels(seen)}</html>"
    )


def draw_panels(seen: Sequence[Observation]) -> str:
    """Where the run is, what there is to say of it, and its four panels."""
    if not seen:
        return "<p>Nothing has been observed yet.</p>"
    last = seen[-1]
    now = f"Step {last.step:,}, {last.seconds:.0f} s; watching took {100 * last.cost:.1f} % of the training."
    notes = "".join(f"<li>{escape(note)}</li>" for note in last.notes)
    panels = (
        ("loss", {"loss": _curve(seen, [o.loss for o in seen])}, False),
        ("share of dead units on the batch", _curves(seen, "dead"), False),
        ("norm of the gradient of each array", _curves(seen, "gradients"), True),
        ("sharpness, and the limit of stability (dashed)", _sharpness(seen), False),
    )
    return f"<p>{now}</p><ul>{notes}</ul>" + "".join(_draw_panel(*panel) for panel in panels)


def _curves(seen: Sequence[Observation], field: str) -> dict[str, Points]:
    """One curve per name in a mapping of the observations: the first few of many."""
    names = list(dict.fromkeys(name for o in seen for name in getattr(o, field)))
    step = max(1, -(-len(names) // MOST_LINES))
    return {
        name: _curve(seen, [getattr(o, field).get(name) for o in seen]) for name in names[::step]
    }


def _sharpness(seen: Sequence[Observation]) -> dict[str, Points]:
    found = {
        "sharpness": _curve(seen, [o.sharpness for o in seen]),
        "limit": _curve(seen, [o.limit for o in seen]),
    }
    return found if found["sharpness"] else {}


def _curve(seen: Sequence[Observation], values: Sequence[float | None]) -> Points:
    found = [
        (float(o.step), float(y)) for o, y in zip(seen, values) if y is not None and isfinite(y)
    ]
    return found[:: max(1, len(found) // MOST_POINTS)]


def _draw_panel(title: str, curves: Mapping[str, Points], log: bool) -> str:
    """One chart; on a logarithmic scale zero has no place."""
    shown = {
        name: [(x, y) for x, y in points if y > 0 or not log] for name, points in curves.items()
    }
    points = [point for curve in shown.values() for point in curve]
    if not points:
        return ""
    scale = log10 if log else float
    heights = [scale(y) for _, y in points]
    low = min(heights)
    high = max(heights)
    if high - low < 1e-12 * max(1.0, abs(high)):
        low, high = low - 0.5, high + 0.5
    right = max(x for x, _ in points) or 1.0
    place_x = lambda x: LEFT + (WIDTH - LEFT - RIGHT) * x / right
    place_y = lambda y: TOP + (HEIGHT - TOP - BOTTOM) * (high - scale(y)) / (high - low)
    parts = [_frame(title, low, high, right, log)]
    for k, (name, curve) in enumerate(shown.items()):
        path = " ".join(f"{place_x(x):.1f},{place_y(y):.1f}" for x, y in curve)
        dashes = " stroke-dasharray='5 4'" if name == "limit" else ""
        colour = COLOURS[k % len(COLOURS)]
        parts.append(
            f"<polyline points='{path}' fill=none stroke='{colour}' stroke-width=1.6{dashes}>"
            f"<title>{escape(name)}</title></polyline>"
        )
        if len(curve) == 1:
            x, y = curve[0]
            parts.append(f"<circle cx={place_x(x):.1f} cy={place_y(y):.1f} r=3 fill='{colour}'/>")
    names = "".join(_name_curve(name, k) for k, name in enumerate(shown)) if len(shown) > 1 else ""
    chart = f"<svg viewBox='0 0 {WIDTH} {HEIGHT}' width={WIDTH} role=img>{''.join(parts)}</svg>"
    return f"<figure>{chart}<figcaption>{names}</figcaption></figure>"


def _name_curve(name: str, k: int) -> str:
    return f"<span style='color:{COLOURS[k % len(COLOURS)]}'>&#9632;&nbsp;{escape(name)}</span> "


def _frame(title: str, low: float, high: float, right: float, log: bool) -> str:
    text = "font-size=11 fill='#4b5a70'"
    show = (lambda y: f"{10**y:.1e}") if log else (lambda y: f"{y:.3g}")
    bottom = HEIGHT - BOTTOM
    return (
        f"<text x={LEFT} y=16 font-size=13 font-weight=600>{escape(title)}</text>"
        f"<path d='M{LEFT},{TOP} V{bottom} H{WIDTH - RIGHT}' fill=none stroke='#9aa5b5'/>"
        f"<text x={LEFT - 6} y={TOP + 8} text-anchor=end {text}>{show(high)}</text>"
        f"<text x={LEFT - 6} y={bottom} text-anchor=end {text}>{show(low)}</text>"
        f"<text x={LEFT} y={HEIGHT - 8} {text}>step 0</text>"
        f"<text x={WIDTH - RIGHT} y={HEIGHT - 8} text-anchor=end {text}>{right:,.0f}</text>"
    )
