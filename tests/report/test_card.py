"""What is printed in the terminal and shown in notebooks."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest
from rich.console import Console

import ftheta
from ftheta.logic import Axis, Chart, Check, Curves, Finding, Result, Series
from ftheta.logic.result import Skipped
from ftheta.networks import Dense, Description
from ftheta.report.audit_card import audit_card
from ftheta.report.card import card
from ftheta.report.notebook import chart_bundle, install, mimebundle, network_bundle
from ftheta.report.sheet import sheet
from ftheta.report.sparkline import caption
from ftheta.report.words import unmet_requirements
from ftheta.subjects import Network

from . import samples

INDEX = Path(ftheta.__file__).parent / "theorems" / "index.json"
RESULTS = [samples.result(), samples.inapplicable(), samples.refuted(), samples.rich_result()]


def printed(renderable: object, width: int = 120, **options: object) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False, **options)  # type: ignore[arg-type]
    console.print(renderable)
    return console.file.getvalue()  # type: ignore[attr-defined]


@pytest.mark.parametrize("width", [60, 120])
@pytest.mark.parametrize("result", RESULTS, ids=lambda r: r.id)
def test_a_card_fits_its_terminal_and_loses_nothing(result: Result, width: int) -> None:
    text = printed(card(result), width)
    assert all(len(line) <= width for line in text.splitlines())
    flat = re.sub(r"\s+", " ", text)
    for word in (
        result.title,
        result.id,
        result.chapter,
        "ftheta check",
        f"ftheta show {result.id}",
        "seed 0",
    ):
        assert word in flat
    for judged in result.claims:
        assert judged.judgement.verdict.value in flat
    for check in result.checks:
        assert check.finding.note in flat


def test_a_card_says_all_that_was_found() -> None:
    text = re.sub(r"\s+", " ", printed(card(samples.rich_result())))
    assert "Lip(fθ) ≤ ∏_(ℓ=1)⁴ ‖W_ℓ‖₂" in text
    assert "≥ 4.13 ≤ 17.4 4.2×" in text
    assert "As printed in the source ✗ the constant as printed: refuted" in text
    assert (
        "witness: x = 0.5, w = (1, 2, 3), case = inf; there 3 against 2 (exact arithmetic)" in text
    )
    assert "vacuous" in text
    assert "interval = [1, 2]" in text
    assert "evidence 1: 200 samples; nothing contradicts" in text
    assert "θ₁ 1 not a number" in text
    assert "errata in the sources: Scaman prints ∑ for ∏." in text
    assert re.search(r"[⠁-⣿]{3}", text)  # the small picture


def test_gist_examples_and_related_theorems_are_shown() -> None:
    result = samples.rich_result()
    text = re.sub(r"\s+", " ", printed(card(result)))
    assert text.index(result.title) < text.index(result.gist) < text.index("Lip(fθ)")
    assert "Examples (not about the subject)" in text and "steepness of a random network" in text
    assert "steepness by hand = 7" in text
    assert "see also: relu-piecewise-affine, margin-bounds" in text
    shown = mimebundle(result)["text/html"]
    for words in (
        result.gist,
        "steepness of a random network",
        "See also: relu-piecewise-affine, margin-bounds",
    ):
        assert words in shown


def test_a_hypothesis_that_awaits_another_is_not_named_as_an_obstacle() -> None:
    layers = Check("list of layers", "the layers are known", "", Finding.failed("a function"))
    gaussian = Check(
        "Gaussian weights", "the weights are Gaussian", "", Finding.undecided("layers")
    )
    assert (
        unmet_requirements(replace(samples.inapplicable(), checks=(layers, gaussian)))
        == "list of layers"
    )
    assert (
        unmet_requirements(replace(samples.inapplicable(), checks=(gaussian,)))
        == "Gaussian weights"
    )


def test_what_was_not_run_within_the_budget_is_one_line() -> None:
    late = (
        Skipped("a", "stopped after 1 s", "try --budget 2m", True, stopped_after=1.0),
        Skipped("b", "no time", "try --budget 2m", True),
    )
    text = re.sub(r"\s+", " ", printed(audit_card(replace(samples.audit(), skipped=late))))
    assert "not run within the budget: a (stopped after 1 s), b; try --budget 2m" in text


def test_the_small_picture_says_what_its_axes_span() -> None:
    drawn = tuple(Series(f"{1950 + k}", (1943.0, 2026.0), (k, k)) for k in (1, 2, 3, 4))
    left_out = Series("a fifth", (1900.0, 2026.0), (1000.0, 1000.0))
    years = Curves("c", Axis("year", years=True), Axis(), (*drawn, left_out))
    assert caption(years) == ("4", "1", "1943", "year → 2026")
    assert caption(replace(years, x=Axis("steps")))[2:] == ("1,943", "steps → 2,026")


def test_a_failed_hypothesis_is_told_with_its_remedy() -> None:
    text = re.sub(r"\s+", " ", printed(card(samples.inapplicable())))
    assert "✗ every convolution pads circularly" in text
    assert 'to meet it: set `padding_mode="circular"`' in text
    assert "△ not applicable" in text


def test_colours_are_used_on_a_terminal_and_left_out_when_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    colour = re.compile(r"\x1b\[[0-9;]*(3[0-8]|9[0-7])[0-9;]*m")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert colour.search(
        printed(card(samples.result()), force_terminal=True, color_system="standard")
    )
    monkeypatch.setenv("NO_COLOR", "1")
    assert not colour.search(
        printed(card(samples.result()), force_terminal=True, color_system="standard")
    )


def test_a_terminal_without_unicode_gets_letters_that_it_has() -> None:
    raw = io.BytesIO()
    console = Console(file=io.TextIOWrapper(raw, encoding="ascii", newline=""), width=100)
    for renderable in (card(samples.rich_result()), audit_card(samples.audit())):
        console.print(renderable)
    console.file.flush()
    text = raw.getvalue().decode("ascii")
    assert "Lip(ftheta) <= prod_(l=1)^4 ||W_l||_2" in text
    assert "ok consistent" in text and "*" in text


def test_control_characters_in_names_do_not_reach_the_terminal() -> None:
    evil = "net\x1b]0;owned\x07\x1b[2J\r"
    nasty = replace(
        samples.result(title=evil), provenance=replace(samples.PROVENANCE, subject=evil)
    )
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", printed(card(nasty)))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", printed(audit_card(samples.audit(evil))))


def test_square_brackets_are_not_taken_for_markup() -> None:
    assert "[bold]x[/bold]" in printed(card(replace(samples.result(), summary="[bold]x[/bold]")))


@pytest.mark.parametrize("width", [60, 120])
def test_an_audit_opens_with_findings_and_ends_with_the_counts(width: int) -> None:
    text = printed(audit_card(samples.audit(), Path("report.html")), width)
    assert all(len(line) <= width for line in text.splitlines())
    flat = re.sub(r"\s+", " ", text)
    assert "NEEDS ATTENTION 1 problem · 1 good" in flat
    assert "PROBLEM Predictions flip easily: 7 of 24 rows. 15 of 24 are certified to stay." in flat
    assert "accuracy >= 0.95" in flat and "missed" in flat
    assert "Checks: 3 hold 1 inconclusive 1 not applicable 1 not checked 1 violation" in flat
    assert "lazy-regime was not checked: needs the initial weights" in flat
    assert "report: report.html" in flat and "ftheta audit mnist_mlp.onnx --seed 0" in flat
    assert "conv-iff-equivariant" not in flat


def test_without_a_report_the_card_has_every_fact_and_theorem() -> None:
    flat = re.sub(r"\s+", " ", printed(audit_card(samples.audit())))
    assert "conv-iff-equivariant requires circular padding" in flat
    assert "rows tried 24 exact" in flat


@pytest.mark.parametrize("width", [60, 120])
def test_the_sheet_of_a_theorem_lists_what_can_be_turned(width: int) -> None:
    entry = next(
        e for e in json.loads(INDEX.read_text(encoding="utf-8")) if e["id"] == "gd-strongly-convex"
    )
    text = printed(sheet(entry), width)
    assert all(len(line) <= width for line in text.splitlines())
    flat = re.sub(r"\s+", " ", text)
    assert "--kappa" in flat and "condition number" in flat and '--preset "at the edge"' in flat
    assert "‖θₖ − θ*‖² ≤ γᵏ ‖θ₀ − θ*‖²" in flat


# -- notebooks --------------------------------------------------------------------------------------


def test_a_notebook_gets_three_forms_without_svg_or_mathml() -> None:
    bundle = mimebundle(samples.rich_result())
    assert set(bundle) == {"text/html", "text/latex", "text/plain"}
    html = bundle["text/html"]
    assert "<svg" not in html and "<math" not in html and "<script" not in html
    assert 'src="data:image/png;base64,' in html and "<details>" in html and "$$" in html
    assert "consistent" in bundle["text/latex"] and "$$" in bundle["text/latex"]
    assert "✓ consistent" in bundle["text/plain"] and "\x1b" not in bundle["text/plain"]


def test_a_notebook_may_ask_for_some_forms_only() -> None:
    assert set(mimebundle(samples.result(), include={"text/plain"})) == {"text/plain"}
    assert "text/html" not in mimebundle(samples.result(), exclude={"text/html"})
    assert set(mimebundle(samples.audit())) == {"text/html", "text/plain"}


def test_markup_in_names_is_escaped_in_notebooks() -> None:
    evil = "<script>alert(1)</script>"
    nasty = replace(samples.result(title=evil, statement=evil), summary=evil)
    assert "<script" not in mimebundle(nasty)["text/html"]
    assert "<script" not in mimebundle(samples.audit(evil))["text/html"]


def test_results_are_registered_by_name_with_a_running_ipython_only() -> None:
    seen: list[tuple[str, str]] = []
    formatter = SimpleNamespace(
        for_type_by_name=lambda module, name, function: seen.append((module, name))
    )
    assert install(
        SimpleNamespace(display_formatter=SimpleNamespace(mimebundle_formatter=formatter))
    )
    results = [("ftheta.logic.result", "Result"), ("ftheta.logic.result", "Audit")]
    others = [("ftheta.graph.tableaux", "Tableau"), ("ftheta.subjects.network", "Network")]
    assert seen[:4] == [*results, *others]
    assert {name for module, name in seen[4:]} == {kind.__name__ for kind in get_args(Chart)}
    assert {module for module, name in seen[4:]} == {"ftheta.logic.chart"}
    assert install(SimpleNamespace()) is False
    assert (Result.__module__, Result.__name__) == seen[0]


def test_networks_and_charts_show_themselves_in_a_notebook() -> None:
    layers = Description(
        (Dense(np.ones((3, 2)), np.zeros(3), "relu"), Dense(np.ones((1, 3)), np.zeros(1)))
    )
    net = Network.described(layers, "<net>")
    shown = network_bundle(net)
    assert "&lt;net&gt;" in shown["text/html"] and "2–3–1, relu" in shown["text/html"]
    assert shown["text/plain"] == repr(net) == "Network('<net>', 2 → 1, 13 parameters)"
    assert "data:image/png" in chart_bundle(samples.HISTOGRAM)["text/html"]


def test_what_an_audit_comes_to_stays_in_one_line() -> None:
    name = "a network with quite a long name.onnx on rows from a table"
    lines = printed(audit_card(samples.audit(name)), 80).splitlines()
    assert any("NEEDS ATTENTION" in one and "1 problem · 1 good" in one for one in lines)
