"""The report of an audit: findings first, then a section for each question, last the ledger of theorems."""

from collections.abc import Sequence

from ftheta.logic import Audit, Section

from .answers import (
    MOST,
    count_findings,
    describe_run,
    describe_subject,
    key_figures,
    opening,
    status,
)
from .finding_html import findings_html, key_figures_html, requirements_html, status_html
from .ledger_html import ledger_html
from .page import figure_html, page, text
from .reproduce import audit_command, audit_snippet
from .section_html import identity, reproduction_html, section_html


def audit_page(audit: Audit) -> str:
    """The whole page."""
    sections = [section for section in _sections(audit) if _has_content(section)]
    places = {section.id for section in sections}
    body = [
        f"<h1>{text(audit.subject)}</h1>",
        f'<p class="under">{text(_subtitle(audit))}</p>',
        status_html(status(audit), count_findings(audit)) if audit.findings else "",
        key_figures_html(key_figures(audit)),
        requirements_html(audit.requirements),
        _contents(sections, audit),
        findings_html(opening(audit), places),
        _more(audit),
        *(_question(audit, section) for section in sections),
        ledger_html(audit),
        reproduction_html(audit_command(audit), audit_snippet(audit), identity(audit)),
    ]
    return page(f"Audit of {audit.subject}", body)


def _subtitle(audit: Audit) -> str:
    cut = "interrupted: this is what was done until then" if audit.interrupted else ""
    return " · ".join(part for part in (describe_subject(audit), describe_run(audit), cut) if part)


def _sections(audit: Audit) -> list[Section]:
    """Those of the audit, begun by what it is."""
    first = [] if any(s.id == "what" for s in audit.sections) else [Section("what", "What is it?")]
    return [*first, *audit.sections]


def _has_content(section: Section) -> bool:
    """Whether a section has more than theorems."""
    return section.id == "what" or bool(section.facts or section.tables or section.charts)


def _contents(sections: Sequence[Section], audit: Audit) -> str:
    links = [f'<a href="#s-{text(s.id)}">{text(s.title)}</a>' for s in sections]
    links += ['<a href="#theorems">All checks</a>'] if audit.results or audit.skipped else []
    return f'<nav aria-label="sections">{" ".join(links)}</nav>'


def _more(audit: Audit) -> str:
    more = len(audit.findings) - MOST
    return (
        f'<p class="faint">{more} more findings are in the sections below.</p>' if more > 0 else ""
    )


def _question(audit: Audit, section: Section) -> str:
    mine = [finding for finding in audit.findings if finding.question == section.id]
    return section_html(section, mine, _about(audit) if section.id == "what" else "")


def _about(audit: Audit) -> str:
    facts = "".join(f"<dt>{text(name)}</dt><dd>{text(value)}</dd>" for name, value in audit.facts)
    kind = f"<dt>kind</dt><dd>{text(audit.kind)}</dd><dt>fingerprint</dt><dd><code>{text(audit.hash)}</code></dd>"
    figure = f"<div>{figure_html(audit.diagram, captioned=False)}</div>" if audit.diagram else ""
    return f'<div class="sides"><dl>{facts}{kind}</dl>{figure}</div>'
