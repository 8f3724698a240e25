r"""Graphs that are plain chains of dense layers, as their description.

The graph is read backwards from its output: an activation, a bias, a matrix, and again, until the input is reached. An
operator that is none of these ends the reading: there is no description then. Operators are called by their names in
ONNX; programs of other formats are translated first. Activations are recognised by the
expressions of `SPELLINGS`, which are also the ones that are written. Constants that are added to the input or
multiply it are a scaling, behind which the layers stand; they are no parameters. Where a format marks parameters and
the scaling is learnt, the network is no list of layers.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ftheta.networks.activations import LEAK
from ftheta.networks.description import Dense, Description
from ftheta.networks.scaling import Operation, ScaledLayers, Scaling, behind

from .node import Node, ancestors
from .program import Program, Survey

Z = "z"
"""The argument of an activation, in its spelling."""

SPELLINGS: Mapping[str, Any] = {
    "relu": ("Relu", Z),
    "tanh": ("Tanh", Z),
    "sigmoid": ("Sigmoid", Z),
    "arctan": ("Atan", Z),
    "softplus": ("Softplus", Z),
    "gelu": ("Gelu", Z),
    "silu": ("Mul", Z, ("Sigmoid", Z)),
    "square": ("Mul", Z, Z),
    "leaky-relu": ("Max", Z, ("Mul", Z, float(LEAK))),
}
"""Activations as expressions of operators: a tuple is an operator and its arguments, a number a constant.

