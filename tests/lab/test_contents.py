"""The catalogue as the page reads it, and the frames between server and workers."""

import gzip
import json
import subprocess
import sys
from html.parser import HTMLParser

import pytest

from ftheta.catalogue import index
from ftheta.lab.contents import catalogue, symbol_html
from ftheta.theorems import CHAPTERS

from .clients import Site

_ENTRIES = catalogue()["theorems"]


class _Safe(HTMLParser):
    """Nothing but words, code and MathML, each element closed."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag, attrs):
        assert tag in (
            "math",
            "code",
            "strong",
            "sub",
            "semantics",
            "annotation",
        ) or tag.startswith("m"), tag
        assert not any(
            name.startswith("on") or name in ("style", "href", "src") for name, _ in attrs
        ), attrs
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def assert_safe(html: str) -> None:
    parser = _Safe()
    parser.feed(html)
    parser.close()
    assert not parser.open


def test_only_the_sliders_of_a_class_have_stops():
    knobs = [knob for entry in catalogue(True)["theorems"] for knob in entry["knobs"]]
    assert all((knob["type"] in ("int", "float")) == bool(knob["stops"]) for knob in knobs)
    assert not any(knob["stops"] for entry in _ENTRIES for knob in entry["knobs"])


def test_every_theorem_is_there_in_the_order_of_the_chapters():
    found = catalogue()
    assert [e["id"] for e in found["theorems"]] == list(index())
    known = [chapter["id"] for chapter in found["chapters"]]
    assert known == [chapter for chapter in CHAPTERS if chapter in known]
    assert (
        found["verdicts"]["proved"]["word"] == "proved" and found["verdicts"]["not-checked"]["sign"]
    )


@pytest.mark.parametrize("entry", _ENTRIES, ids=[e["id"] for e in _ENTRIES])
def test_an_entry_has_all_that_the_page_shows(entry):
    assert entry["statement_html"] and entry["plain"] and "$" not in entry["plain"]
    assert bool(entry["errata_html"]) == bool(entry["errata"])
    knobs = {knob["name"]: knob for knob in entry["knobs"]}
    assert entry["presets"] and all(
        set(preset["knobs"]) <= set(knobs) for preset in entry["presets"]
    )
    for knob in knobs.values():
        assert knob["says_html"] and bool(knob["symbol_html"]) == bool(knob["knob"]["symbol"])
        assert knob["type"] in ("bool", "str") or knob["knob"]["lo"] < knob["knob"]["hi"]
    parts = [entry["statement_html"], entry["headline_html"], entry["errata_html"]]
    parts += [a[key] for a in entry["assumes"] for key in ("says_html", "remedy_html")]
    for html in [*parts, *(k[key] for k in knobs.values() for key in ("says_html", "symbol_html"))]:
        assert_safe(html)
        assert 'class="unread"' not in html, "a formula that could not be read"


def test_symbols_have_true_indices():
    assert (
        "<msub>" in symbol_html("d₀")
        and "<msup>" in symbol_html("ns²")
        and "mover" in symbol_html("x̄")
    )
    assert symbol_html("") == ""


def test_the_catalogue_is_served_compressed_and_once(site: Site):
    plain = site.get("/api/catalogue")
    zipped = site.get("/api/catalogue", **{"Accept-Encoding": "gzip"})
    assert gzip.decompress(zipped.body) == plain.body and len(zipped.body) < len(plain.body) / 4
    assert plain.json == json.loads(json.dumps(catalogue()))
    again = site.get("/api/catalogue", **{"If-None-Match": plain.headers["etag"]})
    assert again.status == 304 and not again.body


def test_the_server_needs_no_jax():
    code = "import sys, ftheta.lab.app, ftheta.lab.serve; assert not {'jax', 'numpy', 'scipy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_the_words_of_a_lesson_are_words_and_formulas():
    lessons = [entry["lesson"] for entry in _ENTRIES if entry["lesson"]]
    assert lessons
    for lesson in lessons:
        parts = [part["says"] for part in lesson["parts"]]
        trials = [trial["look"] for trial in lesson["trials"]]
        pairs = [html for pair in (*lesson["symbols"], *lesson["leads"]) for html in pair]
        for html in (lesson["why"], lesson["idea"], lesson["breaks"], *parts, *trials, *pairs):
            assert_safe(html)
