"""Recurrent cells, and one direction of one layer of them over a sequence."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

Cell = Callable[[Any, Any, list[Any]], Any]
"""The next state from the state, the input's share of the gates, and the recurrent weights and bias."""


def lstm_cell(state: tuple[Any, Any], gates: Any, weights: list[Any]) -> tuple[Any, Any]:
    """Gates in the order input, forget, new, output; the state is hidden state and memory."""
    hidden, memory = state
    into, forget, new, out = jnp.split(gates + _affine(hidden, *weights), 4, -1)
    memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(into) * jnp.tanh(new)
    return jax.nn.sigmoid(out) * jnp.tanh(memory), memory


def gru_cell(state: tuple[Any], gates: Any, weights: list[Any]) -> tuple[Any]:
    """Gates in the order reset, update, new; the reset gate acts on the recurrent share of the new state."""
    (hidden,) = state
    reset, update, new = jnp.split(gates, 3, -1)
    reset_h, update_h, new_h = jnp.split(_affine(hidden, *weights), 3, -1)
    share = jax.nn.sigmoid(update + update_h)
    fresh = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
    return (fresh + share * (hidden - fresh),)


def gru_cell_reset_first(state: tuple[Any], gates: Any, weights: list[Any]) -> tuple[Any]:
    """The same with the reset gate on the hidden state itself, as ONNX has it unless told otherwise."""
    (hidden,) = state
    weight, bias = weights
    size = hidden.shape[-1]
    reset, update, new = jnp.split(gates, 3, -1)
    share_of = lambda k, h: _affine(
        h, weight[k * size : (k + 1) * size], None if bias is None else bias[k * size :][:size]
    )
    share = jax.nn.sigmoid(update + share_of(1, hidden))
    fresh = jnp.tanh(new + share_of(2, jax.nn.sigmoid(reset + share_of(0, hidden)) * hidden))
    return (fresh + share * (hidden - fresh),)


def plain_cell(function: Any) -> Cell:
    """An activation of an affine map of input and hidden state."""
    return lambda state, gates, weights: (function(gates + _affine(state[0], *weights)),)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def run_cell(
    cell: Cell, x: Any, state: tuple[Any, ...], weights: list[Any], backwards: bool
) -> tuple[Any, tuple[Any, ...]]:
    """One direction of one layer over (time, batch, feature): all hidden states, and the last state."""
    gates = _affine(x, weights[0], weights[2])

    def step(carried: tuple[Any, ...], gates: Any) -> tuple[tuple[Any, ...], Any]:
        after = cell(carried, gates, [weights[1], weights[3]])
        return after, after[0]

    last, hidden = lax.scan(step, state, gates, reverse=backwards)
    return hidden, last
