"""One enumeration by several threads: whoever has nothing left takes over the lowest slot of another's stack.

The kernels run without Python's global lock. The cells are the same as those of one thread, in another order.
"""

import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import fields

from ..enumeration import Budget, Chunk, Tally, clock
from ..kernels import parts as status
from .compiled_kernel import CompiledKernel

PAUSE_AFTER = 500_000  # units of work between two looks at who is idle: about a millisecond


def enumerate_together(
    kernel: CompiledKernel, workers: int, budget: Budget, deadline: float
) -> Iterator[Chunk]:
    """Like `enumerate_cells`; the tally of the kernel becomes that of all."""
    kernel.prepare()
    total = kernel.tally
    begun = time.perf_counter()
    # this thread waits for others: their seconds are those on the wall
    ends = begun + deadline - clock()
    kernel.tally = Tally()
    with ThreadPoolExecutor(workers) as threads:
        team = _Team(kernel, workers, budget.max_cells, threads)
        while team.waiting or team.running:
            if not team.set_to_work():
                total.stopped_by = f"max_cells = {budget.max_cells:,}"
                break
            yield from team.harvest()
            if (
                budget.max_work is not None
                and sum(member.tally.work for member in team.members) > budget.max_work
            ):
                total.stopped_by = f"max_work = {budget.max_work:,}"
                break
            if time.perf_counter() > ends:
                total.stopped_by = f"max_seconds = {budget.max_seconds:g}"
                break
        yield from team.dismiss()
    whole = Tally(complete=True)
    for member in team.members:
        member.tally.complete = not total.stopped_by
        whole = whole.plus(member.tally)
    whole.stopped_by = total.stopped_by
    whole.seconds = time.perf_counter() - begun
    if "max_cells" in whole.stopped_by and budget.max_cells is not None:
        whole.cells = budget.max_cells  # the kernels stopped because the next cells would exceed it
    for field in fields(Tally):
        setattr(total, field.name, getattr(whole, field.name))


class _Team:
    """Kernels that wait for a thread and kernels that run, with the cells each may still find."""

    def __init__(
        self,
        kernel: CompiledKernel,
        workers: int,
        max_cells: int | None,
        threads: ThreadPoolExecutor,
    ) -> None:
        self.members = [kernel]
        self.waiting = [kernel]
        self.limited = list[CompiledKernel]()
        self.running: dict[Future[int], CompiledKernel] = {}
        self.workers = workers
        self.max_cells = max_cells
        self.threads = threads
        self.granted: dict[int, int] = {}

    def set_to_work(self) -> bool:
        """Share out stacks and start who can be started; False if nobody can because of the budget of cells."""
        for kernel in tuple(self.waiting):
            while (
                len(self.waiting) + len(self.running) < self.workers
                and (other := kernel.split_off()) is not None
            ):
                self.members.append(other)
                self.waiting.append(other)
        for kernel in tuple(self.waiting):
            limit = self._limit(kernel)
            if limit is not None:
                self.waiting.remove(kernel)
                self.granted[id(kernel)] = limit
                self.running[self.threads.submit(_spell, kernel, limit)] = kernel
        return bool(self.running)

    def _limit(self, kernel: CompiledKernel) -> int | None:
        """How many cells a kernel may have found at its next return: -1 for no limit, None if it has to wait.

        A kernel that met its limit waits until it can have all that is left.
        """
        if self.max_cells is None:
            return -1
        at_work = {id(k) for k in self.running.values()}
        found = sum(
            self.granted[id(k)] if id(k) in at_work else k.tally.cells for k in self.members
        )
        free = self.max_cells - found
        all_of_it = kernel.tally.cells + free
        if kernel in self.limited:
            return None if self.running or self.granted[id(kernel)] >= all_of_it else all_of_it
        return all_of_it - free // 2 if free else None

    def harvest(self) -> Iterator[Chunk]:
        """Wait for a kernel to return, and hand over its cells if it is done or its buffers are full."""
        done, _ = wait(self.running, return_when=FIRST_COMPLETED)
        for future in done:
            kernel = self.running.pop(future)
            reason = future.result()
            if kernel in self.limited:
                self.limited.remove(kernel)
            if reason == status.LIMIT:  # one that merely paused has not used what it was granted
                self.limited.append(kernel)
            if reason != status.DONE:
                self.waiting.append(kernel)
            if reason in (status.DONE, status.FULL) and (chunk := kernel.take()) is not None:
                yield chunk

    def dismiss(self) -> Iterator[Chunk]:
        """Let everyone return, and hand over what is left in the buffers."""
        wait(self.running)
        for kernel in self.members:
            if (chunk := kernel.take()) is not None:
                yield chunk


def _spell(kernel: CompiledKernel, limit: int) -> int:
    """Run a kernel until it pauses, is done or needs another hand; open signs and larger arrays it sees to itself."""
    while True:
        reason = kernel.run(limit, PAUSE_AFTER)
        if reason == status.SIGN:
            kernel.answer()
        elif reason == status.DEEPER:
            kernel.grow_depth()
        elif reason == status.WIDER:
            kernel.grow_width()
        else:
            return reason
