"""What every page is made of: the frame with its style sheet, tables, pills, numbers, figures."""

import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from pathlib import Path

from ftheta.languages import language, t
from ftheta.logic import Diagram, Table
from ftheta.logic.chart import Chart, Dag

from .charts.theme import dark_colours
from .explained import hint_rules
from .letters import letters, visible
from .mathml import words_html as prose
from .numbers import number, typeset
from .parts import part_of_chart
from .render import figure
from .verdicts import Look

_FOLDER = Path(__file__).parent
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:"
_HEIGHTS = {
    "curves": 340,
    "histogram": 320,
    "heatmap": 420,
    "regions": 430,
    "points": 400,
    "motion": 460,
}
_JOINT = re.compile(r"(?<=[≤≥=→Δ±]) | (?=%)")
_SCROLLING = re.compile(r'<math (?:display="block"|class="long")')
_MOST_ROWS = 200


def page(title: str, body: Iterable[str], *, style: str = "", scripts: Sequence[str] = ()) -> str:
    """A whole page: no reference to anything outside the file, and no script but those given, named by their hashes in
    the policy. `style` comes after the rules of all pages; the scripts are modules and run in their order."""
    hashes = " ".join(
        f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts
    )
    policy = f"{_POLICY}; script-src {hashes}" if scripts else _POLICY
    head = [
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        f"<title>{text(title)}</title>",
        f"<style>{_style()}{style}</style>",
    ]
    return "\n".join(
        [
            "<!DOCTYPE html>",
            f'<html lang="{language()}">',
            "<head>",
            *head,
            "</head>",
            "<body><main>",
            *map(reachable, body),
            "</main>",
            *(f'<script type="module">{script}</script>' for script in scripts),
            "</body>",
            "</html>",
            "",
        ]
    )


def reachable(html: str) -> str:
    """Formulas that scroll in narrow windows can be reached by keyboard."""
    return _SCROLLING.sub(r'\g<0> tabindex="0"', html)


@cache
def _style() -> str:
    """The style sheet with the font in it, and the colours of the figures in the dark."""
    font = b64encode((_FOLDER / "fonts" / "ftheta-math.woff2").read_bytes()).decode()
    face = f'@font-face{{font-family:"ftheta Math";src:url(data:font/woff2;base64,{font}) format("woff2")}}'
    swaps = "".join(
        f'figure [fill="{light}"]{{fill:{dark}}}figure [stroke="{light}"]{{stroke:{dark}}}'
        for light, dark in dark_colours().items()
    )
    css = (_FOLDER / "page.css").read_text(encoding="utf-8")
    return (
        f"{face}\n{css}\n{hint_rules()}\n@media screen and (prefers-color-scheme:dark){{{swaps}}}"
    )


def text(plain: str) -> str:
    """Plain text escaped for HTML, without control characters."""
    return escape(visible(plain))


def pill(here: Look, extra: str = "") -> str:
    """The verdict as a coloured pill; `extra` follows its word."""
    return f'<span class="pill {here.family}">{here.sign} {escape(here.word + extra)}</span>'


def numerals(text: str) -> str:
    """Numbers with raised exponents; a sign is not parted from what it belongs to."""
    return escape(join_signs(typeset(text)))


def join_signs(text: str) -> str:
    """No line ends between a sign, or a number, and what belongs to it."""
    return _JOINT.sub("\u00a0", text)


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    caption: str = "",
    kind: str = "",
    left: int = 1,
) -> str:
    """Rows of cells that are HTML already; the first `left` columns are set to the left."""
    aligned = lambda i: "" if i < left else ' class="right"'
    titles = "".join(
        f'<th scope="col"{aligned(i)}>{escape(name)}</th>' if name else "<td></td>"
        for i, name in enumerate(head)
    )
    lines = []
    for row in rows:
        first, *rest = row
        cells = "".join(
            cell if cell.startswith("<td") else f"<td{aligned(i)}>{cell}</td>"
            for i, cell in enumerate(rest, 1)
        )
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    titled = f"<caption>{caption}</caption>" if caption else ""
    body = f"{titled}<thead><tr>{titles}</tr></thead><tbody>{''.join(lines)}</tbody>"
    return scrolled(f'<table class="{kind}">{body}</table>')


def scrolled(html: str) -> str:
    """What may be wider than the window, such as a table: it scrolls by itself, by keyboard too."""
    return f'<div class="scroll" tabindex="0" role="group">{html}</div>'


def data_table(data: Table, most: int = _MOST_ROWS) -> str:
    """A table of a result as HTML, cut after so many rows."""
    rows = [[_cell(cell) for cell in row[: len(data.columns)]] for row in data.rows[:most] if row]
    more = (
        " " + t("(the first {most} of {n} rows)", most=most, n=f"{len(data.rows):,}")
        if len(data.rows) > most
        else ""
    )
    return table([letters(c) for c in data.columns], rows, caption=prose(data.title) + more)


def _cell(cell: float | int | str) -> str:
    return prose(cell) if isinstance(cell, str) else numerals(number(cell))


def part_mark(part: str) -> str:
    """The letter of a part of a statement, as (a), before what checks it."""
    return (
        f'<b class="of-part" title="{t("checks part {part} of the statement", part=part)}">{part}</b> '
        if part
        else ""
    )


def figure_html(chart: Chart, *, captioned: bool = True, id: str = "") -> str:
    """A chart as an SVG figure with its title below; one of the theorem `id` with the letter of the part it checks."""
    wide, height = figure_size(chart, captioned=captioned)
    caption = (
        f"<figcaption>{caption_html(chart, id)}</figcaption>" if captioned and chart.title else ""
    )
    return f"<figure>{figure(chart, width=wide, height=height)}{caption}</figure>"


def figure_size(chart: Chart, *, captioned: bool = True) -> tuple[float, float | None]:
    """Width and height, in pixels, of a chart on a page; without a height it takes what suits it."""
    wide = (
        1000 if isinstance(chart, Dag) else 760 if isinstance(chart, Diagram) and captioned else 540
    )
    return wide, _HEIGHTS.get(chart.kind, 300 if isinstance(chart, Diagram) else None)


def caption_html(chart: Chart, id: str = "") -> str:
    """The title of a chart; one of the theorem `id` after the letter of the part that it checks."""
    return part_mark(part_of_chart(id, chart.title)) + prose(chart.title)
