r"""The least and the greatest value of functions of the outputs over a box, each enclosed from both sides.

From one side stands what was attained at a point, from the other what was proved of the whole box. A number $t$ between
the two is tried: that no input has $c\cdot y\ge t$ is decided as any other question is (`verification.py`), which
either lowers the bound to $t$ or finds a point with a greater value.
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from ftheta.certify.attacks import propagate, pull_back
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.verification import decide
from ftheta.processes import interrupts
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float

from .witnesses import Evaluator, Point, move_into

if TYPE_CHECKING:
    from ftheta.certify.programs.network import TracedNetwork

Array = np.ndarray
STARTS = 64
ASCENT = 60  # steps of projected ascent
HASTE = 6  # the same, where no time is left
FIRST_SHARE = 0.1  # of the gap, at which the first question is asked
TURN = 0.34  # of the time that is left, for one question


@dataclass(frozen=True)
class Extreme:
    """A supremum over a box: `attained` ≤ sup ≤ `bound` (None: no bound is known), and `x` is where it was attained;
    `is_tight` says that the two meet to the tolerance."""

    attained: Fraction
    bound: Fraction | None
    x: Point
    is_tight: bool
    interrupted: bool = False


def maximise(
    net: "ReluNetwork | TracedNetwork",
    row: Float[Array, "outputs"],
    box: Box,
    *,
    seconds: float,
    tolerance: float,
    threads: int = 1,
) -> Extreme:
    r"""Enclose $\sup c\cdot y$ over a box, for a `row` $c$ of the outputs, until its ends are within `tolerance` times
    the larger of 1 and the numbers themselves, or the time is over."""
    ends = clock() + seconds
    row = np.asarray(row, np.float64)
    evaluate = Evaluator(net)
    attained, x = _climb(net, row, box, evaluate, ASCENT if seconds > 0 else HASTE)
    first = _bound_above(net, row, box)
    bound = Fraction(first) if np.isfinite(first) else None
    share = FIRST_SHARE
    interrupted = False
    while not interrupted:
        left = ends - clock()
        if left <= 0 or _is_tight(attained, bound, tolerance):
            break
        size = max(abs(attained), Fraction(1))
        level = (
            attained + size if bound is None else attained + Fraction(share) * (bound - attained)
        )
        found = decide(
            net,
            _ask_at_least(net, row, box, level),
            seconds=min(left, max(TURN * left, 0.2)),
            threads=threads,
        )
        interrupted = found.interrupted
        if found.witness is not None:
            value = _value(row, evaluate(found.witness.x))[0]
            attained, x = max((attained, x), (value, found.witness.x), key=lambda pair: pair[0])
        elif found.answer == "unsat":
            bound = level
        else:
            share = (1 + share) / 2
            if np.isfinite(found.least):
                reached = level - Fraction(found.least)
                bound = reached if bound is None else min(bound, reached)
            if share > 0.99:
                break
    if interrupted:
        interrupts.heed()
    return Extreme(attained, bound, x, _is_tight(attained, bound, tolerance), interrupted)


def _is_tight(attained: Fraction, bound: Fraction | None, tolerance: float) -> bool:
    return bound is not None and bound - attained <= Fraction(tolerance) * max(
        abs(attained), abs(bound), Fraction(1)
    )


def _value(row: Array, values: tuple[tuple[Fraction, Fraction], ...]) -> tuple[Fraction, Fraction]:
    """The row of the outputs, between two rationals."""
    low = high = Fraction(0)
    for c, (a, b) in zip(row.tolist(), values):
        ends = Fraction(c) * a, Fraction(c) * b
        low += min(ends)
        high += max(ends)
    return low, high


def _ask_at_least(
    net: "ReluNetwork | TracedNetwork", row: Array, box: Box, level: Fraction
) -> Question:
    outputs = {j: -Fraction(c) for j, c in enumerate(row.tolist()) if c}
    case = Case(box, ((Row({}, outputs, -level),),))
    return Question(net.widths[0], net.widths[-1], (case,))


def _climb(
    net: "ReluNetwork | TracedNetwork", row: Array, box: Box, evaluate: Evaluator, steps: int
) -> tuple[Fraction, Point]:
    """A large value that is attained, by projected ascent from many points; its value there is exact."""
    low, high = (np.array(side, np.float64) for side in box.outer())
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, (STARTS, len(low)))
    x[0] = 0.5 * low + 0.5 * high
    best = x.copy()
    most = np.full(len(x), -np.inf)
    cotangents = np.repeat(row[None], len(x), axis=0)
    for step in range(steps):
        y, passed = propagate(net, x)
        value = np.nan_to_num(y @ row, nan=-np.inf)
        better = value > most
        best[better], most[better] = x[better], value[better]
        slope = pull_back(net, passed, cotangents)
        size = 0.5 * 0.9**step * (high - low)
        x = np.clip(np.where(better[:, None], x, best) + size * np.sign(slope), low, high)
    chosen = best[int(most.argmax())]
    point = move_into(box, chosen)
    return _value(row, evaluate(point))[0], point


def _bound_above(net: "ReluNetwork | TracedNetwork", row: Array, box: Box) -> float:
    """A first bound, rounded outward: linear bounds over the whole box."""
    low, high = (np.array(side, np.float64) for side in box.outer())
    if isinstance(net, ReluNetwork):
        from ftheta.certify.goals import set_goal
        from ftheta.certify.neurons.bounding import bound_margins
        from ftheta.certify.neurons.targets import Targets

        question = _ask_at_least(net, row, box, Fraction(0))
        targets = Targets(set_goal(question.cases[0], *(net.widths[0], net.widths[-1])))
        return -float(bound_margins(net, targets, low, high, optimised=False)[0])
    from ftheta.graph.domains.interval.intervals import Interval
    from ftheta.graph.domains.linear import linear_bounds
    from ftheta.graph.domains.linear.sets import BoxSet

    shape = (1, *net.shape)
    sets = [BoxSet(Interval(low.reshape(shape), high.reshape(shape)))]
    functional = row.reshape(1, *net.output_shape)
    return float(linear_bounds(net.program, sets, functional).upper.ravel()[0])
