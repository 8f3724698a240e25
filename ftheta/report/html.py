"""Pages of HTML that say everything: no script, no reference to anything outside the file, and they print well."""

from collections.abc import Sequence
from itertools import groupby

from ftheta.languages import t
from ftheta.logic import Change, Comparison, Result

from .answers import count_findings, describe_run, status
from .changes import format_change, format_fact
from .finding_html import findings_html, requirements_html, status_html
from .page import numerals, page, pill, prose, table, text
from .reproduce import audit_snippet, command, comparison_command, snippet, versions
from .section_html import identity, reproduction_html, section_html
from .theorem_html import theorem_html
from .verdicts import look


def comparison_page(both: Comparison) -> str:
    """Two audits side by side."""
    before = both.before
    after = both.after
    title = f"{after.subject} against {before.subject}"
    moved = sum(not c.same for c in both.changes)
    cut = " · interrupted: this is what was done until then" if after.interrupted else ""
    under = f"{len(both.changes)} facts and verdicts, {moved} of them changed · {describe_run(after)}{cut}"
    groups = groupby(both.changes, key=lambda c: c.section)
    body = [
        f"<h1>{text(title)}</h1>",
        f'<p class="under">{text(under)}</p>',
        status_html(status(both), count_findings(both)) if both.findings else "",
        requirements_html(both.requirements),
        findings_html(both.findings, set()),
        section_html(both.difference),
        *(_change_table(name, list(rows), before.subject, after.subject) for name, rows in groups),
        reproduction_html(comparison_command(both), audit_snippet(after, before), identity(after)),
    ]
    return page(title, body)


def result_page(result: Result) -> str:
    """The report of a single result."""
    p = result.provenance
    under = f"{result.id} · {result.chapter} · {p.subject_kind} “{p.subject}” · {t('seed {n}', n=p.seed)}"
    body = [
        f"<h1>{text(t(result.title))} {pill(look(result.verdict))}</h1>",
        f'<p class="under">{text(under)}</p>',
        theorem_html(result, "t0", headed=False, taught=True),
        _reproduce(result),
    ]
    return page(t(result.title), body)


# -- two networks ---------------------------------------------------------------------------------------


def _change_table(name: str, rows: Sequence[Change], before: str, after: str) -> str:
    cells = [
        (
            _fact_of(row),
            numerals(format_fact(row.before)),
            numerals(format_fact(row.after)),
            _change_cell(row),
        )
        for row in rows
    ]
    body = table(("Fact", before, after, "Change"), cells, kind="changes")
    return f'<section><h2 class="part">{text(name)}</h2>{body}</section>'


def _fact_of(row: Change) -> str:
    return prose(row.name) + (
        f'<br><span class="faint">{prose(row.note)}</span>' if row.note else ""
    )


def _change_cell(row: Change) -> str:
    told = numerals(format_change(row))
    return (
        f'<td class="right faint">{told}</td>'
        if row.same
        else f'<td class="right"><b>{told}</b></td>'
    )


# -- how to have it again -------------------------------------------------------------------------------


def _reproduce(result: Result) -> str:
    p = result.provenance
    facts = {
        "versions": versions(p.versions),
        "seed": str(p.seed),
        "subject": f"{p.subject_kind} “{p.subject}”, fingerprint {p.subject_hash}",
        "forced": "yes: measured although a hypothesis may fail" if p.forced else "no",
        "time": f"{p.wall_seconds:.2g} s",
    }
    return reproduction_html(command(result), snippet(result), facts)
