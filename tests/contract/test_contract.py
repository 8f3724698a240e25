"""The contract that every theorem of the catalogue passes."""

import re
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import pytest

from ftheta.catalogue import theorems
from ftheta.catalogue.bibliography import references
from ftheta.logic import Enclosure, Result, Status, Theorem, UsageError, Verdict
from ftheta.report.document import from_json, to_json
from ftheta.report.mathml import UNREAD, formulas, mathml
from ftheta.report.render import render
from ftheta.running import run

from .reference_values import REFERENCE, WITHOUT_REFERENCE
from .reference_values.reference import Reference
from .studies import STUDIES

CATALOGUE = (Path(__file__).parent / "catalogue_ids.txt").read_text().split()
THEOREMS = list(theorems().values())
PRESETS = [
    pytest.param(t, name, marks=[pytest.mark.nightly] * ((t.id, name) in STUDIES))
    for t in THEOREMS
    for name in t.presets
]
BROKEN = "broken on purpose"

each_theorem = pytest.mark.parametrize("theorem", THEOREMS, ids=lambda t: t.id)
unhurried = pytest.mark.timeout(120)


def default_result(id: str) -> Result:
    return result_with(id)


def result_with(id: str, **knobs: Any) -> Result:
    """The theorem on its built-in subject: with the knobs of a preset, or of numbers that are known."""
    return _results(id)[tuple(sorted(knobs.items()))]


class _Results(dict[tuple[tuple[str, Any], ...], Result]):
    """The runs of one theorem by their knobs."""

    def __init__(self, theorem: Theorem) -> None:
        self.theorem = theorem

    def __missing__(self, knobs: tuple[tuple[str, Any], ...]) -> Result:
        self[knobs] = run(self.theorem, **dict(knobs))
        return self[knobs]


@lru_cache(maxsize=1)  # the tests of one theorem follow one another
def _results(id: str) -> _Results:
    return _Results(theorems()[id])


@cache
def sources() -> dict[str, str]:
    return references()


def stands(result: Result) -> bool:
    """Whether nothing speaks against a claim, on the subject or in an example."""
    judgements = [judged.judgement for judged in (*result.claims, *result.examples)]
    return not any(j.contradicted or j.verdict is Verdict.REFUTED for j in judgements)


def timeless(result: Result) -> Result:
    return replace(result, provenance=replace(result.provenance, wall_seconds=0.0))


@each_theorem
def test_the_id_is_one_of_the_catalogue_or_begins_with_one(theorem: Theorem):
    listed = any(theorem.id == item or theorem.id.startswith(f"{item}-") for item in CATALOGUE)
    assert listed, f"add {theorem.id} as a line of tests/contract/catalogue_ids.txt"
    module = theorem.measure.__module__.rsplit(".", 1)[-1].replace("_", "-")
    named = theorem.id == module or theorem.id.startswith(f"{module}-")
    assert named, f"name the file and the function alike: {module} holds {theorem.id}"


@each_theorem
def test_the_statement_has_mathematics_and_the_title_is_plain(theorem: Theorem):
    mathematical = re.search(r"\$.+\$", theorem.statement, re.DOTALL)
    assert mathematical, (
        "the docstring of the function is the statement: write its formulas between $ signs"
    )
    assert theorem.statement.count("$") % 2 == 0, "a $ sign is missing in the docstring"
    assert theorem.title and "$" not in theorem.title, "give title= without formulas"


@each_theorem
def test_the_gist_is_a_plain_sentence_and_the_theorems_to_see_exist(theorem: Theorem):
    plain = theorem.gist.endswith(".") and "$" not in theorem.gist
    assert plain, "give gist=, one plain sentence without formulas: what it says and why one cares"
    assert theorem.see_also and theorem.id not in theorem.see_also, (
        "give see_also=, ids of other theorems"
    )
    assert not set(theorem.see_also) - theorems().keys(), (
        "see_also= names theorems that do not exist"
    )


