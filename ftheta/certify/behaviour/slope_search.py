"""Branch and bound over boxes of inputs until slopes have the sign that they are to have: the worst box first."""

import heapq
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.frames import BeyondRange
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.questions import Box
from ftheta.certify.searches import Search
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Float

from .linear_slopes import LinearSlopes
from .slopes import Signs, SlopeRules, Slopes

Array = np.ndarray
Wanted = Callable[[Sequence[Slopes], Sequence[Signs]], float]
"""The least of the slopes that are to be at least 0."""
Propose = Callable[[Array, Array], bool]
"""Whether there is a counter-example near the middle of a box, given by both ends."""
Finish = Callable[[Sequence[Signs]], bool | None]
"""Whether a box in which all signs are known holds no counter-example, in rationals."""

LOOKS = 4  # boxes between two looks for a counter-example
FINEST = 2.0**-40  # of a side of the whole box: parts that are narrower are not halved


@dataclass(order=True)
class Part:
    """A part of the box between `low` and `high`, the signs of neurons there, and the `least` slope that is wanted."""

    least: float
    number: int
    low: Array = field(compare=False)
    high: Array = field(compare=False)
    signs: list[Signs] = field(compare=False)


class SlopeSearch:
    """One search. A neuron is known over a part if its input is not 0 there, or has one sign over the whole box.

    Slopes of the `rows` of the outputs are bounded along all inputs, by linear bounds too `along` given ones, each with
    the sign that its slopes are to have.
    """

    def __init__(
        self,
        net: ReluNetwork,
        rows: Float[Array, "rows outputs"],
        box: Box,
        wanted: Wanted,
        along: Mapping[int, int] | None = None,
    ) -> None:
        self.net = net
        self.along = along
        self.linear = None if along is None or len(net.steps) < 2 else LinearSlopes(net)
        self.rows = rows
        self.wanted = wanted
        self.rules = SlopeRules(net)
        self.low, self.high = (np.array(side, np.float64) for side in box.outer())
        self.boxes = 0
        self.root: list[tuple[Array, Array]] | None = None

    def run(self, propose: Propose, finish: Finish, seconds: float) -> Search:
        """Until nothing is open, a counter-example is found, or the time is over; Ctrl-C ends it too."""
        ends = clock() + seconds
        first = self._begin()
        parts = [] if first is None or first.least >= 0 else [first]
        stuck = 0
        stuck_least = 0.0
        interrupted = False
        found = None
        try:
            while parts and clock() < ends:
                part = heapq.heappop(parts)
                if self.boxes % LOOKS < 2:
                    low, high = self._aim(part)
                    if propose(low, high):
                        found = 0.5 * low + 0.5 * high
                        break
                if not any(signs.open.any() for signs in part.signs):
                    is_closed = finish(part.signs)
                    if is_closed:
                        continue
                children = self._cut(part)
                if children is None:
                    stuck += 1
                    stuck_least = min(stuck_least, part.least)
                for child in children or ():
                    if child.least < 0:
                        heapq.heappush(parts, child)
        except KeyboardInterrupt:
            interrupted = True
        open = len(parts) + stuck + interrupted + (found is not None)
        least = min([stuck_least, *(part.least for part in parts)], default=0.0)
        closed = open == 0
        return Search(
            closed, found, least if not interrupted else -np.inf, self.boxes, open, interrupted
        )

    def _begin(self) -> Part | None:
        """The whole box; None where it is empty."""
        return self._look(self.low, self.high)

    def _aim(self, part: Part) -> tuple[Array, Array]:
        """Where a counter-example may be."""
        return part.low, part.high

    def _look(self, low: Array, high: Array) -> Part:
        self.boxes += 1
        signs = self._enclose_signs(low, high)
        return Part(self._enclose_slopes(signs)[1], self.boxes, low, high, signs)

    def _enclose_slopes(
        self, signs: Sequence[Signs], before: Slopes | None = None
    ) -> tuple[list[Slopes], float]:
        """Slopes at all states, and the least that is wanted: by intervals, and by linear bounds where these do not do.
        Those at the inputs are met with what was known `before`."""
        slopes = self.rules.enclose(self.rows, signs)
        at_inputs = slopes[0]
        if before is not None:
            np.maximum(at_inputs.low, before.low, out=at_inputs.low)
            np.minimum(at_inputs.high, before.high, out=at_inputs.high)
        if self.linear is not None and self.along is not None:
            least = np.minimum(at_inputs.low, 0.0).min(0)
            most = np.maximum(at_inputs.high, 0.0).max(0)
            inputs = np.array(
                [i for i, sign in self.along.items() if (least[i] if sign > 0 else most[i])], int
            )
            better = self.linear.enclose(self.rows, signs, inputs)
            at_inputs.low[:, inputs] = np.maximum(at_inputs.low[:, inputs], better.low)
            at_inputs.high[:, inputs] = np.minimum(at_inputs.high[:, inputs], better.high)
        return slopes, self.wanted(slopes, signs)

    def _enclose_signs(self, low: Array, high: Array) -> list[Signs]:
        hidden = self.net.steps[:-1]
        try:
            _, bounds = enclose(self.net, Inputs(low, high))
        except BeyondRange:
            bounds = [
                (np.full(len(step.offset), -np.inf), np.full(len(step.offset), np.inf))
                for step in hidden
            ]
        self.root = bounds if self.root is None else self.root
        return self._known_signs(bounds)

    def _known_signs(self, bounds: Sequence[tuple[Array, Array]]) -> list[Signs]:
        assert self.root is not None
        found = []
        for step, (under, above), (least, most) in zip(self.net.steps, bounds, self.root):
            on = ~step.rectified | (under > 0) | (least >= 0)
            off = ~on & ((above < 0) | (most <= 0))
            found.append(Signs(on, ~on & ~off))
        return found

    def _cut(self, part: Part) -> list[Part] | None:
        """Both halves across the side that moves neurons of open sign most; None where it is too narrow."""
        width = part.high - part.low
        finest = FINEST * (self.high - self.low)
        reach = np.where(width > finest, width * self._stir(part.signs), -1.0)
        side = int(reach.argmax())
        middle = 0.5 * part.low[side] + 0.5 * part.high[side]
        if reach[side] < 0 or not part.low[side] < middle < part.high[side]:
            return None
        below, above = part.high.copy(), part.low.copy()
        below[side] = above[side] = middle
        return [self._look(part.low, below), self._look(above, part.high)]

    def _stir(self, signs: Sequence[Signs]) -> Array:
        """How much each input moves the inputs of open neurons, in a rough estimate."""
        total = np.full(len(self.low), 1e-12)
        reach = np.eye(len(self.low))
        for step, known in zip(self.net.steps, signs):
            reach = np.asarray(abs(step.matrix) @ reach)
            total += reach[known.open].sum(0)
            reach = reach * (known.on | known.open)[:, None]
            reach = reach / max(reach.max(initial=0.0), 1e-300)
        return total
