"""Labels of charts, tables and claims: formulas and simple indices written with their own letters."""

import re
from functools import lru_cache

from .plain import plain
from .symbols import to_superscript, with_index

_INDEX = re.compile(r"(?<![\w\\])([^\W\d_])_(\w{1,8})(?!\w|\.\w)")
_NUMBERED = re.compile(r"([α-ω])(\d{1,2})(?![\w.])")
_POWER = re.compile(r"(?<![\w\\])([^\W\d_])\^(\w{1,3})(?!\w)")
_UPRIGHT = {0x1D49C + i: chr(ord("A") + i) for i in range(26)} | {
    0x1D504 + i: chr(ord("A") + i) for i in range(26)
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text without control characters, which could move the cursor or turn the direction of writing."""
    return _CONTROL.sub("", text)


@lru_cache(8192)  # labels come back at every move of a slider
def letters(text: str) -> str:
    """`θ_k` as θₖ, `θ1` as θ₁, `$\\gamma^k$` as γᵏ; other text as it is, on one line.

    Script letters, which few fonts have, are written upright.
    """
    flat = (
        re.sub(r"\s+", " ", visible(plain(text) if "$" in text or "**" in text else text))
        .strip()
        .translate(_UPRIGHT)
    )
    return _POWER.sub(_raise, _NUMBERED.sub(_lower, _INDEX.sub(_lower, flat)))


def _lower(found: re.Match[str]) -> str:
    lower = with_index(found[1], found[2])
    return found[0] if "_" in lower else lower


def _raise(found: re.Match[str]) -> str:
    upper = to_superscript(found[2])
    return found[0] if upper[0] == "^" else found[1] + upper
