"""Every kind of chart, with good data and with the worst."""

import re
import xml.etree.ElementTree as ElementTree
from base64 import b64decode
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product
from math import inf, nan, sin

import pytest
from hypothesis import given

from ftheta.logic import (
    Axis,
    Bars,
    Chart,
    Curves,
    Dag,
    Diagram,
    Heatmap,
    Histogram,
    Layer,
    Motion,
    Points,
    Regions,
    Series,
    UsageError,
    Vertex,
)
from ftheta.logic.chart import Scale
from ftheta.report.charts import regions as regions_module
from ftheta.report.charts.colourbar import colour_ends, value_scale
from ftheta.report.charts.frame import Spec
from ftheta.report.charts.png import LEVELS, level
from ftheta.report.charts.scales import Scaled
from ftheta.report.described import describe_chart
from ftheta.report.render import FORMATS, chart_csv, figure, render
from ftheta.report.render import svg as svg_of
from ftheta.report.vega import vega

from ..thoroughness import max_examples
from . import samples
from .strategies import charts, curves, histograms

HOSTILE = "<script>alert('x')</script> & \" ]]> \\ \x1b[31m $\\theta_k$ " + "w" * 200
NASTY = {
    "empty": ((), ()),
    "one point": ((1.0,), (2.0,)),
    "not a number": ((1.0, 2.0, 3.0), (nan, nan, nan)),
    "infinite": ((1.0, 2.0, 3.0, 4.0), (1.0, inf, -inf, 2.0)),
    "zeros": ((0.0, 0.0, 1.0), (0.0, 0.0, 0.0)),
    "huge and small": ((1e-308, 1.0, 1e308), (-1e308, 5e-324, 1.7e308)),
    "constant": ((1.0, 2.0, 3.0), (5.0, 5.0, 5.0)),
    "of unequal length": ((1.0, 2.0, 3.0), (1.0,)),
}


def texts(svg: str) -> str:
    """All words of a drawing, which is thereby shown to be well-formed XML."""
    root = ElementTree.fromstring(svg)
    return " ".join(" ".join(e.itertext()) for e in root.iter() if e.tag.endswith("text"))


def nasty_charts(scale: Scale, xs: tuple[float, ...], ys: tuple[float, ...]) -> Sequence[Chart]:
    x = Axis(HOSTILE, scale)
    y = Axis("y", scale)
    kinds = (
        Series(HOSTILE, xs, ys, lo=ys, hi=ys),
        Series("b", xs, ys, "bound", "points"),
        Series("c", xs, ys, "other", "step"),
    )
    corners = tuple(zip(xs, ys))
    return [
        Curves(HOSTILE, x, y, kinds),
        Points(HOSTILE, x, y, xs, ys, (HOSTILE,) * len(xs)),
        Motion(
            HOSTILE,
            x,
            y,
            xs,
            (xs,) * len(xs),
            (ys,) * len(xs),
            (HOSTILE,) * len(ys),
            (ys,),
            (corners,),
            clock=HOSTILE,
        ),
        Histogram(HOSTILE, x, y, xs, ys[:-1], kinds[:1]),
        Bars(HOSTILE, x, (HOSTILE,) * len(ys), ("a", "b"), (ys, ys)),
        Heatmap(
            HOSTILE,
            x,
            y,
            (ys, ys),
            (xs[0] if xs else 0.0, xs[-1] if xs else 0.0, 0.0, 1.0),
            HOSTILE,
        ),
        Regions(HOSTILE, x, y, (corners, ((0.0, 0.0), (1.0, 0.0), (1.0, 1.0))), ys[:2], HOSTILE),
    ]


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        (
            samples.CURVES,
            (
                "bound 2C/√n",
                "measured ‖f − fₙ‖",
                "slope −1/2",
                "width n",
                "L²(μ) error",
                "1,000",
                "0.1",
            ),
        ),
        (samples.BARS, ("layer 1", "layer 4", "measured stretch", "spectral norm", "3.1", "norm")),
        (samples.HEATMAP, ("loss surface", "θ₁", "θ₂", "loss")),
        (samples.HISTOGRAM, ("normal limit", "density", "z")),
        (samples.REGIONS, ("affine pieces", "x₁", "‖∇f‖")),
        (
            samples.CLASSES,
            ("two classes", "cat", "dog", "given its own class", "another class", "unknown class"),
        ),
        (samples.POINTS, ("inner", "outer", "x₂")),
        (samples.MOTION, ("corner", "other corner", "x₁", "t = 2.0")),
        (samples.DIAGRAM, ("input", "784", "hidden 1", "ReLU", "softmax")),
        (samples.DAG, ("θ₃ = exp θ₁", "value 2.718", "adjoint 7.862")),
    ],
    ids=lambda value: getattr(value, "kind", None),
)
def test_each_kind_draws_its_labels_in_both_themes(chart: Chart, words: tuple[str, ...]) -> None:
    for theme in ("light", "dark"):
        written = texts(str(render(chart, "svg", theme=theme)))
        for word in words:
            assert word in written
        assert chart.title in written


