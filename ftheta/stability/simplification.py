r"""A smaller network that is the same function on a set of inputs, or within a tolerance of it.

    ft.simplify(net, (lo, hi)).network

Over the set, bounds rounded outward tell of some neurons that they are *dead* ($z\le0$ everywhere, so that their output
is 0) and of others that they are *linear* ($z\ge0$ everywhere, so that they pass $z$ on). Dead ones are left out,
linear ones are merged into the maps around them where that takes fewer numbers, copies of a neuron are merged into it.
All of it is done in rationals, so that nothing changes on the set. With a tolerance, neurons that hardly move are
replaced by constants as well, as many as a certified bound of the deviation allows. Convolutions become matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from flint import fmpq

from ftheta.certify.input_regions import Region, read_region
from ftheta.certify.neurons.bounding import bound_neurons
from ftheta.logic.enclosure import Enclosure
from ftheta.logic.errors import SubjectError, UsageError
from ftheta.pieces.normal_forms import network_of
from ftheta.relu.deviation import (
    TINY,
    U,
    bound_replacement,
    bound_rounding,
    multiply_up,
    to_precision,
)
from ftheta.relu.matrices import rational
from ftheta.relu.network import ExactNetwork, ReluNetwork
from ftheta.relu.reduction import (
    Removed,
    drop_constants,
    drop_empty_steps,
    drop_unused,
    fold_constants,
    merge_copies,
    merge_passes,
)
from ftheta.shapes import Float, Int

ZERO = fmpq(0)
Precision = Literal["float32", "float64"]


@dataclass(frozen=True, eq=False)
class Proof:
    r"""Why two networks agree on a box, and how far they are apart at most.

    `bounds` are numbers below and above the pre-activations of every hidden step of the original over the box
    `low` … `high`, rounded outward; `deviation` encloses $\max_{j,x}|f_j(x)-g_j(x)|$ over the box, and is 0 where both
    are equal. It is about real functions, which `meaning` names: what a runtime rounds comes on top.
    """

    low: Float[np.ndarray, "d"]
    high: Float[np.ndarray, "d"]
    bounds: tuple[tuple[Float[np.ndarray, "_n"], Float[np.ndarray, "_n"]], ...]
    deviation: Enclosure
    meaning: str

    @property
    def is_equality(self) -> bool:
        """Whether nothing changes on the box."""
        return self.deviation.hi == 0

    def __str__(self) -> str:
        if self.is_equality:
            return f"equal at every input of the box ({self.meaning})"
        return f"no output moves by more than {self.deviation.hi:.3g} at any input of the box ({self.meaning})"

    __repr__ = __str__


@dataclass(frozen=True, eq=False)
class Simplified:
    """A `network` that equals the `original` on the set of inputs, or is as close to it as the `proof` says.

    Of each hidden step, `dead` and `linear` are the numbers of the neurons that were shown to be so, and `replaced`
    those that a constant stands for, within the tolerance; `open_neurons` counts those that are neither dead nor
    linear. `removed` says how many more were constant, copies, unused or merged. `shapes` are those of one input and
    of its output.
    """

    network: ReluNetwork
    original: ReluNetwork
    proof: Proof
    dead: tuple[Int[np.ndarray, "k"], ...]
    linear: tuple[Int[np.ndarray, "l"], ...]
    replaced: tuple[Int[np.ndarray, "r"], ...]
    removed: Removed
    shapes: tuple[tuple[int, ...], tuple[int, ...]]

    @property
    def open_neurons(self) -> int:
        """Neurons that may be on and off in the set, as far as the bounds tell."""
        bending = sum(int(step.rectified.sum()) for step in self.original.steps)
        return bending - sum(map(len, self.dead)) - sum(map(len, self.linear))

    def __str__(self) -> str:
        before, after = ("-".join(map(str, net.widths)) for net in (self.original, self.network))
        dead, linear = (sum(map(len, parts)) for parts in (self.dead, self.linear))
        neurons = f"{dead:,} neurons are dead, {linear:,} linear, {self.open_neurons:,} open"
        return f"{before} is {after} on this set: {neurons}"

    __repr__ = __str__


def simplify(
    net: Any, inputs: Region, *, tolerance: float = 0.0, precision: Precision | None = None
) -> Simplified:
    """The network without the neurons that do nothing, or nothing but pass on, on a set of inputs.

    Parameters
    ----------
    net
        A piecewise-affine network (anything `ft.load` makes one of).
    inputs
        A box `(lo, hi)`, a `Ball` or a `Polytope`; bounds are those of the smallest box around it.
    tolerance
        How far an output may move at most, at any input of the set: 0 keeps the function.
    precision
        Give weights that are numbers of this type, with the deviation that rounding them adds counted against the
        tolerance; without it, weights that float64 cannot hold are kept as rationals.
    """
    if not 0 <= tolerance < np.inf:
        raise UsageError("A tolerance is a number ≥ 0.", got=tolerance, where="tolerance")
    original = network_of(net)
    shape = getattr(net, "input_shape", original.widths[:1])
    low, high = read_box(shape, inputs)
    bounds = bound_neurons(original, low, high)
    shapes = (shape, getattr(net, "output_shape", original.widths[-1:]))
    start = _find_idle(original, bounds, low, high, shapes)
    attempts = [lambda: _rewrite(start, merging=True), lambda: _rewrite(start, merging=False)]
    if tolerance > 0 and len(original.steps) > 1:
        attempts.insert(0, lambda: _rewrite(_replace_quiet(start, 0.99 * tolerance), merging=True))
    for attempt in attempts:
        found = attempt()
        found = found if precision is None else _round_weights(found, precision)
        if found.proof.deviation.hi <= tolerance:
            return found
    raise UsageError(
        "The weights cannot be written in this precision without changing the function by more than the tolerance.",
        got=f"{precision}, a deviation of up to {found.proof.deviation.hi:.3g}",
        remedy="allow that much by a tolerance, or write float64",
    )


def read_box(shape: tuple[int, ...], inputs: Region) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the smallest box around a set of inputs of this shape, each in a row."""
    region, is_batch = read_region(inputs, shape)
    if is_batch:
        raise SubjectError(
            "One set of inputs is simplified for at a time.", got=f"{len(region.hull.lo)} sets"
        )
    low, high = (np.asarray(end[0], np.float64).ravel() for end in (region.hull.lo, region.hull.hi))
    if not (np.isfinite(low).all() and np.isfinite(high).all()):
        raise UsageError(
            "The set of inputs is bounded.",
            got="an infinite end",
            remedy="give finite ends of the box",
        )
    return low, high


