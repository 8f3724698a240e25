"""One run: chunks of steps, and between them records, rules, checkpoints, Ctrl-C. And what comes of it."""

import time
import warnings
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import jax
import numpy as np

from ftheta.logic.errors import SubjectError, UsageError
from ftheta.networks.description import Description
from ftheta.networks.saving import save as save_description
from ftheta.processes import interrupts

from .checkpoint import Checkpoint, Saved, write
from .history import History, Recorder
from .machine import Evaluation, Machine
from .program import State, finite, on_host
from .progress import Line
from .stopping import Best, End, Stop, first_end, say_out_of_patience
from .trouble import Trouble, locate

# between two looks at the clock, the keyboard and the rules; each look costs up to 15 ms
CHUNK_SECONDS = 0.5


class Watching(Protocol):
    """What looks at a run from time to time: `ft.watch()`."""

    def follow_fit(
        self, step: int, loss: float, machine: Machine, params: Any, step_size: float | None
    ) -> None:
        """After `step` steps, with the loss of the last and the step size of plain gradient descent."""
        ...


@dataclass(frozen=True)
class Plan:
    """How long a run goes and what is done on the way; no bit of the parameters depends on it."""

    steps: int
    stop: Stop
    every: int = 1
    evaluation: Evaluation | None = None
    checkpoint: Checkpoint | None = None
    progress: bool | None = None
    told: str = ""
    watch: Watching | None = None
    step_size: float | None = None  # of plain gradient descent


class Point(NamedTuple):
    """The last state that is certain: `state` in NumPy after `step` steps."""

    step: int
    state: State
    best: Best


def begin(machine: Machine) -> Saved:
    """A run before its first step."""
    nothing = Recorder(1).history(0, np.dtype(float))
    return Saved(0, machine.start, nothing, Best(), 0.0)


def run(machine: Machine, plan: Plan, saved: Saved) -> "Fit":
    """Continue from `saved` until the plan ends it."""
    if saved.step > plan.steps:
        got = f"steps={plan.steps:,}, {saved.step:,} are done"
        raise UsageError(
            "The run has gone further than that.", got=got, remedy="`steps` counts from the start"
        )
    return _Run(machine, plan, saved).go()


