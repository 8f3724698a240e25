r"""Counting the pieces of all of $\mathbb R^d$, unbounded ones included.

Space is cut into $d+1$ cones from the origin, and each is enumerated in homogeneous coordinates, where a direction is a
corner like any other. A piece may meet several cones; since patterns and pieces correspond one to one, the number of
pieces is the number of different patterns.
"""

from math import inf
from typing import Any

from ftheta.logic.enclosure import Basis, Enclosure

from .domains import Space
from .enumeration import Budget, Tally, enumerate_cells
from .plan import make_plan
from .setting import Exactness, checked_arguments


def count_in_space(net: Any, space: Space, exact: Exactness, budget: Budget) -> Enclosure:
    """The number of pieces in all of space: exactly, or at least those found within the budget."""
    plan = make_plan(checked_arguments(net, exact), space.chart)
    deadline = budget.deadline()
    if exact == "auto" and not plan.is_in_range(1.0):
        exact = True
    found: set[bytes] = set()
    total = Tally(complete=True)
    for generators in space.fan():
        rest = None if budget.max_cells is None else budget.max_cells - len(found)
        if rest is not None and rest <= 0:
            total.complete = False
            break
        left = None if budget.max_work is None else max(0, budget.max_work - total.work)
        limits = Budget(rest, budget.max_seconds, left)
        tally = (_rational if exact is True or space.dimension == 1 else _compile)(
            plan, generators, exact, limits, deadline, found
        )
        total = total.plus(tally)
        if not tally.complete:
            break
    basis = plan.net.basis if exact is not False and total.guessed == 0 else Basis.FLOAT
    return Enclosure(len(found), len(found) if total.complete else inf, basis)


def _compile(plan, generators, exact, limits, deadline, found) -> Tally:
    from .methods.box import BoxKernel, simplex_body

    kernel = BoxKernel(plan, *simplex_body(generators), ask=exact == "auto", store=True, maps=False)
    for chunk in enumerate_cells(kernel, limits, deadline):
        found.update(row.tobytes() for row in chunk.patterns)
    return kernel.tally


def _rational(plan, generators, exact, limits, deadline, found) -> Tally:
    from .methods.box import simplex_body
    from .methods.rational import RationalEnumeration, initial_vertices

    corners, sides, _, _ = simplex_body(generators)
    whole = lambda rows: [tuple(int(x) for x in row) for row in rows]
    run = RationalEnumeration(plan, initial_vertices(whole(corners), whole(sides)), len(sides))
    for _, pattern in run.cells(limits, deadline):
        found.add(pattern.to_bytes(8 * plan.words, "little"))
    return run.tally
