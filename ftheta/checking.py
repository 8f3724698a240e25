"""One theorem by name on one subject: what `ft.check` and `ftheta check` do."""

import os
from dataclasses import replace
from typing import Any

from ftheta.catalogue import theorem
from ftheta.logic import Result, Theorem, UsageError
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Subject


def check(
    id: str | Theorem,
    on: Any = None,
    *,
    with_data: Any = None,
    seed: int = 0,
    preset: str | None = None,
    breaker: bool = False,
    force: bool = False,
    **knobs: Any,
) -> Result:
    """Check the theorem `id`, or the theorem that is handed in, on its built-in subject, or on yours.

    `on` is a subject, anything `load` turns into one, or words (a file, `package.module:attribute`, a built-in
    name); `with_data` are data for a network, likewise. `breaker` takes the theorem's negative control instead;
    `force` measures even if a hypothesis fails. The remaining arguments are the theorem's knobs.
    """
    chosen = _chosen(id)
    subject = None if on is None else _load(on, chosen.takes)
    if with_data is not None:
        subject = _with(subject, _load(with_data, (Dataset,)))
    result = run(chosen, subject, seed=seed, preset=preset, breaker=breaker, force=force, **knobs)
    told = {"given": _words(on), "with_data": _words(with_data), "data_warnings": _warnings(subject)}
    return replace(result, provenance=replace(result.provenance, **told))


def _load(given: Any, takes: Any) -> Any:
    from ftheta.subjects.resolve import load  # imports readers of every kind

    return load(given, takes=takes)


def _chosen(given: Any) -> Theorem:
    if isinstance(given, Theorem):
        return given
    if isinstance(given, str):
        return theorem(given)
    remedy = 'give its id, such as "gd-strongly-convex", or the theorem: ft.theorems()["gd-strongly-convex"]'
    raise UsageError("It is not clear which theorem to check.", got=f"a {type(given).__name__}", remedy=remedy)


def _with(subject: Subject | None, data: Any) -> Network:
    if isinstance(subject, Network):
        return subject.with_data(data)
    got = "the built-in subject" if subject is None else f"a {type(subject).__name__}"
    raise UsageError(
        "Data are given to a network.", got=got, remedy="name the network with --on, or the data themselves"
    )


def _warnings(subject: Subject | None) -> tuple[str, ...]:
    """What is worth knowing of data that were handed in."""
    data = subject.data if isinstance(subject, Network) else subject
    return data.notes if isinstance(data, Dataset) else ()


def _words(given: Any) -> str:
    """As they can be printed: a name of a file that is not UTF-8 has halves of characters in it."""
    return str(given).encode(errors="backslashreplace").decode() if isinstance(given, (str, os.PathLike)) else ""


def measured(seed: int, id: str, **knobs: Any) -> dict[str, float | str]:
    """A cell of a sweep over a theorem's knobs (`train = "ftheta.checking:measured"`): its verdict and its numbers."""
    result = check(id, seed=seed, **knobs)
    numbers = {**result.numbers, **result.example_numbers}
    return {"verdict": result.verdict.value, **{name: number.middle for name, number in numbers.items()}}
