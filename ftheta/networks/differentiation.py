r"""What the gradient of a program costs, and of multilayer perceptrons and chains as they grow: counted, not timed."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, cached_property
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph import Graph, Node, NoRule, adjoints, cost, forward_gradient, gradient_cost, gradient_memory, tangents
from ftheta.graph.domains.cost import CostReport
from ftheta.graph.gradient_costs import GradientCost, GradientMemory
from ftheta.graph.jaxprs import trace
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Identity, Series

from .description import Description

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
        return self.graph.argument(0) if self.first_only else self.graph.inputs

    @cached_property
    def report(self) -> CostReport:
        return cost(self.graph, wrt=self.wrt)

    @cached_property
    def costs(self) -> GradientCost:
        return gradient_cost(self.graph, self.wrt)

    @cached_property
    def memory(self) -> GradientMemory:
        return gradient_memory(self.graph)

    @property
    def dear(self) -> list[Node]:
        """Operations that cost more than four on the way back for each one forward."""
        forward, back = self.report.forward, self.report.reverse
        return [n for n in self.graph.nodes if forward[n.id].flops and back[n.id].flops > DEAREST * forward[n.id].flops]

    @property
    def copies(self) -> int:
        """Additions of the sweep back that undo copies, which are free forward."""
        forward, back = self.report.forward, self.report.reverse
        return sum(back[n.id].flops for n in self.graph.nodes if forward[n.id].flops == 0)

    def claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        function = max(self.costs.function.flops, 1)
        bound = 5 + Fraction(self.copies, function)
        extra = f" + {self.copies}/{function}" if self.copies else ""
        counted = AtMost(
            f"(value and gradient) ÷ value in operations, at most 5{extra}", _exact(self.costs.ratio), _exact(bound)
        )
        again = Enclosure.exact(self.memory.recomputed.flops)
        spared = AtMost("operations computed again with √n checkpoints", again, _exact(self.costs.function.flops))
        return counted, self._equal_to_forward_mode(rng), spared

    def _equal_to_forward_mode(self, rng: np.random.Generator) -> Identity:
        """Every coordinate, or for many coordinates a few directions; the worst is told."""
        found = adjoints(self.graph, *self.args, wrt=self.wrt)
        reverse = np.concatenate([np.zeros(0), *(np.ravel(found[slot]) for slot in self.wrt if slot.is_real)])
        if reverse.size <= MOST_PASSES:
            ahead, what = forward_gradient(self.graph, *self.args, wrt=self.wrt), "coordinate"
        else:
            pairs = [self._along(rng, reverse) for _ in range(DIRECTIONS)]
            reverse, ahead, what = *(np.array(side) for side in zip(*pairs)), "direction"
        k = int(np.argmax(np.abs(reverse - ahead)))
        scale = float(np.max(np.abs(reverse), initial=0.0))
        left, right = (Enclosure.measured(float(side[k]), samples=len(reverse)) for side in (reverse, ahead))
        return Identity(f"reverse mode and forward mode (worst {what})", left, right, atol=1e-11 * scale + 1e-300)

    def _along(self, rng: np.random.Generator, reverse: np.ndarray) -> tuple[float, float]:
        moved = [
            rng.normal(size=s.shape) if s in self.wrt and s.is_real else np.zeros(s.shape) for s in self.graph.inputs
        ]
        speeds = np.concatenate([np.ravel(v) for v, s in zip(moved, self.graph.inputs) if s in self.wrt and s.is_real])
        leaves = iter(moved)
        direction = jax.tree.map(lambda _: next(leaves), self.args)
        ahead = tangents(self.graph, *self.args, along=direction)[self.graph.outputs[0]]
        return float(reverse @ speeds), float(ahead)


def differentiated(f: Callable[..., Any], args: tuple[Any, ...], first_only: bool) -> Differentiated:
    return Differentiated(trace(f, *args), args, first_only)


def multiplications(description: Description) -> tuple[int, int] | None:
    r"""$\sum_\ell d_{\ell-1}d_\ell$ forward and $2\sum_\ell d_{\ell-1}d_\ell-d_0d_1$ backward: each layer multiplies
    once forward, twice backward, but nobody asks for the derivative in the data. None where activations multiply."""
    if any(layer.activation not in ("relu", "identity") for layer in description.layers):
        return None
    products = [m * n for m, n in pairwise(description.widths)]
    return sum(products), 2 * sum(products) - products[0]


@cache
def perceptrons() -> tuple[GradientCost, ...]:
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
def chain(length: int) -> GradientMemory:
    """The memory of x ↦ sin(sin(… x)), in states: numbers of 8 bytes."""

    def repeated(x: Any) -> Any:
        for _ in range(length):
            x = jnp.sin(x)
        return x

    return gradient_memory(trace(repeated, jax.ShapeDtypeStruct((), np.float64)))


def growth_claims() -> tuple[Claim, ...]:
    worst = max(c.ratio for c in perceptrons())
    sizes = f"d = {perceptrons()[0].dimension:,} … {perceptrons()[-1].dimension:,}"
    longest = LENGTHS[-1]
    states = Enclosure.exact(chain(longest).checkpointed // 8)
    return (
        AtMost(f"the same ratio for perceptrons of {sizes} (largest)", _exact(worst), _exact(5)),
        AtMost(f"states alive in a chain of n = {longest} with checkpoints, 2√n + 2", states, _exact(2 * 32 + 2)),
    )


def cost_chart(here: Differentiated) -> Curves:
    """Operations of a gradient against the number of inputs, in evaluations of the function."""
    d = [c.dimension for c in perceptrons()]
    per = lambda part: [getattr(c, part).flops / c.function.flops for c in perceptrons()]
    own, function = here.costs, max(here.costs.function.flops, 1)
    series = (
        Series("forward mode", d, per("forward_mode"), "other"),
        Series("finite differences", d, per("finite_differences"), "reference"),
        Series("reverse mode", d, per("reverse_mode")),
        Series("bound 5", d, [5.0] * len(d), "bound"),
    )
    if own.dimension not in d:
        series += (Series("this program", [own.dimension], [own.reverse_mode.flops / function], mark="points"),)
    title = "cost of a gradient, perceptrons (10s, 20s, 30s, 1)"
    return Curves(title, Axis("number of parameters d", "log"), Axis("evaluations of the function", "log"), series)


def memory_chart() -> Curves:
    """States alive at once in a chain of n steps."""
    states = lambda part: [getattr(chain(n), part) // 8 for n in LENGTHS]
    series = (
        Series("reverse mode", LENGTHS, states("reverse")),
        Series("with √n checkpoints", LENGTHS, states("checkpointed"), "other"),
        Series("2√n + 2", LENGTHS, [2 * n**0.5 + 2 for n in LENGTHS], "bound"),
        Series("function alone", LENGTHS, states("function"), "reference"),
    )
    return Curves("memory of reverse mode in a chain", Axis("steps n", "log"), Axis("states alive", "log"), series)


def countable(found: Differentiated) -> str:
    """Why the program's operations cannot be counted or bounded, or nothing."""
    if [slot.shape for slot in found.graph.outputs] != [()]:
        return "the program does not return one number"
    try:
        dear = found.dear
    except NoRule as error:
        return error.what
    names = ", ".join(sorted({node.label or node.primitive for node in dear}))
    return f"more than {DEAREST} operations back for one forward: {names}" if dear else ""


def _exact(q: int | Fraction) -> Enclosure:
    return Enclosure.exact(q)
