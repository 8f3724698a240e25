"""The frame that charts with two axes share: margins, scales, axes, title; and the pieces Vega is made of."""

from dataclasses import dataclass, replace
from math import inf
from typing import Any

from ..letters import letters
from .measure import text_width, wrap
from .scales import Scaled, Tick
from .theme import FONT, PAPER, Theme

Spec = dict[str, Any]
SCHEMA = "https://vega.github.io/schema/vega/v6.json"
# letter sizes: tick labels, axis labels, the title
TICK = 11
LETTER = 12
HEADING = 13


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a chart is drawn on: its whole size in pixels, its colours, and whether its title is drawn. One that `grows`
    becomes higher by what stands below the drawing."""

    width: float
    height: float
    theme: Theme
    titled: bool = True
    grows: bool = False

    @property
    def printed(self) -> bool:
        """Whether it is for paper: narrow, and told apart without colours."""
        return self.theme is PAPER


@dataclass(frozen=True, slots=True)
class Frame:
    """The inner rectangle of a chart with its two axes; margins are left around it for what is written there."""

    canvas: Canvas
    x: Scaled
    y: Scaled
    left: float
    right: float
    top: float
    bottom: float
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]

    @property
    def width(self) -> float:
        return max(40.0, self.canvas.width - self.left - self.right)

    @property
    def height(self) -> float:
        return max(40.0, self.canvas.height - self.top - self.bottom)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """A point in pixels of the inner rectangle."""
        return self.x.fraction(x) * self.width, (1 - self.y.fraction(y)) * self.height


def heading(title: str, canvas: Canvas) -> list[str]:
    """The lines of the title."""
    return (
        wrap(letters(title), HEADING, canvas.width - 20, bold=True, most=2)
        if canvas.titled and title.strip()
        else []
    )


def draw_frame(
    title: str, x: Scaled, y: Scaled, canvas: Canvas, *, right: float = 0.0, below: float = 0.0
) -> Frame:
    """The frame with margins that hold the ticks, the axis labels, the title, and `right` and `below` more."""
    lines = heading(title, canvas)
    if canvas.grows:
        canvas = replace(canvas, height=canvas.height + below)
    top = 14.0 + (18 * len(lines) + 6 if lines else 0)
    bottom = 28.0 + _label_room(x.axis.label, canvas.width - 110, canvas) + below
    inner = canvas.height - top - bottom
    y_ticks = y.ticks(max(2, int(inner / 44)))
    beside = _label_room(y.axis.label, inner, canvas)
    left = 18 + max((text_width(t.label, TICK) for t in y_ticks), default=0.0) + beside
    x_ticks = sparse(x, canvas.width - left - right)
    last = text_width(x_ticks[-1].label, TICK) / 2 if x_ticks else 0.0
    return Frame(canvas, x, y, left, max(right, last + 6), top, bottom, x_ticks, y_ticks)


def _label_room(label: str, room: float, canvas: Canvas) -> float:
    """What the label of an axis takes: nothing, or its lines."""
    return 6.0 + 16 * len(_label_lines(label, room, canvas)) if label else 0.0


def _label_lines(label: str, room: float, canvas: Canvas) -> list[str]:
    """The label of an axis; on paper, where axes are short, in as many lines as it needs, up to three."""
    return wrap(letters(label), LETTER, room, most=3 if canvas.printed else 1)


def sparse(axis: Scaled, pixels: float) -> tuple[Tick, ...]:
    """As many ticks as fit beside one another."""
    for most in (12, 10, 8, 6, 5, 4, 3, 2):
        ticks = axis.ticks(most)
        places = [axis.fraction(t.value) * pixels for t in ticks]
        halves = [text_width(t.label, TICK) / 2 + 7 for t in ticks]
        if all(b - a >= p + q for a, b, p, q in zip(places, places[1:], halves, halves[1:])):
            return ticks
    return axis.ticks(2)[:1]


def even_out(frame: Frame, most: float = inf) -> Frame:
    """The frame, smaller, with a unit as long on both axes: where both are linear and neither is `most` times as long
    as the other."""
    x = frame.x
    y = frame.y
    shape = (x.hi - x.lo) / (y.hi - y.lo)
    if not (x.axis.scale == y.axis.scale == "linear" and 1 / most < shape < most):
        return frame
    width = min(frame.width, frame.height * shape)
    height = width / shape
    spare = (frame.width - width) / 2
    low = (frame.height - height) / 2
    margins = {"left": frame.left + spare, "right": frame.right + spare, "top": frame.top + low}
    ticks = {"x_ticks": sparse(x, width), "y_ticks": y.ticks(max(2, int(height / 44)))}
    return replace(frame, **margins, bottom=frame.bottom + low, **ticks)


def specification(
    frame: Frame,
    title: str,
    marks: list[Spec],
    *,
    data: list[Spec] | None = None,
    grid: bool = True,
) -> Spec:
    """The Vega specification of a framed chart."""
    return {
        **_outer(title, frame.canvas),
        "width": frame.width,
        "height": frame.height,
        "padding": {
            "left": frame.left,
            "right": frame.right,
            "top": frame.top,
            "bottom": frame.bottom,
        },
        "scales": [frame.x.vega("x", (0, frame.width)), frame.y.vega("y", (frame.height, 0))],
        "axes": _axes(frame, grid),
        "data": data or [],
        "marks": [*_title(title, frame), *marks],
    }


def bare(title: str, canvas: Canvas, marks: list[Spec], *, data: list[Spec] | None = None) -> Spec:
    """The specification of a drawing without axes, in pixels of the whole canvas."""
    lines = heading(title, canvas)
    titled = [text(lines, 10, 20, canvas.theme.ink, size=HEADING, bold=True)] if lines else []
    return {
        **_outer(title, canvas),
        "width": canvas.width,
        "height": canvas.height,
        "padding": 0,
        "data": data or [],
        "marks": [*titled, *marks],
    }


def empty(title: str, canvas: Canvas, reason: str = "no data to draw") -> Spec:
    """A chart that says why it is empty."""
    middle = text(
        [reason],
        canvas.width / 2,
        canvas.height / 2,
        canvas.theme.muted,
        size=LETTER,
        align="center",
    )
    return bare(title, canvas, [middle])


def _outer(title: str, canvas: Canvas) -> Spec:
    return {
        "$schema": SCHEMA,
        "description": title,
        "autosize": "none",
        "background": canvas.theme.background,
        "config": {"text": {"font": FONT}, "axis": {"labelFont": FONT, "titleFont": FONT}},
    }


def _title(title: str, frame: Frame) -> list[Spec]:
    lines = heading(title, frame.canvas)
    if not lines:
        return []
    return [
        text(
            lines, 10 - frame.left, 20 - frame.top, frame.canvas.theme.ink, size=HEADING, bold=True
        )
    ]


def _axes(frame: Frame, grid: bool) -> list[Spec]:
    theme = frame.canvas.theme
    x = _axis(
        "x",
        "bottom",
        frame.x_ticks,
        _label_lines(frame.x.axis.label, frame.width, frame.canvas),
        theme,
    )
    y = _axis(
        "y",
        "left",
        frame.y_ticks,
        _label_lines(frame.y.axis.label, frame.height, frame.canvas),
        theme,
    )
    minor = [
        _bare_axis(scale, orient, axis.minor(), theme)
        for scale, orient, axis in (("x", "bottom", frame.x), ("y", "left", frame.y))
        if axis.minor()
    ]
    if not grid:
        return [*minor, x, y]
    lines = {
        "grid": True,
        "gridColor": theme.grid,
        "domain": False,
        "ticks": False,
        "labels": False,
        "zindex": 0,
    }
    grids = [
        {"scale": "y", "orient": "left", "values": [t.value for t in frame.y_ticks], **lines},
        {"scale": "x", "orient": "bottom", "values": [t.value for t in frame.x_ticks], **lines},
    ]
    return [*grids, *minor, x, y]


def _axis(scale: str, orient: str, ticks: tuple[Tick, ...], label: list[str], theme: Theme) -> Spec:
    words = label if len(label) > 1 else label[0]
    labels = [t.label for t in ticks] or [""]
    chosen = {"signal": f"{_literal(labels)}[round(datum.index * {max(len(labels) - 1, 1)})]"}
    return {
        "scale": scale,
        "orient": orient,
        "values": [t.value for t in ticks],
        "encode": {"labels": {"update": {"text": chosen}}},
        "labelOverlap": False,
        "labelBound": False,
        "labelLimit": 0,
        "labelFontSize": TICK,
        "labelColor": theme.muted,
        "domainColor": theme.rule,
        "tickColor": theme.rule,
        "tickSize": 4,
        "title": words or None,
        "titleFontSize": LETTER,
        "titleFontWeight": "normal",
        "titleColor": theme.ink,
        "titlePadding": 9,
        "titleLimit": 0,
        "zindex": 1,
    }


def _bare_axis(scale: str, orient: str, values: tuple[float, ...], theme: Theme) -> Spec:
    hidden = {"domain": False, "labels": False, "tickSize": 2.5, "tickColor": theme.rule}
    return {"scale": scale, "orient": orient, "values": list(values), **hidden}


def _literal(words: list[str]) -> str:
    """A list of words in Vega's expression language."""
    quoted = (w.replace("\\", "\\\\").replace("'", "\\'") for w in words)
    return "[" + ",".join(f"'{w}'" for w in quoted) + "]"


# -- marks ------------------------------------------------------------------------------------------


def mark(kind: str, encode: Spec, *, data: str | None = None) -> Spec:
    """A Vega mark; plain values are wrapped as Vega wants them."""
    entered = {
        key: value if isinstance(value, (dict, list)) else {"value": value}
        for key, value in encode.items()
    }
    source = {} if data is None else {"from": {"data": data}}
    return {"type": kind, **source, "encode": {"enter": entered}}


def text(
    lines: list[str],
    x: float,
    y: float,
    colour: str,
    *,
    size: float = LETTER,
    bold: bool = False,
    align: str = "left",
) -> Spec:
    """Lines of text; `y` is the baseline of the first, or with `align` the middle of one line."""
    return mark(
        "text",
        {
            "text": {"value": lines if len(lines) > 1 else lines[0] if lines else ""},
            "x": x,
            "y": y,
            "fill": colour,
            "font": FONT,
            "fontSize": size,
            "fontWeight": "bold" if bold else "normal",
            "lineHeight": size + 4,
            "align": align,
            "baseline": "alphabetic",
        },
    )


def field(name: str, scale: str | None = None) -> Spec:
    """A column of the data, through a scale if one is named."""
    return {"field": name} if scale is None else {"field": name, "scale": scale}
