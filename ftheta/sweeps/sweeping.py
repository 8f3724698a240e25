"""`sweep`: every cell of a grid once, each committed as soon as it is finished, in any order, with one result."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

from ftheta.logic.errors import UsageError
from ftheta.processes import interrupts

from .grid import Cell, Grid
from .identity import digest
from .pool import Backend, Event, NoWorkers, Payload, Pool
from .progress import Progress
from .schedule import Schedule
from .store import Counts, Outcome, Row, Store, Study
from .table import Table
from .trains import Train, train_of

TICK = 0.1  # seconds between two looks at the clock
WAIT = 600.0  # seconds for workers of a cluster that has none
INTERRUPTED = "interrupted"
POLL = 0.3  # seconds between two looks at what other clients do


def sweep(
    train: Any,
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]],
    seeds: int | Iterable[int] = 1,
    *,
    on: Any = None,
    store: str | Path | Store | None = None,
    retries: int = 2,
    retry_failed: bool = False,
    version: str = "",
    wait: float = WAIT,
    progress: bool | None = None,
) -> "Sweep":
    """Run `train` on every cell of `grid` with every seed.

    Parameters
    ----------
    train
        A function `train(seed=…, **settings)` that returns a dict of numbers, short words and arrays (or one number);
        or `Networks`, whose cells of equal shape are trained together.
    grid
        A mapping name → values (every combination), or a sequence of mappings (exactly these).
    seeds
        How many (0, 1, …), or which.
    on
        Who works: None for one process a core of this machine, a number of processes, a `Pool`, a Dask client, the
        address of a Dask scheduler, `"dask://host:port"`, or a `Backend` of one's own.
    store
        The SQLite file that holds the results, new or begun: cells that are there are not done again. In memory, if
        not said.
    retries
        How often a cell whose worker died is tried again before it is recorded as failed.
    retry_failed
        Do the cells again that are recorded as failed.
    version
        A word that makes this another study, where the code of `train` does not tell (it calls something that changed).
    wait
        Seconds to wait for workers of a Dask cluster that has none, or none that stay; the sweep then ends with what is
        done. A queue that starts them later needs more.
    progress
        Whether to draw a line of progress; on a terminal only, if not said.
    """
    cells = Grid(grid, seeds)
    job = train_of(train, version)
    job.check(cells)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise UsageError("`retries` must be a whole number of at least 0.", got=retries)
    if isinstance(wait, bool) or not isinstance(wait, (int, float)) or not wait > 0:
        raise UsageError("`wait` must be a positive number of seconds.", got=wait)
    about = job.about()
    payload = pack_payload(job)
    home = store if isinstance(store, Store) else Store(store)
    backend, ours = backend_of(on, wait)
    try:
        study = home.study(digest(about), job.name, about, cells.names)
        if retry_failed:
            study.forget_failures()
        stopped = _Run(job, cells, study, backend, payload, retries, progress).go()
    except BaseException:
        if home is not store:
            home.close()
        raise
    finally:
        if ours:
            backend.stop()
    return Sweep(cells, study, stopped)


def backend_of(on: Any, wait: float = WAIT) -> tuple[Backend, bool]:
    """Who works, and whether they end with the sweep."""
    if on is None or (isinstance(on, int) and not isinstance(on, bool)):
        return Pool(on), True
    if isinstance(on, Backend):
        return on, False
    from .cluster import dask_backend

    return dask_backend(on, wait), True


def pack_payload(train: Train) -> Payload:
    """By reference where the workers can import it, by value where they cannot: a notebook, a script, a closure."""
    import cloudpickle

    try:
        data = cloudpickle.dumps(train, protocol=5)
    except Exception as error:
        remedy = "it is sent to other processes: make what it closes over inside of it"
        raise UsageError(
            "What is trained cannot be pickled.", got=f"{train.name}: {error}", remedy=remedy
        ) from error
    return Payload(blake2b(data, digest_size=16).hexdigest(), data)


@dataclass
class _Task:
    places: Sequence[int]
    finished: set[int] = field(default_factory=set)

    @property
    def unfinished_places(self) -> list[int]:
        return [place for place in self.places if place not in self.finished]


class _Run:
    """The client's loop: hand out, hear, commit."""

    def __init__(
        self,
        job: Train,
        grid: Grid,
        study: Study,
        backend: Backend,
        payload: Payload,
        retries: int,
        progress: bool | None,
    ) -> None:
        self.grid = grid
        self.study = study
        self.backend = backend
        self.payload = payload
        self.todo = Schedule(job, grid, self._pending(), retries)
        self.running: dict[int, _Task] = {}
        self.theirs: list[int] = []  # claimed by another client
        self.looked = 0.0
        self.serial = 0
        self.line = Progress(len(grid), len(grid) - self.todo.left, progress)

    def _pending(self) -> Iterator[int]:
        counts = self.study.counts()
        if not counts.done + counts.failed:
            return iter(range(len(self.grid)))
        there = self.study.are_finished(self.grid.key(place) for place in range(len(self.grid)))
        return (place for place, done in enumerate(there) if not done)

    def go(self) -> str:
        """Until everything is done, or until something else ends it: then what."""
        try:
            with self.line:
                while self.todo or self.running or self.theirs:
                    self._hand_out()
                    with interrupts.held():  # what has arrived is committed
                        self._hear(self.backend.events(TICK) if self.running else self._wait())
                    self.line.tell(self.backend.note)
                    self.line.draw()
            return ""
        except NoWorkers as reason:
            return str(reason)
        except KeyboardInterrupt:
            interrupts.heed()
            self._hear(self.backend.events(0.0))
            return INTERRUPTED
        finally:
            if self.running:
                self.backend.stop()
            self.study.store.release()

    def _wait(self) -> list[Event]:
        """Others have the rest: look again in a moment."""
        if self.theirs and not self.todo:
            self.line.note = "waiting for another client"
            time.sleep(POLL)
        return []

    def _hand_out(self) -> None:
        if self.theirs and not self.todo and time.monotonic() - self.looked > POLL:
            self.looked = time.monotonic()
            theirs = self.theirs
            self.theirs = []
            self._start(theirs)
        while self.todo and self.backend.room():
            self._start(self.todo.next(self.backend.size))

    def _start(self, places: Sequence[int]) -> None:
        """Hand out those that nobody else does or has done."""
        claims = dict(zip(places, self.study.claim([self.grid.key(place) for place in places])))
        mine = [place for place in places if claims[place] == "mine"]
        self.theirs += [place for place in places if claims[place] == "theirs"]
        self.line.add(sum(found == "done" for found in claims.values()), 0)
        if mine:
            self.serial += 1
            self.running[self.serial] = _Task(mine)
            self.backend.submit(self.payload, self.serial, [self.grid[place] for place in mine])

    def _hear(self, events: list[Event]) -> None:
        outcomes: list[tuple[int, Outcome]] = []
        for event in events:
            task = self.running.get(event.task)
            if task is None:
                continue
            if event.kind == "cell":
                place = task.places[event.index]
                task.finished.add(place)
                self.todo.record_time(event.detail.seconds)
                outcomes.append((place, event.detail._replace(attempts=self.todo.attempts(place))))
            elif event.kind == "end":
                del self.running[event.task]
            else:
                del self.running[event.task]
                outcomes += self._lost(task, bool(event.index), event.detail)
        if outcomes:
            self.study.commit(
                [(self.grid.key(place), self.grid[place], found) for place, found in outcomes]
            )
            self.line.add(len(outcomes), sum(found.error is not None for _, found in outcomes))

    def _lost(self, task: _Task, running: bool, why: str) -> list[tuple[int, Outcome]]:
        """The first unfinished cell was under way when the worker died; the others only waited."""
        left = task.unfinished_places
        if not running or not left:
            self.todo.back(left)
            return []
        first, *others = left
        self.todo.back(others)
        if self.todo.record_death(first):
            return []
        attempts = self.todo.attempts(first) - 1
        return [(first, Outcome(None, f"{why} It did so {attempts} times.", 0.0, attempts))]


