r"""A smaller network that is the same function on a set of inputs.

    ft.simplify(net, (lo, hi)).network

Over the set, bounds rounded outward tell of some neurons that they are *dead* ($z\le0$ everywhere, so that their output
is 0) and of others that they are *linear* ($z\ge0$ everywhere, so that they pass $z$ on). Dead ones are left out.
Linear ones are merged into the next affine map where that makes the state smaller: in place of them, the state before
is handed on. All of it is done in rationals, so that nothing changes on the set.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from flint import fmpq

from ftheta.certify.input_regions import Region, read_region
from ftheta.certify.neurons.bounding import bound_neurons
from ftheta.logic.errors import SubjectError
from ftheta.pieces.normal_forms import network_of
from ftheta.relu.matrices import ExactMatrix
from ftheta.relu.network import ExactNetwork, ExactStep, ReluNetwork
from ftheta.shapes import Int

ZERO = fmpq(0)
ONE = fmpq(1)


@dataclass(frozen=True, eq=False)
class Simplified:
    """A `network` that equals the `original` on the set of inputs, as real functions.

    Of each hidden step, `dead` and `linear` are the numbers of the neurons that were shown to be so; `open_neurons`
    counts those that are neither.
    """

    network: ReluNetwork
    original: ReluNetwork
    dead: tuple[Int[np.ndarray, "k"], ...]
    linear: tuple[Int[np.ndarray, "l"], ...]

    @property
    def open_neurons(self) -> int:
        """Neurons that may be on and off in the set, as far as the bounds tell."""
        return sum(int(step.rectified.sum()) for step in self.network.steps)

    def __str__(self) -> str:
        before, after = ("-".join(map(str, net.widths)) for net in (self.original, self.network))
        dead, linear = (sum(map(len, parts)) for parts in (self.dead, self.linear))
        return (
            f"{before} is {after} on this set: {dead:,} neurons are dead, {linear:,} linear, {self.open_neurons:,} open"
        )


def simplify(net: Any, inputs: Region) -> Simplified:
    """The network without the neurons that do nothing, or nothing but pass on, on a set of inputs.

    Parameters
    ----------
    net
        A piecewise-affine network (anything `ft.load` makes one of).
    inputs
        A box `(lo, hi)`, a `Ball` or a `Polytope`; bounds are those of the smallest box around it.
    """
    original = network_of(net)
    region, is_batch = read_region(inputs, getattr(net, "input_shape", (original.widths[0],)))
    if is_batch:
        raise SubjectError("One set of inputs is simplified for at a time.", got=f"{len(region.hull.lo)} sets")
    low, high = (end[0].ravel() for end in (region.hull.lo, region.hull.hi))
    bounds = bound_neurons(original, low, high)
    masks = [step.rectified for step in original.steps[:-1]]
    dead = [np.flatnonzero(mask & (above <= 0)) for mask, (_, above) in zip(masks, bounds)]
    linear = [np.flatnonzero(mask & (under >= 0) & (above > 0)) for mask, (under, above) in zip(masks, bounds)]
    steps = list(original.in_rationals().steps)
    for k, (off, on) in enumerate(zip(dead, linear)):
        steps[k] = _let_pass(steps[k], on)
        steps[k], steps[k + 1] = _leave_out(steps[k], steps[k + 1], off)
    made = ExactNetwork(tuple(_merge_passes(steps)), original.rounded)
    return Simplified(made.in_floats(), original, tuple(dead), tuple(linear))


def _let_pass(step: ExactStep, neurons: np.ndarray) -> ExactStep:
    rectified = step.rectified.copy()
    rectified[neurons] = False
    return ExactStep(step.matrix, step.offset, rectified)


def _leave_out(step: ExactStep, after: ExactStep, neurons: np.ndarray) -> tuple[ExactStep, ExactStep]:
    """Both steps without neurons whose output is 0."""
    kept = np.setdiff1d(np.arange(step.matrix.shape[0]), neurons)
    rows = tuple(step.matrix.rows[i] for i in kept)
    fewer = ExactStep(
        ExactMatrix(rows, (len(kept), step.matrix.shape[1])), tuple(step.offset[i] for i in kept), step.rectified[kept]
    )
    return fewer, ExactStep(_choose_columns(after.matrix, kept), after.offset, after.rectified)


def _choose_columns(matrix: ExactMatrix, columns: np.ndarray) -> ExactMatrix:
    place = {int(j): k for k, j in enumerate(columns)}
    rows = tuple({place[j]: a for j, a in row.items() if j in place} for row in matrix.rows)
    return ExactMatrix(rows, (matrix.shape[0], len(columns)))


def _merge_passes(steps: list[ExactStep]) -> list[ExactStep]:
    """From the first step on: where more neurons pass than the state before has entries, that state is handed on."""
    k = 0
    while k < len(steps) - 1:
        step = steps[k]
        passing = np.flatnonzero(~step.rectified)
        if not step.rectified.any():
            steps[k : k + 2] = [_compose(steps[k + 1], step)]
            continue
        if len(passing) > step.matrix.shape[1]:
            steps[k], steps[k + 1] = _hand_on(step, steps[k + 1], passing)
        k += 1
    return steps


def _compose(after: ExactStep, step: ExactStep) -> ExactStep:
    """Two steps, the first of them affine, as one."""
    moved = after.matrix.apply(step.offset)
    return ExactStep(after.matrix @ step.matrix, tuple(a + b for a, b in zip(moved, after.offset)), after.rectified)


def _hand_on(step: ExactStep, after: ExactStep, passing: np.ndarray) -> tuple[ExactStep, ExactStep]:
    """The state before in place of the neurons that are affine functions of it."""
    bending = np.flatnonzero(step.rectified)
    inputs = step.matrix.shape[1]
    width = len(bending) + inputs
    unit_rows = ({j: ONE} for j in range(inputs))
    before = ExactStep(
        ExactMatrix((*(step.matrix.rows[i] for i in bending), *unit_rows), (width, inputs)),
        (*(step.offset[i] for i in bending), *(ZERO for _ in range(inputs))),
        np.append(np.ones(len(bending), bool), np.zeros(inputs, bool)),
    )
    affine = ExactMatrix(tuple(step.matrix.rows[i] for i in passing), (len(passing), inputs))
    of_passing = _choose_columns(after.matrix, passing)
    of_bending = _choose_columns(after.matrix, bending)
    folded = of_passing @ affine
    rows = tuple(
        {**row, **{len(bending) + j: a for j, a in more.items()}} for row, more in zip(of_bending.rows, folded.rows)
    )
    moved = of_passing.apply([step.offset[i] for i in passing])
    offset = tuple(a + b for a, b in zip(moved, after.offset))
    return before, ExactStep(ExactMatrix(rows, (after.matrix.shape[0], width)), offset, after.rectified)
