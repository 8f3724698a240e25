"""Tasks in worker processes, within a budget that holds: a task that takes too long is killed, and only it is lost.

Facts come first, then a look at the hypotheses of the theorems, then those that apply (see `plan`). While others wait
a task may take a turn; then its process is set aside (suspended) and goes on later, with longer turns: facts before
the theorems, until they have used their share, and everything else when nothing waits any more. Where there is no
room for that, a task that has used its share of the budget is stopped and, if time is left in the end, tried once more
with all of it. Nothing begins or goes on when the budget is used up. A killed worker is replaced.

The budget runs from when the first worker is ready. Neither it nor the turns of tasks count time in which the machine
was busy with other processes or kernels were compiled (`fairness`): what is found depends little on either.
"""

import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from time import monotonic
from typing import Any, TypeAlias

from ftheta.logic import Skipped
from ftheta.processes import pool
from ftheta.processes.framing import Frame, dump, load
from ftheta.processes.resources import LEAST_MEMORY, available_memory
from ftheta.processes.worker import Worker, program
from ftheta.running import Assessment

from .budget import Clock, describe_stop, not_begun
from .fairness import CompilationRecord, Fairness
from .part import Portrait, Setup
from .performing import Done, Outcome, Progress
from .plan import Task

TICK = 0.25  # seconds between two looks at the clock
TURN = 0.25  # of its share that a task takes before others have a turn
LONGER = {True: 4, False: 2}  # times, that the next turn of a fact, and of a theorem, ends later
# times what a new process takes to get ready: it also compiles again what the others have
WORTH = 3
MOST_SUSPENDED = 6  # processes


OnPortraits: TypeAlias = Callable[[tuple[Portrait, ...]], None]


class CannotLoad(Exception):
    """A worker could not make the networks."""


class AuditWorker(Worker):
    """A worker, and the task it performs."""

    def __init__(
        self, on_message: Callable[[Any, Frame | None], None], setup: Setup, memory: int | None
    ) -> None:
        self.compilation = CompilationRecord()
        self.task: Task | None = None
        self.has = {""}  # what it has evaluated for several tasks
        self.begun = inf
        self.turns = 0  # that its task has had
        self.spent = 0.0  # seconds, when it was set aside
        self.held = 0.0  # seconds that its task was not charged for
        self.unheard: list[Frame | None] = []  # what it said just before it was suspended
        record = self.compilation.descriptor
        super().__init__(
            program(f"{__package__}.worker"),
            on_message,
            memory=memory,
            descriptors=(record,),
            keep_stderr=True,
        )
        self.send({"kind": "setup"}, dump(replace(setup, record=record)))

    def begin(self, task: Task, assessment: Assessment | None) -> None:
        """Perform a task; the `assessment` of a theorem is what a look at it has found."""
        self.task = task
        self.has.add(task.shares)
        self.begun = monotonic()
        self.turns = 0
        self.held = 0.0
        self.send({"kind": "task"}, dump((task, assessment)))

    @property
    def compile_seconds(self) -> float:
        """Seconds that it has spent compiling kernels."""
        return self.compilation.seconds

    @property
    def busy_for(self) -> float:
        return monotonic() - self.begun - self.held if self.task is not None else 0.0

    def set_aside(self) -> None:
        """Suspend it, and remember how long its task took so far."""
        self.spent = self.busy_for
        self.turns += 1
        self.suspend()

    def go_on(self) -> None:
        self.begun = monotonic() - self.spent
        self.held = 0.0
        self.resume()

    def end(self) -> None:
        """Kill it and give back what it held."""
        self.kill()
        self.compilation.close()


