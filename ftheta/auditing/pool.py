"""Tasks in worker processes, within a budget that holds: a task that takes too long is killed, and only it is lost.

Facts come first, then a look at the hypotheses of the theorems, then those that apply (see `plan`). While others wait
a task may take a turn; then its process is set aside (suspended) and goes on later, with longer turns: facts before
the theorems that apply, until they have used their share, and everything else when nothing waits any more. Where
there is no room for that, a task that has used its share of the budget is stopped and, if time is left in the end,
tried once more with all of it. Nothing begins or goes on when the budget is used up. A killed worker is replaced.

The budget runs from when the first worker is ready. Neither it nor the turns of tasks count time in which the machine
was busy with other processes or kernels were compiled (`fairness`): what is found depends little on either.
"""

import os
import pickle
import selectors
import signal
import subprocess
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any

from ftheta.caching import compiled_kept
from ftheta.logic import Skipped

from .budget import Clock, told
from .fairness import CompilationRecord, Fairness
from .memory import LEAST, available
from .performing import Outcome
from .plan import Task
from .worker import Setup, receive

TICK = 0.25  # seconds between two looks at the clock
TURN = 0.25  # of its share that a task takes before others have a turn
LONGER = {True: 4, False: 2}  # times, that the next turn of a fact, and of a theorem, ends later
WORTH = 1.5  # times what a new process takes to get ready: shorter turns would waste more than they save
ASIDE = 6  # processes set aside, at most
_START = [sys.executable, "-P", "-c", "from ftheta.auditing.worker import main; main()"]
Done = Callable[[Task, Outcome], None]
Told = Callable[[Sequence[str]], None]


class CannotLoad(Exception):
    """A worker could not make the networks."""


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, setup: Setup) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        self.compilation = CompilationRecord()
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self.process = subprocess.Popen(
            _START,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **compiled_kept(), "PYTHONPATH": paths},
            pass_fds=(self.compilation.descriptor,),
        )
        self.hired = monotonic()
        self.ready = False
        self.task: Task | None = None
        self.begun = inf
        self.turns = 0  # that its task has had
        self.spent = 0.0  # seconds, when it was set aside
        self.held = 0.0  # seconds that its task was not charged for
        self._say(replace(setup, record=self.compilation.descriptor))

    def _say(self, value: Any) -> None:
        data = pickle.dumps(value)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died: that is noticed where it should answer
            self.process.stdin.write(len(data).to_bytes(8, "little") + data)
            self.process.stdin.flush()

    def take(self, task: Task) -> None:
        self.task, self.begun, self.turns, self.held = task, monotonic(), 0, 0.0
        self._say(task)

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def compiled(self) -> float:
        """Seconds that it has spent compiling kernels."""
        return self.compilation.seconds

    @property
    def busy_for(self) -> float:
        return monotonic() - self.begun - self.held if self.task is not None else 0.0

    def rest(self) -> None:
        self.spent, self.turns = self.busy_for, self.turns + 1
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        self.begun = monotonic() - self.spent
        self.held = 0.0
        self.process.send_signal(signal.SIGCONT)

    def heard(self) -> tuple[bool, Any]:
        """Whether it is alive, and its answer."""
        data = receive(self.process.stdout)
        return (False, None) if data is None else (True, pickle.loads(data))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]
        self.compilation.close()

    def last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:160] if lines else ""


