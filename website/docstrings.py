"""Docstrings as Sphinx reads them: ours are plain text with formulas between dollars and code in single backticks."""

import re
from collections.abc import Sequence

_RULE = re.compile("-{3,}")
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s")
_PIECE = re.compile(
    r"(?P<literal>``.+?``)|`(?P<code>[^`]+)`|(?<!\\)\$\$(?P<display>.+?)\$\$|(?<!\\)\$(?P<inline>.+?)(?<!\\)\$",
    re.DOTALL,
)
# letters that would begin emphasis or a reference
_MARK = re.compile(r"(?<!\*)\*(?![*\s])|\||(?<=\w)_(?!\w)")


def to_restructured_text(lines: Sequence[str]) -> list[str]:
    """Code as literals, formulas as `:math:` roles, and an empty line before every list, as reStructuredText asks."""
    text = "\n".join(lines)
    parts = []
    end = 0
    for found in _PIECE.finditer(text):
        parts += [
            _MARK.sub(r"\\\g<0>", text[end : found.start()]),
            _write_piece(found),
            _part_from(text, found.end()),
        ]
        end = found.end()
    parts.append(_MARK.sub(r"\\\g<0>", text[end:]))
    return _part_lists(_list_parameters("".join(parts).split("\n")))


def _write_piece(found: re.Match[str]) -> str:
    if found["literal"]:
        return found["literal"]
    if found["code"]:
        return f"``{found['code'].strip()}``"
    latex = " ".join((found["display"] or found["inline"]).split())
    return f":math:`{latex}`"


def _part_from(text: str, end: int) -> str:
    """An escaped space, which is not printed, where a letter follows at once: `Step`s."""
    return "\\ " if text[end : end + 1].isalnum() else ""


def _list_parameters(lines: Sequence[str]) -> list[str]:
    """A section `Parameters` in NumPy's form as fields: each name stands alone, its meaning indented below."""
    listed: list[str] = []
    inside = False
    for number, line in enumerate(lines):
        below = lines[number + 1] if number + 1 < len(lines) else ""
        if line == "Parameters" and _RULE.fullmatch(below):
            inside = True
        elif not inside:
            listed.append(line)
        elif line.strip() and not _RULE.fullmatch(line):
            listed.append(line if line.startswith(" ") else f":param {line.strip()}:")
    return listed


def _part_lists(lines: Sequence[str]) -> list[str]:
    parted: list[str] = []
    for line in lines:
        before = parted[-1] if parted else ""
        begins = (
            _ITEM.match(line)
            and before.strip()
            and not _ITEM.match(before)
            and not before.startswith(" ")
        )
        parted += ["", line] if begins else [line]
    return parted