class Pool:
    """The workers and the tasks they share."""

    def __init__(self, setup: Setup, workers: int, on_portraits: OnPortraits) -> None:
        self._on_portraits = on_portraits
        self.loading = 0.0  # seconds that the slowest worker took to get ready
        self.portraits: tuple[Portrait, ...] = ()  # of the networks, as the first worker says
        self.waiting: deque[Task] = deque()
        self.later: deque[Task] = deque()  # begun when nothing waits any more
        self.suspended: deque[AuditWorker] = deque()
        self.again: deque[tuple[Task, float]] = deque()  # stopped, after so many seconds
        self._assessed: dict[str, Assessment] = {}
        self._setup = replace(setup, describes=True)
        self._memory = available_memory(workers)
        self._pool: pool.Pool[AuditWorker] = pool.Pool(self._new_worker)
        for _ in range(workers):
            self._pool.start_worker()

    def _new_worker(self, on_message: Callable[[Any, Frame | None], None]) -> AuditWorker:
        setup = self._setup
        self._setup = replace(setup, describes=False)  # one of them says what the networks are
        return AuditWorker(on_message, setup, self._memory)

    @property
    def workers(self) -> list[AuditWorker]:
        """Those that are not suspended."""
        return self._pool.workers

    def _end(self, worker: AuditWorker) -> None:
        self.workers.remove(worker)
        worker.end()

    def close(self) -> None:
        for worker in list(self.workers):
            self._end(worker)
        for worker in self.suspended:
            worker.end()

    def run(self, tasks: Sequence[Task], clock: Clock, done: Done, progress: Progress) -> None:
        """Perform the tasks in order and hand over each outcome; `progress` is told the ids of those under way."""
        fairness = Fairness()
        for task in tasks:
            (self.later if task.later else self.waiting).append(
                replace(task, looking=not task.is_fact)
            )
        while (
            self.waiting
            or self.later
            or self.suspended
            or self.again
            or any(w.task for w in self.workers)
        ):
            if any(worker.ready for worker in self.workers):
                clock.begin()
            if clock.left <= 0:
                self._give_up(clock, done)
                break
            self._assign(clock, done)
            progress([w.task.id for w in self.workers if w.task])
            for worker, frame in self._pool.messages(min(TICK, clock.left)):
                self._on_message(worker, frame, done)
            clock.held += fairness.look([worker for worker in self.workers if worker.task])
            self._stop_late(clock)
        while not self.portraits:  # the worker that makes them has not been ready yet
            for worker, frame in self._pool.messages(TICK):
                if worker.task is None:
                    self._on_message(worker, frame, done)

    def _stop_late(self, clock: Clock) -> None:
        for worker in list(self.workers):
            task = worker.task
            if task is None or not (self.waiting or self.suspended):
                continue
            share = clock.share_of(task)
            turn = max(TURN * share, WORTH * self.loading) * LONGER[task.is_fact] ** worker.turns
            if worker.busy_for > turn and self._can_suspend():
                self._set_aside(worker)
            elif worker.busy_for > max(share, turn) and self.waiting:
                self.again.append((replace(task, looking=False), worker.busy_for))
                self._end(worker)
                self._pool.start_worker()

    def _can_suspend(self) -> bool:
        """Whether one more process can be suspended: with nothing waiting it is an exchange."""
        if not self.waiting:
            return True
        fits = (available_memory(1) or inf) > 2 * LEAST_MEMORY
        return hasattr(signal, "SIGSTOP") and len(self.suspended) < MOST_SUSPENDED and fits

    def _set_aside(self, worker: AuditWorker) -> None:
        """Suspend it, and give its place to a task that waits."""
        worker.set_aside()
        self.workers.remove(worker)
        self.suspended.append(worker)
        if self.waiting:
            self._pool.start_worker()
        else:
            self._resume()

    def _resume(self, worker: AuditWorker | None = None) -> None:
        worker = worker or self.suspended[0]
        self.suspended.remove(worker)
        self.workers.append(worker)
        worker.go_on()
        for frame in worker.unheard:
            self._pool.put_back(worker, frame)
        worker.unheard.clear()

    def _fact_to_go_on(self) -> AuditWorker | None:
        """A fact that was set aside: whose process has evaluated what all facts that wait need, so that no other has to
        do it again; or once, where a theorem would be looked at or begin now."""
        aside = [w for w in self.suspended if w.task is not None and w.task.is_fact]
        facts = [task for task in self.waiting if task.is_fact]
        if facts:
            held = set().union(*(w.has for w in aside)) - {""}
            needed = {task.shares for task in facts}
            return next((w for w in aside if needed <= held and facts[0].shares in w.has), None)
        return next((w for w in aside if self.waiting and w.turns == 1), None)

    def _assign(self, clock: Clock, done: Done) -> None:
        for worker in [w for w in self.workers if w.ready and w.task is None]:
            if not self.waiting:
                self.waiting, self.later = self.later, self.waiting
            fact = self._fact_to_go_on()
            if self.waiting and fact is None:
                self._begin(worker, self._next_task(worker))
            elif self.suspended:
                self._end(worker)
                self._resume(fact)
            while worker.task is None and self.again and worker in self.workers:
                task, before = self.again.popleft()
                if clock.left > before:
                    self._begin(worker, task)
                else:
                    done(task, describe_stop(task, before, clock))

    def _next_task(self, worker: AuditWorker) -> Task:
        """The first that waits, but for facts whose shared evaluation another process has and this one has not."""
        elsewhere = (
            set().union(*(other.has for other in (*self.workers, *self.suspended))) - worker.has
        )
        facts = [task for task in self.waiting if task.is_fact]
        task = next((task for task in facts if task.shares not in elsewhere), self.waiting[0])
        self.waiting.remove(task)
        return task

    def _begin(self, worker: AuditWorker, task: Task) -> None:
        worker.begin(task, self._assessed.get(task.id))

    def _on_message(self, worker: AuditWorker, frame: Frame | None, done: Done) -> None:
        if worker in self.suspended:
            worker.unheard.append(frame)
        elif worker not in self.workers:  # it was ended meanwhile
            return
        elif frame is None:
            self._on_death(worker, done)
        elif frame[0]["kind"] == "broken":
            error = load(frame[1])
            raise CannotLoad(str(error)) from error
        elif frame[0]["kind"] == "ready":
            self._know_networks(load(frame[1]))
            worker.ready = True
            self.loading = max(self.loading, monotonic() - worker.started)
        else:
            self._on_outcome(worker, load(frame[1]), done)

    def _know_networks(self, portraits: tuple[Portrait, ...]) -> None:
        """What the worker that describes the networks says of them."""
        if portraits:
            self.portraits = portraits
            self._on_portraits(portraits)

    def _on_outcome(self, worker: AuditWorker, outcome: Outcome | Assessment, done: Done) -> None:
        task = worker.task
        worker.task = None
        assert task is not None
        if isinstance(outcome, Assessment):
            self._assessed[task.id] = outcome
            self.waiting.append(replace(task, looking=False))
        else:
            done(task, outcome)

    def _on_death(self, worker: AuditWorker, done: Done) -> None:
        """A worker died by itself: what it did is lost, and why is told."""
        self._end(worker)
        tail = worker.stderr_tail()
        if worker.task is None:
            raise CannotLoad(tail or "the worker ended")
        why = f"its process ended with {worker.ending}{f': {tail}' if tail else ''}"
        done(
            worker.task,
            Skipped(
                worker.task.id, why, "most often memory: fewer rows or a smaller network need less"
            ),
        )
        self._pool.start_worker()

    def _give_up(self, clock: Clock, done: Done) -> None:
        for worker in self.workers:
            if worker.task is not None:
                done(worker.task, describe_stop(worker.task, worker.busy_for, clock))
        for worker in self.suspended:
            if worker.task is not None:
                done(worker.task, describe_stop(worker.task, worker.spent, clock))
        for task, before in self.again:
            done(task, describe_stop(task, before, clock))
        for task in (*self.waiting, *self.later):
            done(task, not_begun(task, clock))


@contextmanager
def open_pool(
    setup: Setup, workers: int, on_portraits: OnPortraits = lambda portraits: None
) -> Iterator[Pool]:
    """A pool that ends with the block; `on_portraits` is told what the networks are as soon as they are read."""
    opened = Pool(setup, workers, on_portraits)
    try:
        yield opened
    finally:
        opened.close()
