"""The run store: one SQLite file that holds every finished cell, whatever happens to those who fill it.

The journal is a write-ahead log with `synchronous=NORMAL`. What was committed survives `kill -9` of every process: the
pages are with the operating system by then. A power cut can take back the last commits but never leaves half of one;
such cells are simply done again. One commit costs about 0.1 ms instead of the several of a flushed disk.

Each study (what is trained, by its digest) has a table with one column a setting and one a result, so that any SQLite
tool can read it. Cells that are not there are not done. A client claims cells before it hands them out; a claim is
worth as much as the file lock of its client, which the system drops when that client dies, however it dies.
"""

import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from ftheta.logic.errors import SubjectError, UsageError

from .arrays import pack_array, unpack_array
from .columns import Columns, quote_name
from .grid import Cell
from .stored_values import read, to_stored_value

FORMAT = 1
APPLICATION = 0x66746874  # "ftht", so that another SQLite file is not taken for ours
PATIENCE = 60.0  # seconds to wait for another writer
BESIDES = ("_key", "_failed", "_error", "_seconds", "_attempts", "_at")

SCHEMA = """
CREATE TABLE studies (id INTEGER PRIMARY KEY, digest TEXT UNIQUE, name TEXT, about TEXT, made REAL);
CREATE TABLE columns (study INTEGER, name TEXT COLLATE NOCASE, result INTEGER, rank INTEGER, PRIMARY KEY (study, name));
CREATE TABLE arrays (study INTEGER, key BLOB, name TEXT, data BLOB, PRIMARY KEY (study, key, name)) WITHOUT ROWID;
CREATE TABLE claims (study INTEGER, key BLOB, owner TEXT, PRIMARY KEY (study, key)) WITHOUT ROWID;
"""


class Outcome(NamedTuple):
    """What came of a cell: a result, or the error."""

    result: dict[str, Any] | None
    error: str | None
    seconds: float
    attempts: int = 1


class Row(NamedTuple):
    """A finished cell as it is kept."""

    key: bytes
    values: dict[str, Any]
    error: str | None
    seconds: float
    attempts: int


@dataclass(frozen=True)
class Counts:
    done: int
    failed: int


