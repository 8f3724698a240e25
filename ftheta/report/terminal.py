"""The pieces that cards for the terminal are made of."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from ftheta.logic.chart import Curves

from .letters import letters, visible
from .sparkline import caption, sparkline
from .spelling import spell_out

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType

FAINT = "bright_black"
_SERIES = {"measured": "blue", "bound": "dark_orange", "reference": FAINT, "other": "magenta"}
Styled = tuple[str, str] | str


class Card:
    """Parts one below the other; where the terminal does not speak Unicode, spelt in the letters it has."""

    def __init__(self, parts: "Iterator[RenderableType]") -> None:
        self.parts = list(parts)

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator[Any]:
        from rich.console import Group
        from rich.segment import Segment

        for segment in console.render(Group(*self.parts), options):
            if options.ascii_only and not segment.control:
                segment = Segment(spell_out(segment.text, options.encoding), segment.style)
            yield segment


def line(*parts: Styled) -> "RenderableType":
    """One line of styled words; control characters are left out."""
    from rich.text import Text

    cleaned = (visible(p) if isinstance(p, str) else (visible(p[0]), p[1]) for p in parts)
    return Text.assemble(*cleaned)


def heading(words: str) -> "RenderableType":
    """The heading of a part of a card."""
    return line((words, f"bold {FAINT}"))


def indent(body: "RenderableType", *, below: int = 0) -> "RenderableType":
    """Text set in by two columns, with so many empty lines below."""
    from rich.padding import Padding

    return Padding(body, (0, 0, below, 2), expand=False)


def hanging_indent(mark: str, style: str, *body: Styled) -> "RenderableType":
    """A mark with words beside it that keep their left edge when they wrap."""
    from rich.table import Table as Grid

    grid = Grid.grid(padding=(0, 1))
    grid.add_column(width=2, justify="right")
    grid.add_column(ratio=1, overflow="fold")
    grid.add_row(line((mark, style)), line(*body))
    return grid


class Columns:
    """A table without lines; the columns of `left` are set to the left, the others to the right.

    Where it does not fit, each row is written below its first cell instead; with `whole` the first cell, an id, is
    never broken.
    """

    def __init__(
        self,
        names: Sequence[str],
        rows: Sequence[Sequence[Styled]],
        *,
        left: Sequence[int] = (0,),
        whole: bool = False,
    ) -> None:
        self.whole = whole
        self.names = names
        self.rows = rows
        self.left = left

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        from rich.measure import Measurement

        grid = self._grid()
        needed = Measurement.get(console, options.update(max_width=1000), grid).maximum + 2
        if needed <= options.max_width or options.max_width >= 80:
            yield indent(grid)
        else:
            yield from (hanging_indent("·", FAINT, *self._stack(row)) for row in self.rows)

    def _grid(self) -> Any:
        from rich.table import Table as Grid

        grid = Grid(
            box=None,
            padding=(0, 2, 0, 0),
            header_style=FAINT,
            pad_edge=False,
            show_header=any(self.names),
        )
        for i, name in enumerate(self.names):
            grid.add_column(
                line(name),
                justify="left" if i in self.left else "right",
                overflow="fold",
                no_wrap=self.whole and i == 0,
            )
        for row in self.rows:
            grid.add_row(*(line(cell) for cell in row))
        return grid

    def _stack(self, row: Sequence[Styled]) -> Iterator[Styled]:
        yield row[0]
        separator = "\n"
        for name, cell in zip(self.names[1:], row[1:]):
            words, style = (cell, "") if isinstance(cell, str) else cell
            if words:
                yield f"{separator}{name} " if name else separator, FAINT
                yield words, style
                separator = " · "


class Plot:
    """Curves as a Braille picture, as wide as the terminal allows; `part`, as (a), is what of a statement they show."""

    def __init__(self, chart: Curves, part: str = "") -> None:
        self.chart = chart
        self.part = part

    def __rich_console__(
        self, console: "Console", options: "ConsoleOptions"
    ) -> "Iterator[RenderableType]":
        from rich.text import Text

        high, low, left, right = caption(self.chart)
        margin = 2 + max(len(high), len(low))
        rows = sparkline(self.chart, min(options.max_width - margin - 2, 64))
        if not rows:
            return
        styles = [_SERIES[s.role] for s in self.chart.series]
        yield heading(
            f"{self.part} {letters(self.chart.title)}: {letters(self.chart.y.label)}".lstrip()
        )
        for i, row in enumerate(rows):
            edge = high if i == 0 else low if i == len(rows) - 1 else ""
            dots = [(letter, styles[index] if index >= 0 else "") for letter, index in row]
            yield Text.assemble(
                (edge.rjust(margin), FAINT), " ", *dots, no_wrap=True, overflow="crop"
            )
        yield Text(
            " " * (margin + 1) + left + right.rjust(len(rows[0]) - len(left)),
            FAINT,
            overflow="crop",
        )
        named = [
            (f"— {letters(s.name)}   ", style) for s, style in zip(self.chart.series[:4], styles)
        ]
        yield line(" " * (margin + 1), *named)
        yield line("")
