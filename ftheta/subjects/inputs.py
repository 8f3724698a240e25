"""What the inputs of a network are: real numbers, or token ids."""

from functools import lru_cache
from typing import Any

import jax

from ftheta.graph.errors import GraphError
from ftheta.graph.jaxprs import trace
from ftheta.logic.hypotheses import Finding, hypothesis

from .network import Network

_MOVES = (
    "reshape",
    "squeeze",
    "expand_dims",
    "broadcast_in_dim",
    "transpose",
    "slice",
    "concatenate",
    "copy",
)
_ROUNDS = ("convert_element_type", "round", "floor", "ceil", "clamp")
CARRIES = frozenset((*_MOVES, *_ROUNDS))
"""Operations that move the entries of an array, or round them."""


@lru_cache(maxsize=4)  # several hypotheses and facts ask for the same
def takes_tokens(net: Network) -> bool:
    """Whether the inputs are token ids: numbers that are made whole before anything else is done with them."""
    try:
        with jax.enable_x64(True):
            graph = trace(net.apply, net.params, net.example)
    except GraphError:
        return False
    carried = {slot.id for slot in graph.argument(1)}
    made_whole = False
    for node in graph.nodes:
        if not any(slot.id in carried for slot in node.inputs):
            continue
        if node.primitive not in CARRIES:
            return False
        if node.outputs[0].is_real:
            carried |= {slot.id for slot in node.outputs}
        else:
            made_whole = True
    return made_whole


@hypothesis(
    "the inputs are real numbers",
    remedy="give a network without an embedding of tokens: ids cannot be moved",
    name="real-valued inputs",
)
def real_inputs(subject: Any) -> Finding:
    """Read off the graph: it does not make its inputs whole before it computes with them."""
    if isinstance(subject, Network) and takes_tokens(subject):
        return Finding.failed("requires real-valued inputs, and these are token ids")
    return Finding.proved(
        "no input is rounded to a whole number first", "looked up in every node of its graph"
    )
