"""An Audit, and a Comparison of two, as a card for the terminal: findings first."""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ftheta.logic import Audit, AuditFinding, Comparison, Met, Result, Section, Severity

from .answers import MOST, accuracy_line, count_findings, numbers_line, opening, status
from .changes import describe_basis, format_change, format_fact
from .letters import letters
from .plain import plain
from .reproduce import audit_command, comparison_command
from .sides import brief
from .terminal import FAINT, Card, Columns, Styled, hanging_indent, heading, indent, line
from .verdicts import NOT_CHECKED, look
from .words import count_verdicts, failing_checks, headline, unmet_requirements

if TYPE_CHECKING:
    from rich.console import RenderableType

STYLES = {
    Severity.PROBLEM: "red",
    Severity.WARNING: "dark_orange",
    Severity.NOTE: "blue",
    Severity.GOOD: "green",
}
_WIDEST = 8  # letters of a severity, and a space
_MOST_NAMES = 8  # of tasks that were not run; the report lists all
_LONGEST_WORDS = 40  # letters of a fact that stands in a column


def audit_card(audit: Audit, report: Path | None = None) -> Card:
    """What an audit found, worst first. `report` is the file that says more; without one the card says it all."""
    return Card(_audit_parts(audit, report))


def comparison_card(both: Comparison, report: Path | None = None) -> Card:
    """Two audits: what became better or worse, then fact by fact."""
    return Card(_comparison_parts(both, report))


def _audit_parts(audit: Audit, report: Path | None) -> Iterator["RenderableType"]:
    yield _top(_title(audit), audit)
    for told in (accuracy_line(audit), numbers_line(audit)):
        if told:
            yield line(told)
    yield line("")
    yield from map(_finding, opening(audit))
    if audit.findings:
        more = len(audit.findings) - MOST
        yield line((f"{more} more in the report" if more > 0 else "", FAINT))
    yield from _requirements(audit)
    if report is None:
        yield from _details(audit)
    yield from _closing(audit, report)


def _top(title: str, document: Audit | Comparison) -> "RenderableType":
    """What was audited, and what it comes to: beside it where both fit, else below."""
    from rich.columns import Columns as SideBySide

    parts = (line((title, "bold")), line(*_status_words(document)))
    return SideBySide(parts, padding=(0, 3))


def _title(audit: Audit) -> str:
    data = dict(audit.facts).get("data", "")
    return f"Audit of {audit.subject}" + (f" on {data}" if data else "")


def _status_words(document: Audit | Comparison) -> tuple[Styled, ...]:
    if not document.findings:
        return ()
    whole = status(document)
    return (
        (whole.word.upper(), f"bold {STYLES[whole.severity]}"),
        (f"  {count_findings(document)}", FAINT),
    )


def _finding(finding: AuditFinding) -> "RenderableType":
    """Severity, sentence, and below it what it means, how it is known and what to do."""
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=_WIDEST)
    grid.add_column(ratio=1, overflow="fold")
    means = f"{letters(finding.means)} " if finding.means else ""
    below: list[Styled] = [(f"\n{means}({letters(finding.basis)})", FAINT)]
    if finding.remedy:
        below.append(f"\n→ {plain(finding.remedy)}")
    mark = (finding.severity.value.upper(), f"bold {STYLES[finding.severity]}")
    grid.add_row(line(mark), line((letters(finding.says), "bold"), *below))
    return grid


def _requirements(document: Audit | Comparison) -> Iterator["RenderableType"]:
    """Thresholds, and which of them are met."""
    styles = {Met.MET: "green", Met.MISSED: "red", Met.UNKNOWN: "yellow"}
    if document.requirements:
        rows: list[list[Styled]] = [
            [r.text, (r.met.value, styles[r.met]), r.says] for r in document.requirements
        ]
        yield Columns(("threshold", "", "found"), rows, left=(0, 1, 2))
        yield line("")


def _details(audit: Audit) -> Iterator["RenderableType"]:
    """Every fact and every theorem, where no report says them."""
    yield indent(
        line((", ".join(f"{name} {value}" for name, value in audit.facts), FAINT)), below=1
    )
    for section in audit.sections:
        yield from _section(section)
    rows = [_audit_row(result) for result in audit.results if not unmet_requirements(result)]
    if rows:
        yield Columns(
            ("theorem", "verdict", "measured", "bound", "slack"), rows, left=(0, 1), whole=True
        )
        yield line("")
    yield from _requirement_lines(audit)


