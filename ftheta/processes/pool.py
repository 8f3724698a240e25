"""Several workers, and one queue of what they say."""

import queue
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Generic, TypeVar

from .framing import Frame
from .worker import Worker

T = TypeVar("T")
W = TypeVar("W", bound=Worker)


class Pool(Generic[W]):
    """Workers that `start(on_message)` makes. Whoever has one decides what each of them does."""

    def __init__(self, start: Callable[[Callable[[Any, Frame | None], None]], W]) -> None:
        self._start = start
        self._inbox: queue.SimpleQueue[tuple[W, Frame | None]] = queue.SimpleQueue()
        self.workers: list[W] = []

    def start_worker(self) -> W:
        """One more."""
        worker = self._start(self.put_back)
        self.workers.append(worker)
        return worker

    def kill(self, worker: W) -> None:
        """End one; what it said last is not heard any more."""
        self.workers.remove(worker)
        worker.kill()

    def kill_all(self) -> None:
        workers = self.workers
        self.workers = []
        for worker in workers:
            worker.kill()

    def put_back(self, worker: W, frame: Frame | None) -> None:
        """A message is to be heard (again)."""
        self._inbox.put((worker, frame))

    def messages(self, timeout: float) -> list[tuple[W, Frame | None]]:
        """What the workers of this pool have said, waiting for the first message no longer than that.

        None instead of a frame: the worker has ended.
        """
        return drain(self._inbox, timeout)


def drain(inbox: "queue.SimpleQueue[T]", timeout: float) -> list[T]:
    """Everything that is in a queue, waiting for the first of it no longer than that."""
    found = []
    with suppress(queue.Empty):
        found.append(inbox.get(timeout=max(0.0, timeout)))
        while True:
            found.append(inbox.get_nowait())
    return found
