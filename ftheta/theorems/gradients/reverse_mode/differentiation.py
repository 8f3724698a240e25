r"""What the gradient of a program costs, and of multilayer perceptrons and chains as they grow: counted, not timed."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, Node, NoRule, adjoints, cost, forward_gradient, tangents
from ftheta.graph.domains.cost import CostReport
from ftheta.graph.gradient_costs import GradientCost, GradientMemory, gradient_cost, gradient_memory
from ftheta.graph.jaxprs import trace
from ftheta.networks.description import Description

SCALES = (1, 2, 4, 8, 16, 32)
BASE = (10, 20, 30, 1)
LENGTHS = (4, 16, 64, 256, 1024)
DEAREST = 4  # operations of the sweep back for one operation: the heart of the bound 5
MOST_PASSES = 4096
DIRECTIONS = 8


@dataclass(frozen=True, eq=False)
class Differentiated:
    """A graph with one number as result, and which of its inputs are differentiated."""

    graph: Graph
    args: tuple[Any, ...]
    first_only: bool  # with respect to the first argument (the parameters), not to all

    @property
    def wrt(self) -> tuple[Any, ...]:
        """The slots of the inputs that are differentiated."""
        return self.graph.argument(0) if self.first_only else self.graph.inputs

    @cached_property
    def report(self) -> CostReport:
        """Operations of every node, forward and backward."""
        return cost(self.graph, wrt=self.wrt)

    @cached_property
    def costs(self) -> GradientCost:
        """Operations of the function and of its gradient, by each mode."""
        return gradient_cost(self.graph, self.wrt)

    @cached_property
    def memory(self) -> GradientMemory:
        """Bytes that each mode keeps."""
        return gradient_memory(self.graph)

    @property
    def dear(self) -> list[Node]:
        """Operations that cost more than four on the way back for each one forward."""
        forward = self.report.forward
        back = self.report.reverse
        return [
            n
            for n in self.graph.nodes
            if forward[n.id].flops and back[n.id].flops > DEAREST * forward[n.id].flops
        ]

    @property
    def copies(self) -> int:
        """Additions of the sweep back that undo copies, which are free forward."""
        forward = self.report.forward
        back = self.report.reverse
        return sum(back[n.id].flops for n in self.graph.nodes if forward[n.id].flops == 0)

    def compare_modes(self, rng: np.random.Generator) -> "Compared":
        """Reverse and forward mode in every coordinate, or for many coordinates in a few random directions."""
        found = adjoints(self.graph, *self.args, wrt=self.wrt)
        reverse = np.concatenate(
            [np.zeros(0), *(np.ravel(found[slot]) for slot in self.wrt if slot.is_real)]
        )
        if reverse.size <= MOST_PASSES:
            return Compared(
                reverse, forward_gradient(self.graph, *self.args, wrt=self.wrt), "coordinate"
            )
        pairs = np.array([self._along(rng, reverse) for _ in range(DIRECTIONS)])
        return Compared(pairs[:, 0], pairs[:, 1], "direction")

    def _along(self, rng: np.random.Generator, reverse: np.ndarray) -> tuple[float, float]:
        moved = [
            rng.normal(size=s.shape) if s in self.wrt and s.is_real else np.zeros(s.shape)
            for s in self.graph.inputs
        ]
        speeds = np.concatenate(
            [np.ravel(v) for v, s in zip(moved, self.graph.inputs) if s in self.wrt and s.is_real]
        )
        leaves = iter(moved)
        direction = jax.tree.map(lambda _: next(leaves), self.args)
        ahead = tangents(self.graph, *self.args, along=direction)[self.graph.outputs[0]]
        return float(reverse @ speeds), float(ahead)


@dataclass(frozen=True, eq=False)
class Compared:
    """Derivatives by reverse and by forward mode, in each coordinate or direction."""

    reverse: np.ndarray
    forward: np.ndarray
    what: str


def differentiate(f: Callable[..., Any], args: tuple[Any, ...], first_only: bool) -> Differentiated:
    """The graph of f at these arguments."""
    return Differentiated(trace(f, *args), args, first_only)


def count_multiplications(description: Description) -> tuple[int, int] | None:
    r"""$\sum_\ell d_{\ell-1}d_\ell$ forward and $2\sum_\ell d_{\ell-1}d_\ell-d_0d_1$ backward: each layer multiplies
    once forward, twice backward, but nobody asks for the derivative in the data. None where activations multiply."""
    if any(layer.activation not in ("relu", "identity") for layer in description.layers):
        return None
    products = [m * n for m, n in pairwise(description.widths)]
    return sum(products), 2 * sum(products) - products[0]


@cache
def perceptron_costs() -> tuple[GradientCost, ...]:
    """The costs of perceptrons (10 s, 20 s, 30 s, 1), s = 1, 2, 4, …: only shapes are traced, nothing is computed."""
    return tuple(_perceptron(tuple(s * n for n in BASE[:-1]) + BASE[-1:]) for s in SCALES)


def _perceptron(widths: tuple[int, ...]) -> GradientCost:
    shape = lambda *n: jax.ShapeDtypeStruct(n, np.float64)

    def network(layers: Any, x: Any) -> Any:
        for w, b in layers[:-1]:
            x = jax.nn.relu(w @ x + b)
        (w, b) = layers[-1]
        return (w @ x + b)[0]

    graph = trace(network, [(shape(n, m), shape(n)) for m, n in pairwise(widths)], shape(widths[0]))
    return gradient_cost(graph, graph.argument(0))


@cache
def chain_memory(length: int) -> GradientMemory:
    """The memory of x ↦ sin(sin(… x)), in states: numbers of 8 bytes."""

    def repeat_sine(x: Any) -> Any:
        for _ in range(length):
            x = jnp.sin(x)
        return x

    return gradient_memory(trace(repeat_sine, jax.ShapeDtypeStruct((), np.float64)))


def why_uncountable(found: Differentiated) -> str:
    """Why the program's operations cannot be counted or bounded, or nothing."""
    if [slot.shape for slot in found.graph.outputs] != [()]:
        return "the program does not return one number"
    try:
        dear = found.dear
    except NoRule as error:
        return error.what
    names = ", ".join(sorted({node.label or node.primitive for node in dear}))
    return f"more than {DEAREST} operations back for one forward: {names}" if dear else ""
