"""One theorem on a page: statement, what was found, hypotheses, claims, numbers, figures."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from html import escape
from types import MappingProxyType
from typing import Any

from ftheta.languages import t
from ftheta.logic import Check, Diagram, Enclosure, Judged, Result, Status
from ftheta.logic.chart import Dag

from .explained import explain_statement
from .mathml import formulas, statement_html
from .numbers import basis, quantity
from .page import data_table, figure_html, numerals, part_mark, pill, prose, table, text
from .parts import lesson_of, part_of_claim
from .parts_html import parts_html
from .plain import formula
from .reasons import translate_reason
from .sides import sides
from .verdicts import MARKS, Look, look, remarks
from .words import describe_status, describe_witness, failing_checks, source

_LONGEST_BESIDE = 46  # letters of a formula beside a figure


def theorem_html(
    result: Result,
    anchor: str,
    *,
    headed: bool = True,
    taught: bool = False,
    anchors: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Everything about one result; `anchor` is what links lead to, `anchors` those of other theorems on the page. Where
    it is `taught`, once on a page, parts and symbols are those of its lesson."""
    here = look(result.verdict)
    mark = pill(here, f", {t('vacuous')}" if result.vacuous else "")
    title = f'<h3 class="title">{text(t(result.title))} {mark}</h3>' if headed else ""
    lesson = lesson_of(result.id) if taught else None
    lettered = result.id if lesson else ""
    level = 2 if taught else 4
    wide = [chart for chart in result.charts if isinstance(chart, (Dag, Diagram))]
    small = [chart for chart in result.charts if not isinstance(chart, (Dag, Diagram))]
    gist = f'<p class="gist">{prose(t(result.gist))}</p>' if result.gist else ""
    statement = gist + taught_statement_html(result, lesson)
    draw = partial(figure_html, id=lettered)
    beside = all(len(formula(f)) <= _LONGEST_BESIDE for f in formulas(result.statement))
    left = [
        statement if beside else "",
        summary_html(result, here),
        checks_html(result.checks, level),
        remedies_html(result.checks),
        printed_claims_html(result.as_printed),
        errata_html(result),
    ]
    first = f"<div>{draw(small[0])}</div>" if small else ""
    gallery = f'<div class="gallery">{"".join(map(draw, small[1:]))}</div>' if small[1:] else ""
    tables = [
        claims_html(result.claims, lettered),
        examples_html(result, level),
        numbers_html(result.numbers, heading(t("Numbers"), level)),
        *map(data_table, result.tables),
    ]
    below = "".join(
        [*tables, gallery, *map(draw, wide), sources_html(result), _see_also(result, anchors)]
    )
    told = f"<div{'' if first else ' class=wide'}>{''.join(left)}</div>"
    above = "" if beside else statement
    return f'<article id="{anchor}">{title}{above}<div class="sides">{told}{first}</div>{below}</article>'


def taught_statement_html(result: Result, lesson: Mapping[str, Any] | None) -> str:
    """The statement, and where the theorem has a lesson its symbols and its parts."""
    if lesson is None:
        return f'<div class="statement">{statement_html(result.statement)}</div>'
    parts = parts_html(lesson["parts"], lesson["symbols"])
    return f"{explain_statement(result.statement, lesson['symbols'])}{heading(t('Its parts'), 2)}{parts}"


def summary_html(result: Result, here: Look) -> str:
    """What was found in one sentence, and what the verdict means."""
    failed = failing_checks(result)
    told = f"<p>{prose(_sentence(result.summary))}</p>" if result.summary else ""
    if failed and not result.claims:
        told = "".join(
            f"<p><b>{t('Requires:')} {prose(c.says or c.name)}.</b> {t('Here:')} {prose(c.finding.note)}.</p>"
            for c in failed
        )
    word = escape(here.word.capitalize())
    meaning = (
        f'<p class="faint">{t("{word}: {meaning}.", word=word, meaning=escape(here.means))}</p>'
    )
    marked = "".join(
        f"<p><b>{escape(remark[:1].upper() + remark[1:])}.</b></p>" for remark in remarks(result)
    )
    return told + ("" if here.word in here.means else meaning) + marked


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    begun = text[0].upper() + text[1:] if re.match(r"[a-z]{2,}\s", text) else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def heading(words: str, level: int) -> str:
    """A small heading inside of what is said of a theorem: below its own, which is of the level 1 or 3."""
    return f'<h{level} class="inner">{text(words)}</h{level}>'


