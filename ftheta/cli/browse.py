"""Commands that look around and run nothing: `list`, `show`, `doctor`."""

from ftheta.catalogue import entry_of, index
from ftheta.logic import UsageError
from ftheta.theorems import CHAPTERS

from .common import Json, console, print_json


def list_(*, chapter: str | None = None, json: Json = False) -> int:
    """Name every theorem, or those of one chapter."""
    if chapter is not None and chapter not in CHAPTERS:
        raise UsageError("Unknown chapter.", got=chapter, remedy=f"choose one of {', '.join(CHAPTERS)}")
    entries = [e for e in index().values() if chapter in (None, e["chapter"])]
    if json:
        print_json([{k: e[k] for k in ("id", "chapter", "chapter_title", "title", "takes")} for e in entries])
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("chapter", "theorem", "what it says"):
        table.add_column(column, no_wrap=column != "what it says")
    for e in entries:
        table.add_row(f"[dim]{e['chapter']}[/]", f"[bold]{e['id']}[/]", e["title"])
    console().print(table)
    return 0


def show(id: str, *, json: Json = False) -> int:
    """Print a theorem: statement, hypotheses, knobs, presets, sources, and what the sources print wrongly."""
    entry = entry_of(id)
    if json:
        print_json(entry)
        return 0
    from ftheta.report.sheet import sheet

    console().print(sheet(entry))
    return 0


def doctor(*, json: Json = False) -> int:
    """Say what is installed, in which version, and what each extra would add."""
    from ftheta.diagnosis import diagnose

    report = diagnose()
    if json:
        print_json(report)
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("package", "version", "part", "what it is for"):
        table.add_column(column)
    for row in report["packages"]:
        table.add_row(row["name"], row["version"] or "[yellow]not installed[/]", row["part"], row["purpose"])
    out = console()
    out.print(
        f"ftheta {report['ftheta']} on Python {report['python']}, {report['platform']}, {report['cores']} cores\n"
    )
    out.print(table)
    for extra, command in report["install"].items():
        out.print(f"to add {extra}: {command}", markup=False)
    return 0
