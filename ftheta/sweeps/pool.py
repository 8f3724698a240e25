"""The processes of this machine. A worker that dies is replaced, and says which cells it took with it."""

from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.processes import pool
from ftheta.processes.framing import Frame, dump, load
from ftheta.processes.resources import available_memory, cores
from ftheta.processes.worker import Worker, program

from .grid import Cell

AHEAD = 2  # tasks a worker holds, so that it never waits for the next
STARTS = 3  # workers in a row that may fail to start


class Payload(NamedTuple):
    """What is trained, as it travels: pickled, under a name."""

    name: str
    data: bytes


class Event(NamedTuple):
    """`cell`: an outcome of the task's cell number `index`. `end`: it is done. `lost`: its worker died (`detail`);
    `index` is 1 if the task was running."""

    kind: str
    task: int
    index: int = 0
    detail: Any = None


class NoWorkers(Exception):
    """There has been no worker for so long that the sweep ends with what is done; the text says so."""


@runtime_checkable
class Backend(Protocol):
    """Those who work: processes here, or a cluster. `note` is what there is to say of them, if anything."""

    note: str

    @property
    def size(self) -> int: ...
    def room(self) -> bool: ...
    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None: ...
    def events(self, timeout: float) -> list[Event]: ...
    def stop(self) -> None:
        """Drop what is under way."""
        ...


class SweepWorker(Worker):
    """A worker and the tasks it holds, in order."""

    def __init__(self, on_message: Callable[[Any, Frame | None], None]) -> None:
        super().__init__(program("ftheta.sweeps.worker"), on_message, memory=available_memory(1))
        self.tasks: deque[int] = deque()
        self._known = set[str]()

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        self.tasks.append(task)
        if payload.name not in self._known:
            self.send({"kind": "train", "name": payload.name}, payload.data)
            self._known.add(payload.name)
        self.send({"kind": "cells", "name": payload.name, "task": task}, dump(cells))

    @property
    def reason(self) -> str:
        """Why it is no more."""
        return f"The worker died ({self.ending})."


class Pool:
    """`size` worker processes on this machine, one thread each; as many as it has cores if not said.

    A pool can serve several sweeps (`on=pool`), which saves their start; close it, or use it in a `with`.
    """

    note = ""

    def __init__(self, size: int | None = None) -> None:
        size = cores() if size is None else size
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1024:
            raise UsageError("A pool has between 1 and 1024 workers.", got=size)
        self._size = size
        self._pool: pool.Pool[SweepWorker] = pool.Pool(SweepWorker)
        self._failed_starts = 0

    @property
    def size(self) -> int:
        return self._size

    @property
    def processes(self) -> list[int]:
        """Their ids."""
        return [worker.pid for worker in self._pool.workers]

    def room(self) -> bool:
        workers = self._pool.workers
        return len(workers) < self._size or any(len(worker.tasks) < AHEAD for worker in workers)

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        idle = [worker for worker in self._pool.workers if not worker.tasks]
        if not idle and len(self._pool.workers) < self._size:
            idle = [self._pool.start_worker()]
        min(idle or self._pool.workers, key=lambda worker: len(worker.tasks)).submit(
            payload, task, cells
        )

    def events(self, timeout: float) -> list[Event]:
        """What has happened, waiting for it no longer than that."""
        found: list[Event] = []
        for worker, frame in self._pool.messages(timeout):
            if worker in self._pool.workers:  # else an echo of one that was stopped
                found += self._on_death(worker) if frame is None else self._on_frame(worker, *frame)
        return found

    def _on_frame(self, worker: SweepWorker, header: dict[str, Any], body: bytes) -> list[Event]:
        match header["kind"]:
            case "ready":
                worker.ready = True
                self._failed_starts = 0
                return []
            case "broken":
                raise cannot_load(header["words"])
            case "end":
                worker.tasks.popleft()
                return [Event("end", header["task"])]
        return [Event("cell", header["task"], header["index"], load(body))]

    def _on_death(self, worker: SweepWorker) -> list[Event]:
        self._pool.kill(worker)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise SubjectError(
                    "Workers cannot be started.",
                    got=worker.reason,
                    remedy="see their words on standard error",
                )
        running = int(worker.ready)
        return [
            Event("lost", task, running if i == 0 else 0, worker.reason)
            for i, task in enumerate(worker.tasks)
        ]

    def stop(self) -> None:
        """End the processes; the next sweep starts others."""
        self._pool.kill_all()

    close = stop

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def cannot_load(words: str) -> SubjectError:
    """The error of a worker that finds no function to train with."""
    remedy = "the module of `train`, and what it imports, must be installed where the workers run"
    return SubjectError("A worker cannot load what is trained.", got=words, remedy=remedy)