class Sweep:
    """The cells of a grid in a store, in the order of the grid whatever the order in which they were done."""

    def __init__(self, grid: Grid, study: Study, stopped: str = "") -> None:
        self.grid = grid
        self.study = study
        self.stopped = stopped  # what ended it before every cell was tried, if anything did

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it."""
        return self.stopped == INTERRUPTED

    def _found(self, where: Mapping[str, Any] | None = None) -> list[Row]:
        """Rows of the store that are cells of this grid."""
        rows = {row.key: row for row in self.study.rows(where)}
        places = (self.grid.key(place) for place in range(len(self.grid))) if rows else ()
        return [rows[key] for key in places if key in rows]

    @cached_property
    def _all(self) -> list[Row]:
        return self._found()

    @property
    def counts(self) -> Counts:
        rows = self._all
        failed = sum(row.error is not None for row in rows)
        return Counts(len(rows) - failed, failed)

    @property
    def complete(self) -> bool:
        """Whether every cell has a result."""
        return self.counts.done == len(self.grid)

    def table(self, where: Mapping[str, Any] | None = None, *, timing: bool = False) -> Table:
        """Settings, seed and results of the finished cells, or of those with these values `where`.

        Failed cells have an `error`; with `timing`, the seconds and attempts of each, which no two runs share.
        """
        rows = self._found(where) if where else self._all
        _, results = self.study.columns()
        names = [*self.grid.names, "seed", *results]
        columns = {name: [row.values[name] for row in rows] for name in names}
        if any(row.error is not None for row in rows):
            columns["error"] = [row.error for row in rows]
        if timing:
            columns |= {
                "seconds": [row.seconds for row in rows],
                "attempts": [row.attempts for row in rows],
            }
        return Table(columns)

    def arrays(self, name: str) -> list[Any]:
        """The arrays of that name that the cells returned, row by row of the table; None where there is none."""
        found = self.study.arrays(name)
        return [found.get(row.key) for row in self._all]

    def failures(self) -> list[tuple[Cell, str]]:
        """Cells that failed, and why."""
        names = self.grid.names
        cell = lambda row: Cell({name: row.values[name] for name in names}, row.values["seed"])
        return [(cell(row), row.error) for row in self._all if row.error is not None]

    def close(self) -> None:
        self.study.store.close()

    def __str__(self) -> str:
        counts = self.counts
        total = len(self.grid)
        parts = [f"{counts.done:,} of {total:,} cells done"] + (
            [f"{counts.failed:,} failed"] if counts.failed else []
        )
        told = ", ".join([*parts, self.stopped] if self.stopped else parts)
        return told + self._first_failure()

    def _first_failure(self) -> str:
        """Why a cell failed; the others are counted."""
        if not self.counts.failed:
            return ""
        failures = self.failures()
        (settings, seed), why = failures[0]
        cell = ", ".join(f"{name} = {value}" for name, value in (settings | {"seed": seed}).items())
        more = f"; {len(failures) - 1:,} more in .failures()" if len(failures) > 1 else ""
        return f" ({cell}: {(why.splitlines() or [''])[-1][:200]}{more})"

    __repr__ = __str__