@pytest.mark.parametrize(("scale", "data"), list(product(("linear", "log", "symlog"), NASTY)))
def test_the_worst_data_are_drawn_or_said_to_be_missing(scale: Scale, data: str) -> None:
    for chart in nasty_charts(scale, *NASTY[data]):
        svg = str(render(chart, "svg"))
        assert texts(svg)
        assert "<script" not in svg
        assert not re.search(r'[="(, ](NaN|Infinity|undefined)\b', svg)
        assert chart_csv(chart).count("\n") >= 1


@given(charts)
@max_examples(60)
def test_a_specification_is_plain_finite_data(chart: Chart) -> None:
    import json

    for theme, size in (("light", None), ("dark", 320.0)):
        json.dumps(vega(chart, theme=theme, width=size, height=size), allow_nan=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "chart",
    [
        Curves("c", Axis(), Axis(), ()),
        Curves("c", Axis(), Axis("", "log"), (Series("s", (1.0, 2.0), (0.0, -1.0)),)),
        Bars("c", Axis(), (), (), ()),
        Heatmap("c", Axis(), Axis(), (), (0.0, 1.0, 0.0, 1.0)),
        Heatmap("c", Axis(), Axis(), ((nan,),), (0.0, 1.0, 0.0, 1.0)),
        Histogram("c", Axis(), Axis(), (), ()),
        Regions("c", Axis(), Axis(), (), ()),
        Points("c", Axis(), Axis(), (nan,), (1.0,)),
        Motion("c", Axis(), Axis(), (0.0,), ((),), ((),)),
        Motion("c", Axis(), Axis(), (0.0, 1.0), ((nan,), (nan,)), ((1.0,), (2.0,))),
        Diagram("c", ()),
        Dag("c", (), ()),
        Dag("c", tuple(Vertex(str(i), "v") for i in range(1000)), ()),
    ],
    ids=lambda chart: chart.kind,
)
def test_an_empty_chart_says_so(chart: Chart) -> None:
    assert re.search(r"\b(no .*to draw|too many to draw)", texts(str(render(chart, "svg"))))


def test_a_gap_stays_a_gap() -> None:
    chart = Curves(
        "c",
        Axis(),
        Axis(),
        (Series("s", tuple(map(float, range(6))), (1.0, 2.0, nan, inf, 1.0, 2.0)),),
    )
    line = next(d for d in vega(chart)["data"] if d["name"] == "series0")["values"]
    assert [row["ok"] for row in line] == [True, True, False, True, True]


def test_a_point_alone_between_gaps_is_shown_as_a_dot() -> None:
    chart = Curves("c", Axis(), Axis(), (Series("s", (0.0, 1.0, 2.0), (nan, 1.0, nan)),))
    assert any(d["name"] == "series0alone" and len(d["values"]) == 1 for d in vega(chart)["data"])


def test_a_hundred_thousand_points_are_thinned_without_losing_the_extremes() -> None:
    xs = tuple(i / 1000 for i in range(100_000))
    ys = [sin(x) for x in xs]
    ys[71_234] = 40.0
    ys[7] = -30.0
    chart = Curves(
        "c",
        Axis("", "symlog"),
        Axis(),
        (Series("s", xs, tuple(ys)), Series("dots", xs, tuple(ys), mark="points")),
    )
    spec = vega(chart)
    for data in spec["data"]:
        drawn = [row["y"] for row in data["values"]]
        assert len(drawn) <= 4100
        assert {40.0, -30.0} <= set(drawn)
    assert len(svg_of(spec)) < 2_000_000


