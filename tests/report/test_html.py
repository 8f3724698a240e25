"""The report as a page: complete, closed in itself, harmless."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ftheta.logic import Result
from ftheta.logic.result import Audit, Skipped
from ftheta.report import html as html_module
from ftheta.report.audit_html import audit_page
from ftheta.report.html import result_page
from ftheta.report.words import unmet_requirements

from . import samples
from .test_placing import contrast

VOID = {"meta", "br", "hr", "img", "input", "link", "wbr"}
PAGES = {
    "audit": lambda: audit_page(samples.audit()),
    "everything": lambda: result_page(samples.rich_result()),
    "inapplicable": lambda: result_page(samples.inapplicable()),
    "refuted": lambda: result_page(samples.refuted()),
    "empty audit": lambda: audit_page(
        replace(
            samples.audit(),
            results=(),
            skipped=(),
            facts=(),
            diagram=None,
            findings=(),
            sections=(),
        )
    ),
}


class Balance(HTMLParser):
    """Checks that every element is closed in order, and gathers what the page refers to."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.faults: list[str] = []
        self.seen: list[str] = []
        self.targets: list[str] = []
        self.ids: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        for name, value in attrs:
            if name.startswith("on"):
                self.faults.append(f"{name} on {tag}")
            if name in ("href", "src", "xlink:href", "action", "data", "srcset"):
                self.targets.append(value or "")
            if name == "id":
                self.ids.append(value or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes nothing")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] != "style":
            self.words.append(data)


def read(page: str) -> Balance:
    parser = Balance()
    parser.feed(page)
    parser.close()
    return parser


def words(page: str) -> str:
    return re.sub(r"\s+", " ", " ".join(read(page).words))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_well_formed(name: str) -> None:
    parsed = read(PAGES[name]())
    assert parsed.faults == [] and parsed.open == []
    assert len(parsed.ids) == len(set(parsed.ids))
    assert parsed.seen[:2] == ["html", "head"]
    assert parsed.seen.count("h1") == 1


@pytest.mark.parametrize("name", PAGES)
def test_a_page_refers_to_nothing_outside_itself(name: str) -> None:
    page = PAGES[name]()
    parsed = read(page)
    assert all(t.startswith(("data:", "#")) for t in parsed.targets)
    assert {t[1:] for t in parsed.targets if t.startswith("#")} <= set(parsed.ids)
    without_namespaces = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert not re.search(r"https?:|//\w+\.\w|@import", without_namespaces)
    assert all(
        url.startswith(("data:", "#")) for url in re.findall(r"url\(['\"]?([^)'\"]{0,40})", page)
    )
    assert not {"script", "link", "iframe", "object", "embed", "form", "base"} & set(parsed.seen)


def test_the_audit_report_has_every_part() -> None:
    page = audit_page(samples.audit())
    told = words(page)
    for part in (
        "mnist_mlp.onnx",
        "118,282",
        "Needs attention",
        "1 problem · 1 good",
        "Predictions flip easily: 7 of 24 rows.",
        "15 of 24 are certified to stay.",
        "→ train with robust=",
        "problem above 0.1",
        "accuracy >= 0.95 missed 0.91",
        "3 held · 1 violated · 1 inconclusive · 1 not applicable · 1 not checked",
        "1 theorem is about networks of another kind.",
        "needs the initial weights",
        "What is it?",
        "How robust is it?",
        "The product of spectral norms is 17.4.",
        "To meet “circular padding”",
        'padding_mode="circular"',
        "As printed in the source:",
        "Errata in the sources:",
        "200 samples; nothing contradicts",
        "Reproduce",
        "ftheta audit mnist_mlp.onnx --seed 0",
        "jax 0.10.2",
        "c54250a690b1",
    ):
        assert part in told, part
    assert page.count("<math") > 10
    assert (
        page.count("<svg")
        == sum(len(r.charts) for r in samples.audit().results if not unmet_requirements(r)) + 1
    )
    assert "≤ 17.4" in told
    assert told.index("Predictions flip") < told.rindex("What is it?") < told.rindex("All checks")


def test_a_finding_is_read_before_anything_else_and_what_does_not_apply_has_no_colour() -> None:
    page = audit_page(samples.audit())
    body = page.split("</head>")[1]
    assert body.index('class="findings"') < 4000
    assert 'class="pill fails"' not in body
    many = replace(samples.audit(), findings=samples.FINDINGS * 10)
    assert audit_page(many).count("<h3>") == 12 and "8 more findings" in audit_page(many)


def test_gist_examples_and_related_theorems_are_on_the_page() -> None:
    page = audit_page(samples.audit())
    assert '<p class="gist">Norms of layers multiply, so that' in page
    assert "steepness of a random network" in page and "steepness by hand" in page
    assert (
        'See also: <a href="#t-relu-piecewise-affine">relu-piecewise-affine</a>, margin-bounds.'
        in page
    )


def test_figures_and_tables_speak_to_screen_readers() -> None:
    page = audit_page(samples.audit())
    assert page.count('role="img"') == page.count("<svg")
    assert len(re.findall(r'<svg [^>]*aria-label="[^"]{5,}', page)) == page.count("<svg")
    assert page.count("<table") == page.count("<thead>")
    assert page.count('<th scope="col"') >= 6
    assert '<html lang="en">' in page


def test_a_hostile_network_does_not_get_through() -> None:
    evil = "<script>alert(1)</script>\"' onload=x <img src=http://evil.example/x>"
    nasty: Result = replace(
        samples.rich_result(),
        id=evil,
        title=evil,
        statement=evil,
        summary=evil,
        errata=evil,
        sources=(evil,),
        checks=tuple(
            replace(c, name=evil, says=evil, remedy=evil) for c in samples.inapplicable().checks
        ),
        numbers={evil: samples.result().numbers["product"]},
        tables=tuple(
            replace(t, title=evil, columns=(evil,) * 3, rows=((evil,) * 3,))
            for t in samples.rich_result().tables
        ),
        charts=tuple(replace(chart, title=evil) for chart in samples.CHARTS),
        provenance=replace(samples.PROVENANCE, subject=evil, knobs={"points": evil}),
    )
    missing = (Skipped(evil, evil, evil),)
    said = tuple(
        replace(f, says=evil, basis=evil, means=evil, remedy=evil, theorem=evil)
        for f in samples.FINDINGS
    )
    audit: Audit = replace(
        samples.audit(evil), results=(nasty,), facts=((evil, evil),), skipped=missing, findings=said
    )
    for page in (result_page(nasty), audit_page(audit)):
        parsed = read(page)
        assert "script" not in parsed.seen and "img" not in parsed.seen
        assert parsed.faults == [] and parsed.open == []
        assert all(t.startswith(("data:", "#")) for t in parsed.targets)


def test_the_page_can_be_read_in_the_dark_and_on_paper() -> None:
    page = result_page(samples.result())
    assert "prefers-color-scheme: dark" in page and "@media print" in page
    assert 'figure [fill="#2563eb"]{fill:#60a5fa}' in page


@pytest.mark.parametrize("block", [0, 1], ids=["light", "dark"])
def test_every_word_of_the_page_can_be_read(block: int) -> None:
    css = (Path(html_module.__file__).parent / "page.css").read_text(encoding="utf-8")
    rules = re.findall(r":root \{([^}]*--paper[^}]*)\}", css)[block]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6})", rules))
    for name in ("ink", "muted", "link", "holds", "fails", "refuted", "open", "unchecked", "noted"):
        for ground in ("paper", f"{name}-soft"):
            if ground in colours:
                assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)


def test_a_report_is_of_reasonable_size() -> None:
    assert len(result_page(samples.result())) < 400_000
