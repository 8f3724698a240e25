"""A Result as a card for the terminal."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from ftheta.languages import t
from ftheta.logic import Check, Curves, Enclosure, Judged, Result, Status, Table

from .letters import letters
from .numbers import basis, number, quantity
from .parts import part_of_chart, part_of_claim
from .plain import plain
from .reasons import translate_reason
from .reproduce import command, versions
from .sides import sides
from .terminal import FAINT, Card, Columns, Plot, Styled, hanging_indent, heading, indent, line
from .verdicts import look, remarks
from .words import describe_status, describe_witness

if TYPE_CHECKING:
    from rich.console import RenderableType

MARKS = {
    Status.PROVED: ("✓", "green"),
    Status.SAMPLED: ("~", "yellow"),
    Status.ASSUMED: ("?", "yellow"),
    Status.FAILED: ("✗", "red"),
}
_MOST_ROWS = 24


def card(result: Result, *, plot: bool = True) -> Card:
    """All that a result says, for `rich` to print: statement, hypotheses, claims, numbers, verdict, how to repeat."""
    return Card(_parts(result, plot))


def _parts(result: Result, plot: bool) -> Iterator["RenderableType"]:
    yield line((t(result.title), "bold"), f"  {result.id}", (f" · {result.chapter}", FAINT))
    if result.gist:
        yield indent(line((letters(t(result.gist)), "italic")))
    yield indent(line(plain(result.statement)), below=1)
    if result.checks:
        yield heading(t("Hypotheses"))
        yield from map(_check, result.checks)
        yield line("")
    if result.claims:
        yield line((t("Claims"), f"bold {FAINT}"), _explain_letters(result))
        yield _claims(result.claims, result.id)
        yield from _reasons(result.claims)
        yield line("")
    if result.examples or result.example_numbers:
        yield heading(t("Examples (not about the subject)"))
    if result.examples:
        yield _claims(result.examples)
        yield from _reasons(result.examples)
    yield from _numbers(result.example_numbers)
    if result.examples or result.example_numbers:
        yield line("")
    if result.as_printed:
        yield heading(t("As printed in the source"))
        yield from (part for judged in result.as_printed for part in _printed_claim(judged))
        yield line("")
    yield from _extras(result, plot)
    yield from _verdict(result)
    yield from _provenance(result)


def _check(check: Check) -> "RenderableType":
    mark, style = MARKS[check.finding.status]
    failed = check.finding.status is Status.FAILED
    remedy: Styled = (
        (f"\n{t('to meet it:')} {letters(check.remedy)}", "yellow")
        if failed and check.remedy
        else ""
    )
    says = letters(check.says) or check.name
    return hanging_indent(
        mark,
        style,
        says,
        (f"\n{letters(check.finding.note)}{describe_status(check.finding)}", FAINT),
        remedy,
    )


def _explain_letters(result: Result) -> Styled:
    """What (a), (b), … before claims stand for, where there are such."""
    lettered = any(part_of_claim(result.id, judged.claim.what) for judged in result.claims)
    return (
        (f"  {t('(a), (b), … are the parts of the statement:')} ftheta show {result.id}", FAINT)
        if lettered
        else ""
    )


def _claims(claims: tuple[Judged, ...], id: str = "") -> "RenderableType":
    """A table of claims; those of the theorem `id` with the letters of the parts that they check."""
    rows: list[list[Styled]] = []
    for i, judged in enumerate(claims, 1):
        here = look(judged.judgement.verdict)
        row = sides(judged.claim)
        count = f"{i}." if len(claims) > 1 else ""
        what = " ".join(
            filter(None, (count, part_of_claim(id, judged.claim.what), letters(judged.claim.what)))
        )
        word = f"{here.sign} {here.word}" + (
            f" ({t('vacuous')})" if judged.judgement.vacuous else ""
        )
        rows.append([what, (word, here.style), row.measured, row.bound, row.slack])
    return Columns(
        (t("claim"), t("verdict"), t("measured"), t("bound"), t("slack")), rows, left=(0, 1)
    )


def _reasons(claims: tuple[Judged, ...]) -> Iterator["RenderableType"]:
    """The evidence for each claim, said once where it is the same for all; witnesses, and what has to be remarked."""
    reasons = list(dict.fromkeys(j.judgement.reason for j in claims))
    for reason in reasons:
        which = ", ".join(str(i) for i, j in enumerate(claims, 1) if j.judgement.reason == reason)
        yield hanging_indent(
            "",
            "",
            (
                t(
                    "evidence{which}: {reason}",
                    which=f" {which}" if len(reasons) > 1 else "",
                    reason=translate_reason(reason),
                ),
                FAINT,
            ),
        )
    for judged in claims:
        yield from (hanging_indent("!", "yellow", remark) for remark in remarks(judged.judgement))
        yield from (hanging_indent("", "", words) for words in describe_witness(judged))


def _printed_claim(judged: Judged) -> Iterator["RenderableType"]:
    here = look(judged.judgement.verdict)
    row = sides(judged.claim)
    yield hanging_indent(
        here.sign, here.style, f"{letters(judged.claim.what)}: ", (here.word, here.style)
    )
    yield hanging_indent(
        "",
        "",
        (
            t("{left} against {right}", left=row.measured, right=row.bound)
            + f"; {translate_reason(judged.judgement.reason)}",
            FAINT,
        ),
    )
    yield from (hanging_indent("", "", words) for words in describe_witness(judged))


def _extras(result: Result, plot: bool) -> Iterator["RenderableType"]:
    """Numbers, tables and a small picture."""
    if result.numbers:
        yield heading(t("Numbers"))
        yield from _numbers(result.numbers)
        yield line("")
    for table in result.tables:
        yield heading(letters(table.title))
        yield _table(table)
        yield line("")
    first = result.charts[0] if result.charts else None
    if plot and isinstance(first, Curves):
        yield Plot(first, part_of_chart(result.id, first.title))


def _numbers(numbers: Mapping[str, Enclosure]) -> Iterator["RenderableType"]:
    for name, value in numbers.items():
        shown = quantity(name, value)
        equation = shown if shown[0] in "≤≥" else f"= {shown}"
        yield hanging_indent("", "", f"{letters(name)} {equation}", (f"  {basis(value)}", FAINT))


def _table(table: Table) -> "RenderableType":
    texts = [
        i
        for i in range(len(table.columns))
        if any(isinstance(c, str) for row in table.rows for c in row[i : i + 1])
    ]
    rows = [
        [letters(c) if isinstance(c, str) else number(c) for c in row[: len(table.columns)]]
        for row in table.rows
    ]
    if len(rows) > _MOST_ROWS:
        rows = [*rows[:_MOST_ROWS], [t("… {n} rows in all", n=f"{len(rows):,}")]]
    return Columns([letters(c) for c in table.columns], rows, left=(0, *texts))


def _verdict(result: Result) -> Iterator["RenderableType"]:
    here = look(result.verdict)
    means = "" if here.word in here.means else f"  {here.means}"
    yield line((f"{here.sign} {here.word}", f"bold {here.style}"), (means, FAINT))
    yield from (hanging_indent("!", "yellow", remark) for remark in remarks(result))
    if result.summary:
        yield hanging_indent("", "", letters(result.summary))
    if result.errata:
        yield hanging_indent(
            "",
            "",
            (f"{t('errata in the sources:')} {' '.join(plain(result.errata).split())}", FAINT),
        )


def _provenance(result: Result) -> Iterator["RenderableType"]:
    p = result.provenance
    subject = f"{p.subject_kind} “{p.subject}” {p.subject_hash}"
    yield line(
        (
            f"{subject} · {t('seed {n}', n=p.seed)} · {versions(p.versions)} · {p.wall_seconds:.2g} s",
            FAINT,
        )
    )
    if result.see_also:
        yield line((f"{t('see also:')} ", FAINT), ", ".join(result.see_also))
    yield line(
        (f"{t('again:')} ", FAINT),
        command(result),
        (f"   {t('more:')} ", FAINT),
        f"ftheta show {result.id}",
    )
