"""The loop around a compiled kernel: budgets, buffers that grow, chunks of finished cells, and open signs.

A kernel runs for some tens of milliseconds and returns with a reason; all that is left to do lies in its stack. So an
enumeration can stop at any budget, be interrupted from the keyboard, and hand over its cells while it runs.

Budgets of cells and of work are the same on every machine. A budget of seconds is one of processor time of this thread,
during which other programs cost nothing, and its clock stands still while a kernel is compiled or loaded.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path as FilePath
from typing import Any, Protocol

import numpy as np

from ftheta.processes import compilation

PAUSE_AFTER = 20_000_000  # units of work between two looks at the clock: some tens of milliseconds
CHUNK = 1 << 15  # cells in a chunk
ANSWER = 5_000  # units of work that a sign decided in rational arithmetic takes, about


@dataclass(frozen=True)
class Budget:
    """How much may be spent; None is no limit."""

    max_cells: int | None = None
    max_seconds: float | None = None
    max_work: int | None = None  # units of work, about a hundred millions a second

    def deadline(self) -> float:
        """The time of `clock` at which the seconds are over."""
        return inf if self.max_seconds is None else clock() + self.max_seconds

    def spent(self, work: int, deadline: float) -> str:
        """The limit, other than that of cells, that is reached after so much work; "" if none is."""
        if self.max_work is not None and work > self.max_work:
            return f"max_work = {self.max_work:,}"
        return f"max_seconds = {self.max_seconds:g}" if clock() > deadline else ""


class _Standstill(threading.local):
    """Seconds of this thread's processor time that its clock has left out."""

    seconds = 0.0


_standstill = _Standstill()


def clock() -> float:
    """Processor time of this thread in seconds, without what compilation took."""
    return time.thread_time() - _standstill.seconds


@contextmanager
def clock_stopped() -> Iterator[None]:
    """What is done here takes no time on `clock`."""
    began = time.thread_time() - _standstill.seconds
    try:
        yield
    finally:
        _standstill.seconds = time.thread_time() - began


@dataclass
class Tally:
    """What an enumeration has counted so far."""

    cells: int = 0
    corners: int = 0  # of the stored cells
    cuts: int = 0
    volume: float = 0.0
    margin: float = inf  # the narrowest sign decided in float64, as a multiple of its error bound
    guessed: int = 0  # decisions in which a sign below its error bound was taken for zero
    answered: int = 0  # signs decided in rational arithmetic
    vanished: int = 0  # among them, those that are exactly zero
    seconds: float = 0.0
    work: int = 0  # units, as the kernels count them
    complete: bool = False
    stopped_by: str = ""  # the budget that ran out

    def plus(self, other: "Tally") -> "Tally":
        """The sum over two parts of a domain."""
        names = (
            "cells",
            "corners",
            "cuts",
            "volume",
            "guessed",
            "answered",
            "vanished",
            "seconds",
            "work",
        )
        sums = {name: getattr(self, name) + getattr(other, name) for name in names}
        complete = self.complete and other.complete
        return Tally(
            **sums,
            margin=min(self.margin, other.margin),
            complete=complete,
            stopped_by=self.stopped_by or other.stopped_by,
        )


NO_LABEL = -(2**31)
"""Fills the rows of `Chunk.labels` at corners on fewer facets than others."""


@dataclass
class Chunk:
    """Finished cells as flat arrays: corners `ends[i]` to `ends[i+1]` belong to cell `i`."""

    vertices: np.ndarray
    radius: np.ndarray
    labels: np.ndarray
    ends: np.ndarray
    names: np.ndarray
    patterns: np.ndarray
    maps: np.ndarray | None
    neighbours: np.ndarray | None = None  # d ≥ 3: the vertex graph of every cell

    def __len__(self) -> int:
        return len(self.names)


class Kernel(Protocol):
    """One compiled kernel with its arrays."""

    name: str
    tally: Tally

    def prepare(self) -> None: ...
    def run(self, max_cells: int, pause: int) -> int: ...
    def grow_depth(self) -> None: ...
    def grow_width(self) -> None: ...
    def answer(self) -> None: ...
    def take(self) -> Chunk | None: ...


def enumerate_cells(kernel: Kernel, budget: Budget, deadline: float) -> Iterator[Chunk]:
    """Run a kernel to its end or to the end of the budget; yields what it stores (nothing in a pure count)."""
    from .kernels import parts as status

    limit = -1 if budget.max_cells is None else budget.max_cells
    kernel.prepare()
    begun = time.perf_counter()
    react: dict[int, Callable[[], None]] = {
        status.SIGN: kernel.answer,
        status.DEEPER: kernel.grow_depth,
        status.WIDER: kernel.grow_width,
    }
    while True:
        left = (
            PAUSE_AFTER if budget.max_work is None else max(1, budget.max_work - kernel.tally.work)
        )
        reason = kernel.run(limit, min(PAUSE_AFTER, left))
        if reason in react:
            with suppress(TimeoutError):  # the clock is looked at below
                react[reason]()
        elif reason != status.PAUSE and (chunk := kernel.take()) is not None:
            yield chunk
        tally = kernel.tally
        if reason == status.DONE:
            tally.complete = True
        elif reason == status.LIMIT:
            # a count in larger steps stops before it, but knows that there are more
            tally.cells = limit
            tally.stopped_by = f"max_cells = {limit:,}"
        elif spent := budget.spent(tally.work, deadline):
            tally.stopped_by = spent
            if (chunk := kernel.take()) is not None:
                yield chunk
        tally.seconds = time.perf_counter() - begun
        if tally.complete or tally.stopped_by:
            return


def double_room(array: np.ndarray, axis: int = 0) -> np.ndarray:
    """The array with twice the room along one axis, its content kept."""
    shape = list(array.shape)
    shape[axis] *= 2
    larger = np.zeros(shape, array.dtype)
    larger[tuple(slice(0, n) for n in array.shape)] = array
    return larger


_announced: set[str] = set()


def compile_for(dispatcher: Any, what: str, arguments: tuple[Any, ...]) -> None:
    """Compile a kernel for arguments like these, or load what was compiled before; the clock stands still."""
    from numba import typeof

    with clock_stopped(), compilation.while_compiling():
        announce_compilation(dispatcher, what)
        dispatcher.compile(tuple(typeof(argument) for argument in arguments))


def announce_compilation(dispatcher: Any, what: str) -> None:
    """Before a kernel's first run: forget stale code, and say on a terminal if the kernel is compiled now."""
    if what in _announced:
        return
    folder = FilePath(dispatcher.stats.cache_path)
    if not _announced:
        forget_stale_code(folder)
    _announced.add(what)
    module = dispatcher.py_func.__module__.split(".")[-1]
    function = dispatcher.py_func.__name__
    if sys.stderr.isatty() and not any(folder.glob(f"{module}.{function}-*.nbi")):
        print(
            f"ftheta: compiling the kernel for {what}, once; it is kept on disk.",
            file=sys.stderr,
            flush=True,
        )


def forget_stale_code(folder: FilePath) -> None:
    """Drop compiled code that is older than any source of the kernels.

    The compiler looks at the date of a function's own file only, but a kernel contains parts from other files too.
    """
    sources = (FilePath(__file__).parent / "kernels").glob("*.py")
    newest = max(file.stat().st_mtime for file in sources)
    for kept in folder.glob("*.nbi"):
        if kept.stat().st_mtime < newest:
            kept.unlink(missing_ok=True)
