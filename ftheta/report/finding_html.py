"""Findings on a page: the status of the whole, key figures, and one block for each finding."""

from collections.abc import Sequence
from html import escape

from ftheta.logic import AuditFinding, Met, Requirement, Severity

from .answers import FAMILIES, KeyFigure, Status
from .numbers import typeset
from .page import join_signs, numerals, prose, table, text


def status_html(whole: Status, counts: str) -> str:
    """The word for the whole as a pill, and how many findings there are of each severity."""
    word = f'<span class="pill {FAMILIES[whole.severity]}">{escape(whole.word)}</span>'
    return f'<p class="status">{word} {escape(counts)}</p>'


def key_figures_html(figures: Sequence[KeyFigure]) -> str:
    """Tiles with the numbers that people look for first."""
    tiles = "".join(
        f"<li><span>{text(f.label)}</span><b>{numerals(f.value)}</b><span>{text(f.below)}</span></li>"
        for f in figures
    )
    return f'<ul class="tiles">{tiles}</ul>' if tiles else ""


def findings_html(findings: Sequence[AuditFinding], sections: set[str]) -> str:
    """A block for each: severity, sentence, what it means, what to do, and how it is known. `sections` are the ids of
    the sections on the page, which a finding links to."""
    if not findings:
        return ""
    blocks = "".join(_finding(finding, sections) for finding in findings)
    body = f'<ol class="findings">{blocks}</ol>{reasons_html(findings)}'
    return f'<section id="findings"><h2 class="part">Findings</h2>{body}</section>'


def requirements_html(requirements: Sequence[Requirement]) -> str:
    """Thresholds, which of them are met, and what was found."""
    families = {Met.MET: "holds", Met.MISSED: "refuted", Met.UNKNOWN: "open"}
    rows = [
        (
            f"<code>{text(r.text)}</code>",
            f'<span class="pill {families[r.met]}">{r.met.value}</span>',
            text(r.says),
        )
        for r in requirements
    ]
    return table(("Threshold", "", "Found"), rows, kind="thresholds", left=3) if rows else ""


def reasons_html(findings: Sequence[AuditFinding]) -> str:
    """Why the findings have their severities: the rules, folded."""
    rules = {finding.rule: finding.because for finding in findings if finding.because}
    items = "".join(
        f"<li><b>{text(rule)}</b>: {prose(because)}</li>" for rule, because in rules.items()
    )
    return (
        f"<details><summary>Why these severities</summary><ul>{items}</ul></details>"
        if items
        else ""
    )


def _finding(finding: AuditFinding, sections: set[str]) -> str:
    means = f"<p>{prose(finding.means)}</p>" if finding.means else ""
    remedy = f'<p class="do">→ {prose(finding.remedy)}</p>' if finding.remedy else ""
    source = text(finding.theorem)
    if finding.question in sections and source:
        source = f'<a href="#s-{text(finding.question)}">{source}</a>'
    known = f'<p class="known">{prose(finding.basis)}<br>{source}</p>'
    said = f"<div><h3>{_sentence(finding)}</h3>{means}{remedy}</div>"
    return f"<li>{severity_pill(finding.severity)}{said}{known}</li>"


def _sentence(finding: AuditFinding) -> str:
    return prose(join_signs(typeset(finding.says)))


def severity_pill(severity: Severity) -> str:
    """The word in its colour."""
    return f'<span class="pill {FAMILIES[severity]}">{severity.value}</span>'


def brief_findings_html(findings: Sequence[AuditFinding]) -> str:
    """One line for each, for the section that they belong to."""
    lines = "".join(
        f"<li>{severity_pill(f.severity)} <span>{_sentence(f)}</span></li>" for f in findings
    )
    return f'<ul class="answers">{lines}</ul>' if lines else ""
