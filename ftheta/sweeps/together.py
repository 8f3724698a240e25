r"""Networks of equal shape trained together, with the bits of each one trained alone.

A small network is one of `LANES` that a vectorised program trains side by side; a large one has the processor to
itself, one after the other, its weights in the cache. Which, is decided by its shape alone. The program takes the
number of steps as an argument and always has `LANES` lanes, short groups being filled up, so that one program serves
every group: no cell can tell who its neighbours are. That no lane differs from another is checked when it is compiled.
"""

import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.networks import random_mlp
from ftheta.networks.activations import activation
from ftheta.training.batches import CAPACITY, Batches, BatchRows
from ftheta.training.examples import Examples, examples_of
from ftheta.training.losses import LOSSES
from ftheta.training.models import model_of
from ftheta.training.optimisers import OPTIMISERS
from ftheta.training.program import Chunk, Problem, State

from .grid import Cell
from .store import Outcome
from .trains import describe_failure

LANES = 16
SMALL = 2500  # activations of a hidden network, rows × widths, up to which lanes pay
NOISE = 2**32 - 1  # the stream of a seed that makes the noise
CLASSES = ("cross-entropy", "logistic", "hinge")


class Shape(NamedTuple):
    """What the compiled program depends on."""

    widths: tuple[int, ...]
    activation: str
    loss: str
    optimiser: str
    decays: bool
    batch: int | None
    rows: int
    test_rows: int
    own_inputs: bool  # each network has inputs of its own
    dtype: str

    @property
    def lanes(self) -> int:
        rows = self.rows if self.batch is None else min(self.batch, self.rows)
        return LANES if rows * sum(self.widths[1:]) <= SMALL else 1


Prepared: TypeAlias = tuple[tuple[int, ...], Examples, Examples | None]
"""The widths of a network, and its data and test data as it takes them."""


class Numbers(NamedTuple):
    """What a network has for itself besides its data: traced, so that one program serves all."""

    step: Any
    decay: Any


@dataclass(frozen=True, eq=False)
class Member:
    """One network before training, its weights (in, out), and what is kept of it: see `Networks`."""

    shape: Shape
    steps: int
    params: list[tuple[np.ndarray, np.ndarray]]
    numbers: Numbers
    train: Examples
    test: Examples | None
    seed: int
    record: int | None
    keep: bool


@dataclass(frozen=True, eq=False)
class Perceptron(Problem):
    """The problem of `fit`, for a network that takes all rows at once."""

    def risk(self, params: Any, x: Any, y: Any, valid: Any = None) -> jax.Array:
        losses = jax.vmap(self.loss)(self.apply(params, x), y)
        if valid is None:
            return jnp.mean(losses)
        return jnp.sum(jnp.where(valid, losses, 0)) / jnp.sum(valid).astype(losses.dtype)


def train_together(
    cells: Sequence[Cell], member_of: Callable[[Cell], Member]
) -> Iterator[tuple[int, Outcome]]:
    """The outcome of each cell by its number."""
    with jax.enable_x64(True):
        groups: dict[Hashable, list[tuple[int, Member]]] = {}
        for i, cell in enumerate(cells):
            started = time.perf_counter()
            try:
                member = member_of(cell)
            except Exception as failure:
                yield i, Outcome(None, describe_failure(failure), time.perf_counter() - started)
                continue
            groups.setdefault((member.shape, member.steps), []).append((i, member))
        for group in groups.values():
            yield from _train_group(group)


def _train_group(group: list[tuple[int, Member]]) -> Iterator[tuple[int, Outcome]]:
    first = group[0][1]
    try:
        program = _program(first.shape, first.shape.lanes)
    except Exception as failure:
        yield from ((i, Outcome(None, describe_failure(failure), 0.0)) for i, _ in group)
        return
    if not program.fair(first):
        program = _program(first.shape, 1)
    for at in range(0, len(group), program.lanes):
        part = group[at : at + program.lanes]
        started = time.perf_counter()
        try:
            results = program.train([member for _, member in part])
        except Exception as failure:
            yield from (
                (i, Outcome(None, describe_failure(failure), time.perf_counter() - started))
                for i, _ in part
            )
            continue
        seconds = (time.perf_counter() - started) / len(part)
        yield from ((i, Outcome(result, None, seconds)) for (i, _), result in zip(part, results))


# one cell


def make_member(
    of: Callable[[str], Any],
    prepared: Prepared,
    seed: int,
    *,
    own_inputs: bool,
    dtype: str,
    record: int | None,
    keep: bool,
) -> Member:
    """The network of a cell: `of(name)` is a setting, `prepared` its widths and data from `prepare_data`."""
    widths, train, tested = prepared
    train = Examples(train.name, train.x, _noisy(of("loss"), train.y, float(of("noise")), seed))
    net = random_mlp(
        np.random.default_rng(seed), widths, of("activation"), gain=of("gain"), bias=of("bias")
    )
    number = np.dtype(dtype).type
    step = of("step")
    params = [
        (np.ascontiguousarray(weight.T, number), bias.astype(number)) for weight, bias in net.params
    ]
    numbers = Numbers(
        number(OPTIMISERS[of("optimiser")][2] if step is None else step), number(of("decay") or 0.0)
    )
    test_rows = 0 if tested is None else len(tested)
    batch = None if of("batch") is None else int(of("batch"))
    if batch is not None and batch > len(train):
        raise ValueError(f"the batch is larger than the data: {batch} of {len(train)} rows")
    shape = Shape(
        widths, of("activation"), of("loss"), of("optimiser"), of("decay") is not None, batch, len(train), test_rows,
        own_inputs, dtype,
    )  # fmt: skip
    return Member(shape, int(of("steps")), params, numbers, train, tested, seed, record, keep)


