r"""Branch and bound over the signs of neurons, each part excluded by a semidefinite certificate.

A part of a disjunct that no multipliers exclude is divided at the neuron whose output is farthest, in the relaxed
counter-example, from the ReLU of what is under it; where all signs are known, the box is halved along an input. The
means of the moments are tried as counter-examples.
"""

from collections.abc import Callable
from dataclasses import replace
from time import monotonic

import numpy as np

from ftheta.certify.attacks import Differentiable, descend
from ftheta.certify.goals import FloatSet, set_goal
from ftheta.certify.questions import Case, Row
from ftheta.certify.searches import Search
from ftheta.relu.reading.products import QuadraticNetwork

from .approximate import Array
from .constraints import constrain, matrices_of_rows
from .guards import Guard, clip_box
from .multipliers import Found
from .unfolding import Part, Unfolded, Unfolder

ATTACK_SHARE = 0.1  # of the time, for counter-examples near the relaxed ones


class QuadraticSearch:
    """One case of a question about a quadratic network; `net` is the same function in floats."""

    def __init__(
        self,
        quadratic: QuadraticNetwork,
        net: Differentiable,
        case: Case,
        seconds: float,
        propose: Callable[[Array], bool],
    ) -> None:
        self.unfolder = Unfolder(quadratic)
        self.net = net
        self.case = case
        self.begun = monotonic()
        self.end = self.begun + seconds
        self.propose = propose
        self.goal = set_goal(case, *(net.widths[0], net.widths[-1]))
        self.inside = FloatSet.inside(case)
        self.found: Array | None = None
        self.parts = 0
        self.stuck = 0
        self.attacking = 0.0

    def run(self) -> Search:
        """Ctrl-C ends it with what was shown until then."""
        interrupted = False
        left = len(self.case.unsafe)
        try:
            for number in range(len(self.case.unsafe)):
                if self._exclude(number) or self.found is not None:
                    break
                left -= 1
        except KeyboardInterrupt:
            interrupted = True
        open = left + self.stuck
        closed = self.found is None and open == 0 and not interrupted
        return Search(
            closed, self.found, -np.inf, self.parts, 0 if closed else max(1, open), interrupted
        )

    def _exclude(self, number: int) -> int:
        """The parts of a disjunct that are left when the time is over."""
        rows = self.case.unsafe[number]
        guards = self._find_guards(rows)
        low, high = (np.array(side, np.float64) for side in self.case.box.outer())
        for guard in guards:
            low, high = clip_box(guard, low, high)
        if (low > high).any():
            return 0
        waiting = [Part(low, high, np.zeros(self.unfolder.neurons, int))]
        while waiting and self.found is None:
            if monotonic() > self.end:
                return len(waiting)
            part = waiting.pop()
            self.parts += 1
            unfolded = self.unfolder.unfold(part, self._look_from(guards, part))
            if unfolded is None:
                continue
            found = constrain(self.unfolder, unfolded, rows).refute()
            if found.multipliers is None:
                self._try_near(part, found, number)
                waiting += self._divide(part, unfolded, found)
        return 0

    def _find_guards(self, rows: tuple[Row, ...]) -> list[Guard]:
        """Rows that bound the inputs by an ellipsoid: convex, and of no neuron."""
        plain = self.unfolder.plain
        every = np.arange(self.unfolder.first_product)
        matrices = matrices_of_rows(self.unfolder, plain, every, rows)
        d = self.unfolder.first_neuron
        guards = []
        for matrix in (matrices[k] for k in range(len(rows))):
            if not matrix.size[d:].any() and Guard(matrix[:d, :d]).is_convex:
                guards.append(Guard(matrix[:d, :d]))
        return guards

    def _look_from(self, guards: list[Guard], part: Part) -> list[Guard]:
        return [guard.seen_from(*self.unfolder.frame(part.low, part.high)) for guard in guards]

    # ---- what is left ------------------------------------------------------------------------------------------------

    def _divide(self, part: Part, unfolded: Unfolded, found: Found) -> list[Part]:
        undecided = unfolded.undecided
        if not len(undecided):
            return self._halve(part, found)
        d = self.unfolder.net.inputs
        columns = np.concatenate([np.arange(1 + d), self.unfolder.first_neuron + undecided])
        mean = found.moments[0]
        under = unfolded.under.centre[np.ix_(undecided, columns)] @ mean
        output = mean[1 + d :] * unfolded.ceiling[undecided]
        worst = undecided[int(np.argmax(np.abs(output - np.maximum(under, 0.0))))]
        halves = []
        for side in (1, -1):
            sign = part.sign.copy()
            sign[worst] = side
            halves.append(replace(part, sign=sign))
        return halves

    def _halve(self, part: Part, found: Found) -> list[Part]:
        """Along the input of the largest variance."""
        d = self.unfolder.net.inputs
        mean = found.moments[0, 1 : 1 + d]
        spread = np.diagonal(found.moments)[1 : 1 + d] - mean**2
        for axis in np.argsort(-np.where(np.isfinite(spread), spread, 0.0)):
            middle = part.low[axis] / 2 + part.high[axis] / 2
            if part.low[axis] < middle < part.high[axis]:
                below, above = part.high.copy(), part.low.copy()
                below[axis] = above[axis] = middle
                return [replace(part, high=below), replace(part, low=above)]
        self.stuck += 1
        return []

    def _try_near(self, part: Part, found: Found, number: int) -> None:
        """Whether the mean of the moments is a counter-example, or near one."""
        begun = monotonic()
        centre, half = self.unfolder.frame(part.low, part.high)
        point = centre + half * found.moments[0, 1 : 1 + len(centre)]
        if not np.isfinite(point).all() or self.attacking > ATTACK_SHARE * (begun - self.begun):
            return
        aims = np.array([number])
        start = self.inside.clip(point[None])
        self.found = descend(
            self.net, self.goal, self.inside, start, aims, self.propose, steps=20, end=self.end
        )
        self.attacking += monotonic() - begun
