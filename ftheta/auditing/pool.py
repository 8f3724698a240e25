"""Tasks in worker processes, within a budget that holds: a task that takes too long is killed, and only it is lost.

Facts come first, then a look at the hypotheses of every theorem, then the theorems that apply. While others wait, a
task may take its share of the budget; then it is stopped and, if time is left in the end, tried once more with all of
it. Nothing begins or goes on when the budget is used up. A killed worker is replaced.
"""

import os
import pickle
import selectors
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
from .performing import Outcome
from .plan import Task
from .worker import Setup, receive

TICK = 0.25  # seconds between two looks at the clock
_START = [sys.executable, "-P", "-c", "from ftheta.auditing.worker import main; main()"]
Done = Callable[[Task, Outcome], None]
Told = Callable[[Sequence[str]], None]


class CannotLoad(Exception):
    """A worker could not make the networks."""


class _Worker:
    """One process, and what it is doing."""

    def __init__(self, setup: Setup) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115 (lives as long as the process)
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self.process = subprocess.Popen(
            _START,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env={**os.environ, **compiled_kept(), "PYTHONPATH": paths},
        )
        self.ready = False
        self.task: Task | None = None
        self.begun = inf
        self._say(setup)

    def _say(self, value: Any) -> None:
        data = pickle.dumps(value)
        assert self.process.stdin is not None
        with suppress(BrokenPipeError):  # it died: that is noticed where it should answer
            self.process.stdin.write(len(data).to_bytes(8, "little") + data)
            self.process.stdin.flush()

    def take(self, task: Task) -> None:
        self.task, self.begun = task, monotonic()
        self._say(task)

    @property
    def busy_for(self) -> float:
        return monotonic() - self.begun if self.task is not None else 0.0

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
        self.waiting: deque[Task] = deque()
        self.again: deque[tuple[Task, float]] = deque()  # stopped, after so many seconds
        for _ in range(workers):
            self._hire()

    def _hire(self) -> None:
        worker = _Worker(self.setup)
        self.workers.append(worker)
        self.ears.register(worker.process.stdout, selectors.EVENT_READ, worker)  # type: ignore[arg-type]

    def _dismiss(self, worker: _Worker) -> None:
        self.ears.unregister(worker.process.stdout)  # type: ignore[arg-type]
        worker.kill()
        self.workers.remove(worker)

    def close(self) -> None:
        for worker in list(self.workers):
            self._dismiss(worker)
        self.ears.close()

    def run(self, tasks: Sequence[Task], clock: Clock, done: Done, tell: Told) -> None:
        """Perform the tasks in order and hand over each outcome; `tell` learns what is being done."""
        self.waiting.extend(task if task.is_fact else replace(task, looking=True) for task in tasks)
        while self.waiting or self.again or any(w.task for w in self.workers):
            if clock.left <= 0:
                return self._give_up(clock, done)
            self._assign(clock, done)
            tell([w.task.id for w in self.workers if w.task])
            for key, _ in self.ears.select(max(0.0, min(TICK, clock.left))):
                self._hear(key.data, done)
            self._stop_late(clock)

    def _stop_late(self, clock: Clock) -> None:
        for worker in list(self.workers):
            task = worker.task
            if task is not None and self.waiting and worker.busy_for > clock.share_of(task):
                self.again.append((replace(task, looking=False), worker.busy_for))
                self._dismiss(worker)
                self._hire()

    def _assign(self, clock: Clock, done: Done) -> None:
        for worker in [w for w in self.workers if w.ready and w.task is None]:
            if self.waiting:
                worker.take(self.waiting.popleft())
            while worker.task is None and self.again:
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
        for task, before in self.again:
            done(task, stopped(task, before, clock))
        for task in self.waiting:
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
