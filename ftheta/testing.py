"""For the test suites of other projects: thresholds that an audit has to meet, and the contract of a theorem.

def test_the_model_is_fit_to_ship():
    ftheta.testing.assert_audit("model.onnx", "test.npz", "accuracy >= 0.95", "dead_neurons == 0")

def test_the_theorem_passes_the_contract():
    ftheta.testing.assert_theorem(my_theorem)
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ftheta.auditing import audit
from ftheta.auditing.rules import UNUSABLE
from ftheta.auditing.thresholds import project_thresholds, read_thresholds, require
from ftheta.logic import Audit, Met, Result, Theorem, UsageError, Verdict
from ftheta.report.document import from_json, to_json
from ftheta.report.vega import vega
from ftheta.running import run

BROKEN = "broken on purpose"


def assert_audit(model: Any, data: Any = None, *thresholds: str, **options: Any) -> Audit:
    """Audit the network and raise an AssertionError that names every threshold that is missed or unknown, and data
    that cannot be used.

    Without `thresholds` those of `[tool.ftheta.audit]` in `pyproject.toml` here are taken; one may also be the name of
    a TOML file. The `options` are those of `ft.audit`.
    """
    __tracebackhide__ = True  # pytest shows the line of the test
    wanted = read_thresholds(thresholds or project_thresholds(Path.cwd()))
    if not wanted:
        remedy = 'give `"accuracy >= 0.95"`, or `require = [...]` under [tool.ftheta.audit] in pyproject.toml'
        raise UsageError("There is no threshold to assert.", remedy=remedy)
    found = require(audit(model, data, **options), wanted)
    assert isinstance(found, Audit)
    unusable = [finding.says for finding in found.findings if finding.rule in UNUSABLE]
    failed = [
        f"{r.text}: {r.met.value}, {r.says}" for r in found.requirements if r.met is not Met.MET
    ]
    if unusable or failed:
        raise AssertionError("\n".join([*unusable, *failed]))
    return found


def assert_theorem(theorem: Theorem) -> None:
    """Raise an AssertionError that says everything in which the theorem does not meet the contract of our own ones.

    Its words are there; its default run is not refuted, a function of its seed, and survives JSON and drawing; every
    preset runs; on the negative control a hypothesis fails and, forced, a claim is refuted.
    """
    result = run(theorem)
    failed = [*_lacking_words(theorem), *_faults_of(result), *_faults_of_presets(theorem)]
    if _without_time(run(theorem)) != _without_time(result):
        failed.append("two runs with one seed differ: draw from `rng` alone")
    if failed:
        raise AssertionError(f"{theorem.id}:\n" + "\n".join(f"- {words}" for words in failed))


def _lacking_words(theorem: Theorem) -> Iterator[str]:
    if not re.search(r"\$.+\$", theorem.statement, re.DOTALL) or theorem.statement.count("$") % 2:
        yield "its docstring is the statement: write formulas between $ signs"
    if not theorem.title or "$" in theorem.title:
        yield "give title= without formulas"
    if not theorem.gist.endswith(".") or "$" in theorem.gist:
        yield "give gist=, one plain sentence without formulas: what it says and why one cares"
    if not theorem.sources:
        yield "give sources="
    for asked in theorem.assumes:
        if not (asked.says and asked.remedy):
            yield f"hypothesis {asked.name}: say what it asks, and its remedy="
    for setting in theorem.settings:
        if not setting.knob.says:
            yield f"knob {setting.name}: say its meaning, Knob(lo, hi, 'meaning')"
    if theorem.presets.get("textbook") != {}:
        yield 'the default is a preset too: presets={"textbook": {}, …}'
    if BROKEN not in theorem.presets and not theorem.unbreakable:
        yield f'knobs that break a hypothesis are the preset "{BROKEN}"; if there are none, say why: unbreakable='


def _faults_of(result: Result) -> Iterator[str]:
    if result.verdict in (Verdict.REFUTED, Verdict.INAPPLICABLE):
        yield f"the default run is {result.verdict.value}: {result.summary}"
    if not (result.claims and result.charts and result.summary):
        yield "the evidence needs a claim, a chart and a summary"
    if from_json(to_json(result)) != result:
        yield "the result does not come back from JSON as it was"
    for chart in result.charts:
        try:
            json.dumps(vega(chart), allow_nan=False)
        except ValueError as error:
            yield f"the chart {chart.title!r} cannot be drawn: {error}"


def _faults_of_presets(theorem: Theorem) -> Iterator[str]:
    for name in theorem.presets:
        verdict = run(theorem, preset=name).verdict
        if verdict is Verdict.REFUTED or (verdict is Verdict.INAPPLICABLE) != (name == BROKEN):
            yield f'with the preset "{name}" it is {verdict.value}'
    if theorem.breaks_on is None:
        if not theorem.unbreakable:
            yield "give breaks_on=, on which a hypothesis fails, or say why not: unbreakable="
        return
    if run(theorem, breaker=True).verdict is not Verdict.INAPPLICABLE:
        yield "no hypothesis fails on the negative control"
    if (
        run(theorem, breaker=True, force=True).verdict is not Verdict.REFUTED
        and not theorem.unbreakable
    ):
        yield "forced on the negative control, no claim is refuted; if none can be, say why: unbreakable="


def _without_time(result: Result) -> Result:
    return replace(result, provenance=replace(result.provenance, wall_seconds=0.0))