def prepare_data(
    data: Any, test: Any, widths: tuple[int, ...], loss: str, rows: int | None, dtype: str
) -> Prepared:
    """The widths of the whole network and the data as it takes them, checked as `fit` checks them."""
    x, y = (np.asarray(part) for part in ((data.x, data.y) if hasattr(data, "x") else data))
    if rows is not None and rows > len(x):
        raise ValueError(f"there are not so many rows: {rows} of {len(x)}")
    outputs = y[0].size
    if loss == "cross-entropy" and outputs == 1:
        outputs = max(int(np.max(y)) + 1, 2)
    full = (x[0].size, *widths, outputs)
    with jax.enable_x64(True):
        model = model_of(random_mlp(np.random.default_rng(0), full), dtype)
        tested = None if test is None else examples_of(test, model, LOSSES[loss])
        return full, examples_of((x[:rows], y[:rows]), model, LOSSES[loss]), tested


def _noisy(loss: str, y: np.ndarray, noise: float, seed: int) -> np.ndarray:
    if noise == 0:
        return y
    rng = np.random.default_rng([seed, NOISE])
    if loss not in CLASSES:
        return (y + noise * rng.normal(size=y.shape)).astype(y.dtype)
    if noise > 1:
        raise ValueError(f"the share of noisy labels is at most 1: noise={noise}")
    wrong = rng.random(len(y)) < noise
    turn = rng.random(len(y))
    if loss != "cross-entropy":
        return np.where(wrong.reshape(-1, *[1] * (y.ndim - 1)), -y, y)
    K = y.shape[1]
    other = (np.argmax(y, 1) + 1 + (turn * (K - 1)).astype(int)) % K
    return np.where(wrong[:, None], np.eye(K, dtype=y.dtype)[other], y)


# the program


@lru_cache(maxsize=32)
def _program(shape: Shape, lanes: int) -> "Program":
    return Program(shape, lanes)


