"""Pages of theorems, courses and public names, generated without Sphinx."""

import re
from functools import cache
from itertools import pairwise
from xml.etree import ElementTree

import pytest

import ftheta
from ftheta.catalogue import index
from ftheta.catalogue.bibliography import bibtex
from ftheta.checking import check
from ftheta.courses import NAMES
from ftheta.report.document import from_json, to_json
from ftheta.report.parts_html import parts_html
from website.contents import Contents, project_version
from website.course_page import course_page
from website.formulas import is_unread
from website.gallery import gallery_page
from website.lab_lines import lab_address
from website.lesson_html import trials_html
from website.narrative import cite_page, guide
from website.related import related_svg
from website.results import ResultStore
from website.theorem_page import theorem_page
from website.writing import list_pages, make_pages

HAT = "hat-function"
RATE = "gd-strongly-convex"


@pytest.fixture(scope="module")
def contents():
    return Contents.of_package()


@cache
def stored(id, **options):
    return from_json(to_json(check(id, **options)))


@pytest.mark.parametrize("id", [HAT, RATE])
def test_no_heading_skips_a_level(id, contents):
    page = theorem_page(index()[id], stored(id), contents)
    found = re.findall(r"^(#+) |<h([1-6])", page, re.MULTILINE)
    levels = [len(marks) or int(level) for marks, level in found]
    assert levels[0] == 1 and all(b <= a + 1 for a, b in pairwise(levels))


@pytest.mark.parametrize("id", [HAT, RATE])
def test_a_theorem_has_its_statement_verdict_pictures_and_lines(id, contents):
    result = stored(id)
    page = theorem_page(index()[id], result, contents)
    assert page.count("<figure><svg") == len(result.charts) > 0
    assert f"✓ {result.verdict.value}" in page
    for part in (
        "Statement",
        "Hypotheses",
        "What a run finds",
        "What breaks it",
        "Run it",
        "Related theorems",
        "Sources",
    ):
        assert f"\n## {part}\n" in page
    for line in (
        f"ftheta check {id}\n",
        f"ft.check(&#x27;{id}&#x27;)",
        f"ftheta lab {id}",
        "--breaker --force",
    ):
        assert line in page
    assert all(bibtex(key).split("{")[0] in page for key in index()[id]["sources"])
    assert "since version 0.2.0" in page
    assert not is_unread(page)


def test_a_misprint_of_a_source_is_shown_refuted(contents):
    page = theorem_page(index()[HAT], stored(HAT), contents)
    assert "As printed in the source" in page and "✗ refuted" in page
    assert "\n## Errata in the sources\n" in page


def test_the_negative_control_shows_what_fails_and_is_refuted(contents):
    control = stored(RATE, breaker=True, force=True)
    page = theorem_page(index()[RATE], None, contents, control)
    _, _, below = page.partition("## What breaks it")
    assert (
        "✗ refuted" in below
        and "fails:" in below
        and "The negative control is the Training" in below
    )


def test_a_theorem_without_a_negative_control_says_why(contents):
    entry = next(entry for entry in index().values() if not entry["breakable"])
    assert "It has no negative control: " in theorem_page(entry, None, contents)


def test_a_theorem_without_a_stored_run_says_so_and_keeps_the_rest(contents):
    page = theorem_page(index()[RATE], None, contents)
    assert "There is no stored run of this theorem" in page
    assert "pill" not in page and "<figure" not in page
    assert "\n## Hypotheses\n" in page and "To meet it: take a smaller step." in page


def test_a_lesson_is_shown_with_what_checks_each_part(contents):
    page = theorem_page(index()[RATE], None, contents)
    lesson = index()[RATE]["lesson"]
    assert page.count("Checked by claim") == sum(bool(part["claims"]) for part in lesson["parts"])
    assert "ftheta check gd-strongly-convex --preset &#x27;at the edge&#x27;" in page
    assert "#/gd-strongly-convex?step=0.5" in page
    assert 'class="symbol symbol-2" tabindex="0" aria-describedby="hint-2"><mi>τ</mi>' in page


