"""One theorem on a page: statement, what was found, hypotheses, claims, numbers, figures."""

import re
from collections.abc import Sequence
from html import escape

from ftheta.logic import Check, Diagram, Judged, Result, Status
from ftheta.logic.chart import Dag

from .mathml import formulas, statement_html
from .numbers import basis, enclosure, sides
from .page import data_table, drawn, numerals, pill, prose, table, text
from .plain import formula
from .verdicts import Look, look, remarks
from .words import found, source, standing

_MARKS = {
    Status.PROVED: ("✓", "holds"),
    Status.SAMPLED: ("~", "open"),
    Status.ASSUMED: ("?", "open"),
    Status.FAILED: ("✗", "refuted"),
}
_LONGEST_BESIDE = 46  # letters of a formula beside a figure


def theorem_html(result: Result, anchor: str, *, headed: bool = True) -> str:
    """Everything about one result; `anchor` is what links lead to."""
    here = look(result.verdict)
    mark = pill(here, ", vacuous" if result.vacuous else "")
    title = f'<h3 class="title">{text(result.title)} {mark}</h3>' if headed else ""
    wide = [chart for chart in result.charts if isinstance(chart, (Dag, Diagram))]
    small = [chart for chart in result.charts if not isinstance(chart, (Dag, Diagram))]
    statement = f'<div class="statement">{statement_html(result.statement)}</div>'
    beside = all(len(formula(f)) <= _LONGEST_BESIDE for f in formulas(result.statement))
    left = [
        statement if beside else "",
        _summary(result, here),
        _checks(result.checks),
        _remedies(result.checks),
        _printed(result.as_printed),
        _errata(result),
    ]
    first = f"<div>{drawn(small[0])}</div>" if small else ""
    gallery = f'<div class="gallery">{"".join(map(drawn, small[1:]))}</div>' if small[1:] else ""
    tables = [_claims(result.claims), _numbers(result), *map(data_table, result.tables)]
    below = "".join([*tables, gallery, *map(drawn, wide), _sources(result)])
    told = f"<div{'' if first else ' class=wide'}>{''.join(left)}</div>"
    above = "" if beside else statement
    return f'<article id="{anchor}">{title}{above}<div class="sides">{told}{first}</div>{below}</article>'


def _summary(result: Result, here: Look) -> str:
    failed = [c for c in result.checks if c.finding.status is Status.FAILED]
    told = f"<p>{prose(_sentence(result.summary))}</p>" if result.summary else ""
    if failed and not result.claims:
        told = "".join(
            f"<p><b>The theorem asks: {prose(c.says or c.name)}.</b> Here: {prose(c.finding.note)}.</p>" for c in failed
        )
    meaning = f'<p class="faint">{escape(here.word.capitalize())}: {escape(here.means)}.</p>'
    marked = "".join(f"<p><b>{escape(remark[:1].upper() + remark[1:])}.</b></p>" for remark in remarks(result))
    return told + ("" if here.word in here.means else meaning) + marked


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    begun = text[0].upper() + text[1:] if re.match(r"[a-z]{2,}\s", text) else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def _checks(checks: Sequence[Check]) -> str:
    items = []
    for check in checks:
        mark, family = _MARKS[check.finding.status]
        note = f' <span class="faint">{prose(check.finding.note + standing(check.finding))}</span>'
        items.append(f'<li><span class="mark {family}">{mark}</span>{prose(check.says or check.name)}{note}</li>')
    return f'<h4>Hypotheses</h4><ul class="checks">{"".join(items)}</ul>' if items else ""


def _remedies(checks: Sequence[Check]) -> str:
    """How to meet the hypotheses that fail."""
    failed = [c for c in checks if c.finding.status is Status.FAILED and c.remedy]
    told = "".join(f"<p><b>To meet “{text(c.name)}”:</b> {prose(c.remedy.rstrip('.'))}.</p>" for c in failed)
    return f'<div class="remedy">{told}</div>' if told else ""


def _printed(as_printed: Sequence[Judged]) -> str:
    """Statements as a source prints them."""
    parts = []
    for judged in as_printed:
        here, row = look(judged.judgement.verdict), sides(judged.claim)
        told = f"<b>As printed in the source:</b> {prose(judged.claim.what)} {pill(here)}"
        against = f"{numerals(row.measured)} against {numerals(row.bound)}; {prose(judged.judgement.reason)}."
        witnesses = "".join(f"<p>{escape(words)}</p>" for words in found(judged))
        kind = "printed" if here.family == "refuted" else "note"
        parts.append(f'<div class="{kind}"><p>{told}</p><p>{against}</p>{witnesses}</div>')
    return "".join(parts)


def _errata(result: Result) -> str:
    return f'<div class="note"><p><b>Errata:</b> {statement_html(result.errata)}</p></div>' if result.errata else ""


def _claims(claims: Sequence[Judged]) -> str:
    """Every claim with its numbers and how we know."""
    rows = []
    for judged in claims:
        row, judgement = sides(judged.claim), judged.judgement
        told = [escape(judgement.reason), *map(escape, remarks(judgement)), *map(escape, found(judged))]
        cells = (numerals(row.measured), numerals(row.bound), numerals(row.slack))
        mark = pill(look(judgement.verdict), ", vacuous" if judgement.vacuous else "")
        rows.append((prose(judged.claim.what), mark, *cells, f'<td class="wraps">{"<br>".join(told)}</td>'))
    head = ("Claim", "Verdict", "Measured", "Bound", "Slack", "How we know")
    return table(head, rows, kind="claims", left=2) if rows else ""


def _numbers(result: Result) -> str:
    rows = [
        f'<div><dt>{prose(n)}</dt><dd>{numerals(enclosure(e))} <span class="faint">{escape(basis(e))}</span></dd></div>'
        for n, e in result.numbers.items()
    ]
    return f'<h4>Numbers</h4><dl class="numbers">{"".join(rows)}</dl>' if rows else ""


def _sources(result: Result) -> str:
    told = "; ".join(text(source(key)) for key in result.sources)
    return f'<p class="faint">Sources: {told}.</p>' if told else ""
