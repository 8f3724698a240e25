"""A run in a file: everything that its next step depends on, as plain arrays.

The file is an `.npz` that is parsed, never executed. It is written beside its place and then moved there, so that a
reader, or a run that is killed, always finds a whole one.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.files import read_arrays

from .history import History
from .program import State
from .stopping import Best

FORMAT = 1


@dataclass(frozen=True, slots=True, init=False)
class Checkpoint:
    """Write to `path` every so many `seconds`, at the end, and on Ctrl-C."""

    path: Path
    seconds: float

    def __init__(self, path: str | Path, seconds: float = 30.0) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise UsageError(
                "A checkpoint is a file.", got=f"{path!r}", remedy='name it, such as "run.npz"'
            )
        number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool)
        if not number or not 0 <= seconds < inf:
            raise UsageError(
                "`seconds` of a checkpoint is a number of at least 0.", got=f"{seconds!r}"
            )
        object.__setattr__(self, "path", Path(path))
        object.__setattr__(self, "seconds", seconds)

    @classmethod
    def of(cls, given: "str | Path | Checkpoint | None") -> "Checkpoint | None":
        if given is None:
            return None
        place = given if isinstance(given, Checkpoint) else cls(given)
        if place.path.suffix != ".npz":
            raise UsageError(
                "A checkpoint is an .npz file.", got=str(place.path), remedy="name it run.npz"
            )
        try:  # better now than after an hour of training
            if not place.path.parent.is_dir():
                got = str(place.path.parent)
                raise UsageError(
                    "The folder of the checkpoint does not exist.",
                    got=got,
                    remedy="create it first",
                )
            _part(place.path).touch()
            _part(place.path).unlink()
        except OSError as error:
            got = f"{place.path.parent}: {error.strerror or error}"
            raise UsageError(
                "The checkpoint cannot be written there.", got=got, remedy="name another folder"
            ) from error
        return place


@dataclass(frozen=True, eq=False)
class Saved:
    """The state after `step` steps, in NumPy, and what led there."""

    step: int
    state: State
    history: History
    best: Best
    seconds: float


def write(path: Path, saved: Saved, identity: Mapping[str, Any]) -> None:
    """`identity` is what a run must agree in to be continued: initial network, data, seed, batches, program."""
    told = {
        "format": FORMAT,
        "identity": dict(identity),
        "step": saved.step,
        "seconds": saved.seconds,
    }
    told |= {
        "best": [repr(float(saved.best.loss)), saved.best.step],
        "state": _structure(saved.state),
    }
    arrays = {f"state.{i}": leaf for i, leaf in enumerate(jax.tree.leaves(saved.state))}
    arrays |= {f"history.{name}": array for name, array in saved.history.arrays().items()}
    part = _part(path)
    try:
        with part.open("wb") as file:
            np.savez(file, about=np.array(json.dumps(told)), **arrays)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.{os.getpid()}.part")


def read(path: Path, like: State, identity: Mapping[str, Any]) -> Saved:
    """The run in the file, which must be a run of this identity with a state shaped `like` this one."""
    where = str(path)
    try:
        arrays = read_arrays(path)
    except SubjectError as error:
        remedy = "remove it and start again, or give another file"
        raise SubjectError(
            "The checkpoint cannot be read.", where=where, got=error.got, remedy=remedy
        ) from error
    told = _told(arrays, where)
    _agree(told["identity"], identity, where)
    if told["state"] != _structure(like):
        pairs = zip([*told["state"], *[None] * 99], _structure(like))
        old, new = next(((a, b) for a, b in pairs if a != b), ("more leaves", "fewer"))
        got = f"{old} in the file, {new} here"
        raise SubjectError(
            "The checkpoint is of another network or optimiser.", where=where, got=got
        )
    leaves, tree = jax.tree.flatten(like)
    state = [_leaf(arrays, f"state.{i}", leaf, where) for i, leaf in enumerate(leaves)]
    past = {
        name.removeprefix("history."): a
        for name, a in arrays.items()
        if name.startswith("history.")
    }
    try:
        history = History.of_arrays(past)
        best = Best(float(told["best"][0]), int(told["best"][1]))
        return Saved(
            int(told["step"]),
            jax.tree.unflatten(tree, state),
            history,
            best,
            float(told["seconds"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise SubjectError("The checkpoint is damaged.", where=where, got=str(error)) from error


def _told(arrays: dict[str, np.ndarray], where: str) -> dict[str, Any]:
    try:
        told = json.loads(str(arrays["about"]))
        if (
            told["format"] != FORMAT
            or not {"identity", "state", "step", "best", "seconds"} <= told.keys()
        ):
            raise ValueError(f"format {told['format']}")
        return told
    except (KeyError, ValueError, TypeError) as error:
        remedy = "give a file that `fit(..., checkpoint=…)` wrote"
        raise SubjectError(
            "This is not a checkpoint.", where=where, got=str(error), remedy=remedy
        ) from error


def _agree(old: Mapping[str, Any], new: Mapping[str, Any], where: str) -> None:
    for name in [*new]:
        if old.get(name) != new[name]:
            raise UsageError(
                f"The checkpoint is of a run with another {name}.",
                where=where,
                got=f"{old.get(name)} in the file, {new[name]} here",
                remedy="resume with the same network, data, loss, optimiser, batches and seed, or give another file",
            )


def _structure(state: State) -> list[list[Any]]:
    """Path, shape and dtype of every leaf."""
    leaves = jax.tree_util.tree_leaves_with_path(state)
    return [
        [jax.tree_util.keystr(path), list(np.shape(leaf)), str(np.asarray(leaf).dtype)]
        for path, leaf in leaves
    ]


def _leaf(arrays: Mapping[str, np.ndarray], name: str, like: np.ndarray, where: str) -> np.ndarray:
    found = arrays.get(name)
    if found is None or found.shape != like.shape or found.dtype != like.dtype:
        got = "nothing" if found is None else f"{found.dtype}{found.shape}"
        raise SubjectError("The checkpoint is damaged.", where=f"{where}: {name}", got=got)
    return found