class Pool:
    """The workers and the tasks they share."""

    def __init__(self, setup: Setup, workers: int) -> None:
        self.setup = setup
        self.size = workers
        self.ears = selectors.DefaultSelector()
        self.workers: list[_Worker] = []
        self.loading = 0.0  # seconds that the slowest worker took to get ready
        self.waiting: deque[Task] = deque()
        self.later: deque[Task] = deque()  # begun when nothing waits any more
        self.aside: deque[_Worker] = deque()
        self.again: deque[tuple[Task, float]] = deque()  # stopped, after so many seconds
        for _ in range(workers):
            self._hire()

    def _hire(self) -> None:
        self._admit(_Worker(self.setup))

    def _admit(self, worker: _Worker) -> None:
        self.workers.append(worker)
        self.ears.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    def _part_from(self, worker: _Worker) -> None:
        self.ears.unregister(worker.process.stdout)  # type: ignore[arg-type]
        self.workers.remove(worker)

    def _dismiss(self, worker: _Worker) -> None:
        self._part_from(worker)
        worker.kill()

    def close(self) -> None:
        for worker in list(self.workers):
            self._dismiss(worker)
        for worker in self.aside:
            worker.kill()
        self.ears.close()

    def run(self, tasks: Sequence[Task], clock: Clock, done: Done, tell: Told) -> None:
        """Perform the tasks in order and hand over each outcome; `tell` learns what is being done."""
        fairness = Fairness()
        for task in tasks:
            (self.later if task.later else self.waiting).append(replace(task, looking=not task.is_fact))
        while self.waiting or self.later or self.aside or self.again or any(w.task for w in self.workers):
            if any(worker.ready for worker in self.workers):
                clock.begin()
            if clock.left <= 0:
                return self._give_up(clock, done)
            self._assign(clock, done)
            tell([w.task.id for w in self.workers if w.task])
            for key, _ in self.ears.select(max(0.0, min(TICK, clock.left))):
                self._hear(key.data, done)
            clock.held += fairness.look([worker for worker in self.workers if worker.task])
            self._stop_late(clock)

    def _stop_late(self, clock: Clock) -> None:
        for worker in list(self.workers):
            task = worker.task
            if task is None or not (self.waiting or self.aside):
                continue
            share = clock.share_of(task)
            turn = max(TURN * share, WORTH * self.loading) * LONGER[task.is_fact] ** worker.turns
            if worker.busy_for > turn and self._room():
                self._set_aside(worker)
            elif worker.busy_for > max(share, turn) and self.waiting:
                self.again.append((replace(task, looking=False), worker.busy_for))
                self._dismiss(worker)
                self._hire()

    def _room(self) -> bool:
        """Whether one more process can be set aside: with nothing waiting it is an exchange."""
        if not self.waiting:
            return True
        fits = (available(1) or inf) > 2 * LEAST
        return hasattr(signal, "SIGSTOP") and len(self.aside) < ASIDE and fits

    def _set_aside(self, worker: _Worker) -> None:
        """Suspend it, and give its place to a task that waits."""
        worker.rest()
        self._part_from(worker)
        self.aside.append(worker)
        if self.waiting:
            self._hire()
        else:
            self._resume()

    def _resume(self, worker: _Worker | None = None) -> None:
        worker = worker or self.aside[0]
        self.aside.remove(worker)
        self._admit(worker)
        worker.go_on()

    def _fact_to_go_on(self) -> _Worker | None:
        """A fact that was set aside once, where a theorem would begin now."""
        if not self.waiting or self.waiting[0].is_fact or self.waiting[0].looking:
            return None
        return next((w for w in self.aside if w.task is not None and w.task.is_fact and w.turns == 1), None)

    def _assign(self, clock: Clock, done: Done) -> None:
        for worker in [w for w in self.workers if w.ready and w.task is None]:
            if not self.waiting:
                self.waiting, self.later = self.later, self.waiting
            fact = self._fact_to_go_on()
            if self.waiting and fact is None:
                worker.take(self.waiting.popleft())
            elif self.aside:
                self._dismiss(worker)
                self._resume(fact)
            while worker.task is None and self.again and worker in self.workers:
                task, before = self.again.popleft()
                if clock.left > before:
                    worker.take(task)
                else:
                    done(task, stopped(task, before, clock))

    def _hear(self, worker: _Worker, done: Done) -> None:
        alive, answer = worker.heard()
        if alive and not worker.ready:
            if isinstance(answer, Exception):
                raise CannotLoad(str(answer)) from answer
            worker.ready = True
            self.loading = max(self.loading, monotonic() - worker.hired)
        elif alive and worker.task is not None:
            task, worker.task = worker.task, None
            if answer is None:  # its hypotheses are met
                self.waiting.append(replace(task, looking=False))
            else:
                done(task, answer)
        else:
            self._mourn(worker, done)

    def _mourn(self, worker: _Worker, done: Done) -> None:
        """A worker died by itself: what it did is lost, and why is told."""
        self._dismiss(worker)
        words = worker.last_words()
        if worker.task is None:
            raise CannotLoad(words or "the worker ended")
        code = worker.process.returncode
        why = (
            f"its process ended with {f'signal {-code}' if code < 0 else f'code {code}'}{f': {words}' if words else ''}"
        )
        done(worker.task, Skipped(worker.task.id, why, "most often memory: fewer rows or a smaller network need less"))
        self._hire()

    def _give_up(self, clock: Clock, done: Done) -> None:
        for worker in self.workers:
            if worker.task is not None:
                done(worker.task, stopped(worker.task, worker.busy_for, clock))
        for worker in self.aside:
            if worker.task is not None:
                done(worker.task, stopped(worker.task, worker.spent, clock))
        for task, before in self.again:
            done(task, stopped(task, before, clock))
        for task in (*self.waiting, *self.later):
            done(task, not_begun(task, clock))


def stopped(task: Task, after: float, clock: Clock) -> Skipped:
    return Skipped(task.id, f"stopped after {told(after)}", more_time(clock), unfinished=True)


def not_begun(task: Task, clock: Clock) -> Skipped:
    reason = f"not begun: the budget of {told(clock.budget or 0)} was used up"
    return Skipped(task.id, reason, more_time(clock), unfinished=True)


def more_time(clock: Clock) -> str:
    """How something that was not finished can be."""
    return f"give more time with `--budget {clock.more()}`, or all of it to one theorem with `--only` and its id"


@contextmanager
def pool(setup: Setup, workers: int) -> Iterator[Pool]:
    made = Pool(setup, workers)
    try:
        yield made
    finally:
        made.close()
