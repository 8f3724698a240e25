"""Recurrent layers: LSTM, GRU and the plain one, in one direction or both, one on top of the other."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from ftheta.networks.programs.call import Call, Rule, RuleTable
from ftheta.networks.reading import Malformed

Cell = Callable[[Any, Any, list[Any]], Any]
"""The next state from the state, the input's share of the gates, and the recurrent weights and bias."""


def _lstm_cell(state: tuple[Any, Any], gates: Any, weights: list[Any]) -> tuple[Any, Any]:
    hidden, memory = state
    into, forget, new, out = jnp.split(gates + _affine(hidden, *weights), 4, -1)
    memory = jax.nn.sigmoid(forget) * memory + jax.nn.sigmoid(into) * jnp.tanh(new)
    return jax.nn.sigmoid(out) * jnp.tanh(memory), memory


def _gru_cell(state: tuple[Any], gates: Any, weights: list[Any]) -> tuple[Any]:
    (hidden,) = state
    reset, update, new = jnp.split(gates, 3, -1)
    reset_h, update_h, new_h = jnp.split(_affine(hidden, *weights), 3, -1)
    share = jax.nn.sigmoid(update + update_h)
    fresh = jnp.tanh(new + jax.nn.sigmoid(reset + reset_h) * new_h)
    return (fresh + share * (hidden - fresh),)


def _plain_cell(function: Any) -> Cell:
    return lambda state, gates, weights: (function(gates + _affine(state[0], *weights)),)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    y = jnp.matmul(x, weight.T)
    return y if bias is None else y + bias


def _pass(
    cell: Cell, x: Any, state: tuple[Any, ...], weights: list[Any], backwards: bool
) -> tuple[Any, tuple[Any, ...]]:
    """One direction of one layer over (time, batch, feature): all hidden states, and the last state."""
    gates = _affine(x, weights[0], weights[2])

    def step(carried: tuple[Any, ...], gates: Any) -> tuple[tuple[Any, ...], Any]:
        after = cell(carried, gates, [weights[1], weights[3]])
        return after, after[0]

    last, hidden = lax.scan(step, state, gates, reverse=backwards)
    return hidden, last


def _recurrent(cell: Cell) -> Rule:
    """`hx` holds an array a part of the state (hidden, memory of an LSTM): (layer · direction, batch, size)."""

    def rule(
        call: Call,
        x: Any,
        hx: Any,
        params: list[Any],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Any, ...]:
        if train and dropout:
            raise call.refuse("Dropout in training mode is random.", "train = True", "export module.eval()")
        starts = hx if isinstance(hx, list) else [hx]
        ways = 1 + bidirectional
        each = 4 if has_biases else 2
        if len(params) != max(num_layers, 1) * ways * each:
            raise Malformed(f"{len(params)} weights for {num_layers} layers in {ways} directions")
        alone = x.ndim == 2
        if alone:
            x = x[:, None]
            starts = [s[:, None] for s in starts]
        elif batch_first:
            x = jnp.swapaxes(x, 0, 1)
        ends = []
        for layer in range(num_layers):
            outs = []
            for way in range(ways):
                at = layer * ways + way
                weights = [*params[at * each : (at + 1) * each], None, None][:4]
                out, end = _pass(cell, x, tuple(s[at] for s in starts), weights, way == 1)
                outs = [*outs, out]
                ends = [*ends, end]
            x = jnp.concatenate(outs, -1)
        finals = [jnp.stack(part) for part in zip(*ends)]
        if alone:
            return x[:, 0], *(f[:, 0] for f in finals)
        return (jnp.swapaxes(x, 0, 1) if batch_first else x), *finals

    return rule


RULES: RuleTable = {
    "lstm.input": _recurrent(_lstm_cell),
    "gru.input": _recurrent(_gru_cell),
    "rnn_tanh.input": _recurrent(_plain_cell(jnp.tanh)),
    "rnn_relu.input": _recurrent(_plain_cell(jax.nn.relu)),
}