@each_theorem
def test_every_source_is_a_seed_or_in_the_bibliography(theorem: Theorem):
    assert theorem.sources, "give sources=, keys of references.bib"
    for source in theorem.sources:
        assert sources().get(source), f"{source} is no key of references.bib"


@each_theorem
def test_each_knob_has_a_range_a_plain_meaning_and_a_default_within_its_limits(theorem: Theorem):
    for setting in theorem.settings:
        assert setting.knob.says, f"{setting.name}: say its meaning, Knob(lo, hi, 'meaning')"
        has_range = (
            setting.knob.choices or setting.type == "bool" or setting.knob.lo < setting.knob.hi
        )
        assert has_range, f"{setting.name}: give it a range, Knob(lo, hi, 'meaning'), or choices="
        assert setting.parse(setting.default) == setting.default


@each_theorem
def test_every_hypothesis_says_what_it_asks_and_how_to_meet_it(theorem: Theorem):
    of_adapters = [adapter.needs for adapter in theorem.adapters if adapter.needs is not None]
    for hypothesis in (*theorem.assumes, *of_adapters):
        assert hypothesis.says and hypothesis.remedy, (
            f"{hypothesis.name}: say what it asks, and its remedy="
        )


@unhurried
@each_theorem
def test_the_default_run_holds_or_is_inconclusive_and_shows_something(theorem: Theorem):
    result = default_result(theorem.id)
    assert result.verdict not in (Verdict.REFUTED, Verdict.INAPPLICABLE), result.summary
    assert result.claims and result.charts and result.summary, (
        "Evidence has claims, at least one chart and a summary"
    )
    assert stands(result), "a claim or an example is contradicted"


@unhurried
@each_theorem
def test_every_proof_of_a_hypothesis_says_why_it_is_one(theorem: Theorem):
    for check in default_result(theorem.id).checks:
        assert bool(check.finding.why) == (check.finding.status is Status.PROVED), check.name


@pytest.mark.nightly
@unhurried
@each_theorem
def test_a_run_is_a_function_of_its_seed(theorem: Theorem):
    assert timeless(run(theorem)) == timeless(default_result(theorem.id))


@pytest.mark.nightly
@unhurried
@pytest.mark.parametrize("seed", range(1, 6))
@each_theorem
def test_other_seeds_do_not_refute_it(theorem: Theorem, seed: int):
    result = run(theorem, seed=seed)
    assert result.verdict not in (Verdict.REFUTED, Verdict.INAPPLICABLE)
    assert stands(result)


@unhurried
@each_theorem
def test_the_breaker_is_inapplicable_and_refuted_when_forced(theorem: Theorem):
    if theorem.breaks_on is None:
        assert theorem.unbreakable, (
            "give breaks_on=, a subject on which a hypothesis fails, or say why not: unbreakable="
        )
        return
    assert run(theorem, breaker=True).verdict is Verdict.INAPPLICABLE, (
        "no hypothesis fails on the negative control"
    )
    forced = run(theorem, breaker=True, force=True, examples=False)
    refuted = forced.verdict is Verdict.REFUTED or (
        theorem.unbreakable and forced.verdict is Verdict.INAPPLICABLE
    )
    assert refuted, (
        "forced on the negative control, a claim must be refuted: by exact numbers, or by a Witness whose sides are "
        "evaluated again with outward rounding. If none can be, say why: unbreakable="
    )


def test_every_study_is_a_preset():
    assert {(t.id, name) for t in THEOREMS for name in t.presets} >= STUDIES


@unhurried
@pytest.mark.parametrize("theorem, name", PRESETS, ids=lambda v: v if isinstance(v, str) else v.id)
def test_every_preset_runs(theorem: Theorem, name: str):
    result = result_with(theorem.id, **theorem.presets[name])
    assert (result.verdict is Verdict.INAPPLICABLE) == (name == BROKEN), result.summary
    assert stands(result)


