"""Related theorems as a small graph: what leads here on the left, where it leads on the right."""

from collections.abc import Mapping, Sequence
from html import escape
from textwrap import wrap

from ftheta.languages import t
from ftheta.report.letters import letters

_BOX = (216, 46)  # width and height
_GAP = 14  # between boxes of a column
_COLUMNS = (8, 272, 536)  # where they begin
_WIDTH = 760
_LETTERS = 30  # of a line in a box
_LINES = 2


def related_svg(title: str, origins: Mapping[str, str], leads: Mapping[str, str]) -> str:
    """Titles by address: of the theorems that lead to the one of this title, and of those to which it leads."""
    height = max(len(origins), len(leads), 1) * (_BOX[1] + _GAP) + _GAP
    here = (_COLUMNS[1], (height - _BOX[1]) / 2)
    before = list(zip(origins.items(), _places(_COLUMNS[0], len(origins), height)))
    after = list(zip(leads.items(), _places(_COLUMNS[2], len(leads), height)))
    arrows = [_arrow(place, here) for _, place in before] + [
        _arrow(here, place) for _, place in after
    ]
    boxes = [_box(words, place, address) for (address, words), place in (*before, *after)]
    label = t("Theorems that lead to “{title}”, and where it leads", title=letters(title))
    head = f'<svg class="related" role="group" aria-label="{escape(label)}" viewBox="0 0 {_WIDTH} {height}">'
    return "".join([head, *arrows, _box(title, here), *boxes, "</svg>"])


def _places(left: float, count: int, height: float) -> list[tuple[float, float]]:
    """A column of boxes in the middle of the picture."""
    top = (height - count * (_BOX[1] + _GAP) + _GAP) / 2
    return [(left, top + k * (_BOX[1] + _GAP)) for k in range(count)]


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    x0 = start[0] + _BOX[0]
    y0 = start[1] + _BOX[1] / 2
    x1 = end[0]
    y1 = end[1] + _BOX[1] / 2
    middle = (x0 + x1) / 2
    curve = f'<path class="edge" d="M{x0:g} {y0:g}C{middle:g} {y0:g} {middle:g} {y1:g} {x1 - 6:g} {y1:g}"/>'
    return f'{curve}<path class="tip" d="M{x1:g} {y1:g}l-8 -4v8z"/>'


def _box(title: str, place: tuple[float, float], address: str = "") -> str:
    x, y = place
    lines = _fold_title(letters(title))
    first = y + _BOX[1] / 2 + 4.5 - 8 * (len(lines) - 1)
    words = "".join(
        f'<text x="{x + _BOX[0] / 2:g}" y="{first + 16 * k:g}">{escape(line)}</text>'
        for k, line in enumerate(lines)
    )
    kind = "there" if address else "here"
    drawn = f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{_BOX[0]}" height="{_BOX[1]}" rx="8"/>{words}'
    return (
        f'<a href="{escape(address)}"><title>{escape(letters(title))}</title>{drawn}</a>'
        if address
        else drawn
    )


def _fold_title(title: str) -> Sequence[str]:
    lines = wrap(title, _LETTERS)
    return (
        lines
        if len(lines) <= _LINES
        else [*lines[: _LINES - 1], f"{lines[_LINES - 1][: _LETTERS - 2]}…"]
    )