class Store:
    """The file at `path`, or one in memory that ends with the process."""

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None and not self.path.absolute().parent.is_dir():
            raise UsageError("The folder of the store does not exist.", got=str(self.path.parent))
        self.owner = uuid4().hex
        self._lock: sqlite3.Connection | None = None
        with self.translate_errors():
            self._db = sqlite3.connect(
                ":memory:" if path is None else path, timeout=PATIENCE, isolation_level=None
            )
        try:
            with self.translate_errors():
                self._open()
        except BaseException:
            self._db.close()
            raise

    def _open(self) -> None:
        tables = self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        mark, version = (
            self._db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("application_id", "user_version")
        )
        if tables and mark != APPLICATION:
            remedy = "give the name of a new file"
            raise SubjectError(
                "This SQLite file is not a run store.", where=self.told, remedy=remedy
            )
        if tables and version != FORMAT:
            remedy = "use the version of ftheta that wrote it, or give the name of a new file"
            got = f"format {version}, this version reads {FORMAT}"
            raise SubjectError(
                "The run store is of another version.", where=self.told, got=got, remedy=remedy
            )
        self._keep_log()
        self._db.execute("PRAGMA synchronous=NORMAL")
        if not tables:
            with self.writing():
                if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[
                    0
                ]:  # nobody was faster
                    for statement in filter(str.strip, SCHEMA.split(";")):
                        self._db.execute(statement)
                    self._db.execute(f"PRAGMA application_id={APPLICATION}")
                    self._db.execute(f"PRAGMA user_version={FORMAT}")

    def _keep_log(self) -> None:
        """Write to a log beside the file. Where several clients open a new file at the same moment, all but one have to
        wait, and here SQLite does not wait by itself."""
        ends = time.monotonic() + PATIENCE
        while True:
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                return
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > ends:
                    raise
                time.sleep(0.01)

    @property
    def told(self) -> str:
        return "memory" if self.path is None else str(self.path)

    def release(self) -> None:
        """Give up what this client has claimed."""
        if self._lock is not None:
            with suppress(sqlite3.Error):
                self._db.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))
            self._lock.close()
            self._lock = None
            with suppress(OSError):
                self._lock_of(self.owner).unlink(missing_ok=True)

    def close(self) -> None:
        self.release()
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """SQLite's troubles in the one form of errors."""
        try:
            yield
        except UnicodeDecodeError as error:  # SQLite quotes what it finds, and that is no text
            raise self._damage_error(str(error)) from error
        except sqlite3.Error as error:
            words = str(error)
            if "full" in words or "disk I/O" in words:
                remedy = "make room and run the same sweep again: what is committed stays, the rest is done then"
                raise SubjectError(
                    "The store cannot grow.", where=self.told, got=words, remedy=remedy
                ) from error
            if "not a database" in words or "malformed" in words or "corrupt" in words:
                raise self._damage_error(words) from error
            remedy = "give the name of a file, in a folder where files can be written"
            raise SubjectError(
                "The store cannot be used.", where=self.told, got=words, remedy=remedy
            ) from error

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What SQLite finds in order may still not be what was written."""
        try:
            with self.translate_errors():
                yield
        except (ValueError, TypeError) as error:
            raise self._damage_error(str(error)) from error

    def _damage_error(self, words: str) -> SubjectError:
        remedy = "restore the file from a copy (with its -wal file), or give the name of a new one"
        return SubjectError("The store is damaged.", where=self.told, got=words, remedy=remedy)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """One transaction: all of it or nothing."""
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise

    def study(
        self, digest: str, name: str, about: Mapping[str, Any], settings: Sequence[str] = ()
    ) -> "Study":
        """The study of this digest, new if need be, with a column for each setting."""
        with self.translate_errors(), self.writing():
            row = (digest, name, json.dumps(about), time.time())
            self._db.execute(
                "INSERT OR IGNORE INTO studies (digest, name, about, made) VALUES (?, ?, ?, ?)", row
            )
            number = self._db.execute(
                "SELECT id FROM studies WHERE digest = ?", (digest,)
            ).fetchone()[0]
            self._db.execute(
                f"CREATE TABLE IF NOT EXISTS cells_{number} (_key BLOB UNIQUE, _failed INTEGER, _error TEXT, "
                "_seconds REAL, _attempts INTEGER, _at REAL, seed INTEGER)"
            )
            self._db.execute(
                f"CREATE INDEX IF NOT EXISTS failed_{number} ON cells_{number} (_key) WHERE _failed"
            )
            study = Study(self, number)
            if clash := study._columns.add(
                {setting: rank for rank, setting in enumerate(settings)}, result=False
            ):
                raise UsageError("A setting has the name of a result.", where=self.told, got=clash)
        return study

    def studies(self) -> list[dict[str, Any]]:
        """What is in the file: a study each, with its counts."""
        with self.reading():
            found = self._db.execute(
                "SELECT id, digest, name, about, made FROM studies ORDER BY id"
            ).fetchall()
            counts = [Study(self, row[0]).counts() for row in found]
            return [
                {
                    "name": str(name),
                    "digest": str(digest),
                    "about": json.loads(about),
                    "made": made,
                    **vars(count),
                }
                for (_, digest, name, about, made), count in zip(found, counts)
            ]

    # owners: whoever holds the lock on its file is alive

    def _lock_of(self, owner: str) -> Path:
        assert self.path is not None
        return self.path.with_name(f"{self.path.name}-{owner}.client")

    def live(self) -> None:
        """Hold the lock that makes this client's claims count."""
        if self._lock is None and self.path is not None:
            with self.translate_errors():
                self._lock = sqlite3.connect(self._lock_of(self.owner), isolation_level=None)
                self._lock.execute("BEGIN EXCLUSIVE")

    def bury(self) -> None:
        """Drop the claims of clients that are no more. Called inside a transaction."""
        for (owner,) in self._db.execute(
            "SELECT DISTINCT owner FROM claims WHERE owner <> ?", (self.owner,)
        ).fetchall():
            if not _held(self._lock_of(owner)):
                self._db.execute("DELETE FROM claims WHERE owner = ?", (owner,))
                self._lock_of(owner).unlink(missing_ok=True)


