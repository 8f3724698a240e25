"""The lesson of a theorem as HTML: parts, symbols, things to try."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ftheta.report.letters import letters
from ftheta.report.mathml import words_html
from ftheta.report.reproduce import check_line

from .lab_lines import lab_address


def parts_html(parts: Sequence[Mapping[str, Any]]) -> str:
    """The results of a statement, (a), (b), …, each with what checks it."""
    items = []
    for part in parts:
        claims = [f"claim “{letters(words)} …”" for words in part["claims"]]
        checks = [*claims, *(f"picture “{letters(title)}”" for title in part["charts"])]
        below = f'<p class="faint">Checked by {escape("; ".join(checks))}.</p>' if checks else ""
        items.append(f"<li><p>{words_html(part['says'])}</p>{below}</li>")
    return f'<ol class="parts">{"".join(items)}</ol>'


def symbols_html(symbols: Mapping[str, str]) -> str:
    """What the symbols mean."""
    rows = "".join(f"<dt>{words_html(symbol)}</dt><dd>{words_html(means)}</dd>" for symbol, means in symbols.items())
    return f'<dl class="symbols">{rows}</dl>' if rows else ""


def trials_html(id: str, trials: Sequence[Mapping[str, Any]]) -> str:
    """States of the knobs with what to look for, as lines for the terminal and as addresses in the lab."""
    items = []
    for trial in trials:
        line = check_line(id, trial["preset"], trial["knobs"])
        lab = (
            f'<p class="faint">In the lab: <code>{escape(lab_address(id, trial["preset"], trial["knobs"]))}</code></p>'
        )
        items.append(f"<li><p>{words_html(trial['look'])}</p><pre>{escape(line)}</pre>{lab}</li>")
    return f"<ol>{''.join(items)}</ol>"
