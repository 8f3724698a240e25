"""One page of HTML that says everything: no script, no reference to anything outside the file, prints well."""

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from ftheta.logic import Change, Comparison, Diagram, Fact, Result, Section
from ftheta.logic.chart import Dag
from ftheta.logic.result import Audit

from .changes import describe_basis, format_change, format_fact
from .mathml import formulas, mathml
from .page import data_table, figure_html, numerals, page, pill, prose, table, text
from .plain import formula
from .reproduce import audit_command, audit_snippet, command, comparison_command, snippet, versions
from .sides import brief
from .theorem_html import theorem_html
from .verdicts import NOT_CHECKED, look
from .words import count_verdicts, failing_checks, headline, unmet_requirements

_RELATION = re.compile(
    r"[=<>]|\\(le|ge|leq|geq|to|in|sim|approx|equiv|preceq|iff|Leftrightarrow|Rightarrow)(?![a-zA-Z])"
)
_CLAUSE = re.compile(r"\\qquad|\\quad")
_LONGEST_CLAIM = 40  # letters of a formula in the table
_MOST_BESIDE = 5  # columns of a table that stands beside facts
_MANY_FACTS = 8  # beside which two figures find room
_MOST_FAILING = 2  # theorems of a section that are not applicable and have a row each; more share one
_LONGEST_WORDS = 40  # letters of a fact that stands in a table; longer ones are a paragraph


def audit_page(audit: Audit) -> str:
    """The report of an audit."""
    sections = _sections(audit)
    body = [
        f"<h1>Audit of {text(audit.subject)}</h1>",
        f'<p class="under">{text(_subtitle(audit))}</p>',
        _counters(audit),
        _contents(sections, audit),
        _overview(audit, sections),
        *(_part(s, _about(audit) if s.id == "what" else "") for s in sections if _has_content(s)),
        _missing_table(audit),
        _theorem_articles(sections, audit),
        _reproduce_audit(audit),
    ]
    return page(f"Audit of {audit.subject}", body)


def comparison_page(both: Comparison) -> str:
    """Two audits side by side."""
    before = both.before
    after = both.after
    title = f"{after.subject} against {before.subject}"
    moved = sum(not c.same for c in both.changes)
    under = (
        f"{len(both.changes)} facts and verdicts, {moved} of them changed. {_provenance(after)}{_interruption(after)}"
    )
    groups = groupby(both.changes, key=lambda c: c.section)
    body = [
        f"<h1>{text(title)}</h1>",
        f'<p class="under">{text(under)}</p>',
        _part(both.difference, ""),
        *(_change_table(name, list(rows), before.subject, after.subject) for name, rows in groups),
        _reproduction(comparison_command(both), audit_snippet(after, before), _identity(after)),
    ]
    return page(title, body)


def result_page(result: Result) -> str:
    """The report of a single result."""
    p = result.provenance
    under = f"{result.id} · {result.chapter} · {p.subject_kind} “{p.subject}” · seed {p.seed}"
    body = [
        f"<h1>{text(result.title)} {pill(look(result.verdict))}</h1>",
        f'<p class="under">{text(under)}</p>',
        theorem_html(result, "t0", headed=False),
        _reproduce(result),
    ]
    return page(result.title, body)


# -- the head of an audit -----------------------------------------------------------------------------


def _subtitle(audit: Audit) -> str:
    facts = ", ".join(f"{name} {value}" for name, value in audit.facts[:6])
    return f"{facts}. {_provenance(audit)}{_interruption(audit)}"


def _interruption(audit: Audit) -> str:
    return " Interrupted: this is what was done until then." if audit.interrupted else ""


def _provenance(audit: Audit) -> str:
    spent = f", {audit.seconds:.0f} s" if audit.seconds else ""
    limit = f" (budget {audit.asked.budget:g} s)" if spent and audit.asked.budget else ""
    return f"{audit.date}, ftheta {audit.version}, seed {audit.seed}{spent}{limit}."


def _counters(audit: Audit) -> str:
    cells = [
        f'<li class="{family if count else "none"}"><b>{count}</b> {escape(label)}</li>'
        for family, count, label in count_verdicts(audit)
    ]
    return f'<ul class="counters">{"".join(cells)}</ul>'


def _sections(audit: Audit) -> list[Section]:
    """Those of the audit, begun by what it is; results that none of them names come last."""
    named = {id for section in audit.sections for id in section.theorems}
    rest = tuple(result.id for result in audit.results if result.id not in named)
    first = [] if any(s.id == "what" for s in audit.sections) else [Section("what", "What it is")]
    return [*first, *audit.sections, *([Section("rest", "Theorems", theorems=rest)] if rest else [])]


def _contents(sections: Sequence[Section], audit: Audit) -> str:
    links = [f'<a href="#s-{text(s.id)}">{text(s.title)}</a>' for s in sections if _has_content(s)]
    links += ['<a href="#missing">Not applicable</a>'] if _reasons(audit) else []
    links += ['<a href="#theorems">Theorems in detail</a>'] if audit.results else []
    return f'<nav aria-label="sections">{" ".join(links)}</nav>'


