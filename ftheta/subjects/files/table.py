"""Tables of numbers in text: one row per line, cells between commas, semicolons or tabs, with or without a header."""

import csv
import io
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import isfinite
from pathlib import Path

import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.reading import read_bytes

from .labels import Labels, encoded_words

MAX_BYTES = 1 << 30
MAX_CELLS = 1 << 28
MAX_COLUMNS = 1 << 20
DELIMITERS = (",", ";", "\t")
MISSING = frozenset(("", "na", "n/a", "nan", "null", "none", "?", "-", "missing"))
TRUTH = {"true": 1.0, "false": 0.0}
_PEEK = 50
"""Lines from which delimiter and header are read."""


@dataclass(frozen=True)
class Table:
    """Numbers of shape (rows, columns), and the words of the columns that hold words.

    `whole` are the columns whose first cells are spelled as whole numbers.
    """

    where: str
    names: tuple[str, ...]
    numbers: np.ndarray
    words: dict[int, list[str]]
    whole: frozenset[int]
    notes: tuple[str, ...] = ()

    def has(self, column: str) -> bool:
        return column in self.names or column == "last"

    def place(self, column: str) -> int:
        return self.names.index(column) if column in self.names else len(self.names) - 1

    def columns_without(self, column: str | None) -> tuple[str, ...]:
        kept = (
            range(len(self.names))
            if column is None
            else (k for k in range(len(self.names)) if k != self.place(column))
        )
        return tuple(self.names[k] for k in kept)

    def split(self, column: str | None) -> tuple[np.ndarray, Labels | None]:
        """Inputs and, if a column is named, labels."""
        at = None if column is None else self.place(column)
        odd = [k for k in self.words if k != at]
        if len(self.words) == len(self.names) and len(self.numbers) <= 1:
            raise SubjectError(
                "There are no rows.",
                where=self.where,
                got=f"one line of words, {', '.join(words[0][:30] for words in self.words.values())[:60]}: a header",
                remedy="give at least one row of numbers below it",
            )
        if odd:
            name = self.names[odd[0]]
            near = (
                f'if they are the labels, say so: labels="{name}", or --labels {name}; else '
                if column is None
                else ""
            )
            raise SubjectError(
                "A column holds words.",
                where=f"{self.where}, column {name!r}",
                got=f"{self.words[odd[0]][0][:60]!r} in the first row",
                remedy=f"{near}leave the column out or write numbers in it",
            )
        if at is None:
            return self.numbers, None
        if self.numbers.shape[1] == 1:
            raise SubjectError(
                "There is nothing beside the labels.", where=self.where, got="one column"
            )
        return np.delete(self.numbers, at, axis=1), self._labels(at)

    def only_column(self, rows: int) -> Labels:
        """The labels of so many rows, in a file of their own; one word more is its header."""
        if len(self.names) != 1:
            raise SubjectError(
                "A file of labels has one column.",
                where=self.where,
                got=f"{len(self.names)} columns",
            )
        if 0 in self.words and len(self.words[0]) == rows + 1:
            return encoded_words(self.words[0][1:], self.where)
        return self._labels(0)

    def _labels(self, at: int) -> Labels:
        if at in self.words:
            return encoded_words(self.words[at], f"{self.where}, column {self.names[at]!r}")
        numbers = self.numbers[:, at]
        classes = (
            at in self.whole
            and bool((numbers == np.rint(numbers)).all())
            and np.abs(numbers).max() < 2**53
        )
        return Labels(numbers.astype(np.int64) if classes else numbers)


