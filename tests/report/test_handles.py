"""A point that can be dragged: drawn on the chart, and named to the lab by its knobs."""

from ftheta.logic import Axis, Handle, Regions
from ftheta.report.vega import vega

SQUARE = (((0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)),)


def draw(handle: Handle | None, classes: tuple[str, ...] = ()) -> dict:
    chart = Regions("t", Axis("x"), Axis("y"), SQUARE, (0.0,), classes=classes, handle=handle)
    return vega(chart)


def test_the_point_is_drawn_where_it_is_and_its_knobs_are_named():
    for classes in ((), ("a", "b")):
        spec = draw(Handle("across", "up", (0.5, 1.5)), classes)
        assert spec["usermeta"] == {"handle": {"x": "across", "y": "up", "at": (0.5, 1.5)}}
        scales = {scale["name"]: scale for scale in spec["scales"]}
        for name, value in (("x", 0.5), ("y", 1.5)):
            (a, b), (p, q) = scales[name]["domain"], scales[name]["range"]
            expected = p + (value - a) / (b - a) * (q - p)
            discs = [
                m["encode"]["enter"]
                for m in spec["marks"]
                if m["encode"]["enter"].get("size") == {"value": 110}
            ]
            assert abs(discs[0][name]["value"] - expected) < 0.1


def test_without_a_handle_nothing_is_said():
    assert "usermeta" not in draw(None)