def _overview(audit: Audit, sections: Sequence[Section]) -> str:
    results = {r.id: r for r in audit.results}
    rows = []
    for section in sections:
        here = [results[id] for id in section.theorems if id in results]
        if here:
            rows.append((f'<span class="group">{text(section.title)}</span>', '<td colspan="5"></td>'))
        failed = [r for r in here if unmet_requirements(r)]
        many = len(failed) > _MOST_FAILING
        rows += [_overview_row(result) for result in here if not (many and unmet_requirements(result))]
        rows += [_shared_row(failed)] if many else []
    if audit.skipped:
        told = f'<a href="#missing">{len(audit.skipped)} more</a>'
        why = '<td colspan="3" class="right wraps">why, and how they can be</td>'
        rows.append((told, "", pill(NOT_CHECKED), why))
    return table(("Theorem", "Claim", "Verdict", "Bound", "Measured", "Slack"), rows, kind="overview", left=3)


def _overview_row(result: Result) -> Sequence[str]:
    judged = headline(result)
    name = f'<a href="#{_anchor(result)}">{text(result.title)}</a>'
    mark = pill(look(result.verdict), ", vacuous" if result.vacuous else "")
    if judged is None:
        missing = f"requires {unmet_requirements(result)}" if unmet_requirements(result) else "nothing was measured"
        return name, _claim(result), mark, f'<td colspan="3" class="right wraps">{prose(missing)}</td>'
    row = brief(judged.claim)
    return name, _claim(result), mark, numerals(row.bound), numerals(row.measured), numerals(row.slack)


def _shared_row(results: Sequence[Result]) -> Sequence[str]:
    """Theorems that are not applicable, each with what it requires."""
    told = []
    for result in results:
        required = f'<span class="faint">(requires {prose(unmet_requirements(result))})</span>'
        told.append(f'<a href="#{_anchor(result)}">{text(result.title)}</a> {required}')
    mark = pill(look(results[0].verdict))
    return f"{len(results)} theorems", f'<td colspan="5" class="wraps">{mark} {"; ".join(told)}</td>'


def _anchor(result: Result) -> str:
    return "t-" + re.sub(r"[^a-zA-Z0-9-]", "", result.id)


def _claim(result: Result) -> str:
    """The claim that the numbers of the row are about, in words; where nothing was measured, the first short formula
    of the statement that relates two sides."""
    judged = headline(result)
    if judged is not None:
        return prose(judged.claim.what)
    clauses = [_CLAUSE.split(f)[0].strip().rstrip(".,;") for f in formulas(result.statement) if "&" not in f]
    short = [f for f in clauses if len(formula(f)) <= _LONGEST_CLAIM and _RELATION.search(f)]
    return mathml(short[0]) if short else ""


# -- its sections -------------------------------------------------------------------------------------


def _has_content(section: Section) -> bool:
    """Whether a section has more than theorems."""
    return section.id == "what" or bool(section.facts or section.tables or section.charts)


def _theorem_articles(sections: Sequence[Section], audit: Audit) -> str:
    """The theorems one by one, in the order of the overview; those that are not applicable come last."""
    results = {r.id: r for r in audit.results}
    listed = [results[id] for section in sections for id in section.theorems if id in results]
    listed.sort(key=lambda result: bool(unmet_requirements(result)))
    anchors = {result.id: _anchor(result) for result in listed}
    articles = "".join(theorem_html(result, anchors[result.id], anchors=anchors) for result in listed)
    return f'<section id="theorems"><h2 class="part">Theorems in detail</h2>{articles}</section>' if listed else ""


def _part(section: Section, before: str) -> str:
    """Facts beside the first figures, or where there is none the first table; then tables and the other figures."""
    long = [f for f in section.facts if isinstance(f.value, str) and len(f.value) > _LONGEST_WORDS]
    paragraphs = "".join(f"<p><b>{text(f.name.capitalize())}.</b> {prose(str(f.value))}</p>" for f in long)
    facts = paragraphs + _facts([f for f in section.facts if f not in long])
    wide = [figure_html(c) for c in section.charts if isinstance(c, (Dag, Diagram))]
    small = [figure_html(c) for c in section.charts if not isinstance(c, (Dag, Diagram))]
    tables = [data_table(t) for t in section.tables]
    narrow = bool(section.tables) and len(section.tables[0].columns) <= _MOST_BESIDE
    room = 2 if len(section.facts) > _MANY_FACTS else 1  # figures beside the facts
    beside = small[:room] or tables[: int(narrow)]
    rest = [*(tables[int(narrow) :] if not small else tables), *wide]
    gallery = f'<div class="gallery">{"".join(small[room:])}</div>' if small[room:] else ""
    told = f"<div{'' if beside else ' class=wide'}>{facts}</div>" if facts else ""
    right = f"<div{'' if told else ' class=wide'}>{''.join(beside)}</div>" if beside else ""
    sides_ = f'<div class="sides">{told}{right}</div>' if told or right else ""
    head = f'<h2 class="part">{text(section.title)}</h2>'
    return f'<section id="s-{text(section.id)}">{head}{before}{sides_}{gallery}{"".join(rest)}</section>'


