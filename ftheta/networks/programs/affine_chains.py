r"""Programs that are a plain chain of affine maps and ReLUs, read without tracing them.

The nodes are read in order. Each takes the vector that the one before made, and is one of: a product with a constant
matrix, a constant that is added, subtracted or multiplied, a ReLU, or a change of shape that leaves the entries in
their order. Numbers are those of the file; nothing is folded, so that nothing is rounded. Any other node, and any
branch, means that the program is no such chain; tracing can tell more then.
"""

from dataclasses import dataclass
from math import prod

import numpy as np

from .node import Node
from .program import Program

_RESHAPES = frozenset(("Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout"))


@dataclass(frozen=True)
class AffineStep:
    r"""$z\mapsto Wz+b$, then a ReLU on all entries if `rectified`."""

    matrix: np.ndarray
    offset: np.ndarray
    rectified: bool = False


@dataclass(frozen=True)
class Tap:
    """A tensor of a chain: what `last` makes of the state before step number `step`; its shape has the batch axis.

    `last` is that step as far as the tensor goes: without the constant that is added after it, or without the ReLU.
    """

    step: int
    last: AffineStep
    shape: tuple[int, ...]


@dataclass(frozen=True)
class AffineChain:
    """The steps of a chain, and its tensors by name."""

    steps: tuple[AffineStep, ...]
    tensors: dict[str, Tap]


@dataclass
class _Reading:
    """The steps so far; `shape` is that of the vector they make, with its batch axis."""

    steps: list[AffineStep]
    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        return prod(self.shape)

    def push(self, matrix: np.ndarray, offset: np.ndarray) -> None:
        self.steps.append(
            AffineStep(np.asarray(matrix, np.float64), np.asarray(offset, np.float64))
        )

    def add(self, offset: np.ndarray) -> None:
        """Add a constant: to the offset of the last step while that is zero, else as a step of its own."""
        if not offset.any():
            return
        last = self.steps[-1] if self.steps else None
        if last is not None and not last.rectified and not last.offset.any():
            self.steps[-1] = AffineStep(last.matrix, np.asarray(offset, np.float64))
        else:
            self.push(np.eye(self.size), offset)

    def rectify(self) -> None:
        last = self.steps[-1] if self.steps else None
        if last is None:
            self.push(np.eye(self.size), np.zeros(self.size))
            last = self.steps[-1]
        self.steps[-1] = AffineStep(last.matrix, last.offset, True)


def read_affine_chain(program: Program) -> tuple[AffineStep, ...] | None:
    """The steps of a program with one input and one output that is a plain chain; None for every other program."""
    chain = read_tensors_of_chain(program) if len(program.outputs) == 1 else None
    return None if chain is None else chain.steps


def read_tensors_of_chain(program: Program) -> AffineChain | None:
    """The steps and tensors of a program with one input that is a plain chain; it may return several of its tensors."""
    if len(program.inputs) != 1 or program.inputs[0].dims is None:
        return None
    dims = program.inputs[0].dims
    open_axes = [axis for axis, n in enumerate(dims) if not n]
    if open_axes not in ([], [0]):  # the batch alone may be left open
        return None
    reading = _Reading([], tuple(n or 1 for n in dims))
    name = program.inputs[0].name
    tensors = dict[str, Tap]()
    for node in program.nodes:
        if not _read_node(program, node, name, reading):
            return None
        name = node.outputs[0]
        if reading.steps:
            tensors[name] = Tap(len(reading.steps) - 1, reading.steps[-1], reading.shape)
    outputs = {port.name for port in program.outputs}
    if name not in outputs or not outputs <= set(tensors):
        return None
    finite = all(
        np.isfinite(step.matrix).all() and np.isfinite(step.offset).all() for step in reading.steps
    )
    return AffineChain(tuple(reading.steps), tensors) if finite else None


def _read_node(program: Program, node: Node, name: str, reading: _Reading) -> bool:
    """Read one node that takes the tensor `name`; False if it is none of those that are known here."""
    if node.domain or list(node.inputs).count(name) != 1 or any(node.outputs[1:]):
        return False
    others = [program.tensor(other) for other in node.inputs if other and other != name]
    if any(other is None for other in others):
        return False
    constants = [np.asarray(other) for other in others]
    if node.op in _RESHAPES:
        return node.inputs[0] == name and _reshape(node, constants, reading)
    if node.op == "Relu":
        reading.rectify()
        return True
    if node.op == "MatMul":
        return len(constants) == 1 and _multiply(node, constants[0], name, reading)
    if node.op == "Gemm":
        return node.inputs[0] == name and _gemm(node, constants, reading)
    if node.op in ("Add", "Sub", "Mul", "Div"):
        return len(constants) == 1 and _combine(node, constants[0], name, reading)
    return False


