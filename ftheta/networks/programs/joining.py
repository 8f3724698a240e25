"""Several inputs of a program as one vector: their entries in the order of the file, one input after another."""

from dataclasses import replace
from math import prod

import numpy as np

from ftheta.logic.errors import SubjectError

from .node import Node, Port
from .program import Program

JOINED = "all inputs"


def join_inputs(program: Program) -> Program:
    """The same program with one input, of which every other one is a part; itself where it has one already.

    An axis in front that is left open is a batch of one.
    """
    if len(program.inputs) < 2:
        return program
    shapes = {port.name: _shape(port, program.where) for port in program.inputs}
    _ensure_one_type(program)
    nodes: list[Node] = []
    constants: dict[str, np.ndarray] = {}
    start = 0
    for name, shape in shapes.items():
        places, part, target = (f"{JOINED}: {what} of {name}" for what in ("places", "entries", "shape"))
        constants[places] = np.arange(start, start + prod(shape), dtype=np.int64)
        constants[target] = np.array(shape, np.int64)
        nodes.append(Node("Gather", (JOINED, places), (part,), {"axis": 0}))
        nodes.append(Node("Reshape", (part, target), (name,), {}))
        start += prod(shape)
    whole = Port(JOINED, program.inputs[0].type, (start,))
    return replace(
        program, nodes=(*nodes, *program.nodes), constants={**program.constants, **constants}, inputs=(whole,)
    )


def _shape(port: Port, where: str) -> tuple[int, ...]:
    dims = port.dims or ()
    shape = tuple(1 if n is None and axis == 0 else n for axis, n in enumerate(dims))
    if port.dims is None or any(n is None or n < 1 for n in shape):
        raise SubjectError(
            "The file leaves the shape of an input open.",
            where=f"{where}, input {port.name}",
            remedy="export it with the lengths of its inputs",
        )
    return tuple(int(n) for n in shape if n is not None)


def _ensure_one_type(program: Program) -> None:
    if len({port.type for port in program.inputs}) > 1:
        raise SubjectError(
            "The inputs of the network are numbers of different types.",
            where=program.where,
            got=", ".join(f"{port.name} of type {port.type}" for port in program.inputs),
            remedy="export it with inputs of one type",
        )
