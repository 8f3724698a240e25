r"""Branch and bound over boxes of inputs, in batches: bound, exclude, clip, and halve what is left.

A box is halved along the input in which the gradient of its worst row changes most across the box: with half widths
$w$, $G_{ij}=|\partial_jf(c+w_ie_i)-\partial_jf(c-w_ie_i)|\,w_j$ measures how far from affine the row is in inputs $i$
and $j$, and that is what an affine bound errs by. Smooth functions have $G_{ij}\approx G_{ji}$; across a kink the
gradient jumps however thin the box is, and the lesser of both is what counts. The gradients are floats: they prove
nothing.
"""

from collections.abc import Callable
from time import monotonic

import numpy as np

from ftheta.certify.attacks import attack, descend
from ftheta.certify.goals import FloatSet, set_goal
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.certify.sequential_programs import attack_by_programs
from ftheta.graph.domains.linear.refining import Carry, enclose, has_wide_slots
from ftheta.shapes import Bool, Float, Int

from .network import TracedNetwork
from .rows import Excluded, Rows, bound_rows, exclude
from .sets import make_set

Array = np.ndarray
Propose = Callable[[Array], bool]
Progress = Callable[[float, int, int], None]
"""Called with the least bound proved so far, the boxes looked at and those that are open."""

ROOM = 1 << 24  # numbers of all slots and boxes of a batch
MOST_AT_ONCE = 1024  # boxes
FILL = 16  # few boxes are halved several times, so that a batch is worth its overhead
TURN = 4.0  # seconds that a batch should take at most
FIRST_SHARE = 0.2  # of the time, for enclosures over the whole box: an attack may be quicker
ATTACK_SHARE = 0.1  # of the time, for attacks
PROGRAMS = 3.0  # seconds at most for an attack by linear programs: it finds what it finds at once
CORNERS = 16  # of a batch, that are tried as counter-examples
MOST_OPEN = 2_000_000  # boxes in memory: beyond, those nearest to closed come first