class _Run:
    def __init__(self, machine: Machine, plan: Plan, saved: Saved) -> None:
        self.machine = machine
        self.plan = plan
        self.saved = saved
        self.at = Point(saved.step, saved.state, saved.best)
        self.recorder = Recorder(plan.every, saved.history if saved.step else None)
        self.ended: End | None = None  # found inside the last chunk
        self.trouble: Trouble | None = None
        self.began = self.written = time.perf_counter()
        self.pace = 0.0  # steps per second, of the last chunk

    def go(self) -> "Fit":
        end = None
        interrupted = False
        with Line(self.plan.steps, self.plan.progress) as line:
            if self.at.step < self.plan.steps:
                line.say("compiling…")
                self.machine.compile()
            self.began = self.written = time.perf_counter()
            try:
                state = self.machine.device(self.at.state)
                while (end := self._end_here(state)) is None:
                    state, loss = self._chunk(state)
                    line.now(self.at.step, loss, self.pace)
                    self._watch(loss)
                    self._keep()
            except KeyboardInterrupt:
                interrupts.heed()
                interrupted = True
        self._keep(at_once=True)
        return self._fit("interrupted" if end is None else end.reason, interrupted)

    def _watch(self, loss: float) -> None:
        if self.plan.watch is not None and self.trouble is None:
            self.plan.watch.follow_fit(
                self.at.step, loss, self.machine, self.at.state.params, self.plan.step_size
            )

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    def _end_here(self, state: State) -> End | None:
        """The end that applies before the next step, after the evaluation that is due."""
        step = self.at.step
        stop = self.plan.stop
        evaluation = self.plan.evaluation
        if self.ended is not None:
            return self.ended
        if (
            evaluation is not None
            and step % evaluation.every == 0
            and self.recorder.last_evaluation < step
        ):
            self._evaluate(evaluation, state)
            if (
                evaluation.validates
                and stop.patience is not None
                and step - self.at.best.step >= stop.patience
            ):
                return End(step, say_out_of_patience(stop.patience))
        if step >= self.plan.steps:
            return End(step, f"{self.plan.steps:,} steps")
        if stop.seconds is not None and self.seconds >= stop.seconds:
            return End(step, f"{stop.seconds:g} seconds")
        return None

    def _evaluate(self, evaluation: Evaluation, state: State) -> None:
        value, metrics = evaluation.look(state.params)
        validation = float(value) if evaluation.validates else None
        self.recorder.record_evaluation(
            self.at.step, validation, {name: float(v) for name, v in metrics.items()}
        )
        if validation is not None:
            self.at = self.at._replace(
                best=self.at.best.after(np.array([validation]), self.at.step)
            )

    def _chunk(self, state: State) -> tuple[State, float]:
        """A chunk of steps from the committed point, committed up to its end or to where a rule or trouble ends it."""
        first = self.at.step
        count = self._length()
        started = time.perf_counter()
        chunk = self.machine.roll(state, first, count)
        losses = np.array(chunk.losses)[:count]
        gradients = np.array(chunk.gradients)[:count]
        after = on_host(chunk.state)
        self.pace = count / (time.perf_counter() - started)
        judged = None if self._validates else self.at.best
        end = first_end(self.plan.stop, judged, losses, gradients, first)
        taken = count
        reached = after
        if not (np.isfinite(losses).all() and finite(after.params)):
            self.trouble, taken, reached = self._find_trouble(losses)
            self.ended = End(first + taken, "not finite")
        if end is not None and end.step <= first + taken:
            self.trouble = None
            self.ended = end
            taken = end.step - first
            reached = self._replay(taken)
        best = self.at.best if self._validates else self.at.best.after(losses[:taken], first)
        self.recorder.add(first, losses[:taken], gradients[:taken])
        self.at = Point(first + taken, reached, best)
        return chunk.state, float(losses[-1])

    @property
    def _validates(self) -> bool:
        return self.plan.evaluation is not None and self.plan.evaluation.validates

    def _length(self) -> int:
        """Steps of the next chunk, first one: about half a second, not beyond an evaluation or the end."""
        seconds = CHUNK_SECONDS
        stop = self.plan.stop
        evaluation = self.plan.evaluation
        if stop.seconds is not None:
            seconds = min(seconds, stop.seconds - self.seconds)
        count = min(
            max(int(self.pace * seconds), 1), self.machine.room, self.plan.steps - self.at.step
        )
        return (
            count
            if evaluation is None
            else min(count, evaluation.every - self.at.step % evaluation.every)
        )

    def _replay(self, count: int) -> State:
        """The state `count` steps after the committed point."""
        if count == 0:
            return self.at.state
        return on_host(
            self.machine.roll(self.machine.device(self.at.state), self.at.step, count).state
        )

    def _find_trouble(self, losses: np.ndarray) -> tuple[Trouble, int, State]:
        """Replay the chunk step by step: the trouble, how many steps went well, and the last finite state."""
        first = self.at.step
        machine = self.machine
        bad = int(np.argmin(np.isfinite(losses))) if not np.isfinite(losses).all() else len(losses)
        k = max(bad - 2, 0)
        now = self._replay(k)
        before = None
        if not finite(now.params):  # parameters can be infinite while the loss is not
            k = 0
            now = self.at.state
        while True:
            chunk = machine.roll(machine.device(now), first + k, 1)
            after = on_host(chunk.state)
            if not (
                np.isfinite(np.asarray(chunk.losses)[0]) and finite(after.params)
            ) or k + 1 >= len(losses):
                batch = machine.batch(first + k)
                return (
                    locate(machine.model, machine.problem, (before, now, after), first + k, batch),
                    k,
                    now,
                )
            before = now
            now = after
            k = k + 1

    def _history(self) -> History:
        return self.recorder.history(self.at.step, np.dtype(float))

    def _save(self) -> Saved:
        return Saved(
            self.at.step,
            self.at.state,
            self._history(),
            self.at.best,
            self.saved.seconds + self.seconds,
        )

    def _keep(self, at_once: bool = False) -> None:
        place = self.plan.checkpoint
        if place is not None and (at_once or time.perf_counter() - self.written >= place.seconds):
            try:
                write(place.path, self._save(), self.machine.identity)
            except OSError as error:  # a full disk must not cost the run
                told = f"The checkpoint {place.path} was not written: {error.strerror or error}. The run goes on."
                warnings.warn(told, stacklevel=2)
            self.written = time.perf_counter()

    def _fit(self, reason: str, interrupted: bool) -> "Fit":
        return Fit(self.machine, self.plan, self._save(), reason, interrupted, self.trouble)


