"""A problem with its data, compiled: chunks of steps, evaluations, and what a checkpoint must agree in."""

import hashlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from typing import Any, TypeAlias

import jax
import numpy as np

from ftheta.logic.errors import UsageError

from .batches import CAPACITY, Batches, BatchRows
from .examples import Examples
from .models import Model
from .program import Chunk, Problem, State, evaluate, on_device, on_host

Metrics: TypeAlias = Mapping[str, Callable[[Any, Any], Any]]


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The loss of the validation data, if there are any, and metrics, looked at every so many steps."""

    look: Callable[[Any], tuple[Any, dict[str, Any]]]
    validates: bool
    every: int

    @classmethod
    def of(
        cls,
        problem: Problem,
        params: Any,
        examples: Examples,
        validates: bool,
        metrics: Metrics,
        every: int,
    ) -> "Evaluation":
        """`metrics` are functions `(predictions, targets) -> number` of all rows of `examples`."""
        look = jax.jit(partial(_look, problem, metrics))
        shapes = jax.eval_shape(look, params, examples.x, examples.y)[1]
        for name, value in shapes.items():
            if getattr(value, "shape", None) != ():
                got = f"shape {getattr(value, 'shape', type(value).__name__)}"
                remedy = "average over the rows"
                raise UsageError(
                    "A metric returns one number.",
                    where=f"metrics[{name!r}]",
                    got=got,
                    remedy=remedy,
                )
        return cls(lambda params: look(params, examples.x, examples.y), validates, every)


def _look(
    problem: Problem, metrics: Metrics, params: Any, x: Any, y: Any
) -> tuple[Any, dict[str, Any]]:
    value, predictions = evaluate(problem, params, x, y)
    return value, {name: metric(predictions, y) for name, metric in metrics.items()}


@dataclass(frozen=True)
class _Program:
    """A lowered program, equal to another that says the same."""

    digest: str
    structure: Any  # of what it takes and returns
    lowered: Any = field(compare=False)

    @classmethod
    def of(cls, function: Any, *args: Any) -> "_Program":
        """`function` is jitted."""
        lowered = function.lower(*args)
        digest = hashlib.sha256(lowered.as_text().encode()).hexdigest()
        return cls(digest, (lowered.in_tree, lowered.out_tree), lowered)


@lru_cache(
    maxsize=32
)  # the next seed, or the next start, of the same problem need not be compiled again
def _compile(program: _Program) -> Any:
    return program.lowered.compile()


class Machine:
    """Everything here is a function of its arguments; states come and go."""

    def __init__(
        self, model: Model, problem: Problem, examples: Examples, batches: Batches | None, seed: int
    ) -> None:
        self.model = model
        self.problem = problem
        self.examples = examples
        self.batches = batches
        self.seed = seed
        self.compile_seconds = 0.0
        self.room = CAPACITY if batches is None else batches.capacity
        self._data = jax.device_put((examples.x, examples.y))
        self._like = _compile(_Program.of(problem.compiled_start, model.params))(model.params)
        self._compiled: Any = None

    @cached_property
    def start(self) -> State:
        """The initialisation, in NumPy."""
        return on_host(self._like)

    def device(self, state: State) -> State:
        return on_device(state, self._like)

    def compile(self) -> None:
        if self._compiled is None:
            started = time.perf_counter()
            self._compiled = _compile(self._program)
            self.compile_seconds += time.perf_counter() - started

    def roll(self, state: State, first: int, count: int) -> Chunk:
        """`count` steps from number `first`. The buffers of `state` are given away."""
        return self._compiled(state, *self._data, self.rows(first, count), np.int32(count))

    def rows(self, first: int, count: int) -> BatchRows | None:
        return (
            None
            if self.batches is None
            else self.batches.rows(len(self.examples), self.seed, first, count)
        )

    def batch(self, step: int) -> tuple[Any, ...]:
        """The rows that one step sees."""
        x = self.examples.x
        y = self.examples.y
        rows = self.rows(step, 1)
        if rows is None:
            return x, y
        numbers = rows.numbers[0] if rows.valid is None else rows.numbers[0][rows.valid[0]]
        return x[numbers], y[numbers]

    @cached_property
    def identity(self) -> dict[str, Any]:
        """What two runs must agree in for one to continue the other."""
        told = "all rows" if self.batches is None else repr(self.batches)
        start = hashlib.sha256(
            b"".join(np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(self.start.params))
        )
        run = {"data": self.examples.fingerprint, "seed": self.seed, "batches": told}
        return run | {
            "program": self._program.digest[:16],
            "initial network": start.hexdigest()[:16],
        }

    @cached_property
    def _program(self) -> "_Program":
        started = time.perf_counter()
        args = (self.device(self.start), *self._data, self.rows(0, 0), np.int32(0))
        program = _Program.of(self.problem.compiled_roll, self.room, *args)
        self.compile_seconds += time.perf_counter() - started
        return program

    def risk(self, params: Any) -> float:
        """The mean loss over all rows."""
        return float(jax.jit(partial(_look, self.problem, {}))(params, *self._data)[0])
