"""A Result, and an Audit, as a card for the terminal."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ftheta.logic import Audit, Check, Comparison, Curves, Enclosure, Judged, Result, Section, Status, Table

from .changes import describe_basis, format_change, format_fact
from .letters import letters
from .numbers import basis, enclosure, number
from .plain import plain
from .reproduce import audit_command, command, comparison_command, versions
from .sides import brief, sides
from .terminal import FAINT, Card, Columns, Plot, Styled, hanging_indent, heading, indent, line
from .verdicts import NOT_CHECKED, look, remarks
from .words import count_verdicts, describe_status, describe_witness, failing_checks, headline, unmet_requirements

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {
    Status.PROVED: ("✓", "green"),
    Status.SAMPLED: ("~", "yellow"),
    Status.ASSUMED: ("?", "yellow"),
    Status.FAILED: ("✗", "red"),
}
_MOST_ROWS = 24
_LONGEST_WORDS = 40  # letters of a fact that stands in a column


def card(result: Result, *, plot: bool = True) -> Card:
    """All that a result says, for `rich` to print: statement, hypotheses, claims, numbers, verdict, how to repeat."""
    return Card(_parts(result, plot))


def audit_card(audit: Audit, report: Path | None = None) -> Card:
    """An audit, one line for each theorem; `report` is the file that says more."""
    return Card(_audit_parts(audit, report))


def comparison_card(both: Comparison, report: Path | None = None) -> Card:
    """Two audits, fact by fact."""
    return Card(_comparison_parts(both, report))


def _parts(result: Result, plot: bool) -> Iterator["RenderableType"]:
    yield line((result.title, "bold"), f"  {result.id}", (f" · {result.chapter}", FAINT))
    if result.gist:
        yield indent(line((letters(result.gist), "italic")))
    yield indent(line(plain(result.statement)), below=1)
    if result.checks:
        yield heading("Hypotheses")
        yield from map(_check, result.checks)
        yield line("")
    if result.claims:
        yield heading("Claims")
        yield _claims(result.claims)
        yield from _reasons(result.claims)
        yield line("")
    if result.examples or result.example_numbers:
        yield heading("Examples (not about the subject)")
    if result.examples:
        yield _claims(result.examples)
        yield from _reasons(result.examples)
    yield from _numbers(result.example_numbers)
    if result.examples or result.example_numbers:
        yield line("")
    if result.as_printed:
        yield heading("As printed in the source")
        yield from (part for judged in result.as_printed for part in _printed_claim(judged))
        yield line("")
    yield from _extras(result, plot)
    yield from _verdict(result)
    yield from _provenance(result)


def _check(check: Check) -> "RenderableType":
    mark, style = MARKS[check.finding.status]
    failed = check.finding.status is Status.FAILED
    remedy: Styled = (f"\nto meet it: {letters(check.remedy)}", "yellow") if failed and check.remedy else ""
    says = letters(check.says) or check.name
    return hanging_indent(
        mark, style, says, (f"\n{letters(check.finding.note)}{describe_status(check.finding)}", FAINT), remedy
    )


def _claims(claims: tuple[Judged, ...]) -> "RenderableType":
    rows: list[list[Styled]] = []
    for i, judged in enumerate(claims, 1):
        here = look(judged.judgement.verdict)
        row = sides(judged.claim)
        what = f"{i}. {letters(judged.claim.what)}" if len(claims) > 1 else letters(judged.claim.what)
        word = f"{here.sign} {here.word}" + (" (vacuous)" if judged.judgement.vacuous else "")
        rows.append([what, (word, here.style), row.measured, row.bound, row.slack])
    return Columns(("claim", "verdict", "measured", "bound", "slack"), rows, left=(0, 1))


def _reasons(claims: tuple[Judged, ...]) -> Iterator["RenderableType"]:
    """The evidence for each claim, said once where it is the same for all; witnesses, and what has to be remarked."""
    reasons = list(dict.fromkeys(j.judgement.reason for j in claims))
    for reason in reasons:
        which = ", ".join(str(i) for i, j in enumerate(claims, 1) if j.judgement.reason == reason)
        yield hanging_indent("", "", (f"evidence{f' {which}' if len(reasons) > 1 else ''}: {reason}", FAINT))
    for judged in claims:
        yield from (hanging_indent("!", "yellow", remark) for remark in remarks(judged.judgement))
        yield from (hanging_indent("", "", words) for words in describe_witness(judged))


def _printed_claim(judged: Judged) -> Iterator["RenderableType"]:
    here = look(judged.judgement.verdict)
    row = sides(judged.claim)
    yield hanging_indent(here.sign, here.style, f"{letters(judged.claim.what)}: ", (here.word, here.style))
    yield hanging_indent("", "", (f"{row.measured} against {row.bound}; {judged.judgement.reason}", FAINT))
    yield from (hanging_indent("", "", words) for words in describe_witness(judged))


def _extras(result: Result, plot: bool) -> Iterator["RenderableType"]:
    """Numbers, tables and a small picture."""
    if result.numbers:
        yield heading("Numbers")
        yield from _numbers(result.numbers)
        yield line("")
    for table in result.tables:
        yield heading(letters(table.title))
        yield _table(table)
        yield line("")
    first = result.charts[0] if result.charts else None
    if plot and isinstance(first, Curves):
        yield Plot(first)


def _numbers(numbers: Mapping[str, Enclosure]) -> Iterator["RenderableType"]:
    for name, value in numbers.items():
        shown = enclosure(value)
        equation = shown if shown[0] in "≤≥" else f"= {shown}"
        yield hanging_indent("", "", f"{letters(name)} {equation}", (f"  {basis(value)}", FAINT))


def _table(table: Table) -> "RenderableType":
    texts = [
        i for i in range(len(table.columns)) if any(isinstance(c, str) for row in table.rows for c in row[i : i + 1])
    ]
    rows = [[letters(c) if isinstance(c, str) else number(c) for c in row[: len(table.columns)]] for row in table.rows]
    if len(rows) > _MOST_ROWS:
        rows = [*rows[:_MOST_ROWS], [f"… {len(rows):,} rows in all"]]
    return Columns([letters(c) for c in table.columns], rows, left=(0, *texts))


def _verdict(result: Result) -> Iterator["RenderableType"]:
    here = look(result.verdict)
    means = "" if here.word in here.means else f"  {here.means}"
    yield line((f"{here.sign} {here.word}", f"bold {here.style}"), (means, FAINT))
    yield from (hanging_indent("!", "yellow", remark) for remark in remarks(result))
    if result.summary:
        yield hanging_indent("", "", letters(result.summary))
    if result.errata:
        yield hanging_indent("", "", (f"errata in the sources: {' '.join(plain(result.errata).split())}", FAINT))


def _provenance(result: Result) -> Iterator["RenderableType"]:
    p = result.provenance
    subject = f"{p.subject_kind} “{p.subject}” {p.subject_hash}"
    yield line((f"{subject} · seed {p.seed} · {versions(p.versions)} · {p.wall_seconds:.2g} s", FAINT))
    if result.see_also:
        yield line(("see also: ", FAINT), ", ".join(result.see_also))
    yield line(("again: ", FAINT), command(result), ("   more: ", FAINT), f"ftheta show {result.id}")


def _audit_parts(audit: Audit, report: Path | None) -> Iterator["RenderableType"]:
    yield line((f"Audit of {audit.subject}", "bold"), (f"  {audit.kind} {audit.hash}", FAINT))
    yield indent(line((", ".join(f"{name} {value}" for name, value in audit.facts), FAINT)), below=1)
    for section in audit.sections:
        yield from _section(section)
    rows = [_audit_row(result) for result in audit.results if not unmet_requirements(result)]
    if rows:
        yield Columns(("theorem", "verdict", "measured", "bound", "slack"), rows, left=(0, 1), whole=True)
        yield line("")
    yield from _requirement_lines(audit)
    yield from _skipped_lines(audit)
    tallies: list[Styled] = []
    styles = {"holds": "green", "open": "yellow", "fails": "dark_orange", "unchecked": FAINT, "refuted": "red"}
    for family, number_, label in count_verdicts(audit):
        tallies += [(f"{number_} ", f"bold {styles[family]}" if number_ else FAINT), f"{label}   "]
    yield line(*tallies, (f"{audit.seconds:.0f} s" if audit.seconds else "", FAINT))
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
        yield hanging_indent("△", "dark_orange", told, (f"; {letters(remedy)}" if remedy else "", FAINT))


def _skipped_lines(audit: Audit) -> Iterator["RenderableType"]:
    """What was not checked: one line each, or one for all that had no time."""
    late = [missing for missing in audit.skipped if missing.unfinished]
    for missing in audit.skipped:
        if not missing.unfinished:
            told = f"{missing.id} was {NOT_CHECKED.word}: {missing.reason}"
            yield hanging_indent(
                NOT_CHECKED.sign, NOT_CHECKED.style, told, (f"; {missing.remedy}" if missing.remedy else "", FAINT)
            )
    if late:
        names = ", ".join(f"{m.id} ({m.reason})" if m.stopped_after is not None else m.id for m in late)
        yield hanging_indent(
            NOT_CHECKED.sign, NOT_CHECKED.style, f"not run within the budget: {names}; {plain(late[0].remedy)}"
        )


def _comparison_parts(both: Comparison, report: Path | None) -> Iterator["RenderableType"]:
    yield line((f"{both.after.subject} against {both.before.subject}", "bold"))
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
        yield from (hanging_indent("", "", (f"{letters(c.name)}: {letters(c.note)}", FAINT)) for c in changes if c.note)
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