class Program:
    """Training and evaluation of `lanes` networks of one shape, compiled."""

    def __init__(self, shape: Shape, lanes: int) -> None:
        self.shape = shape
        self.lanes = lanes
        self.batches = None if shape.batch is None else Batches(shape.batch)
        self.room = CAPACITY if self.batches is None else self.batches.capacity
        inputs = 0 if shape.own_inputs else None
        rows = 0 if self.batches is not None else None
        self._start = self._compile(self._start_one, (0, 0))
        self._roll = self._compile(self._roll_one, (0, inputs, 0, 0, rows, None), donate_argnums=0)
        self._measure = self._compile(
            self._measure_one, (0, *[(inputs, 0)] * (2 if shape.test_rows else 1))
        )
        self._fair: bool | None = None if lanes > 1 else True

    def _compile(self, f: Any, axes: Any, **how: Any) -> Any:
        return jax.jit(f if self.lanes == 1 else jax.vmap(f, axes), **how)

    def _problem(self, numbers: Numbers) -> Perceptron:
        shape = self.shape
        maker, options, _ = OPTIMISERS[shape.optimiser]
        if shape.decays and maker == "adamw":
            made = optax.adamw(numbers.step, weight_decay=numbers.decay)
        else:
            made = getattr(optax, maker)(numbers.step, **options)
            made = (
                optax.chain(optax.add_decayed_weights(numbers.decay), made)
                if shape.decays
                else made
            )
        made = optax.flatten(made) if self.lanes > 1 else made
        return Perceptron(self._apply, LOSSES[shape.loss].of, optax.with_extra_args_support(made))

    def _apply(self, params: Any, x: Any) -> jax.Array:
        """All rows at once, with weights (in, out): half the time of one row after the other."""
        sigma = activation(self.shape.activation).function
        for weight, bias in params[:-1]:
            x = sigma(x @ weight + bias)
        weight, bias = params[-1]
        return x @ weight + bias

    def _start_one(self, params: Any, numbers: Numbers) -> State:
        return self._problem(numbers).start(params)

    def _roll_one(
        self, state: State, x: Any, y: Any, numbers: Numbers, rows: BatchRows | None, count: Any
    ) -> Chunk:
        return self._problem(numbers).roll(state, x, y, rows, self.room, count)

    def _measure_one(
        self, params: Any, *sets: tuple[Any, Any]
    ) -> list[tuple[jax.Array, jax.Array]]:
        """Of each set of examples the mean loss and, for classes, the share that is wrong."""
        return [self._measure_set(params, x, y) for x, y in sets]

    def _measure_set(self, params: Any, x: Any, y: Any) -> tuple[jax.Array, jax.Array]:
        predictions = self._apply(params, x)
        loss = jnp.mean(jax.vmap(LOSSES[self.shape.loss].of)(predictions, y))
        if self.shape.loss == "cross-entropy":
            wrong = jnp.argmax(predictions, 1) != jnp.argmax(y, 1)
        else:
            wrong = predictions * y <= 0
        return loss, jnp.mean(wrong.astype(loss.dtype))

    def fair(self, member: Member) -> bool:
        """Whether equal networks in all lanes stay equal: then none depends on its lane."""
        if self._fair is None:
            same = self._stack([member] * self.lanes)
            rows = self._rows([member] * self.lanes, 0, 3)
            chunk = self._roll(self._start(*same[:2]), *same[2:], same[1], rows, np.int32(3))
            leaves = [np.asarray(leaf) for leaf in jax.tree.leaves((chunk.state, chunk.losses))]
            self._fair = all(
                np.array_equal(leaf, np.broadcast_to(leaf[:1], leaf.shape), True) for leaf in leaves
            )
        return self._fair

    def train(self, members: list[Member]) -> list[dict[str, Any]]:
        """The result of each, at most one a lane."""
        full = [*members, *[members[0]] * (self.lanes - len(members))]
        params, numbers, x, y = self._stack(full)
        state = self._start(params, numbers)
        losses = list[np.ndarray]()
        for first in range(0, full[0].steps, self.room):
            count = min(self.room, full[0].steps - first)
            chunk = self._roll(
                state, x, y, numbers, self._rows(full, first, count), np.int32(count)
            )
            state = chunk.state
            losses.append(np.asarray(chunk.losses).reshape(self.lanes, -1)[:, :count])
            if not np.isfinite(np.concatenate(losses, 1)).all(1).any():
                break  # nobody has anything to lose
        history = (
            np.concatenate(losses, 1) if losses else np.zeros((self.lanes, 0), self.shape.dtype)
        )
        found = self._measure_members(full, state.params, x, y)
        weights = jax.tree.map(
            lambda leaf: np.asarray(leaf).reshape(self.lanes, *leaf.shape[self.lanes > 1 :]),
            state.params,
        )
        return [
            self._result(
                member, {name: values[i] for name, values in found.items()}, history[i], weights, i
            )
            for i, member in enumerate(members)
        ]

    def _measure_members(
        self, members: list[Member], params: Any, *train: Any
    ) -> dict[str, np.ndarray]:
        tests = [member.test for member in members if member.test is not None]
        found = zip(
            ("train", "test"),
            self._measure(params, train, *[self._examples(tests)] if tests else []),
        )
        kinds = ("loss", "error") if self.shape.loss in CLASSES else ("loss",)
        named = {
            f"{which}_{kind}": values for which, pair in found for kind, values in zip(kinds, pair)
        }
        order = sorted(named, key=lambda name: name.split("_")[1] == "error")
        return {name: np.asarray(named[name]).reshape(self.lanes) for name in order}

    def _result(
        self, member: Member, found: dict[str, Any], losses: np.ndarray, weights: Any, lane: int
    ) -> dict[str, Any]:
        """A run whose loss was not finite at some step says which, and nothing else."""
        bad = np.flatnonzero(~np.isfinite(losses))
        ended = len(bad) > 0 or not np.isfinite(found["train_loss"])
        result: dict[str, Any] = {
            name: float("nan") if ended else float(value) for name, value in found.items()
        }
        result["diverged_at"] = (int(bad[0]) if len(bad) else member.steps) if ended else None
        result["parameters"] = sum(a * b + b for a, b in pairwise(self.shape.widths))
        if member.record is not None:
            result["losses"] = losses[: bad[0] + 1 if len(bad) else None][:: member.record].copy()
        if member.keep and not ended:
            for i, (weight, bias) in enumerate(weights):
                result |= {f"W{i}": weight[lane].T.copy(), f"b{i}": bias[lane].copy()}
        return result

    def _stack(self, members: list[Member]) -> tuple[Any, Any, Any, Any]:
        one = self.lanes == 1
        stack = lambda trees: (
            trees[0] if one else jax.tree.map(lambda *leaves: np.stack(leaves), *trees)
        )
        x, y = self._examples([m.train for m in members])
        return stack([m.params for m in members]), stack([m.numbers for m in members]), x, y

    def _examples(self, examples: list[Examples]) -> tuple[np.ndarray, np.ndarray]:
        if self.lanes == 1:
            return examples[0].x, examples[0].y
        x = np.stack([e.x for e in examples]) if self.shape.own_inputs else examples[0].x
        return x, np.stack([e.y for e in examples])

    def _rows(self, members: list[Member], first: int, count: int) -> BatchRows | None:
        if self.batches is None:
            return None
        found = [self.batches.rows(len(m.train), m.seed, first, count) for m in members]
        return (
            found[0] if self.lanes == 1 else jax.tree.map(lambda *leaves: np.stack(leaves), *found)
        )