def _facts(facts: Sequence[Fact]) -> str:
    """Names, values and how they are known; what several are of is said once above them."""
    bodies = []
    for note, group in groupby(facts, key=lambda f: f.note):
        of = f'<tr><th colspan="3" scope="rowgroup" class="of">{prose(note)}</th></tr>' if note else ""
        rows = "".join(
            f'<tr><th scope="row">{prose(f.name)}</th><td class="right">{numerals(format_fact(f.value))}</td>'
            f'<td class="how">{escape(describe_basis(f.value))}</td></tr>'
            for f in group
        )
        bodies.append(f"<tbody>{of}{rows}</tbody>")
    if not bodies:
        return ""
    head = '<th scope="col">Fact</th><th scope="col" class="right">Value</th><th scope="col">Known</th>'
    return f'<div class="scroll"><table class="facts"><thead><tr>{head}</tr></thead>{"".join(bodies)}</table></div>'


def _about(audit: Audit) -> str:
    facts = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in audit.facts)
    identity = f"<dt>kind</dt><dd>{text(audit.kind)}</dd><dt>fingerprint</dt><dd><code>{text(audit.hash)}</code></dd>"
    figure = f"<div>{figure_html(audit.diagram, captioned=False)}</div>" if audit.diagram else ""
    return f'<div class="sides"><dl>{facts}{identity}</dl>{figure}</div>'


# -- what did not apply ---------------------------------------------------------------------------------


def _reasons(audit: Audit) -> dict[tuple[str, str], list[tuple[str, str]]]:
    """What is not applicable or was not run: what is required and how to meet it -> names with their reasons."""
    groups: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for result in audit.results:
        for check in failing_checks(result):
            name = f'<a href="#{_anchor(result)}">{text(result.id)}</a>'
            groups.setdefault((check.name, check.remedy), []).append((name, check.finding.note))
    for missing in audit.skipped:
        kind = "a larger budget" if missing.unfinished else "another network or data"
        groups.setdefault((kind, missing.remedy), []).append((text(missing.id), missing.reason))
    return groups


def _missing_table(audit: Audit) -> str:
    rows = []
    for (required, remedy), items in _reasons(audit).items():
        told = "<br>".join(
            f'{", ".join(name for name, _ in group)} <span class="faint">{prose(reason)}</span>'
            for reason, group in _by_reason(items)
        )
        rows.append((prose(required), f'<td class="wraps">{told}</td>', f'<td class="wraps">{prose(remedy)}</td>'))
    if not rows:
        return ""
    body = table(("Requires", "Theorem or fact, and what was found", "How to meet it"), rows, kind="missing", left=3)
    return f'<section id="missing"><h2 class="part">Not applicable, or not run</h2>{body}</section>'


def _by_reason(items: Sequence[tuple[str, str]]) -> Iterable[tuple[str, list[tuple[str, str]]]]:
    reasons = dict.fromkeys(reason for _, reason in items)
    return [(reason, [item for item in items if item[1] == reason]) for reason in reasons]


# -- two networks ---------------------------------------------------------------------------------------


def _change_table(name: str, rows: Sequence[Change], before: str, after: str) -> str:
    cells = [
        (_fact_of(row), numerals(format_fact(row.before)), numerals(format_fact(row.after)), _change_cell(row))
        for row in rows
    ]
    body = table(("Fact", before, after, "Change"), cells, kind="changes")
    return f'<section><h2 class="part">{text(name)}</h2>{body}</section>'


def _fact_of(row: Change) -> str:
    return prose(row.name) + (f'<br><span class="faint">{prose(row.note)}</span>' if row.note else "")


def _change_cell(row: Change) -> str:
    told = numerals(format_change(row))
    return f'<td class="right faint">{told}</td>' if row.same else f'<td class="right"><b>{told}</b></td>'


# -- how to have it again -------------------------------------------------------------------------------


def _identity(audit: Audit) -> dict[str, str]:
    found = audit.results[0].provenance.versions if audit.results else {"ftheta": audit.version}
    return {
        "versions": versions(found),
        "seed": str(audit.seed),
        "fingerprint of the subject": audit.hash,
        "date": audit.date,
    }


def _reproduce_audit(audit: Audit) -> str:
    return _reproduction(audit_command(audit), audit_snippet(audit), _identity(audit))


def _reproduce(result: Result) -> str:
    p = result.provenance
    facts = {
        "versions": versions(p.versions),
        "seed": str(p.seed),
        "subject": f"{p.subject_kind} “{p.subject}”, fingerprint {p.subject_hash}",
        "forced": "yes: measured although a hypothesis may fail" if p.forced else "no",
        "time": f"{p.wall_seconds:.2g} s",
    }
    return _reproduction(command(result), snippet(result), facts)


def _reproduction(line: str, code: str, facts: dict[str, str]) -> str:
    rows = "".join(f"<dt>{escape(name)}</dt><dd>{text(value)}</dd>" for name, value in facts.items())
    return f"<section><h2>Reproduce</h2><pre>{text(line)}</pre><pre>{text(code)}</pre><dl>{rows}</dl></section>"
