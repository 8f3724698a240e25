"""The same sweep on a Dask cluster. Each thread of a Dask worker keeps one worker process of ours, so that a cell is
computed there exactly as on this machine, and a cell that crashes does not take the Dask worker with it."""

import atexit
import queue
import threading
import time
from contextlib import suppress
from math import inf
from typing import Any

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.processes.framing import Frame, load
from ftheta.processes.pool import drain

from .grid import Cell
from .pool import Event, NoWorkers, Payload, SweepWorker, cannot_load
from .store import Outcome

AHEAD = 2  # tasks a Dask thread holds
PATIENCE = 20.0  # seconds to find a scheduler
LOOK = 1.0  # seconds between two looks at who is there
STEADY = 10.0  # seconds after which a worker counts as one that stays
SILENCE = 3.0  # seconds without a worker before it is said
SCHEMES = ("dask://", "tcp://", "tls://", "ucx://", "ws://", "wss://", "inproc://")

_local = threading.local()


def dask_backend(on: Any, wait: float) -> "DaskBackend":
    """Of a Dask client, a cluster, or the address of a scheduler; `wait` seconds for workers where there are none."""
    try:
        from distributed import Client
    except ImportError:
        if isinstance(on, str) and on.startswith(SCHEMES):
            remedy = "pip install 'ftheta[distributed]'"
            raise UsageError("Dask is not installed.", got=f"on={on!r}", remedy=remedy) from None
        raise _unknown(on) from None
    if isinstance(on, Client):
        return DaskBackend(on, ours=False, wait=wait)
    if isinstance(on, str) and on.startswith(SCHEMES):
        try:
            client = Client(on.replace("dask://", "tcp://"), timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            remedy = "start one with `dask scheduler` and `dask worker`, and give its address"
            raise SubjectError(
                "There is no Dask scheduler.", where=on, got=str(error), remedy=remedy
            ) from error
        return DaskBackend(client, ours=True, wait=wait)
    if hasattr(on, "scheduler_address"):
        return DaskBackend(Client(on, set_as_default=False), ours=True, wait=wait)
    raise _unknown(on)


def _unknown(on: Any) -> UsageError:
    remedy = (
        "give a number of processes, an ftheta.sweeps.Pool, a Dask client, or 'dask://host:port'"
    )
    return UsageError("It is not clear where to run.", got=f"on={on!r}", remedy=remedy)


class DaskBackend:
    """Tasks as Dask futures; what comes of them is heard in the order in which they end."""

    def __init__(self, client: Any, ours: bool, wait: float) -> None:
        self.client = client
        self._ours = ours
        self._wait = wait
        self.note = ""
        self._inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._futures: dict[int, Any] = {}
        self._payloads: dict[str, Any] = {}
        self._threads = 1
        self._since: dict[str, float] = {}  # when each worker that is there was first seen
        self._looked = -inf
        self._useful = time.monotonic()  # when there was last a result, or a worker that stays

    @property
    def size(self) -> int:
        """Threads of the cluster, as it was a moment ago."""
        now = time.monotonic()
        if now - self._looked > LOOK:
            self._looked = now
            workers = self.client.scheduler_info(n_workers=-1)["workers"]
            self._threads = max(1, sum(worker["nthreads"] for worker in workers.values()))
            self._since = {address: self._since.get(address, now) for address in workers}
        return self._threads

    def room(self) -> bool:
        return len(self._futures) < AHEAD * self.size

    def submit(self, payload: Payload, task: int, cells: list[Cell]) -> None:
        if payload.name not in self._payloads:
            # a task, not scattered data: Dask can make it again when the worker that held it is lost
            self._payloads[payload.name] = self.client.submit(
                _kept, payload, key=f"ftheta-{payload.name}-{task}"
            )
        future = self.client.submit(
            _on_a_worker, self._payloads[payload.name], task, cells, pure=False
        )
        self._futures[task] = future
        future.add_done_callback(lambda done: self._inbox.put((task, done)))

    def events(self, timeout: float) -> list[Event]:
        found = [
            event for message in drain(self._inbox, timeout) for event in self._heard(*message)
        ]
        self._watch(any(event.kind == "cell" for event in found))
        return found

    def _watch(self, result: bool) -> None:
        """Workers that are not there, or die before they are of use, are waited for so long and no longer."""
        now = time.monotonic()
        threads = self.size
        if result or any(
            now - since >= min(STEADY, self._wait / 2) for since in self._since.values()
        ):
            self._useful = now
            self.note = ""
        elif now - self._useful > self._wait:
            there = f"{threads:,} threads that do not last" if self._since else "none"
            raise NoWorkers(
                f"the Dask cluster had no worker that stays for {self._wait:g} s (there are now: {there})"
            )
        elif now - self._useful > SILENCE:
            what = (
                "workers of the Dask cluster do not last"
                if self._since
                else "the Dask cluster has no workers"
            )
            self.note = f"{what}; the sweep ends after {self._wait:g} s without one"

    def _heard(self, task: int, future: Any) -> list[Event]:
        if self._futures.pop(task, None) is None:
            return []
        try:
            outcomes, why, broken = future.result(timeout=60)
        except Exception as error:  # the worker is gone, or the network
            for name in [
                name
                for name, kept in self._payloads.items()
                if kept.status not in ("pending", "finished")
            ]:
                del self._payloads[name]  # lost with its workers: the next task brings it again
            return [
                Event(
                    "lost",
                    task,
                    1,
                    f"The Dask worker was lost ({type(error).__name__}: {str(error)[:300]}).",
                )
            ]
        if broken:
            raise cannot_load(str(why))
        found = [Event("cell", task, i, Outcome(*outcome)) for i, outcome in outcomes]
        return [*found, Event("end", task) if why is None else Event("lost", task, 1, why)]

    def stop(self) -> None:
        futures = self._futures
        self._futures = {}
        with suppress(Exception):
            self.client.cancel([*futures.values(), *self._payloads.values()])
        self._payloads.clear()
        if self._ours:
            self.client.close()


def _kept(payload: Payload) -> Payload:
    return payload


def _on_a_worker(
    payload: Payload, task: int, cells: list[Cell]
) -> tuple[list[tuple[int, tuple]], str | None, bool]:
    """The outcomes by number, why there are no more if there should be, and whether none can ever be.

    Runs in a thread of a Dask worker.
    """
    worker, inbox = _process()
    worker.submit(payload, task, cells)
    outcomes: list[tuple[int, tuple]] = []
    while True:
        frame = inbox.get()
        if frame is None or frame[0]["kind"] == "broken":
            _local.process = None
            why = worker.reason if frame is None else frame[0]["words"]
            worker.kill()
            return outcomes, why, frame is not None
        header, body = frame
        if header["kind"] == "end":
            worker.tasks.popleft()
            return outcomes, None, False
        if header["kind"] == "cell":
            outcomes.append((header["index"], tuple(load(body))))


def _process() -> tuple[SweepWorker, "queue.SimpleQueue[Frame | None]"]:
    """The process of this thread, and what it says."""
    if getattr(_local, "process", None) is None:
        inbox: queue.SimpleQueue[Frame | None] = queue.SimpleQueue()
        _local.process = (SweepWorker(lambda _, frame: inbox.put(frame)), inbox)
        atexit.register(_local.process[0].kill)
    return _local.process
