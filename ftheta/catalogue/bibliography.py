"""The sources: `references.bib` of the repository, read by pybtex where the index is made. The package carries what was
read, so that an installed copy needs neither the file nor pybtex."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

BIBLIOGRAPHY = Path(__file__).parents[2] / "references.bib"
READ = Path(__file__).parents[1] / "theorems" / "references.json"


@cache
def references() -> Mapping[str, str]:
    """Every source by key, as one line: authors, title, where it appeared, year."""
    return MappingProxyType({key: entry["line"] for key, entry in _entries().items()})


def bibtex(key: str) -> str:
    """The BibTeX entry of a source."""
    return _entries()[key]["bibtex"]


@cache
def _entries() -> dict[str, dict[str, str]]:
    return json.loads(READ.read_text(encoding="utf-8"))


def read_bibliography() -> dict[str, dict[str, str]]:
    """Every source of `references.bib` by key: its line and its BibTeX entry."""
    from pybtex.database import parse_file

    entries = parse_file(str(BIBLIOGRAPHY), "bibtex").entries
    return {
        key: {"line": _source_line(entry), "bibtex": entry.to_string("bibtex")}
        for key, entry in entries.items()
    }


def write_references() -> None:
    """Write what the package carries; a test keeps it in step with `references.bib`."""
    READ.write_text(
        json.dumps(read_bibliography(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
    )
    _entries.cache_clear()
    references.cache_clear()


def _source_line(entry: Any) -> str:
    from pybtex.richtext import Text

    people = entry.persons.get("author", ())
    names = [
        " ".join(str(part) for part in (*p.rich_prelast_names, *p.rich_last_names)) for p in people
    ]
    fields = [
        entry.fields.get("title", ""),
        entry.fields.get("journal") or entry.fields.get("booktitle", ""),
    ]
    parts = [
        ", ".join(names),
        *(str(Text.from_latex(field)) for field in fields),
        entry.fields.get("year", ""),
    ]
    return ", ".join(part for part in parts if part).replace("--", "–")
