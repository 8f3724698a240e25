"""One worker process as the server sees it."""

import asyncio
import os
import sys
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from ftheta.caching import compiled_kept

from .frames import packed, receive

KEPT = 6  # results of which a worker can make files without computing them again
PROGRAM = ("-m", "ftheta.lab.work")
_NUMBERS = count(1)
_ONE_THREAD = "--xla_cpu_multi_thread_eigen=false"


@dataclass(eq=False)
class Job:
    """Something to compute. `outcome` becomes the header and body of the reply; a reply of kind `died` means that the
    worker ended before it had one."""

    order: dict[str, Any]
    theorem: str = ""
    key: str = ""
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


class Worker:
    """A process with at most one job. `on_change` is called when it becomes ready, has ended a job, or has died."""

    def __init__(self, on_change: Callable[["Worker"], None], program: tuple[str, ...], aside: Path | None) -> None:
        self.on_change, self.program = on_change, program
        self.aside = aside
        self.process: asyncio.subprocess.Process | None = None
        self.job: Job | None = None
        self.ready = self.dead = False
        self.stopping: asyncio.TimerHandle | None = None
        self.warm: set[str] = set()  # theorems it has run, whose programs are compiled
        self.kept: deque[str] = deque(maxlen=KEPT)  # states whose results it still has
        self.listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Start the process; it says when it is ready."""
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            *self.program,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=_environment(self.aside),
            start_new_session=True,  # Ctrl-C in the terminal is for the server, which ends its workers itself
        )
        self.listening = asyncio.create_task(self._listen(self.process))

    @property
    def idle(self) -> bool:
        return self.ready and not self.dead and self.job is None

    def give(self, job: Job) -> None:
        """Begin a job."""
        self.job, job.began = job, asyncio.get_running_loop().time()
        self._write({**job.order, "job": job.number})

    def stop(self, patience: float) -> None:
        """Interrupt the job; if it has not ended after so many seconds, end the process."""
        if self.job is not None and self.stopping is None:
            self._write({"kind": "stop", "job": self.job.number})
            self.stopping = asyncio.get_running_loop().call_later(patience, self.kill)

    def kill(self) -> None:
        """End the process at once."""
        if self.process is not None and self.process.returncode is None:
            self.process.kill()

    async def close(self) -> None:
        """End the process and wait until it is gone."""
        self.kill()
        if self.listening is not None:
            await self.listening

    def _write(self, header: dict[str, Any]) -> None:
        assert self.process is not None and self.process.stdin is not None
        if not self.process.stdin.is_closing():
            self.process.stdin.write(packed(header))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        try:
            while (frame := await receive(process.stdout)) is not None:
                self._hear(*frame)
        finally:
            self.dead = True
            self.kill()
            await process.wait()
            self._calm()
            if self.job is not None:
                self.job.end({"kind": "died", "code": process.returncode})
            self.on_change(self)

    def _hear(self, header: dict[str, Any], body: bytes) -> None:
        if header["kind"] == "ready":
            self.ready = True
            self.on_change(self)
        elif self.job is None or header["job"] != self.job.number:
            return
        elif header["kind"] == "stage":
            self.job.stage = header["text"]
        else:
            self._calm()
            job, self.job = self.job, None
            self.warm.add(job.theorem)
            if header["kind"] == "done" and job.key:
                self.kept.append(job.key)
            job.end(header, body)
            self.on_change(self)

    def _calm(self) -> None:
        if self.stopping is not None:
            self.stopping.cancel()
            self.stopping = None


def _environment(aside: Path | None = None) -> dict[str, str]:
    """One thread a worker, so that workers do not fight over the cores; compiled programs are kept between runs. Files
    for a moment go to `aside`: a worker that is killed cannot delete them."""
    one = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "NPROC")
    flags = os.environ.get("XLA_FLAGS", "").split()
    told = " ".join(flags if _ONE_THREAD in flags else [*flags, _ONE_THREAD])
    threads = {**dict.fromkeys(one, "1"), "JAX_PLATFORMS": "cpu", "XLA_FLAGS": told}
    temporary = {} if aside is None else {"TMPDIR": str(aside)}
    return {**os.environ, **threads, **compiled_kept(), **temporary}


def log_failure(header: dict[str, Any]) -> None:
    """The traceback of an internal error, where the lab was started; the page is not shown it."""
    if "traceback" in header:
        print(header["traceback"], file=sys.stderr, flush=True)
