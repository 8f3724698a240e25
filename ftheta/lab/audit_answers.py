"""An audit as the page shows it: findings, sections with their charts, key figures; each one JSON message."""

from collections.abc import Sequence
from math import isfinite
from typing import Any

from ftheta.auditing.part import NOT_COMPUTED, RADII_TABLE
from ftheta.auditing.plan import SECTIONS
from ftheta.logic import Audit, AuditFinding, AuditProgress, Bars, Chart, Fact, Section
from ftheta.report.answers import FAMILIES, count_findings, describe_subject, key_figures, status
from ftheta.report.changes import describe_basis, format_fact
from ftheta.report.letters import letters
from ftheta.report.mathml import words_html
from ftheta.report.numbers import typeset
from ftheta.report.vega import vega

from .answers import chart_json, strict_json, table_json

MOST_CHARTS = 3  # of a section; the report has all
MOST_FACTS = 12
MOST_TABLES = 2
PLACES = {id: place for place, id in enumerate(SECTIONS)}
FLATNESS = 0.62  # height ÷ width of a chart


def progress_message(n: int, progress: AuditProgress) -> str:
    """How far it is: a share, the seconds that are left, and what is computed."""
    left = progress.seconds_left
    told = {"done": progress.done, "tasks": progress.tasks, "now": list(progress.now)}
    rest = {"share": round(progress.share, 4), "left": None if left is None else round(left, 1)}
    return strict_json({"type": "audit-progress", "n": n, **told, **rest})


def findings_message(n: int, findings: Sequence[AuditFinding]) -> str:
    """All findings so far, worst first."""
    return strict_json(
        {"type": "audit-findings", "n": n, "findings": [_finding(f) for f in findings]}
    )


def _finding(finding: AuditFinding) -> dict[str, str]:
    return {
        "severity": finding.severity.value,
        "family": FAMILIES[finding.severity],
        "question": finding.question,
        "says_html": words_html(typeset(finding.says)),
        "means_html": words_html(finding.means),
        "remedy_html": words_html(finding.remedy),
        "basis_html": words_html(finding.basis),
        "source": finding.theorem,
    }


def section_message(
    n: int, section: Section, *, dark: bool, width: float, kind: str = "audit-section"
) -> str:
    """A section with what it has so far: charts drawn, the facts that matter, the first rows of its tables."""
    keyed = [fact for fact in section.facts if fact.key]
    facts = [*keyed, *(fact for fact in section.facts if not fact.key)][:MOST_FACTS]
    return strict_json(
        {
            "type": kind,
            "n": n,
            "id": section.id,
            "place": PLACES.get(section.id, 0),
            "title": section.title,
            "facts": [_fact(fact) for fact in facts],
            "charts": [_chart(chart, dark, width) for chart in section.charts[:MOST_CHARTS]],
            "tables": [table_json(table) for table in section.tables[:MOST_TABLES]],
        }
    )


def _fact(fact: Fact) -> dict[str, str]:
    return {
        "name_html": words_html(fact.name),
        "value": letters(typeset(format_fact(fact.value))),
        "known": describe_basis(fact.value),
        "note_html": words_html(fact.note),
    }


def _chart(chart: Chart, dark: bool, width: float) -> dict[str, Any]:
    height = None if isinstance(chart, Bars) else round(FLATNESS * width)
    spec = vega(chart, theme="dark" if dark else "light", width=width, height=height, title=False)
    return chart_json(chart, spec)


def ended_message(n: int, audit: Audit, seconds: float) -> str:
    """What the audit comes to: its status, key figures, and what was not run."""
    whole = status(audit)
    figures = [
        {"label": f.label, "value": typeset(f.value), "below": f.below} for f in key_figures(audit)
    ]
    late = [missing.id for missing in audit.skipped if missing.unfinished]
    return strict_json(
        {
            "type": "audit-done",
            "n": n,
            "subject": audit.subject,
            "about": describe_subject(audit),
            "status": whole.word,
            "family": FAMILIES[whole.severity],
            "counts": count_findings(audit),
            "figures": figures,
            "late": late,
            "interrupted": audit.interrupted,
            "radii": _radii(audit),
            "seconds": round(seconds, 1),
            "skipped": [[m.id, letters(m.reason)] for m in audit.skipped if not m.unfinished],
        }
    )


def _radii(audit: Audit) -> list[tuple[float | None, float | None]]:
    """Of each row tried, the distance at which its class changes (None: nowhere met) and its certified radius; False
    where that was not computed."""
    tables = [
        table
        for section in audit.sections
        for table in section.tables
        if table.title == RADII_TABLE
    ]
    rows = tables[0].rows if tables else ()
    return [(_read_radius(met), _read_radius(certified)) for *_, met, certified in rows]


def _read_radius(cell: Any) -> float | None:
    if cell == NOT_COMPUTED:
        return False
    return float(cell) if isfinite(cell) else None
