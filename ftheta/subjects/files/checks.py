"""What is worth knowing of data before they are used. None of it is an error: data that cannot be used are refused
where they are read."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ftheta.datasets.splitting import row_keys, shared_rows
from ftheta.subjects.dataset import Dataset

MOST_BYTES = 1 << 28
"""Up to which duplicate rows are looked for."""


def with_notes(data: Dataset) -> Dataset:
    """The same data with notes on constant columns, rows that repeat or contradict, and classes without rows."""
    found = (*_constant(data), *_repeated_rows(data), *_classes(data))
    new = [note for note in found if note not in data.notes]
    return replace(data, notes=(*data.notes, *new)) if new else data


def leaks(x: np.ndarray, others: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Notes on rows of `x` that are also rows of other parts of the same data: such a test is no test."""
    alike = {
        name: rows
        for name, rows in others.items()
        if rows.shape[1:] == x.shape[1:] and x.ndim > 1 and x.nbytes + rows.nbytes <= MOST_BYTES
    }
    counts = {name: len(shared_rows(x, rows)) for name, rows in alike.items()}
    return tuple(
        f"{count} of {len(x)} rows are also rows of {name}"
        for name, count in counts.items()
        if count
    )


def _constant(data: Dataset) -> list[str]:
    rows = data.x.reshape(len(data), -1)
    if len(rows) < 2:
        return []
    still = np.flatnonzero((rows == rows[0]).all(axis=0))
    if not still.size:
        return []
    named = [data.columns[k] if len(data.columns) == rows.shape[1] else str(k) for k in still[:5]]
    more = f" and {still.size - 5} more" if still.size > 5 else ""
    return [f"{still.size} of {rows.shape[1]} columns are constant: {', '.join(named)}{more}"]


def _repeated_rows(data: Dataset) -> list[str]:
    if data.x.nbytes > MOST_BYTES or not data.x.size:
        return []
    unique, group = np.unique(row_keys(data.x), return_inverse=True)
    if len(unique) == len(data):
        return []
    return [
        f"{len(data) - len(unique)} of {len(data)} rows repeat others",
        *_contradictions(data, group),
    ]


def _contradictions(data: Dataset, group: np.ndarray) -> list[str]:
    """Rows with the same input and another label: what no function of the input can have right.

    `group` are the numbers of the inputs, equal for equal rows.
    """
    if data.y is None:
        return []
    y = data.y.reshape(len(data), -1)
    labels = np.unique(row_keys(y), return_inverse=True)[1]
    pairs, counts = np.unique(np.stack([group, labels]), axis=1, return_counts=True)
    several = np.bincount(pairs[0]) > 1
    rows = int(several[group].sum())
    if not rows:
        return []
    told = f"{rows} of {len(data)} rows have the input of another row, and another label than it"
    if _are_classes(data):
        most = np.zeros(len(several), int)
        np.maximum.at(most, pairs[0], counts)
        right = int(most.sum())
        floor = 1 - right / len(data)
        return [
            f"{told}: no classifier is right on more than {right} rows (noise floor of the error {floor:.3g})"
        ]
    means = np.stack([np.bincount(group, column) / np.bincount(group) for column in y.T], axis=1)
    floor = float(((y - means[group]) ** 2).sum(1).mean())
    return [
        f"{told}: no function fits them all (noise floor of the mean squared error {floor:.3g})"
    ]


def _are_classes(data: Dataset) -> bool:
    """Whole numbers or one-hot rows, unless the numbers are spread too widely to be classes."""
    y = data.y
    assert y is not None
    if y.ndim == 2 and y.shape[1] > 1:
        return bool(((y == 0) | (y == 1)).all() and (y.sum(1) == 1).all())
    return y.dtype.kind == "i" and int(y.max()) - int(y.min()) < len(data)


def _classes(data: Dataset) -> list[str]:
    """Classes are counted from 0; −1 and 1 are a choice of two."""
    if data.y is None or data.y.ndim != 1 or data.y.dtype.kind not in "iu":
        return []
    found = np.unique(data.y)
    first = int(found[0])
    last = int(found[-1])
    if found.tolist() == [-1, 1] or last - first >= len(
        data
    ):  # signs, or numbers that are no classes
        return []
    notes = [] if first == 0 else [f"labels begin at {first}: classes are counted from 0"]
    missing = last - first + 1 - found.size
    return (
        [*notes, f"{missing} of the labels from {first} to {last} have no row"]
        if missing
        else notes
    )
