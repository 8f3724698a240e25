"""A Result as the output of a notebook cell. Importing this module imports nothing heavy.

Notebooks that are not trusted strip inline SVG and MathML, so the card holds a PNG and `$…$`, which every
notebook typesets.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ftheta.logic import Check, Judged, Result
    from ftheta.logic.result import Audit

_COLOURS = {"holds": "#15803d", "open": "#8a5a00", "fails": "#b45309", "refuted": "#b91c1c", "unchecked": "#4b5a70"}


def install(shell: Any = None) -> bool:
    """Teach a running IPython to show results as cards; say whether there was one. Nothing is imported for it."""
    if shell is None:
        ipython = sys.modules.get("IPython")
        shell = ipython.get_ipython() if ipython is not None else None
    formatter = getattr(getattr(shell, "display_formatter", None), "mimebundle_formatter", None)
    if formatter is None:
        return False
    formatter.for_type_by_name("ftheta.logic.result", "Result", mimebundle)
    formatter.for_type_by_name("ftheta.logic.result", "Audit", mimebundle)
    formatter.for_type_by_name("ftheta.graph.tableaux", "Tableau", _tableau)
    return True


def mimebundle(document: "Result | Audit", include: Any = None, exclude: Any = None) -> dict[str, str]:
    """The forms in which a notebook can show a result: HTML, LaTeX and plain text."""
    from ftheta.logic.result import Audit

    from .card import audit_card, card

    if isinstance(document, Audit):
        bundle = {"text/html": _audit_html(document), "text/plain": _plain(audit_card(document))}
    else:
        latex = {"text/latex": _latex(document)}
        bundle = {"text/html": _html(document), **latex, "text/plain": _plain(card(document))}
    wanted = set(include) if include else set(bundle)
    return {kind: text for kind, text in bundle.items() if kind in wanted and kind not in (exclude or ())}


def _tableau(found: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    from .tableau import mimebundle as shown

    return shown(found, include, exclude)


def _plain(renderable: Any) -> str:
    import io

    from rich.console import Console

    console = Console(file=io.StringIO(), width=100, color_system=None, highlight=False, legacy_windows=False)
    console.print(renderable)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def _latex(result: "Result") -> str:
    """The statement with its verdict below."""
    from .verdicts import look

    title = "".join(f"\\{c}" if c in "&%$#_{}" else c for c in result.title.replace("\\", ""))
    return f"\\textbf{{{title}}}\n\n{result.statement}\n\n$\\textbf{{{look(result.verdict).word}}}$"


def _html(result: "Result") -> str:
    from html import escape

    from .letters import letters
    from .reproduce import command
    from .verdicts import look, remarks

    here = look(result.verdict)
    parts = [
        f"<h4 style='margin:0 0 .4em'>{escape(result.title)} {_pill(here)}</h4>",
        f"<p><em>{escape(letters(result.gist))}</em></p>" if result.gist else "",
        f"<p>{escape(result.statement)}</p>",
        f"<p>{escape(letters(result.summary))}</p>" if result.summary else "",
        *(f"<p><b>{escape(remark)}</b></p>" for remark in remarks(result)),
        _picture(result),
        f"<details><summary>{escape(here.word)}: {escape(here.means)}</summary>",
        "<ul>" + "".join(_check(c) for c in result.checks) + "</ul>" if result.checks else "",
        _claims(result.claims),
        f"<p><b>Examples (not about the subject)</b></p>{_claims(result.examples)}" if result.examples else "",
        f"<p>See also: {escape(', '.join(result.see_also))}</p>" if result.see_also else "",
        f"<pre>{escape(command(result))}</pre></details>",
    ]
    return f"<div style='max-width:760px'>{''.join(parts)}</div>"


def _pill(here: Any) -> str:
    colour = _COLOURS[here.family]
    style = f"color:{colour};border:1px solid {colour};border-radius:1em;padding:0 .6em;font-size:.85em"
    return f"<span style='{style}'>{here.sign} {here.word}</span>"


def _picture(result: "Result") -> str:
    """The first chart as a PNG."""
    from base64 import b64encode
    from html import escape

    from .render import describe_chart, png
    from .vega import vega

    if not result.charts:
        return ""
    data = b64encode(png(vega(result.charts[0]), 2.0)).decode()
    label = escape(describe_chart(result.charts[0]), quote=True)
    return f'<img alt="{label}" style="max-width:100%;width:680px" src="data:image/png;base64,{data}">'


def _check(check: "Check") -> str:
    from html import escape

    from .card import MARKS

    return f"<li>{MARKS[check.finding.status][0]} {escape(check.says or check.name)}: {escape(check.finding.note)}</li>"


def _claims(claims: "tuple[Judged, ...]") -> str:
    from html import escape

    from .letters import letters
    from .sides import sides
    from .verdicts import look

    rows = []
    for judged in claims:
        row = sides(judged.claim)
        here = look(judged.judgement.verdict)
        cells = (
            letters(judged.claim.what),
            f"{here.sign} {here.word}",
            row.measured,
            row.bound,
            row.slack,
            judged.judgement.reason,
        )
        rows.append("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in cells) + "</tr>")
    head = "".join(f"<th>{name}</th>" for name in ("claim", "verdict", "measured", "bound", "slack", "evidence"))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>" if rows else ""


def _audit_html(audit: "Audit") -> str:
    from html import escape

    from .verdicts import NOT_CHECKED, look
    from .words import count_verdicts, unmet_requirements

    told = ", ".join(f"{count} {label}" for _, count, label in count_verdicts(audit))
    rows = [(r.title, _pill(look(r.verdict)), unmet_requirements(r)) for r in audit.results]
    rows += [(missing.id, _pill(NOT_CHECKED), missing.reason) for missing in audit.skipped]
    body = "".join(f"<tr><td>{escape(a)}</td><td>{b}</td><td>{escape(c)}</td></tr>" for a, b, c in rows)
    return f"<h4>Audit of {escape(audit.subject)}</h4><p>{escape(told)}</p><table><tbody>{body}</tbody></table>"
