"""One page of HTML that says everything: no script, no reference to anything outside the file, prints well."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from pathlib import Path

from ftheta.logic import Check, Diagram, Judged, Result, Status, Table
from ftheta.logic.chart import Chart, Dag
from ftheta.logic.result import Audit

from .charts.theme import darkened
from .letters import letters, visible
from .mathml import formulas, mathml, statement_html
from .numbers import basis, enclosure, number, sides, typeset
from .plain import formula
from .render import figure
from .reproduce import audit_command, command, snippet, versions
from .verdicts import NOT_CHECKED, Look, look, remarks
from .words import counts, found, headline, obstacle, source

_FOLDER = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"
_MARKS = {
    Status.PROVED: ("✓", "holds"),
    Status.SAMPLED: ("~", "open"),
    Status.ASSUMED: ("?", "open"),
    Status.FAILED: ("✗", "refuted"),
}
_HEIGHTS = {"curves": 340, "histogram": 320, "heatmap": 420, "regions": 430, "points": 400}
_RELATION = re.compile(
    r"[=<>]|\\(le|ge|leq|geq|to|in|sim|approx|equiv|preceq|iff|Leftrightarrow|Rightarrow)(?![a-zA-Z])"
)
_JOINT = re.compile(r"(?<=[≤≥=→Δ±]) | (?=%)")
_CLAUSE = re.compile(r"\\qquad|\\quad")
_MOST_ROWS = 200
_LONGEST_CLAIM, _LONGEST_BESIDE = 40, 46  # letters of a formula in the table, and beside a figure


def audit_page(audit: Audit) -> str:
    """The report of an audit."""
    facts = ", ".join(f"{name} {value}" for name, value in audit.facts[:5])
    under = f"{facts}. {audit.date}, ftheta {audit.version}, seed {audit.seed}."
    body = [
        f"<h1>Audit of {_text(audit.subject)}</h1>",
        f'<p class="under">{_text(under)}</p>',
        _counters(audit),
        _overview(audit),
        _about(audit),
        *(_theorem(result, f"t{i}") for i, result in enumerate(audit.results)),
        _reproduce_audit(audit),
    ]
    return _page(f"Audit of {audit.subject}", body)


def result_page(result: Result) -> str:
    """The report of a single result."""
    p = result.provenance
    under = f"{result.id} · {result.chapter} · {p.subject_kind} “{p.subject}” · seed {p.seed}"
    here = look(result.verdict)
    body = [
        f"<h1>{_text(result.title)} {_pill(here)}</h1>",
        f'<p class="under">{_text(under)}</p>',
        _theorem(result, "t0", headed=False),
        _reproduce(result),
    ]
    return _page(result.title, body)


# -- the page ---------------------------------------------------------------------------------------


def _page(title: str, body: Iterable[str]) -> str:
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        f"<title>{_text(title)}</title>",
        f"<style>{_style()}</style>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            *head,
            "</head>",
            "<body><main>",
            *body,
            "</main></body>",
            "</html>",
            "",
        ]
    )


@cache
def _style() -> str:
    """The style sheet with the font in it, and the colours of the figures in the dark."""
    font = b64encode((_FOLDER / "fonts" / "ftheta-math.woff2").read_bytes()).decode()
    face = f'@font-face{{font-family:"ftheta Math";src:url(data:font/woff2;base64,{font}) format("woff2")}}'
    swaps = "".join(
        f'figure [fill="{light}"]{{fill:{dark}}}figure [stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in darkened().items()
    )
    css = (_FOLDER / "page.css").read_text(encoding="utf-8")
    return f"{face}\n{css}\n@media screen and (prefers-color-scheme:dark){{{swaps}}}"


def _text(text: str) -> str:
    return escape(visible(text))


def _words(text: str) -> str:
    """A sentence: formulas between dollars become MathML, simple indices their own letters."""
    return statement_html(visible(text)) if "$" in text or "`" in text else escape(letters(text))


def _pill(here: Look, extra: str = "") -> str:
    return f'<span class="pill {here.family}">{here.sign} {escape(here.word + extra)}</span>'


def _number(text: str) -> str:
    """Numbers with raised exponents; a sign is not parted from what it belongs to."""
    return escape(_JOINT.sub("\u00a0", typeset(text)))


def _table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str = "", kind: str = "", left: int = 1
) -> str:
    """Rows of cells that are HTML already; the first `left` columns are set to the left."""
    aligned = lambda i: "" if i < left else ' class="right"'
    titles = "".join(f'<th scope="col"{aligned(i)}>{escape(name)}</th>' for i, name in enumerate(head))
    lines = []
    for row in rows:
        first, *rest = row
        cells = "".join(
            cell if cell.startswith("<td") else f"<td{aligned(i)}>{cell}</td>" for i, cell in enumerate(rest, 1)
        )
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    titled = f"<caption>{caption}</caption>" if caption else ""
    body = f"{titled}<thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return f'<div class="scroll"><table class="{kind}">{body}</table></div>'


# -- the audit --------------------------------------------------------------------------------------


def _counters(audit: Audit) -> str:
    cells = [
        f'<li class="{family if count else "none"}"><b>{count}</b> {escape(label)}</li>'
        for family, count, label in counts(audit)
    ]
    return f'<ul class="counters">{"".join(cells)}</ul>'


def _overview(audit: Audit) -> str:
    rows = [_overview_row(result, f"t{i}") for i, result in enumerate(audit.results)]
    for id, reason in audit.skipped:
        rows.append((_text(id), "", _pill(NOT_CHECKED), f'<td colspan="3" class="right wraps">{_text(reason)}</td>'))
    return _table(("Theorem", "Claim", "Verdict", "Bound", "Measured", "Slack"), rows, kind="overview", left=3)


def _overview_row(result: Result, anchor: str) -> Sequence[str]:
    judged = headline(result)
    name = f'<a href="#{anchor}">{_text(result.title)}</a>'
    pill = _pill(look(result.verdict), ", vacuous" if result.vacuous else "")
    if judged is None:
        missing = f"asks for: {obstacle(result)}" if obstacle(result) else "nothing was measured"
        return name, _claim(result), pill, f'<td colspan="3" class="right wraps">{_words(missing)}</td>'
    row = sides(judged.claim)
    return name, _claim(result), pill, _number(row.bound), _number(row.measured), _number(row.slack)


def _claim(result: Result) -> str:
    """The claim that the numbers of the row are about, in words; where nothing was measured, the first short formula
    of the statement that relates two sides."""
    judged = headline(result)
    if judged is not None:
        return _words(judged.claim.what)
    clauses = [_CLAUSE.split(f)[0].strip().rstrip(".,;") for f in formulas(result.statement) if "&" not in f]
    short = [f for f in clauses if len(formula(f)) <= _LONGEST_CLAIM and _RELATION.search(f)]
    return mathml(short[0]) if short else ""


def _about(audit: Audit) -> str:
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(value)}</dd>" for name, value in audit.facts)
    identity = f"<dt>kind</dt><dd>{_text(audit.kind)}</dd><dt>fingerprint</dt><dd><code>{_text(audit.hash)}</code></dd>"
    drawn = f"<div>{_figure(audit.diagram, captioned=False)}</div>" if audit.diagram else ""
    return f'<section><h2>What it is</h2><div class="sides"><dl>{facts}{identity}</dl>{drawn}</div></section>'


def _reproduce_audit(audit: Audit) -> str:
    given = ", ".join(repr(name) for name in (audit.subject, audit.data) if name)
    code = f"import ftheta as ft\n\naudit = ft.audit({given}, seed={audit.seed})"
    found_ = audit.results[0].provenance.versions if audit.results else {"ftheta": audit.version}
    facts = {
        "versions": versions(found_),
        "seed": str(audit.seed),
        "fingerprint of the subject": audit.hash,
        "date": audit.date,
    }
    return _again(audit_command(audit), code, facts)


def _reproduce(result: Result) -> str:
    p = result.provenance
    facts = {
        "versions": versions(p.versions),
        "seed": str(p.seed),
        "subject": f"{p.subject_kind} “{p.subject}”, fingerprint {p.subject_hash}",
        "forced": "yes: measured although a hypothesis may fail" if p.forced else "no",
        "time": f"{p.wall_seconds:.2g} s",
    }
    return _again(command(result), snippet(result), facts)


def _again(line: str, code: str, facts: dict[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{_text(value)}</dd>" for name, value in facts.items())
    return f"<section><h2>Reproduce</h2><pre>{_text(line)}</pre><pre>{_text(code)}</pre><dl>{rows}</dl></section>"


# -- one theorem ------------------------------------------------------------------------------------


def _theorem(result: Result, anchor: str, *, headed: bool = True) -> str:
    here = look(result.verdict)
    title = f"<h2>{_text(result.title)} {_pill(here, ', vacuous' if result.vacuous else '')}</h2>" if headed else ""
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
    first = f"<div>{_figure(small[0])}</div>" if small else ""
    gallery = f'<div class="gallery">{"".join(map(_figure, small[1:]))}</div>' if small[1:] else ""
    tables = [_claims(result.claims), _numbers(result), *map(_data, result.tables)]
    below = "".join([*tables, gallery, *map(_figure, wide), _sources(result)])
    told = f"<div{'' if first else ' class=wide'}>{''.join(left)}</div>"
    above = "" if beside else statement
    return f'<section id="{anchor}">{title}{above}<div class="sides">{told}{first}</div>{below}</section>'


def _summary(result: Result, here: Look) -> str:
    failed = [c for c in result.checks if c.finding.status is Status.FAILED]
    told = f"<p>{_words(_sentence(result.summary))}</p>" if result.summary else ""
    if failed and not result.claims:
        told = "".join(
            f"<p><b>The theorem asks: {_words(c.says or c.name)}.</b> Here: {_words(c.finding.note)}.</p>"
            for c in failed
        )
    meaning = f'<p class="faint">{escape(here.word.capitalize())}: {escape(here.means)}.</p>'
    marked = "".join(f"<p><b>{escape(remark.capitalize())}.</b></p>" for remark in remarks(result))
    return told + ("" if here.word in here.means else meaning) + marked


def _sentence(text: str) -> str:
    """With a capital letter and a full stop."""
    begun = text[0].upper() + text[1:] if re.match(r"[a-z]{2,}\s", text) else text
    return begun if begun.endswith((".", "!", "?")) else f"{begun}."


def _checks(checks: Sequence[Check]) -> str:
    items = []
    for check in checks:
        mark, family = _MARKS[check.finding.status]
        status = "" if check.finding.status is Status.PROVED else f" ({check.finding.status.value})"
        note = f' <span class="faint">{_words(check.finding.note)}{status}</span>'
        items.append(f'<li><span class="mark {family}">{mark}</span>{_words(check.says or check.name)}{note}</li>')
    return f'<h3>Hypotheses</h3><ul class="checks">{"".join(items)}</ul>' if items else ""


def _remedies(checks: Sequence[Check]) -> str:
    """How to meet the hypotheses that fail."""
    failed = [c for c in checks if c.finding.status is Status.FAILED and c.remedy]
    told = "".join(f"<p><b>To meet “{_text(c.name)}”:</b> {_words(c.remedy.rstrip('.'))}.</p>" for c in failed)
    return f'<div class="remedy">{told}</div>' if told else ""


def _printed(as_printed: Sequence[Judged]) -> str:
    """Statements as a source prints them."""
    parts = []
    for judged in as_printed:
        here, row = look(judged.judgement.verdict), sides(judged.claim)
        told = f"<b>As printed in the source:</b> {_words(judged.claim.what)} {_pill(here)}"
        against = f"{_number(row.measured)} against {_number(row.bound)}; {_words(judged.judgement.reason)}."
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
        cells = (_number(row.measured), _number(row.bound), _number(row.slack))
        pill = _pill(look(judgement.verdict), ", vacuous" if judgement.vacuous else "")
        rows.append((_words(judged.claim.what), pill, *cells, f'<td class="wraps">{"<br>".join(told)}</td>'))
    head = ("Claim", "Verdict", "Measured", "Bound", "Slack", "How we know")
    return _table(head, rows, kind="claims", left=2) if rows else ""


def _numbers(result: Result) -> str:
    rows = [
        f'<div><dt>{_words(n)}</dt><dd>{_number(enclosure(e))} <span class="faint">{escape(basis(e))}</span></dd></div>'
        for n, e in result.numbers.items()
    ]
    return f'<h3>Numbers</h3><dl class="numbers">{"".join(rows)}</dl>' if rows else ""


def _data(table: Table) -> str:
    rows = [[_cell(cell) for cell in row[: len(table.columns)]] for row in table.rows[:_MOST_ROWS] if row]
    more = f" (the first {_MOST_ROWS} of {len(table.rows):,} rows)" if len(table.rows) > _MOST_ROWS else ""
    return _table([letters(c) for c in table.columns], rows, caption=_words(table.title) + more)


def _cell(cell: float | int | str) -> str:
    return _words(cell) if isinstance(cell, str) else _number(number(cell))


def _figure(chart: Chart, *, captioned: bool = True) -> str:
    wide = 1000 if isinstance(chart, Dag) else 760 if isinstance(chart, Diagram) and captioned else 540
    height = _HEIGHTS.get(chart.kind, 300 if isinstance(chart, Diagram) else None)
    caption = f"<figcaption>{_words(chart.title)}</figcaption>" if captioned and chart.title else ""
    return f"<figure>{figure(chart, width=wide, height=height)}{caption}</figure>"


def _sources(result: Result) -> str:
    told = "; ".join(_text(source(key)) for key in result.sources)
    return f'<p class="faint">Sources: {told}.</p>' if told else ""
