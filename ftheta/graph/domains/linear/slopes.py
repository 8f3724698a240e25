r"""Free slopes, chosen to make a bound as good as possible (α-CROWN).

Below a ReLU of undecided sign lies every line $\alpha x$, $\alpha\in[0,1]$. A lower bound
$L(\alpha)=\min_x\langle A(\alpha),x\rangle+c(\alpha)$ is improved by projected gradient ascent (Adam) in the slopes,
which every functional has of its own. With $x^*$ where the minimum is attained, and $v$ the values that the chosen
affine functions have at $x^*$, the gradient is $\partial L/\partial\alpha_j=A_j^+v_{p(j)}$: one sweep back for $A$,
one sweep forward for $v$. Every step is a sound bound by itself, so that the ascent needs no rigour: the best one met
is returned.

Where the enclosure $[l,u]$ of an entry $v$ was narrowed by hand, in a part of the set of inputs, the bound may use
besides that $mv\le\max_{l\le t\le u}mt$ for every multiplier $m$; these are chosen by the same ascent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from ftheta.graph.domains.interval.rounding import HALF_ULP, Array
from ftheta.graph.domains.linear.backward import Form, Relaxed, Slopes
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.domains.linear.rounding import add_rounded, least_over, weigh
from ftheta.graph.domains.linear.sets import InputSet
from ftheta.graph.graph import Slot
from ftheta.shapes import Float

STEP = 0.25
"""Of the first step, in units of the range of slopes."""

TILT_STEP = 0.3
"""Of the first step of a multiplier, in units of the coefficients of its slot."""

DECAY = 0.93
"""By which the steps shrink."""

MOMENTS = (0.9, 0.99)
"""How much of the mean and of the mean square of the gradients is kept at each step (Adam)."""


@dataclass(frozen=True, eq=False)
class Best:
    """The best bounds met, (boxes, functionals), and their forms."""

    value: Float[np.ndarray, "boxes functionals"]
    form: Form
    reached: Mapping[int, Array] = field(default_factory=dict)
    """The coefficients that the slots on the way had at first."""

    def improve(self, value: Float[np.ndarray, "boxes functionals"], form: Form) -> "Best":
        better = value > self.value
        if not better.any():
            return self
        coefficients = tuple(
            _choose(better, new, old) for new, old in zip(form.coefficients, self.form.coefficients)
        )
        chosen = Form(
            coefficients,
            np.where(better, form.offset, self.form.offset),
            np.where(better, form.error, self.form.error),
        )
        return Best(np.where(better, value, self.value), chosen, self.reached)


def _choose(better: Array, new: Array | None, old: Array | None) -> Array | None:
    if new is None or old is None:
        return new  # whether an input occurs does not depend on the slopes
    return np.where(better.reshape(*better.shape, *[1] * (new.ndim - 2)), new, old)


@np.errstate(all="ignore")
def optimise(
    relaxed: Relaxed,
    sets: Sequence[InputSet],
    seeds: Mapping[int, Array],
    steps: int,
    enough: float = np.inf,
    tilted: Mapping[int, Array] = MappingProxyType({}),
) -> Best:
    """Lower bounds of functionals after so many steps, or as soon as all of them exceed `enough`.

    `tilted` (slot id → (boxes, *shape), bool) names entries whose enclosures were narrowed by hand: their multipliers
    are chosen too.
    """
    tilts = {number: np.zeros((*_shape(seeds), *mask.shape[1:])) for number, mask in tilted.items()}
    reached: dict[int, Array] = {}
    form = _tilted_form(relaxed, seeds, {}, tilts, reached)
    best = Best(form.least(sets), form, reached)
    slopes = _first_slopes(relaxed, reached)
    moments: dict[Any, tuple[Array, Array]] = {}
    for step in range(1, steps + 1):
        if not (slopes or tilts) or bool(np.all(best.value > enough)):
            break
        values = _values_at_lowest(relaxed, sets, form, reached, slopes)
        for number in slopes:
            slopes[number] = _ascend(
                relaxed, number, slopes[number], reached[number], values, moments, step
            )
        for number, mask in tilted.items():
            tilts[number] = _tilt(
                relaxed, number, tilts[number], mask, reached, values, moments, step
            )
        reached = {}
        form = _tilted_form(relaxed, seeds, slopes, tilts, reached)
        best = best.improve(form.least(sets), form)
    return best


def _shape(seeds: Mapping[int, Array]) -> tuple[int, ...]:
    return next(iter(seeds.values())).shape[:2]


def _tilted_form(
    relaxed: Relaxed,
    seeds: Mapping[int, Array],
    slopes: Slopes,
    tilts: Mapping[int, Array],
    reached: dict[int, Array],
) -> Form:
    r"""The functionals plus $mv-\max_{l\le v\le u}mv\le0$ for every multiplier $m$ of an entry $v\in[l,u]$."""
    if not tilts:
        return relaxed.pull_back(seeds, slopes, reached)
    whole = dict(seeds)
    offset = np.zeros(_shape(seeds))
    error = np.zeros(_shape(seeds))
    for number, m in tilts.items():
        x = relaxed.enclosures[number]
        total, doubt = least_over(-m, x.lo, x.hi)
        offset, error = add_rounded(offset, total, error + doubt)
        if number in whole:
            error = error + HALF_ULP * weigh(np.abs(whole[number] + m), x.magnitude)
        whole[number] = whole[number] + m if number in whole else m
    form = relaxed.pull_back(whole, slopes, reached)
    offset, error = add_rounded(form.offset, offset, form.error + error)
    return Form(form.coefficients, offset, error)


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


def _values_at_lowest(
    relaxed: Relaxed,
    sets: Sequence[InputSet],
    form: Form,
    reached: Mapping[int, Array],
    slopes: Slopes,
) -> dict[int, Array]:
    """The values of all slots on the way, by the affine functions that were chosen, where the form is least."""
    graph = relaxed.program.graph
    shape = form.offset.shape
    values: dict[int, Array] = {}
    for slot, part, A in zip(graph.inputs, sets, form.coefficients):
        values[slot.id] = part.lowest_point(np.zeros((*shape, *slot.shape)) if A is None else A)
    for number in sorted(reached):
        relaxation = relaxed.relaxation(graph.slots[number])
        operands = [_value_of(relaxed, values, p) for p in relaxation.operands]
        values[number] = relaxation.push(reached[number], operands, slopes.get(number))
    return values


def _value_of(relaxed: Relaxed, values: Mapping[int, Array], slot: Slot) -> Array:
    return values[slot.id] if slot.id in values else _middle(relaxed, slot)


def _middle(relaxed: Relaxed, slot: Slot) -> Array:
    """What stands for a constant."""
    x = relaxed.enclosures[slot.id]
    return (x.lo / 2 + x.hi / 2)[:, None]


def _ascend(
    relaxed: Relaxed,
    number: int,
    slopes: Array,
    A: Array,
    values: Mapping[int, Array],
    moments: dict[Any, tuple[Array, Array]],
    step: int,
) -> Array:
    """A step of the slopes of one slot, whose coefficients are A."""
    lines = _free(relaxed, relaxed.program.graph.slots[number])
    if lines is None:
        return slopes
    gradient = _slope_gradient(relaxed, lines, A, values)
    size = STEP * (lines.most - lines.least) * DECAY ** (step - 1)
    moved = slopes + size * _direction(number, gradient, moments, step)
    return np.clip(moved, lines.least, lines.most)


def _slope_gradient(relaxed: Relaxed, lines: Lines, A: Array, values: Mapping[int, Array]) -> Array:
    """The derivative of the bounds by the slopes of a slot with coefficients A."""
    weight = np.minimum(A, 0.0) if lines.turns_above else np.maximum(A, 0.0)
    return weight * _value_of(relaxed, values, lines.operands[0])


def _tilt(
    relaxed: Relaxed,
    number: int,
    tilts: Array,
    mask: Array,
    reached: Mapping[int, Array],
    values: Mapping[int, Array],
    moments: dict[Any, tuple[Array, Array]],
    step: int,
) -> Array:
    """A step of the multipliers of one slot: towards values inside its enclosure."""
    x = relaxed.enclosures[number]
    v = _value_of(relaxed, values, relaxed.program.graph.slots[number])
    over = v - x.hi[:, None]
    under = v - x.lo[:, None]
    at_zero = np.where(over > 0, over, np.where(under < 0, under, 0.0))
    gradient = np.where(tilts > 0, over, np.where(tilts < 0, under, at_zero))
    A = reached.get(number)
    scale = 1.0 if A is None else np.abs(A - tilts).reshape(*A.shape[:2], -1).mean(-1)
    size = (
        TILT_STEP
        * DECAY ** (step - 1)
        * np.reshape(scale, (*np.shape(scale), *[1] * (v.ndim - np.ndim(scale))))
    )
    moved = tilts + size * _direction(
        (number, "tilt"), np.where(mask[:, None], gradient, 0.0), moments, step
    )
    crossed = (moved * tilts) < 0  # the derivative jumps at 0
    return np.where(mask[:, None] & ~crossed, moved, 0.0)


def _direction(
    key: Any, gradient: Array, moments: dict[Any, tuple[Array, Array]], step: int
) -> Array:
    """Adam's direction of ascent."""
    gradient = np.nan_to_num(gradient, posinf=0.0, neginf=0.0)
    keep, keep_square = MOMENTS
    mean, square = moments.get(key, (np.zeros(1), np.zeros(1)))
    mean = keep * mean + (1 - keep) * gradient
    square = keep_square * square + (1 - keep_square) * gradient**2
    moments[key] = mean, square
    return mean / (1 - keep**step) / (np.sqrt(square / (1 - keep_square**step)) + 1e-30)


def bound_below(
    relaxed: Relaxed,
    sets: Sequence[InputSet],
    rows: Float[np.ndarray, "functionals *shape"],
    of_inputs: Float[np.ndarray, "functionals *inputs"] | None = None,
    *,
    steps: int = 0,
) -> Best:
    """Lower bounds, with their forms, of functionals `rows` (functionals, *shape) of the output plus `of_inputs`
    (functionals, *shape) of the input, for a program of one input. The value is met with that of intervals; the form
    need not reach it."""
    slot = relaxed.program.graph.outputs[0]
    entry = relaxed.program.graph.inputs[0]
    boxes = len(sets[0].hull.lo)
    seeds = {slot.id: np.broadcast_to(rows, (boxes, *rows.shape))}
    alone = None
    if of_inputs is not None:
        alone = np.broadcast_to(of_inputs, (boxes, *of_inputs.shape))
        seeds[entry.id] = seeds[slot.id] + alone if entry == slot else alone
    best = optimise(relaxed, sets, seeds, steps)
    plain = relaxed.enclosed_form(slot, np.broadcast_to(rows, (boxes, *rows.shape)), (alone,))
    return Best(np.fmax(best.value, plain.least(sets)), best.form)
