r"""Functionals of slots as affine functions of the inputs, by back-substitution (CROWN).

A functional $\sum_s\langle A_s,v_s\rangle$ of any slots is taken back node by node, from the last to the first: each
slot gives its place to the affine functions of its operands that bound it (`relaxations.py`). What is left is a
functional of the inputs, $\langle A,x\rangle+c-e$, below the one that was asked for over the whole set of inputs.
Upper bounds are lower bounds of $-A$.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ftheta.graph.domains.interval import INTERVAL
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.interval.rounding import HALF_ULP, Array, below
from ftheta.graph.domains.linear.choices import Branches
from ftheta.graph.domains.linear.planning import Plan, plan_slot
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.relaxations import Relaxation
from ftheta.graph.domains.linear.rounding import least_over, pay, weigh
from ftheta.graph.domains.linear.sets import InputSet, least_of_all
from ftheta.graph.graph import Slot
from ftheta.graph.interpret import forward, precision
from ftheta.shapes import Float

Enclosures = Mapping[int, Interval]
"""Slot id → enclosure (boxes, *shape) over each box of a batch; (1, *shape) for what does not vary."""

Slopes = Mapping[int, Array]
"""Slot id → the slopes (boxes, functionals, *shape) that its relaxation takes where it has a choice."""


@dataclass(frozen=True, eq=False)
class Form:
    """Lower bounds ⟨A, x⟩ + offset − error of functionals: coefficients for each input (None: it does not occur),
    arrays (boxes, functionals, *shape), and offset and error (boxes, functionals)."""

    coefficients: tuple[Array | None, ...]
    offset: Float[np.ndarray, "boxes functionals"]
    error: Float[np.ndarray, "boxes functionals"]

    @property
    def paid_error(self) -> Float[np.ndarray, "boxes functionals"]:
        """The error, enlarged by what its own rounding can be."""
        return pay(self.error)

    def least(self, sets: Sequence[InputSet]) -> Float[np.ndarray, "boxes functionals"]:
        """The least value over the sets of inputs, rounded down; −∞ where nothing is known."""
        value, error = least_of_all(sets, self.coefficients)
        with np.errstate(all="ignore"):
            total = below(value + self.offset)
            return below(total - pay(error + self.error))


@dataclass
class _Total:
    """What has been taken out of the functionals so far."""

    offset: Array
    error: Array

    def add(self, offset: Array | float, error: Array | float) -> None:
        self.offset = self.offset + offset
        self.error = self.error + error + HALF_ULP * np.abs(self.offset)


@dataclass(frozen=True, eq=False)
class Relaxed:
    """A program with the enclosures of its slots over a batch of boxes, and the relaxations that follow from them.

    Relaxations are made when they are first asked for; by then the enclosures of the operands are final.
    """

    program: Program
    enclosures: Enclosures
    made: dict[int, Relaxation] = field(default_factory=dict)

    def enclosed_form(
        self, slot: Slot, seeds: Array, coefficients: tuple[Array | None, ...]
    ) -> Form:
        """Lower bounds of functionals `seeds` of a slot by its enclosure alone, beside `coefficients` of the inputs."""
        x = self.enclosures[slot.id]
        return Form(coefficients, *least_over(seeds, x.lo, x.hi))

    def relaxation(self, slot: Slot) -> Relaxation:
        if slot.id not in self.made:
            plan = plan_slot(self.program, slot)
            with np.errstate(all="ignore"):
                self.made[slot.id] = (
                    self._relax_branches(slot, plan)
                    if plan.branches
                    else plan.relax(self.enclosures)
                )
        return self.made[slot.id]

    def _relax_branches(self, slot: Slot, plan: Plan) -> Relaxation:
        """Each branch that may be taken, with intervals of its own slots."""
        node, output = self.program.output_of[slot.id]
        which, *operands = node.inputs
        number = self.enclosures[which.id]
        first, last = (
            int(np.clip(float(end[0]), 0, len(plan.branches) - 1)) for end in (number.lo, number.hi)
        )
        given = [self.enclosures[operand.id] for operand in operands]
        relaxed = tuple(_by_intervals(branch, given) for branch in plan.branches[first : last + 1])
        places = tuple(k for k, operand in enumerate(operands) if operand.is_real)
        real = tuple(given[k] for k in places)
        return Branches(plan.operands, places, relaxed, output, real, self.enclosures[slot.id])

    @np.errstate(all="ignore")
    def pull_back(
        self,
        seeds: Mapping[int, Array],
        slopes: Slopes | None = None,
        reached: dict[int, Array] | None = None,
    ) -> Form:
        """The functionals with coefficients `seeds` (slot id → (boxes, functionals, *shape)) as forms of the inputs.

        `reached` is filled with the coefficients that every slot on the way had.
        """
        held = dict(seeds)
        shape = next(iter(seeds.values())).shape[:2]
        total = _Total(np.zeros(shape), np.zeros(shape))
        for slot in reversed(self.program.graph.slots):
            if slot.id not in held or slot.id not in self.program.output_of:
                continue
            A = held.pop(slot.id)
            if slot.id not in self.program.varying:
                total.add(*least_over(A, self.enclosures[slot.id].lo, self.enclosures[slot.id].hi))
                continue
            if reached is not None:
                reached[slot.id] = A
            relaxation = self.relaxation(slot)
            pulled = relaxation.pull(A, None if slopes is None else slopes.get(slot.id))
            total.add(pulled.offset, pulled.error)
            for operand, more in zip(relaxation.operands, pulled.coefficients):
                if more is not None:
                    self._collect(held, operand, more, total)
        coefficients = tuple(held.pop(slot.id, None) for slot in self.program.graph.inputs)
        for number, A in held.items():  # constants
            total.add(*least_over(A, self.enclosures[number].lo, self.enclosures[number].hi))
        return Form(coefficients, total.offset, total.error)

    def _collect(self, held: dict[int, Array], operand: Slot, more: Array, total: _Total) -> None:
        """Add coefficients to those that a slot has already."""
        if operand.id not in held:
            held[operand.id] = more
            return
        A = held[operand.id] + more
        held[operand.id] = A
        total.add(0.0, HALF_ULP * weigh(np.abs(A), self.enclosures[operand.id].magnitude))


def _by_intervals(program: Program, inputs: Sequence[Interval]) -> Relaxed:
    """A program relaxed over one box by intervals alone."""
    with precision(program.graph):
        found = forward(
            INTERVAL, program.graph, *[x.map(lambda end: end[0]) for x in inputs]
        ).values
    return Relaxed(program, {number: x.map(lambda end: end[None]) for number, x in found.items()})
