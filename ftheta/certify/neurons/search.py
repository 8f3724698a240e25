"""Decide a case of a question for a ReLU network: bounds, attacks, branch and bound over neurons, leaves by LP."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ftheta.certify.attacks import attack, descend, propagate
from ftheta.certify.goals import FloatSet, set_goal
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.processes.compilation import clock
from ftheta.relu.network import ReluNetwork

from .domains import Domains, Pool
from .enclosing import enclose
from .frames import Array, BeyondRange, Frame
from .inputs import Inputs
from .leaves import close_leaf
from .lines import Climb, guess_slopes
from .refining import Effort
from .splitting import Outcome, bound_domains, first_domains, halve
from .targets import Targets

Propose = Callable[[Array], bool]
Finish = Callable[[Array, Array, Array, Array], bool | None]
"""Whether no counter-example is in a part of the box, given by both ends, the signs of all neurons (0: any) and which
of them pass on: False if one was found, None if neither is known."""
Progress = Callable[[float, int, int], None]
"""Called with the least bound proved so far, the domains looked at and those that are open."""

BATCH = 256  # domains at once
ROOT_STEPS = 40
NEURON_STEPS = 20
DOMAIN_PLAN = Climb(12, rate=0.1, fade=0.96, push_rate=0.1)
FIRST_ROUNDS = 4  # of splitting for the bounds of single neurons; three times as many in each turn
# seconds of branch and bound between two of them; else as long as all that came before
LEAST_TURN = 0.2
LAST_SHARE = 0.1  # of the time that is left, which is kept for branch and bound
TRIAL_TURNS = 6  # batches after which it is asked whether domains are closed at all
HOPELESS = 0.42  # open domains for each one looked at, of at most a half
ATTACK_EVERY = 16  # batches between two attacks from the corners of open domains
EXACT = 2000  # signs times inputs, up to which leaves are decided in rationals
ATTACK_SHARE = 0.1  # of the time, for attacks from random starts


def search_neurons(
    net: ReluNetwork,
    case: Case,
    *,
    seconds: float,
    propose: Propose,
    finish: Finish | None = None,
    progress: Progress | None = None,
    threads: int = 1,
) -> Search:
    """Look for a point of the set that meets a disjunct until one is found, none is left, or `seconds` are over.

    `finish` decides in rationals what stays open within rounding where all signs are known.
    """
    if case.box.is_empty or not case.unsafe:
        return Search(True, None, np.inf, 0, 0)
    threads = max(1, threads)
    with ThreadPoolExecutor(threads) as workers:
        try:
            return _Run(net, case, seconds, propose, finish, progress, workers, threads).decide()
        except BeyondRange:
            return Search(False, None, -np.inf, 0, 1)


class _Run:
    """One search: the network, the question, what is proved of each disjunct, and what is open."""

    def __init__(
        self,
        net: ReluNetwork,
        case: Case,
        seconds: float,
        propose: Propose,
        finish: Finish | None,
        progress: Progress | None,
        workers: ThreadPoolExecutor,
        threads: int,
    ) -> None:
        self.net = net
        self.case = case
        self.begun = clock()
        self.end = self.begun + seconds
        self.attacking = 0.0
        self.propose = propose
        self.finish = finish
        self.progress = progress
        self.workers = workers
        self.threads = threads
        self.rng = np.random.default_rng(0)
        self.inputs = Inputs.around(case)
        self.inside = FloatSet.inside(case)
        self.targets = Targets(set_goal(case, net.widths[0], net.widths[-1]))
        self.least = np.full(len(case.unsafe), -np.inf)  # proved, for each disjunct
        self.is_closed = np.zeros(len(case.unsafe), bool)
        self.boxes = 0
        self.open = len(case.unsafe)

    def decide(self) -> Search:
        """From cheap to dear: plain bounds, a short attack, optimised bounds, splitting, better bounds of neurons."""
        if any(not len(rows) for rows in self.targets.members):  # met by every input
            centre = self.inside.clip(0.5 * self.inputs.low[None] + 0.5 * self.inputs.high)[0]
            return self._answer(centre if self.propose(centre) else None)
        frame, bounds = enclose(self.net, self.inputs)
        self.boxes = 1
        self.least = self.targets.bound_plainly(frame)
        self.is_closed = self.least > 0
        self.open = int((~self.is_closed).sum())
        if not self.open:
            return self._answer(None)
        found = self._attack(from_centre=True)
        plan = Climb(NEURON_STEPS, deadline=self.end)
        rounds = 0
        while found is None and self.open and clock() < self.end:
            # some time is kept for what the better bounds are good for
            until = self.end - LAST_SHARE * (self.end - clock())
            effort = (
                Effort(rounds, until, self.workers if self.threads > 1 else None)
                if rounds
                else None
            )
            frame, bounds = enclose(self.net, self.inputs, plan, bounds, effort)
            can_refine = any(layer.undecided for layer in frame.layers[1:])
            turn = max(LEAST_TURN, clock() - self.begun)
            is_last = not can_refine or clock() + turn > until
            found, is_stuck = self._split(frame, None if is_last else turn)
            rounds = 3 * rounds if rounds else FIRST_ROUNDS
            if is_stuck:
                break
        return self._answer(found)

    def _answer(self, found: Array | None) -> Search:
        closed = found is None and bool(self.is_closed.all())
        return Search(
            closed, found, float(self.least.min()), self.boxes, 0 if closed else max(self.open, 1)
        )

    def _attack(self, from_centre: bool = False) -> Array | None:
        """One round of attacks on the disjuncts that are open; their time is counted."""
        begun = clock()
        aims = np.flatnonzero(~self.is_closed)
        found = attack(
            self.net, self.case, self.rng, self.end - begun, self.propose,
            rounds=1, disjuncts=aims, from_centre=from_centre,
        )  # fmt: skip
        self.attacking += clock() - begun
        return found

    def _split(self, frame: Frame, seconds: float | None) -> tuple[Array | None, bool]:
        """Branch and bound with these bounds of neurons; a witness, and whether only stuck leaves are left.

        It ends after so many `seconds`, and before where hardly any domain is closed: then it comes too early.
        """
        front = _Front(self, frame)
        found = front.open_roots(Climb(ROOT_STEPS, deadline=self.end))
        end = self.end if seconds is None else clock() + seconds
        begun = self.boxes
        turn = 0
        while found is None and len(front.pool) and clock() < end:
            turn += 1
            found = front.advance(turn % ATTACK_EVERY == 1)
            if (
                found is None
                and len(front.pool)
                and self.attacking < ATTACK_SHARE * (clock() - self.begun)
            ):
                found = self._attack()
            self._report(front)
            if (
                seconds is not None
                and turn >= TRIAL_TURNS
                and len(front.pool) > HOPELESS * (self.boxes - begun)
            ):
                break
        self._report(front)
        self.is_closed |= front.closed_targets()
        return found, not len(front.pool) and bool(front.stuck)

    def _report(self, front: "_Front") -> None:
        """Take over what is proved by now, and say so."""
        self.least = np.maximum(self.least, front.least())
        self.open = len(front.pool) + len(front.stuck)
        if self.progress is not None:
            self.progress(float(self.least.min()), self.boxes, self.open)


class _Front:
    """The open domains over one frame, and what is known of the closed ones."""

    def __init__(self, run: _Run, frame: Frame) -> None:
        self.run = run
        self.frame = frame
        self.task = run.targets.over(frame)
        self.closed_least = np.where(run.is_closed, run.least, np.inf)
        self.stuck: list[tuple[int, float]] = []
        self.pool = Pool(
            first_domains(
                self.task, np.zeros(0, int), np.zeros((0, frame.neurons)), np.zeros((0, 0))
            )
        )

    def open_roots(self, plan: Climb) -> Array | None:
        """The whole box, for every disjunct that is open."""
        targets = np.flatnonzero(~self.run.is_closed)
        lower = np.repeat(guess_slopes(self.frame.layers)[None], len(targets), axis=0)
        domains = first_domains(self.task, targets, lower, self.run.targets.even(targets))
        domains.bound = self.run.least[targets]
        outcome = bound_domains(self.task, domains, plan)
        self._note_closed(outcome)
        self.pool = Pool(outcome.open)
        return self._try_corners(outcome, True)

    def least(self) -> Array:
        """A proved bound for every disjunct."""
        low = self.closed_least.copy()
        np.minimum.at(low, self.pool.view_targets(), self.pool.view_bounds())
        for target, bound in self.stuck:
            low[target] = min(low[target], bound)
        return low

    def closed_targets(self) -> Array:
        """Which disjuncts have no open domain."""
        is_open = np.zeros(len(self.closed_least), bool)
        is_open[self.pool.view_targets()] = True
        is_open[[target for target, _ in self.stuck]] = True
        return ~is_open

    def advance(self, descends: bool) -> Array | None:
        """Split one batch for every worker and put back what stays open."""
        parents = [self.pool.take(BATCH // 2) for _ in range(self.run.threads)]
        leaves = [batch.select(np.flatnonzero(batch.split < 0)) for batch in parents]
        batches = [halve(batch.select(np.flatnonzero(batch.split >= 0))) for batch in parents]
        batches = [batch for batch in batches if len(batch)]
        outcomes = list(
            self.run.workers.map(
                lambda batch: bound_domains(self.task, batch, DOMAIN_PLAN), batches
            )
        )
        self.run.boxes += sum(map(len, batches))
        found = None
        for outcome in outcomes:
            self.pool.add(outcome.open)
            self._note_closed(outcome)
        for outcome in outcomes:
            found = self._try_corners(outcome, descends)
            if found is not None:
                break
        for batch in leaves:
            for r in range(len(batch)):
                if found is not None or clock() > self.run.end:
                    self.pool.add(batch.select(np.arange(r, len(batch))))
                    break
                found = self._finish(batch, r)
        return found

    def _finish(self, leaves: Domains, r: int) -> Array | None:
        """A domain without open neurons: closed by its linear program, or a witness, or stuck within rounding."""
        target = int(leaves.target[r])
        rows = self.run.targets.members[target]
        leaf = close_leaf(
            self.frame, self.run.targets.goal, rows, leaves.sign[r], self.run.end - clock()
        )
        if self.run.targets.closes(np.array([leaf.bound]), leaf.weights[None])[0]:
            self.closed_least[target] = min(self.closed_least[target], leaf.bound)
            return None
        if leaf.point is not None and self.run.propose(leaf.point):
            self.stuck.append((target, float(leaves.bound[r])))
            return leaf.point
        return self._finish_exactly(target, leaves.sign[r], max(float(leaves.bound[r]), leaf.bound))

    def _finish_exactly(self, target: int, sign: Array, bound: float) -> Array | None:
        """What rounding leaves open, decided in rationals for all disjuncts; where that is dear, it stays open."""
        region = self.run.inputs
        is_closed = None
        if self.run.finish is not None and len(sign) * len(region.low) <= EXACT:
            is_closed = self.run.finish(
                region.low, region.high, *self.frame.spell_out(self.run.net, sign)
            )
        if is_closed:
            self.closed_least[target] = min(self.closed_least[target], 0.0)
            return None
        self.stuck.append((target, bound))
        return 0.5 * region.low + 0.5 * region.high if is_closed is False else None

    def _note_closed(self, outcome: Outcome) -> None:
        np.minimum.at(self.closed_least, outcome.closed_targets, outcome.closed_bounds)

    def _try_corners(self, outcome: Outcome, descends: bool) -> Array | None:
        """Corners of the relaxations are points of the box: is one a witness, or near one?"""
        if not len(outcome.open):
            return None
        inside = self.run.inside
        points = inside.clip(outcome.corners.astype(np.float64))
        outputs, _ = propagate(self.run.net, points)
        goal = self.run.targets.goal
        worst = goal.worst(goal.excess(points, outputs)).min(1)
        for r in np.argsort(worst)[:2]:
            if worst[r] <= 0 and self.run.propose(points[r]):
                return points[r].copy()
        if not descends:
            return None
        order = np.argsort(worst)[:32]
        aims = outcome.open.target[order]
        return descend(
            self.run.net,
            goal,
            inside,
            points[order],
            aims,
            self.run.propose,
            steps=20,
            end=self.run.end,
        )
