"""Catalogues as files in the form of gettext: written in the order of the sources, with what is translated kept."""

import re
from collections.abc import Sequence
from pathlib import Path

from ftheta.languages.catalogues import FOLDER, read_catalogue

from .messages import Message, differences

_FUZZY = re.compile(r"^#,.*\bfuzzy\b", re.MULTILINE)


def place_of(language: str, domain: str) -> Path:
    """The file of a catalogue."""
    return FOLDER / language / f"{domain}.po"


def written(head: str, messages: Sequence[Message], said: dict[str, str]) -> str:
    """The text of a catalogue: its head as it was, then the messages with what is said for each."""
    return "\n".join(
        [head.rstrip("\n") + "\n", *(_entry(m, said.get(m.key, "")) for m in messages)]
    )


def head_of(text: str) -> str:
    """The comments and the first entry, which names encoding and plural forms."""
    return text.split("\n\n", 1)[0]


def problems(text: str, messages: Sequence[Message]) -> list[str]:
    """What is wrong with a catalogue: missing, no longer said, fuzzy, or not with the same values."""
    said = read_catalogue(text)
    keys = {m.key for m in messages}
    found = [f"not translated: {m.one!r} ({m.where})" for m in messages if m.key not in said]
    found += [f"no longer said: {key!r}" for key in said if key and key not in keys]
    found += ["marked fuzzy: look at it and take the mark away"] * len(_FUZZY.findall(text))
    for m in messages:
        forms = said[m.key].split("\0") if m.key in said else []
        found += [f"{m.one!r}: {d}" for form in forms for d in differences(m.one, form)]
    if not found and text != written(head_of(text), messages, said):
        found.append("the order or the places are not those of the sources")
    return found


def _entry(message: Message, said: str) -> str:
    lines = [f"#: {message.where}"]
    if message.context:
        lines.append(f"msgctxt {_quoted(message.context)}")
    lines.append(f"msgid {_quoted(message.one)}")
    if not message.many:
        return "\n".join([*lines, f"msgstr {_quoted(said)}\n"])
    lines.append(f"msgid_plural {_quoted(message.many)}")
    forms = said.split("\0") if said else ["", ""]
    return "\n".join([*lines, *(f"msgstr[{k}] {_quoted(f)}" for k, f in enumerate(forms))]) + "\n"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")
    return '"' + escaped.replace("\n", "\\n") + '"'