HAD_NO_CHART = {
    "network-calculus",
    "pieces-1d",
    "relu-symmetries-conservation",
    "implicit-bias",
    "unet",
    "lipschitz-margin",
}
"""Theorems that had none once: they are tried with every change, all others at night."""


@unhurried
@pytest.mark.parametrize(
    "theorem",
    [
        pytest.param(t, marks=[] if t.id in HAD_NO_CHART else [pytest.mark.nightly], id=t.id)
        for t in THEOREMS
        if BROKEN in t.presets
    ],
)
def test_what_is_broken_on_purpose_still_has_a_chart(theorem: Theorem):
    forced = run(theorem, preset=BROKEN, force=True, examples=False)
    assert forced.charts


@each_theorem
def test_there_is_a_textbook_preset_and_a_broken_one(theorem: Theorem):
    assert theorem.presets.get("textbook") == {}, (
        'the default is a preset too: presets={"textbook": {}, …}'
    )
    broken = BROKEN in theorem.presets or theorem.unbreakable
    assert broken, (
        f'knobs that break a hypothesis are the preset "{BROKEN}"; if there are none, say why: unbreakable='
    )


@unhurried
@each_theorem
def test_the_result_comes_back_from_json_as_an_equal_object(theorem: Theorem):
    result = default_result(theorem.id)
    assert from_json(to_json(result)) == result


@unhurried
@each_theorem
def test_every_chart_renders_to_svg(theorem: Theorem):
    for chart in default_result(theorem.id).charts:
        svg = str(render(chart, "svg"))
        assert svg.startswith("<svg") and "NaN" not in svg


@unhurried
@each_theorem
def test_every_chart_has_labels_that_latex_can_read(theorem: Theorem):
    for chart in default_result(theorem.id).charts:
        try:
            source = str(render(chart, "tex"))
        except UsageError:  # it has no axes, or such as PGFPlots has not
            continue
        named = re.findall(
            r"label=\{(.*)\},$|addlegendentry\{(.*)\}$|yticklabels=\{(.*)\},$", source, re.MULTILINE
        )
        for words in ("".join(found) for found in named):
            bare = re.sub(r"\\[{}]", "", words)
            assert bare.count("{") == bare.count("}"), words
            assert all(UNREAD not in mathml(formula) for formula in formulas(words)), words
            assert not re.search(
                r"[\u0370-\u03ff\u2070-\u20ff\u2100-\u2bff\U0001d400-\U0001d7ff]", words
            ), words


def numbers_with(theorem: Theorem, reference: Reference) -> dict[str, Enclosure]:
    """All numbers of a run with the knobs of a reference; those of examples where it speaks of them."""
    usual = default_result(theorem.id)
    examples = not reference.expected.keys() <= usual.numbers.keys()
    run_anyway = [
        knobs for name, knobs in theorem.presets.items() if (theorem.id, name) not in STUDIES
    ]
    if reference.knobs in run_anyway:
        result = result_with(theorem.id, **reference.knobs)
    else:
        result = run(theorem, examples=examples, **reference.knobs)
    assert not result.numbers.keys() & result.example_numbers.keys(), "two numbers have one name"
    return {**result.numbers, **result.example_numbers}


@unhurried
@each_theorem
def test_the_reference_values_of_the_catalogue_hold(theorem: Theorem):
    file = f"tests/contract/reference_values/{theorem.chapter}.py"
    remedy = f"{file}: add numbers of {theorem.id} that are known by other means than our code"
    assert bool(REFERENCE.get(theorem.id)) != (theorem.id in WITHOUT_REFERENCE), remedy
    for reference in REFERENCE.get(theorem.id, ()):
        numbers = numbers_with(theorem, reference)
        for name, expected in reference.expected.items():
            found = numbers[name]
            assert found.middle == pytest.approx(expected, rel=reference.rtol, abs=1e-12), name
            narrow = found.width <= max(10 * reference.rtol * abs(expected), 1e-9)
            assert narrow or found == Enclosure.at_least(found.lo, samples=found.samples), name
