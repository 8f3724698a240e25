"""A point of a chart that can be dragged: how it looks, and what the lab needs to let it be dragged."""

from math import isfinite

from ftheta.logic.chart import Handle

from .frame import Frame, Spec, mark

RIM = "#ffffff"
INK = "#0f172b"


def handle_marks(handle: Handle | None, frame: Frame) -> list[Spec]:
    """A disc with a light rim, to be seen on every colour."""
    if handle is None or not all(map(isfinite, handle.at)):
        return []
    x, y = frame.at(*handle.at)
    look = {"x": round(x, 2), "y": round(y, 2), "shape": "circle", "size": 110, "strokeWidth": 2}
    return [mark("symbol", {**look, "fill": INK, "stroke": RIM})]


def with_handle(spec: Spec, handle: Handle | None) -> Spec:
    """The specification, with the two knobs that the place of the point is the value of."""
    if handle is None:
        return spec
    return {**spec, "usermeta": {"handle": {"x": handle.across, "y": handle.up, "at": handle.at}}}
