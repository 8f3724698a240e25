r"""Functions that are chains of dense layers, read off their graph.

The graph of `apply(params, x)` is read backwards from its output: an activation, a bias, a matrix, and again, until the
input is reached. A node that is none of these ends the reading: there is no list of layers then. Whatever the network
was written in (a file, a module, a function), it is this graph that is asked.

Activations are recognised by the functions of `SPELLINGS`, each traced once and compared node by node. Constants that
are added to the input or multiply it are a scaling, behind which the layers stand; where its numbers are parameters,
the network is no list of layers.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from math import prod
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.arrays import MOVES
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.jaxprs import trace
from ftheta.graph.primitives import CUSTOM_CALLS, IDENTITIES

from .activations import ACTIVATIONS, LEAK
from .description import Dense, Description
from .scaling import Operation, ScaledLayers, Scaling, behind


def _softplus_of_torch(z: jax.Array) -> jax.Array:
    """As torch has it: $z$ itself above a threshold."""
    return jnp.where(1.0 * z > 20.0, z, jax.nn.softplus(1.0 * z) / 1.0)


SPELLINGS: Mapping[str, tuple[Callable[[Any], Any], ...]] = {
    "relu": (lambda z: jnp.maximum(z, 0.0),),
    "leaky-relu": (lambda z: jnp.maximum(z, float(LEAK) * z),),
    "silu": (lambda z: z * jax.nn.sigmoid(z),),
    "square": (lambda z: z * z, lambda z: z**2, lambda z: jnp.power(z, 2.0)),
    "softplus": (_softplus_of_torch,),
}
"""Other ways to write an activation than the function of `ACTIVATIONS`."""

OPERATIONS: Mapping[str, Operation] = {"add": "add", "sub": "sub", "mul": "mul", "div": "div"}
"""Primitives by which a constant scales or shifts the input."""

_COMMUTATIVE = frozenset(("add", "add_any", "mul", "max", "min"))
_KEEPS_ORDER = frozenset(
    (
        *("copy", "stop_gradient", "convert_element_type", "squeeze", "expand_dims"),
        *("broadcast_in_dim", "slice", "dynamic_slice"),
    )
)
"""Primitives that, where as many entries leave as enter, leave them in their order."""


def read_dense_chain(
    apply: Callable[[Any, Any], Any],
    params: Any,
    shape: tuple[int, ...],
    *,
    may_share: bool = False,
) -> Description | ScaledLayers | None:
    """The layers of a function `apply(params, x)` of one input of that shape, perhaps behind a scaling of the input;
    None for a function that is no chain of dense layers with known activations.

    The numbers of the layers are those of `params`, or constants of the function, in float64. Layers that share
    parameters are no list of layers, unless they `may_share` them, as in files that store equal tensors once.
    """
    try:
        with jax.enable_x64(True):
            graph = trace(apply, params, jax.ShapeDtypeStruct(shape, np.float64))
    except GraphError:  # too large, or a loop of unknown length
        return None
    if len(graph.outputs) != 1 or not graph.outputs[0].is_real:
        return None
    learnt = (slot.id for slot in graph.argument(0))
    reader = _Reader(graph, dict(zip(learnt, graph.signature.inputs_of((params, 0.0)))))
    found = _read(reader)
    return found if may_share or len(set(reader.used)) == len(reader.used) else None


def _read(reader: "_Reader") -> Description | ScaledLayers | None:
    layers = list[Dense]()
    at = reader.graph.outputs[0]
    while True:
        at = reader.skip_reshapes(at)
        word, argument = reader.activation(at)
        found = reader.affine(argument)
        if found is None:
            break
        bias = np.zeros(len(found.weight)) if found.bias is None else found.bias
        layers.append(Dense(found.weight, bias, word, has_bias=found.bias is not None))
        at = found.argument
    scaling = reader.scaling(at, layers[-1].weight.shape[1]) if layers else None
    if scaling is None:
        return None
    chain = tuple(reversed(layers))
    if any(len(one.weight) != other.weight.shape[1] for one, other in pairwise(chain)):
        return None
    constants = [constant for _, constant in scaling.steps]
    weights = [
        part
        for layer in (*chain, scaling.folded_into(chain[0]))
        for part in (layer.weight, layer.bias)
    ]
    finite = all(np.isfinite(numbers).all() for numbers in (*constants, *weights))
    return behind(scaling, Description(chain)) if finite else None


class _Affine(NamedTuple):
    """$Wx+b$ of the slot `argument` $x$; without a `bias`, $Wx$."""

    weight: np.ndarray
    bias: np.ndarray | None
    argument: Slot


@dataclass(frozen=True, eq=False)
class _Reader:
    """The graph, the numbers of the slots that are parameters, and the parameters that layers were made of."""

    graph: Graph
    params: Mapping[int, Any]
    used: list[int] = field(default_factory=list)

    def numbers(self, slot: Slot) -> np.ndarray | None:
        """The numbers of a slot whose entries are parameters or constants, in any order; None for every other slot."""
        held = self.params.get(slot.id, self.graph.constants.get(slot.id))
        if held is not None:
            return np.asarray(held, np.float64) if slot.is_real else None
        node = self.graph.producers.get(slot.id)
        if node is None or not slot.is_real:
            return None
        inner = self.numbers(node.inputs[0])
        if inner is None:
            return None
        if node.primitive in MOVES:
            return MOVES[node.primitive](node, inner)
        return inner.reshape(node.shape) if _keeps_order(node) else None

    def parameters(self, slot: Slot) -> set[int]:
        """The parameters that a slot is computed from."""
        if slot.id in self.params:
            return {slot.id}
        node = self.graph.producers.get(slot.id)
        return set() if node is None else set[int]().union(*map(self.parameters, node.inputs))

    def skip_reshapes(self, slot: Slot) -> Slot:
        """Back over nodes that only reshape."""
        while (node := self.graph.producers.get(slot.id)) is not None and _keeps_order(node):
            slot = node.inputs[0]
        return slot

    # ---- activations ----

    def activation(self, slot: Slot) -> tuple[str, Slot]:
        """The word and the argument of the activation that makes the slot; `identity` of itself if there is none."""
        for word, spelling in _spellings():
            for argument in self._matches(spelling, spelling.outputs[0], slot, None):
                if argument is not None:
                    return word, argument
        return "identity", slot

    def _matches(
        self, spelling: Graph, part: Slot, slot: Slot, z: Slot | None
    ) -> Iterator[Slot | None]:
        """Every way to read the slot as a `part` of the spelling: what its argument $z$ is then, which is known from
        other parts or not yet known."""
        if part == spelling.inputs[0]:
            argument = self.skip_reshapes(slot)
            if z is None or z == argument:
                yield argument
            return
        if part.id in spelling.constants:
            numbers = self.numbers(slot)
            if numbers is not None and np.all(numbers == spelling.constants[part.id]):
                yield z
            return
        wanted = spelling.producers[part.id]
        if wanted.primitive in IDENTITIES:
            yield from self._matches(spelling, wanted.inputs[0], slot, z)
            return
        node = self.graph.producers.get(self.skip_reshapes(slot).id)
        if node is None or not _is_same_operation(node, wanted):
            return
        for inputs in (
            (node.inputs, node.inputs[::-1]) if node.primitive in _COMMUTATIVE else (node.inputs,)
        ):
            found = [z]
            for argument, given in zip(wanted.inputs, inputs, strict=True):
                found = [
                    other
                    for one in found
                    for other in self._matches(spelling, argument, given, one)
                ]
            yield from found

    # ---- affine maps ----

    def affine(self, slot: Slot) -> _Affine | None:
        """$W$, $b$ and the slot $x$ with the given slot equal to $Wx+b$."""
        node = self.graph.producers.get(self.skip_reshapes(slot).id)
        if node is None:
            return None
        if node.primitive == "dot_general":
            return self._product(node)
        return self._sum(node) if node.primitive in ("add", "add_any", "sub") else None

    def _product(self, node: Node) -> _Affine | None:
        """A matrix times the one vector that the other factor is, whatever axes of length 1 it has."""
        contracted, batched = node.params["dimension_numbers"]
        for place in (0, 1):
            vector = node.inputs[1 - place]
            matrix = self.numbers(node.inputs[place])
            # of the vector, and of the matrix
            axes = dict(zip(contracted[1 - place], contracted[place]))
            if (
                matrix is None
                or batched != ((), ())
                or prod(vector.shape[axis] for axis in axes) != vector.size
            ):
                continue
            self.used.extend(self.parameters(node.inputs[place]))
            inner = [axes[axis] for axis in sorted(axes)]
            outer = [axis for axis in range(matrix.ndim) if axis not in inner]
            return _Affine(matrix.transpose(*outer, *inner).reshape(-1, vector.size), None, vector)
        return None

    def _sum(self, node: Node) -> _Affine | None:
        """A product and a constant; of a difference, the product is the first term."""
        one, two = node.inputs
        for term, other in [(one, two)] if node.primitive == "sub" else [(one, two), (two, one)]:
            bias = self.numbers(other)
            inner = self.graph.producers.get(self.skip_reshapes(term).id)
            if bias is None or inner is None or inner.primitive != "dot_general":
                continue
            product = self._product(inner)
            if product is None or prod(node.shape) != len(product.weight):
                return None
            self.used.extend(self.parameters(other))
            bias = np.broadcast_to(bias, node.shape).ravel()
            return product._replace(bias=-bias if node.primitive == "sub" else bias)
        return None

    # ---- the input ----

    def scaling(self, slot: Slot, width: int) -> Scaling | None:
        """What happens to the input before the slot, of so many entries; None if it is no scaling by constants."""
        (x,) = self.graph.argument(1)
        steps: list[tuple[Operation, np.ndarray]] = []
        while (slot := self.skip_reshapes(slot)) != x:
            node = self.graph.producers.get(slot.id)
            if node is None or node.primitive not in OPERATIONS:
                return None
            one, two = node.inputs
            swapped = self.numbers(two) is None and node.primitive in ("add", "mul")
            slot, constant = (two, one) if swapped else (one, two)
            numbers = self.numbers(constant)
            if (
                numbers is None
                or self.parameters(constant)
                or {slot.size, prod(node.shape)} != {width}
            ):
                return None
            steps.append((OPERATIONS[node.primitive], np.broadcast_to(numbers, node.shape).ravel()))
        return Scaling(tuple(reversed(steps)))


def _keeps_order(node: Node) -> bool:
    """Whether all entries of the first operand, and no others, leave the node as they are and in their order."""
    inner = node.inputs[0]
    if inner.size != prod(node.shape) or not (inner.is_real and node.outputs[0].is_real):
        return False
    if node.primitive == "transpose":
        long = [axis for axis in node.params["permutation"] if inner.shape[axis] != 1]
        return long == sorted(long)
    if node.primitive == "reshape":
        return node.params.get("dimensions") is None
    return node.primitive in _KEEPS_ORDER


def _is_same_operation(node: Node, other: Node) -> bool:
    """Whether two nodes that act entry by entry compute the same; functions of JAX are known by their names."""
    if node.primitive != other.primitive or len(node.inputs) != len(other.inputs):
        return False
    if node.primitive in CUSTOM_CALLS:
        return node.by_jax and other.by_jax and node.label == other.label
    return node.params.get("y") == other.params.get("y")  # of `integer_pow`


@cache
def _spellings() -> tuple[tuple[str, Graph], ...]:
    """Activations and their graphs, as functions of one number."""
    with jax.enable_x64(True):
        z = jax.ShapeDtypeStruct((), np.float64)
        own = [(word, known.function) for word, known in ACTIVATIONS.items() if word != "identity"]
        others = [
            (word, function) for word, functions in SPELLINGS.items() for function in functions
        ]
        return tuple((word, trace(function, z)) for word, function in (*own, *others))
