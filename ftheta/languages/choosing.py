"""Which language is asked for: by its name, by the environment, by a browser."""

import os
import re
from collections.abc import Mapping

from ftheta.logic.errors import UsageError, suggest

from .catalogues import ENGLISH, KNOWN

# as gettext has it, ours before them
VARIABLES = ("FTHETA_LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
_QUALITY = re.compile(r";\s*q=([\d.]+)")


def parse_language(words: str) -> str:
    """The language of `fr`, `FR` or `fr_CA.UTF-8`; one that is not known is an error that names those that are."""
    found = _known(words)
    if found is None:
        remedy = suggest(words, KNOWN, f"choose one of {', '.join(KNOWN)}")
        raise UsageError("ftheta does not speak this language.", got=words, remedy=remedy)
    return found


def from_environment(environment: Mapping[str, str] = os.environ) -> str:
    """The language of the environment: the first variable that is set decides. Ours has to be right; where the system
    speaks a language that we do not, it is English."""
    for name in VARIABLES:
        if words := environment.get(name, ""):
            if name == VARIABLES[0]:
                return parse_language(words)
            return next(filter(None, map(_known, words.split(":"))), ENGLISH)
    return ENGLISH


def from_header(header: str, otherwise: str = ENGLISH) -> str:
    """The first language of a browser's `Accept-Language`, best quality first, that is known."""
    wanted = sorted(header.split(","), key=_quality, reverse=True)
    return next(filter(None, (_known(each.split(";")[0]) for each in wanted)), otherwise)


def _quality(wanted: str) -> float:
    found = _QUALITY.search(wanted)
    try:
        return float(found[1]) if found else 1.0
    except ValueError:
        return 0.0


def _known(words: str) -> str | None:
    name = re.split(r"[-_.@]", words.strip().lower())[0]
    return name if name in KNOWN else None