def read_table(path: Path) -> Table:
    """The table in a text file, or a SubjectError that names the row and the column of the first bad cell."""
    try:
        text = read_bytes(path, MAX_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SubjectError(
            "The file is not text in UTF-8.", where=str(path), got=str(error)
        ) from error
    return parse(text, str(path))


def parse(text: str, where: str) -> Table:
    """The table in a text."""
    try:
        return _Reader(
            text.removeprefix("# ").removeprefix("#"), where
        ).table()  # numpy.savetxt writes headers so
    except csv.Error as error:
        raise SubjectError("The file is not a table.", where=where, got=str(error)) from error


class _Reader:
    def __init__(self, text: str, where: str) -> None:
        self.text = text
        self.where = where
        self.delimiter = _delimiter(text)
        first = [row for _, row in zip(range(_PEEK), self._rows())]
        if not first:
            raise SubjectError("There are no rows.", where=where, got="an empty table")
        self.width = len(first[0][1])
        if self.width > MAX_COLUMNS:
            raise SubjectError(
                "There are more columns than is allowed.", where=where, got=f"{self.width:,}"
            )
        self.header = _is_header([row for _, row in first])
        told = [cell.strip() for cell in first[0][1]] if self.header else []
        self.names = _names(told, self.width, where)
        data = first[1:] if self.header else first
        spelled = lambda cell: cell.strip().lstrip("+-").isdecimal()
        self.whole = {
            k for k in range(self.width) if all(spelled(row[k]) for _, row in data if len(row) > k)
        }
        self.wordy = {
            k for k in range(self.width) if _all_words(row[k] for _, row in data if len(row) > k)
        }

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Rows with the number of their last line; empty lines are none."""
        reader = csv.reader(
            io.StringIO(self.text, newline=""), delimiter=self.delimiter, strict=True
        )
        for row in reader:
            if row and (len(row) > 1 or row[0].strip()):
                yield reader.line_num, row

    def table(self) -> Table:
        numbers = array("d")
        words = {k: list[str]() for k in self.wordy}
        rows = 0
        plain = "_" not in self.text
        lines = self._rows()
        if self.header:
            next(lines)
        for line, row in lines:
            if len(row) != self.width:
                raise SubjectError(
                    "A row has another number of cells.",
                    where=f"{self.where}, line {line}",
                    got=f"{len(row)} cells, {self.width} in the first row",
                    remedy="mend or drop this row; a cell that holds the separator goes between quotation marks",
                )
            numbers.extend(self._convert_row(row, line, words, plain))
            rows += 1
            if rows * self.width > MAX_CELLS:
                raise SubjectError(
                    "There are more cells than is allowed.",
                    where=self.where,
                    got=f"over {MAX_CELLS:,}",
                )
        if rows == 0:
            raise SubjectError("There are no rows.", where=self.where, got="a header alone")
        matrix = np.frombuffer(numbers, np.float64).reshape(rows, self.width)
        return _without_index(Table(self.where, self.names, matrix, words, frozenset(self.whole)))

    def _convert_row(
        self, row: list[str], line: int, words: dict[int, list[str]], plain: bool
    ) -> list[float]:
        """The numbers of a row, 0 for words; only a row with something odd in it is looked at cell by cell."""
        for k, kept in words.items():
            if _is_missing(row[k]):
                raise self._missing(line, k)
            kept.append(row[k].strip())
            row[k] = "0"
        try:
            values = list(map(float, row))
            if plain and isfinite(sum(values)):
                return values
        except ValueError:
            pass
        return [self._number(cell, line, k) for k, cell in enumerate(row)]

    def _number(self, cell: str, line: int, k: int) -> float:
        cell = cell.strip()
        if _is_missing(cell):
            raise self._missing(line, k)
        value = _number(cell)
        if value is None or not isfinite(value):
            comma = (
                self.delimiter != ","
                and cell.count(",") == 1
                and _number(cell.replace(",", ".")) is not None
            )
            raise SubjectError(
                "A cell is not a number." if value is None else "Data must be finite.",
                where=f"{self.where}, line {line}, column {self.names[k]!r}",
                got=repr(cell[:60]),
                remedy="write decimals with a point" if comma else "mend or drop this row",
            )
        return value

    def _missing(self, line: int, k: int) -> SubjectError:
        """What is missing, and how much of it, by column."""
        counts = dict.fromkeys(range(self.width), 0)
        for number, row in self._rows():
            if number < line:
                continue
            for j, cell in enumerate(row[: self.width]):
                counts[j] += _is_missing(cell)
        told = [f"{n:,} in {self.names[j]!r}" for j, n in counts.items() if n]
        return SubjectError(
            "A value is missing.",
            where=f"{self.where}, line {line}, column {self.names[k]!r}",
            got="missing values: "
            + ", ".join(told[:8])
            + (f" and in {len(told) - 8} more" if len(told) > 8 else ""),
            remedy="drop these rows or impute the values",
        )


def _number(cell: str) -> float | None:
    if "_" in cell:  # Python takes 1_000 for a number
        return None
    try:
        return float(cell)
    except ValueError:
        return TRUTH.get(cell.lower())


def _is_missing(cell: str) -> bool:
    return cell.strip().lower() in MISSING


def _is_word(cell: str) -> bool:
    """Neither missing nor a number; decimals with a comma are told apart from words, to be refused as such."""
    cell = cell.strip()
    return (
        not _is_missing(cell) and _number(cell) is None and _number(cell.replace(",", ".")) is None
    )


def _all_words(cells: Iterable[str]) -> bool:
    there = [cell for cell in cells if not _is_missing(cell)]
    return bool(there) and all(_is_word(cell) for cell in there)


def _delimiter(text: str) -> str:
    """The delimiter that cuts most of the first lines into the same number of cells, as many as possible."""
    head = "".join(line for line, _ in zip(io.StringIO(text, newline=""), range(_PEEK)))
    found = {}
    for delimiter in DELIMITERS:
        try:
            rows = [
                row for row in csv.reader(io.StringIO(head, newline=""), delimiter=delimiter) if row
            ]
        except csv.Error:
            continue
        if rows:
            width, count = Counter(len(row) for row in rows).most_common(1)[0]
            found[delimiter] = (width > 1, count / len(rows), width)
    return max(found, key=lambda d: found[d]) if found else ","


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first row has a word where the rows below it have numbers. Most of it are words, or its numbers count
    columns, as in 0, 1, … and the label: a row of other numbers is data, in which a word is an error."""
    numbers = [number for number in map(_number, rows[0]) if number is not None]
    counts = all(b - a == 1 for a, b in pairwise(numbers)) and all(map(float.is_integer, numbers))
    if not counts and 2 * len(numbers) >= len(rows[0]):
        return False
    below = [
        [row[k] for row in rows[1:] if len(row) == len(rows[0]) and not _is_missing(row[k])]
        for k in range(len(rows[0]))
    ]
    return any(
        _is_word(cell) and cells and not any(map(_is_word, cells))
        for cell, cells in zip(rows[0], below)
    )


def _names(told: list[str], width: int, where: str) -> tuple[str, ...]:
    names = tuple(told) if told else tuple(f"column {k + 1}" for k in range(width))
    twice = [name for name in names if name and names.count(name) > 1] if width <= 4096 else []
    if twice:
        raise SubjectError("Two columns have the same name.", where=where, got=twice[0])
    return names


def _without_index(table: Table) -> Table:
    """pandas writes the numbers of the rows as a first column without a name."""
    counts = table.numbers[:, 0]
    start = counts[0] if 0 not in table.words else 0.5
    if (
        table.names[0]
        or len(table.names) == 1
        or start not in (0.0, 1.0)
        or (np.diff(counts) != 1).any()
    ):
        return table
    return Table(
        table.where,
        table.names[1:],
        table.numbers[:, 1:],
        {k - 1: words for k, words in table.words.items()},
        frozenset(k - 1 for k in table.whole if k),
        ("the first column has no name and counts the rows: it was left out",),
    )
