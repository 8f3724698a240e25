r"""The pure core of the training loop: $(\theta,s)\mapsto(\theta',s')$, and many such steps compiled as one loop.

The number of steps of a chunk is an argument of the compiled loop, not a part of it. One program serves chunks of every
length, one step included, so the bits of a run do not depend on where it is cut. `jax.vmap` over `State` (and data)
trains many networks of equal shape at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from .batches import BatchRows

if TYPE_CHECKING:
    import optax

BLOCK = 8192  # rows evaluated at once


class State(NamedTuple):
    """Parameters and what the optimiser remembers."""

    params: Any
    optimiser: Any


class Counted(NamedTuple):
    """What the optimiser remembers, and how many steps were taken: for losses that depend on it."""

    steps: Any
    optimiser: Any


class Chunk(NamedTuple):
    """What `roll` returns: `losses[k]` and `gradients[k]` belong to the parameters before step k of the chunk."""

    state: State
    losses: jax.Array
    gradients: jax.Array


@dataclass(frozen=True, eq=False)
class Problem:
    r"""Minimise $R(\theta)=\frac1n\sum_i\ell(f_\theta(x_i),y_i)$: `apply` is $f$ for one input, `loss` is $\ell$.

    With `norms` the norm of every gradient is recorded. With `robust` the steps minimise the mean of
    `robust(params, x, y, step)`, other losses of the rows, in place of it; evaluations are of $R$ all the same.
    """

    apply: Callable[[Any, Any], Any]
    loss: Callable[[Any, Any], Any]
    optimiser: "optax.GradientTransformationExtraArgs"
    norms: bool = False
    robust: Callable[[Any, Any, Any, Any], Any] | None = None

    @cached_property
    def compiled_start(self) -> Any:
        """`start`, compiled; the same object at every call, which remembers how it was lowered."""
        return jax.jit(self.start)

    @cached_property
    def compiled_roll(self) -> Any:
        """`roll`, compiled, with `room` first; the buffers of the state are given away."""
        roll = lambda room, state, x, y, rows, count: self.roll(state, x, y, rows, room, count)
        return jax.jit(roll, static_argnums=0, donate_argnums=1)

    def start(self, params: Any) -> State:
        memory = self.optimiser.init(params)
        return State(
            params, memory if self.robust is None else Counted(jnp.zeros((), jnp.int32), memory)
        )

    def risk(self, params: Any, x: Any, y: Any, valid: Any = None) -> jax.Array:
        """The mean loss over the rows, or over those that are valid."""
        return _mean(
            jax.vmap(lambda row, target: self.loss(self.apply(params, row), target))(x, y), valid
        )

    def trained_risk(self, state: State) -> Callable[..., jax.Array]:
        """What the step from this state decreases, as a function like `risk`."""
        robust = self.robust
        if robust is None:
            return self.risk
        step = state.optimiser.steps
        return lambda params, x, y, valid=None: _mean(robust(params, x, y, step), valid)

    def train_step(
        self, state: State, x: Any, y: Any, valid: Any = None
    ) -> tuple[State, jax.Array, jax.Array]:
        r"""One step on these rows: the new state, and the loss and gradient norm at the old one."""
        import optax

        trained = self.trained_risk(state)
        risk = lambda params: trained(params, x, y, valid)
        value, gradient = jax.value_and_grad(risk)(state.params)
        before = state.optimiser if self.robust is None else state.optimiser.optimiser
        updates, memory = self.optimiser.update(
            gradient, before, state.params, value=value, grad=gradient, value_fn=risk
        )
        if self.robust is not None:
            memory = Counted(state.optimiser.steps + 1, memory)
        norm = optax.tree.norm(gradient) if self.norms else jnp.zeros((), value.dtype)
        return State(optax.apply_updates(state.params, updates), memory), value, norm

    def roll(
        self, state: State, x: Any, y: Any, rows: BatchRows | None, room: int, count: Any
    ) -> Chunk:
        """`count` ≤ `room` steps. `rows` says which rows each step sees; without it every step sees all of them."""
        x = jnp.asarray(x)
        y = jnp.asarray(y)

        def body(k: Any, chunk: Chunk) -> Chunk:
            pick = lambda table: jax.lax.dynamic_index_in_dim(table, k, keepdims=False)
            if rows is None:
                batch = (x, y)
            else:
                batch = (
                    *_gather(pick(rows.numbers), x, y),
                    None if rows.valid is None else pick(rows.valid),
                )
            new, value, norm = self.train_step(chunk.state, *batch)
            norms = chunk.gradients.at[k].set(norm) if self.norms else chunk.gradients
            return Chunk(new, chunk.losses.at[k].set(value), norms)

        risk = jax.eval_shape(self.risk, state.params, x, y)
        empty = jnp.zeros(room, risk.dtype)
        return jax.lax.fori_loop(
            0, count, body, Chunk(state, empty, empty if self.norms else empty[:0])
        )


def _mean(losses: Any, valid: Any) -> jax.Array:
    """The mean of all losses, or of those that are valid."""
    if valid is None:
        return jnp.mean(losses)
    return jnp.sum(jnp.where(valid, losses, 0)) / jnp.sum(valid).astype(losses.dtype)


def _gather(numbers: Any, *tables: Any) -> tuple[Any, ...]:
    """These rows of the tables, one after the other: XLA would give `table[numbers]` to all threads at every step,
    which costs more than the copying and, on a small network, a quarter of the step."""
    row = lambda i: tuple(
        jax.lax.dynamic_index_in_dim(table, i, keepdims=False) for table in tables
    )
    return jax.lax.map(row, numbers)


def evaluate(problem: Problem, params: Any, x: Any, y: Any) -> tuple[jax.Array, jax.Array]:
    """The mean loss over all rows, a block at a time, and the predictions."""

    def one(row: tuple[Any, Any]) -> tuple[Any, Any]:
        prediction = problem.apply(params, row[0])
        return problem.loss(prediction, row[1]), prediction

    losses, predictions = (
        jax.vmap(one)((x, y)) if len(x) <= BLOCK else jax.lax.map(one, (x, y), batch_size=BLOCK)
    )
    return jnp.mean(losses), predictions


def finite(tree: Any) -> bool:
    """Whether all real numbers of a tree are finite."""
    return all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(tree) if _real(leaf))


def _real(leaf: Any) -> bool:
    return not is_key(leaf) and np.asarray(leaf).dtype.kind == "f"


def is_key(leaf: Any) -> bool:
    """Whether a leaf is a key of random numbers."""
    return jnp.issubdtype(getattr(leaf, "dtype", np.dtype(float)), jax.dtypes.prng_key)


def on_host(tree: Any) -> Any:
    """A copy in NumPy: what survives when the buffers on the device are given to the next chunk."""
    return jax.tree.map(
        lambda leaf: np.array(jax.random.key_data(leaf) if is_key(leaf) else leaf), tree
    )


def on_device(tree: Any, like: Any) -> Any:
    """The inverse of `on_host`; `like` says which leaves are random keys."""

    def bring(leaf: Any, model: Any) -> Any:
        if is_key(model):
            return jax.random.wrap_key_data(leaf, impl=jax.random.key_impl(model))
        # the buffer will be given away, the array stays
        return jax.device_put(leaf, may_alias=False)

    return jax.tree.map(bring, tree, like)