def _held(path: Path) -> bool:
    if not path.exists():
        return False
    lock = sqlite3.connect(path, timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        return False
    except sqlite3.OperationalError:
        return True
    finally:
        lock.close()


class Study:
    """The cells of one study in the store."""

    def __init__(self, store: Store, number: int) -> None:
        self.store = store
        self.number = number
        self._db = store._db
        self._table = f"cells_{number}"
        self._columns = Columns(self._db, number)

    def are_finished(self, keys: Iterable[bytes]) -> Iterator[bool]:
        """For each key, whether its cell is in the store."""
        with self.store.translate_errors():
            there = {row[0] for row in self._db.execute(f"SELECT _key FROM {self._table}")}
        return (key in there for key in keys)

    def forget_failures(self) -> None:
        with self.store.translate_errors(), self.store.writing():
            self._db.execute(f"DELETE FROM {self._table} WHERE _failed")

    def claim(self, keys: Sequence[bytes]) -> list[str]:
        """For each key `mine` (claimed for this client from now on), `done`, or `theirs`."""
        if self.store.path is None:  # nobody else can be there
            return ["mine"] * len(keys)
        self.store.live()
        with self.store.translate_errors(), self.store.writing():
            self.store.bury()
            return [self._claim(key) for key in keys]

    def _claim(self, key: bytes) -> str:
        if self._db.execute(f"SELECT 1 FROM {self._table} WHERE _key = ?", (key,)).fetchone():
            return "done"
        row = (self.number, key, self.store.owner)
        self._db.execute("INSERT OR IGNORE INTO claims VALUES (?, ?, ?)", row)
        ask = "SELECT owner FROM claims WHERE study = ? AND key = ?"
        (owner,) = self._db.execute(ask, row[:2]).fetchone()  # one whose worker died is still mine
        return "mine" if owner == self.store.owner else "theirs"

    def commit(self, outcomes: Sequence[tuple[bytes, Cell, Outcome]]) -> None:
        """All of these in one transaction; a cell that is there already stays as it is."""
        try:
            with self.store.translate_errors(), self.store.writing():
                for key, cell, outcome in outcomes:
                    self._insert(key, cell, outcome)
        except BaseException:
            self._columns.forget()  # columns may have gone with the transaction
            raise

    def _insert(self, key: bytes, cell: Cell, outcome: Outcome) -> None:
        result = outcome.result or {}
        error = outcome.error
        arrays = {name: value for name, value in result.items() if isinstance(value, np.ndarray)}
        if clash := self._columns.add(
            {n: rank for rank, n in enumerate(result) if n not in arrays}, result=True
        ):
            result = {}
            arrays = {}
            error = clash
        values = {name: to_stored_value(value) for name, value in cell.settings.items()} | {
            "seed": cell.seed
        }
        values |= {
            name: to_stored_value(value) for name, value in result.items() if name not in arrays
        }
        besides = (key, error is not None, error, outcome.seconds, outcome.attempts, time.time())
        names = ", ".join([*BESIDES, *map(quote_name, values)])
        marks = ", ".join("?" * (len(besides) + len(values)))
        new = self._db.execute(
            f"INSERT OR IGNORE INTO {self._table} ({names}) VALUES ({marks})",
            (*besides, *values.values()),
        )
        if new.rowcount:
            rows = [(self.number, key, name, pack_array(array)) for name, array in arrays.items()]
            self._db.executemany("INSERT OR REPLACE INTO arrays VALUES (?, ?, ?, ?)", rows)
        self._db.execute("DELETE FROM claims WHERE study = ? AND key = ?", (self.number, key))

    def counts(self) -> Counts:
        with self.store.translate_errors():
            done = self._db.execute(f"SELECT count(*) FROM {self._table}").fetchone()[0]
            failed = self._db.execute(
                f"SELECT count(*) FROM {self._table} WHERE _failed"
            ).fetchone()[0]
        return Counts(done - failed, failed)

    def columns(self) -> tuple[list[str], list[str]]:
        """Names of settings and of results."""
        with self.store.translate_errors():
            return self._columns.names()

    def rows(self, where: Mapping[str, Any] | None = None) -> Iterator[Row]:
        """Finished cells with these values of settings (and `seed`)."""
        settings, results = self.columns()
        names = [*settings, "seed", *results]
        for name in where or {}:
            if name not in names:
                raise UsageError(
                    "There is no such column.", got=name, remedy=f"choose of {', '.join(names)}"
                )
        test = " AND ".join(f"{quote_name(name)} IS ?" for name in where or {}) or "1"
        chosen = ", ".join(["_key", "_error", "_seconds", "_attempts", *map(quote_name, names)])
        ask = f"SELECT {chosen} FROM {self._table} WHERE {test}"
        with self.store.reading():
            for key, error, seconds, attempts, *values in self._db.execute(
                ask, [*map(to_stored_value, (where or {}).values())]
            ):
                yield Row(key, dict(zip(names, map(read, values))), error, seconds, attempts)

    def arrays(self, name: str) -> dict[bytes, np.ndarray]:
        with self.store.reading():
            ask = "SELECT key, data FROM arrays WHERE study = ? AND name = ?"
            return {
                key: unpack_array(data) for key, data in self._db.execute(ask, (self.number, name))
            }
