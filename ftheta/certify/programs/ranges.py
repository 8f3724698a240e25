r"""Branch and bound over the ranges of single numbers inside a program, for networks of many inputs.

The whole set of inputs is bounded once, with enclosures of all slots. A *domain* is the part of it where some entries
$v$ of slots that non-linear nodes read lie in narrower ranges; over it, the relaxations of these nodes are tighter, and
multipliers $m$ use that $mv\le\max mt$ over the range (`optimise`). The entry that is halved next is the one whose
relaxations cost the bound most: the sum over the nodes that read it of |coefficient| times the gap between the two
affine functions.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic

import numpy as np

from ftheta.certify.attacks import attack, descend
from ftheta.certify.goals import FloatSet, set_goal
from ftheta.certify.questions import Case
from ftheta.certify.searches import Search
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear.backward import Relaxed
from ftheta.graph.domains.linear.gaps import share_of_gaps
from ftheta.graph.domains.linear.planning import plan_slot
from ftheta.graph.domains.linear.program import Program
from ftheta.graph.domains.linear.refining import enclose
from ftheta.graph.domains.linear.relaxations import Lines
from ftheta.graph.domains.linear.slopes import Best, optimise
from ftheta.shapes import Bool, Float

from .network import TracedNetwork
from .rows import Rows, bound_rows, doubt_of_rows, exclude
from .sets import make_set

Array = np.ndarray
Propose = Callable[[Array], bool]

ROOM = 1 << 22  # numbers of all slots and domains of a batch
MOST_AT_ONCE = 64  # domains
STEPS = 12  # of ascent for every domain
OUTPUT_STEPS = 40  # for the rows, over all inputs
ROOT_STEPS = 20  # for all slots, over all inputs
ROOT_SHARE = 0.4  # of the time for them
TURN = 4.0  # seconds that a batch should take at most
ATTACK_SHARE = 0.15  # of the time


@dataclass(frozen=True)
class Split:
    """An entry (its number in the flat order) of a slot, in a range narrower than that over all inputs."""

    slot: int
    entry: int
    lo: float
    hi: float


@dataclass(frozen=True)
class Domain:
    """A disjunct over a part of the inputs: the last split of an entry counts. `next` is the entry to halve."""

    disjunct: int
    row: int
    splits: tuple[Split, ...]
    bound: float
    next: tuple[int, int] | None


class _Narrowed(Mapping[int, Interval]):
    """Enclosures over a batch of domains: those of the whole set, but for the slots that were split."""

    def __init__(self, whole: Mapping[int, Interval], own: Mapping[int, Interval]) -> None:
        self._whole = whole
        self._own = own

    def __getitem__(self, number: int) -> Interval:
        return self._own[number] if number in self._own else self._whole[number]

    def __iter__(self):
        return iter(self._whole)

    def __len__(self) -> int:
        return len(self._whole)


class RangeSearch:
    """One search over the ranges of a program's numbers."""

    def __init__(self, net: TracedNetwork, case: Case, seconds: float, propose: Propose) -> None:
        self.net = net
        self.case = case
        self.begun = monotonic()
        self.end = self.begun + seconds
        self.propose = propose
        self.rows = Rows.of(net, case)
        self.goal = set_goal(case, *net.widths)
        self.rng = np.random.default_rng(0)
        self.low, self.high = (np.array(side, np.float64)[None] for side in case.box.outer())
        self.sets = [make_set(self.low, self.high, net.shape, FloatSet.inside(case).ball)]
        self.open = np.ones((1, len(case.unsafe)), bool)
        self.least = np.full(len(case.unsafe), -np.inf)
        self.row_bounds: dict[int, float] = {}
        self.looked_at = 0
        self.stuck = 0
        self.stuck_least = np.full(len(case.unsafe), np.inf)
        self.signs = _read_for_signs(net.program)
        self.attacking = 0.0
        self.found: Array | None = None

    def run(self) -> Search:
        """From cheap to dear: bounds over the whole set, an attack, slopes chosen for it, ranges halved. Ctrl-C ends it
        with what was shown until then."""
        interrupted = False
        count = 1
        try:
            count = self.search()
        except KeyboardInterrupt:
            interrupted = True
        closed = self.found is None and count == 0 and not interrupted
        left = 0 if closed else max(1, count)
        least = float(self.least.min(initial=np.inf))
        return Search(closed, self.found, least, self.looked_at, left, interrupted)

    def search(self) -> int:
        """The number of domains that are left."""
        relaxed = self.enclose_all(None, 0)
        self.bound_all(relaxed, 0)
        took = monotonic() - self.begun
        if self.open.any() and monotonic() < self.end:
            self.attack()
        if self.is_undecided() and _has_free_slopes(relaxed):
            self.bound_all(relaxed, OUTPUT_STEPS)
            steps = min(
                ROOT_STEPS, int(ROOT_SHARE * (self.end - monotonic()) / max(2 * took, 1e-3))
            )
            if self.is_undecided() and steps > 1:
                relaxed = self.enclose_all(relaxed, steps)
                self.bound_all(relaxed, OUTPUT_STEPS)
        pool = self.split_ranges(relaxed) if self.open.any() and self.found is None else []
        return len(pool) + self.stuck

    def is_undecided(self) -> bool:
        return bool(self.open.any()) and self.found is None and monotonic() < self.end

    def enclose_all(self, before: Relaxed | None, steps: int) -> Relaxed:
        """Enclosures of all slots over the whole set of inputs."""
        known = None if before is None else before.enclosures
        return enclose(self.net.program, self.sets, steps=steps, until=self.end, before=known)

    def bound_all(self, relaxed: Relaxed, steps: int) -> None:
        """Bounds of the rows over the whole set of inputs."""
        numbers = self.rows.used_by(np.flatnonzero(self.open.any(0)))
        found = bound_rows(self.net, self.rows, numbers, relaxed, self.sets, steps)
        for number, least in zip(numbers, found.least[0]):
            self.row_bounds[int(number)] = max(
                float(least), self.row_bounds.get(int(number), -np.inf)
            )
        for d in np.flatnonzero(self.open[0]):
            self.least[d] = max(self.row_bounds[int(r)] for r in self.rows.members[d])
        self.open = exclude(self.rows, found, self.open, self.low, self.high).open
        self.looked_at += 1

    def attack(self) -> None:
        begun = monotonic()
        aims = np.flatnonzero(self.open[0])
        seconds = max(ATTACK_SHARE * (self.end - begun), 1.0)
        self.found = attack(
            self.net,
            self.case,
            self.rng,
            min(seconds, self.end - begun),
            self.propose,
            rounds=3,
            disjuncts=aims,
        )
        if self.found is None and self.propose((self.low / 2 + self.high / 2)[0]):
            self.found = (self.low / 2 + self.high / 2)[0]
        self.attacking += monotonic() - begun

    # ---- domains -----------------------------------------------------------------------------------------------------

    def split_ranges(self, root: Relaxed) -> list[Domain]:
        """Halve ranges until nothing is left, or the time is over; what is left."""
        program = self.net.program
        numbers = sum(slot.size for slot in program.graph.slots if slot.id in program.varying)
        most = 1 if program.has_branches else max(1, min(MOST_AT_ONCE, ROOM // max(1, numbers)))
        first = [
            Domain(int(d), self.best_row(int(d)), (), float(self.least[d]), None)
            for d in np.flatnonzero(self.open[0])
        ]
        pool: list[Domain] = []
        batch = max(1, most // 4)
        waiting = first
        while self.found is None and (waiting or pool) and monotonic() < self.end:
            begun = monotonic()
            if not waiting:
                pool.sort(key=lambda domain: domain.bound)
                taken, pool = pool[: max(1, batch // 2)], pool[max(1, batch // 2) :]
                waiting = [half for domain in taken for half in self.halve(domain, root)]
                if not waiting:
                    continue
            part, waiting = waiting[:most], waiting[most:]
            pool.extend(self.bound_domains(root, part))
            took = monotonic() - begun
            room = min(TURN, max(0.1, (self.end - monotonic()) / 4))
            batch = int(np.clip(min(2 * len(part), len(part) * room / max(took, 1e-3)), 2, most))
            if (
                self.found is None
                and pool
                and self.attacking < ATTACK_SHARE * (monotonic() - self.begun)
            ):
                self.attack()
            self.report([*pool, *waiting])
        return [*pool, *waiting]

    def best_row(self, d: int) -> int:
        """The row of a disjunct that domains are bounded by."""
        return int(max(self.rows.members[d], key=lambda r: self.row_bounds.get(int(r), -np.inf)))

    def report(self, pool: list[Domain]) -> None:
        for d in np.flatnonzero(self.open[0]):
            own = [domain.bound for domain in pool if domain.disjunct == d]
            if own:
                self.least[d] = max(self.least[d], min(*own, self.stuck_least[d]))

    def halve(self, domain: Domain, root: Relaxed) -> list[Domain]:
        """Both halves at the entry to split next; nothing where there is none, and it is counted as stuck."""
        if domain.next is None:
            self.leave(domain)
            return []
        slot, entry = domain.next
        lo, hi = self.range_of(domain, slot, entry, root)
        middle = 0.0 if lo < 0 < hi and slot in self.signs else lo / 2 + hi / 2
        if not lo < middle < hi:
            self.leave(domain)
            return []
        halves = (Split(slot, entry, lo, middle), Split(slot, entry, middle, hi))
        return [
            Domain(domain.disjunct, domain.row, (*domain.splits, half), domain.bound, None)
            for half in halves
        ]

    def leave(self, domain: Domain) -> None:
        """Count a domain that cannot be halved."""
        self.stuck += 1
        self.stuck_least[domain.disjunct] = min(self.stuck_least[domain.disjunct], domain.bound)

    def range_of(self, domain: Domain, slot: int, entry: int, root: Relaxed) -> tuple[float, float]:
        for split in reversed(domain.splits):
            if (split.slot, split.entry) == (slot, entry):
                return split.lo, split.hi
        x = root.enclosures[slot]
        return float(x.lo.flat[entry]), float(x.hi.flat[entry])

    def bound_domains(self, root: Relaxed, domains: list[Domain]) -> list[Domain]:
        """Those of the domains that stay open, with their bounds and the entries to halve next."""
        relaxed, tilted = self.narrow(root, domains)
        best = self.optimise_rows(relaxed, domains, tilted)
        doubt = doubt_of_rows(
            self.net, self.rows, np.array([d.row for d in domains]), relaxed, self.sets
        )[0]
        value = (
            np.nextafter(best.value[:, 0] - self.rows.bounds[[d.row for d in domains]], -np.inf)
            - 2 * doubt
        )
        self.looked_at += len(domains)
        shares = share_of_gaps(relaxed, best.reached)
        self.try_corners(best, value)
        left = []
        for k, domain in enumerate(domains):
            strict = bool(self.rows.strict[domain.row])
            bound = max(domain.bound, float(value[k])) if np.isfinite(value[k]) else domain.bound
            if value[k] > 0 or (strict and value[k] >= 0):
                continue
            left.append(
                Domain(
                    domain.disjunct,
                    domain.row,
                    domain.splits,
                    bound,
                    _worst_entry(self.net, shares, k),
                )
            )
        return left

    def narrow(
        self, root: Relaxed, domains: list[Domain]
    ) -> tuple[Relaxed, dict[int, Bool[np.ndarray, "n ..."]]]:
        """The relaxations over a batch of domains, and which entries were split."""
        own: dict[int, Interval] = {}
        tilted: dict[int, Array] = {}
        for k, domain in enumerate(domains):
            for split in domain.splits:
                if split.slot not in own:
                    x = root.enclosures[split.slot]
                    whole = (len(domains), *x.shape[1:])
                    own[split.slot] = x.map(
                        lambda end, whole=whole: np.broadcast_to(end, whole).copy()
                    )
                    tilted[split.slot] = np.zeros(whole, bool)
                at = (k, *np.unravel_index(split.entry, own[split.slot].shape[1:]))
                own[split.slot].lo[at] = split.lo
                own[split.slot].hi[at] = split.hi
                tilted[split.slot][at] = True
        made = {
            number: relaxation
            for number, relaxation in root.made.items()
            if not any(
                read.id in own
                for read in plan_slot(root.program, root.program.graph.slots[number]).reads
            )
        }
        return Relaxed(root.program, _Narrowed(root.enclosures, own), made), tilted

    def optimise_rows(
        self, relaxed: Relaxed, domains: list[Domain], tilted: dict[int, Bool[np.ndarray, "n ..."]]
    ) -> Best:
        numbers = np.array([domain.row for domain in domains])
        graph = self.net.program.graph
        seeds = {
            graph.outputs[0].id: self.rows.outputs[numbers].reshape(
                len(domains), 1, *self.net.output_shape
            )
        }
        if self.rows.inputs is not None:
            seeds[graph.inputs[0].id] = self.rows.inputs[numbers].reshape(
                len(domains), 1, *self.net.shape
            )
        bounds = self.rows.bounds[numbers]
        return optimise(
            relaxed, self.sets, seeds, STEPS, enough=float(bounds.max() + 1e-6), tilted=tilted
        )

    def try_corners(self, best: Best, value: Float[np.ndarray, "n"]) -> None:
        """Where the forms of open domains are least: is one a counter-example, or near one?"""
        (A,) = best.form.coefficients
        if A is None or self.attacking > ATTACK_SHARE * (monotonic() - self.begun):
            return
        begun = monotonic()
        order = np.argsort(value)[:8]
        points = self.sets[0].lowest_point(A)[:, 0].reshape(len(A), -1)[order]
        inside = FloatSet.inside(self.case)
        x = inside.clip(points)
        y, _ = self.net.propagate(x)
        worst = self.goal.worst(self.goal.excess(x, y))
        self.found = descend(
            self.net, self.goal, inside, x, worst.argmin(1), self.propose, steps=20, end=self.end
        )
        self.attacking += monotonic() - begun


def _has_free_slopes(relaxed: Relaxed) -> bool:
    lines = [made for made in relaxed.made.values() if isinstance(made, Lines)]
    return any(made.turns is not None and made.turns.any() for made in lines)


def _read_for_signs(program: Program) -> frozenset[int]:
    """The slots of which only the sign matters to all that read them."""
    made = [
        slot
        for slot in program.graph.slots
        if slot.id in program.varying and slot.id in program.output_of
    ]
    plans = [plan_slot(program, slot) for slot in made]
    signs = {read.id for plan in plans if plan.only_signs for read in plan.reads}
    return frozenset(
        signs - {read.id for plan in plans if not plan.only_signs for read in plan.reads}
    )


def _worst_entry(net: TracedNetwork, shares: Mapping[int, Array], k: int) -> tuple[int, int] | None:
    """The slot and the entry whose relaxations cost domain k most."""
    best = 0.0
    found = None
    for number, share in shares.items():
        if number not in net.program.output_of or not share.shape[1:]:
            continue
        row = share[k if len(share) > 1 else 0].ravel()
        entry = int(row.argmax())
        if row[entry] > best:
            best = float(row[entry])
            found = (number, entry)
    return found
