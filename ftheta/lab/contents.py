"""The catalogue as the page reads it: the index with its formulas as MathML. Needs no JAX."""

import gzip
import hashlib
import json
import re
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from ftheta.catalogue import index, settings_of
from ftheta.catalogue.searching import search_text
from ftheta.languages import t
from ftheta.logic import Verdict
from ftheta.logic.knob import Value
from ftheta.report.explained import mark_symbols
from ftheta.report.mathml import formulas, mathml, plain, statement_html, words_html
from ftheta.report.verdicts import Look, look

from .positions import stops_of

_INDICES = re.compile("[₀-₉]+")
_POWERS = re.compile("[⁰¹²³⁴-⁹]+")
_BARRED = re.compile("(.)\u0304")
_ROOT = re.compile(r"√(\w)")
_DIGITS = str.maketrans("₀₁₂₃₄₅₆₇₈₉⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789" * 2)


@dataclass(frozen=True, slots=True)
class Contents:
    """The bytes that are served, with the name that changes when they do."""

    plain: bytes
    zipped: bytes
    etag: str

    @classmethod
    def of(cls, document: Any) -> "Contents":
        plain = json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
        return cls(
            plain, gzip.compress(plain, mtime=0), f'"{hashlib.sha256(plain).hexdigest()[:20]}"'
        )


def catalogue(classroom: bool = False) -> dict[str, Any]:
    """Chapters, theorems and the words of the verdicts; and whether the lab is one for a class."""
    entries = index().values()
    chapters = {e["chapter"]: e["chapter_title"] for e in entries}
    return {
        "version": version("ftheta"),
        "classroom": classroom,
        "chapters": [{"id": id, "title": t(title)} for id, title in chapters.items()],
        "verdicts": {
            **{verdict.value: look_as_json(look(verdict)) for verdict in Verdict},
            "not-checked": look_as_json(look(None)),
        },
        "theorems": [_theorem(entry, classroom) for entry in entries],
    }


def look_as_json(look: Look) -> dict[str, str]:
    """A verdict as the page shows it."""
    return {"sign": look.sign, "word": look.word, "family": look.family, "means": look.means}


def _theorem(entry: dict[str, Any], classroom: bool) -> dict[str, Any]:
    sliders = ("int", "float") if classroom else ()
    stops = [stops_of(s) if s.type in sliders else [] for s in settings_of(entry)]
    symbols = entry["lesson"]["symbols"] if entry.get("lesson") else {}
    return {
        **entry,
        "title": t(entry["title"]),
        "chapter_title": t(entry["chapter_title"]),
        "gist": t(entry["gist"]),
        "search": _search_text(entry),
        "plain": " ".join(plain(entry["statement"]).split()),
        "gist_html": words_html(t(entry["gist"])),
        "headline_html": mathml(formulas(entry["statement"])[0])
        if formulas(entry["statement"])
        else "",
        "statement_html": mark_symbols(statement_html(entry["statement"]), symbols),
        "errata_html": statement_html(entry["errata"]),
        "assumes": [
            {**a, "says_html": words_html(a["says"]), "remedy_html": words_html(a["remedy"])}
            for a in entry["assumes"]
        ],
        "knobs": [_knob(k, at) for k, at in zip(entry["knobs"], stops, strict=True)],
        "presets": [{"name": name, "knobs": knobs} for name, knobs in entry["presets"].items()],
        "breakable": entry.get("breakable", True),
        "lesson": _lesson(entry["lesson"]) if entry.get("lesson") else None,
    }


def _search_text(entry: dict[str, Any]) -> str:
    """What a theorem is found by: in English, and by its title and gist in the language that is spoken."""
    spoken = " ".join(t(entry[part]) for part in ("title", "gist", "chapter_title"))
    return f"{search_text(entry)} {spoken.lower().replace('-', ' ')}"


def _lesson(lesson: dict[str, Any]) -> dict[str, Any]:
    """A lesson with its words as HTML."""
    return {
        "why": words_html(lesson["why"]),
        "parts": [
            {**part, "says": mark_symbols(words_html(part["says"]), lesson["symbols"])}
            for part in lesson["parts"]
        ],
        "symbols": [
            [words_html(symbol), words_html(means)] for symbol, means in lesson["symbols"].items()
        ],
        "idea": words_html(lesson["idea"]),
        "trials": [{**trial, "look": words_html(trial["look"])} for trial in lesson["trials"]],
        "breaks": words_html(lesson["breaks"]),
        "leads": [[id, words_html(why)] for id, why in lesson["leads"].items()],
    }


def _knob(entry: dict[str, Any], stops: list[Value]) -> dict[str, Any]:
    """A knob with its words; `stops` are the only positions of its slider, none if it has positions of its own."""
    knob = entry["knob"]
    return {
        **entry,
        "stops": stops,
        "symbol_html": symbol_html(knob["symbol"]),
        "says_html": words_html(knob["says"]),
    }


def symbol_html(symbol: str) -> str:
    """The symbol of a knob, which is written in Unicode, as a formula: `d₀` with a true index."""
    indices = _INDICES.sub(lambda found: f"_{{{found[0].translate(_DIGITS)}}}", symbol)
    powers = _POWERS.sub(lambda found: f"^{{{found[0].translate(_DIGITS)}}}", indices)
    barred = _BARRED.sub(r"\\bar{\1}", powers)
    return mathml(_ROOT.sub(r"\\sqrt{\1}", barred)) if symbol else ""
