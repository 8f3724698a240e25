"""A Result as the output of a notebook cell. Importing this module imports nothing heavy.

Notebooks that are not trusted strip inline SVG and MathML, so the card holds a PNG and `$…$`, which every
notebook typesets.
"""

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from ftheta.logic import Chart, Check, Judged, Result
    from ftheta.logic.result import Audit
    from ftheta.subjects import Network

_COLOURS = {
    "holds": "#15803d",
    "open": "#8a5a00",
    "fails": "#b45309",
    "refuted": "#b91c1c",
    "unchecked": "#4b5a70",
}
_CHARTS = (
    "Curves",
    "Bars",
    "Heatmap",
    "Histogram",
    "Regions",
    "Points",
    "Motion",
    "Diagram",
    "Dag",
)


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
    formatter.for_type_by_name("ftheta.subjects.network", "Network", network_bundle)
    for kind in _CHARTS:
        formatter.for_type_by_name("ftheta.logic.chart", kind, chart_bundle)
    return True


def chart_bundle(chart: "Chart", include: Any = None, exclude: Any = None) -> dict[str, str]:
    """A chart as a picture, and its title as plain text."""
    return {"text/html": _image(chart), "text/plain": f"{type(chart).__name__}: {chart.title}"}


def network_bundle(net: "Network", include: Any = None, exclude: Any = None) -> dict[str, str]:
    """What a network is, as a small table."""
    from html import escape

    shape = lambda sizes: " × ".join(map(str, sizes)) or "one number"
    rows = [("input", shape(net.input_shape)), ("output", shape(net.output_shape))]
    rows.append(("parameters", f"{net.parameters:,}"))
    if net.description is not None:
        widths = "–".join(map(str, net.description.widths))
        kinds = sorted({layer.activation for layer in net.description.layers[:-1]})
        rows.append(("layers", f"{widths}, {', '.join(kinds) or 'affine'}"))
    if net.data is not None:
        rows.append(("data", f"{net.data.name}, {len(net.data):,} rows"))
    body = "".join(f"<tr><th>{name}</th><td>{escape(value)}</td></tr>" for name, value in rows)
    html = f"<h4>{escape(net.name)}</h4><table><tbody>{body}</tbody></table>"
    return {"text/html": html, "text/plain": repr(net)}


def mimebundle(
    document: "Result | Audit", include: Any = None, exclude: Any = None
) -> dict[str, str]:
    """The forms in which a notebook can show a result: HTML, LaTeX and plain text."""
    from ftheta.logic.result import Audit

    from .audit_card import audit_card
    from .card import card

    if isinstance(document, Audit):
        bundle = {
            "text/html": _audit_html(document),
            "text/plain": plain_text(audit_card(document)),
        }
    else:
        latex = {"text/latex": _latex(document)}
        bundle = {
            "text/html": card_html(document),
            **latex,
            "text/plain": plain_text(card(document)),
        }
    wanted = set(include) if include else set(bundle)
    return {
        kind: text
        for kind, text in bundle.items()
        if kind in wanted and kind not in (exclude or ())
    }


def _tableau(found: Any, include: Any = None, exclude: Any = None) -> dict[str, str]:
    from .tableau import mimebundle as shown

    return shown(found, include, exclude)


def plain_text(renderable: Any) -> str:
    """What a terminal of 100 columns without colours would show."""
    import io

    from rich.console import Console

    console = Console(
        file=io.StringIO(), width=100, color_system=None, highlight=False, legacy_windows=False
    )
    console.print(renderable)
    lines = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    return "\n".join(line.rstrip() for line in lines)


def _latex(result: "Result") -> str:
    """The statement with its verdict below."""
    from .verdicts import look

    title = "".join(f"\\{c}" if c in "&%$#_{}" else c for c in result.title.replace("\\", ""))
    return f"\\textbf{{{title}}}\n\n{result.statement}\n\n$\\textbf{{{look(result.verdict).word}}}$"


