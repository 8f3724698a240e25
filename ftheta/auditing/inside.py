"""Tasks in this very process: for networks that no other process can be handed.

The budget is soft here. It is looked at between tasks; in the main thread a timer interrupts a task as well, which
takes effect when the interpreter is next at work: a long call into compiled code is waited for.
"""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import isfinite
from time import monotonic
from types import FrameType

from ftheta.subjects import Network

from .budget import Clock
from .performing import perform
from .plan import Task
from .pool import Done, Told, not_begun, stopped


class _Overdue(BaseException):
    """Raised by the timer; no handler of ordinary errors catches it."""


def run_inside(
    tasks: Sequence[Task], networks: Sequence[Network], seed: int, clock: Clock, done: Done, tell: Told
) -> None:
    """Perform the tasks in order and hand over each outcome."""
    for k, task in enumerate(tasks):
        if clock.left <= 0:
            done(task, not_begun(task, clock))
            continue
        tell([task.id])
        begun, last = monotonic(), k == len(tasks) - 1
        try:
            with _timer(clock.left if last else min(clock.left, clock.share_of(task))):
                outcome = perform(task, networks, seed)
        except _Overdue:
            outcome = stopped(task, monotonic() - begun, clock)
        done(task, outcome)


@contextmanager
def _timer(seconds: float) -> Iterator[None]:
    """Raise `_Overdue` here after so many seconds, where signals can be had: in the main thread, not on Windows."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    if not usable or not isfinite(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        raise _Overdue

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
