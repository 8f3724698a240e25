"""The cells of a sweep: every setting with every seed, in order, named by what they say and never listed in full."""

import json
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from math import isnan, prod
from typing import Any, NamedTuple

import numpy as np

from ftheta.logic.errors import UsageError

MOST = 100_000_000  # cells
BITS = 1024  # of a whole number: Python does not print those of more than 14,000


class Cell(NamedTuple):
    """One run: `settings` by name, and its seed."""

    settings: dict[str, Any]
    seed: int


class Grid:
    """Cells by their place, seeds fastest. `grid` is

    - a mapping name → values: every combination, the last name fastest; a value that is no list is one value;
    - a sequence of mappings: exactly these settings.

    The key of a cell is a digest of its settings and seed alone: a cell keeps it when the grid around it changes.
    """

    def __init__(
        self, grid: Mapping[str, Any] | Sequence[Mapping[str, Any]], seeds: int | Iterable[int] = 1
    ) -> None:
        self.seeds = _seeds(seeds)
        if isinstance(grid, Mapping):
            self.axes = {_name(name): _axis(name, values) for name, values in grid.items()}
            self._rows = None
            self._settings = prod(len(values) for values in self.axes.values())
        else:
            self._rows = [_row(i, row) for i, row in enumerate(_records(grid))]
            names = dict.fromkeys(name for row in self._rows for name in row)
            self.axes = {
                name: _seen(row[name] for row in self._rows if name in row) for name in names
            }
            self._settings = len(self._rows)
        self._words = {
            name: [text(value) for value in values] for name, values in self.axes.items()
        }
        _distinct(self.axes, self._rows, self._words)
        if not 0 < len(self) <= MOST:
            raise UsageError(f"A sweep has between 1 and {MOST:,} cells.", got=f"{len(self):,}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.axes)

    def __len__(self) -> int:
        return self._settings * len(self.seeds)

    def __getitem__(self, place: int) -> Cell:
        setting, seed = divmod(place, len(self.seeds))
        return Cell(dict(self.setting(setting)), self.seeds[seed])

    def setting(self, number: int) -> dict[str, Any]:
        """The settings of that number, shared by one cell per seed."""
        if self._rows is not None:
            return self._rows[number]
        return {name: values[i] for (name, values), i in zip(self.axes.items(), self._at(number))}

    def key(self, place: int) -> bytes:
        setting, seed = divmod(place, len(self.seeds))
        if self._rows is not None:
            return key_of(self[place])
        words = {name: self._words[name][i] for name, i in zip(self.axes, self._at(setting))}
        return _key(words, self.seeds[seed])

    def _at(self, setting: int) -> list[int]:
        """Where a combination stands on each axis."""
        places = []
        for values in reversed(self.axes.values()):
            setting, i = divmod(setting, len(values))
            places.append(i)
        return places[::-1]


def key_of(cell: Cell) -> bytes:
    """The key of a cell in the store: a digest of its settings, in any order, and its seed."""
    return _key({name: text(value) for name, value in cell.settings.items()}, cell.seed)


def _key(words: Mapping[str, str], seed: int) -> bytes:
    told = ",".join([f"{json.dumps(name)}:{words[name]}" for name in sorted(words)])
    return blake2b(f"{{{told}}}{seed}".encode(), digest_size=16).digest()


def text(value: Any) -> str:
    """One way to write a value: 1 and 1.0 differ, a tuple and a list do not."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def plain(value: Any, where: str) -> Any:
    """A setting as Python's own values: numbers, words, truth values, None, and tuples of them."""
    value = value.item() if isinstance(value, np.generic) else value
    value = value.tolist() if isinstance(value, np.ndarray) else value
    if isinstance(value, (list, tuple)):
        return tuple(plain(part, where) for part in value)
    if isinstance(value, int) and value.bit_length() > BITS:
        raise UsageError(
            f"A setting is a whole number of at most {BITS} bits.", where=where, got="a longer one"
        )
    if (
        value is None
        or isinstance(value, (bool, int))
        or (isinstance(value, float) and not isnan(value))
    ):
        return value
    if isinstance(value, str) and is_text(value):
        return value
    remedy = "give numbers, words or lists of them; name an object and let `train` make it"
    raise UsageError(
        "This cannot be a setting of a cell.", where=where, got=repr(value), remedy=remedy
    )


def is_text(words: str) -> bool:
    """Whether it has an encoding: halves of characters, as names of files can have them, have none."""
    try:
        words.encode()
    except UnicodeEncodeError:
        return False
    return True


def _name(name: Any) -> str:
    if (
        not isinstance(name, str)
        or not name.isidentifier()
        or name.startswith("_")
        or name == "seed"
    ):
        remedy = "settings are named like Python arguments; `seed` is given by `seeds`"
        raise UsageError("This cannot be the name of a setting.", got=repr(name), remedy=remedy)
    return name


def _axis(name: str, values: Any) -> list[Any]:
    if isinstance(values, Mapping):
        remedy = "give a list of values per setting"
        raise UsageError(
            "A setting has values, not names.",
            where=f"grid[{name!r}]",
            got=repr(values),
            remedy=remedy,
        )
    listed = not isinstance(values, str) and isinstance(values, (Iterable, np.ndarray))
    found = [plain(value, f"grid[{name!r}]") for value in (values if listed else [values])]
    if not found:
        raise UsageError(
            "A setting has no value.", where=f"grid[{name!r}]", remedy="give at least one"
        )
    return found


def _records(grid: Any) -> Sequence[Any]:
    if hasattr(grid, "to_dict"):  # a data frame
        return grid.to_dict("records")
    if isinstance(grid, str) or not isinstance(grid, Sequence):
        remedy = "give {'width': [16, 32]} for every combination, or a list of settings"
        raise UsageError(
            "A grid is a mapping or a list of mappings.",
            got=f"a {type(grid).__name__}",
            remedy=remedy,
        )
    return grid


def _row(number: int, row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping):
        raise UsageError(
            "The settings of a cell are a mapping.", where=f"grid[{number}]", got=repr(row)
        )
    return {_name(name): plain(value, f"grid[{number}][{name!r}]") for name, value in row.items()}


def _seen(values: Iterable[Any]) -> list[Any]:
    return list({text(value): value for value in values}.values())


def _distinct(
    axes: Mapping[str, list[Any]], rows: list[dict[str, Any]] | None, words: dict[str, list[str]]
) -> None:
    folded = [name.casefold() for name in axes]
    if len(set(folded)) < len(folded):
        raise UsageError("Two settings differ by their case alone.", got=", ".join(axes))
    for name, told in words.items():
        if len(set(told)) < len(told):
            raise UsageError(
                "A value is given twice.", where=f"grid[{name!r}]", got=", ".join(told)
            )
    if rows is not None and len({key_of(Cell(row, 0)) for row in rows}) < len(rows):
        raise UsageError(
            "The same settings are listed twice.", remedy="repeat a cell by another seed"
        )


def _seeds(seeds: Any) -> Sequence[int]:
    if isinstance(seeds, (int, np.integer)) and not isinstance(seeds, bool) and 1 <= seeds <= MOST:
        return range(int(seeds))
    if isinstance(seeds, Iterable) and not isinstance(seeds, str):
        found = [
            int(s) if isinstance(s, (int, np.integer)) and not isinstance(s, bool) else -1
            for s in seeds
        ]
        if found and all(0 <= s < 1 << 63 for s in found) and len(set(found)) == len(found):
            return found
    remedy = "give how many, or a list of different whole numbers from 0 on"
    raise UsageError("These are no seeds.", got=repr(seeds)[:80], remedy=remedy)
