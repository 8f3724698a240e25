"""From a network and a domain to an enumeration: which method, which budget, which arithmetic."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from ftheta.logic.errors import UsageError
from ftheta.relu.network import ReluNetwork

from .domains import LARGEST_BOX, Box, Domain, Polyline, Space
from .enumeration import Budget, Chunk, Tally, enumerate_cells
from .plan import Plan, make_plan
from .signs import exact_body

Exactness: TypeAlias = bool | Literal["auto"]
# from this dimension on, linear programs decide faster than the corners of cells
LP_COUNTS_FASTER = 6


@dataclass(eq=False)
class Enumeration:
    """One enumeration under way: `chunks` runs it, `tally` tells how far it is."""

    plan: Plan
    tally: Tally
    chunks: Iterator[Chunk]


def checked_budget(max_cells: Any, max_seconds: Any, max_work: Any = None) -> Budget:
    """The limits as a `Budget`; one that makes no sense is refused with its name."""
    if max_cells is not None and (not isinstance(max_cells, int | np.integer) or max_cells < 1):
        raise UsageError("max_cells is a whole number >= 1 or None.", got=max_cells)
    if max_seconds is not None and not 0 < float(max_seconds) < inf:
        raise UsageError("max_seconds is a positive number or None.", got=max_seconds)
    if max_work is not None and not 1 <= max_work < inf:
        raise UsageError("max_work is a number >= 1 or None.", got=max_work)
    most_cells = None if max_cells is None else int(max_cells)
    return Budget(most_cells, max_seconds, None if max_work is None else int(max_work))


def checked_arguments(net: Any, exact: Any) -> ReluNetwork:
    """The network in normal form, if the arguments are what they should be."""
    if exact not in (True, False, "auto"):
        raise UsageError('exact is True, False or "auto".', got=exact)
    if isinstance(net, ReluNetwork):
        return net
    # reads networks of other kinds, whose package waits for JAX
    from .normal_forms import network_of

    return network_of(net)


def checked_workers(workers: Any) -> int:
    """The number of `workers`, which must be a positive whole number."""
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise UsageError("workers is the number of threads, at least 1.", got=workers)
    return workers


def begin(
    net: Any,
    domain: Domain,
    exact: Exactness,
    budget: Budget,
    *,
    store: bool,
    maps: bool,
    workers: int = 1,
) -> list[Enumeration]:
    """The enumerations that make up a domain: one, or one for every segment of a polyline."""
    form = checked_arguments(net, exact)
    deadline = budget.deadline()
    parts = domain.segments if isinstance(domain, Polyline) else (domain,)
    checked_workers(workers)
    return [_begin(form, part, exact, budget, deadline, store, maps, workers) for part in parts]


def _begin(
    net: ReluNetwork,
    domain: Any,
    exact: Exactness,
    budget: Budget,
    deadline: float,
    store: bool,
    maps: bool,
    workers: int,
) -> Enumeration:
    plan = make_plan(net, domain.chart)
    if isinstance(domain, Space):
        raise UsageError(
            "Pieces of all of space are counted, not stored.", remedy="count_pieces(net, Space(d))"
        )
    if exact == "auto" and not plan.is_in_range(_size(domain)):
        exact = True  # float64 would overflow, or lose everything to underflow
    if exact is True and plan.dimension > LARGEST_BOX:
        from .methods.lp import LPKernel

        kernel = LPKernel(
            plan, domain, ask=True, store=store, maps=maps, rational=True, deadline=deadline
        )
        return Enumeration(plan, kernel.tally, enumerate_cells(kernel, budget, deadline))
    if exact is True:
        from .methods.rational import RationalEnumeration, chunks, initial_vertices

        corners, sides = exact_body(domain)
        run = RationalEnumeration(plan, initial_vertices(corners, sides), len(sides))
        return Enumeration(plan, run.tally, chunks(run, budget, deadline, maps and store))
    kernel = _kernel(plan, domain, exact == "auto", store, maps, deadline)
    if workers > 1 and getattr(kernel, "can_be_shared", False):
        from .methods.workers import enumerate_together

        return Enumeration(
            plan, kernel.tally, enumerate_together(kernel, workers, budget, deadline)
        )
    return Enumeration(plan, kernel.tally, enumerate_cells(kernel, budget, deadline))


def _size(domain: Any) -> float:
    """The largest coordinate."""
    ends = (
        np.concatenate([domain.lower, domain.upper]) if isinstance(domain, Box) else domain.corners
    )
    return float(np.abs(ends).max())


def _kernel(plan: Plan, domain: Any, ask: bool, store: bool, maps: bool, deadline: float) -> Any:
    if plan.dimension == 1:
        from .methods.line import LineKernel

        ends = np.sort(domain.corners[:, 0])
        return LineKernel(plan, ends, ask=ask, store=store, maps=maps)
    if plan.dimension == 2:
        from .methods.plane import PlaneKernel

        return PlaneKernel(plan, domain.corners, ask=ask, store=store, maps=maps)
    if plan.dimension > LARGEST_BOX or (not store and plan.dimension >= LP_COUNTS_FASTER):
        from .methods.lp import LPKernel

        return LPKernel(plan, domain, ask=ask, store=store, maps=maps, deadline=deadline)
    from .methods.box import BoxKernel, box_body

    return BoxKernel(plan, *box_body(domain), ask=ask, store=store, maps=maps)
