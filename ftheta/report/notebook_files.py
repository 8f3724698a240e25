"""Notebooks as files: Jupyter's JSON and marimo's Python, written without either."""

import json
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent
from typing import Any

from ftheta.catalogue import index
from ftheta.courses import NAMES, built_in_courses
from ftheta.logic import UsageError, suggest

from .notebook_cells import IMPORT, Cell, Run, Words, course_cells, theorem_cells
from .save import ensure_savable

SUFFIXES = (".ipynb", ".py")


def full_name(name: str) -> str:
    """The id of a theorem, or the name of a course, as it is listed; an unknown one suggests the nearest."""
    wanted = name.lower().replace("_", "-")
    if wanted not in index() and wanted not in NAMES:
        remedy = suggest(
            wanted, [*index(), *NAMES], "`ftheta list` and `ftheta course` name them all", most=3
        )
        raise UsageError("There is no theorem and no course of this name.", got=name, remedy=remedy)
    return wanted


def cells_of(name: str) -> list[Cell]:
    """The cells of the notebook of a theorem, by its id, or of a course, by its name."""
    found = full_name(name)
    return (
        course_cells(found, built_in_courses()[found])
        if found in NAMES
        else theorem_cells(index()[found])
    )


def write_notebook(name: str, path: Path, *, overwrite: bool = False) -> int:
    """Write the notebook of a theorem or a course as `.ipynb` or, for marimo, as `.py`; the number of its cells.

    A file that is there already is written over only with `overwrite`.
    """
    cells = cells_of(name)
    ensure_savable(path, SUFFIXES)
    if path.exists() and not overwrite:
        raise UsageError(
            "The file exists already.", where=str(path), remedy="give another name, or --overwrite"
        )
    written = to_jupyter(cells) if path.suffix.lower() == ".ipynb" else to_marimo(cells)
    path.write_text(written, encoding="utf-8")
    return len(cells)


# -- Jupyter ------------------------------------------------------------------------------------------


def to_jupyter(cells: Sequence[Cell]) -> str:
    """A notebook of the format 4.5, without outputs."""
    code = {"execution_count": None, "outputs": []}
    made: list[dict[str, Any]] = [_jupyter_cell("code", IMPORT, 0) | code]
    for number, cell in enumerate(cells, 1):
        if isinstance(cell, Words):
            made.append(_jupyter_cell("markdown", cell.text, number))
        else:
            made.append(
                _jupyter_cell("code", f"{cell.name} = {cell.call}\n{cell.name}", number) | code
            )
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": made}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def _jupyter_cell(kind: str, source: str, number: int) -> dict[str, Any]:
    return {
        "cell_type": kind,
        "id": f"cell-{number}",
        "metadata": {},
        "source": source.splitlines(keepends=True),
    }


# -- marimo -------------------------------------------------------------------------------------------

_HEAD = '''import marimo

app = marimo.App()


@app.cell
def _():
    import marimo as mo

    import ftheta as ft
    from ftheta.report.notebook import card_html

    def show(result):
        """The card of a result."""
        return mo.Html(card_html(result, mathml=True))

    return ft, mo, show
'''
_FOOT = """
if __name__ == "__main__":
    app.run()
"""


def to_marimo(cells: Sequence[Cell]) -> str:
    """A Python file of marimo's form: a function per cell, which takes what it uses and returns what it defines."""
    return "\n\n".join([_HEAD, *map(_marimo_cell, cells), _FOOT])


def _marimo_cell(cell: Cell) -> str:
    if isinstance(cell, Run):
        body = f"    {cell.name} = {cell.call}\n    show({cell.name})\n    return ({cell.name},)\n"
        return f"@app.cell\ndef _(ft, show):\n{body}"
    return f"@app.cell(hide_code=True)\ndef _(mo):\n    mo.md({_literal(cell.text)})\n    return\n"


def _literal(text: str) -> str:
    """The text as Python reads it: raw, so that formulas stay readable, unless it could not end so."""
    if '"""' in text:
        return repr(text)
    return f'r"""\n{indent(text, "    ")}\n    """'
