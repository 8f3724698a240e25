"""Tables in Parquet files, read by pyarrow if it is installed.

A column that repeats one value takes a few bytes in a file, whatever its length. So the types of the columns and the
number of cells are looked at first, and the rows come a batch at a time.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import Allowance, Malformed, ensure_size

from .table import MAX_CELLS, MAX_COLUMNS, Table

INDEX = re.compile(r"__index_level_\d+__")
"""What pandas calls a column that numbers the rows."""
BATCH = 1 << 16
"""Rows that are unpacked at once."""


def read_parquet(path: Path) -> Table:
    """The table in a Parquet file: columns of numbers, truth values or words."""
    allowance = Allowance(str(path), ensure_size(path))
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
        with path.open("rb") as file:  # pyarrow itself opens no name that is not UTF-8
            return _read(parquet.ParquetFile(file), file, str(path), allowance)
    except MemoryError:
        raise
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise SubjectError(
            "This is not a Parquet file, or a damaged one.",
            where=str(path),
            got=str(error).split("\n")[0],
            remedy="write it again: pandas.DataFrame.to_parquet(path)",
        ) from error


def _read(head: Any, file: Any, where: str, allowance: Allowance) -> Table:
    """The table of a file whose `head` was read."""
    from pyarrow import parquet

    rows = head.metadata.num_rows
    columns = head.metadata.num_columns
    _ensure_size(rows, columns, where)
    schema = head.schema_arrow
    every = [str(name) for name in schema.names]
    kept = [k for k, name in enumerate(every) if not INDEX.fullmatch(name)]
    names = tuple(every[k] for k in kept)
    if not names or len(set(names)) < len(names):
        raise SubjectError(
            "Columns must have different names.", where=where, got=", ".join(every[:12])
        )
    wordy = [_is_words(schema.field(k).type, f"{where}, column {every[k]!r}") for k in kept]
    for group in range(head.metadata.num_row_groups):
        allowance.spend(max(head.metadata.row_group(group).total_byte_size, 0), "its pages")
    allowance.spend_array((rows, columns), 8, "its cells")
    numbers = np.zeros((rows, len(kept)))
    found = [
        _Column(k, every[k], words, numbers[:, at])
        for at, (k, words) in enumerate(zip(kept, wordy))
    ]
    file.seek(0)
    # a word that repeats is kept once
    repeating = [column.name for column in found if column.is_words]
    _fill(parquet.ParquetFile(file, read_dictionary=repeating), found, rows)
    for column in found:
        column.ensure_whole(where)
    words = {place: column.words for place, column in enumerate(found) if column.is_words}
    whole = frozenset(place for place, column in enumerate(found) if column.is_whole)
    left_out = len(every) - len(names)
    return Table(
        where, names, numbers, words, whole, ("the index of pandas was left out",) * (left_out > 0)
    )


def _ensure_size(rows: int, columns: int, where: str) -> None:
    if rows <= 0 or columns <= 0:
        raise SubjectError("There are no rows.", where=where, got=f"{rows} rows, {columns} columns")
    if columns > MAX_COLUMNS or rows * columns > MAX_CELLS:
        raise SubjectError(
            "There are more cells than is allowed.", where=where, got=f"{rows:,} × {columns:,}"
        )


def _is_words(type: Any, where: str) -> bool:
    """Whether a column of this type holds words; an error if it holds neither words nor numbers."""
    from pyarrow import types

    held = type.value_type if types.is_dictionary(type) else type
    if types.is_string(held) or types.is_large_string(held) or types.is_string_view(held):
        return True
    if (
        types.is_integer(held)
        or types.is_floating(held)
        or types.is_boolean(held)
        or types.is_null(held)
    ):
        return False
    raise SubjectError("A column holds neither numbers nor words.", where=where, got=str(type))


@dataclass
class _Column:
    """Column number `place` of the file, as far as it was read: its `words`, or its `numbers`, which are 0 before."""

    place: int
    name: str
    is_words: bool
    numbers: np.ndarray
    words: list[str] = field(default_factory=list)
    missing: int = 0
    first_missing: int = 0
    infinite: int = 0
    first_infinite: tuple[int, float] = (0, 0.0)
    is_whole: bool = True

    def extend(self, values: Any, at: int) -> None:
        """Take the values of the rows from number `at` on."""
        if values.null_count:
            if not self.missing:
                self.first_missing = at + int(
                    np.flatnonzero(values.is_null().to_numpy(zero_copy_only=False))[0]
                )
            self.missing += values.null_count
        elif self.is_words:
            self.is_whole = False
            known = values.dictionary.to_pylist()
            self.words += [known[k] for k in values.indices.to_pylist()]
        else:
            plain = values.dictionary_decode() if hasattr(values, "dictionary_decode") else values
            array = plain.to_numpy(zero_copy_only=False)
            self.is_whole &= array.dtype.kind in "iub"
            self.numbers[at : at + len(array)] = array
            bad = np.flatnonzero(~np.isfinite(self.numbers[at : at + len(array)]))
            if len(bad) and not self.infinite:
                self.first_infinite = (at + int(bad[0]), float(array[bad[0]]))
            self.infinite += len(bad)

    def ensure_whole(self, where: str) -> None:
        """Raise if values are missing or not finite, with the first of them and how many there are."""
        at = f"{where}, column {self.name!r}, row"
        remedy = "drop these rows or impute the values"
        if self.missing:
            got = f"{self.missing:,} missing values in the column"
            raise SubjectError(
                "A value is missing.", where=f"{at} {self.first_missing}", got=got, remedy=remedy
            )
        if self.infinite:
            row, value = self.first_infinite
            got = f"{value} ({self.infinite} such values)"
            raise SubjectError("Data must be finite.", where=f"{at} {row}", got=got, remedy=remedy)


def _fill(file: Any, columns: list[_Column], rows: int) -> None:
    """Read all rows, a batch at a time."""
    at = 0
    for batch in file.iter_batches(batch_size=BATCH):
        if at + batch.num_rows > rows:
            raise Malformed(f"more rows than the {rows:,} that the file says it has")
        for column in columns:
            column.extend(batch.column(column.place), at)
        at += batch.num_rows
    if at != rows:
        raise Malformed(f"{at:,} rows where the file says it has {rows:,}")
