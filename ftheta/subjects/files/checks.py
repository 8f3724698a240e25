"""What is worth knowing of data before they are used. None of it is an error: data that cannot be used are refused
where they are read."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ftheta.datasets.splitting import row_keys, shared_rows
from ftheta.subjects.dataset import Dataset

MOST_BYTES = 1 << 28
"""Up to which duplicate rows are looked for."""


def noted(data: Dataset) -> Dataset:
    """The same data with notes on constant columns, rows that repeat, and classes without rows."""
    found = (*_constant(data), *_repeated(data), *_classes(data))
    return replace(data, notes=(*data.notes, *found)) if found else data


def leaks(x: np.ndarray, others: Mapping[str, np.ndarray]) -> tuple[str, ...]:
    """Notes on rows of `x` that are also rows of other parts of the same data: such a test is no test."""
    alike = {
        name: rows
        for name, rows in others.items()
        if rows.shape[1:] == x.shape[1:] and x.ndim > 1 and x.nbytes + rows.nbytes <= MOST_BYTES
    }
    counts = {name: len(shared_rows(x, rows)) for name, rows in alike.items()}
    return tuple(f"{count} of {len(x)} rows are also rows of {name}" for name, count in counts.items() if count)


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


def _repeated(data: Dataset) -> list[str]:
    if data.x.nbytes > MOST_BYTES:
        return []
    unique = len(np.unique(row_keys(data.x))) if data.x.size else 0
    return [f"{len(data) - unique} of {len(data)} rows repeat others"] if 0 < unique < len(data) else []


def _classes(data: Dataset) -> list[str]:
    """Classes are counted from 0; −1 and 1 are a choice of two."""
    if data.y is None or data.y.ndim != 1 or data.y.dtype.kind not in "iu":
        return []
    found = np.unique(data.y)
    first = int(found[0])
    last = int(found[-1])
    if found.tolist() == [-1, 1] or last - first >= len(data):  # signs, or numbers that are no classes
        return []
    notes = [] if first == 0 else [f"labels begin at {first}: classes are counted from 0"]
    missing = last - first + 1 - found.size
    return [*notes, f"{missing} of the labels from {first} to {last} have no row"] if missing else notes
