"""Tables in Parquet files, read by pyarrow if it is installed."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic import SubjectError
from ftheta.networks.npy import ensure_file

from .table import MAX_CELLS, MAX_COLUMNS, Table

INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls a column that numbers the rows."""


def read_parquet(path: Path) -> Table:
    """The table in a Parquet file: columns of numbers, truth values or words."""
    ensure_file(path)
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise SubjectError(
            "Parquet files are read by pyarrow, which is not installed.",
            got=str(path),
            remedy="pip install pyarrow, or write a .csv: pandas.read_parquet(path).to_csv(other, index=False)",
        ) from error
    try:
        file = parquet.ParquetFile(path)
        _ensure_size(file.metadata.num_rows, file.metadata.num_columns, str(path))
        found = file.read()
    except (pyarrow.ArrowException, OSError) as error:
        raise SubjectError("This is not a Parquet file.", where=str(path), got=str(error).split("\n")[0]) from error
    return _table(found, str(path))


def _ensure_size(rows: int, columns: int, where: str) -> None:
    if rows == 0 or columns == 0:
        raise SubjectError("There are no rows.", where=where, got=f"{rows} rows, {columns} columns")
    if columns > MAX_COLUMNS or rows * columns > MAX_CELLS:
        raise SubjectError("There are more cells than is allowed.", where=where, got=f"{rows:,} × {columns:,}")


def _table(found: Any, where: str) -> Table:
    every = [str(name) for name in found.column_names]
    kept = [k for k, name in enumerate(every) if not INDEX.fullmatch(name)]
    names = tuple(every[k] for k in kept)
    if not names or len(set(names)) < len(names):
        raise SubjectError("Columns must have different names.", where=where, got=", ".join(every[:12]))
    numbers = np.zeros((found.num_rows, len(names)))
    words: dict[int, list[str]] = {}
    whole = set()
    for place, k in enumerate(kept):
        column, at = found.column(k), f"{where}, column {names[place]!r}"
        if column.null_count:
            raise _missing(column, at)
        values = column.to_numpy()
        if values.dtype.kind in "fiub":
            numbers[:, place] = values
            whole |= {place} if values.dtype.kind in "iub" else set()
            _ensure_finite(numbers[:, place], at)
        elif all(isinstance(value, str) for value in values):
            words[place] = values.tolist()
        else:
            raise SubjectError("A column holds neither numbers nor words.", where=at, got=str(column.type))
    left_out = len(every) - len(names)
    return Table(where, names, numbers, words, frozenset(whole), ("the index of pandas was left out",) * (left_out > 0))


def _missing(column: Any, where: str) -> SubjectError:
    first = int(np.flatnonzero(column.is_null().to_numpy())[0])
    return SubjectError(
        "A value is missing.",
        where=f"{where}, row {first}",
        got=f"{column.null_count:,} missing values in the column",
        remedy="drop these rows or impute the values",
    )


def _ensure_finite(values: np.ndarray, where: str) -> None:
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise SubjectError(
            "Data must be finite.",
            where=f"{where}, row {bad[0]}",
            got=f"{values[bad[0]]} ({len(bad)} such values)",
            remedy="drop these rows or impute the values",
        )
