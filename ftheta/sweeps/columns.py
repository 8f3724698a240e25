"""The columns of the table of a study: one a setting, one a result, in the order of their earliest places."""

import sqlite3
from collections.abc import Mapping

INDEXED = 16  # settings with an index of their own


class Columns:
    """Of the study of this number; what is in the file is remembered."""

    def __init__(self, db: sqlite3.Connection, study: int) -> None:
        self._db = db
        self._study = study
        self._known: dict[str, tuple[str, bool, int]] = {}  # by name in lower case

    def forget(self) -> None:
        """Look into the file again."""
        self._known.clear()

    def names(self) -> tuple[list[str], list[str]]:
        """Names of settings and of results."""
        ask = "SELECT name FROM columns WHERE study = ? AND result = ? ORDER BY rank, name"
        settings, results = (
            [row[0] for row in self._db.execute(ask, (self._study, kind))] for kind in (0, 1)
        )
        return settings, results

    def add(self, ranks: Mapping[str, int], result: bool) -> str | None:
        """Make sure of these columns, or say which name cannot be one."""
        for name, rank in ranks.items():
            known = self._known.get(name.lower())
            if known is not None and known[0] == name and known[1] == result and known[2] <= rank:
                continue
            row = (self._study, name)
            found = self._db.execute(
                "SELECT name, result, rank FROM columns WHERE study = ? AND name = ?", row
            ).fetchone()
            if found is None:
                self._add_one(name, rank, result)
            elif (found[0], bool(found[1])) != (name, result):
                mine, other = ("result" if kind else "setting" for kind in (result, found[1]))
                return f"The {mine} {name!r} has the name of a {other} ({found[0]!r}); give it another."
            elif found[2] > rank:  # that of the earliest place, whoever comes first
                self._db.execute(
                    "UPDATE columns SET rank = ? WHERE study = ? AND name = ?", (rank, *row)
                )
            earliest = rank if found is None else min(rank, found[2])
            self._known[name.lower()] = (name, result, earliest)
        return None

    def _add_one(self, name: str, rank: int, result: bool) -> None:
        table = f"cells_{self._study}"
        self._db.execute(
            "INSERT INTO columns VALUES (?, ?, ?, ?)", (self._study, name, result, rank)
        )
        self._db.execute(f"ALTER TABLE {table} ADD COLUMN {quote_name(name)}")
        if not result and rank < INDEXED:
            index = quote_name(f"{name}_{self._study}")
            self._db.execute(f"CREATE INDEX {index} ON {table} ({quote_name(name)})")


def quote_name(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'
