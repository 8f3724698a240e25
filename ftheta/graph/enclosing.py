"""One value of a program once more, with outward rounding: what a witness is checked by."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.graph.domains.cost import total_cost
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.errors import GraphError
from ftheta.graph.graph import Graph
from ftheta.graph.jaxprs import trace
from ftheta.logic.enclosure import Enclosure

MOST_WORK = 4e8  # floating-point operations of a program that is evaluated again
MOST_ENTRIES = 1 << 22  # of an array in it


def affordable(graph: Graph, times: int = 1) -> bool:
    """Whether so many evaluations in intervals take seconds at most, and little memory."""
    small = all(slot.size <= MOST_ENTRIES for slot in graph.slots)
    return small and times * total_cost(graph).flops <= MOST_WORK


def enclose(f: Callable[..., Any], *args: Any) -> Interval | None:
    """An enclosure of the array `f(*args)`, for the real function that `f` denotes with its constants as stored.

    `f` is traced and interpreted in intervals with points for its arguments, or with the intervals that are given in
    their place. None where it cannot be traced, where a primitive has no rule, or where it would take long.
    """
    points = [arg.lo if isinstance(arg, Interval) else arg for arg in args]
    try:
        with jax.enable_x64(True):
            graph = trace(f, *points, fold_rounded=False)
            return intervals(graph, *args).outputs if affordable(graph) else None
    except (GraphError, TypeError, ValueError, FloatingPointError):
        return None


def enclose_entry(f: Callable[..., Any], *args: Any, entry: int) -> Enclosure:
    """An EXACT enclosure of one entry of `f(*args)`, counted in its flat order; all numbers where nothing is known."""
    return enclose_number(lambda *args: jnp.ravel(f(*args))[entry], *args)


def enclose_number(f: Callable[..., Any], *args: Any) -> Enclosure:
    """An EXACT enclosure of `f(*args)`, a program with one number as result; all numbers where nothing is known."""
    found = enclose(f, *args)
    if found is None or found.lo.size != 1:
        return Enclosure.unknown()
    return Enclosure.between(float(np.ravel(found.lo)[0]), float(np.ravel(found.hi)[0]))
