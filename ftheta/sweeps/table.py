"""Results as a tidy table: one row per cell, one column per setting or result."""

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ftheta.logic.errors import UsageError

KINDS = (".csv", ".parquet", ".json")
SHOWN = 20  # rows printed


class Table:
    """Columns of equal length by name. Numbers that are not there are NaN, other things None."""

    def __init__(self, columns: Mapping[str, Sequence[Any]]) -> None:
        self.columns = {name: column(values) for name, values in columns.items()}

    @property
    def names(self) -> list[str]:
        return list(self.columns)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise UsageError(
                "There is no such column.", got=name, remedy=f"choose of {', '.join(self.names)}"
            )
        return self.columns[name]

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row in Python's own values."""
        lists = [values.tolist() for values in self.columns.values()]
        return (dict(zip(self.names, values)) for values in zip(*lists))

    def same(self, other: "Table") -> bool:
        """Equal bit for bit, types included."""
        return self.names == other.names and all(
            a.dtype == b.dtype and list(map(repr, a.tolist())) == list(map(repr, b.tolist()))
            for a, b in zip(self.columns.values(), other.columns.values())
        )

    def to_pandas(self) -> Any:
        """As a pandas data frame."""
        try:
            import pandas
        except ImportError:
            raise _missing("pandas") from None
        return pandas.DataFrame(dict(self.columns))

    def save(self, path: str | Path) -> None:
        """Write a .csv, .parquet or .json file. Every float is written so that it is read back bit for bit."""
        path = ensure_savable(path)
        if path.suffix == ".csv":
            with path.open("w", newline="", encoding="utf-8") as file:
                writer = csv.writer(file)
                writer.writerow(self.names)
                writer.writerows([_cell(value) for value in row.values()] for row in self.rows())
        elif path.suffix == ".json":
            clean = ({name: _json(value) for name, value in row.items()} for row in self.rows())
            path.write_text(json.dumps(list(clean), ensure_ascii=False, indent=1), encoding="utf-8")
        else:
            self._parquet(path)

    def _parquet(self, path: Path) -> None:
        try:
            import pyarrow
            import pyarrow.parquet
        except ImportError:
            raise _missing("pyarrow") from None
        words = lambda values: [
            value if value is None else _cell(value) for value in values.tolist()
        ]
        told = {
            name: words(values) if values.dtype == object else values
            for name, values in self.columns.items()
        }
        pyarrow.parquet.write_table(pyarrow.table(told), path)

    def __str__(self) -> str:
        shown = [
            self.names,
            *(
                [_short(value) for value in row.values()]
                for row, _ in zip(self.rows(), range(SHOWN))
            ),
        ]
        wide = [max(map(len, entries)) for entries in zip(*shown)]
        lines = ["  ".join(entry.rjust(size) for entry, size in zip(row, wide)) for row in shown]
        return "\n".join(lines + ([f"… {len(self):,} rows"] if len(self) > SHOWN else []))


def column(values: Sequence[Any]) -> np.ndarray:
    """The narrowest of truth values, whole numbers, numbers and objects; decided by the values alone."""
    kinds = {type(value) for value in values}
    if kinds == {bool}:
        return np.array(values, bool)
    if kinds == {int} and all(abs(value) < 1 << 63 for value in values):
        return np.array(values, np.int64)
    numbers = kinds and kinds <= {int, float, type(None)} and kinds != {type(None)}
    if numbers and all(_is_float(value) for value in values if isinstance(value, int)):
        return np.array([np.nan if value is None else value for value in values], np.float64)
    found = np.empty(len(values), object)
    found[:] = list(values)
    return found


def _is_float(whole: int) -> bool:
    """Whether a whole number is one of float64, none of its digits lost."""
    return whole.bit_length() <= 1023 and int(float(whole)) == whole


def ensure_savable(path: str | Path) -> Path:
    """Refuse a file that could not be written, before any work is done."""
    path = Path(path)
    if path.suffix not in KINDS:
        raise UsageError(
            "A table is written as another kind of file.",
            got=str(path),
            remedy=f"use {', '.join(KINDS)}",
        )
    if not path.absolute().parent.is_dir():
        raise UsageError("The folder does not exist.", got=str(path.parent))
    if path.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise _missing("pyarrow") from None
    return path


def _missing(package: str) -> UsageError:
    return UsageError(
        f"{package} is not installed.", remedy="pip install 'ftheta[tables]', or save a .csv"
    )


def _cell(value: Any) -> Any:
    if isinstance(value, tuple):
        return json.dumps(value)
    return "" if value is None else value if isinstance(value, str) else repr(value)


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and value != value else value


def _short(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    return (
        "-".join(map(str, value))
        if isinstance(value, tuple)
        else ""
        if value is None
        else str(value)
    )