def test_a_large_heatmap_and_many_regions_are_images() -> None:
    heat = Heatmap(
        "c",
        Axis(),
        Axis(),
        tuple(tuple(float(i * j) for j in range(300)) for i in range(300)),
        (0.0, 1.0, 0.0, 1.0),
    )
    squares = tuple(
        (
            (a / 80, b / 80),
            ((a + 1) / 80, b / 80),
            ((a + 1) / 80, (b + 1) / 80),
            (a / 80, (b + 1) / 80),
        )
        for a in range(80)
        for b in range(80)
    )
    many = Regions("c", Axis(), Axis(), squares, tuple(float(i % 7) for i in range(len(squares))))
    assert len(squares) > regions_module.EXACT
    for chart in (heat, many):
        svg = str(render(chart, "svg"))
        assert svg.count("data:image/png;base64,") == 1
        assert len(svg) < 400_000
    assert "data:image" not in str(render(samples.REGIONS, "svg"))


def test_the_bar_has_the_colours_of_the_picture_the_largest_value_above() -> None:
    squares = tuple(((float(k), 0.0), (k + 1.0, 0.0), (k + 1.0, 1.0)) for k in range(3))
    spec = vega(Regions("c", Axis(), Axis(), squares, (0.0, 1.0, 2.0), "value"))
    bar = next(m for m in spec["marks"] if m["type"] == "group")
    strips = sorted(bar["data"][0]["values"], key=lambda strip: strip["y"])
    thick = bar["marks"][0]["encode"]["enter"]["height"]["value"]
    assert strips[0]["y"] == pytest.approx(0) and strips[-1]["y"] + thick >= min(
        spec["height"], 260
    )
    assert all(after["y"] - before["y"] <= thick for before, after in pairwise(strips))
    shades = [m["encode"]["enter"]["fill"]["value"] for m in spec["marks"] if m["type"] == "path"]
    apart = lambda a, b: max(abs(u - v) for u, v in zip(bytes.fromhex(a[1:]), bytes.fromhex(b[1:])))
    next_to_it = max(apart(before["c"], after["c"]) for before, after in pairwise(strips))
    for shade, strip in zip(shades, (strips[-1], strips[len(strips) // 2], strips[0])):
        assert apart(shade, strip["c"]) <= next_to_it < 16
    words = [
        m["encode"]["enter"]
        for m in spec["marks"]
        if m["type"] == "text" and m["encode"]["enter"].get("text")
    ]
    ticks = {
        float(w["text"]["value"]): w["y"]["value"]
        for w in words
        if re.fullmatch(r"[\d.]+", w["text"]["value"])
    }
    assert len(ticks) > 2 and [ticks[v] for v in sorted(ticks)] == sorted(
        ticks.values(), reverse=True
    )


def test_several_gaps_of_a_curve_are_one_and_none_comes_first() -> None:
    chart = Curves("c", Axis(), Axis(), (Series("s", range(6), (nan, 0.5, nan, inf, 0.7, nan)),))
    values = next(d for d in vega(chart)["data"] if d["name"] == "series0")["values"]
    assert [v["ok"] for v in values] == [True, False, True, False]
    assert [(v["x"], v["y"]) for v in values if v["ok"]] == [(1, 0.5), (4, 0.7)]


def test_a_heatmap_has_its_first_row_at_the_bottom() -> None:
    from base64 import b64decode
    from zlib import decompress

    chart = Heatmap("c", Axis(), Axis(), ((0.0, 0.0), (1.0, 1.0)), (0.0, 1.0, 0.0, 1.0))
    image = next(m for m in vega(chart)["marks"] if m["type"] == "image")["encode"]["enter"]["url"][
        "value"
    ]
    png = b64decode(image.split(",")[1])
    start = png.index(b"IDAT") + 4
    pixels = decompress(png[start : png.index(b"IEND") - 8])
    assert pixels[1] > pixels[4]  # the upper row of the picture holds the larger values


def test_values_that_differ_by_rounding_alone_look_the_same() -> None:
    shades = lambda *values: [level(v, *colour_ends(value_scale([*values]))) for v in values]
    assert (
        abs(shades(0.3, 0.1 + 0.2)[0] - LEVELS / 2)
        <= 1
        >= abs(shades(0.3, 0.1 + 0.2)[1] - LEVELS / 2)
    )
    assert shades(0.3, 0.30001) == [0, LEVELS - 1]


def test_years_are_written_without_commas_and_other_numbers_with_them() -> None:
    written = lambda axis, lo, hi: [t.label for t in Scaled(axis, lo, hi).ticks(4)]
    assert written(Axis(years=True), 1943.0, 2026.0) == ["1950", "2000"]
    assert written(Axis(), 1943.0, 2026.0) == ["1,950", "2,000"]
    assert written(Axis(), 0.0, 6000.0) == ["0", "2,000", "4,000", "6,000"]


def test_small_heatmaps_show_their_numbers() -> None:
    chart = Heatmap("c", Axis(), Axis(), ((0.125, nan), (7.0, 2.5)), (0.0, 2.0, 0.0, 2.0))
    written = texts(str(render(chart, "svg")))
    assert "0.125" in written and "2.5" in written


def at_frame(spec: Spec, frame: int) -> str:
    return svg_of({**spec, "signals": [{"name": "frame", "value": frame}]})


def test_a_chart_that_moves_is_drawn_at_its_last_moment_and_can_be_asked_for_any() -> None:
    spec = vega(samples.MOTION)
    assert svg_of(spec) == at_frame(spec, 20) != at_frame(spec, 0)
    assert [t for t in ("t = 0.0", "t = 1.0", "t = 2.0") if t in texts(at_frame(spec, 10))] == [
        "t = 1.0"
    ]


def test_moving_points_are_where_the_axes_say() -> None:
    spec = vega(samples.MOTION)
    scale = {s["name"]: s for s in spec["scales"]}
    for name, values in (("x", samples.MOTION.xs), ("y", samples.MOTION.ys)):
        (lo, hi) = scale[name]["domain"]
        (start, end) = scale[name]["range"]
        for row, wanted in zip(spec["data"][0]["values"], values):
            pixels = [start + (v - lo) / (hi - lo) * (end - start) for v in wanted]
            assert row[name] == pytest.approx([10 * p for p in pixels], abs=1)
    assert spec["width"] == pytest.approx(spec["height"], rel=0.02), "a circle is round"


def test_a_moving_point_without_a_place_is_not_seen_and_the_others_are() -> None:
    chart = Motion(
        "c", Axis(), Axis("", "log"), (0.0, 1.0), ((0.0, 1.0), (0.0, inf)), ((1.0, 0.0), (2.0, 3.0))
    )
    near = [row["near"] for row in vega(chart)["data"][0]["values"]]
    assert near == [[100, 0], [100, 0]]


def test_points_behind_are_smaller_and_fainter() -> None:
    chart = Motion("c", Axis(), Axis(), (0.0,), ((0.0, 1.0),), ((1.0, 0.0),), depths=((1.0, -1.0),))
    (row,) = vega(chart)["data"][0]["values"]
    assert row["near"][0] == 100 > row["near"][1] > 0


def test_a_graph_with_a_cycle_and_unknown_ends_is_drawn_without_them() -> None:
    chart = Dag(
        "g",
        (Vertex("a", "A"), Vertex("b", "B")),
        (("a", "b"), ("b", "a"), ("a", "stranger"), ("a", "a")),
    )
    assert "A" in texts(str(render(chart, "svg")))


def test_a_deep_network_is_shortened_in_the_middle() -> None:
    chart = Diagram("d", tuple(Layer(f"layer {i}", 3) for i in range(40)))
    written = texts(str(render(chart, "svg")))
    assert (
        "30 more" in written
        and "layer 0" in written
        and "layer 39" in written
        and "layer 20" not in written
    )


def test_every_format_has_its_signature() -> None:
    begins = {
        "svg": "<svg",
        "html": "<!DOCTYPE html>",
        "csv": "series,x,y",
        "png": b"\x89PNG",
        "pdf": b"%PDF",
        "tex": "% ",
    }
    for format in FORMATS:
        made = render(samples.CURVES, format)
        assert made[: len(begins[format])] == begins[format]


def test_an_unknown_format_is_refused_with_the_list() -> None:
    with pytest.raises(UsageError, match="svg, png, pdf, html, csv"):
        render(samples.CURVES, "gif")  # type: ignore[arg-type]


def test_drawings_have_the_size_that_was_asked_for() -> None:
    for chart in samples.CHARTS:
        if chart.kind != "dag":  # a graph takes the height it needs
            svg = str(render(chart, "svg", width=500, height=333))
            assert 'width="500" height="333"' in svg


def test_nothing_is_fetched_from_anywhere() -> None:
    for chart in samples.CHARTS:
        svg = str(render(chart, "svg"))
        assert not re.search(r'(?:href|src)="(?!data:)', svg)


def test_figures_can_share_a_page_because_nothing_in_them_has_an_id() -> None:
    for chart in samples.CHARTS:
        drawn = figure(chart)
        assert not re.search(r'\bid="|url\(#', drawn)
        assert drawn == figure(chart)
    assert 'role="img"' in drawn and 'aria-label="ℓ = θ₂ exp θ₁' in drawn


def test_csv_holds_the_numbers_that_were_measured() -> None:
    assert chart_csv(samples.MOTION).splitlines()[:2] == [
        "time,point,x,y,group",
        "0.0,0,1.0,0.0,corner",
    ]
    rows = chart_csv(samples.BARS).splitlines()
    assert rows[0] == "category,group,value"
    assert "layer 2,spectral norm,2.4" in rows
    assert len(chart_csv(samples.HEATMAP).splitlines()) == 1 + 40 * 40
    assert chart_csv(samples.HEATMAP).splitlines()[1].startswith("-0.975,-0.975,")


# -- what must not be taken for data --------------------------------------------------------------------------


def named(marks: list[Spec], kind: str) -> list[dict]:
    return [m["encode"]["enter"] for m in marks if m["type"] == kind]


@max_examples(60)
@given(curves | histograms)
def test_nothing_inside_the_frame_leads_to_a_label(chart: Chart) -> None:
    """Lines inside are curves, which have data; rules are keys, and stand beside the frame."""
    spec = vega(chart)
    for rule in named(spec["marks"], "rule"):
        assert min(rule["x"]["value"], rule["x2"]["value"]) > spec["width"]
    assert all("from" in m for m in spec["marks"] if m["type"] in ("line", "area"))


SHORT = Series("ends early", (0.0, 1.0), (1.0, 2.0), "bound")
LONG = Series("ends at the edge", (0.0, 10.0), (5.0, 9.0))


@pytest.mark.parametrize(
    ("series", "keyed"),
    [
        ((LONG,), False),
        ((SHORT, LONG), True),
        ((LONG, Series("far below", (0.0, 10.0), (0.0, 0.0))), True),
        (
            (
                LONG,
                Series("the same end", (0.0, 10.0), (0.0, 9.0)),
                Series("and again", (0.0, 10.0), (1.0, 9.0)),
            ),
            True,
        ),
        (
            (
                Series("a vertical", (3.0, 3.0), (0.0, 1.0)),
                Series("nothing", (0.0, 10.0), (nan, nan), "bound"),
            ),
            True,
        ),
        ((Series("dots", (0.0, 1.0), (1.0, 2.0), mark="points"), LONG), True),
    ],
)
def test_a_label_has_a_key_unless_it_is_the_only_one_and_at_the_end_of_its_curve(
    series, keyed
) -> None:
    spec = vega(Curves("c", Axis(), Axis(), series))
    keys = [
        *named(spec["marks"], "rule"),
        *(m for m in named(spec["marks"], "symbol") if "value" in m["x"]),
    ]
    drawn = [s for s in series if s.y[0] == s.y[0]]
    assert len(keys) == (len(drawn) if keyed else 0)
    named_data = {d["name"] for d in spec["data"] if d["values"]}
    shown = [
        m
        for m in spec["marks"]
        if m["type"] in ("line", "symbol") and m.get("from", {}).get("data") in named_data
    ]
    curves = [m["encode"]["enter"] for m in shown]
    look = lambda m: (
        m.get("stroke", m.get("fill"))["value"],
        tuple(m.get("strokeDash", {"value": ()})["value"]),
    )
    assert not keyed or sorted(map(look, keys)) == sorted(map(look, curves))
    words = (
        named(spec["marks"], "text")[1:]
        if spec["marks"][0]["type"] == "text"
        else named(spec["marks"], "text")
    )
    assert all(word["x"]["value"] > spec["width"] for word in words)


def test_a_picture_of_classes_has_their_colours_and_no_values_between_them() -> None:
    spec = vega(samples.CLASSES)
    fills = [m["fill"]["value"] for m in named(spec["marks"], "path") if "fill" in m]
    assert len(set(fills)) == 2
    assert not any(m["type"] == "group" for m in spec["marks"]), "a bar of colours"
    assert not named(spec["marks"], "rule"), "ticks of a bar"


def test_values_without_a_name_have_no_bar_and_many_classes_are_counted() -> None:
    squares = tuple(((float(k), 0.0), (k + 1.0, 0.0), (k + 1.0, 1.0)) for k in range(30))
    numbers = tuple(map(float, range(30)))
    bare = vega(Regions("c", Axis(), Axis(), squares, numbers))
    assert not any(m["type"] == "group" for m in bare["marks"])
    many = vega(
        Regions(
            "c",
            Axis(),
            Axis(),
            squares,
            numbers,
            "class",
            (),
            tuple(f"class {k}" for k in range(30)),
        )
    )
    words = [word["text"]["value"] for word in named(many["marks"], "text")]
    assert "class 15" in words and "class 16" not in words and "and 14 more" in words
    assert len({m["fill"]["value"] for m in named(many["marks"], "path") if "fill" in m}) == 30


def test_rows_are_marked_by_their_class_and_by_whether_they_are_given_it() -> None:
    spec = vega(samples.CLASSES)
    rows = [m for m in named(spec["marks"], "symbol") if "stroke" in m]
    look = [(m["shape"]["value"], m["fill"]["value"]) for m in rows]
    (right, blue), (unknown, none), (wrong, orange) = look  # what is wrong lies above
    assert (right, unknown, wrong) == ("circle", "circle", "cross") and len(
        {blue, none, orange}
    ) == 3
    outside = replace(samples.CLASSES, points=((5.0, 0.2, 0.0, 0.0), (nan, 0.2, 0.0, 0.0)))
    assert not [m for m in named(vega(outside)["marks"], "symbol") if "stroke" in m]


def test_many_parts_keep_the_colours_of_their_classes(monkeypatch) -> None:
    exact = vega(samples.CLASSES)
    monkeypatch.setattr(regions_module, "EXACT", 1)
    spec = vega(samples.CLASSES)
    (image,) = named(spec["marks"], "image")
    palette = b64decode(image["url"]["value"].partition(",")[2]).partition(b"PLTE")[2]
    fills = [m["fill"]["value"] for m in named(exact["marks"], "path") if "fill" in m]
    assert [f"#{palette[3 * k : 3 * k + 3].hex()}" for k in range(2)] == fills


def test_the_csv_of_classes_names_them_and_the_rows() -> None:
    lines = chart_csv(samples.CLASSES).splitlines()
    assert lines[0] == "kind,number,x,y,class,given class"
    assert lines[-3:] == ["row,0,0.2,0.2,cat,cat", "row,1,0.3,0.2,dog,cat", "row,2,0.8,0.8,,dog"]


def test_a_chart_in_words_says_the_numbers_that_one_would_read_off():
    falling = Series("gap", (0, 10, 20), (1.0, nan, 0.25))
    dots = Series("runs", (1, 2), (3.0, 5.0), mark="points")
    told = describe_chart(Curves("error", Axis("k"), Axis("loss"), (falling, dots)))
    assert told == (
        "error: loss against k; gap: 1 at 0, 0.25 at 20, between 0.25 and 1; runs: 2 points, between 3 and 5"
    )
    assert "highest, 7, from 1 to 2" in describe_chart(
        Histogram("h", Axis(), Axis(), (0, 1, 2), (3, 7))
    )
    assert "values between −1 and 4" in describe_chart(
        Heatmap("m", Axis(), Axis(), ((-1, 0), (4, 2)), (0, 1, 0, 2))
    )
    assert "train: a 1, b 2" in describe_chart(Bars("b", Axis(), ("a", "b"), ("train",), ((1, 2),)))
    empty = describe_chart(Curves("none", Axis("k"), Axis("y"), (Series("s", (), ()),)))
    assert "nothing that can be drawn" in empty
