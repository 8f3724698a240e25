r"""A training run that is watched: all rows at every step, losses and errors at chosen steps.

A hidden unit whose weights are all zero stays zero under every optimiser that acts on each number alone, if the
activation vanishes at 0: both factors of its gradients are zero. So a narrow network is a wide one with zero units, and
rows that do not count are rows with weight zero. Networks of all widths and samples of all sizes are put into a few
sizes of room, one compiled program each, which saves the compilation of every width.
"""

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from functools import cache, partial
from itertools import pairwise
from math import inf
from os import cpu_count
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax

from ftheta.graph.hurry import thorough_compiler_options
from ftheta.logic.errors import UsageError
from ftheta.networks.activations import activation
from ftheta.shapes import Float, Int, Shaped
from ftheta.sweeps.together import Numbers, Perceptron
from ftheta.training.losses import LOSSES
from ftheta.training.program import State

LEAST_ROOM = (
    32  # a narrower network takes nearly as long, and a program more to compile takes longer
)
DTYPE = np.float32
VANISHING = ("relu", "square", "tanh", "leaky-relu", "gelu", "silu", "arctan", "identity")

Layers = list[tuple[np.ndarray, np.ndarray | None]]
Cell = TypeVar("Cell")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Recipe:
    r"""How the run goes: names of the activation, the loss, and the optimiser (`adamw` or `gd`), step and decay.

    The decay λ is decoupled for `adamw`, whose second moments fade by `beta` a step; for `gd` it is the penalty
    $\frac\lambda2\|\theta\|^2$.
    """

    step: float = 0.01
    decay: float = 0.0
    activation: str = "relu"
    loss: str = "cross-entropy"
    optimiser: str = "adamw"
    beta: float = 0.999

    def __post_init__(self) -> None:
        if self.activation not in VANISHING:
            remedy = f"choose one of {', '.join(VANISHING)}"
            raise UsageError("The activation must vanish at 0.", got=self.activation, remedy=remedy)
        if self.loss not in ("cross-entropy", "squared") or self.optimiser not in ("adamw", "gd"):
            remedy = "loss: cross-entropy or squared; optimiser: adamw or gd"
            raise UsageError(
                "There is no such recipe.", got=f"{self.loss}, {self.optimiser}", remedy=remedy
            )
        if not (0 < self.step < inf and 0 <= self.decay < inf):
            raise UsageError(
                "Step and decay are finite, the step positive.", got=f"{self.step}, {self.decay}"
            )

    @property
    def static(self) -> "Static":
        return Static(self.activation, self.loss, self.optimiser, self.beta)


class Static(NamedTuple):
    """What the compiled program depends on besides shapes."""

    activation: str
    loss: str
    optimiser: str
    beta: float

    def apply(self, params: Any, x: Any) -> jax.Array:
        sigma = activation(self.activation).function
        for layer in params[:-1]:
            x = sigma(_affine(layer, x))
        return _affine(params[-1], x)

    def problem(self, numbers: Numbers) -> Perceptron:
        if self.optimiser == "adamw":
            made = optax.adamw(numbers.step, b2=self.beta, weight_decay=numbers.decay)
        else:
            made = optax.chain(optax.add_decayed_weights(numbers.decay), optax.sgd(numbers.step))
        return Perceptron(
            self.apply, LOSSES[self.loss].of, optax.with_extra_args_support(optax.flatten(made))
        )


def _affine(layer: Any, x: Any) -> Any:
    weight, bias = layer
    return x @ weight if bias is None else x @ weight + bias


class WatchedRows(NamedTuple):
    """Inputs (n, d), targets (n, K) (classes as unit vectors), and which rows count."""

    x: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, "n k"]
    counts: Shaped[np.ndarray, "n"]

    @classmethod
    def of(
        cls, x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"], room: int = 0
    ) -> "WatchedRows":
        """All of these rows, with empty ones up to `room`."""
        more = max(0, room - len(x))
        padded = [np.pad(np.asarray(part, DTYPE), ((0, more), (0, 0))) for part in (x, y)]
        return cls(padded[0], padded[1], np.arange(len(x) + more) < len(x))


