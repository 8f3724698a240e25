"""Branch and bound over boxes of inputs until slopes have the sign that they are to have: the worst box first."""

import heapq
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import monotonic

import numpy as np

from ftheta.certify.neurons.enclosing import enclose
from ftheta.certify.neurons.frames import BeyondRange
from ftheta.certify.neurons.inputs import Inputs
from ftheta.certify.questions import Box
from ftheta.certify.searches import Search
from ftheta.relu.network import ReluNetwork

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
class _Part:
    least: float
    number: int
    low: Array = field(compare=False)
    high: Array = field(compare=False)
    signs: list[Signs] = field(compare=False)


class SlopeSearch:
    """One search. A neuron is known over a part if its input is not 0 there, or has one sign over the whole box."""

    def __init__(self, net: ReluNetwork, rows: Array, box: Box, wanted: Wanted) -> None:
        self.net = net
        self.rows = rows
        self.wanted = wanted
        self.rules = SlopeRules(net)
        self.low, self.high = (np.array(side, np.float64) for side in box.outer())
        self.boxes = 0
        self.root: list[tuple[Array, Array]] | None = None

    def run(self, propose: Propose, finish: Finish, seconds: float) -> Search:
        """Until nothing is open, a counter-example is found, or the time is over; Ctrl-C ends it too."""
        ends = monotonic() + seconds
        first = self._look(self.low, self.high)
        parts = [] if first.least >= 0 else [first]
        stuck = 0
        stuck_least = 0.0
        interrupted = False
        found = None
        try:
            while parts and monotonic() < ends:
                part = heapq.heappop(parts)
                if self.boxes % LOOKS < 2 and propose(part.low, part.high):
                    found = 0.5 * part.low + 0.5 * part.high
                    break
                if not any(signs.open.any() for signs in part.signs):
                    is_closed = finish(part.signs)
                    if is_closed:
                        continue
                halves = self._halve(part)
                if not halves:
                    stuck += 1
                    stuck_least = min(stuck_least, part.least)
                for half in halves:
                    if half.least < 0:
                        heapq.heappush(parts, half)
        except KeyboardInterrupt:
            interrupted = True
        open = len(parts) + stuck + interrupted + (found is not None)
        least = min([stuck_least, *(part.least for part in parts)], default=0.0)
        closed = open == 0
        return Search(closed, found, least if not interrupted else -np.inf, self.boxes, open, interrupted)

    def _look(self, low: Array, high: Array) -> _Part:
        self.boxes += 1
        signs = self._enclose_signs(low, high)
        least = self.wanted(self.rules.enclose(self.rows, signs), signs)
        return _Part(least, self.boxes, low, high, signs)

    def _enclose_signs(self, low: Array, high: Array) -> list[Signs]:
        hidden = self.net.steps[:-1]
        try:
            _, bounds = enclose(self.net, Inputs(low, high))
        except BeyondRange:
            bounds = [(np.full(len(step.offset), -np.inf), np.full(len(step.offset), np.inf)) for step in hidden]
        self.root = bounds if self.root is None else self.root
        found = []
        for step, (under, above), (least, most) in zip(hidden, bounds, self.root):
            on = ~step.rectified | (under > 0) | (least >= 0)
            off = ~on & ((above < 0) | (most <= 0))
            found.append(Signs(on, ~on & ~off))
        return found

    def _halve(self, part: _Part) -> list[_Part]:
        """Both halves across the side that moves neurons of open sign most."""
        width = part.high - part.low
        finest = FINEST * (self.high - self.low)
        reach = np.where(width > finest, width * self._stir(part.signs), -1.0)
        side = int(reach.argmax())
        middle = 0.5 * part.low[side] + 0.5 * part.high[side]
        if reach[side] < 0 or not part.low[side] < middle < part.high[side]:
            return []
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
