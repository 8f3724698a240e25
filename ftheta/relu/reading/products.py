r"""Programs that multiply piecewise-affine numbers, as a ReLU network beside a list of products.

Every product $p_k=a_kb_k$ of two numbers that depend on the input is a variable of its own, so that the rest of the
program is piecewise affine in inputs and products: a ReLU network $(x,p)\mapsto(y,a,b)$. What is read here is of degree
two: factors, and what is under a ReLU, depend on no product.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ftheta.graph.graph import Graph, Node
from ftheta.graph.interpret import forward
from ftheta.logic.errors import FthetaError
from ftheta.relu.network import ReluNetwork

from .assembly import Assembly
from .entries import as_forms, refuse, spread
from .form import domain
from .forms import Forms, pool_forms
from .linear_maps import summation

MULTIPLYING = frozenset(("mul", "square", "integer_pow", "dot_general"))


@dataclass(frozen=True, eq=False)
class QuadraticNetwork:
    r"""$y$ and the factors $a$, $b$ as a ReLU network of inputs $x$ and products $p$, one after the other.

    The function is $x\mapsto y$ with $p_k=a_kb_k$, where neither a factor nor what is under a ReLU depends on $p$.
    """

    network: ReluNetwork
    inputs: int
    outputs: int
    products: int


def read_products(graph: Graph, most: int) -> QuadraticNetwork | None:
    """The program with up to so many products; None where it has another form, more products, or rounded weights."""
    count = sum(_count_products(node, graph.fixed) for node in graph.nodes)
    if not 0 < count <= most or len(graph.inputs) != 1 or len(graph.outputs) != 1:
        return None
    reading = _Reading(graph.inputs[0].size, count)
    try:
        network = reading.read(graph)
    except FthetaError:
        return None
    found = QuadraticNetwork(network, graph.inputs[0].size, graph.outputs[0].size, count)
    return None if network.rounded or not _is_of_degree_two(found) else found


def _count_products(node: Node, fixed: frozenset[int]) -> int:
    """How many products of two numbers that depend on the input a node makes."""
    if node.primitive not in MULTIPLYING or any(slot.id in fixed for slot in node.inputs):
        return 0
    if node.primitive != "dot_general":
        return node.outputs[0].size
    (contracted, _), _ = node.params["dimension_numbers"]
    return node.outputs[0].size * int(np.prod([node.inputs[0].shape[axis] for axis in contracted]))


class _Reading:
    """One program: its variables, the products so far, and their factors."""

    def __init__(self, inputs: int, products: int) -> None:
        self.inputs = inputs
        self.assembly = Assembly(inputs + products)
        self.factors: list[tuple[Forms, Forms]] = []
        self.made = 0

    def read(self, graph: Graph) -> ReluNetwork:
        plain = domain(self.assembly)
        rules = {name: self._with_products(name, plain.rules.get(name)) for name in MULTIPLYING}
        x = self.assembly.input_forms(0, graph.inputs[0].shape)
        result = forward(replace(plain, rules={**plain.rules, **rules}), graph, x)
        (y,) = result.flat_outputs
        first, second = ([pair[k] for pair in self.factors] for k in range(2))
        return self.assembly.finish(pool_forms([as_forms(y), *first, *second]))

    def _with_products(self, name: str, plain: Callable[..., Any] | None) -> Callable[..., Any]:
        def rule(node: Node, *values: Any) -> Any:
            if not all(isinstance(value, Forms) for value in values):
                if plain is None:
                    raise refuse(
                        node, f"`{name}` is read for numbers that depend on the input alone."
                    )
                return plain(node, *values)
            if name == "dot_general":
                return self._contract(node, *values)
            if name == "integer_pow" and node.params["y"] != 2:
                raise refuse(node, "A power other than a square is of another degree than two.")
            x, y = values if len(values) == 2 else (values[0], values[0])
            return self._multiply(spread(x, node.shape), spread(y, node.shape))

        return rule

    def _multiply(self, x: Forms, y: Forms) -> Forms:
        """The variables of the products, entry by entry."""
        self.factors.append((x.reshape((x.size,)), y.reshape((y.size,))))
        start = self.inputs + self.made
        self.made += x.size
        return self.assembly.input_forms(start, x.shape)

    def _contract(self, node: Node, x: Forms, y: Forms) -> Forms:
        """A sum of products for each entry of the result."""
        (first, second), (batch_first, batch_second) = node.params["dimension_numbers"]
        left = _arrange(x.shape, batch_first, first)
        right = _arrange(y.shape, batch_second, second)
        left, right = np.broadcast_arrays(left[:, :, None], right[:, None])
        terms = self._multiply(x.taken(left), y.taken(right))
        table = np.arange(left.size).reshape(-1, left.shape[-1])
        return terms.reshape((terms.size,)).map(summation(table, terms.size), node.shape)


def _arrange(
    shape: tuple[int, ...], batch: tuple[int, ...], contracted: tuple[int, ...]
) -> np.ndarray:
    """The numbers of the entries of an array, by batch, by what is left, and by what is summed over."""
    free = [axis for axis in range(len(shape)) if axis not in (*batch, *contracted)]
    numbers = np.arange(int(np.prod(shape))).reshape(shape).transpose(*batch, *free, *contracted)
    sizes = [int(np.prod([shape[axis] for axis in axes])) for axes in (batch, free, contracted)]
    return numbers.reshape(sizes)


def _is_of_degree_two(found: QuadraticNetwork) -> bool:
    """Whether products reach neither factors nor ReLUs."""
    depends = np.arange(found.network.widths[0]) >= found.inputs
    for step in found.network.steps:
        depends = (abs(step.matrix) @ depends.astype(float)) > 0
        if (depends & step.rectified).any():
            return False
    return not depends[found.outputs :].any()
