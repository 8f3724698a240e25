r"""A theorem as LaTeX source, to be pasted into a paper: a `theorem` environment with its hypotheses and citations."""

import re
from collections.abc import Mapping
from typing import Any

from .plain import FORMULA

_SPECIAL = {"&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}"}
_WRITTEN_ALREADY = re.compile(r"\\([&%#_$])")
_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = re.compile(r"\*\*(.+?)\*\*", re.DOTALL)


def latex(entry: Mapping[str, Any]) -> str:
    """An entry of the index as a `theorem` environment. It needs amsmath and amssymb, and cites keys that
    `ftheta show ID --bibtex` prints."""
    lines = [
        rf"\begin{{theorem}}[{_words(entry['title'])}, \cite{{{','.join(entry['sources'])}}}]",
        rf"\label{{thm:{entry['id']}}}",
        *_hypotheses(entry["assumes"]),
        text_to_latex(entry["statement"]),
        r"\end{theorem}",
    ]
    return "\n".join(lines)


def _hypotheses(assumed: list[Mapping[str, str]]) -> list[str]:
    if not assumed:
        return []
    items = [rf"\item {text_to_latex(hypothesis['says'])}" for hypothesis in assumed]
    return ["Assume:", r"\begin{itemize}", *items, r"\end{itemize}"]


def text_to_latex(text: str) -> str:
    """Text with `$…$`, `$$…$$`, `**bold**` and code in backticks as LaTeX; displayed formulas stand in `\\[…\\]`."""
    parts = []
    end = 0
    for found in FORMULA.finditer(text):
        parts.append(_words(text[end : found.start()]))
        display, inline = found.groups()
        parts.append(f"\\[{display}\\]" if display is not None else f"${inline}$")
        end = found.end()
    parts.append(_words(text[end:]))
    return "".join(parts)


def _words(text: str) -> str:
    """Words outside of formulas: letters that are special to LaTeX are escaped, unless they are already."""
    bare = _WRITTEN_ALREADY.sub(r"\1", text)
    escaped = "".join(_SPECIAL.get(letter, letter) for letter in bare).replace("$", r"\$")
    return _EMPHASIS.sub(r"\\textbf{\1}", _CODE.sub(r"\\texttt{\1}", escaped))
