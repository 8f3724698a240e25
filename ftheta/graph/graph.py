"""The graph of a program: slots that hold values, and nodes that compute slots from slots, in order.

A program is a directed acyclic graph with an order of its nodes,
    x_r = g_r(x_s : s in Parent(r)),   r = 1 .. R,
and every analysis is another interpretation of it (see `interpret.py`). This file knows nothing of JAX's own
graph types: `jaxprs.py` is the one door to them.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import jax
import numpy as np

from ftheta.graph.errors import GraphError

Axes = tuple[int, ...]


@dataclass(frozen=True)
class Slot:
    """The place of one array: assigned once, by an input, a constant or a node."""

    id: int
    name: str
    shape: tuple[int, ...]
    dtype: Any  # a NumPy dtype, or JAX's dtype of random keys

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_real(self) -> bool:
        """Floating point: carries a derivative. (ml_dtypes such as bfloat16 have kind `V`.)"""
        return isinstance(self.dtype, np.dtype) and (
            self.dtype.kind == "f" or "float" in self.dtype.name
        )

    def __str__(self) -> str:
        return f"{self.name}:{self.dtype}{list(self.shape)}"


def _no_graphs() -> tuple["Graph", ...]:
    return ()


@dataclass(frozen=True, eq=False)
class Node:
    """One application of a primitive.

    `evaluate(*values)` computes the outputs with JAX. `label` is the user's name for a custom derivative such as
    `relu`, `by_jax` whether JAX defines it. `graphs` are the graphs inside the node: the body of a custom derivative,
    the branches of a `cond`. Nodes with the same `kind` (a hashable; None where there is none) compute the same
    function of their inputs. `steps` are the numbers of the steps of the loops, from the outermost, that it was in.
    """

    id: int
    primitive: str
    inputs: tuple[Slot, ...]
    outputs: tuple[Slot, ...]
    source: str
    params: Mapping[str, Any]
    evaluate: Callable[..., tuple[Any, ...]] = field(repr=False)
    label: str = ""
    by_jax: bool = False
    expand: Callable[[], tuple["Graph", ...]] = field(default=_no_graphs, repr=False)
    kind: Any = field(default=None, repr=False)
    steps: tuple[int, ...] = field(default=(), repr=False)

    @property
    def name(self) -> str:
        return self.outputs[0].name

    @property
    def shape(self) -> tuple[int, ...]:
        return self.outputs[0].shape

    @property
    def dtype(self) -> Any:
        return self.outputs[0].dtype

    @cached_property
    def graphs(self) -> tuple["Graph", ...]:
        """Built on first use: a custom derivative may hide a loop that only its user knows how to differentiate."""
        return self.expand()

    def __str__(self) -> str:
        operation = f"{self.primitive}[{self.label}]" if self.label else self.primitive
        return (
            f"{', '.join(o.name for o in self.outputs)} = {operation} {' '.join(i.name for i in self.inputs)}"
            f"  at {self.source}"
        )


@dataclass(frozen=True)
class Signature:
    """How the arguments of the traced function flatten to the inputs of the graph.

    Leaves that are not arrays (activation functions inside a module, strings) are part of the program, not inputs:
    `is_input` marks the leaves that are.
    """

    arguments: Any  # treedef of the tuple of arguments
    is_input: tuple[bool, ...]
    results: Any  # treedef of what the function returns

    def inputs_of(
        self, args: Sequence[Any], is_leaf: Callable[[Any], bool] | None = None
    ) -> list[Any]:
        leaves, tree = jax.tree.flatten(tuple(args), is_leaf=is_leaf)
        if tree != self.arguments:
            raise GraphError(
                "the arguments have another structure than those the graph was traced with",
                got=str(tree),
                remedy=f"pass arguments of the structure {self.arguments}",
            )
        return [leaf for leaf, wanted in zip(leaves, self.is_input) if wanted]

    def positions_of_argument(self, index: int) -> range:
        """Positions among the inputs of the leaves of one argument."""
        counts = [child.num_leaves for child in self.arguments.children()]
        start = sum(counts[:index])
        before = sum(self.is_input[:start])
        return range(before, before + sum(self.is_input[start : start + counts[index]]))


@dataclass(frozen=True, eq=False)
class Graph:
    """Slots, constants, and nodes in an order in which they can be computed.

    `x64` is JAX's precision mode when the graph was traced: the mode in which `Node.evaluate` means the same.
    """

    slots: tuple[Slot, ...]
    inputs: tuple[Slot, ...]
    constants: Mapping[int, Any]
    nodes: tuple[Node, ...]
    outputs: tuple[Slot, ...]
    signature: Signature
    source: str
    x64: bool

    def __getitem__(self, key: "Slot | str | int") -> Slot:
        """The slot of that name (or id)."""
        if isinstance(key, Slot):
            return key
        if isinstance(key, int):
            return self.slots[key]
        if key in self._by_name:
            return self._by_name[key]
        raise KeyError(f"no slot is named {key!r}; there are {', '.join(self._by_name)}")

    def argument(self, index: int) -> tuple[Slot, ...]:
        """The input slots that argument number `index` of the traced function flattens to."""
        return tuple(self.inputs[i] for i in self.signature.positions_of_argument(index))

    @cached_property
    def _by_name(self) -> dict[str, Slot]:
        return {slot.name: slot for slot in self.slots}

    @cached_property
    def fixed(self) -> frozenset[int]:
        """Slots that do not depend on the inputs: constants, and what is computed from them alone."""
        found = set(self.constants)
        for node in self.nodes:
            if all(slot.id in found for slot in node.inputs):
                found.update(slot.id for slot in node.outputs)
        return frozenset(found)

    @cached_property
    def producers(self) -> dict[int, Node]:
        """The node that assigns each slot; inputs and constants have none."""
        return {slot.id: node for node in self.nodes for slot in node.outputs}

    def __str__(self) -> str:
        return table(self)


def table(graph: Graph) -> str:
    """The graph as a table: id, name, primitive, inputs, shape, dtype, source line."""
    rows = [("id", "name", "primitive", "inputs", "shape", "dtype", "source")]
    rows += [("", s.name, "input", "", _shape(s), str(s.dtype), "") for s in graph.inputs]
    for node in graph.nodes:
        operation = f"{node.primitive}[{node.label}]" if node.label else node.primitive
        operands = " ".join(_operand(graph, slot) for slot in node.inputs)
        first, *others = node.outputs
        rows.append(
            (
                str(node.id),
                first.name,
                operation,
                operands,
                _shape(first),
                str(first.dtype),
                node.source,
            )
        )
        rows += [("", o.name, "", "", _shape(o), str(o.dtype), "") for o in others]
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows
    ]
    return "\n".join(
        [*lines, "returns " + " ".join(_operand(graph, slot) for slot in graph.outputs)]
    )


def _shape(slot: Slot) -> str:
    return "×".join(map(str, slot.shape)) or "scalar"


def _operand(graph: Graph, slot: Slot) -> str:
    """Scalar constants print as their value, everything else by name."""
    value = graph.constants.get(slot.id)
    return (
        f"{value:.6g}"
        if isinstance(value, np.ndarray) and value.shape == () and value.dtype.kind in "fiu"
        else slot.name
    )
