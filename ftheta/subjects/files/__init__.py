"""Data in files: `.npz`, `.npy`, `.csv` and `.parquet`. See `docs/importing.md`."""

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.npy import read_arrays, read_npy
from ftheta.subjects.dataset import Dataset

from .arrays import choose_arrays, is_data, join_parts, other_inputs
from .checks import leaks, with_notes
from .labels import Labels, encode_labels
from .parquet import read_parquet
from .table import Table, read_table

SUFFIXES = (".npz", ".npy", ".csv", ".tsv", ".parquet")


def is_data_file(path: Path) -> bool:
    """Whether files of this kind hold data and nothing else."""
    return path.suffix.lower() in SUFFIXES[1:]


def read_data(path: Path, name: str, labels: Any = None) -> Dataset:
    """The data of a file.

    `labels` names the column of a table or the array of an archive that holds the labels, or a file of them. For a
    table "last" is its last column.
    """
    if path.suffix.lower() == ".npz":
        return from_arrays(read_arrays(path), path, name, labels)
    if path.suffix.lower() == ".npy":
        x = read_npy(path)
        return _finish(name, x, _beside(labels, path, len(x) if x.ndim else 0))
    if is_data_file(path):
        table = _table(path)
        if labels is None or table.has(str(labels)):
            return _finish(name, *table.split(labels), table.columns_without(labels), table.notes)
        apart = _beside(labels, path, len(table.numbers), table.names)
        return _finish(name, table.split(None)[0], apart, table.names, table.notes)
    raise SubjectError(
        "Data of this kind are not read.",
        got=str(path),
        remedy=f"give a file that ends in {', '.join(SUFFIXES)}; pandas.DataFrame.to_csv(path, index=False) writes one",
    )


def from_arrays(
    arrays: dict[str, np.ndarray],
    path: Path,
    name: str,
    labels: Any = None,
    parts: tuple[str, ...] = (),
) -> Dataset:
    """The data among the arrays of an `.npz` file; those called like the `parts` of an input, joined to rows."""
    if parts and set(parts) <= set(arrays):
        others = {key: array for key, array in arrays.items() if key not in parts}
        arrays = {"x": join_parts([arrays[part] for part in parts], str(path)), **others}
    if labels is None or str(labels) in arrays:
        x, y = choose_arrays(arrays, labels, str(path))
        notes = leaks(arrays[x], {other: arrays[other] for other in other_inputs(arrays, x)})
        return _finish(
            name,
            arrays[x],
            None if y is None else encode_labels(arrays[y], f"{path}: {y}"),
            notes=notes,
        )
    x = arrays[choose_arrays(arrays, None, str(path))[0]]
    return _finish(name, x, _beside(labels, path, len(x) if x.ndim else 0, arrays))


def from_rows(x: np.ndarray, name: str, labels: Any = None) -> Dataset:
    """An array of rows, with labels in an array or a list."""
    return _finish(name, x, None if labels is None else encode_labels(np.asarray(labels), "labels"))


def _table(path: Path) -> Table:
    return read_parquet(path) if path.suffix.lower() == ".parquet" else read_table(path)


def _beside(labels: Any, path: Path, rows: int, names: Collection[str] = ()) -> Labels | None:
    """Labels of so many rows in a file of their own."""
    if labels is None:
        return None
    if isinstance(labels, np.ndarray):
        return encode_labels(labels, "labels")
    other = Path(str(labels))
    if other.suffix.lower() == ".npy":
        return encode_labels(read_npy(other), str(other))
    if other.suffix.lower() == ".npz":
        arrays = read_arrays(other)
        if len(arrays) != 1 and "y" not in arrays:
            raise SubjectError(
                "It is not clear which array holds the labels.",
                where=str(other),
                got=sorted(arrays),
            )
        return encode_labels(arrays.get("y", next(iter(arrays.values()))), str(other))
    if is_data_file(other):
        return _table(other).only_column(rows)
    raise SubjectError(
        "There are no such labels.",
        where=str(path),
        got=str(labels),
        remedy=(f"choose one of {', '.join(list(names)[:12])}, or " if len(names) else "")
        + "name a file of labels",
    )


def _finish(
    name: str,
    x: np.ndarray,
    labels: Labels | None,
    columns: tuple[str, ...] = (),
    notes: tuple[str, ...] = (),
) -> Dataset:
    y, classes = (None, ()) if labels is None else labels
    return with_notes(
        Dataset(
            name, x, y, classes=classes, columns=columns, notes=notes, alphabetical=bool(classes)
        )
    )


__all__ = [
    "SUFFIXES",
    "from_arrays",
    "from_rows",
    "is_data",
    "is_data_file",
    "read_data",
    "with_notes",
]
