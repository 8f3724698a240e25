"""The processes of this machine. A worker that dies is replaced, and says which cells it took with it."""

import os
import queue
import signal
import subprocess
import sys
import threading
from collections import deque
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

from ftheta.logic import SubjectError, UsageError

from .grid import Cell
from .worker import environment, receive, send

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


class NobodyWorks(Exception):
    """There has been no worker for so long that the sweep ends with what is done; the text says so."""


class Crew(Protocol):
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


class Worker:
    """One process and the tasks it holds, in order. What it says goes into `inbox` as (worker, message)."""

    def __init__(self, inbox: "queue.SimpleQueue[Any]") -> None:
        command = [sys.executable, "-P", "-c", "from ftheta.sweeps.worker import main; main()"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment())
        self.tasks: deque[int] = deque()
        self.ready = False
        self._inbox, self._knows = inbox, set[str]()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        with suppress(EOFError, OSError, ValueError):
            while True:
                self._inbox.put((self, receive(self.process.stdout)))  # type: ignore[arg-type]
        self._inbox.put((self, None))

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        self.tasks.append(task)
        assert self.process.stdin is not None
        with suppress(OSError):  # a dead worker is noticed where it is heard
            if payload.name not in self._knows:
                send(self.process.stdin, ("train", payload.name, payload.data))  # type: ignore[arg-type]
                self._knows.add(payload.name)
            send(self.process.stdin, ("cells", payload.name, task, cells))  # type: ignore[arg-type]

    def reason(self) -> str:
        """Why it is no more."""
        code = self.process.wait()
        return f"The worker died ({signal.Signals(-code).name if code < 0 else f'exit code {code}'})."

    def kill(self) -> None:
        with suppress(OSError):
            self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]


class Pool:
    """`size` worker processes on this machine, one thread each; as many as it has cores if not said.

    A pool can serve several sweeps (`on=pool`), which saves their start; close it, or use it in a `with`.
    """

    note = ""

    def __init__(self, size: int | None = None) -> None:
        size = cores() if size is None else size
        if isinstance(size, bool) or not isinstance(size, int) or not 1 <= size <= 1024:
            raise UsageError("A pool has between 1 and 1024 workers.", got=size)
        self._size, self._workers = size, list[Worker]()
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failed_starts = 0

    @property
    def size(self) -> int:
        return self._size

    @property
    def processes(self) -> list[int]:
        """Their ids."""
        return [worker.process.pid for worker in self._workers]

    def room(self) -> bool:
        return len(self._workers) < self._size or any(len(worker.tasks) < AHEAD for worker in self._workers)

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        idle = [worker for worker in self._workers if not worker.tasks]
        if not idle and len(self._workers) < self._size:
            idle = [Worker(self._inbox)]
            self._workers += idle
        min(idle or self._workers, key=lambda worker: len(worker.tasks)).submit(payload, task, cells)

    def events(self, timeout: float) -> list[Event]:
        """What has happened, waiting for it no longer than that."""
        return [event for message in arrived(self._inbox, timeout) for event in self._heard(*message)]

    def _heard(self, worker: Worker, message: Any) -> list[Event]:
        if worker not in self._workers:  # an echo of one that was stopped
            return []
        if message is None:
            return self._died(worker)
        kind = message[0]
        if kind == "ready":
            worker.ready, self._failed_starts = True, 0
            return []
        if kind == "broken":
            raise cannot_load(message[1])
        if kind == "end":
            worker.tasks.popleft()
            return [Event("end", message[1])]
        return [Event("cell", *message[1:])]

    def _died(self, worker: Worker) -> list[Event]:
        self._workers.remove(worker)
        why = worker.reason()
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts >= STARTS:
                raise SubjectError("Workers cannot be started.", got=why, remedy="see their words on standard error")
        running = int(worker.ready)
        return [Event("lost", task, running if i == 0 else 0, why) for i, task in enumerate(worker.tasks)]

    def stop(self) -> None:
        """End the processes; the next sweep starts others."""
        workers, self._workers = self._workers, []
        for worker in workers:
            worker.kill()

    close = stop

    def __enter__(self) -> "Pool":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def arrived(inbox: "queue.SimpleQueue[Any]", timeout: float) -> list[Any]:
    """Everything that is there, waiting for the first of it no longer than that."""
    found: list[Any] = []
    with suppress(queue.Empty):
        found.append(inbox.get(timeout=timeout))
        while True:
            found.append(inbox.get_nowait())
    return found


def cannot_load(words: str) -> SubjectError:
    remedy = "the module of `train`, and what it imports, must be installed where the workers run"
    return SubjectError("A worker cannot load what is trained.", got=words, remedy=remedy)


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
