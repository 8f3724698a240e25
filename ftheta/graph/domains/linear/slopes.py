r"""Free slopes, chosen to make a bound as good as possible (α-CROWN).

Below a ReLU of undecided sign lies every line $\alpha x$, $\alpha\in[0,1]$. A lower bound
$L(\alpha)=\min_x\langle A(\alpha),x\rangle+c(\alpha)$ is improved by projected gradient ascent (Adam) in the slopes,
which every functional has of its own. With $x^*$ where the minimum is attained, and $v$ the values that the chosen
affine functions have at $x^*$, the gradient is $\partial L/\partial\alpha_j=A_j^+v_{p(j)}$: one sweep back for $A$,
one sweep forward for $v$. Every step is a sound bound by itself, so that the ascent needs no rigour: the best one met
is returned.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ftheta.graph.domains.interval.rounding import Array
from ftheta.graph.domains.linear.backward import Form, Relaxed, Slopes
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.domains.linear.sets import InputSet
from ftheta.graph.graph import Slot

STEP = 0.25
"""Of the first step, in units of the range of slopes."""

DECAY = 0.93
"""By which the steps shrink."""

MOMENTS = (0.9, 0.99)
"""How much of the mean and of the mean square of the gradients is kept at each step (Adam)."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best bounds met, (boxes, functionals), and their forms."""

    value: Array
    form: Form

    def improved(self, value: Array, form: Form) -> "Best":
        better = value > self.value
        if not better.any():
            return self
        coefficients = tuple(_choose(better, new, old) for new, old in zip(form.coefficients, self.form.coefficients))
        chosen = Form(
            coefficients, np.where(better, form.offset, self.form.offset), np.where(better, form.error, self.form.error)
        )
        return Best(np.where(better, value, self.value), chosen)


def _choose(better: Array, new: Array | None, old: Array | None) -> Array | None:
    if new is None or old is None:
        return new  # whether an input occurs does not depend on the slopes
    return np.where(better.reshape(*better.shape, *[1] * (new.ndim - 2)), new, old)


@np.errstate(all="ignore")
def optimise(
    relaxed: Relaxed, sets: Sequence[InputSet], seeds: Mapping[int, Array], steps: int, enough: float = np.inf
) -> Best:
    """Lower bounds of functionals after so many steps, or as soon as all of them exceed `enough`."""
    reached: dict[int, Array] = {}
    form = relaxed.pull_back(seeds, reached=reached)
    best = Best(form.least(sets), form)
    slopes = _first_slopes(relaxed, reached)
    moments: dict[int, tuple[Array, Array]] = {}
    for step in range(1, steps + 1):
        if not slopes or bool(np.all(best.value > enough)):
            break
        gradients = _gradients(relaxed, sets, form, reached, slopes)
        for number, gradient in gradients.items():
            slopes[number] = _ascend(relaxed, number, slopes[number], gradient, moments, step)
        reached = {}
        form = relaxed.pull_back(seeds, slopes, reached)
        best = best.improved(form.least(sets), form)
    return best


def _free(relaxed: Relaxed, slot: Slot) -> Lines | None:
    """The relaxation of a slot, if it has a slope to choose."""
    relaxation = relaxed.relaxation(slot)
    return relaxation if isinstance(relaxation, Lines) and relaxation.turns is not None else None


def _first_slopes(relaxed: Relaxed, reached: Mapping[int, Array]) -> dict[int, Array]:
    """The default slopes, one for each functional."""
    slopes = {}
    for number, A in reached.items():
        lines = _free(relaxed, relaxed.program.graph.slots[number])
        if lines is not None and lines.turns is not None and lines.turns.any():
            default = lines.upper_slope if lines.turns_above else lines.lower_slope
            slopes[number] = np.broadcast_to(default[:, None], A.shape)
    return slopes


def _gradients(
    relaxed: Relaxed, sets: Sequence[InputSet], form: Form, reached: Mapping[int, Array], slopes: Slopes
) -> dict[int, Array]:
    """The derivative of the bounds by every slope."""
    graph = relaxed.program.graph
    shape = form.offset.shape
    values: dict[int, Array] = {}
    for slot, part, A in zip(graph.inputs, sets, form.coefficients):
        values[slot.id] = part.lowest_point(np.zeros((*shape, *slot.shape)) if A is None else A)
    gradients = {}
    for number in sorted(reached):
        slot = graph.slots[number]
        A = reached[number]
        relaxation = relaxed.relaxation(slot)
        operands = [values[p.id] if p.id in values else _middle(relaxed, p) for p in relaxation.operands]
        if number in slopes:
            lines = _free(relaxed, slot)
            weight = np.minimum(A, 0.0) if lines is not None and lines.turns_above else np.maximum(A, 0.0)
            gradients[number] = np.nan_to_num(weight * operands[0], posinf=0.0, neginf=0.0)
        values[number] = relaxation.push(A, operands, slopes.get(number))
    return gradients


def _middle(relaxed: Relaxed, slot: Slot) -> Array:
    """What stands for a constant."""
    x = relaxed.enclosures[slot.id]
    return (x.lo / 2 + x.hi / 2)[:, None]


def _ascend(
    relaxed: Relaxed, number: int, slopes: Array, gradient: Array, moments: dict[int, tuple[Array, Array]], step: int
) -> Array:
    lines = _free(relaxed, relaxed.program.graph.slots[number])
    if lines is None:
        return slopes
    keep, keep_square = MOMENTS
    mean, square = moments.get(number, (np.zeros(1), np.zeros(1)))
    mean = keep * mean + (1 - keep) * gradient
    square = keep_square * square + (1 - keep_square) * gradient**2
    moments[number] = mean, square
    direction = mean / (1 - keep**step) / (np.sqrt(square / (1 - keep_square**step)) + 1e-30)
    size = STEP * (lines.most - lines.least) * DECAY ** (step - 1)
    return np.clip(slopes + size * direction, lines.least, lines.most)
