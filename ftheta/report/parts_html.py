"""The parts of a statement as HTML."""

from collections.abc import Mapping, Sequence
from html import escape
from types import MappingProxyType
from typing import Any

from ftheta.languages import t

from .explained import explain
from .letters import letters
from .mathml import words_html


def parts_html(
    parts: Sequence[Mapping[str, Any]], symbols: Mapping[str, str] = MappingProxyType({})
) -> str:
    """The results of a statement, (a), (b), …, each with what checks it; `symbols` are explained above already."""
    items = []
    for part in parts:
        claims = [t("claim “{words} …”", words=letters(words)) for words in part["claims"]]
        checks = [
            *claims,
            *(t("picture “{title}”", title=letters(title)) for title in part["charts"]),
        ]
        below = (
            f'<p class="faint">{t("Checked by")} {escape("; ".join(checks))}.</p>' if checks else ""
        )
        items.append(f"<li><p>{words_html(part['says'])}</p>{below}</li>")
    return explain(f'<ol class="parts">{"".join(items)}</ol>', symbols, again=True)
