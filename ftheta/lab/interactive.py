"""A theorem as one page that needs no server: its results at the positions of one knob, and the script that shows them.

The charts are Vega specifications, drawn by the scripts of the lab, which are in the page once. All results are in the
page as JSON, gzipped. Without scripts it shows the position it was made at, and prints well.
"""

import gzip
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ftheta.logic import FthetaError, Result, UsageError
from ftheta.logic.knob import Setting, Value
from ftheta.report.described import describe_chart
from ftheta.report.numbers import number
from ftheta.report.page import (
    caption_html,
    data_table,
    figure_html,
    figure_size,
    page,
    pill,
    prose,
    text,
)
from ftheta.report.parts import lesson_of
from ftheta.report.reproduce import command
from ftheta.report.theorem_html import (
    checks_html,
    claims_html,
    errata_html,
    examples_html,
    heading,
    numbers_html,
    printed_claims_html,
    remedies_html,
    sources_html,
    summary_html,
    taught_statement_html,
)
from ftheta.report.vega import vega
from ftheta.report.verdicts import look

from .answers import strict_json

LARGEST = 20 << 20  # bytes that a page may have
_STATIC = Path(__file__).parent / "static"
_IMPORT = 'import { expressionInterpreter } from "./vendor/vega-interpreter.js";\n'
_EXPORT = "export { expression as expressionInterpreter };\n"


@dataclass(frozen=True, slots=True)
class Position:
    """One value of the knob with what was found there: a result, or why there is none."""

    value: Value
    found: Result | FthetaError


def interactive_page(setting: Setting, positions: Sequence[Position], start: int) -> str:
    """The page about one theorem. `start` is the position that it opens at."""
    results = [p.found for p in positions if isinstance(p.found, Result)]
    if not results:
        first = positions[0].found
        assert isinstance(first, FthetaError)
        raise first  # a page on which nothing can be seen is not written
    here = positions[start].found
    shown = here if isinstance(here, Result) else results[0]
    scripts = (_read("vendor/vega.min.js"), _own_script())
    body = _body(setting, positions, start, shown)
    made = page(shown.title, body, style=_read("style/interactive.css"), scripts=scripts)
    size = len(made.encode())
    if size > LARGEST:
        remedy = "take fewer --positions, or another --knob"
        raise UsageError("The page would be too large.", got=f"{size / 1e6:.1f} MB", remedy=remedy)
    return made


def _body(setting: Setting, positions: Sequence[Position], start: int, shown: Result) -> list[str]:
    maker = f"computed ahead by ftheta {version('ftheta')}"
    under = f"{shown.id} · {shown.chapter} · seed {shown.provenance.seed} · {maker}"
    gist = f'<p class="gist">{prose(shown.gist)}</p>' if shown.gist else ""
    here = _position_json(positions[start], specs=False)
    first = positions[start].found
    drawn = (
        [figure_html(chart, id=shown.id) for chart in first.charts]
        if isinstance(first, Result)
        else []
    )
    return [
        f'<h1>{text(shown.title)} <span id="verdict">{here["pill"]}</span></h1>',
        f'<p class="under">{text(under)}</p>',
        gist,
        f"<details open><summary>Statement</summary>{taught_statement_html(shown, lesson_of(shown.id))}</details>",
        _slider(setting, positions, start, str(here["label"])),
        f'<div class="sides"><div id="outcome" aria-live="polite">{here["outcome"]}</div>',
        f'<div id="chart">{"".join(drawn[:1])}</div></div>',
        f'<div id="charts" class="gallery">{"".join(drawn[1:])}</div>',
        f'<div id="tables">{here["tables"]}</div>',
        errata_html(shown),
        sources_html(shown),
        _data(setting, positions, start),
    ]


def _slider(setting: Setting, positions: Sequence[Position], start: int, label: str) -> str:
    """The knob as a slider, with the verdict at each of its positions below."""
    says = setting.knob.says or setting.name
    symbol = f"<i>{text(setting.knob.symbol)}</i> " if setting.knob.symbol else ""
    named = f'<label for="position">{symbol}{prose(says)}</label>'
    ends = f'min="0" max="{len(positions) - 1}" step="1" value="{start}"'
    range_ = f'<input type="range" id="position" {ends} aria-valuetext="{text(label)}" disabled>'
    cells = "".join(f'<span class="{_family(p)}"></span>' for p in positions)
    strip = f'<div id="strip" aria-hidden="true">{cells}</div>'
    hint = (
        "<noscript><p>The slider needs scripts; what is seen is one position of it.</p></noscript>"
    )
    return f'<div id="knob">{named} <output id="value">{text(label)}</output>{range_}{strip}{hint}</div>'


def _data(setting: Setting, positions: Sequence[Position], start: int) -> str:
    content = {
        "knob": setting.name,
        "start": start,
        "positions": [_position_json(position) for position in positions],
    }
    zipped = gzip.compress(strict_json(content).encode(), mtime=0)
    return f'<script type="application/gzip" id="data">{b64encode(zipped).decode()}</script>'


def _family(position: Position) -> str:
    return look(position.found.verdict).family if isinstance(position.found, Result) else "none"


def _position_json(position: Position, specs: bool = True) -> dict[str, Any]:
    label = position.value if isinstance(position.value, str) else number(position.value)
    head = {"value": position.value, "label": label}
    if isinstance(position.found, FthetaError):
        told = f'<div class="remedy"><p><b>Nothing is computed here.</b> {text(str(position.found))}</p></div>'
        return {**head, "pill": "", "outcome": told, "tables": "", "charts": []}
    result = position.found
    charts = [_chart_json(result, chart) for chart in result.charts] if specs else []
    words = {"pill": _pill(result), "outcome": _outcome(result), "tables": _tables(result)}
    return {**head, **words, "charts": charts}


def _pill(result: Result) -> str:
    return pill(look(result.verdict), ", vacuous" if result.vacuous else "")


def _outcome(result: Result) -> str:
    return "".join(
        [
            summary_html(result, look(result.verdict)),
            checks_html(result.checks, 2),
            remedies_html(result.checks),
            printed_claims_html(result.as_printed),
        ]
    )


def _tables(result: Result) -> str:
    return "".join(
        [
            claims_html(result.claims, result.id),
            examples_html(result, 2),
            numbers_html(result.numbers, heading("Numbers", 2)),
            *map(data_table, result.tables),
            f"<pre>{text(command(result))}</pre>",
        ]
    )


def _chart_json(result: Result, chart: Any) -> dict[str, Any]:
    width, height = figure_size(chart)
    spec = {**vega(chart, width=width, height=height, title=False), "background": None}
    return {
        "spec": spec,
        "caption": caption_html(chart, result.id),
        "described": describe_chart(chart),
    }


# -- scripts --------------------------------------------------------------------------------------------


def _read(name: str) -> str:
    return (_STATIC / name).read_text(encoding="utf-8")


def _own_script() -> str:
    """The script of the page with the interpreter of expressions that it imports, in one: a page that is opened as a
    file may import nothing. The interpreter keeps its names to itself."""
    interpreter = _replace(_read("vendor/vega-interpreter.js"), _EXPORT, "return expression;\n")
    own = _replace(_read("interactive.js"), _IMPORT, "")
    return f"const expressionInterpreter = (() => {{\n{interpreter}}})();\n{own}"


def _replace(script: str, line: str, by: str) -> str:
    if script.count(line) != 1:
        raise ValueError(f"the script has another line than {line!r}")
    return script.replace(line, by)