@dataclass(frozen=True, eq=False)
class Fit:
    """A run so far: the `network` after `steps` steps, its `history`, and why it ended (`stopped_by`).

    `trouble` says where a number stopped being finite; the network is then the last finite one. `interrupted` is true
    after Ctrl-C. `resume` continues.
    """

    _machine: Machine = field(repr=False)
    _plan: Plan = field(repr=False)
    _saved: Saved = field(repr=False)
    stopped_by: str
    interrupted: bool = False
    trouble: Trouble | None = None

    @cached_property
    def network(self) -> Any:
        """The trained network, of the kind that was given."""
        return self._machine.model.rebuild(self._saved.state.params)

    @property
    def params(self) -> Any:
        return self._saved.state.params

    @property
    def history(self) -> History:
        return self._saved.history

    @property
    def steps(self) -> int:
        return self._saved.step

    @property
    def seconds(self) -> float:
        """Of training, without compilation."""
        return self._saved.seconds

    @property
    def compile_seconds(self) -> float:
        return self._machine.compile_seconds

    @cached_property
    def loss(self) -> float:
        """The mean loss of the network over all rows of the training data."""
        with jax.enable_x64(True):
            return self._machine.risk(self.params)

    def resume(self, steps: int | None = None, *, stop: Stop | None = None) -> "Fit":
        """Go on: to the planned end, or to so many `steps` in all; `stop` replaces the rules."""
        rules = self._plan.stop if stop is None else stop
        if rules.gradient is not None and not self._machine.problem.norms:
            raise UsageError(
                "Gradient norms were not recorded.",
                remedy="call fit with Stop(gradient=…) from the start",
            )
        plan = replace(self._plan, steps=self._plan.steps if steps is None else steps, stop=rules)
        with jax.enable_x64(True):
            return run(self._machine, plan, self._saved)

    def save(self, path: str | Path) -> None:
        """Write the network as a weight list that `ftheta.load` reads."""
        description = (
            self.network
            if isinstance(self.network, Description)
            else getattr(self.network, "description", 0)
        )
        if not isinstance(description, Description):
            remedy = "save the parameters with the library that made the network"
            raise SubjectError(
                "Only lists of layers are written.", got=type(self.network).__name__, remedy=remedy
            )
        save_description(description, Path(path))

    @property
    def document(self) -> dict[str, Any]:
        """The run as plain values, for JSON."""
        told = {
            "steps": self.steps,
            "loss": self.loss,
            "stopped_by": self.stopped_by,
            "interrupted": self.interrupted,
        }
        told |= {"seconds": self.seconds, "compile_seconds": self.compile_seconds}
        return told | {"trouble": None if self.trouble is None else str(self.trouble)}

    def __str__(self) -> str:
        model = self._machine.model
        n = len(self._machine.examples)
        losses = self.history.loss
        size = (
            "all rows" if self._machine.batches is None else f"{self._machine.batches.size:,} rows"
        )
        went = f"loss {losses[0]:.4g} → {losses[-1]:.4g}" if len(losses) else "no loss recorded"
        rate = (
            f", {self.steps / self.seconds:,.0f} steps/s" if self.seconds > 0 and self.steps else ""
        )
        lines = [
            f"{model.name} ({model.parameters:,} parameters) on {self._machine.examples.name} ({n:,} rows)",
            f"  {self._plan.told}, {size} per step",
            f"  {self.steps:,} steps, {went}; stopped by: {self.stopped_by}",
            f"  {self.seconds:.2f} s{rate}; compiled in {self.compile_seconds:.2f} s",
        ]
        return "\n".join([*lines, f"  {self.trouble}"] if self.trouble else lines)

    __repr__ = __str__
