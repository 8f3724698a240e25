"""Tasks in this very process: for networks that no other process can be handed.

The budget is soft here. It is looked at between tasks; in the main thread a timer interrupts a task as well, which
takes effect when the interpreter is next at work: a long call into compiled code is waited for. What other processes
took of the machine is not counted, nor are kernels that are compiled.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from types import FrameType

from ftheta.processes import compilation
from ftheta.subjects import Network

from .budget import Clock, describe_stop, not_begun
from .fairness import CompilationRecord, Fairness
from .performing import Done, Progress, perform
from .plan import Task

SOON = 0.05  # seconds
AGAIN = 0.5


class _Overdue(BaseException):
    """Raised by the timer; no handler of ordinary errors catches it."""


def run_inside(
    tasks: Sequence[Task],
    networks: Sequence[Network],
    seed: int,
    clock: Clock,
    done: Done,
    progress: Progress,
) -> None:
    """Perform the tasks in order and hand over each outcome."""
    clock.begin()
    with _watching() as here:
        for k, task in enumerate(tasks):
            clock.held += here.look()
            if clock.left <= 0:
                done(task, not_begun(task, clock))
                continue
            progress([task.id])
            begun = clock.seconds_used
            last = k == len(tasks) - 1
            ends = clock.seconds_used + (
                clock.left if last else min(clock.left, clock.share_of(task))
            )

            def left(ends: float = ends) -> float:
                clock.held += here.look()
                return ends - clock.seconds_used

            try:
                with _timer(left):
                    outcome = perform(task, networks, seed)
            except _Overdue:
                outcome = describe_stop(task, clock.seconds_used - begun, clock)
            done(task, outcome)


@dataclass
class _Here:
    """This process, as `Fairness` looks at one."""

    compilation: CompilationRecord = field(default_factory=CompilationRecord)
    fairness: Fairness = field(default_factory=Fairness)
    held: float = 0.0

    @property
    def pid(self) -> int:
        return os.getpid()

    @property
    def compile_seconds(self) -> float:
        return self.compilation.seconds

    def look(self) -> float:
        return self.fairness.look([self])


@contextmanager
def _watching() -> Iterator[_Here]:
    """This process, whose compilations are recorded meanwhile."""
    here = _Here()
    here.look()
    before = compilation.while_compiling
    compilation.while_compiling = here.compilation.under_way
    try:
        yield here
    finally:
        compilation.while_compiling = before
        here.compilation.close()


@contextmanager
def _timer(left: Callable[[], float]) -> Iterator[None]:
    """Raise `_Overdue` here when no seconds are left, where signals can be had: in the main thread, not on Windows."""
    usable = hasattr(signal, "setitimer") and threading.current_thread() is threading.main_thread()
    seconds = left()
    if not usable or not isfinite(seconds):
        yield
        return

    def ring(number: int, frame: FrameType | None) -> None:
        more = left()
        if more > SOON:  # the machine was busy with something else
            signal.setitimer(signal.ITIMER_REAL, more)
            return
        # where Python drops an exception (finalizers, callbacks of weak references) it is raised again
        signal.setitimer(signal.ITIMER_REAL, AGAIN)
        raise _Overdue

    before = signal.signal(signal.SIGALRM, ring)
    told = sys.unraisablehook
    sys.unraisablehook = lambda lost: None if lost.exc_type is _Overdue else told(lost)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, SOON))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        sys.unraisablehook = told
