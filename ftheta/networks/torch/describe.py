"""Exported programs that are plain chains of dense layers: their nodes in the words that `programs.describe` knows."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ftheta.networks.activations import LEAK
from ftheta.networks.description import Description
from ftheta.networks.programs.describe import describe
from ftheta.networks.programs.node import Node
from ftheta.networks.programs.program import Program, Survey
from ftheta.networks.scaling import ScaledLayers

from .arguments import Dtype, Ref
from .inplace import base
from .tensors import DTYPES


def translate(program: Program, name: str, seen: Survey) -> Description | ScaledLayers | None:
    """The layers of a program that is a plain chain of them; None for every other program."""
    numbers: dict[str, np.ndarray] = {}
    nodes = tuple(word for node in program.nodes for word in _Words(node, numbers).all())
    return describe(replace(program, nodes=nodes, constants={**program.constants, **numbers}), name, seen)


class _Words:
    """One node in other words. Numbers among its arguments become constants of the graph, in `numbers`."""

    def __init__(self, node: Node, numbers: dict[str, np.ndarray]) -> None:
        self.node = node
        self.numbers = numbers
        self.given = node.attributes

    def all(self) -> Iterator[Node]:
        op = base(self.node.op)
        found = _WORDS[op](self) if op in _WORDS else None
        yield from [self.node] if found is None else found

    def said(self, op: str, *inputs: str, out: str = "", **attributes: Any) -> Node:
        return Node(op, inputs, (out,) if out else self.node.outputs, attributes, self.node.name)

    def name(self, key: str) -> str:
        """The name of the tensor that an argument is; "" if there is none."""
        value = self.given.get(key)
        if isinstance(value, Ref):
            return self.node.inputs[value.place]
        return "" if value is None else self.number(key, value)

    def number(self, key: str, value: float) -> str:
        name = f"{self.node.outputs[0]}.{key}"
        self.numbers[name] = np.array(float(value))
        return name

    def is_default(self, **values: Any) -> bool:
        return all(self.given.get(key, value) == value for key, value in values.items())


Translation = Callable[[_Words], list[Node] | None]


def _one(op: str, **defaults: Any) -> Translation:
    return lambda w: [w.said(op, w.name("x"))] if w.is_default(**defaults) else None


def _two(op: str) -> Translation:
    return lambda w: [w.said(op, w.name("x"), w.name("other"))] if w.is_default(alpha=1, rounding_mode=None) else None


def _linear(w: _Words) -> list[Node]:
    return [w.said("Gemm", w.name("x"), w.name("weight"), w.name("bias"), transB=1)]


def _addmm(w: _Words) -> list[Node] | None:
    if not w.is_default(alpha=1, beta=1):
        return None
    return [w.said("Gemm", w.name("mat1"), w.name("mat2"), w.name("x"))]


def _product(w: _Words) -> list[Node]:
    return [w.said("MatMul", w.name("x"), w.name("mat2" if "mat2" in w.given else "other"))]


def _permute(w: _Words) -> list[Node]:
    return [w.said("Transpose", w.name("x"), perm=w.given.get("dims", [1, 0]))]


def _transpose(w: _Words) -> list[Node] | None:
    """Of a matrix; no layer transposes anything else."""
    return _permute(w) if {w.given.get("dim0"), w.given.get("dim1")} in ({0, 1}, {-1, -2}) else None


def _gelu(w: _Words) -> list[Node]:
    return [w.said("Gelu", w.name("x"), approximate=w.given.get("approximate", "none"))]


def _silu(w: _Words) -> list[Node]:
    inner = f"{w.node.outputs[0]}.sigmoid"
    return [w.said("Sigmoid", w.name("x"), out=inner), w.said("Mul", w.name("x"), inner)]


def _square(w: _Words) -> list[Node] | None:
    return [w.said("Mul", w.name("x"), w.name("x"))] if w.is_default(exponent=2) else None


def _leaky_relu(w: _Words) -> list[Node] | None:
    if not w.is_default(negative_slope=float(LEAK)):
        return None
    inner = f"{w.node.outputs[0]}.scaled"
    slope = w.number("slope", float(LEAK))
    return [w.said("Mul", w.name("x"), slope, out=inner), w.said("Max", w.name("x"), inner)]


def _cast(w: _Words) -> list[Node] | None:
    kept = all(DTYPES[v.code].kind not in "iub" for v in w.given.values() if isinstance(v, Dtype) and v.code in DTYPES)
    return [w.said("Identity", w.name("x"))] if kept and "other" not in w.given else None


_WORDS: Mapping[str, Translation] = {
    "linear": _linear,
    "addmm": _addmm,
    "mm": _product,
    "matmul": _product,
    "t": _permute,
    "numpy_T": _permute,
    "permute": _permute,
    "transpose": _transpose,
    **{op: _two(word) for op, word in (("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("div", "Div"))},
    **{op: _one(op.capitalize()) for op in ("relu", "tanh", "sigmoid")},
    "atan": _one("Atan"),
    "softplus": _one("Softplus", beta=1, threshold=20),
    "gelu": _gelu,
    "silu": _silu,
    "pow": _square,
    "square": _square,
    "leaky_relu": _leaky_relu,
    "to": _cast,
    "_to_copy": _cast,
    "dropout": _one("Identity"),
    **{op: _one("Identity") for op in ("clone", "contiguous", "detach", "alias", "lift_fresh_copy")},
    **{
        op: _one("Reshape")
        for op in ("view", "_unsafe_view", "reshape", "flatten", "unflatten", "squeeze", "unsqueeze")
    },
}
