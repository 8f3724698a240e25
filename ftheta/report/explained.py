"""Statements in which a symbol says what it means, where it is pointed at, tapped, or has the focus.

A symbol of the formulas has the class `symbol-k` and is described by its meaning, which has the id `hint-k` and the
class of that name. A style sheet shows it (`hint_rules`); no script is needed.
"""

import re
from collections.abc import Mapping
from xml.etree import ElementTree

from .mathml import mathml, statement_html, words_html

MOST_SYMBOLS = 40
"""Of a lesson that the style sheet has rules for."""

_ROOT = re.compile(r"^<math[^>]*>(.*)</math>$", re.DOTALL)
_SPACE = re.compile(r"^(?:\\[ ,;:!]|\\q?quad|\s)+")
# the place of a child is its meaning
_FIXED = "msub|msup|msubsup|mfrac|mroot|munder|mover|munderover"
_ENTITY = re.compile(r"&\w+;")
_OPENING = re.compile(rf"<(?:{_FIXED})(?: [^<>]*)?>$")
_CLOSING = re.compile(rf"</(?:{_FIXED})>")


def explain_statement(statement: str, symbols: Mapping[str, str]) -> str:
    """The statement as HTML, the meanings behind it. `symbols` are what a lesson explains: formulas between dollars,
    each with its meaning."""
    return explain(f'<div class="statement">{statement_html(statement)}</div>', symbols)


def explain(html: str, symbols: Mapping[str, str], *, again: bool = False) -> str:
    """HTML with formulas, its symbols marked, and their meanings behind it. `again` where the meanings stand on the
    page before, with the ids by which symbols refer to them."""
    named = "" if again else ' id="hint-{k}"'
    hints = "".join(
        f'<span class="hint hint-{k}"{named.format(k=k)}>{words_html(symbol)}: {words_html(means)}</span>'
        for k, (symbol, means) in enumerate(symbols.items())
    )
    below = f'<div class="hints" aria-hidden="true">{hints}</div>' if hints else ""
    return f'<div class="explained">{mark_symbols(html, symbols)}{below}</div>'


def mark_symbols(html: str, symbols: Mapping[str, str]) -> str:
    """HTML with formulas in which each of the symbols can be pointed at; the first of its kind is reached by the tab
    key, the others by pointer and finger alone."""
    numbers = _number_fragments(symbols)
    if not numbers:
        return html
    longest_first = sorted(numbers, key=len, reverse=True)
    sought = re.compile("|".join(map(re.escape, longest_first)))
    reached: set[int] = set()

    def mark(found: re.Match[str]) -> str:
        fragment = found[0]
        k = numbers[fragment]
        if _is_row(fragment) and _is_among_fixed_children(html, found):
            return fragment
        tab = -1 if k in reached else 0
        reached.add(k)
        return f'<mrow class="symbol symbol-{k}" tabindex="{tab}" aria-describedby="hint-{k}">{fragment}</mrow>'

    return sought.sub(mark, html)


def hint_rules() -> str:
    """The rules of a style sheet that show the meaning of the symbol that is pointed at or has the focus."""
    return "\n".join(
        f".explained:has(.symbol-{k}:is(:hover, :focus)) .hint-{k}{{display:block}}"
        for k in range(MOST_SYMBOLS)
    )


def _is_row(fragment: str) -> bool:
    """Whether it consists of several elements, side by side."""
    without_letters = _ENTITY.sub("", fragment)  # XML does not know the names of HTML
    return len(ElementTree.fromstring(f"<mrow>{without_letters}</mrow>")) > 1


def _is_among_fixed_children(html: str, found: re.Match[str]) -> bool:
    """Whether a row was found as the children of, say, a fraction: taken together they would be one child."""
    begins = _OPENING.search(html, html.rfind("<", 0, found.start()), found.start())
    return bool(begins or _CLOSING.match(html, found.end()))


def _number_fragments(symbols: Mapping[str, str]) -> dict[str, int]:
    """The MathML of every symbol, with the number of its explanation."""
    numbers: dict[str, int] = {}
    for k, key in enumerate(symbols):
        for latex in split_symbols(key.strip().strip("$")):
            root = _ROOT.match(mathml(latex))
            if root is not None and root[1]:
                numbers.setdefault(root[1], k)
    return numbers


def split_symbols(latex: str) -> list[str]:
    r"""`\mu,\ L` is two symbols, `f(x,y)` is one: commas inside of brackets part nothing."""
    parts = [""]
    depth = 0
    for k, letter in enumerate(latex):
        spaced = k > 0 and latex[k - 1] == "\\"  # `\,` is a space
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0 and not spaced:
            parts.append("")
        else:
            parts[-1] += letter
    return [part for part in (_SPACE.sub("", part).strip() for part in parts) if part]