def _reshape(node: Node, constants: list[np.ndarray], reading: _Reading) -> bool:
    """A shape with the same entries in the same order."""
    if node.op in ("Identity", "Dropout"):
        return True
    if node.op == "Flatten":
        axis = int(node.attributes.get("axis", 1)) % (len(reading.shape) + 1)
        reading.shape = (prod(reading.shape[:axis]), prod(reading.shape[axis:]))
        return True
    if node.op == "Reshape":
        if len(constants) != 1 or node.attributes.get("allowzero", 0):
            return False
        wanted = [int(n) for n in constants[0].ravel()]
        if len(wanted) > len(reading.shape) and 0 in wanted[len(reading.shape) :]:
            return False
        wanted = [reading.shape[axis] if n == 0 else n for axis, n in enumerate(wanted)]
        known = prod(n for n in wanted if n != -1)
        if known <= 0 or wanted.count(-1) > 1 or reading.size % known:
            return False
        shape = tuple(reading.size // known if n == -1 else n for n in wanted)
        if prod(shape) != reading.size:
            return False
        reading.shape = shape
        return True
    given = node.attributes.get("axes")
    axes = [int(n) for n in (constants[0].ravel() if constants else given or ())]
    try:
        vector = np.empty(reading.shape, bool)
        reading.shape = (
            np.expand_dims(vector, tuple(axes))
            if node.op == "Unsqueeze"
            else np.squeeze(vector, tuple(axes) or None)
        ).shape
    except (ValueError, np.exceptions.AxisError):
        return False
    return True


def _multiply(node: Node, matrix: np.ndarray, name: str, reading: _Reading) -> bool:
    """The vector as a row times a matrix; other products are left to tracing."""
    if node.inputs[0] != name or matrix.ndim != 2 or not reading.shape:
        return False
    if reading.shape[-1] != matrix.shape[0] or reading.size != matrix.shape[0]:
        return False
    reading.push(matrix.T, np.zeros(matrix.shape[1]))
    reading.shape = (*reading.shape[:-1], matrix.shape[1])
    return True


def _gemm(node: Node, constants: list[np.ndarray], reading: _Reading) -> bool:
    given = node.attributes
    plain = {given.get("alpha", 1.0), given.get("beta", 1.0)} == {1.0} and not given.get(
        "transA", 0
    )
    if (
        not plain
        or not constants
        or constants[0].ndim != 2
        or len(reading.shape) != 2
        or reading.shape[0] != 1
    ):
        return False
    matrix = constants[0] if given.get("transB", 0) else constants[0].T
    if matrix.shape[1] != reading.size:
        return False
    offset = np.zeros(len(matrix))
    if len(constants) > 1:
        if constants[1].size not in (1, len(matrix)):
            return False
        offset = np.broadcast_to(constants[1].ravel(), len(matrix))
    reading.push(matrix, offset)
    reading.shape = (1, len(matrix))
    return True


def _combine(node: Node, constant: np.ndarray, name: str, reading: _Reading) -> bool:
    """A constant that is added, subtracted, or multiplies, without making the vector larger."""
    try:
        shape = np.broadcast_shapes(constant.shape, reading.shape)
    except ValueError:
        return False
    if prod(shape) != reading.size:
        return False
    entries = np.broadcast_to(np.asarray(constant, np.float64), shape).ravel()
    first = node.inputs[0] == name
    if node.op == "Add":
        reading.add(entries)
    elif node.op == "Sub" and first:
        reading.add(-entries)
    elif node.op == "Sub":
        reading.push(-np.eye(reading.size), entries)
    elif node.op == "Mul":
        reading.push(np.diag(entries), np.zeros(reading.size))
    elif first and _are_powers_of_two(entries):
        reading.push(np.diag(1 / entries), np.zeros(reading.size))
    else:  # a quotient is rounded
        return False
    reading.shape = shape
    return True


def _are_powers_of_two(numbers: np.ndarray) -> bool:
    return bool(np.isfinite(numbers).all() and (np.abs(np.frexp(numbers)[0]) == 0.5).all())
