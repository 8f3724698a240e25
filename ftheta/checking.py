"""One theorem by name on one subject: what `ft.check` and `ftheta check` do."""

import os
from dataclasses import replace
from typing import Any

from ftheta.catalogue import theorem
from ftheta.logic import Result, Theorem, UsageError
from ftheta.running import run
from ftheta.subjects import Dataset, Network, Subject
from ftheta.subjects.pairs import join_samples


def check(
    id: str | Theorem,
    on: Any = None,
    *,
    with_data: Any = None,
    against: Any = None,
    role: str = "",
    seed: int = 0,
    preset: str | None = None,
    breaker: bool = False,
    force: bool = False,
    **knobs: Any,
) -> Result:
    """Check the theorem `id`, or the theorem that is handed in, on its built-in subject, or on yours.

    `on` is a subject, anything `load` turns into one, or words (a file, `package.module:attribute`, a built-in
    name); `with_data` are data for a network, likewise; `against` is a second data set, for theorems about two samples;
    `role` says what a network is in a generative model: generator, critic, decoder, score or velocity.
    `breaker` takes the theorem's negative control instead;
    `force` measures even if a hypothesis fails. The remaining arguments are the theorem's knobs.
    """
    chosen = _chosen(id)
    subject = None if on is None else _load(on, chosen.takes)
    if role:
        subject = _network(subject, "A role is given to a network.").with_role(role)
    if with_data is not None:
        subject = _with(subject, _load(with_data, (Dataset,)))
    if against is not None:
        subject = _against(subject, _load(against, (Dataset,)))
    result = run(chosen, subject, seed=seed, preset=preset, breaker=breaker, force=force, **knobs)
    told = {
        "given": _words(on),
        "with_data": _words(with_data),
        "against": _words(against),
        "data_warnings": _warnings(subject),
    }
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
    raise UsageError(
        "It is not clear which theorem to check.", got=f"a {type(given).__name__}", remedy=remedy
    )


def _with(subject: Subject | None, data: Any) -> Network:
    return _network(subject, "Data are given to a network.").with_data(data)


def _network(subject: Subject | None, what: str) -> Network:
    if isinstance(subject, Network):
        return subject
    got = "the built-in subject" if subject is None else f"a {type(subject).__name__}"
    raise UsageError(what, got=got, remedy="name the network with --on, or the data themselves")


def _against(subject: Subject | None, other: Any) -> Subject:
    """Two samples as one subject; those of a network are its data."""
    if isinstance(subject, Dataset) and isinstance(other, Dataset):
        return join_samples(subject, other)
    if isinstance(subject, Network) and subject.data is not None and isinstance(other, Dataset):
        return subject.with_data(join_samples(subject.data, other))
    got = "the built-in subject" if subject is None else f"a {type(subject).__name__}"
    remedy = "name the first sample with --on, or with --data where --on is a network"
    raise UsageError("A data set is compared with data.", got=got, remedy=remedy)


def _warnings(subject: Subject | None) -> tuple[str, ...]:
    """What is worth knowing of data that were handed in."""
    data = (subject.data or subject.law) if isinstance(subject, Network) else subject
    return data.notes if isinstance(data, Dataset) else ()


def _words(given: Any) -> str:
    """As they can be printed: a name of a file that is not UTF-8 has halves of characters in it."""
    return (
        str(given).encode(errors="backslashreplace").decode()
        if isinstance(given, (str, os.PathLike))
        else ""
    )


def measured(seed: int, id: str, **knobs: Any) -> dict[str, float | str]:
    """A cell of a sweep over a theorem's knobs (`train = "ftheta.checking:measured"`): its verdict and its numbers."""
    result = check(id, seed=seed, **knobs)
    numbers = {**result.numbers, **result.example_numbers}
    return {
        "verdict": result.verdict.value,
        **{name: number.middle for name, number in numbers.items()},
    }
