"""A result as the page shows it: the words, numbers and charts that every other view has, as one JSON message."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from html import escape
from math import isfinite
from typing import Any

from ftheta.languages import t
from ftheta.logic import Chart, Check, Enclosure, Judged, Result, Status, Table
from ftheta.report.charts.frame import Spec
from ftheta.report.described import describe_chart
from ftheta.report.document import to_json
from ftheta.report.letters import letters
from ftheta.report.mathml import words_html
from ftheta.report.numbers import basis, enclosure, number, quantity, typeset
from ftheta.report.parts import part_of_chart, part_of_claim
from ftheta.report.reasons import translate_reason
from ftheta.report.reproduce import command, snippet, versions
from ftheta.report.sides import sides
from ftheta.report.vega import vega
from ftheta.report.verdicts import MARKS, look, remarks
from ftheta.report.words import describe_status, describe_witness

from .contents import look_as_json
from .protocol import Size

_MOST_ROWS = 200


def answer(
    result: Result,
    n: int,
    seconds: float,
    *,
    dark: bool = False,
    size: Size | None = None,
    front: int = 0,
) -> bytes:
    """The whole message of type `result`. The document is written by the report, the charts' data left out; of the
    charts only the one in front is drawn."""
    shape = {} if size is None else {**size.model_dump(), "title": False}
    drawn = partial(vega, theme="dark" if dark else "light", **shape)
    chosen = min(front, len(result.charts) - 1)
    charts = [
        chart_json(c, drawn(c) if i == chosen else None, part_of_chart(result.id, c.title))
        for i, c in enumerate(result.charts)
    ]
    rest = {
        "verdict": _verdict(result),
        "html": _html(result),
        "snippet": snippet(result),
        "command": command(result),
        "charts": charts,
    }
    head = {"type": "result", "n": n, "seconds": round(seconds, 6)}
    document = to_json(replace(result, charts=()))
    return f'{strict_json(head)[:-1]},"document":{document},{strict_json(rest)[1:]}'.encode()


def chart_json(chart: Chart, spec: Spec | None, part: str = "") -> dict[str, Any]:
    """A chart with its words; without a specification where it is not in front. `part` of the statement, as (a), is
    what it shows."""
    words = {
        "title": letters(chart.title),
        "title_html": words_html(chart.title),
        "described": describe_chart(chart),
    }
    return {**words, "kind": chart.kind, "spec": spec, "part": part}


def strict_json(value: Any) -> str:
    """Strict JSON; a chart with a number that JSON lacks is an error of its builder and is shown as a gap."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except ValueError:
        return json.dumps(
            _finite(value), ensure_ascii=False, allow_nan=False, separators=(",", ":")
        )


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def _verdict(result: Result) -> dict[str, Any]:
    told = words_html(result.summary)
    return {
        "id": result.verdict.value,
        **look_as_json(look(result.verdict)),
        "remarks": remarks(result),
        "summary_html": told,
    }


def _html(result: Result) -> dict[str, Any]:
    return {
        "checks": [_check(c) for c in result.checks],
        "claims": [_claim(j, result.id) for j in result.claims],
        "examples": [_claim(j) for j in result.examples],
        "as_printed": [_claim(j) for j in result.as_printed],
        "example_numbers": _numbers(result.example_numbers),
        "numbers": _numbers(result.numbers),
        "tables": [table_json(table) for table in result.tables],
        "how": _how(result),
    }


def _numbers(numbers: Mapping[str, Enclosure]) -> list[list[str]]:
    return [[words_html(name), typeset(quantity(name, e)), basis(e)] for name, e in numbers.items()]


def _check(check: Check) -> dict[str, Any]:
    sign, family = MARKS[check.finding.status]
    known = check.finding.number
    reason = describe_status(check.finding) if check.finding.status is Status.PROVED else ""
    return {
        "name": check.name,
        "says_html": words_html(check.says or check.name),
        "status": check.finding.status.value,
        "sign": sign,
        "family": family,
        "note_html": words_html(f"{check.finding.note}{reason}"),
        "number": "" if known is None else typeset(enclosure(known)),
        "remedy_html": words_html(check.remedy),
    }


def _claim(judged: Judged, id: str = "") -> dict[str, Any]:
    """A judged claim; one of the theorem `id` with the letter of the part that it checks."""
    row = sides(judged.claim)
    judgement = judged.judgement
    return {
        "part": part_of_claim(id, judged.claim.what),
        "what_html": words_html(judged.claim.what),
        **look_as_json(look(judgement.verdict)),
        "measured": typeset(row.measured),
        "bound": typeset(row.bound),
        "slack": typeset(row.slack),
        "reason_html": words_html(translate_reason(judgement.reason)),
        "remarks": [*remarks(judgement), *describe_witness(judged)],
    }


def table_json(table: Table) -> dict[str, Any]:
    """The first rows of a table, typeset."""
    shown = [[_cell(cell) for cell in row] for row in table.rows[:_MOST_ROWS]]
    columns = [letters(name) for name in table.columns]
    return {
        "title_html": words_html(table.title),
        "columns": columns,
        "rows": shown,
        "of": len(table.rows),
    }


def _cell(cell: float | int | str) -> str:
    return words_html(cell) if isinstance(cell, str) else escape(typeset(number(cell)))


def _how(result: Result) -> list[dict[str, str]]:
    """The evidence: what the verdict means, what each claim rests on, and what was run."""
    p = result.provenance
    here = look(result.verdict)
    rows = [(here.word, escape(here.means))]
    rows += [(judged.claim.what, words_html(_ground(judged))) for judged in result.claims]
    rows += [
        (
            t("subject"),
            escape(
                t(
                    "{kind} “{name}”, fingerprint {hash}",
                    kind=p.subject_kind,
                    name=p.subject,
                    hash=p.subject_hash,
                )
            ),
        ),
        (t("seed"), str(p.seed)),
        (
            t("measured"),
            t("although a hypothesis may fail (forced)")
            if p.forced
            else t("after the hypotheses were checked"),
        ),
        (t("versions"), escape(versions(p.versions))),
    ]
    return [{"term_html": words_html(term), "html": html} for term, html in rows]


def _ground(judged: Judged) -> str:
    """The reason of a judgement, and how the two sides of the claim are known."""
    sides_known = [basis(e) for e in _enclosures(judged)]
    known = (
        f" {t('Known by: {how}.', how='; '.join(dict.fromkeys(sides_known)))}"
        if sides_known
        else ""
    )
    word = look(judged.judgement.verdict).word
    reason = translate_reason(judged.judgement.reason)
    return f"{t('{word}: {meaning}.', word=word, meaning=reason)}{known}"


def _enclosures(judged: Judged) -> list[Any]:
    names = ("left", "right", "slope", "limit", "achieved", "wanted")
    return [e for name in names if (e := getattr(judged.claim, name, None)) is not None]
