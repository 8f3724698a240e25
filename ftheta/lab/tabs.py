"""The conversation with one page: the newest request wins, and at most one is at work."""

import asyncio
import contextlib
import json
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from ftheta.logic import FthetaError

from .answer_jobs import AnswerJobs
from .audits import AuditConversation, AuditRoom
from .protocol import Cancel, Run, read_message, told
from .subject_store import SubjectStore
from .workers import Job, log_failure

_TICK = 0.4  # seconds between two words of progress
_GRACE = 0.3  # a stale computation this young may end: a slider on the move still shows pictures
_DIED = "The worker stopped and was replaced; the computation starts again."


class Tab:
    """One page. `newest` waits for the one at work to end."""

    def __init__(
        self, socket: WebSocket, jobs: AnswerJobs, store: SubjectStore, audits: AuditRoom
    ) -> None:
        self.socket = socket
        self.audit = AuditConversation(self._send, store, audits)
        self.jobs = jobs
        self.newest: Run | None = None
        self.at_work: Run | None = None
        self.job: Job | None = None
        # since when it has waited for a picture, later if its last one took long
        self.turn: float | None = None
        self.last = 0.0  # seconds that its last computation took
        self.awake = asyncio.Event()

    async def serve(self) -> None:
        """Listen and answer until the page goes away."""
        await self.socket.accept()
        answering = asyncio.create_task(self._answer())
        try:
            while (
                self.socket.application_state is WebSocketState.CONNECTED
            ):  # not so once an answer found nobody
                await self._take(await self.socket.receive_text())
        except (WebSocketDisconnect, KeyError):
            pass
        finally:
            answering.cancel()
            await self.audit.close()
            if self.job is not None:
                self.jobs.drop(self.job)
            with contextlib.suppress(asyncio.CancelledError):
                await answering

    async def _take(self, text: str) -> None:
        try:
            message = read_message(text)
        except FthetaError as error:
            await self._say({"type": "error", "n": _number_of(text), "error": told(error)})
            return
        if isinstance(message, Cancel):
            await self._cancel(message.n)
        elif not isinstance(message, Run):
            await self.audit.take(message)
        else:
            self.newest = message
            if self.turn is None:
                self.turn = asyncio.get_running_loop().time() + self.last
            self._drop_stale(message)
            self.awake.set()

    async def _cancel(self, n: int) -> None:
        if self.newest is not None and self.newest.n == n:
            self.newest = None
            await self._say({"type": "cancelled", "n": n})
        elif self.at_work is not None and self.at_work.n == n and self.job is not None:
            self.jobs.drop(self.job)

    def _drop_stale(self, newer: Run) -> None:
        """Interrupt the computation that a newer request has made useless: one of another theorem at once, one of
        the same if it takes long."""
        job = self.job
        older = self.at_work
        if job is None or older is None:
            return
        same = older.state.theorem == newer.state.theorem
        left = _GRACE - job.seconds if same else 0.0
        if left <= 0:
            self.jobs.drop(job)
        else:
            asyncio.get_running_loop().call_later(
                left, lambda: self.job is job and self.jobs.drop(job)
            )

    async def _answer(self) -> None:
        while True:
            await self.awake.wait()
            self.awake.clear()
            while self.newest is not None:
                self.at_work = self.newest
                self.newest = None
                await self._run(self.at_work)
                self.at_work = self.job = None

    async def _run(self, run: Run, attempts: int = 2) -> None:
        known = self.jobs.recall(run)
        if known is not None:
            self.turn = None
            await self._send(known)
            return
        await self._say({"type": "started", "n": run.n})
        header = {"kind": "cancelled"}
        body = b""
        for attempt in range(attempts):
            try:
                self.job = self.jobs.ask(run, self.turn or 0.0)
            except FthetaError as error:
                header = {"kind": "failed", "error": told(error)}
                break
            header, body = await self._await_reply(run, self.job)
            self.last = self.job.seconds
            if header["kind"] != "died":
                break
            if attempt + 1 < attempts:
                await self._say({"type": "notice", "n": run.n, "text": _DIED})
        await self._finish(run, header, body)

    async def _await_reply(self, run: Run, job: Job) -> tuple[dict[str, Any], bytes]:
        while not job.outcome.done():
            await asyncio.wait([job.outcome], timeout=_TICK)
            if job.seconds > self.jobs.longest:
                self.jobs.drop(job)
                return {"kind": "failed", "error": _too_long(run, self.jobs.longest)}, b""
            if not job.outcome.done():
                text = (
                    "waiting for a free worker" if job.began is None else job.stage or "computing"
                )
                await self._say(
                    {"type": "progress", "n": run.n, "text": text, "seconds": round(job.seconds, 2)}
                )
        return job.outcome.result()

    async def _finish(self, run: Run, header: dict[str, Any], body: bytes) -> None:
        match header["kind"]:
            case "done":
                self.turn = None
                await self._send(self.jobs.message(run, header, body))
            case "cancelled":
                await self._say({"type": "cancelled", "n": run.n})
            case "failed":
                log_failure(header)
                await self._say(
                    {
                        "type": "error",
                        "n": run.n,
                        "error": header["error"],
                        **_knob(header["error"]),
                    }
                )
            case _:
                error = {
                    "what": "The worker stopped twice during this computation.",
                    "where": run.state.theorem,
                    "got": f"exit code {header.get('code')}",
                    "remedy": "it may need more memory than there is: take smaller values",
                }
                await self._say({"type": "error", "n": run.n, "error": error})

    async def _say(self, message: dict[str, Any]) -> None:
        await self._send(json.dumps(message, ensure_ascii=False))

    async def _send(self, text: str) -> None:
        if self.socket.client_state is WebSocketState.CONNECTED:
            with contextlib.suppress(
                RuntimeError, WebSocketDisconnect
            ):  # the page left while it was answered
                await self.socket.send_text(text)


def _knob(error: dict[str, str]) -> dict[str, str]:
    """The knob that the error is about, so that the page can say it there."""
    where = error["where"]
    return {"knob": where[2:].replace("-", "_")} if where.startswith("--") else {}


def _too_long(run: Run, longest: float) -> dict[str, str]:
    what = "The computation took too long."
    remedy = "take smaller values, or the command line, which has no limit"
    return {
        "what": what,
        "where": run.state.theorem,
        "got": f"more than {longest:g} s",
        "remedy": remedy,
    }


def _number_of(text: str) -> int | None:
    """The number of a message that cannot be read otherwise, so that the page knows which one failed."""
    try:
        n = json.loads(text)["n"]
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return n if isinstance(n, int) and not isinstance(n, bool) and abs(n) < 1 << 53 else None
