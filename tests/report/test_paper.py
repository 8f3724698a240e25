"""Figures for a paper: their true size, their letters, what tells series apart, and their PGFPlots source."""

import re
import struct
import unicodedata
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from ftheta.logic import Axis, Curves, Points, Series, UsageError
from ftheta.report.charts.curves import pens
from ftheta.report.charts.theme import PAPER, PAPER_FILLS
from ftheta.report.mathml import UNREAD, formulas, mathml
from ftheta.report.paper import read_length
from ftheta.report.pgfplots import pgfplots
from ftheta.report.render import render_for_paper
from ftheta.report.save import save
from ftheta.report.tex import words_to_tex

from . import samples

DRAWABLE = [c for c in samples.CHARTS if c.kind in ("curves", "bars", "points", "histogram")]
OTHERS = [c for c in samples.CHARTS if c not in DRAWABLE]
SVG = "{http://www.w3.org/2000/svg}"


def lines(count: int, role="measured") -> list[Series]:
    return [Series(f"curve {k}", (1.0, 2.0), (k, k + 1.0), role) for k in range(count)]


@pytest.mark.parametrize("chart", samples.CHARTS, ids=lambda c: c.kind)
def test_a_figure_is_as_wide_as_asked_in_every_format(chart):
    svg = ET.fromstring(str(render_for_paper(chart, "svg", 3.25)))
    pdf = bytes(render_for_paper(chart, "pdf", 3.25))  # type: ignore[arg-type]
    assert svg.get("width") == "3.2500in"
    across = float(re.search(rb"MediaBox ?\[0 0 ([\d.]+)", pdf)[1])  # type: ignore[index]
    assert across == pytest.approx(3.25 * 72, abs=0.01)


def test_a_png_has_six_hundred_dots_per_inch():
    png = bytes(render_for_paper(samples.CURVES, "png", 2.0))  # type: ignore[arg-type]
    assert struct.unpack(">I", png[16:20])[0] == 1200
    place = png.index(b"pHYs")
    assert struct.unpack(">I", png[place + 4 : place + 8])[0] == pytest.approx(600 / 0.0254, abs=1)


def test_labels_are_set_in_8_points_and_ticks_in_7_and_there_is_no_title():
    svg = ET.fromstring(str(render_for_paper(samples.CURVES, "svg", 3.25)))
    points_per_unit = 3.25 * 72 / float(str(svg.get("viewBox")).split()[2])
    texts = {
        str(t.text): float(str(t.get("font-size")).removesuffix("px"))
        for t in svg.iter(f"{SVG}text")
        if t.text
    }
    sizes = {word: round(size * points_per_unit, 6) for word, size in texts.items()}
    assert sizes["width n"] == 8.0
    assert sizes["100"] == 7.0
    assert set(sizes.values()) == {7.0, 8.0}
    assert samples.CURVES.title not in "".join(svg.itertext())


def test_the_fonts_are_inside_the_pdf():
    pdf = bytes(render_for_paper(samples.CURVES, "pdf"))  # type: ignore[arg-type]
    assert b"/FontFile2" in pdf and b"+DejaVuSans" in pdf


@pytest.mark.parametrize("role", ["measured", "bound", "reference"])
def test_lines_differ_without_their_colours(role):
    chosen = pens(lines(13, role), PAPER)
    assert len({(tuple(p.dash), p.shape if p.marked else "") for p in chosen}) == 13


def test_a_bound_and_a_measurement_differ_without_their_colours():
    chosen = pens([*lines(5), *lines(4, "bound")], PAPER)
    assert len({tuple(p.dash) for p in chosen}) == 9


def test_fills_that_stand_beside_one_another_differ_in_grey():
    def grey(colour: str) -> float:
        """CIE lightness, from 0 to 100."""
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 116 * (0.2126 * r + 0.7152 * g + 0.0722 * b) ** (1 / 3) - 16

    greys = [grey(c) for c in PAPER_FILLS]
    assert min(abs(a - b) for a, b in pairwise(greys)) > 12


def test_groups_of_points_have_shapes_of_their_own():
    chart = Points("t", Axis("x"), Axis("y"), (0.0, 1.0, 2.0), (0.0, 1.0, 2.0), ("a", "b", "c"))
    paths = {
        p.get("d") for p in ET.fromstring(str(render_for_paper(chart, "svg"))).iter(f"{SVG}path")
    }
    assert len([p for p in paths if p]) >= 3
    assert {f"mark={m}" for m in ("*", "square*", "triangle*")} <= set(
        re.findall(r"mark=[a-z]*\*", pgfplots(chart))
    )


