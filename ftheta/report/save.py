"""Results, charts, audits and networks as files; the suffix says which form."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ftheta.logic import Result, UsageError, suggest
from ftheta.logic.chart import Chart
from ftheta.logic.result import Audit, Comparison

if TYPE_CHECKING:
    from ftheta.networks.onnx.write import Precision

    from .charts.theme import ThemeName

DRAWN = (".pdf", ".svg", ".png", ".csv", ".tex")
SUFFIXES = (*DRAWN, ".html", ".json")
BUILDS = (".md", ".xml", ".sarif")  # forms of an audit for build servers
AUDITS = (".html", ".json", *BUILDS)


def save(
    result: Any,
    path: str | Path,
    *,
    precision: "Precision" = "float64",
    style: "ThemeName" = "light",
    width: str | None = None,
    height: str | None = None,
) -> tuple[Path, ...]:
    """Write a result, an audit, a chart or a network, and say which files were written.

    `.json` is the whole document, `.html` a page about it. `.pdf`, `.svg`, `.png`, `.csv` and `.tex`
    (PGFPlots) are the charts of a result: the first under the name given, further ones under that name with -2, -3 …
    before the suffix. They are drawn in a `style`, light, dark or paper (for a column of a paper: 8 point labels, no
    title, told apart without colours), `width` and `height` as in "3.25in" or "84mm". A network
    (also a list of layers, a ReLU normal form, a training run) is written as `.npz`, or as `.onnx` in the `precision`
    asked for.
    """
    path = Path(path)
    if not isinstance(result, Result | Audit | Comparison | Chart):
        return _save_network(result, path, precision)
    if isinstance(result, Audit | Comparison):
        return save_audit(result, path)
    ensure_savable(path)
    if isinstance(result, Result) and path.suffix.lower() in (".html", ".json"):
        return (_write(path, _page(result, path)),)
    if path.suffix.lower() == ".json":
        raise UsageError(
            "A chart alone has no JSON form.",
            got=path.name,
            remedy="save the result, or the chart as .csv",
        )
    charts = result.charts if isinstance(result, Result) else (result,)
    if not charts:
        raise UsageError(
            "This result has no chart.",
            got=path.name,
            remedy="save it as .html or .json; if a hypothesis fails, force=True measures anyway",
        )
    return tuple(
        _write(_number_file(path, i), _draw(chart, path, style, width, height))
        for i, chart in enumerate(charts, 1)
    )


def _save_network(net: Any, path: Path, precision: "Precision") -> tuple[Path, ...]:
    from ftheta.subjects.saving import SUFFIXES as FORMS
    from ftheta.subjects.saving import save_network

    ensure_savable(path, FORMS)
    return (save_network(net, path, precision),)


def save_audit(audit: Audit | Comparison, path: str | Path) -> tuple[Path, ...]:
    """Write an audit, or a comparison of two, as a page (.html) with its document beside it, or as the document alone
    (.json); for build servers as Markdown (.md), JUnit XML (.xml) or SARIF (.sarif)."""
    path = Path(path)
    ensure_savable(path, AUDITS)
    if path.suffix.lower() in BUILDS:
        return (_write(path, _page(audit, path)),)
    places = [path] if path.suffix.lower() == ".json" else [path, path.with_suffix(".json")]
    return tuple(_write(place, _page(audit, place)) for place in places)


def ensure_savable(path: str | Path, suffixes: tuple[str, ...] = SUFFIXES) -> None:
    """Refuse, before any work is done, a file that could not be written."""
    path = Path(path)
    if path.suffix.lower() not in suffixes:
        raise UsageError(
            "Unknown kind of file.",
            got=path.name,
            remedy=f"end its name with {', '.join(suffixes)}",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError(
            "The folder does not exist.", where=str(path), remedy=f"make {path.parent} first"
        )
    if path.is_dir():
        raise UsageError(
            "This is a folder.", where=str(path), remedy="give the name of a file in it"
        )
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise UsageError(
            "The file may not be written.",
            where=str(path),
            remedy="choose a place that is yours to write",
        )


def _page(document: Result | Audit | Comparison, path: Path) -> str:
    if path.suffix.lower() == ".json":
        from .document import to_json

        return to_json(document, indent=1) + "\n"
    if path.suffix.lower() in BUILDS and isinstance(document, Audit | Comparison):
        from . import ci

        return {".md": ci.markdown, ".xml": ci.junit, ".sarif": ci.sarif}[path.suffix.lower()](
            document
        )
    from .audit_html import audit_page
    from .html import comparison_page, result_page

    if isinstance(document, Audit):
        return audit_page(document)
    return comparison_page(document) if isinstance(document, Comparison) else result_page(document)


def _draw(
    chart: Chart, path: Path, style: "ThemeName", width: str | None, height: str | None
) -> str | bytes:
    from .charts.theme import THEMES
    from .paper import COLUMN, SCREEN, read_length
    from .render import render, render_for_paper

    if style not in THEMES:
        raise UsageError(
            "There is no such style.", got=style, remedy=suggest(style, THEMES, ", ".join(THEMES))
        )
    across = None if width is None else read_length(width)
    up = None if height is None else read_length(height)
    format: Any = path.suffix.lower().removeprefix(".")
    if style == "paper":
        return render_for_paper(chart, format, across or COLUMN, up)
    pixels = (None if inches is None else inches * SCREEN for inches in (across, up))
    return render(chart, format, theme=style, width=next(pixels), height=next(pixels))


def _number_file(path: Path, index: int) -> Path:
    return path if index == 1 else path.with_name(f"{path.stem}-{index}{path.suffix}")


def _write(path: Path, content: str | bytes) -> Path:
    try:
        # a name of a file that is not UTF-8 has halves of characters in it
        path.write_bytes(
            content.encode(errors="backslashreplace") if isinstance(content, str) else content
        )
    except OSError as error:
        raise UsageError(
            "The file cannot be written.", where=str(path), got=error.strerror
        ) from None
    return path
