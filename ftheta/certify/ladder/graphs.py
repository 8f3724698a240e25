r"""Constants of networks that are no chain: node by node over all of space, by the Jacobian in intervals on a box.

The interval Jacobian holds at every input of the box; where a continuous program has kinks it is that of JAX, which is
the derivative almost everywhere, so that its largest norm bounds the slope of every secant of a convex set.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, nextafter, sqrt
from typing import Any

import numpy as np

from ftheta.graph.certain import is_continuous, is_pole_free
from ftheta.graph.domains.interval import intervals
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.lazy import jax
from ftheta.shapes import Float

from ..norms import spectral_norm, sum_norm
from ..steepness import steepness

MOST_ENTRIES = 1 << 22  # of a Jacobian that is enclosed


@dataclass(frozen=True)
class Unbounded:
    """Why there is no bound, and at which node."""

    why: str
    where: str


def trace_network(f: Callable[[Any], Any], shape: tuple[int, ...]) -> Graph:
    """The graph of the real function."""
    with jax.enable_x64(True):
        return trace(f, jax.ShapeDtypeStruct(shape, np.float64), fold_rounded=False)


def bound_by_nodes(graph: Graph, norm: float) -> float | Unbounded:
    r"""The constant read off the nodes, $\|J\|_\infty\le\sqrt d\,\|J\|_2$ and $\|J\|_1\le\sqrt m\,\|J\|_2$."""
    try:
        with jax.enable_x64(True):
            found = steepness(graph.nodes, graph.inputs[0], graph.outputs[0], graph.constants).hi
    except GraphError as error:
        return Unbounded(error.what, error.where)
    if norm == 2:
        return found
    entries = graph.inputs[0].size if norm == inf else graph.outputs[0].size
    return nextafter(found * nextafter(sqrt(entries), inf), inf)


def bound_by_intervals(
    f: Callable[[Any], Any],
    graph: Graph,
    box: tuple[Float[np.ndarray, "d"], Float[np.ndarray, "d"]],
    norm: float,
) -> float | Unbounded:
    """The norm of the largest absolute values of all partial derivatives over a box."""
    m = graph.outputs[0].size
    n = graph.inputs[0].size
    if m * n > MOST_ENTRIES:
        return Unbounded("the Jacobian is too large to be enclosed", f"{m} × {n} entries")
    if not is_continuous(graph) or not is_pole_free(
        graph, *(end.reshape(graph.inputs[0].shape) for end in box)
    ):
        return Unbounded(
            "the program is not known to be continuous here",
            "a jump, a pole or an unknown primitive",
        )
    if any(node.primitive == "stop_gradient" for node in graph.nodes):
        return Unbounded(
            "the derivative of the program is not that of the function", "stop_gradient"
        )
    shape = graph.inputs[0].shape
    derivative = jax.jacrev if m <= n else jax.jacfwd
    try:
        with jax.enable_x64(True):
            jacobian = trace(
                derivative(f), jax.ShapeDtypeStruct(shape, np.float64), fold_rounded=False
            )
            found = intervals(
                jacobian, Interval(box[0].reshape(shape), box[1].reshape(shape))
            ).outputs
    except (GraphError, TypeError, ValueError, NotImplementedError) as error:
        return Unbounded(getattr(error, "what", str(error)), getattr(error, "where", ""))
    size = np.maximum(np.abs(found.lo), np.abs(found.hi)).reshape(m, n)
    if not np.isfinite(size).all():
        entry = tuple(int(k) for k in np.argwhere(~np.isfinite(size))[0])
        return Unbounded(
            "a partial derivative is not bounded on this set",
            f"output {entry[0]}, input {entry[1]}",
        )
    return spectral_norm(size).hi if norm == 2 else sum_norm(size, norm)
