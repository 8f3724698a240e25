"""Labels in the right margin, beside the ends of the curves, moved apart where they would overlap.

No line leads from a label to its curve: it would look like one. Where there are several curves, or one that ends
before the margin, labels have a key before them: a piece of their curve in a small box.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..letters import letters
from .measure import text_width, wrap

SIZE = 12
LEADING = 15
GAP = 4
KEY = 24  # the width of a key
_EDGES = 18  # pixels before and after the text


@dataclass(frozen=True, slots=True)
class Pen:
    """How a series is drawn: its colour, that of its letters, the dashes and the width of its line, or as points of a
    shape. A line that is `marked` carries some points of that shape too."""

    colour: str
    words: str
    dash: list[int]
    width: float
    points: bool = False
    shape: str = "circle"
    marked: bool = False


@dataclass(frozen=True, slots=True)
class Label:
    """A text that belongs to the point `end` of the drawing, and to what was drawn with `pen`, if anything was."""

    text: str
    end: tuple[float, float]
    colour: str
    pen: Pen | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A label in lines, with the height of its middle."""

    label: Label
    lines: tuple[str, ...]
    y: float


def margin(texts: Sequence[str], width: float, keyed: bool) -> float:
    """The room that labels take to the right of a drawing of this width."""
    most = max(90.0, min(190.0, 0.3 * width))
    counted = ["+99 more"] if len(texts) > 12 else []
    lines = (line for text in (*texts, *counted) for line in lines_of(text, most))
    widest = max((text_width(line, SIZE, bold=True) for line in lines), default=0.0)
    return min(most, widest) + _EDGES + _indent(keyed) if texts else 0.0


def room(right: float, keyed: bool) -> float:
    """The room for the text of a label in a margin of this width."""
    return right - _EDGES - _indent(keyed)


def _indent(keyed: bool) -> float:
    return KEY + 6 if keyed else 0


def lines_of(text: str, room: float, most: int = 3) -> list[str]:
    """The text of a label in lines that fit into `room` pixels, `most` of them at most."""
    return wrap(letters(text), SIZE, room, bold=True, most=most)


def place(labels: Sequence[Label], room: float, top: float, bottom: float) -> list[Placed]:
    """Every label as near to its point as the others allow. Where they do not all fit they are cut to one line each,
    and then the last ones are counted instead of shown."""
    for most in (3, 1):
        lined = [(label, tuple(lines_of(label.text, room, most))) for label in labels]
        if sum(len(lines) * LEADING + GAP for _, lines in lined) <= bottom - top + GAP:
            break
    else:
        fit = max(1, int((bottom - top + GAP) // (LEADING + GAP)) - 1)
        if len(lined) > fit:
            rest = Label(f"+{len(lined) - fit} more", (labels[0].end[0], bottom), labels[-1].colour)
            lined = [*lined[:fit], (rest, (rest.text,))]
    lined.sort(key=lambda pair: pair[0].end[1])
    heights = [len(lines) * LEADING + GAP for _, lines in lined]
    middles = spread([label.end[1] for label, _ in lined], heights, top - GAP / 2, bottom + GAP / 2)
    return [Placed(label, lines, y) for (label, lines), y in zip(lined, middles)]


def spread(wanted: Sequence[float], sizes: Sequence[float], lo: float, hi: float) -> list[float]:
    """Middles of intervals of these sizes, in the wanted order, that do not overlap and lie in [lo, hi], as near as
    possible to the wanted ones (least squares, by merging neighbours that collide)."""
    blocks: list[
        list[float]
    ] = []  # start, size, number of members, wanted start summed over the members
    for middle, size in zip(wanted, sizes):
        start = middle - size / 2
        blocks.append([start, size, 1, start])
        while len(blocks) > 1 and blocks[-2][0] + blocks[-2][1] > blocks[-1][0]:
            _, size_b, count_b, sum_b = blocks.pop()
            _, size_a, count_a, sum_a = blocks.pop()
            total = sum_a + sum_b - count_b * size_a
            blocks.append([total / (count_a + count_b), size_a + size_b, count_a + count_b, total])
    starts = _within([(start, size) for start, size, _, _ in blocks], lo, hi)
    middles = []
    member = 0
    for start, block in zip(starts, blocks):
        for _ in range(int(block[2])):
            middles.append(start + sizes[member] / 2)
            start += sizes[member]
            member += 1
    return middles


def _within(blocks: list[tuple[float, float]], lo: float, hi: float) -> list[float]:
    """The starts of the blocks, pushed inside [lo, hi] from below and then from above."""
    starts: list[float] = []
    edge = lo
    for start, size in blocks:
        starts.append(max(start, edge))
        edge = starts[-1] + size
    edge = hi
    for i in range(len(blocks) - 1, -1, -1):
        starts[i] = min(starts[i], edge - blocks[i][1])
        edge = starts[i]
    return starts
