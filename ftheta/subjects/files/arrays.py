"""Which arrays of an archive are the inputs and which are the labels."""

from collections.abc import Mapping

import numpy as np

from ftheta.logic.errors import SubjectError

PAIRS: tuple[tuple[str, str], ...] = (
    ("x", "y"),
    ("x_test", "y_test"),
    ("x_train", "y_train"),
    ("x_val", "y_val"),
    ("data", "target"),
    ("data", "labels"),
    ("images", "labels"),
    ("inputs", "targets"),
    ("features", "labels"),
)
"""What inputs and labels are often called; capitals do not matter."""


def is_data(arrays: Mapping[str, np.ndarray]) -> bool:
    """Whether some array is called what inputs are called."""
    return any(name.lower() == x for name in arrays for x, _ in PAIRS)


def choose_arrays(
    arrays: Mapping[str, np.ndarray], labels: str | None, where: str
) -> tuple[str, str | None]:
    """The names of inputs and labels; `labels` says which array the labels are, and with it which the inputs."""
    found = _of_labels(arrays, labels) if labels is not None else _all_pairs(arrays)
    if len(found) != 1:
        raise SubjectError(
            "It is not clear which arrays are the data." if found else "The file holds no data.",
            where=where,
            got=", ".join(f"{name} {array.shape}" for name, array in list(arrays.items())[:12])
            or "nothing",
            remedy=f'say which labels are meant: labels="{found[0][1]}", or --labels {found[0][1]}'
            if found and found[0][1]
            else "name the arrays x and y",
        )
    return found[0]


def other_inputs(arrays: Mapping[str, np.ndarray], x: str) -> list[str]:
    """Arrays that are called like inputs, besides the chosen ones: the training rows beside those of a test."""
    return [
        name for name in arrays if name != x and any(name.lower() == inputs for inputs, _ in PAIRS)
    ]


def _all_pairs(arrays: Mapping[str, np.ndarray]) -> list[tuple[str, str | None]]:
    """Every array called like inputs, with its labels where they are there."""
    if len(arrays) == 1:
        return [(next(iter(arrays)), None)]
    inputs = [name for name in arrays if any(name.lower() == x for x, _ in PAIRS)]
    return [(x, y) for x in inputs for y in _partners(arrays, x) or [None]]


def _partners(arrays: Mapping[str, np.ndarray], inputs: str) -> list[str]:
    wanted = {y for x, y in PAIRS if x == inputs.lower()}
    return [name for name in arrays if name.lower() in wanted]


def _of_labels(arrays: Mapping[str, np.ndarray], labels: str) -> list[tuple[str, str | None]]:
    """Inputs that are called as the labels suggest; else the only other array."""
    wanted = {x for x, y in PAIRS if y == labels.lower()}
    inputs = [name for name in arrays if name.lower() in wanted and name != labels]
    others = [name for name in arrays if name != labels]
    return [(x, labels) for x in (inputs or others)]


def join_parts(parts: list[np.ndarray], where: str) -> np.ndarray:
    """One row of the entries of all parts, for each of their rows."""
    if len({len(part) for part in parts}) > 1:
        got = ", ".join(str(len(part)) for part in parts)
        raise SubjectError("The inputs do not have the same number of rows.", where=where, got=got)
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)
