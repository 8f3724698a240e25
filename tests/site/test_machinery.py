"""Stored runs, the style sheet, formulas and docstrings of the site."""

import json
from xml.etree import ElementTree

import pytest

import ftheta
from ftheta.catalogue import index
from ftheta.report.explained import MOST_SYMBOLS, explain_statement, mark_symbols, split_symbols
from ftheta.report.mathml import statement_html
from website.docstrings import to_restructured_text
from website.formulas import formula_html, is_unread
from website.markup import heading, html_block, toctree
from website.reference import THEMES, public_names, reference_index, reference_page
from website.results import ResultStore, control_of, digest_sources, list_runs, store_runs
from website.style import style_sheet, top_rules


def test_runs_are_stored_once_and_one_that_fails_stops_no_other(tmp_path, capsys):
    store = ResultStore(tmp_path / "results")
    assert store_runs(store, ["no-such-theorem", "hat-function"], workers=1) == ["no-such-theorem"]
    assert store.read("hat-function").id == "hat-function"
    assert store.read("no-such-theorem") is None
    capsys.readouterr()
    assert store_runs(store, ["hat-function"], workers=1) == []
    assert "hat-function" not in capsys.readouterr().err


def test_every_theorem_has_a_default_run_and_a_control_where_it_can_be_broken():
    runs = list_runs(index().values())
    assert set(index()) <= set(runs)
    assert {control_of(id) for id, entry in index().items() if entry["breakable"]} == set(
        runs
    ) - set(index())


def test_a_stored_run_of_other_sources_or_that_cannot_be_read_is_no_run(tmp_path):
    store = ResultStore(tmp_path)
    (tmp_path / "sources.json").write_text(json.dumps({"a": "new", "b": "old", "c": "new"}))
    for id in "ab":
        (tmp_path / f"{id}.json").write_text("{")
    assert store.missing("abc", "new") == ["b", "c"]
    assert store.read("a") is None


def test_the_digest_changes_with_a_core_and_not_with_a_view(tmp_path):
    for name in ("certify/bounds.py", "lab/app.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x = 1")
    before = digest_sources(tmp_path)
    (tmp_path / "lab/app.py").write_text("x = 2")
    assert digest_sources(tmp_path) == before
    (tmp_path / "certify/bounds.py").write_text("x = 2")
    assert digest_sources(tmp_path) != before


def test_formulas_are_mathml_and_a_bad_one_is_reported():
    assert formula_html(r"x^2", display=False) == "<math><msup><mi>x</mi><mn>2</mn></msup></math>"
    block = formula_html(r"x\le 1", display=True, number="3")
    assert 'display="block"' in block and "(3)" in block and not is_unread(block)
    assert is_unread(formula_html(r"\unknown{<b>}", display=True))
    assert "<b>" not in formula_html(r"\unknown{<b>}", display=False)


@pytest.mark.parametrize(
    ("latex", "symbols"),
    [
        (r"\mu,\ L", [r"\mu", "L"]),
        ("f(x,y)", ["f(x,y)"]),
        (r"a,\,b", ["a", "b"]),
        (r"\{x_1,x_2\}", [r"\{x_1,x_2\}"]),
    ],
)
def test_commas_part_symbols_outside_of_brackets(latex, symbols):
    assert split_symbols(latex) == symbols


def test_a_symbol_is_explained_wherever_it_stands_and_the_longest_wins():
    made = explain_statement(
        r"$W_\ell x\le W$ for $W_\ell$", {r"$W_\ell$": "a layer", "$W$": "all", "$z$": "absent"}
    )
    assert made.count("symbol-0") == 2 and made.count("symbol-1") == 1 and "symbol-2" not in made
    assert made.count('class="hint ') == 3


def test_the_tab_key_reaches_each_symbol_once_and_all_are_described():
    made = explain_statement("$x+x=2x$ for $y$", {"$x$": "a number", "$y$": "another"})
    assert made.count('tabindex="0"') == 2 and made.count('tabindex="-1"') == 2
    assert made.count('aria-describedby="hint-0"') == 3 and made.count('id="hint-0"') == 1


