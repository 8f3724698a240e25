"""From a program to a function of parameters and one input."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

import jax
import numpy as np

from ftheta.logic.errors import SubjectError
from ftheta.networks.dense_chains import read_dense_chain
from ftheta.networks.description import Description
from ftheta.networks.scaling import ScaledLayers

from .feeding import Feed, Part
from .interpret import ensure_rules, function, parameters, survey
from .node import Port
from .program import Program

MAX_INPUT = 1 << 27
"""Numbers that one input may have."""
NODES_OF_A_LAYER = 32
"""More than exporters write for a matrix, its bias and its activation."""


@dataclass(frozen=True, eq=False)
class Imported:
    """`apply(params, x)` for one input of shape `input_shape`, and the layers, perhaps behind a scaling of the input,
    where the graph is a list of them.

    `outline` has the shapes of `apply` and not its values; it is quick to trace. `training_parts` are layers, in words,
    that were in training mode where that makes a difference (dropout, batch normalisation); they are read without it.
    Several inputs are one vector: `parts` are their names and shapes, in its order. `casts` are the nodes after which
    the program computes in another type: `apply` has them as the identity.
    """

    apply: Callable[[Any, Any], Any]
    params: dict[str, np.ndarray]
    input_shape: tuple[int, ...]
    layers: Description | ScaledLayers | None
    outline: Callable[[Any, Any], Any] | None = None
    training_parts: tuple[str, ...] = ()
    parts: tuple[tuple[str, tuple[int, ...]], ...] = ()
    casts: tuple[str, ...] = ()

    @property
    def description(self) -> Description | None:
        """The list of layers of the function of the unscaled input."""
        return self.layers.folded_layers if isinstance(self.layers, ScaledLayers) else self.layers


def import_program(
    program: Program, shape: tuple[int, ...] | None = None, *, keeps_inputs: bool = False
) -> Imported:
    """The function of a program and its parameters: floats at the exact values they have in the file, as float64.

    Inputs that the output does not depend on are left out, unless it `keeps_inputs`.
    """
    feed = _feed(program, shape, keeps_inputs)
    ensure_rules(program)
    with jax.enable_x64(True):
        seen = survey(program, feed)
    params = parameters(program, feed, seen)
    apply = function(program, feed, set(params))
    may_be_layers = not feed.whole and _has_few_nodes(program)
    layers = read_dense_chain(apply, params, feed.shape, may_share=True) if may_be_layers else None
    outline = function(program, feed, set(params), shapes_alone=True)
    parts = tuple((part.name, part.shape) for part in feed.parts) if len(feed.parts) > 1 else ()
    types = {port.type for port in program.inputs}
    casts = tuple(node.label for node in program.nodes if program.dialect.casts(node, types))
    return Imported(apply, params, feed.shape, layers, outline, parts=parts, casts=casts)


def _has_few_nodes(program: Program) -> bool:
    """Whether the program has few enough nodes for a chain of dense layers with its matrices: else it need not be
    traced to see that it is none."""
    held = (*program.weights.values(), *program.constants.values())
    matrices = sum(tensor.ndim >= 2 for tensor in held)
    return len(program.nodes) <= NODES_OF_A_LAYER * (matrices + 1)


def _feed(program: Program, shape: tuple[int, ...] | None, keeps_inputs: bool) -> Feed:
    """The inputs that the output depends on, or all; `shape` is that of one input, where the file leaves it open."""
    read = {name for node in program.nodes for name in node.inputs} | {
        port.name for port in program.outputs
    }
    used = [port for port in program.inputs if keeps_inputs or port.name in read]
    if not used:
        raise SubjectError(
            "A network takes an input.", where=program.where, got="none that the output depends on"
        )
    types = {
        program.dialect.is_whole(port.type, f"{program.where}, input {port.name}") for port in used
    }
    if len(types) > 1:
        raise SubjectError(
            "The inputs of the network are numbers of different types.",
            where=program.where,
            got=f"inputs {', '.join(port.name for port in used)}, some of whole numbers, some of real ones",
            remedy="export it with inputs of one type and all others fixed",
        )
    alone = len(used) == 1
    given = shape if alone else None
    parts = tuple(Part(port.name, *_shape(port, given, program.where, alone)) for port in used)
    return Feed(parts, types.pop())


def _shape(
    port: Port, given: tuple[int, ...] | None, where: str, alone: bool
) -> tuple[tuple[int, ...], bool]:
    """The shape of one input, and whether the first axis of the graph's input is a batch: left open, or of length 1.

    An open axis that is the only one is a batch of numbers beside other inputs; of an input `alone` it is a length.
    """
    dims = port.dims
    if dims is None:
        if given is None:
            raise _open(port, where)
        return given, True
    may_be_batch = len(dims) > 1 or (dims == (None,) and not alone)
    batch = (
        may_be_batch
        and dims[:1] in ((None,), (1,))
        and (given is None or len(given) == len(dims) - 1)
    )
    own = dims[1:] if batch else dims
    if given is not None and (
        len(given) != len(own) or any(d not in (None, n) for d, n in zip(own, given))
    ):
        raise SubjectError(
            "The example does not have the shape of an input.",
            where=f"{where}, input {port.name}",
            got=f"{given} where the file says {_told(own)}",
        )
    shape = given if given is not None else own
    if None in shape:
        raise _open(port, where)
    if any(n < 1 for n in shape) or prod(shape) > MAX_INPUT:  # type: ignore[operator]
        raise SubjectError(
            "The input has a shape that is not allowed.",
            where=f"{where}, input {port.name}",
            got=shape,
        )
    return tuple(int(n) for n in shape), batch  # type: ignore[arg-type]


def _open(port: Port, where: str) -> SubjectError:
    return SubjectError(
        "The file leaves the shape of the input open.",
        where=f"{where}, input {port.name}",
        got=_told(port.dims),
        remedy="give the shape of one input, without the batch: load(path, (3, 224, 224))",
    )


def _told(dims: tuple[int | None, ...] | None) -> str:
    return (
        "no shape"
        if dims is None
        else "(" + ", ".join("?" if d is None else str(d) for d in dims) + ")"
    )
