"""Data sets by name, with knobs and a seed: `dataset("moons", n=500, noise=0.2, seed=3)`."""

import inspect
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError, suggest

from .bundled import breast_cancer, diabetes, digits, iris, wine
from .mnist1d import mnist1d
from .models import gaussian_design, teacher_student
from .named_arrays import Data
from .operations import group, modular
from .toys import blobs, checkerboard, circles, moons, spirals, xor

SETS: dict[str, Callable[..., Data]] = {
    "digits": digits,
    "iris": iris,
    "wine": wine,
    "breast-cancer": breast_cancer,
    "diabetes": diabetes,
    "mnist1d": mnist1d,
    "moons": moons,
    "circles": circles,
    "spirals": spirals,
    "blobs": blobs,
    "xor": xor,
    "checkerboard": checkerboard,
    "teacher-student": teacher_student,
    "gaussian-design": gaussian_design,
    "modular": modular,
    "group": group,
}
"""Functions of the knobs; a parameter `rng` is made from the seed, a parameter `seed` is it."""
MOST_ROWS = 1_000_000


def dataset(name: str, *, seed: int | None = None, **knobs: Any) -> Data:
    """The data set of this name. Everything random in it is a function of the seed (0; 42 for mnist1d).

    The knobs and what they are without being told: `knobs_of(name)`. Words are read as numbers where a number is meant.
    """
    name = name.replace("_", "-")
    if name not in SETS:
        remedy = suggest(name, SETS, f"choose one of {', '.join(SETS)}")
        raise UsageError("There is no such data set.", got=name, remedy=remedy)
    given = {key: _value(name, key, value) for key, value in knobs.items()}
    function = SETS[name]
    takes = inspect.signature(function).parameters
    if "rng" in takes:
        found = function(np.random.default_rng(_seed(0 if seed is None else seed)), **given)
    elif "seed" in takes and seed is not None:
        found = function(seed=_seed(seed), **given)
    else:
        found = function(**given)
    told = ",".join(
        f"{key}={value}"
        for key, value in (given | ({} if seed is None else {"seed": seed})).items()
    )
    return replace(found, name=f"{name},{told}") if told else found


def knobs_of(name: str) -> dict[str, Any]:
    """The knobs of a data set, with what they are unless told."""
    return {
        key: parameter.default
        for key, parameter in inspect.signature(SETS[name]).parameters.items()
        if key not in ("rng", "seed")
    }


def dataset_of_words(words: str) -> Data | None:
    """The data set that words name, as in `moons` or `moons,n=500,seed=3`; None if they name none."""
    name, *told = (part.strip() for part in words.split(","))
    if name.replace("_", "-") not in SETS:
        return None
    knobs: dict[str, Any] = {}
    for part in told:
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(
                "Knobs of a data set have values.", got=part, remedy=f"write {name},n=500,seed=1"
            )
        knobs[key.strip()] = value.strip()
    seed = knobs.pop("seed", None)
    return dataset(name, seed=None if seed is None else _number(name, "seed", seed, int), **knobs)


def _value(name: str, key: str, value: Any) -> Any:
    """A knob of the kind of its default, within reason."""
    known = knobs_of(name)
    if key not in known:
        remedy = (
            f"its knobs: {', '.join(f'{k}={v}' for k, v in known.items())}"
            if known
            else "it has no knobs"
        )
        raise UsageError(f"The data set {name} has no such knob.", got=key, remedy=remedy)
    kind = type(known[key])
    if kind is str:
        return str(value)
    number = _number(name, key, value, kind)
    least = 1 if kind is int else 0
    if not least <= number <= MOST_ROWS:
        raise UsageError(
            "A knob is out of its range.",
            where=f"{name}, {key}",
            got=value,
            remedy=f"from {least} on",
        )
    return number


def _number(name: str, key: str, value: Any, kind: type) -> Any:
    try:
        number = kind(value)
        if number == float(value):
            return number
    except (TypeError, ValueError):
        pass
    word = "whole number" if kind is int else "number"
    raise UsageError(
        f"A knob is no {word}.", where=f"{name}, {key}", got=value, remedy=f"write {key}=1"
    )


def _seed(seed: int) -> int:
    if not 0 <= seed < 2**32:
        raise UsageError("A seed is a whole number from 0 to 2^32 - 1.", got=seed)
    return seed
