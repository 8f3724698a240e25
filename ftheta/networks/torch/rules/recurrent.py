"""Recurrent layers: LSTM, GRU and the plain one, in one direction or both, one on top of the other."""

from typing import Any

import jax
import jax.numpy as jnp

from ftheta.networks.operators.recurrent import Cell, gru_cell, lstm_cell, plain_cell, run_cell
from ftheta.networks.programs.call import Call, Rule, RuleTable
from ftheta.networks.reading import Malformed


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
            raise call.refuse(
                "Dropout in training mode is random.", "train = True", "export module.eval()"
            )
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
                out, end = run_cell(cell, x, tuple(s[at] for s in starts), weights, way == 1)
                outs = [*outs, out]
                ends = [*ends, end]
            x = jnp.concatenate(outs, -1)
        finals = [jnp.stack(part) for part in zip(*ends)]
        if alone:
            return x[:, 0], *(f[:, 0] for f in finals)
        return (jnp.swapaxes(x, 0, 1) if batch_first else x), *finals

    return rule


RULES: RuleTable = {
    "lstm.input": _recurrent(lstm_cell),
    "gru.input": _recurrent(gru_cell),
    "rnn_tanh.input": _recurrent(plain_cell(jnp.tanh)),
    "rnn_relu.input": _recurrent(plain_cell(jax.nn.relu)),
}
