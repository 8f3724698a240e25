"""Work that no slider waits for, done by a worker in the background: files to read, exports, small pictures."""

import asyncio
from typing import Any

from ftheta.logic import FthetaError, SubjectError

from .pool import Pool
from .workers import Job, log_failure

_LONGEST = 120.0  # seconds


class BackgroundJobs:
    """A job that somebody waits for goes before the pictures, and interrupts one that is being made."""

    def __init__(self, pool: Pool) -> None:
        self.pool = pool

    async def ask(self, job: Job) -> tuple[dict[str, Any], bytes]:
        """Have it done now; what went wrong is raised."""
        for worker in self.pool.workers:
            if worker.job is not None and _is_picture(worker.job):
                self.pool.cancel(worker.job)
        self.pool.submit(job, first=True)
        return await await_reply(self.pool, job)

    async def picture(self, order: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Have a picture made, or an answer ahead, when there is time; begun again after something more urgent."""
        while True:
            job = self.pool.submit(Job(order, theorem=order["theorem"]))
            header, body = await _outcome(self.pool, job)
            if header["kind"] != "cancelled" or self.pool.closing or header.get("late"):
                return header, body


def _is_picture(job: Job) -> bool:
    return job.order["kind"] == "thumbnail" or job.order.get("ahead", False)


async def await_reply(pool: Pool, job: Job) -> tuple[dict[str, Any], bytes]:
    """The reply to a job; a failure is raised in the words that the worker found for it."""
    header, body = await _outcome(pool, job)
    match header["kind"]:
        case "done":
            return header, body
        case "failed":
            log_failure(header)
            kind = SubjectError if header.get("code") == SubjectError.exit_code else FthetaError
            raise kind(**header["error"])
        case "died":
            raise SubjectError(
                "The worker stopped over this.", remedy="it may need more memory than there is"
            )
    raise FthetaError(
        "This took too long.",
        got=f"{_LONGEST:g} s",
        remedy="take smaller values, or the command line",
    )


async def _outcome(pool: Pool, job: Job) -> tuple[dict[str, Any], bytes]:
    done, _ = await asyncio.wait([job.outcome], timeout=_LONGEST)
    if not done:
        pool.cancel(job)
        return {"kind": "cancelled", "late": True}, b""
    return job.outcome.result()
