"""Workers shared by everybody who asks: in turns, first come first served unless these differ; nobody has more than one
job at a time."""

import asyncio
from collections import deque
from pathlib import Path

from .workers import PROGRAM, Job, LabWorker

PATIENCE = 1.0  # seconds that an interrupted job has to end
_NO_START = {
    "what": "No worker can be started.",
    "where": "",
    "got": "",
    "remedy": "look at what the lab wrote where it was started; `ftheta doctor` says what is installed",
}


class Pool:
    """`size` jobs at a time, and one more worker warm and ready for the moment when one has to be ended. `temporary` is
    where workers put their temporary files."""

    def __init__(
        self,
        size: int,
        *,
        spare: bool = True,
        program: tuple[str, ...] = PROGRAM,
        temporary: Path | None = None,
    ) -> None:
        self.size = size
        self.alive = size + spare
        self.program = program
        self.temporary = temporary
        self.workers: list[LabWorker] = []
        self.waiting: deque[Job] = deque()
        self.closing = False
        self.failures = 0  # workers in a row that died before they were ready

    def open(self) -> None:
        """Start the first worker; each one starts the next when it is ready, so that the first is ready soon."""
        self._start_worker()

    async def close(self) -> None:
        """End every process and every job."""
        self.closing = True
        for job in self.waiting:
            job.end({"kind": "cancelled"})
        self.waiting.clear()
        await asyncio.gather(*(worker.close() for worker in self.workers))

    def submit(self, job: Job, *, first: bool = False) -> Job:
        """Queue a job; `first` puts it before those that nobody waits for."""
        (self.waiting.appendleft if first else self.waiting.append)(job)
        self._dispatch()
        return job

    def cancel(self, job: Job) -> None:
        """Drop a job that waits, interrupt one at work. Its outcome is known at once."""
        if job in self.waiting:
            self.waiting.remove(job)
        job.end({"kind": "cancelled"})
        for worker in self.workers:
            if worker.job is job:
                worker.stop(PATIENCE)
        self._dispatch()

    def give_to_holder(self, key: str, job: Job) -> bool:
        """Give the job to an idle worker that still has the result of this state, if there is one."""
        worker = next((w for w in self.workers if w.idle and key in w.kept), None)
        if worker is not None:
            worker.give(job)
        return worker is not None

    def _dispatch(self) -> None:
        """Give jobs to idle workers, of those to one that has the result already or has run the theorem before."""
        while self.waiting and not self.closing:
            busy = sum(w.job is not None and w.stopping is None for w in self.workers)
            idle = [w for w in self.workers if w.idle]
            if not idle or busy >= self.size:
                return
            job = min(self.waiting, key=lambda each: each.turn)  # the first of equals
            self.waiting.remove(job)
            max(idle, key=lambda w: (job.key in w.kept, job.theorem in w.warm, len(w.warm))).give(
                job
            )

    def _on_change(self, worker: LabWorker) -> None:
        if worker.dead.is_set() and worker in self.workers:
            self.workers.remove(worker)
        if self.closing:
            return
        self.failures = 0 if worker.ready else self.failures + 1
        if self.failures:  # it died before it was ready: the next one may do so too
            self._give_up()
            asyncio.get_running_loop().call_later(
                min(0.5 * 2**self.failures, 30.0), self._start_worker
            )
        else:
            self._start_worker()
            self._dispatch()

    def _give_up(self) -> None:
        """After two failures, those who wait are told."""
        while self.failures > 1 and self.waiting:
            self.waiting.popleft().end({"kind": "failed", "error": _NO_START})

    def _start_worker(self) -> None:
        """One more worker if some are missing and none is on its way."""
        if (
            self.closing
            or len(self.workers) >= self.alive
            or any(not w.ready for w in self.workers)
        ):
            return
        self.workers.append(LabWorker(self._on_change, self.program, self.temporary))
