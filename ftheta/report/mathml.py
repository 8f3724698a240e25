"""Statements as HTML: text with `$…$` and `$$…$$` becomes escaped text with MathML."""

import re
from functools import cache, lru_cache
from html import escape
from typing import Any

from .letters import letters, visible
from .plain import FORMULA, formula
from .plain import plain as plain

UNREAD = "unread"
"""The class of a formula that could not be read."""

_CODE = re.compile(r"`([^`]+)`")
_EMPHASIS = re.compile(r"\*\*([^*]+)\*\*")
# of those that no letter is lowered for
_INDEX = re.compile(r"(?<![\w./])([^\W\d_]|∇)_(\w{1,3})(?!\w|\.\w)")
# `\varrho*` is a product, no starred command
_STARRED = re.compile(r"(\\(?!operatorname)[a-zA-Z]+)\*")
_CELL = re.compile(r'<mtd style="text-align: left;[^"]*">')
_LONG = 40  # letters of a formula in a sentence that may be wider than a phone
_SMALL_MATRIX = re.compile(r"\{([pbBvV]?)smallmatrix\}")


def statement_html(text: str) -> str:
    """Text with formulas as HTML; what stands between backticks is code."""
    parts = []
    end = 0
    for found in FORMULA.finditer(text):
        parts.append(_words(text[end : found.start()]))
        display, inline = found.groups()
        parts.append(mathml(inline if display is None else display, display=display is not None))
        end = found.end()
    return "".join([*parts, _words(text[end:])])


def words_html(text: str) -> str:
    """A sentence as HTML: formulas between dollars become MathML, simple indices their own letters."""
    if "$" in text or "`" in text:
        return statement_html(visible(text))
    return _INDEX.sub(r"\1<sub>\2</sub>", escape(letters(text)))


def formulas(text: str) -> tuple[str, ...]:
    """The displayed formulas of a statement; if it has none, its inline ones."""
    found = [match.groups() for match in FORMULA.finditer(text)]
    displayed = tuple(display for display, _ in found if display is not None)
    return displayed or tuple(inline for _, inline in found)


@lru_cache(4096)
def mathml(latex: str, *, display: bool = False) -> str:
    """One formula as a MathML element; the escaped LaTeX, of the class `unread`, if it cannot be read."""
    from math_core import LatexError

    source = _SMALL_MATRIX.sub(r"{\1matrix}", _STARRED.sub(r"\1 *", latex.strip()))
    try:
        made = _converter().convert_with_local_state(source, displaystyle=display)
    except LatexError:
        return f'<code class="{UNREAD}">{escape(latex)}</code>'
    if not display and len(formula(latex)) > _LONG:
        made = made.replace("<math>", '<math class="long">', 1)
    # pages forbid inline styles: the cells of `cases` are set to the left by the style sheets
    return _CELL.sub('<mtd class="left">', made)


@cache
def _converter() -> Any:
    from math_core import LatexToMathML

    return LatexToMathML(fancy_error=False)


def _words(text: str) -> str:
    """Plain text, escaped; the dollar and percent signs that LaTeX wants escaped are not."""
    bare = text.replace("\\$", "$").replace("\\%", "%")
    return _CODE.sub(r"<code>\1</code>", _EMPHASIS.sub(r"<strong>\1</strong>", escape(bare)))