def _find_idle(
    original: ReluNetwork, bounds: Sequence[Any], low: np.ndarray, high: np.ndarray, shapes: Any
) -> Simplified:
    """The network as it is, with the neurons that are dead or linear on the box."""
    masks = [step.rectified for step in original.steps[:-1]]
    dead = [np.flatnonzero(mask & (above <= 0)) for mask, (_, above) in zip(masks, bounds)]
    linear = [
        np.flatnonzero(mask & (under >= 0) & (above > 0))
        for mask, (under, above) in zip(masks, bounds)
    ]
    nothing = tuple(np.zeros(0, int) for _ in masks)
    proof = Proof(low, high, tuple(bounds), Enclosure.exact(0), original.meaning)
    return Simplified(
        original, original, proof, tuple(dead), tuple(linear), nothing, Removed(), shapes
    )


def _rewrite(found: Simplified, *, merging: bool) -> Simplified:
    """Leave out what is dead, constant or unused; with `merging`, also copies and neurons that pass, in rationals."""
    steps = list(found.original.in_rationals().steps)
    removed = Removed()
    values = [dict.fromkeys(off.tolist(), ZERO) for off in found.dead]
    for k, quiet in enumerate(found.replaced):
        values[k] |= {
            i: rational(_middle(found.proof.bounds[k], found.original.steps[k].rectified, i))
            for i in quiet.tolist()
        }
    k = 0
    for given, on in zip(values, found.linear):
        kept = [i for i in range(len(steps[k].offset)) if i not in given]
        passing = np.flatnonzero(np.isin(kept, on))
        steps[k], steps[k + 1] = fold_constants(steps[k], steps[k + 1], given)
        gone = merging and merge_passes(steps, k, passing, removed)
        k += 0 if gone else 1
    if merging:
        for k in range(len(steps) - 1):
            drop_constants(steps, k, removed)
            merge_copies(steps, k, removed)
    drop_unused(steps, removed)
    drop_empty_steps(steps)
    made = ExactNetwork(tuple(steps), found.original.rounded)
    return replace(found, network=made.in_floats(), removed=removed)