def test_the_children_of_a_fraction_are_not_taken_together_as_a_product():
    made = mark_symbols(statement_html(r"$ab+\frac ab+x_a^b+\sqrt{ab}$"), {"$ab$": "a product"})
    assert made.count("symbol-0") == 2
    for formula in ElementTree.fromstring(f"<p>{made}</p>").iter():
        places = {"mfrac": 2, "msubsup": 3}.get(formula.tag, len(formula))
        assert len(formula) == places


def test_statements_without_a_lesson_are_left_as_they_are():
    assert "symbol" not in explain_statement("$x$", {}) and "hints" not in explain_statement(
        "$x$", {}
    )


def test_the_style_sheet_has_room_for_the_symbols_of_every_lesson():
    assert (
        max(len(entry["lesson"]["symbols"]) for entry in index().values() if entry["lesson"])
        <= MOST_SYMBOLS
    )


def test_rules_of_the_reports_hold_inside_of_their_blocks_alone():
    rules = dict(top_rules(style_sheet()))
    assert ":root" not in rules and "body" not in rules and "table" not in rules
    inside = dict(top_rules(rules[".ftheta"]))
    assert ".pill" in inside and "body" not in inside and "@media print" not in inside
    night = rules['body[data-theme="dark"] .ftheta']
    assert "--holds: #4ade80" in night and 'figure [fill="#0f172a"]{fill:#e2e8f0}' in night


def test_rules_are_told_apart_by_their_outermost_braces():
    css = "a { b: c; } /* { */ @media x { p { q: r } } a { d: e }"
    assert {head: " ".join(body.split()) for head, body in top_rules(css)} == {
        "a": "b: c; d: e",
        "@media x": "p { q: r }",
    }


def test_marks_of_markdown_in_a_title_are_letters():
    assert heading(2, "a_b *c* <d> `e`") == r"## a\_b \*c\* \<d\> \`e\`" + "\n"
    assert "a ‹b›" in toctree({"x": "a <b>"})
    assert html_block("", "") == ""


@pytest.mark.parametrize(
    ("docstring", "written"),
    [
        ("The `x`s of $a_b$.", r"The ``x``\ s of :math:`a_b`."),
        ("|slope| and f_ and *args", r"\|slope\| and f\_ and \*args"),
        ("``code`` and **bold**", "``code`` and **bold**"),
        ("Options:\n- one\n- two", "Options:\n\n- one\n- two"),
        ("$$\n x \n$$", ":math:`x`"),
        (
            "What it does.\n\nParameters\n----------\nnet\n    A `Network`,\n    or a file.\nseed\n    Of the search.",
            "What it does.\n\n:param net:\n    A ``Network``,\n    or a file.\n:param seed:\n    Of the search.",
        ),
        (
            "No constant is smaller: there is a secant.",
            "No constant is smaller: there is a secant.",
        ),
    ],
)
def test_docstrings_become_restructured_text(docstring, written):
    assert "\n".join(to_restructured_text(docstring.split("\n"))) == written


def test_every_public_name_is_in_the_reference_once():
    listed = [name for names in THEMES.values() for name in names]
    assert sorted(listed) == dir(ftheta)
    page = reference_index()
    assert all(f'href="{name}.html"' in page for name in listed)


def test_functions_classes_and_packages_are_documented_by_what_they_are():
    assert "autofunction:: ftheta.check\n" in reference_page("check")
    assert "autofunction:: ftheta.catalogue.theorems\n" in reference_page("theorems")
    assert "autoclass:: ftheta.Network\n   :members:" in reference_page("Network")
    pieces = reference_page("pieces")
    assert (
        "autofunction:: ftheta.pieces.pieces" in pieces
        and "autoclass:: ftheta.pieces.Box" in pieces
    )
    assert "Complex" in public_names(ftheta.pieces) and "kernels" not in public_names(ftheta.pieces)
    assert "## What it returns" in reference_page("lipschitz")
