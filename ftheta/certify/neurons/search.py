"""Decide a case of a question for a ReLU network: bounds, attacks, branch and bound over neurons, leaves by LP."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import numpy as np

from ftheta.certify.attacks import attack, descend, propagate
from ftheta.certify.goals import set_goal
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.relu.network import ReluNetwork

from .domains import Domains, Pool
from .enclosing import begin_rows, enclose
from .frames import Array, BeyondRange, Frame
from .leaves import close_leaf
from .lines import Climb, Mixture, Start, bound_below, guess_slopes, plain_lines
from .splitting import Task, bound_domains, first_domains, halve

Propose = Callable[[Array], bool]
Progress = Callable[[float, int, int], None]
"""Called with the least bound proved so far, the domains looked at and those that are open."""

BATCH = 256  # domains at once
ROOT_STEPS = 40
NEURON_STEPS = 20
DOMAIN_PLAN = Climb(12, rate=0.1, fade=0.96, push_rate=0.1)
ATTACK_EVERY = 16  # batches between two attacks from the corners of open domains
ATTACK_SHARE = 0.1  # of the time, for attacks from random starts


def search_neurons(
    net: ReluNetwork,
    case: Case,
    *,
    seconds: float,
    propose: Propose,
    progress: Progress | None = None,
    threads: int = 1,
) -> Search:
    """Look for a point of the box that meets a disjunct until one is found, none is left, or `seconds` are over."""
    if case.box.is_empty or not case.unsafe:
        return Search(True, None, np.inf, 0, 0)
    low, high = (np.array(side, np.float64) for side in case.box.outer())
    try:
        return _Run(net, case, low, high, seconds, propose, progress, threads).decide()
    except BeyondRange:
        return Search(False, None, -np.inf, 0, 1)


class _Run:
    """One search: the network, the question, and what is open."""

    def __init__(
        self,
        net: ReluNetwork,
        case: Case,
        low: Array,
        high: Array,
        seconds: float,
        propose: Propose,
        progress: Progress | None,
        threads: int,
    ) -> None:
        self.net = net
        self.case = case
        self.low = low
        self.high = high
        self.begun = monotonic()
        self.end = self.begun + seconds
        self.attacking = 0.0
        self.propose = propose
        self.progress = progress
        self.threads = max(1, threads)
        self.rng = np.random.default_rng(0)
        self.goal = set_goal(case, net.widths[0], net.widths[-1])
        self.members = [np.flatnonzero(row) for row in self.goal.member]
        self.most_rows = max(map(len, self.members))
        self.boxes = 0
        self.least_closed = np.inf
        self.stuck: list[float] = []

    def decide(self) -> Search:
        """From cheap to dear: plain bounds, a short attack, optimised bounds, a longer attack, splitting."""
        if any(not len(rows) for rows in self.members):  # met by every input
            centre = np.clip(0.5 * self.low + 0.5 * self.high, *map(np.array, self.case.box.inner()))
            found = centre if self.propose(centre) else None
            return Search(False, found, -np.inf, 0, 1)
        frame, bounds = enclose(self.net, self.low, self.high)
        least = self._bound_plainly(frame)
        self.boxes = 1
        if not (least <= 0).any():
            return Search(True, None, float(least.min()), 1, 0)
        left = np.flatnonzero(least <= 0)
        found = self._attack(left, from_centre=True)
        if found is not None or monotonic() > self.end:
            return Search(False, found, float(least.min()), 1, len(left))
        plan = Climb(NEURON_STEPS, deadline=self.end)
        frame, bounds = enclose(self.net, self.low, self.high, plan, bounds)
        return self._split(frame, least)

    def _attack(self, disjuncts: Array, from_centre: bool = False) -> Array | None:
        """One round of attacks; their time is counted."""
        begun = monotonic()
        found = attack(
            self.net, self.case, self.rng, self.end - begun, self.propose,
            rounds=1, disjuncts=disjuncts, from_centre=from_centre,
        )  # fmt: skip
        self.attacking += monotonic() - begun
        return found

    def _bound_plainly(self, frame: Frame) -> Array:
        """For every disjunct the best bound of one of its rows, with guessed slopes."""
        rows = len(self.goal.bounds)
        start = begin_rows(self.goal, frame, np.eye(rows))
        value = bound_below(frame.low, frame.high, frame.layers, start, plain_lines(frame.layers, rows))
        return np.array([value[rows].max() for rows in self.members])

    def _split(self, frame: Frame, least: Array) -> Search:
        task = self._set_task(frame)
        targets = np.flatnonzero(least <= 0)
        self.least_closed = float(least[least > 0].min(initial=np.inf))
        lower = np.repeat(guess_slopes(frame.layers)[None], len(targets), axis=0)
        weights = np.zeros((len(targets), self.most_rows), np.float32)
        for r, d in enumerate(targets):
            weights[r, : len(self.members[d])] = 1 / len(self.members[d])
        domains = first_domains(task, targets, lower, weights)
        domains.bound = least[targets]
        outcome = bound_domains(task, domains, Climb(ROOT_STEPS, deadline=self.end))
        self._note_closed(outcome.closed)
        pool = Pool(outcome.open)
        found = self._try_corners(outcome.open, outcome.corners, True)
        turn = 0
        with ThreadPoolExecutor(self.threads) as workers:
            while found is None and len(pool) and monotonic() < self.end:
                turn += 1
                found = self._advance(task, frame, pool, workers, turn % ATTACK_EVERY == 1)
                if found is None and len(pool) and self.attacking < ATTACK_SHARE * (monotonic() - self.begun):
                    found = self._attack(np.unique(pool.view_targets()))
                if self.progress is not None:
                    self.progress(self._least(pool), self.boxes, len(pool) + len(self.stuck))
        open_now = len(pool) + len(self.stuck)
        closed = found is None and not open_now
        return Search(closed, found, self._least(pool), self.boxes, open_now)

    def _advance(
        self, task: Task, frame: Frame, pool: Pool, workers: ThreadPoolExecutor, attacks: bool
    ) -> Array | None:
        """Split one batch for every worker and put back what stays open."""
        parents = [pool.take(BATCH // 2) for _ in range(self.threads)]
        leaves = [batch.select(np.flatnonzero(batch.split < 0)) for batch in parents]
        batches = [halve(batch.select(np.flatnonzero(batch.split >= 0))) for batch in parents]
        batches = [batch for batch in batches if len(batch)]
        for outcome in workers.map(lambda batch: bound_domains(task, batch, DOMAIN_PLAN), batches):
            pool.add(outcome.open)
            self._note_closed(outcome.closed)
            found = self._try_corners(outcome.open, outcome.corners, attacks)
            if found is not None:
                return found
        self.boxes += sum(map(len, batches))
        for batch in leaves:
            for r in range(len(batch)):
                found = self._finish(frame, batch, r)
                if found is not None:
                    return found
        return None

    def _finish(self, frame: Frame, leaves: Domains, r: int) -> Array | None:
        """A domain without open neurons: closed by its linear program, or a witness, or stuck within rounding."""
        rows = self.members[leaves.target[r]]
        leaf = close_leaf(frame, self.goal, rows, leaves.sign[r], self.end - monotonic())
        if self._closes(np.array([leaf.bound]), leaf.weights[None])[0]:
            self.least_closed = min(self.least_closed, leaf.bound)
            return None
        if leaf.point is not None and self.propose(leaf.point):
            return leaf.point
        self.stuck.append(max(float(leaves.bound[r]), leaf.bound))
        return None

    def _set_task(self, frame: Frame) -> Task:
        everything = begin_rows(self.goal, frame, np.eye(len(self.goal.bounds)))

        def begin(targets: Array, weights: Array) -> Start:
            return begin_rows(self.goal, frame, self._spread(targets, weights))

        def mixing(targets: Array, weights: Array) -> Mixture:
            rough = everything
            inputs = None if rough.inputs is None else rough.inputs.astype(np.float32)
            return Mixture(
                rough.outputs.astype(np.float32),
                rough.constant.astype(np.float32),
                inputs,
                self._spread(targets, weights).astype(np.float32),
                self.goal.member[targets],
            )

        def contract(targets: Array, weights: Array) -> Array:
            local = np.zeros((len(targets), self.most_rows), np.float32)
            for r, d in enumerate(targets):
                local[r, : len(self.members[d])] = weights[r, self.members[d]]
            return local

        def closes(bound: Array, targets: Array, weights: Array) -> Array:
            return self._closes(bound, self._spread(targets, weights))

        plain = self.goal.is_plain
        return Task(self.low, self.high, frame.layers, begin, None if plain else mixing, contract, closes)

    def _spread(self, targets: Array, weights: Array) -> Array:
        """Weights of the rows of each target's disjunct as weights of all rows."""
        wide = np.zeros((len(targets), len(self.goal.bounds)))
        for r, d in enumerate(targets):
            wide[r, self.members[d]] = weights[r, : len(self.members[d])]
        return wide

    def _closes(self, bound: Array, weights: Array) -> Array:
        """Where a mixture of rows is positive they cannot all hold; nor where it is zero, if a strict row is in it."""
        return (bound > 0) | ((bound >= 0) & (weights @ self.goal.strict > 0))

    def _note_closed(self, bounds: Array) -> None:
        self.least_closed = min(self.least_closed, float(bounds.min(initial=np.inf)))

    def _least(self, pool: Pool) -> float:
        open_bounds = pool.view_bounds()
        return float(min(self.least_closed, open_bounds.min(initial=np.inf), *self.stuck, np.inf))

    def _try_corners(self, domains: Domains, corners: Array, descends: bool) -> Array | None:
        """Corners of the relaxations are points of the box: is one a witness, or near one?"""
        if not len(domains):
            return None
        low, high = (np.array(side, np.float64) for side in self.case.box.inner())
        if not np.all(low <= high):
            return None
        points = np.clip(corners.astype(np.float64), low, high)
        outputs, _ = propagate(self.net, points)
        worst = self.goal.worst(self.goal.excess(points, outputs)).min(1)
        for r in np.argsort(worst)[:2]:
            if worst[r] <= 0 and self.propose(points[r]):
                return points[r].copy()
        if not descends:
            return None
        order = np.argsort(worst)[:32]
        return descend(
            self.net, self.goal, low, high, points[order], domains.target[order], self.propose, steps=20, end=self.end
        )
