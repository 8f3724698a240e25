r"""Cases of very many disjuncts: those that bounds of the outputs exclude are left out, the others come in parts.

With $l\le y\le u$ over the whole box, the excess of a row is at least
$\sum_i\min(p_ia_i,p_ib_i)+\sum_j\min(q_jl_j,q_ju_j)-c$; where that is positive, no input meets the disjunct. All rows
are looked at together, in float64 with an error term, so that a million disjuncts cost little more than reading them.
"""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ftheta.relu.network import ReluNetwork

from .goals import set_goal
from .neurons.enclosing import enclose
from .neurons.frames import BeyondRange
from .neurons.inputs import Inputs
from .neurons.targets import Targets
from .questions import Case, Row, nearest

MANY = 512
"""Disjuncts up to this number are searched together."""
# of all terms of a row, for each of them: more than coefficients, products and sums are off
ROUNDING = 2.0**-50
# more than all coefficients that float64 takes for zero, times the largest bounds
UNDERFLOW = 1e-150


def split_case(net: ReluNetwork, case: Case) -> Iterator[Case]:
    """Cases that together ask what this one asks, each of a bounded number of disjuncts."""
    if len(case.unsafe) <= MANY:
        yield case
        return
    left = _open_disjuncts(net, case)
    for begin in range(0, len(left), MANY):
        yield replace(case, unsafe=tuple(case.unsafe[d] for d in left[begin : begin + MANY]))


def _open_disjuncts(net: ReluNetwork, case: Case) -> np.ndarray:
    """The numbers of the disjuncts that are not excluded by bounds over the whole box."""
    low, high = (np.array(side, np.float64) for side in case.box.outer())
    under, above = _bound_outputs(net, case)
    rows = [row for disjunct in case.unsafe for row in disjunct]
    least = -np.array([nearest(row.bound) for row in rows])
    size = np.abs(least)
    for side, lo, hi in (("inputs", low, high), ("outputs", under, above)):
        which, index, value = _terms(rows, side)
        terms = np.minimum(value * lo[index], value * hi[index])
        largest = np.maximum(np.abs(value * lo[index]), np.abs(value * hi[index]))
        least += np.bincount(which, terms, len(rows))
        size += np.bincount(which, largest, len(rows))
    counts = np.array([len(row.inputs) + len(row.outputs) for row in rows])
    fails = least > ROUNDING * (counts + 8) * size + UNDERFLOW
    starts = np.cumsum([0, *map(len, case.unsafe)])
    failing = np.concatenate([[0], np.cumsum(fails)])
    return np.flatnonzero(failing[starts[1:]] == failing[starts[:-1]])


def _terms(rows: list[Row], side: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of all rows, the coefficients of inputs or of outputs: number of the row, of the variable, and value."""
    which = list[int]()
    index = list[int]()
    value = list[float]()
    for s, row in enumerate(rows):
        for k, coefficient in getattr(row, side).items():
            which.append(s)
            index.append(k)
            value.append(nearest(coefficient))
    return np.array(which, int), np.array(index, int), np.array(value, np.float64)


def _bound_outputs(net: ReluNetwork, case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Numbers below and above every output over the box; infinite where floats do not reach."""
    outputs = net.widths[-1]
    one = Fraction(1)
    zero = Fraction(0)
    alone = tuple((Row({}, {j: sign}, zero),) for sign in (one, -one) for j in range(outputs))
    try:
        frame, _ = enclose(net, Inputs.around(case))
        bounds = Targets(
            set_goal(replace(case, unsafe=alone), net.widths[0], outputs)
        ).bound_plainly(frame)
    except BeyondRange:
        return np.full(outputs, -np.inf), np.full(outputs, np.inf)
    return bounds[:outputs], -bounds[outputs:]
