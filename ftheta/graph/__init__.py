"""A program is a directed acyclic graph with an order of its nodes; every analysis is another interpretation of it.

`trace` makes the graph of any JAX function; `values`, `adjoints`, `cost` and `intervals` interpret it (docs/graph.md).
"""

from ftheta.graph.domains.adjoints import adjoints, sweep
from ftheta.graph.domains.cost import Cost, CostReport, cost
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.domains.values import run, values
from ftheta.graph.errors import (
    GraphError,
    GraphTooLarge,
    MalformedGraph,
    NoRule,
    NotTraceable,
    OutsideDomain,
    UnknownTripCount,
)
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import Domain, Interpretation, ReverseDomain, active_slots, backward, forward
from ftheta.graph.jaxprs import named, trace
from ftheta.graph.spec import check

__all__ = [
    "Cost",
    "CostReport",
    "Domain",
    "Graph",
    "GraphError",
    "GraphTooLarge",
    "Interpretation",
    "Interval",
    "MalformedGraph",
    "NoRule",
    "Node",
    "NotTraceable",
    "OutsideDomain",
    "ReverseDomain",
    "Slot",
    "UnknownTripCount",
    "active_slots",
    "adjoints",
    "backward",
    "check",
    "cost",
    "forward",
    "intervals",
    "named",
    "run",
    "sweep",
    "trace",
    "values",
]