def test_the_order_of_parts_and_trials_is_that_of_the_lesson():
    parts = parts_html(
        [
            {"says": "first", "claims": [], "charts": []},
            {"says": "second", "claims": ["x"], "charts": []},
        ]
    )
    assert re.search(r"first.*second.*Checked by claim “x …”", parts)
    trials = trials_html(
        "x", [{"look": "see $a<b$", "preset": "", "knobs": {"on": True, "n_max": 3}}]
    )
    assert "ftheta check x --on true --n-max 3" in trials and "<mo>&lt;</mo>" in trials


def test_addresses_of_the_lab_are_written_as_the_lab_writes_them():
    assert lab_address("x") == "#/x"
    assert (
        lab_address("x", "at the edge", {"kappa": 10.0, "on": True})
        == "#/x?preset=at+the+edge&kappa=10.0&on=true"
    )


def test_every_theorem_course_chapter_and_public_name_has_a_page(contents, tmp_path):
    names = list_pages(contents)
    assert len(names) == len(set(names))
    assert {f"theorems/{id}" for id in index()} <= set(names)
    assert {f"courses/{name}" for name in NAMES} <= set(names)
    assert {f"api/{name}" for name in dir(ftheta)} <= set(names)
    made = dict(make_pages(contents, ResultStore(tmp_path)))
    assert sorted(made) == sorted(names)
    assert all(text.startswith("# ") for text in made.values())
    assert [name for name, text in made.items() if is_unread(text)] == []


def test_a_course_has_its_sections_quotations_misprints_and_folded_answers(contents):
    course = contents.courses["murari"]
    page = course_page("murari", course, lambda id: stored(HAT) if id == HAT else None)
    places = [page.index(f"## {k}. ") for k in range(1, len(course.sections) + 1)]
    assert places == sorted(places)
    assert page.count("<b>Exercise.</b>") == page.count("<summary>Answer</summary>") > 0
    assert page.count("<blockquote>") == sum(bool(s.quote) for s in course.sections) + sum(
        bool(p.quote) for p in course.pages
    )
    assert "Errata in the sources:" in page


def test_the_gallery_shows_every_theorem_with_the_picture_of_its_run(contents):
    page = gallery_page(contents, lambda id: stored(HAT) if id == HAT else None)
    assert page.count('class="tile"') == len(index())
    assert page.count("no stored run") == len(index()) - 1
    assert "_static/pictures/hat-function-dark.svg" in page


def test_a_figure_is_one_image_with_one_description(contents):
    page = theorem_page(index()[HAT], stored(HAT), contents)
    assert page.count('role="img"') == len(stored(HAT).charts)
    assert "graphics-symbol" not in page and "aria-roledescription" not in page


def test_the_graph_of_related_theorems_is_an_image_with_a_link_per_theorem():
    drawn = related_svg(
        "A & B",
        {"a.html": "one"},
        {"b.html": "two <b>", "c.html": "a title that is longer than two lines " * 3},
    )
    root = ElementTree.fromstring(drawn)
    assert [link.get("href") for link in root.iter("a")] == ["a.html", "b.html", "c.html"]
    _, _, width, height = map(float, root.get("viewBox").split())
    for box in root.iter("rect"):
        x, y, wide, high = (float(box.get(name)) for name in ("x", "y", "width", "height"))
        assert x >= 0 and y >= 0 and x + wide <= width and y + high <= height


def test_theorems_that_lead_here_are_those_that_name_it(contents):
    for id in (RATE, HAT):
        assert all(id in contents.leads_of(other) for other in contents.origins_of(id))
        assert not set(contents.origins_of(id)) & set(contents.leads_of(id))


def test_every_narrative_page_stands_in_the_guide_and_the_citation_has_the_version():
    assert len(guide()) == len(set(guide().values())) and all(guide().values())
    assert f"version = {{{project_version()}}}" in cite_page()