def card_html(result: "Result", *, mathml: bool = False) -> str:
    """The card of a result. Its formulas stand between dollars, for notebooks that typeset them and strip MathML where
    they do not trust it; with `mathml` they are MathML."""
    from html import escape

    from .letters import letters
    from .mathml import statement_html, words_html
    from .reproduce import command
    from .verdicts import look, remarks

    here = look(result.verdict)
    parts = [
        f"<h4 style='margin:0 0 .4em'>{escape(result.title)} {_pill(here)}</h4>",
        f"<p><em>{escape(letters(result.gist))}</em></p>" if result.gist else "",
        f"<p>{statement_html(result.statement) if mathml else escape(result.statement)}</p>",
        f"<p>{escape(letters(result.summary))}</p>" if result.summary else "",
        *(f"<p><b>{escape(remark)}</b></p>" for remark in remarks(result)),
        _picture(result),
        f"<details><summary>{escape(here.word)}: {escape(here.means)}</summary>",
        "<ul>"
        + "".join(_check(c, words_html if mathml else escape) for c in result.checks)
        + "</ul>"
        if result.checks
        else "",
        _claims(result.claims),
        f"<p><b>Examples (not about the subject)</b></p>{_claims(result.examples)}"
        if result.examples
        else "",
        f"<p>See also: {escape(', '.join(result.see_also))}</p>" if result.see_also else "",
        f"<pre>{escape(command(result))}</pre></details>",
    ]
    return f"<div style='max-width:760px'>{''.join(parts)}</div>"


def _pill(here: Any) -> str:
    colour = _COLOURS[here.family]
    style = (
        f"color:{colour};border:1px solid {colour};border-radius:1em;padding:0 .6em;font-size:.85em"
    )
    return f"<span style='{style}'>{here.sign} {here.word}</span>"


def _picture(result: "Result") -> str:
    """The first chart as a PNG."""
    return _image(result.charts[0]) if result.charts else ""


def _image(chart: "Chart") -> str:
    from base64 import b64encode
    from html import escape

    from .described import describe_chart
    from .render import png
    from .vega import vega

    data = b64encode(png(vega(chart), 2.0)).decode()
    label = escape(describe_chart(chart), quote=True)
    return (
        f'<img alt="{label}" style="max-width:100%;width:680px" src="data:image/png;base64,{data}">'
    )


def _check(check: "Check", write: "Callable[[str], str]") -> str:
    """A hypothesis; `write` makes HTML of its words."""
    from .card import MARKS

    return f"<li>{MARKS[check.finding.status][0]} {write(check.says or check.name)}: {write(check.finding.note)}</li>"


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
    head = "".join(
        f"<th>{name}</th>"
        for name in ("claim", "verdict", "measured", "bound", "slack", "evidence")
    )
    return (
        f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        if rows
        else ""
    )


def _audit_html(audit: "Audit") -> str:
    """Its status, and the findings that a report opens with."""
    from html import escape

    from .answers import FAMILIES, accuracy_line, count_findings, opening, status
    from .words import describe_counts

    colours = {**_COLOURS, "note-pill": "#1d4ed8"}
    rows = "".join(
        f"<tr><td style='color:{colours[FAMILIES[f.severity]]}'>{f.severity.value}</td>"
        f"<td style='text-align:left'><b>{escape(f.says)}</b> {escape(f.means)}<br>{escape(f.remedy)}</td>"
        f"<td>{escape(f.basis)}</td></tr>"
        for f in opening(audit)
    )
    word = f"{status(audit).word}: {count_findings(audit)}" if audit.findings else ""
    told = "".join(f"<p>{escape(line)}</p>" for line in (word, accuracy_line(audit)) if line)
    checks = f"<p>Checks: {escape(describe_counts(audit))}</p>"
    return f"<h4>Audit of {escape(audit.subject)}</h4>{told}<table><tbody>{rows}</tbody></table>{checks}"
