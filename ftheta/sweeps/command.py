"""What `ftheta sweep` reads: a sweep in a TOML file, and grids and seeds in words."""

import json
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

from ftheta.logic.errors import SubjectError, UsageError

from .networks import Networks

DIGITS = 18  # of a seed: more do not fit into 64 bits
PARTS = ("train", "networks", "grid", "seeds", "version")


class Request(NamedTuple):
    """What is swept over what."""

    train: Any
    grid: Any
    seeds: Any
    version: str = ""


def request_of(words: str, load: Callable[[str], Any], data: Callable[[str], Any]) -> Request:
    """A TOML file, or `package.module:function` without a grid. `load` imports an object, `data` reads a data set."""
    if not words.endswith(".toml"):
        if ":" not in words:
            remedy = "give a .toml file or package.module:function"
            raise UsageError("It is not clear what to sweep.", got=words, remedy=remedy)
        return Request(load(words), {}, 1)
    told = _read(Path(words))
    unknown = [name for name in told if name not in PARTS]
    if unknown:
        remedy = f"the parts are {', '.join(PARTS)}"
        raise SubjectError(
            "There is an unknown part.", where=words, got=", ".join(unknown), remedy=remedy
        )
    if ("train" in told) == ("networks" in told):
        remedy = 'write train = "package.module:function", or a table [networks]'
        raise SubjectError("A sweep is of a function or of networks.", where=words, remedy=remedy)
    train = (
        _function(told["train"], load, words)
        if "train" in told
        else _networks(told["networks"], data, words)
    )
    return Request(train, told.get("grid", {}), told.get("seeds", 1), str(told.get("version", "")))


def _read(path: Path) -> dict[str, Any]:
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8"))
        _ensure_64_bits(told)
        return told
    except FileNotFoundError:
        raise SubjectError("There is no such file.", got=str(path)) from None
    except RecursionError:
        raise SubjectError("The file is nested too deeply.", where=str(path)) from None
    except (
        OSError,
        ValueError,
    ) as error:  # no TOML, no UTF-8, a number of more digits than Python reads
        raise SubjectError("The file cannot be read.", where=str(path), got=str(error)) from error


def _ensure_64_bits(told: Any) -> None:
    """The whole numbers that TOML has. Longer ones in base 16 are read, and then cannot even be printed."""
    if isinstance(told, int) and not -(1 << 63) <= told < 1 << 63:
        raise ValueError("a whole number of more than 64 bits")
    for part in told.values() if isinstance(told, dict) else told if isinstance(told, list) else ():
        _ensure_64_bits(part)


def _function(told: Any, load: Callable[[str], Any], where: str) -> Any:
    if not isinstance(told, str) or ":" not in told:
        remedy = 'write train = "package.module:function"'
        raise SubjectError(
            "A function is given by its name.",
            where=f"{where}: train",
            got=repr(told),
            remedy=remedy,
        )
    return load(told)


def _networks(told: Any, data: Callable[[str], Any], where: str) -> Networks:
    known = [field.name for field in fields(Networks)]
    if not isinstance(told, dict):
        remedy = f"write a table [networks] with the settings {', '.join(known)}"
        raise SubjectError(
            "These are no networks.", where=f"{where}: networks", got=repr(told), remedy=remedy
        )
    unknown = [name for name in told if name not in known]
    if unknown or not isinstance(told.get("data"), str):
        got = ", ".join(unknown) or f"data = {told.get('data')!r}"
        remedy = f"data is a name or a file; the settings are {', '.join(known)}"
        raise SubjectError(
            "These are no networks.", where=f"{where}: [networks]", got=got, remedy=remedy
        )
    given = {
        name: data(value) if name in ("data", "test") else value for name, value in told.items()
    }
    return Networks(**given)


def grid_of(words: Sequence[str]) -> dict[str, list[Any]]:
    """`width=16,32` as {"width": [16, 32]}, one a setting."""
    found: dict[str, list[Any]] = {}
    for part in words:
        name, equals, values = part.partition("=")
        if not equals or not values or name in found:
            raise UsageError(
                "A setting is one name with its values.",
                got=part,
                remedy="write --grid width=16,32,64",
            )
        found[name] = [value_of(value) for value in values.split(",")]
    return found


def seeds_of(words: str) -> int | list[int]:
    """`5` for five of them, `0,3,7` for these."""
    parts = [part.strip() for part in words.split(",") if part.strip()]
    if not parts or not all(part.isdecimal() and len(part) <= DIGITS for part in parts):
        raise UsageError(
            "Seeds are whole numbers.", got=words, remedy="write --seeds 5, or --seeds 0,3,7"
        )
    return int(parts[0]) if "," not in words else [int(part) for part in parts]


def value_of(word: str) -> Any:
    """A number, a truth value or nothing where it is one; else the word."""
    named = {"true": True, "false": False, "none": None, "null": None}
    if word.strip().lower() in named:
        return named[word.strip().lower()]
    try:
        found = json.loads(word)
    except (ValueError, RecursionError):  # no JSON, or more digits or brackets than Python reads
        return word.strip()
    return found if isinstance(found, (int, float)) else word.strip()
