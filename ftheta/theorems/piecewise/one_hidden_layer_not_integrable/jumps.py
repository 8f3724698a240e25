"""Jumps of the gradient along the hyperplanes of the first layer: with one hidden layer they never change."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.relu.geometry import Form, Point, plus, times
from ftheta.relu.line.points import restrict_to_line
from ftheta.relu.local import across, is_clean, kink
from ftheta.relu.network import ExactNetwork

from .ridge_form import direction_inside, foot, neurons, unit_form

MOST_HYPERPLANES = 16
STEPS = (fmpq(1, 7), fmpq(10, 3), fmpq(-(10**6)))  # along a hyperplane, near and far


@dataclass(frozen=True)
class JumpChange:
    """The largest change of the gradient's jump along one of so many hyperplanes; `places` are two points of it."""

    change: Fraction
    hyperplanes: int
    normal: Point = ()
    places: tuple[Point, Point] | None = None


def find_jump_change(net: ExactNetwork, hyperplanes: Sequence[Form] | None = None) -> JumpChange:
    """Whether the gradient jumps by the same amount near and far on each hyperplane (of the first layer)."""
    every = [unit_form(form) for form, on in neurons(net) if on and any(form[:-1])]
    forms = list(dict.fromkeys(every if hyperplanes is None else hyperplanes))[:MOST_HYPERPLANES]
    worst = JumpChange(Fraction(0), len(forms))
    for form in forms:
        jumps = [(kink(net, x, form[:-1]), x) for x in points_on(net, form, every)]
        for jump, x in jumps[1:]:
            change = max(abs(a - b) for a, b in zip(jump, jumps[0][0]))
            if change > worst.change:
                worst = JumpChange(change, len(forms), form[:-1], (jumps[0][1], x))
    return worst


def points_on(net: ExactNetwork, form: Form, others: Sequence[Form]) -> list[Point]:
    """Points of a hyperplane, near and far, next to which the network has no other kink."""
    if len(form) == 2:
        return [foot(form)]
    v = direction_inside(form, others)
    along = across(form[:-1])
    found = []
    for step in STEPS:
        shifted = (plus(foot(form), times(step + fmpq(k, 97), v)) for k in range(8))
        found += [x for x in shifted if is_clean(net, x, along)][:1]
    return found


def measure_jump_change(net: ExactNetwork, normal: Point, x: Point, y: Point) -> Fraction:
    """The change of the jump from x to y once more, from the exact pieces along the normals through the two points."""
    zero = Fraction(0)
    one, other = (
        [f.jumps.get(zero, zero) for f in restrict_to_line(net, p, normal)] for p in (x, y)
    )
    return max(abs(a - b) for a, b in zip(one, other))