class BoxSearch:
    """One search: what is open, and what is proved of the rest."""

    def __init__(
        self,
        net: TracedNetwork,
        case: Case,
        seconds: float,
        propose: Propose,
        progress: Progress | None = None,
    ) -> None:
        self.net = net
        self.case = case
        self.begun = monotonic()
        self.end = self.begun + seconds
        self.propose = propose
        self.progress = progress
        self.rows = Rows.of(net, case)
        self.goal = set_goal(case, *net.widths)
        self.inner = FloatSet.inside(case)
        self.rng = np.random.default_rng(0)
        low, high = (np.array(side, np.float64)[None] for side in case.box.outer())
        self.low, self.high = low, high
        self.open = np.ones((1, len(case.unsafe)), bool)
        self.bound = np.full(1, -np.inf)
        self.row = np.zeros(1, int)
        self.closed_least = np.inf
        self.boxes = 0
        self.stuck = 0
        self.stuck_least = np.inf
        self.looked_at_least = -np.inf  # over the boxes that were taken out and not put back yet
        self.found: Array | None = None
        self.attacking = 0.0
        self.batch = 1
        numbers = sum(
            slot.size for slot in net.program.graph.slots if slot.id in net.program.varying
        )
        self.carry: Carry = "most" if has_wide_slots(net.program) else "nothing"
        if self.carry == "most":
            numbers *= 2 * net.widths[0]
        self.most = (
            1 if net.program.has_branches else max(1, min(MOST_AT_ONCE, ROOM // max(1, numbers)))
        )

    # ---- bounds ------------------------------------------------------------------------------------------------------

    def look(
        self,
        low: Float[np.ndarray, "n d"],
        high: Float[np.ndarray, "n d"],
        was_open: Bool[np.ndarray, "n k"],
        until: float,
    ) -> Excluded:
        """Bound the open rows over a batch of boxes, with enclosures that are refined until then."""
        boxes = len(low)
        low, high, was_open = (_pad(part) for part in (low, high, was_open))
        if self.inner.ball is not None:
            tight_low, tight_high, is_empty = self.inner.ball.shrink(low, high)
            was_open = was_open & ~is_empty[:, None]
            low = np.where(is_empty[:, None], low, tight_low)
            high = np.where(is_empty[:, None], high, tight_high)
        sets = [make_set(low, high, self.net.shape, self.inner.ball)]
        relaxed = enclose(self.net.program, sets, carry=self.carry, until=until)
        numbers = self.rows.used_by(np.flatnonzero(was_open.any(0)))
        found = bound_rows(self.net, self.rows, numbers, relaxed, sets)
        self.boxes += boxes
        return exclude(self.rows, found, was_open, low, high).first(boxes)

    def keep(self, outcome: Excluded) -> None:
        """Put back what is open."""
        stays = outcome.open.any(1)
        self.low = np.concatenate([self.low, outcome.low[stays]])
        self.high = np.concatenate([self.high, outcome.high[stays]])
        self.open = np.concatenate([self.open, outcome.open[stays]])
        self.bound = np.concatenate([self.bound, outcome.bound[stays]])
        self.row = np.concatenate([self.row, outcome.row[stays]])

    def take(
        self, count: int
    ) -> tuple[
        Float[np.ndarray, "n d"],
        Float[np.ndarray, "n d"],
        Bool[np.ndarray, "n k"],
        Float[np.ndarray, "n"],
        Int[np.ndarray, "n"],
    ]:
        """The boxes with the lowest bounds, taken out."""
        order = self.bound if len(self.bound) < MOST_OPEN else -self.bound
        picked = (
            np.argpartition(order, count - 1)[:count]
            if count < len(order)
            else np.arange(len(order))
        )
        rest = np.ones(len(order), bool)
        rest[picked] = False
        taken = (
            self.low[picked],
            self.high[picked],
            self.open[picked],
            self.bound[picked],
            self.row[picked],
        )
        self.low, self.high, self.open = self.low[rest], self.high[rest], self.open[rest]
        self.bound, self.row = self.bound[rest], self.row[rest]
        return taken

    # ---- halves ------------------------------------------------------------------------------------------------------

    def halve(
        self,
        low: Float[np.ndarray, "n d"],
        high: Float[np.ndarray, "n d"],
        row: Int[np.ndarray, "n"],
    ) -> tuple[
        Float[np.ndarray, "halves d"], Float[np.ndarray, "halves d"], Int[np.ndarray, "halves"]
    ]:
        """Both halves of every box, and the numbers of their parents; a box that no float divides is left out."""
        axis = self.choose_axes(low, high, row)
        at = np.arange(len(low))
        middle = low[at, axis] / 2 + high[at, axis] / 2
        divides = (middle > low[at, axis]) & (middle < high[at, axis])
        first_high, second_low = high.copy(), low.copy()
        first_high[at, axis] = middle
        second_low[at, axis] = middle
        parents = np.flatnonzero(divides)
        lows = np.concatenate([low[parents], second_low[parents]])
        highs = np.concatenate([first_high[parents], high[parents]])
        return lows, highs, np.concatenate([parents, parents])

    def choose_axes(
        self,
        low: Float[np.ndarray, "n d"],
        high: Float[np.ndarray, "n d"],
        row: Int[np.ndarray, "n"],
    ) -> Int[np.ndarray, "n"]:
        """Along which input each box is halved."""
        boxes, inputs = low.shape
        centre = low / 2 + high / 2
        half = high / 2 - low / 2
        steps = half[:, None] * np.eye(inputs)
        points = np.concatenate([centre[:, None] + steps, centre[:, None] - steps], 1)
        cotangents = np.repeat(self.rows.outputs[row], 2 * inputs, axis=0)
        slopes = self.net.pull_back(points.reshape(-1, inputs), cotangents).reshape(
            boxes, 2, inputs, inputs
        )
        change = np.abs(slopes[:, 0] - slopes[:, 1]) * half[:, None]
        score = np.nan_to_num(np.minimum(change, change.swapaxes(1, 2)).sum(2), posinf=1e300)
        # where nothing is seen to bend, the widest share of the whole box
        whole = self.case_width()
        score = score + 1e-9 * score.max(1, keepdims=True) * half / whole + 1e-300 * half / whole
        return np.where(half > 0, score, -1.0).argmax(1)

    def case_width(self) -> Float[np.ndarray, "d"]:
        low, high = (np.array(side, np.float64) for side in self.case.box.outer())
        return np.maximum(high - low, 1e-300)

    # ---- points ------------------------------------------------------------------------------------------------------

    def try_points(self, points: Float[np.ndarray, "n d"]) -> None:
        """Whether one of the points is a counter-example, or near one."""
        if not len(points):
            return
        x = self.inner.clip(points)
        y, _ = self.net.propagate(x)
        worst = self.goal.worst(self.goal.excess(x, y))
        order = np.argsort(worst.min(1))
        for r in order[:2]:
            if worst[r].min() <= 0 and self.propose(x[r]):
                self.found = x[r].copy()
                return
        if self.attacking < ATTACK_SHARE * (monotonic() - self.begun):
            begun = monotonic()
            chosen = order[:CORNERS]
            aims = worst[chosen].argmin(1)
            self.found = descend(
                self.net,
                self.goal,
                self.inner,
                x[chosen],
                aims,
                self.propose,
                steps=20,
                end=self.end,
            )
            self.attacking += monotonic() - begun

    # ---- the search --------------------------------------------------------------------------------------------------

    def run(self) -> Search:
        """From cheap to dear: the whole box, an attack, halves. Ctrl-C ends it with what was shown until then."""
        interrupted = False
        try:
            self.search()
        except KeyboardInterrupt:
            interrupted = True
        open = len(self.low) + self.stuck
        closed = self.found is None and open == 0 and not interrupted
        return Search(
            closed, self.found, self.least(), self.boxes, 0 if closed else max(1, open), interrupted
        )

    def search(self) -> None:
        """Until nothing is open, a counter-example is found, or the time is over."""
        low, high, was_open, _, _ = self.take(1)
        outcome = self.look(
            low, high, was_open, min(self.end, self.begun + FIRST_SHARE * (self.end - self.begun))
        )
        self.keep(outcome)
        self.looked_at_least = np.inf
        if len(self.low) and monotonic() < self.end:
            begun = monotonic()
            seconds = max(ATTACK_SHARE * (self.end - begun), 1.0)
            aims = np.flatnonzero(self.open.any(0))
            self.found = attack(
                self.net,
                self.case,
                self.rng,
                min(seconds, self.end - begun),
                self.propose,
                rounds=3,
                disjuncts=aims,
            )
            if self.found is None:
                seconds = min(seconds, PROGRAMS, self.end - monotonic())
                self.found = attack_by_programs(
                    self.net, self.case, self.rng, seconds, self.propose, aims
                )
            self.attacking += monotonic() - begun
            if self.found is None:
                self.try_points(self.low / 2 + self.high / 2)
        while self.found is None and len(self.low) and monotonic() < self.end:
            self.advance()
            if self.progress is not None:
                self.progress(self.least(), self.boxes, len(self.low))

    def least(self) -> float:
        """Below the excess of every input that is not excluded; boxes that are being looked at count too."""
        return float(min(self.bound.min(initial=np.inf), self.stuck_least, self.looked_at_least))

    def advance(self) -> None:
        """Halve a batch of boxes, bound the halves."""
        begun = monotonic()
        self.looked_at_least = self.least()
        low, high, was_open, bound, row = self.take(max(1, self.batch // 2))
        wanted = max(2, min(FILL, self.most))
        while True:
            low, high, parents = self.halve(low, high, row)
            missing = np.setdiff1d(np.arange(len(row)), parents)
            self.stuck += len(missing)
            self.stuck_least = min(self.stuck_least, bound[missing].min(initial=np.inf))
            was_open, bound, row = was_open[parents], bound[parents], row[parents]
            if not len(low) or 2 * len(low) > wanted:
                break
        if not len(low):
            self.looked_at_least = np.inf
            return
        for start in range(0, len(low), self.most):
            part = slice(start, start + self.most)
            outcome = self.look(low[part], high[part], was_open[part], self.end)
            outcome.bound[:] = np.maximum(outcome.bound, bound[part])
            self.keep(outcome)
            open = outcome.open.any(1)
            if open.any():
                order = np.argsort(outcome.bound[open])[:CORNERS]
                self.try_points((outcome.low[open] / 2 + outcome.high[open] / 2)[order])
            if self.found is not None or (monotonic() > self.end and part.stop < len(low)):
                rest = slice(part.stop, None)
                self.keep(Excluded(was_open[rest], low[rest], high[rest], bound[rest], row[rest]))
                break
        self.looked_at_least = np.inf
        took = monotonic() - begun
        room = min(TURN, max(0.1, (self.end - monotonic()) / 4))
        fits = np.clip(min(2 * len(low), len(low) * room / max(took, 1e-3)), 2, self.most)
        self.batch = 1 << (int(fits).bit_length() - 1)


def _pad(part: Array) -> Array:
    """Repeated to a power of two: graphs are prepared for few sizes of batches."""
    size = 1 << (len(part) - 1).bit_length()
    return np.concatenate([part, np.repeat(part[-1:], size - len(part), axis=0)])
