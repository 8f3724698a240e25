r"""Affine bounds: every slot between two affine functions of the inputs, over a set of inputs, with outward rounding.

Meant is, as for intervals, the real function that the graph denotes, with its constants as stored. Backwards (CROWN), a
functional of the outputs is taken back through the graph, each non-linear node replaced by affine functions below and
above it; these follow from enclosures of its operands, which are refined in the same way on the way there.

    program.py       a graph, prepared once: custom derivatives entered, the linear maps of its nodes
    maps.py          linear maps with their transposes (`affine.py` the table, `moves.py`, `windows.py`)
    relaxations.py   affine functions below and above a slot (`relaxing.py` the table, `kinks.py` …)
    backward.py      functionals taken back to the inputs
    forward.py       forms of all slots, carried forward from the inputs
    refining.py      enclosures of all slots, in the order of the nodes
    sets.py          boxes, balls and polytopes of inputs
    rounding.py      what all of it may err by
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.backward import Form, Relaxed
from ftheta.graph.domains.linear.forward import Forward
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.sets import BallSet, BoxSet, InputSet, PolytopeSet
from ftheta.graph.domains.linear.slopes import optimise
from ftheta.graph.graph import Slot
from ftheta.shapes import Float

__all__ = [
    "METHODS",
    "BallSet",
    "BoxSet",
    "Form",
    "InputSet",
    "LinearBounds",
    "Method",
    "PolytopeSet",
    "Program",
    "bound_each_below",
    "linear_bounds",
]

Method: TypeAlias = Literal["interval", "forward", "crown", "alpha-crown"]
METHODS: tuple[Method, ...] = ("interval", "forward", "crown", "alpha-crown")


@dataclass(frozen=True, eq=False)
class LinearBounds:
    """Bounds (boxes, functionals) of functionals of an output, with their forms: `lower_form` is below them,
    `upper_form` below their negatives. `relaxed` holds the enclosures of all slots."""

    lower: Float[np.ndarray, "boxes functionals"]
    upper: Float[np.ndarray, "boxes functionals"]
    lower_form: Form
    upper_form: Form
    relaxed: Relaxed


def linear_bounds(
    program: Program,
    sets: Sequence[InputSet],
    rows: Float[np.ndarray, "functionals *shape"] | None = None,
    *,
    method: Method = "crown",
    steps: int = 20,
    output: int = 0,
) -> LinearBounds:
    """Bounds of the functionals `rows` (functionals, *shape) of an output, by default of its entries.

    `sets` has one set for each input of the program, all with the same number of boxes. "forward" carries forms from
    the inputs to the outputs, "crown" takes functionals back. With "alpha-crown", free slopes
    are chosen by so many steps of ascent, for the functionals and for every slot that is bounded on the way.
    """
    steps = steps if method == "alpha-crown" else 0
    carry = "all" if method == "forward" else "nothing"
    relaxed = enclose(program, sets, refine=method != "interval", steps=steps, carry=carry)
    slot = program.graph.outputs[output]
    if method == "forward" and rows is None:
        lower_form, upper_form = Forward(relaxed, sets).of_entries(slot)
        x = _in_rows(relaxed.enclosures[slot.id])
        lower = np.fmax(lower_form.least(sets), x.lo)
        upper = np.fmax(upper_form.least(sets), -x.hi)
        return LinearBounds(lower, -upper, lower_form, upper_form, relaxed)
    functionals = np.eye(slot.size).reshape(-1, *slot.shape) if rows is None else rows
    seeds = np.broadcast_to(functionals, (len(sets[0].hull.lo), *functionals.shape))
    lower, lower_form = _below(relaxed, sets, slot, seeds, method, steps)
    upper, upper_form = _below(relaxed, sets, slot, -seeds, method, steps)
    if rows is None:
        x = _in_rows(relaxed.enclosures[slot.id])
        lower = np.fmax(lower, x.lo)
        upper = np.fmax(upper, -x.hi)
    return LinearBounds(lower, -upper, lower_form, upper_form, relaxed)


def _in_rows(x: Interval) -> Interval:
    """(boxes, entries); one box where the slot is the same in all."""
    return x.map(lambda end: end.reshape(len(end), -1))


def bound_each_below(
    program: Program,
    sets: Sequence[InputSet],
    functionals: Array,
    *,
    method: Method = "crown",
    steps: int = 20,
) -> Array:
    """Lower bounds (boxes, functionals) of functionals of the output, (boxes, functionals, *shape): each box has its
    own. Not for the method "forward"."""
    steps = steps if method == "alpha-crown" else 0
    relaxed = enclose(program, sets, refine=method != "interval", steps=steps)
    return _below(relaxed, sets, program.graph.outputs[0], functionals, method, steps)[0]


def _below(
    relaxed: Relaxed, sets: Sequence[InputSet], slot: Slot, seeds: Array, method: Method, steps: int
) -> tuple[Array, Form]:
    """Lower bounds of functionals of a slot: by its enclosure, and by back-substitution."""
    plain = relaxed.enclosed_form(slot, seeds, (None,) * len(sets))
    value = plain.least(sets)
    if method == "interval":
        return value, plain
    if method == "forward":
        form = Forward(relaxed, sets).of_rows(slot, seeds[0])
        return np.fmax(form.least(sets), value), form
    best = optimise(relaxed, sets, {slot.id: seeds}, steps)
    return np.fmax(best.value, value), best.form
