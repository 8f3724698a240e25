r"""Labels of charts as LaTeX: formulas between `$` as they are, letters of mathematics as formulas, words escaped."""

import re
from collections.abc import Iterator
from itertools import groupby

from .letters import visible
from .plain import FORMULA
from .symbols import ACCENT_COMMANDS, COMMANDS, SCRIPTS

AMS = (
    r"\mathbb",
    r"\text",
    r"\operatorname",
    r"\lesssim",
    r"\gtrsim",
    r"\square",
    r"\varnothing",
    r"\leqslant",
)
"""Commands that need amsmath or amssymb, of those that labels use."""

_WORDS = {
    **{letter: f"\\{letter}" for letter in "&%#_{}$"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "–": "--",
    "—": "---",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "\u00a0": "~",
    "\u202f": r"\,",
    "\u2009": r"\,",
}
_IN_FORMULAS = "<>|"
_SCRIPT = re.compile(r"(?<![\w\\])([^\W\d_])([_^])(\w{1,8})(?!\w)")
_TOKEN = re.compile(r"[^\u0300-\u036f\u20d0-\u20ff][\u0300-\u036f\u20d0-\u20ff]*", re.DOTALL)


def words_to_tex(text: str) -> str:
    """A label as LaTeX: `θ_k` and `θₖ` as `$\\theta_{k}$`, `50 %` as `50 \\%`."""
    flat = re.sub(r"\s+", " ", visible(text)).strip().replace("**", "")
    parts: list[tuple[bool, str]] = []
    end = 0
    for found in FORMULA.finditer(flat):
        parts += _split(flat[end : found.start()])
        parts.append((True, found[1] or found[2]))
        end = found.end()
    return _join([*parts, *_split(flat[end:])])


def _split(words: str) -> Iterator[tuple[bool, str]]:
    """Pieces of words with whether they are mathematics; first what has an index or a power."""
    end = 0
    for found in _SCRIPT.finditer(words):
        yield from _letters(words[end : found.start()])
        base, side, script = found.groups()
        yield True, f"{COMMANDS.get(base, base)}{side}{{{''.join(_formula(c) for c in script)}}}"
        end = found.end()
    yield from _letters(words[end:])


def _letters(words: str) -> Iterator[tuple[bool, str]]:
    for side, run in groupby(_TOKEN.findall(words), lambda token: SCRIPTS.get(token, ("", ""))[0]):
        if side:
            yield True, f"{side}{{{''.join(_formula(SCRIPTS[token][1]) for token in run)}}}"
        else:
            yield from map(_letter, run)


def _letter(token: str) -> tuple[bool, str]:
    accents = [ACCENT_COMMANDS[c] for c in token[1:] if c in ACCENT_COMMANDS]
    if accents:
        base = _formula(token[0]).strip()
        for accent in accents:
            base = f"{accent}{{{base}}}"
        return True, base
    if token in COMMANDS or token in _IN_FORMULAS:
        return True, _formula(token)
    return False, _WORDS.get(token, token)


def _formula(letter: str) -> str:
    """A letter inside a formula; a command is kept apart from a letter that follows."""
    command = COMMANDS.get(letter, letter)
    return f"{command} " if re.fullmatch(r"\\[A-Za-z]+", command) else command


def _join(parts: list[tuple[bool, str]]) -> str:
    joined = []
    for formula, run in groupby(_extend(parts), lambda part: part[0]):
        pieces = [tex for _, tex in run]
        joined.append(f"${_formula_of(pieces)}$" if formula else "".join(pieces))
    return "".join(joined)


def _extend(parts: list[tuple[bool, str]]) -> Iterator[tuple[bool, str]]:
    """The same parts; a space between formulas is one of theirs, and a star after a formula is its power."""
    before = [(False, ""), *parts]
    after = [*parts[1:], (False, "")]
    for (was_formula, _), (formula, tex), (will_be, _) in zip(before, parts, after):
        if tex == "*" and was_formula:
            yield True, "^{*}"
        else:
            yield formula or (tex == " " and was_formula and will_be), tex


def _formula_of(pieces: list[str]) -> str:
    """One formula of its pieces; a second power has a base of its own, which TeX asks for."""
    whole = ""
    for before, piece in zip(["", *pieces], pieces):
        doubled = piece[:1] in ("^", "_") and piece[0] in before and before.endswith("}")
        whole += f"{{}}{piece}" if doubled else piece
    return whole.strip()
