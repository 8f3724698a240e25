"""The bibliography that theorem sources resolve in: read by pybtex where the index is made, which holds its lines."""

from pathlib import Path
from typing import Any

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"
_COURSES = {
    "peyre-slides": "Peyré, The Mathematics of Neural Networks (slides)",
    "gribonval-slides": "Gribonval, Garivier, Pustelnik, Mathematics of Deep Learning, session 1 (slides)",
    "murari-slides": "Murari, Introduction to the Mathematics of Deep Learning (slides)",
    "scaman-slides": "Scaman, Even, Mathematics of Deep Learning: Introduction (slides)",
    "peyre-notes": "Peyré, handwritten notes",
}


def references() -> dict[str, str]:
    """Every source by key, as one line: authors, title, where it appeared, year."""
    from pybtex.database import parse_file

    entries = parse_file(str(BIBLIOGRAPHY), "bibtex").entries
    return _COURSES | {key: _line(entry) for key, entry in entries.items()}


def _line(entry: Any) -> str:
    from pybtex.richtext import Text

    people = entry.persons.get("author", ())
    names = [" ".join(str(part) for part in (*p.rich_prelast_names, *p.rich_last_names)) for p in people]
    fields = [entry.fields.get("title", ""), entry.fields.get("journal") or entry.fields.get("booktitle", "")]
    parts = [", ".join(names), *(str(Text.from_latex(field)) for field in fields), entry.fields.get("year", "")]
    return ", ".join(part for part in parts if part).replace("--", "–")