ONNX's own LeakyRelu is none of them: its slope is a float32, and 1/100 is not.
"""

OPERATIONS: Mapping[str, Operation] = {"Add": "add", "Sub": "sub", "Mul": "mul", "Div": "div"}
"""Operators by which a constant scales or shifts the input."""

_UNMOVED = frozenset(("Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout", "Cast"))
"""Operators that leave the numbers of one input in their order."""


class _Affine(NamedTuple):
    """$Wx+b$ of the tensor `argument` $x$; without a `bias`, $Wx$."""

    weight: np.ndarray
    bias: np.ndarray | None
    argument: str


@dataclass(frozen=True)
class _Reader:
    program: Program
    input: str
    seen: Survey

    def constant(self, name: str) -> np.ndarray | None:
        """The numbers of a tensor that does not depend on the input."""
        turns = []
        while (held := self._held(name)) is None:
            node = self.program.maker.get(name)
            if node is None or node.op not in ("Transpose", "Identity") or len(turns) == 8:
                return None
            turns.append(node.attributes.get("perm") if node.op == "Transpose" else range(len(self.seen.shapes[name])))
            name = node.inputs[0]
        for perm in reversed(turns):
            held = np.transpose(held, perm)
        return held

    def _held(self, name: str) -> np.ndarray | None:
        held = self.program.tensor(name)
        return self.seen.known.get(name) if held is None else held

    def size(self, name: str) -> int:
        return prod(self.seen.shapes[name])

    def skip_reshapes(self, name: str) -> str:
        """Back over operators that only reshape."""
        while (node := self.program.maker.get(name)) is not None and node.op in _UNMOVED and node.outputs[0] == name:
            if node.op == "Cast" and node.attributes.get("to") not in (1, 11):
                break
            name = node.inputs[0]
        return name

    # ---- activations ----

    def activation(self, name: str) -> tuple[str, str]:
        """The word and the argument of the activation that makes the tensor; `identity` of itself if there is none."""
        for word, spelling in SPELLINGS.items():
            for arguments in self._matches(spelling, name):
                if len(arguments) == 1:
                    return word, arguments.pop()
        return "identity", name

    def _matches(self, spelling: Any, name: str) -> Iterator[set[str]]:
        """Every way to read the tensor as the expression: the set of tensors that stand for `z`; one is wanted."""
        if spelling == Z:
            yield {name}
            return
        if isinstance(spelling, float):
            held = self.constant(name)
            if held is not None and held.size == 1 and held.item() == spelling:
                yield set()
            return
        op, *arguments = spelling
        node = self.program.maker.get(name)
        if node is None or node.op != op or len(node.inputs) != len(arguments):
            return
        if node.op == "Gelu" and node.attributes.get("approximate", "none") != "none":
            return
        for inputs in {node.inputs, node.inputs[::-1]}:  # all operators of two arguments here commute
            found = [set[str]()]
            for argument, given in zip(arguments, inputs):
                found = [one | other for one in found for other in self._matches(argument, given)]
            yield from found

    # ---- affine maps ----

    def affine(self, name: str) -> "_Affine | None":
        """$W$, $b$ and the tensor $x$ with the tensor equal to $Wx+b$."""
        name = self.skip_reshapes(name)
        node = self.program.maker.get(name)
        if node is None:
            return None
        if node.op == "Gemm":
            return self._gemm(node)
        if node.op == "MatMul":
            product = self._product(node)
            return None if product is None else _Affine(product[0], None, product[1])
        if node.op in ("Add", "Sub"):
            return self._sum(node)
        return None

    def _gemm(self, node: Node) -> "_Affine | None":
        given = node.attributes
        weight = self.constant(node.inputs[1])
        if (
            weight is None
            or weight.ndim != 2
            or given.get("transA", 0)
            or {given.get("alpha", 1.0), given.get("beta", 1.0)} != {1.0}
        ):
            return None
        weight = weight if given.get("transB", 0) else weight.T
        third = "".join(node.inputs[2:3])
        if self.size(node.inputs[0]) != weight.shape[1]:
            return None
        if not third:
            return _Affine(weight, None, node.inputs[0])
        bias = self.constant(third)
        if bias is None or bias.size not in (1, len(weight)):
            return None
        return _Affine(weight, np.broadcast_to(bias.ravel(), len(weight)), node.inputs[0])

    def _product(self, node: Node) -> tuple[np.ndarray, str] | None:
        """A matrix times the one vector that the other factor is, as a row or as a column."""
        one = node.inputs[0]
        other = node.inputs[1]
        right = self.constant(other)
        left = self.constant(one)
        if right is not None and right.ndim == 2 and self.size(one) == right.shape[0]:
            return right.T, one
        if left is not None and left.ndim == 2 and self.size(other) == left.shape[1]:
            shape = self.seen.shapes[other]
            return (left, other) if len(shape) == 1 or shape[-1] == 1 else None
        return None

    def _sum(self, node: Node) -> "_Affine | None":
        """A product and a constant; of a difference, the product is the first term."""
        one = node.inputs[0]
        two = node.inputs[1]
        for term, other in [(one, two)] if node.op == "Sub" else [(one, two), (two, one)]:
            bias = self.constant(other)
            inner = self.program.maker.get(self.skip_reshapes(term))
            if bias is None or inner is None or inner.op != "MatMul" or (found := self._product(inner)) is None:
                continue
            shape = self.seen.shapes[node.outputs[0]]
            if prod(shape) != len(found[0]):
                return None
            bias = np.broadcast_to(bias, shape).ravel()
            return _Affine(found[0], -bias if node.op == "Sub" else bias, found[1])
        return None

    # ---- the input ----

    def scaling(self, name: str, width: int) -> Scaling | None:
        """What happens to the input before the tensor, of so many entries; None if it is no scaling by constants."""
        steps: list[tuple[Operation, np.ndarray]] = []
        while (name := self.skip_reshapes(name)) != self.input:
            node = self.program.maker.get(name)
            if node is None or node.op not in OPERATIONS:
                return None
            numbers = [self.constant(k) for k in node.inputs]
            swapped = numbers[1] is None and node.op in ("Add", "Mul")
            place = 0 if swapped else 1
            number = numbers[place]
            if number is None or self._is_learnt(node.inputs[place]):
                return None
            name = node.inputs[1 - place]
            if {self.size(name), self.size(node.outputs[0])} != {width}:
                return None
            number = np.broadcast_to(number, self.seen.shapes[node.outputs[0]]).ravel()
            steps.append((OPERATIONS[node.op], np.asarray(number, np.float64)))
        return Scaling(tuple(reversed(steps)))

    def _is_learnt(self, name: str) -> bool:
        """Whether a tensor is made from parameters, where the format says which tensors are parameters."""
        if not self.program.dialect.marks_parameters:
            return False
        made_from = ancestors(self.program.maker, [name])
        return any(held in made_from for held in self.program.weights)


def describe(program: Program, name: str, seen: Survey) -> Description | ScaledLayers | None:
    """The layers of a graph that is a plain chain of them with input `name`, perhaps behind a scaling of the input;
    None for every other graph."""
    reader = _Reader(program, name, seen)
    layers = list[Dense]()
    at = program.outputs[0].name
    while True:
        at = reader.skip_reshapes(at)
        word, inner = reader.activation(at)
        found = reader.affine(inner)
        if found is None:
            break
        bias = np.zeros(len(found.weight)) if found.bias is None else found.bias
        layers.append(Dense(found.weight, bias, word, has_bias=found.bias is not None))
        at = found.argument
    if not layers:
        return None
    scaling = reader.scaling(at, layers[-1].weight.shape[1])
    if scaling is None:
        return None
    chain = tuple(reversed(layers))
    fits = all(len(a.weight) == b.weight.shape[1] for a, b in pairwise(chain))
    if not fits:
        return None
    constants = [constant for _, constant in scaling.steps]
    weights = [part for layer in (*chain, scaling.folded_into(chain[0])) for part in (layer.weight, layer.bias)]
    finite = all(np.isfinite(numbers).all() for numbers in (*constants, *weights))
    return behind(scaling, Description(chain)) if finite else None
