"""One worker process as the server sees it."""

import asyncio
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from ftheta.processes.framing import Frame
from ftheta.processes.resources import available_memory
from ftheta.processes.worker import Worker, program

KEPT = 6  # results of which a worker can make files without computing them again
LONGEST_ANSWER = 256 << 20  # bytes
PROGRAM = program("ftheta.lab.work")
_NUMBERS = count(1)


@dataclass(eq=False)
class Job:
    """Something to compute. `outcome` becomes the header and body of the reply; a reply of kind `died` means that the
    worker ended before it had one."""

    order: dict[str, Any]
    theorem: str = ""
    key: str = ""
    turn: float = 0.0  # of those who wait, the least is next
    number: int = field(default_factory=lambda: next(_NUMBERS))
    stage: str = ""
    began: float | None = None
    outcome: asyncio.Future[tuple[dict[str, Any], bytes]] = field(
        default_factory=lambda: asyncio.get_running_loop().create_future()
    )

    def end(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Say how it ended, unless that was said already."""
        if not self.outcome.done():
            self.outcome.set_result((header, body))

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return 0.0 if self.began is None else asyncio.get_running_loop().time() - self.began


class LabWorker(Worker):
    """A process with at most one job. `on_change` is called when it becomes ready, has ended a job, or has died."""

    def __init__(
        self,
        on_change: Callable[["LabWorker"], None],
        arguments: tuple[str, ...],
        temporary: Path | None,
    ) -> None:
        self.on_change = on_change
        self.job: Job | None = None
        self.dead = asyncio.Event()
        self.stopping: asyncio.TimerHandle | None = None
        self.warm: set[str] = set()  # theorems it has run, whose programs are compiled
        self.kept: deque[str] = deque(maxlen=KEPT)  # states whose results it still has
        self._loop = asyncio.get_running_loop()
        super().__init__(
            arguments,
            LabWorker._post,
            memory=available_memory(1),
            temporary=temporary,
            own_session=True,  # Ctrl-C in the terminal is for the server, which ends its workers itself
            longest=LONGEST_ANSWER,
        )

    def _post(self, frame: Frame | None) -> None:
        """Hand a message over to the event loop, unless that has ended."""
        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(
                self._on_death if frame is None else partial(self._on_frame, *frame)
            )

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead.is_set() and self.job is None

    def give(self, job: Job) -> None:
        """Begin a job."""
        self.job = job
        job.began = self._loop.time()
        self.send({**job.order, "job": job.number})

    def stop(self, patience: float) -> None:
        """Interrupt the job; if it has not ended after so many seconds, end the process."""
        if self.job is not None and self.stopping is None:
            self.send({"kind": "stop", "job": self.job.number})
            self.stopping = self._loop.call_later(patience, self.process.kill)

    async def close(self) -> None:
        """End the process and wait until it is gone."""
        self.process.kill()
        await self.dead.wait()

    def _on_death(self) -> None:
        self.dead.set()
        self._calm()
        if self.job is not None:
            self.job.end({"kind": "died", "code": self.process.returncode})
        self.on_change(self)

    def _on_frame(self, header: dict[str, Any], body: bytes) -> None:
        if header["kind"] == "ready":
            self.ready = True
            self.on_change(self)
        elif self.job is None or header["job"] != self.job.number:
            return
        elif header["kind"] == "stage":
            self.job.stage = header["text"]
        else:
            self._calm()
            job = self.job
            self.job = None
            self.warm.add(job.theorem)
            if header["kind"] == "done" and job.key:
                self.kept.append(job.key)
            job.end(header, body)
            self.on_change(self)

    def _calm(self) -> None:
        if self.stopping is not None:
            self.stopping.cancel()
            self.stopping = None


def log_failure(header: dict[str, Any]) -> None:
    """The traceback of an internal error, where the lab was started; the page is not shown it."""
    if "traceback" in header:
        print(header["traceback"], file=sys.stderr, flush=True)