def checks_html(checks: Sequence[Check], level: int = 4) -> str:
    """The hypotheses, each with how well it is known here, below a heading of this level."""
    items = []
    for check in checks:
        mark, family = MARKS[check.finding.status]
        note = f' <span class="faint">{prose(check.finding.note + describe_status(check.finding))}</span>'
        items.append(
            f'<li><span class="mark {family}">{mark}</span>{prose(check.says or check.name)}{note}</li>'
        )
    return (
        f'{heading(t("Hypotheses"), level)}<ul class="checks">{"".join(items)}</ul>'
        if items
        else ""
    )


def remedies_html(checks: Sequence[Check]) -> str:
    """How to meet the hypotheses that fail."""
    failed = [c for c in checks if c.finding.status is Status.FAILED and c.remedy]
    told = "".join(
        f"<p><b>{t('To meet “{name}”:', name=text(c.name))}</b> {prose(c.remedy.rstrip('.'))}.</p>"
        for c in failed
    )
    return f'<div class="remedy">{told}</div>' if told else ""


def printed_claims_html(as_printed: Sequence[Judged]) -> str:
    """Statements as a source prints them."""
    parts = []
    for judged in as_printed:
        here = look(judged.judgement.verdict)
        row = sides(judged.claim)
        told = f"<b>{t('As printed in the source:')}</b> {prose(judged.claim.what)} {pill(here)}"
        against = t(
            "{left} against {right}", left=numerals(row.measured), right=numerals(row.bound)
        )
        against = f"{against}; {prose(translate_reason(judged.judgement.reason))}."
        witnesses = "".join(f"<p>{escape(words)}</p>" for words in describe_witness(judged))
        kind = "printed" if here.family == "refuted" else "note"
        parts.append(f'<div class="{kind}"><p>{told}</p><p>{against}</p>{witnesses}</div>')
    return "".join(parts)


def errata_html(result: Result) -> str:
    """What the sources print wrongly; nothing where they are right."""
    return (
        f'<div class="note"><p><b>{t("Errata in the sources:")}</b> {statement_html(result.errata)}</p></div>'
        if result.errata
        else ""
    )


def claims_html(claims: Sequence[Judged], id: str = "") -> str:
    """Every claim with its numbers and the evidence for it; those of the theorem `id` with the part that they check."""
    rows = []
    for judged in claims:
        row = sides(judged.claim)
        judgement = judged.judgement
        told = [
            escape(translate_reason(judgement.reason)),
            *map(escape, remarks(judgement)),
            *map(escape, describe_witness(judged)),
        ]
        cells = (numerals(row.measured), numerals(row.bound), numerals(row.slack))
        mark = pill(look(judgement.verdict), f", {t('vacuous')}" if judgement.vacuous else "")
        what = part_mark(part_of_claim(id, judged.claim.what)) + prose(judged.claim.what)
        rows.append((what, mark, *cells, f'<td class="wraps">{"<br>".join(told)}</td>'))
    head = (t("Claim"), t("Verdict"), t("Measured"), t("Bound"), t("Slack"), t("Evidence"))
    return table(head, rows, kind="claims", left=2) if rows else ""


def examples_html(result: Result, level: int = 4) -> str:
    """The theorem on other things than the subject, below a heading of this level."""
    if not result.examples and not result.example_numbers:
        return ""
    numbers = numbers_html(result.example_numbers, title="")
    return f"{heading(t('Examples (not about the subject)'), level)}{claims_html(result.examples)}{numbers}"


def numbers_html(numbers: Mapping[str, Enclosure], title: str) -> str:
    """Named numbers with how each was obtained; `title` is the heading, as HTML, or nothing."""
    rows = [
        f"<div><dt>{prose(n)}</dt><dd>{numerals(quantity(n, e))} "
        f'<span class="faint">{escape(basis(e))}</span></dd></div>'
        for n, e in numbers.items()
    ]
    return f'{title}<dl class="numbers">{"".join(rows)}</dl>' if rows else ""


def sources_html(result: Result) -> str:
    """The sources of the theorem, in one line."""
    told = "; ".join(text(source(key)) for key in result.sources)
    return f'<p class="faint">{t("Sources:")} {told}.</p>' if told else ""


def _see_also(result: Result, anchors: Mapping[str, str]) -> str:
    """Related theorems by id, linked where they stand on the same page."""
    names = [
        f'<a href="#{anchors[id]}">{text(id)}</a>' if id in anchors else text(id)
        for id in result.see_also
    ]
    return f'<p class="faint">{t("See also:")} {", ".join(names)}.</p>' if names else ""