@dataclass(frozen=True, eq=False)
class Watched:
    """Mean losses and errors after `at` steps. The error is the share of wrong classes; for `squared`, the loss."""

    at: Int[np.ndarray, "looks"]
    train_loss: Float[np.ndarray, "*looks"]
    train_error: Float[np.ndarray, "*looks"]
    test_loss: Float[np.ndarray, "*looks"]
    test_error: Float[np.ndarray, "*looks"]

    @property
    def finite(self) -> bool:
        return bool(np.isfinite(self.train_loss).all())

    def last(self) -> dict[str, float]:
        return {f.name: float(getattr(self, f.name)[-1]) for f in fields(self) if f.name != "at"}


def log_steps(last: int, count: int = 60) -> tuple[int, ...]:
    """Steps from 0 to `last`, evenly on a logarithmic scale."""
    if last < 1:
        raise UsageError("A run has at least one step.", got=last)
    return (0, *np.unique(np.geomspace(1, last, count).round().astype(int)).tolist())


def room_for(size: int, least: int = LEAST_ROOM) -> int:
    """The next power of two: so many sizes share a program."""
    return max(least, 1 << (int(size) - 1).bit_length())


def start(
    rng: np.random.Generator, widths: Sequence[int], *, gain: float = 2.0, biases: bool = True
) -> Layers:
    r"""Weights (in, out) with $W_{ij}\sim\mathcal N(0,\text{gain}/d_{\ell-1})$, biases 0 or none; with room."""
    drawn = [rng.normal(size=(m, k)) * np.sqrt(gain / m) for m, k in pairwise(widths)]
    sizes = [widths[0], *[room_for(w) for w in widths[1:-1]], widths[-1]]
    layers = []
    for weight, (m, k) in zip(drawn, pairwise(sizes)):
        wide = np.zeros((m, k), DTYPE)
        wide[: weight.shape[0], : weight.shape[1]] = weight
        layers.append((wide, np.zeros(k, DTYPE) if biases else None))
    return layers


def watch(
    params: Layers, train: WatchedRows, test: WatchedRows, recipe: Recipe, at: Sequence[int]
) -> Watched:
    """Train on all rows of `train` at every step, and look at both sets after `at` steps (in increasing order)."""
    static = recipe.static
    numbers = Numbers(DTYPE(recipe.step), DTYPE(recipe.decay))
    with jax.enable_x64(True):
        advance = _compile_advance()
        state = _begin(static, params, numbers)
        done = 0
        seen = []
        for k in at:
            state, found = advance(static, state, numbers, train, test, np.int32(k - done))
            done = k
            seen.append(found)
        columns = np.array([[float(v) for v in row] for row in jax.device_get(seen)]).T
    return Watched(np.asarray(at), *columns)


def run_side_by_side(run: Callable[[Cell], Result], cells: Iterable[Cell]) -> list[Result]:
    """Every run once, two at a time where there are cores: a small network keeps no more than one busy.

    They are begun from both ends: small ones and large ones have programs of their own, which are compiled at once.
    """
    given = list(cells)
    ends = [(k, len(given) - 1 - k) for k in range((len(given) + 1) // 2)]
    order = list(dict.fromkeys(k for pair in ends for k in pair))
    with ThreadPoolExecutor(min(2, cpu_count() or 1)) as pool:
        found = dict(zip(order, pool.map(run, [given[k] for k in order])))
    return [found[k] for k in range(len(given))]


@partial(jax.jit, static_argnums=0)
def _begin(static: Static, params: Any, numbers: Numbers) -> State:
    return static.problem(numbers).start(params)


@cache
def _compile_advance() -> Callable[..., Any]:
    """`_advance`, compiled thoroughly: it is called for thousands of steps."""
    return jax.jit(_advance, static_argnums=0, compiler_options=dict(thorough_compiler_options()))


def _advance(
    static: Static,
    state: State,
    numbers: Numbers,
    train: WatchedRows,
    test: WatchedRows,
    count: Any,
) -> Any:
    """`count` steps; then loss and error on both sets."""
    problem = static.problem(numbers)
    state = jax.lax.fori_loop(0, count, lambda _, s: problem.train_step(s, *train)[0], state)
    return state, (*_measure(problem, state.params, train), *_measure(problem, state.params, test))


def _measure(problem: Perceptron, params: Any, rows: WatchedRows) -> tuple[Any, Any]:
    loss = problem.risk(params, *rows)
    if rows.y.shape[1] == 1:
        return loss, loss
    wrong = jnp.argmax(problem.apply(params, rows.x), 1) != jnp.argmax(rows.y, 1)
    return loss, jnp.sum(wrong & rows.counts) / jnp.sum(rows.counts)
