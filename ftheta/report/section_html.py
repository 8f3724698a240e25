"""A question on a page: answers, the best picture, the numbers that matter; the rest folded."""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from ftheta.logic import Audit, AuditFinding, Chart, Fact, Section, Table

from .changes import describe_basis, format_fact
from .finding_html import brief_findings_html
from .page import data_table, figure_html, numerals, prose, scrolled, text
from .reproduce import versions

_LONGEST_WORDS = 40  # letters of a fact that stands in a table; longer ones are a paragraph
_MOST_BESIDE = 9  # facts beside the picture
_FEW = 4  # facts beside which there is room for a table
_MOST_ROWS = 6  # of that table; all of them are in the fold
_MANY = 6  # facts and rows beside which two pictures find room


def section_html(section: Section, findings: Sequence[AuditFinding] = (), before: str = "") -> str:
    """The findings of the section in a line each, the first chart beside the facts that have a key, and the rest."""
    keyed = [fact for fact in section.facts if fact.key] or list(section.facts)
    first = keyed[:_MOST_BESIDE]
    beside = section.tables[:1] if len(first) <= _FEW else ()
    items = len(first) + sum(min(len(table.rows), _MOST_ROWS) for table in beside)
    room = 2 if items > _MANY else 1
    picture = "".join(map(figure_html, section.charts[:room]))
    told = facts_html(first) + "".join(data_table(table, _MOST_ROWS) for table in beside)
    sides = (
        f"<div>{picture}</div><div>{told}</div>"
        if picture and told
        else f'<div class="wide">{picture}{told}</div>'
    )
    shown = f'<div class="sides">{sides}</div>' if picture or told else ""
    cut = [table for table in section.tables if table not in beside or len(table.rows) > _MOST_ROWS]
    rest = _fold(section.charts[room:], cut, [fact for fact in section.facts if fact not in first])
    head = f'<h2 class="part">{text(section.title)}</h2>'
    return f'<section id="s-{text(section.id)}">{head}{before}{brief_findings_html(findings)}{shown}{rest}</section>'


def _fold(charts: Sequence[Chart], tables: Sequence[Table], facts: Sequence[Fact]) -> str:
    """Further figures, tables and facts."""
    counts = ((len(charts), "figure"), (len(tables), "table"), (len(facts), "number"))
    named = ", ".join(f"{count} {word}{'s' * (count > 1)}" for count, word in counts if count)
    if not named:
        return ""
    figures = f'<div class="gallery">{"".join(map(figure_html, charts))}</div>' if charts else ""
    body = f"{figures}{''.join(map(data_table, tables))}{facts_html(facts)}"
    return f"<details><summary>More: {named}</summary>{body}</details>"


def facts_html(facts: Sequence[Fact]) -> str:
    """Names, values and how they are known; what several are of is said once above them. Long words are paragraphs."""
    long = [f for f in facts if isinstance(f.value, str) and len(f.value) > _LONGEST_WORDS]
    paragraphs = "".join(
        f"<p><b>{text(f.name.capitalize())}.</b> {prose(str(f.value))}</p>" for f in long
    )
    return paragraphs + _facts_table([f for f in facts if f not in long])


def _facts_table(facts: Sequence[Fact]) -> str:
    bodies = []
    for note, group in groupby(facts, key=lambda f: f.note):
        of = (
            f'<tr><th colspan="3" scope="rowgroup" class="of">{prose(note)}</th></tr>'
            if note
            else ""
        )
        rows = "".join(
            f'<tr><th scope="row">{prose(f.name)}</th><td class="right">{numerals(format_fact(f.value))}</td>'
            f'<td class="how">{escape(describe_basis(f.value))}</td></tr>'
            for f in group
        )
        bodies.append(f"<tbody>{of}{rows}</tbody>")
    if not bodies:
        return ""
    head = '<th scope="col">Fact</th><th scope="col" class="right">Value</th><th scope="col">Known</th>'
    return scrolled(f'<table class="facts"><thead><tr>{head}</tr></thead>{"".join(bodies)}</table>')


def identity(audit: Audit) -> dict[str, str]:
    """What it takes to have the audit again, beside the command."""
    found = audit.results[0].provenance.versions if audit.results else {"ftheta": audit.version}
    return {
        "versions": versions(found),
        "seed": str(audit.seed),
        "fingerprint of the subject": audit.hash,
        "date": audit.date,
    }


def reproduction_html(line: str, code: str, facts: dict[str, str]) -> str:
    """How to have it again: on the command line, in Python, and with what."""
    rows = "".join(
        f"<dt>{escape(name)}</dt><dd>{text(value)}</dd>" for name, value in facts.items()
    )
    return f"<section><h2>Reproduce</h2><pre>{text(line)}</pre><pre>{text(code)}</pre><dl>{rows}</dl></section>"