# -- PGFPlots ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("chart", DRAWABLE, ids=lambda c: c.kind)
def test_the_source_is_balanced_and_ascii(chart):
    source = pgfplots(chart)
    assert source.isascii()
    bare = re.sub(r"\\[{}]", "", source)
    assert bare.count("{") == bare.count("}")
    assert re.findall(r"\\begin\{(\w+)\}", source) == ["tikzpicture", "axis"]
    assert re.findall(r"\\end\{(\w+)\}", source) == ["axis", "tikzpicture"]
    used = set(re.findall(r"(?:color|fill)=(ftheta\w+)", source))
    assert used == set(re.findall(r"\\definecolor\{(ftheta\w+)\}", source))


def test_every_number_of_a_curve_is_in_the_source():
    chart = Curves(
        "t",
        Axis("x", "log"),
        Axis("y"),
        (Series("s", (1.0, 10.0, -1.0), (0.5, float("nan"), 2.0)),),
    )
    assert "coordinates {(1,0.5) (10,nan) (nan,2)};" in pgfplots(chart)
    assert "xmode=log" in pgfplots(chart) and "ymode=log" not in pgfplots(chart)


@pytest.mark.parametrize("chart", OTHERS, ids=lambda c: c.kind)
def test_what_pgfplots_cannot_draw_is_refused_with_what_can(chart):
    with pytest.raises(UsageError, match=r"\.pdf, \.svg or \.png"):
        pgfplots(chart)


def test_a_symmetric_logarithmic_axis_is_refused():
    chart = Curves("t", Axis("x"), Axis("y", "symlog"), tuple(lines(1)))
    with pytest.raises(UsageError, match="symmetric logarithmic"):
        pgfplots(chart)


@pytest.mark.parametrize(
    ("label", "tex"),
    [
        ("iteration k", "iteration k"),
        ("θ_k", r"$\theta_{k}$"),
        ("‖θ_k − θ*‖²", r"$\|\theta_{k} - \theta ^{*}\|^{2}$"),
        ("50 % of A&B, dead_neurons", r"50 \% of A\&B, dead\_neurons"),
        (r"rate $\frac{1}{n}$ here", r"rate $\frac{1}{n}$ here"),
        ("x ≤ 3 #1", r"x $\le$ 3 \#1"),
        ("θ*²", r"$\theta ^{*}{}^{2}$"),
        ("10⁻³", "10$^{-3}$"),
        ("n̂", r"$\hat{n}$"),
        (r"a\b^{c}~", r"a\textbackslash{}b\textasciicircum{}\{c\}\textasciitilde{}"),
    ],
)
def test_labels_become_latex(label, tex):
    assert words_to_tex(label) == tex
    assert all(UNREAD not in mathml(formula) for formula in formulas(words_to_tex(label)))


def test_greek_letters_are_the_ones_that_unicode_names():
    """The commands against the names of the characters, which are not ours."""
    for letter in "αβγδζηθικλμνξπρστυχψωΓΔΘΛΞΠΣΥΦΨΩ":
        name = unicodedata.name(letter).split()[-1].lower().replace("lamda", "lambda")
        command = words_to_tex(letter).strip("$\\ ")
        assert command.lower() == name and command[0].isupper() == letter.isupper()


# -- sizes and files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "inches"), [("3.25in", 3.25), ("82.55mm", 3.25), ("234 bp", 3.25), ("5CM", 1.9685)]
)
def test_lengths_are_read_with_their_units(words, inches):
    assert read_length(words) == pytest.approx(inches, abs=1e-4)


@pytest.mark.parametrize("words", ["3.25", "wide", "-3in", "0.1in", "500in", "1e3in", "nan in"])
def test_what_is_no_length_of_a_figure_is_refused(words):
    with pytest.raises(UsageError):
        read_length(words)


def test_save_draws_in_a_style_and_a_size(tmp_path):
    (path,) = save(samples.CURVES, tmp_path / "f.svg", style="paper", width="84mm")
    assert path.read_text().count('width="3.3071in"') == 1
    with pytest.raises(UsageError, match="did you mean paper"):
        save(samples.CURVES, tmp_path / "f.svg", style="papier")  # type: ignore[arg-type]


def test_a_height_that_is_given_is_kept(tmp_path):
    drawn = ET.fromstring(str(render_for_paper(samples.CURVES, "svg", 3.25, 2.0)))
    assert drawn.get("height") == "2.0000in"
