"""The bibliography that theorem sources resolve in."""

import re
from pathlib import Path

BIBLIOGRAPHY = Path(__file__).parents[1] / "references.bib"
_ENTRY = re.compile(r"^@\w+\{([^,\s]+),(.*?)^\}", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^\s*(\w+)\s*=\s*[{\"](.*?)[}\"],?\s*$", re.MULTILINE | re.DOTALL)
_SEEDS = {
    "seed 0": "Peyré, The Mathematics of Neural Networks (slides)",
    "seed 1": "Gribonval, Garivier, Pustelnik, Mathematics of Deep Learning, session 1 (slides)",
    "seed 2": "Murari, Introduction to the Mathematics of Deep Learning (slides)",
    "seed 3": "Scaman, Even, Mathematics of Deep Learning: Introduction (slides)",
    "seed 4": "Peyré, handwritten notes",
}


def references() -> dict[str, str]:
    """Every source by key, as one line: authors, title, year."""
    text = BIBLIOGRAPHY.read_text(encoding="utf-8")
    return _SEEDS | {key: _line(dict(_FIELD.findall(body))) for key, body in _ENTRY.findall(text)}


def _line(fields: dict[str, str]) -> str:
    people = [name.split(",")[0].strip("{} ") for name in fields.get("author", "").split(" and ")]
    parts = [", ".join(people), fields.get("title", ""), fields.get("journal") or fields.get("booktitle", "")]
    words = ", ".join(part for part in [*parts, fields.get("year", "")] if part)
    return re.sub(r"\s+", " ", words.replace("{", "").replace("}", "").replace("--", "–"))
