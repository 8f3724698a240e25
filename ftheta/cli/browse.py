"""Commands that look around and run nothing: `list`, `show`, `doctor`."""

from typing import Annotated, Any

from ftheta.catalogue import entry_of, index
from ftheta.languages import later, t
from ftheta.logic import UsageError, suggest

from .common import Flag, Json, console, print_json

_LISTED = ("id", "chapter", "chapter_title", "title", "gist", "see_also", "takes", "package")


def list_(*words: str, chapter: str | None = None, json: Json = False) -> int:
    """Name every theorem, or those of one chapter with what each says, or those that are found by words.

    Parameters
    ----------
    words
        What to search for: `ftheta list overfitting`. Synonyms and both spellings are known.
    chapter
        The chapter to keep to.
    """
    chapters = list(dict.fromkeys(e["chapter"] for e in index().values()))
    if chapter is not None and chapter not in chapters:
        raise UsageError(
            "Unknown chapter.",
            got=chapter,
            remedy=suggest(chapter, chapters, f"choose one of {', '.join(chapters)}"),
        )
    entries = [e for e in index().values() if chapter in (None, e["chapter"])]
    if words:
        from ftheta.catalogue.searching import find

        entries = find(entries, words)
    if json:
        print_json([{k: e[k] for k in _LISTED} for e in entries])
        return 0
    if not entries:
        console().print(
            t(
                "No theorem is found by “{words}”. `ftheta list` names them all.",
                words=" ".join(words),
            ),
            markup=False,
        )
        return 0
    from rich.markup import escape
    from rich.table import Table

    from ftheta.report.letters import letters

    spoken = chapter is not None or words
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in (later("chapter"), later("theorem"), later("title")):
        table.add_column(t(column), no_wrap=column != "title")
    for e in entries:
        gist = f"\n[dim]{escape(letters(t(e['gist'])))}[/]" if spoken and e["gist"] else ""
        table.add_row(
            f"[dim]{e['chapter']}[/]", f"[bold]{e['id']}[/]", escape(t(e["title"])) + gist
        )
    console().print(table)
    return 0


def show(
    id: str,
    *,
    json: Json = False,
    latex: Annotated[bool, Flag] = False,
    bibtex: Annotated[bool, Flag] = False,
) -> int:
    """Print a theorem: gist, statement, hypotheses, knobs, presets, sources, and errata in the sources.

    Parameters
    ----------
    id
        The theorem, as `ftheta list` names it.
    latex
        Print a theorem environment for a paper instead.
    bibtex
        Print the BibTeX entries of its sources instead; with --latex, below the environment.
    """
    entry = entry_of(id)
    if latex or bibtex:
        _print_for_a_paper(entry, latex, bibtex)
        return 0
    if json:
        print_json(entry)
        return 0
    from ftheta.report.sheet import sheet

    console().print(sheet(entry))
    return 0


def _print_for_a_paper(entry: dict[str, Any], latex: bool, bibtex: bool) -> None:
    if latex:
        from ftheta.report.latex import latex as environment_of

        print(environment_of(entry))
    if bibtex:
        from ftheta.catalogue.bibliography import bibtex as entry_for
        from ftheta.catalogue.bibliography import references

        known = references()
        print(
            "\n".join(entry_for(key) if key in known else f"% {key}\n" for key in entry["sources"]),
            end="",
        )


def doctor(*, json: Json = False) -> int:
    """Say what is installed, in which version, and what each extra would add."""
    from .diagnosis import diagnose

    report = diagnose()
    if json:
        print_json(report)
        return 0
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in (t("package"), t("version"), t("part"), t("what it is for")):
        table.add_column(column)
    for row in report["packages"]:
        table.add_row(
            row["name"],
            row["version"] or f"[yellow]{t('not installed')}[/]",
            row["part"],
            row["purpose"],
        )
    out = console()
    out.print(
        t(
            "ftheta {version} on Python {python}, {platform}, {cores} cores",
            version=report["ftheta"],
            python=report["python"],
            platform=report["platform"],
            cores=report["cores"],
        )
        + "\n"
    )
    out.print(table)
    for package, ids in report["plugins"].items():
        out.print(
            t("theorems of {package}: {ids}", package=package, ids=", ".join(ids)), markup=False
        )
    for problem in report["plugin_problems"]:
        out.print(problem, markup=False, style="yellow")
    for extra, command in report["install"].items():
        out.print(t("to add {extra}: {command}", extra=extra, command=command), markup=False)
    return 0