def _closing(audit: Audit, report: Path | None) -> Iterator["RenderableType"]:
    """What was not checked, the counts of verdicts, and how to have it again."""
    yield from _skipped_lines(audit)
    tallies: list[Styled] = []
    styles = {
        "holds": "green",
        "open": "yellow",
        "fails": FAINT,
        "unchecked": FAINT,
        "refuted": "red",
    }
    for family, number_, label in count_verdicts(audit):
        tallies += [(f"{number_} ", f"bold {styles[family]}" if number_ else FAINT), f"{label}   "]
    yield line(
        ("Checks: ", FAINT), *tallies, (f"{audit.seconds:.0f} s" if audit.seconds else "", FAINT)
    )
    if audit.interrupted:
        yield line(("interrupted: this is what was done until then", "yellow"))
    if report is not None:
        yield line(("report: ", FAINT), str(report))
    yield line(("again: ", FAINT), audit_command(audit))


def _section(section: Section) -> Iterator["RenderableType"]:
    """The facts of a section, their values in one column."""
    if section.facts:
        yield heading(section.title)
        rows: list[list[Styled]] = [
            [letters(f.name), format_fact(f.value), (describe_basis(f.value), FAINT)]
            for f in section.facts
            if not isinstance(f.value, str) or len(f.value) <= _LONGEST_WORDS
        ]
        if rows:
            yield Columns(("", "", ""), rows, left=(0, 1, 2))
        for f in section.facts:
            if isinstance(f.value, str) and len(f.value) > _LONGEST_WORDS:
                yield hanging_indent("", "", f"{f.name}: {letters(f.value)}")
        yield line("")


def _requirement_lines(audit: Audit) -> Iterator["RenderableType"]:
    """Theorems that are not applicable: one line for all that first require the same, with how to meet it."""
    groups: dict[tuple[str, str], list[str]] = {}
    for result in audit.results:
        for check in failing_checks(result)[:1]:
            groups.setdefault((check.name, check.remedy), []).append(result.id)
    for (required, remedy), ids in groups.items():
        names = ", ".join(ids)
        told = f"{names} {'require' if len(ids) > 1 else 'requires'} {letters(required)}"
        yield hanging_indent("·", FAINT, told, (f"; {letters(remedy)}" if remedy else "", FAINT))


def _skipped_lines(audit: Audit) -> Iterator["RenderableType"]:
    """What was not checked: one line for all with the same reason, and one for all that had no time."""
    late = [missing for missing in audit.skipped if missing.unfinished]
    groups: dict[tuple[str, str], list[str]] = {}
    for missing in audit.skipped:
        if not missing.unfinished:
            groups.setdefault((missing.reason, missing.remedy), []).append(missing.id)
    for (reason, remedy), ids in groups.items():
        told = f"{_first(ids)} {'was' if len(ids) == 1 else 'were'} {NOT_CHECKED.word}: {reason}"
        more = (f"; {remedy}" if remedy else "", FAINT)
        yield hanging_indent(NOT_CHECKED.sign, NOT_CHECKED.style, told, more)
    if late:
        names = [f"{m.id} ({m.reason})" if m.stopped_after is not None else m.id for m in late]
        why = "interrupted before" if audit.interrupted else "not run within the budget:"
        told = f"{why} {_first(names)}; {plain(late[0].remedy)}"
        yield hanging_indent(NOT_CHECKED.sign, NOT_CHECKED.style, told)


def _first(names: list[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"{', '.join(names[:_MOST_NAMES])}{more}"


def _comparison_parts(both: Comparison, report: Path | None) -> Iterator["RenderableType"]:
    yield _top(f"{both.after.subject} against {both.before.subject}", both)
    yield line("")
    yield from map(_finding, opening(both))
    if both.findings:
        yield line("")
    yield from _requirements(both)
    yield from _section(both.difference)
    for name, group in groupby(both.changes, key=lambda c: c.section):
        yield heading(name)
        changes = list(group)
        rows: list[list[Styled]] = [
            [
                letters(c.name),
                format_fact(c.before),
                format_fact(c.after),
                (format_change(c), FAINT if c.same else "bold"),
            ]
            for c in changes
        ]
        yield Columns(("", both.before.subject, both.after.subject, "change"), rows)
        yield from (
            hanging_indent("", "", (f"{letters(c.name)}: {letters(c.note)}", FAINT))
            for c in changes
            if c.note
        )
        yield line("")
    if both.after.interrupted:
        yield line(("interrupted: this is what was done until then", "yellow"))
    if report is not None:
        yield line(("report: ", FAINT), str(report))
    yield line(("again: ", FAINT), comparison_command(both))


def _audit_row(result: Result) -> list[Styled]:
    here = look(result.verdict)
    judged = headline(result)
    word = (f"{here.sign} {here.word}" + (" (vacuous)" if result.vacuous else ""), here.style)
    if judged is None:
        return [result.id, word, "", "", ""]
    row = brief(judged.claim)
    return [result.id, word, row.measured, row.bound, row.slack]
