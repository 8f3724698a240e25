"""Statements in which a symbol says what it means where the pointer rests on it, by classes and a style sheet alone.

A symbol of the formulas has the class `symbol-k`, its meaning, which follows the statement, the class `hint-k`.
"""

import re
from collections.abc import Mapping

from .mathml import mathml, statement_html, words_html

_ROOT = re.compile(r"^<math[^>]*>(.*)</math>$", re.DOTALL)
_SPACE = re.compile(r"^(?:\\[ ,;:!]|\\q?quad|\s)+")


def explain_statement(statement: str, symbols: Mapping[str, str]) -> str:
    """The statement as HTML. `symbols` are what a lesson explains: formulas between dollars, each with its meaning."""
    numbers = _number_fragments(symbols)
    made = statement_html(statement)
    if numbers:
        longest_first = sorted(numbers, key=len, reverse=True)
        found = re.compile("|".join(map(re.escape, longest_first)))
        made = found.sub(lambda m: f'<mrow class="symbol symbol-{numbers[m[0]]}">{m[0]}</mrow>', made)
    hints = "".join(
        f'<span class="hint hint-{k}">{words_html(symbol)}: {words_html(means)}</span>'
        for k, (symbol, means) in enumerate(symbols.items())
    )
    below = f'<div class="hints" aria-hidden="true">{hints}</div>' if hints else ""
    return f'<div class="explained"><div class="statement">{made}</div>{below}</div>'


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
