"""The ledger of theorems at the end of an audit: folded, one line each, which unfolds to all that is known."""

import re
from collections.abc import Sequence

from ftheta.logic import Audit, Result

from .page import numerals, pill, prose, text
from .sides import brief
from .theorem_html import theorem_html
from .verdicts import look
from .words import describe_counts, failing_checks, headline, unmet_requirements


def ledger_html(audit: Audit) -> str:
    """All theorems that apply, those that do not in one sentence, and what was not checked."""
    applying = [result for result in audit.results if not unmet_requirements(result)]
    others = [result for result in audit.results if unmet_requirements(result)]
    if not (audit.results or audit.skipped):
        return ""
    anchors = {result.id: _anchor(result) for result in audit.results}
    lines = "".join(_line(result, anchors) for result in applying)
    body = f"{lines}{_inapplicable(others, anchors)}{_missing(audit)}"
    summary = f"<summary>{text(describe_counts(audit))}</summary>"
    head = '<h2 class="part">All checks</h2>'
    return (
        f'<section id="theorems">{head}<details class="ledger">{summary}{body}</details></section>'
    )


def _line(result: Result, anchors: dict[str, str]) -> str:
    """One theorem: its title, what was measured, the bound, the verdict; its article unfolds below."""
    judged = headline(result)
    mark = pill(look(result.verdict), ", vacuous" if result.vacuous else "")
    numbers = "nothing was measured"
    if judged is not None:
        row = brief(judged.claim)
        numbers = f"{numerals(row.measured)} against {numerals(row.bound)}"
    told = f'<h3 class="line">{text(result.title)}</h3> <span class="faint">{numbers}</span> {mark}'
    article = theorem_html(result, anchors[result.id], headed=False, anchors=anchors)
    return f"<details><summary>{told}</summary>{article}</details>"


def _inapplicable(results: Sequence[Result], anchors: dict[str, str]) -> str:
    """One sentence with the count; which they are, and what they require, is folded."""
    if not results:
        return ""
    many = f"{len(results)} theorems are" if len(results) > 1 else "1 theorem is"
    items = "".join(
        f'<li id="{anchors[result.id]}"><b>{text(result.title)}</b> ({text(result.id)}) requires '
        f"{prose(unmet_requirements(result))}. {_found(result)}</li>"
        for result in results
    )
    return f"<details><summary>{many} about networks of another kind.</summary><ul>{items}</ul></details>"


def _found(result: Result) -> str:
    told = []
    for check in failing_checks(result):
        remedy = f" To meet “{prose(check.name)}”: {prose(check.remedy)}." if check.remedy else ""
        told.append(f'<span class="faint">Here: {prose(check.finding.note)}.{remedy}</span>')
    return " ".join(told)


def _missing(audit: Audit) -> str:
    """What was not checked, and how it can be."""
    if not audit.skipped:
        return ""
    items = "".join(
        f"<li><b>{text(missing.id)}</b>: {prose(missing.reason)}. "
        f'<span class="faint">{prose(missing.remedy)}</span></li>'
        for missing in audit.skipped
    )
    summary = f"{len(audit.skipped)} not checked: why, and how they can be."
    return f"<details><summary>{summary}</summary><ul>{items}</ul></details>"


def _anchor(result: Result) -> str:
    return "t-" + re.sub(r"[^a-zA-Z0-9-]", "", result.id)
