r"""Rows that say nothing about a network: outputs that cancel in them, whatever the last state is, are left out.

A row such as $y_0\le h_0+h_1$, where the network adds up exactly these hidden nodes, is a tie at every input. Bounds in
float64 can never decide it; its coefficients of the last state can, in rationals.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ftheta.relu.matrices import fraction
from ftheta.relu.network import ExactStep, ReluNetwork

from .goals import set_goal
from .questions import Case, Row

NEAR = 1e-9  # of what is added up: smaller sums may be zero
MOST_ROWS = 100_000  # that are looked at


def drop_cancelled_outputs(net: ReluNetwork, case: Case) -> Case:
    """The same case with rows in which outputs cancel as rows of inputs alone, or as nothing where they are true."""
    rows = [row for disjunct in case.unsafe for row in disjunct]
    if not rows or len(rows) > MOST_ROWS or not any(len(row.outputs) > 1 for row in rows):
        return case
    last = net.steps[-1]
    several = [row for row in rows if len(row.outputs) > 1]
    goal = set_goal(replace(case, unsafe=(tuple(several),)), net.widths[0], net.widths[-1])
    sums = np.abs(np.asarray((last.matrix.T @ goal.outputs.T).T))
    sizes = np.asarray((abs(last.matrix).T @ np.abs(goal.outputs).T).T)
    are_near = np.asarray((sums <= NEAR * sizes).all(axis=1))
    suspects = {id(row) for row, is_near in zip(several, are_near) if is_near}
    if not suspects:
        return case
    exactly = last.in_rationals()
    simpler = {id(row): _without_outputs(row, exactly) for row in rows if id(row) in suspects}
    disjuncts = list[tuple[Row, ...]]()
    for disjunct in case.unsafe:
        kept = [simpler.get(id(row), row) for row in disjunct]
        constant = [row for row in kept if not row.inputs and not row.outputs]
        if all(row.holds((), ()) for row in constant):
            disjuncts.append(tuple(row for row in kept if row.inputs or row.outputs))
    return replace(case, unsafe=tuple(disjuncts))


def _without_outputs(row: Row, last: ExactStep) -> Row:
    """The row with its outputs replaced by their value, if that does not depend on the last state."""
    sums = dict[int, Fraction]()
    for k, q in row.outputs.items():
        for j, a in last.matrix.rows[k].items():
            sums[j] = sums.get(j, Fraction(0)) + q * fraction(a)
    if any(sums.values()):
        return row
    constant = sum((q * fraction(last.offset[k]) for k, q in row.outputs.items()), Fraction(0))
    return Row(row.inputs, {}, row.bound - constant, row.strict)
