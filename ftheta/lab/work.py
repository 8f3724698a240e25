"""What runs inside a worker process: `python -m ftheta.lab.work`, spoken to over its standard input and output.

The main thread computes; another one listens, so that a cancelled job can be interrupted. When the server goes away,
the pipe closes and the worker ends, whatever it is computing.
"""

import os
import queue
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, TypeAlias

from ftheta.logic import FthetaError

from .frames import packed, read
from .protocol import told

Do: TypeAlias = Callable[[dict[str, Any], Callable[[str], None]], tuple[dict[str, Any], bytes]]

_PATIENT = 10  # how nice a worker is that no slider waits for


class Stopped(BaseException):
    """The job was cancelled."""


class Desk:
    """The jobs of this worker: the one at work, and those that were cancelled before they ended."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self.source, self.target = source, target
        self.jobs: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self.at_work: int | None = None
        self.stopped: int | None = None
        self.main = threading.main_thread().ident or 0

    def listen(self) -> None:
        """Take in jobs and cancellations, until the server is gone."""
        while (frame := read(self.source)) is not None:
            order, _ = frame
            if order["kind"] == "stop":
                self.stopped = order["job"]
                signal.pthread_kill(self.main, signal.SIGINT)
            else:
                self.jobs.put(order)
        os._exit(0)

    def on_interrupt(self, *_: object) -> None:
        """Only the job that was meant is stopped: the signal may come when the next one is at work already."""
        if self.at_work is not None and self.at_work == self.stopped:
            self.at_work = None
            raise Stopped

    def say(self, header: dict[str, Any], body: bytes = b"") -> None:
        self.target.write(packed(header, body))
        self.target.flush()

    def work(self, order: dict[str, Any], do: Do) -> None:
        """Do one job and report how it ended."""
        job = order["job"]
        try:
            self.at_work = job
            if self.stopped == job:
                raise Stopped
            reply, body = do(order, lambda text: self.say({"job": job, "kind": "stage", "text": text}))
            self.at_work = None
        except Stopped:
            reply, body = {"kind": "cancelled"}, b""
        except FthetaError as error:
            reply, body = {"kind": "failed", "error": told(error), "code": error.exit_code}, b""
        except Exception as error:
            reply, body = {"kind": "failed", "error": _internal(error), "traceback": traceback.format_exc()}, b""
        self.at_work = None
        self.say({"job": job, **reply}, body)


def _internal(error: Exception) -> dict[str, str]:
    what = f"Internal error: {type(error).__name__}."
    first = str(error).strip().splitlines()[:1]
    return {
        "what": what,
        "where": "",
        "got": "".join(first)[:200],
        "remedy": "please report it, with the link of this page",
    }


def attend(prepare: Callable[[], tuple[Do, Iterator[None]]]) -> None:
    """Serve as a worker. `prepare` imports what is needed, and returns what does a job and the steps of warming up,
    taken one at a time while there is no job."""
    if "background" in sys.argv:
        os.nice(_PATIENT)
    source, target = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # whatever prints must not speak to the server
    desk = Desk(source, target)
    signal.signal(signal.SIGINT, desk.on_interrupt)
    threading.Thread(target=desk.listen, daemon=True).start()
    (do, steps), done = prepare(), object()
    desk.say({"kind": "ready"})
    while True:
        try:
            order = desk.jobs.get(block=next(steps, done) is done)
        except queue.Empty:
            continue
        desk.work(order, do)


def _prepare() -> tuple[Do, Iterator[None]]:
    from .jobs import do, warm_up  # imports JAX

    return do, warm_up()


if __name__ == "__main__":
    attend(_prepare)