def _middle(bounds: tuple[np.ndarray, np.ndarray], bends: np.ndarray, i: int) -> float:
    """The middle of the outputs that neuron i may have."""
    under, above = bounds
    least = max(under[i], 0.0) if bends[i] else under[i]
    return float(least + 0.5 * (above[i] - least))


def _replace_quiet(found: Simplified, tolerance: float) -> Simplified:
    """As many neurons as possible replaced by constants, those first that move the outputs least."""
    net = found.original
    errors = []
    for step, (under, above) in zip(net.steps, found.proof.bounds):
        least = np.where(step.rectified, np.maximum(under, 0.0), under)
        radius = 0.5 * (np.maximum(above, least) - least)
        # and the rounding of the middle
        errors.append(radius + 4 * U * (np.abs(under) + np.abs(above)) + TINY)
    for error, off in zip(errors, found.dead):
        error[off] = 0.0
    gains = _bound_gains(net)
    idle = [np.zeros(len(error), bool) for error in errors]
    for mask, off in zip(idle, found.dead):
        mask[off] = True
    cost = np.concatenate(
        [np.where(mask, np.inf, e * g) for mask, e, g in zip(idle, errors, gains)]
    )
    order = np.argsort(cost, kind="stable")[: int(np.isfinite(cost).sum())]

    def replace_first(count: int) -> tuple[list[np.ndarray], float]:
        chosen = np.zeros(len(cost), bool)
        chosen[order[:count]] = True
        parts = np.split(chosen, np.cumsum([len(e) for e in errors])[:-1])
        kept = [~(part | mask) for part, mask in zip(parts, idle)]
        return [np.flatnonzero(part) for part in parts], float(
            bound_replacement(net, kept, errors).max()
        )

    least = 0
    most = len(order)
    while least < most:
        middle = (least + most + 1) // 2
        if replace_first(middle)[1] <= tolerance:
            least = middle
        else:
            most = middle - 1
    chosen, deviation = replace_first(least)
    proof = replace(found.proof, deviation=Enclosure.between(0.0, deviation))
    return replace(found, proof=proof, replaced=tuple(chosen))


def _bound_gains(net: ReluNetwork) -> list[np.ndarray]:
    """For the neurons of every hidden step, the largest factor by which an error there reaches an output."""
    reach = np.ones(net.widths[-1])
    gains = []
    for step in reversed(net.steps[1:]):
        reach = multiply_up(step.matrix.T, reach)
        gains.append(reach)
    return gains[::-1]


def _round_weights(found: Simplified, precision: Precision) -> Simplified:
    """The same with weights of this precision; the deviation grows by what the rounding adds at most."""
    net = found.network
    rounded = to_precision(net, precision)
    proof = found.proof
    sizes = [np.maximum(np.abs(proof.low), np.abs(proof.high))]
    for step, (under, above) in zip(rounded.steps, bound_neurons(rounded, proof.low, proof.high)):
        least = np.where(step.rectified, 0.0, np.abs(under))
        sizes.append(
            np.maximum(least, np.where(step.rectified, np.maximum(above, 0.0), np.abs(above)))
        )
    more = float(bound_rounding(net, rounded, sizes).max(initial=0.0))
    deviation = proof.deviation if more == 0 else proof.deviation + Enclosure.between(0.0, more)
    return replace(found, network=rounded, proof=replace(proof, deviation=deviation))
