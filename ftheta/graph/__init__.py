"""A program is a directed acyclic graph with an order of its nodes; every analysis is another interpretation of it.

`trace` makes the graph of any JAX function; `values`, `adjoints`, `tangents`, `cost` and `intervals` interpret it
(docs/graph.md). The package itself can be called: `ft.graph(f, *args)` is `tableau(f, *args)`, the function with every
value, partial, adjoint and tangent.
"""

import sys
from types import ModuleType
from typing import Any

from ftheta.calling import accept_modules
from ftheta.graph.domains.adjoints import adjoints, sweep
from ftheta.graph.domains.cost import Cost, CostReport, cost
from ftheta.graph.domains.interval import Interval, intervals
from ftheta.graph.domains.tangents import forward_gradient, tangents
from ftheta.graph.domains.values import every, run, values
from ftheta.graph.errors import (
    GraphError,
    GraphTooLarge,
    MalformedGraph,
    NoRule,
    NotTraceable,
    OutsideDomain,
    UnknownTripCount,
)
from ftheta.graph.expressions import Expression
from ftheta.graph.gradient_check import GradientCheck, check_gradient
from ftheta.graph.gradient_costs import function_memory, gradient_cost, gradient_memory
from ftheta.graph.graph import Graph, Node, Slot
from ftheta.graph.interpret import (
    Domain,
    Interpretation,
    ReverseDomain,
    active_slots,
    backward,
    forward,
)
from ftheta.graph.jaxprs import named, trace
from ftheta.graph.spec import check
from ftheta.graph.tableaux import Tableau, tableau

__all__ = [
    "Cost",
    "CostReport",
    "Domain",
    "Expression",
    "GradientCheck",
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
    "Tableau",
    "UnknownTripCount",
    "active_slots",
    "adjoints",
    "backward",
    "check",
    "check_gradient",
    "cost",
    "every",
    "forward",
    "forward_gradient",
    "function_memory",
    "gradient_cost",
    "gradient_memory",
    "intervals",
    "named",
    "run",
    "sweep",
    "tableau",
    "tangents",
    "trace",
    "values",
]


class _CallableModule(ModuleType):
    """`ft.graph` is this package; called, it differentiates a function."""

    def __call__(self, f: Any, *args: Any, **options: Any) -> Tableau:
        return accept_modules(tableau)(f, *args, **options)


sys.modules[__name__].__class__ = _CallableModule
