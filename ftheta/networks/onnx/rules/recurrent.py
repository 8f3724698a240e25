"""Recurrent layers: LSTM, GRU and RNN, forward, backward or both; X is (time, batch, feature).

W, R and B hold the gates one below the other, in an order of their own: input, output, forget, new of an LSTM; update,
reset, new of a GRU.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.networks.onnx.call import Call
from ftheta.networks.operators.recurrent import (
    Cell,
    gru_cell,
    gru_cell_reset_first,
    lstm_cell,
    plain_cell,
    run_cell,
)
from ftheta.networks.programs.call import RuleTable
from ftheta.networks.reading import Malformed

LSTM_ORDER = (0, 2, 3, 1)  # of the gates, as the cells have them: input, forget, new, output
FIRST_START = 5  # the number of the input with the first hidden state: a constant, no parameter
GRU_ORDER = (1, 0, 2)  # reset, update, new
ACTIVATIONS = {"LSTM": ["Sigmoid", "Tanh", "Tanh"], "GRU": ["Sigmoid", "Tanh"]}
PLAIN = {"Tanh": jnp.tanh, "Relu": jax.nn.relu, "Sigmoid": jax.nn.sigmoid}


def _lstm(call: Call, x: Any, *others: Any) -> tuple[Any, ...]:
    if call.whole("input_forget", 0):
        raise call.refuse("Coupled gates of an LSTM are not read.", "input_forget = 1")
    _ensure_usual(call, "LSTM")
    return _run(call, x, [*others, *[None] * 7][:7], [lstm_cell] * 2, LSTM_ORDER)


def _gru(call: Call, x: Any, *others: Any) -> tuple[Any, ...]:
    _ensure_usual(call, "GRU")
    cell = gru_cell if call.whole("linear_before_reset", 0) else gru_cell_reset_first
    return _run(call, x, [*others, *[None] * 7][:7], [cell] * 2, GRU_ORDER)


def _plain(call: Call, x: Any, *others: Any) -> tuple[Any, ...]:
    names = _words(call, "activations") or ["Tanh"] * 2
    unknown = [name for name in names if name not in PLAIN]
    if unknown:
        raise call.refuse("This activation of a recurrent layer is not read.", ", ".join(unknown))
    return _run(
        call, x, [*others, *[None] * 7][:7], [plain_cell(PLAIN[name]) for name in names], (0,)
    )


def _words(call: Call, name: str) -> list[str]:
    found = call.node.attributes.get(name) or []
    if not isinstance(found, list):
        raise Malformed(f"attribute {name} is not a list of words")
    return [word.decode() if isinstance(word, bytes) else str(word) for word in found]


def _ensure_usual(call: Call, kind: str) -> None:
    """Raise where the activations are other ones than those of the cell."""
    given = _words(call, "activations")
    usual = ACTIVATIONS[kind]
    if given and given != usual * (len(given) // len(usual)):
        raise call.refuse(f"These activations of a {kind} are not read.", ", ".join(given))


def _run(
    call: Call, x: Any, others: list[Any], cells: list[Cell], order: tuple[int, ...]
) -> tuple[Any, ...]:
    """All hidden states (time, direction, batch, size), and the last state."""
    W, R, B, lengths, *starts, peepholes = others
    _ensure_plain(call, x, lengths, peepholes)
    directions = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    ways = directions.get(call.word("direction", "forward"))
    if ways is None or len(W) != len(ways):
        raise Malformed(
            f"direction {call.word('direction', 'forward')!r} with weights of {len(W)} directions"
        )
    size = R.shape[-1]
    zero = jnp.zeros((len(ways), x.shape[1], size), x.dtype)
    parts = range(FIRST_START, FIRST_START + (2 if order == LSTM_ORDER else 1))
    begin = [zero if start is None else call.constant(k) for k, start in zip(parts, starts)]
    hidden = []
    ends = []
    for way, backwards in enumerate(ways):
        biases = (None, None) if B is None else jnp.split(B[way], 2)
        rows = [
            None if part is None else _order_gates(part, order)
            for part in (W[way], R[way], *biases)
        ]
        out, end = run_cell(cells[way], x, tuple(start[way] for start in begin), rows, backwards)
        hidden.append(out)
        ends.append(end)
    return jnp.stack(hidden, 1), *(jnp.stack(part) for part in zip(*ends))


def _order_gates(rows: Any, order: tuple[int, ...]) -> Any:
    """The blocks of rows in another order."""
    blocks = jnp.split(rows, len(order))
    return jnp.concatenate([blocks[k] for k in order])


def _ensure_plain(call: Call, x: Any, lengths: Any, peepholes: Any) -> None:
    """Raise where sequences of a batch differ in length, gates look into the memory, or values are clipped."""
    if peepholes is not None:
        raise call.refuse("Peepholes of an LSTM are not read.", "input P")
    if call.node.attributes.get("clip") is not None:
        raise call.refuse(
            "Clipped recurrent layers are not read.", f"clip = {call.node.attributes['clip']}"
        )
    if call.whole("layout", 0):
        raise call.refuse(
            "Recurrent layers with the batch first are not read.",
            "layout = 1",
            "export it with layout 0",
        )
    if lengths is not None and not (
        isinstance(lengths, np.ndarray) and (lengths == x.shape[0]).all()
    ):
        raise call.refuse(
            "Sequences of different lengths in a batch are not read.", "sequence_lens"
        )


RULES: RuleTable = {"LSTM": _lstm, "GRU": _gru, "RNN": _plain}
