"""What runs inside a worker of the lab: the main thread computes, another one listens for cancelled jobs."""

import _thread
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, TypeAlias

from ftheta.logic import FthetaError
from ftheta.processes.framing import Frame
from ftheta.processes.serving import connect

from .protocol import told

Do: TypeAlias = Callable[[dict[str, Any], Callable[[str], None]], tuple[dict[str, Any], bytes]]

_AFTER_IMPORT = 0.05  # seconds until it is looked again whether an import has ended
_PATIENT = 10  # how nice a worker is that no slider waits for


class Stopped(BaseException):
    """The job was cancelled."""


class Desk:
    """The jobs of this worker: the one at work, and the last one that was cancelled."""

    def __init__(self) -> None:
        self.at_work: int | None = None
        self.stopped: int | None = None
        self.main = threading.main_thread().ident or 0
        self.channel = connect(self.on_frame, self.on_interrupt)

    def on_frame(self, frame: Frame) -> bool:
        """Cancel a job as soon as that is asked for: the main thread computes."""
        order, _ = frame
        if order["kind"] != "stop":
            return False
        self.stopped = order["job"]
        self.interrupt()
        return True

    def interrupt(self) -> None:
        """Have the main thread call `on_interrupt`."""
        if hasattr(signal, "pthread_kill"):
            signal.pthread_kill(self.main, signal.SIGINT)  # ends a system call that waits, too
        else:
            _thread.interrupt_main(signal.SIGINT)

    def on_interrupt(self, *_: object) -> None:
        """Only the job that was meant is stopped: the signal may come when the next one is at work already. While a
        module is imported it waits: one that is there by half stays so for all jobs to come."""
        if self.at_work is None or self.at_work != self.stopped:
            return
        if _is_importing(sys._getframe(1)):
            threading.Timer(_AFTER_IMPORT, self.interrupt).start()
            return
        self.at_work = None
        raise Stopped

    def work(self, order: dict[str, Any], do: Do) -> None:
        """Do one job and report how it ended."""
        job = order["job"]
        try:
            self.at_work = job
            if self.stopped == job:
                raise Stopped
            reply, body = do(
                order, lambda text: self.channel.send({"job": job, "kind": "stage", "text": text})
            )
            self.at_work = None
        except Stopped:
            reply = {"kind": "cancelled"}
            body = b""
        except FthetaError as error:
            reply = {"kind": "failed", "error": told(error), "code": error.exit_code}
            body = b""
        except Exception as error:
            reply = {
                "kind": "failed",
                "error": _internal(error),
                "traceback": traceback.format_exc(),
            }
            body = b""
        self.at_work = None
        self.channel.send({"job": job, **reply}, body)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the code of this frame is run by an import."""
    while frame is not None:
        if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
            return True
        frame = frame.f_back
    return False


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
    if "background" in sys.argv and hasattr(os, "nice"):
        os.nice(_PATIENT)
    desk = Desk()
    do, steps = prepare()
    done = object()
    desk.channel.send({"kind": "ready"})
    while True:
        frame = desk.channel.receive(block=next(steps, done) is done)
        if frame is not None:
            desk.work(frame[0], do)


def _prepare() -> tuple[Do, Iterator[None]]:
    from .jobs import do, warm_up  # imports JAX

    return do, warm_up()


def main() -> None:
    """Serve jobs until the input ends."""
    attend(_prepare)
