"""A result as a file: what `ftheta.save` writes, and the lines that give the result again."""

from pathlib import Path
from tempfile import TemporaryDirectory

from ftheta.logic import Result
from ftheta.report.reproduce import command, snippet
from ftheta.report.save import DRAWN, save

MEDIA = {
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
    "png": "image/png",
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "py": "text/x-python; charset=utf-8",
    "sh": "text/x-shellscript; charset=utf-8",
}


def export(result: Result, format: str, chart: int = 0) -> bytes:
    """The result, or one of its charts, in one of the formats of `MEDIA`."""
    if format == "py":
        return f"{snippet(result)}\n".encode()
    if format == "sh":
        return f"#!/bin/sh\n{command(result)}\n".encode()
    drawn = f".{format}" in DRAWN and result.charts
    chosen = result.charts[min(chart, len(result.charts) - 1)] if drawn else result
    with TemporaryDirectory() as folder:
        return save(chosen, Path(folder) / f"{result.id}.{format}")[0].read_bytes()
