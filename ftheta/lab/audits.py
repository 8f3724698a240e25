"""The audit of a page: a process of its own runs it and stays, so that parts of it can be asked for again."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ftheta.logic import FthetaError, UsageError
from ftheta.processes.framing import Frame
from ftheta.processes.resources import available_memory
from ftheta.processes.worker import Worker, program

from .protocol import AuditMessage, AuditOrder, AuditPart, AuditStop, told
from .subject_store import SubjectStore
from .workers import LONGEST_ANSWER, log_failure

PROGRAM = program("ftheta.lab.audit_work")
MOST = 2  # audits at a time: each takes all cores
_DIED = {
    "what": "The process of the audit ended.",
    "where": "",
    "got": "",
    "remedy": "it may need more memory than there is: give fewer rows, or use the command line",
}


class AuditRoom:
    """The audits that are open in this lab; `temporary` is where they put their files."""

    def __init__(self, temporary: Path | None, program: tuple[str, ...] = PROGRAM) -> None:
        self.temporary = temporary
        self.program = program
        self.at_work: set[AuditProcess] = set()
        self.closed: Callable[[], None] | None = None  # where there are no audits, what says so


class AuditProcess(Worker):
    """The process of one audit; `frames` are what it says, None when it has ended."""

    def __init__(self, room: AuditRoom) -> None:
        self.frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        super().__init__(
            room.program,
            AuditProcess._post,
            memory=available_memory(1),
            temporary=room.temporary,
            own_session=True,
            longest=LONGEST_ANSWER,
        )

    def _post(self, frame: Frame | None) -> None:
        with suppress(RuntimeError):  # the event loop has ended
            self._loop.call_soon_threadsafe(self.frames.put_nowait, frame)


class AuditConversation:
    """What one page asks of its audit, and what it is told: `send` takes the text of a message."""

    def __init__(
        self, send: Callable[[str], Awaitable[None]], store: SubjectStore, room: AuditRoom
    ) -> None:
        self.send = send
        self.store = store
        self.room = room
        self.process: AuditProcess | None = None
        self.relaying: asyncio.Task[None] | None = None

    async def take(self, message: AuditMessage) -> None:
        """Do what the page asks for."""
        try:
            match message:
                case AuditOrder():
                    await self.close()
                    self._begin(message)
                case AuditPart():
                    self._require().send({**message.model_dump(), "kind": "part"})
                case AuditStop():
                    self._require().send({"kind": "stop"})
        except FthetaError as error:
            await self._fail(message.n, told(error))

    def _begin(self, order: AuditOrder) -> None:
        if self.room.closed is not None:
            self.room.closed()
        if len(self.room.at_work) >= MOST:
            remedy = "wait for one of them, or stop it on its page"
            raise UsageError("Other pages run audits already.", got=f"{MOST} audits", remedy=remedy)
        named = (
            ("model", order.model, "Network"),
            ("data", order.data, "Dataset"),
            ("train", order.train, "Dataset"),
        )
        sources = {
            name: self.store.audit_source(id, kind) for name, id, kind in named if id is not None
        }
        process = AuditProcess(self.room)
        self.process = process
        self.room.at_work.add(process)
        process.send({**order.model_dump(), "kind": "audit", "sources": sources})
        self.relaying = asyncio.create_task(self._relay(process, order.n))

    def _require(self) -> AuditProcess:
        if self.process is None:
            raise UsageError("No audit is open on this page.", remedy="run one first")
        return self.process

    async def _relay(self, process: AuditProcess, n: int) -> None:
        """Hand on what the process says until it ends."""
        while (frame := await process.frames.get()) is not None:
            header, body = frame
            if header["kind"] == "ended":
                self.room.at_work.discard(process)
            elif header["kind"] == "failed":
                log_failure(header)
                await self._fail(header.get("n", n), header["error"])
            else:
                await self.send(body.decode())
        self.room.at_work.discard(process)
        if self.process is process:
            self.process = None
            await self._fail(n, _DIED)

    async def _fail(self, n: int, error: dict[str, Any]) -> None:
        await self.send(
            json.dumps({"type": "audit-error", "n": n, "error": error}, ensure_ascii=False)
        )

    async def close(self) -> None:
        """End the process, if there is one, and wait until it is gone."""
        process = self.process
        self.process = None
        if self.relaying is not None:
            self.relaying.cancel()
            self.relaying = None
        if process is not None:
            self.room.at_work.discard(process)
            await asyncio.to_thread(process.kill)
