"""The lesson of a theorem as HTML: symbols, things to try."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ftheta.languages import t
from ftheta.report.mathml import words_html
from ftheta.report.reproduce import check_line

from .lab_lines import lab_address


def symbols_html(symbols: Mapping[str, str]) -> str:
    """What the symbols mean."""
    rows = "".join(
        f"<dt>{words_html(symbol)}</dt><dd>{words_html(means)}</dd>"
        for symbol, means in symbols.items()
    )
    return f'<dl class="symbols">{rows}</dl>' if rows else ""


def trials_html(id: str, trials: Sequence[Mapping[str, Any]]) -> str:
    """States of the knobs with what to look for, as lines for the terminal and as addresses in the lab."""
    items = []
    for trial in trials:
        line = check_line(id, trial["preset"], trial["knobs"])
        address = lab_address(id, trial["preset"], trial["knobs"])
        lab = f'<p class="faint">{t("In the lab:")} <code>{escape(address)}</code></p>'
        items.append(f"<li><p>{words_html(trial['look'])}</p><pre>{escape(line)}</pre>{lab}</li>")
    return f"<ol>{''.join(items)}</ol>"
