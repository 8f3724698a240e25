r"""How many rows of a data set a classifier labels rightly, and does so at every input near them.

    ft.robustness(net, (x, y), eps=[0.01, 0.02, 0.05])
    ft.robustness(net, data, norm=2).chart()

*Certified accuracy* at $\varepsilon$ counts the rows that are labelled rightly at every input within $\varepsilon$,
which is shown; *attacked accuracy* counts those for which no input with another label was met. The true robust accuracy
of these rows lies between the two.
"""

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from math import inf
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ftheta.certify.margins import Problem
from ftheta.certify.perturbations import attack, confirm, read_problem
from ftheta.certify.traced_programs import MEANING, describe_meaning
from ftheta.logic.chart import Axis, Curves, Series
from ftheta.processes import interrupts
from ftheta.processes.budgets import parse_seconds
from ftheta.shapes import Bool, Float, Int

from .attacking import RadiusAttack
from .certifying import Certifier
from .rows_and_radii import choose_radii, read_radii, read_rows

Array = np.ndarray
AT_ONCE = 64  # rows attacked at a time
ATTACKING = 0.35  # of the budget
# for one radius of a row, from round to round: splits for the bound of each neuron, domains of branch and bound; ...
BRANCHING = ((8, 128), (32, 512), (64, 4096))
# ... then seconds for the whole search, with attacks and better bounds of neurons
TURNS = (1.0, 4.0, 16.0, 64.0)
QUICK = 1.0  # seconds of a turn up to which every thread has a row of its own


@dataclass(frozen=True, eq=False)
class Robustness:
    """At each radius of `eps`: the shares `certified` and `attacked` of the rows, between which the robust accuracy of
    these rows lies; `accuracy` is that of the program without any perturbation.

    Of each row, `shown` is the number of radii (from the smallest on) at which its label is certain, `met` the number
    of those at which no input with another label was met; both are −1 where the row itself has another label for
    certain.
    `finished` tells whether the budget was enough to do all that was planned, `interrupted` whether Ctrl-C ended it.
    """

    eps: Float[np.ndarray, "k"]
    certified: Float[np.ndarray, "k"]
    attacked: Float[np.ndarray, "k"]
    accuracy: float
    shown: Int[np.ndarray, "n"]
    met: Int[np.ndarray, "n"]
    norm: float
    seconds: float
    finished: bool
    interrupted: bool = False
    meaning: str = MEANING

    @property
    def gap(self) -> float:
        """The largest share of rows of which neither was shown, over all radii."""
        return float(np.max(self.attacked - self.certified, initial=0.0))

    def chart(self) -> Curves:
        """Both curves against ε, with what is not decided between them shaded."""
        eps = [0.0, *self.eps.tolist()]
        certified = [self.accuracy, *self.certified.tolist()]
        attacked = [self.accuracy, *self.attacked.tolist()]
        p = "∞" if self.norm == inf else f"{self.norm:g}"
        return Curves(
            f"rows that are right at every input within ε, in ℓ{p}",
            Axis("ε"),
            Axis(f"share of {len(self.shown):,} rows"),
            (
                Series("certified", eps, certified, "bound", lo=certified, hi=attacked),
                Series("attacked", eps, attacked, "measured"),
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """As plain numbers and lists, for JSON."""
        return {
            "norm": "inf" if self.norm == inf else self.norm,
            "rows": len(self.shown),
            "accuracy": self.accuracy,
            "eps": self.eps.tolist(),
            "certified": self.certified.tolist(),
            "attacked": self.attacked.tolist(),
            "shown": self.shown.tolist(),
            "met": self.met.tolist(),
            "seconds": self.seconds,
            "finished": self.finished,
            "interrupted": self.interrupted,
            "meaning": self.meaning,
        }

    def __str__(self) -> str:
        p = "∞" if self.norm == inf else f"{self.norm:g}"
        lines = [
            f"{len(self.shown):,} rows, accuracy {self.accuracy:.2%}; within ε in ℓ{p} ({self.meaning}):",
            f"{'ε':>12}  certified  attacked",
        ]
        lines += [
            f"{e:12.6g}  {c:9.2%}  {a:8.2%}"
            for e, c, a in zip(self.eps, self.certified, self.attacked)
        ]
        lines.append(
            f"{self.seconds:.1f} s{'' if self.finished else ': the budget was over before all was tried'}"
        )
        return "\n".join(lines)

    __repr__ = __str__


def robustness(
    net: Any,
    data: Any,
    eps: ArrayLike | None = None,
    *,
    norm: float = inf,
    clip: tuple[ArrayLike, ArrayLike] | None = None,
    budget: str | float = "60s",
    threads: int | None = None,
    seed: int = 0,
) -> Robustness:
    r"""Certified and attacked accuracy of a classifier on labelled rows, at each radius of `eps`.

    Parameters
    ----------
    net
        A network with at least two outputs (anything `ft.load` makes one of).
    data
        A `Dataset` whose labels are classes, or a pair `(x, y)` of rows and labels 0, 1, …
    eps
        Radii, in any order; by default eight, up to where half of the rows were met with another label and beyond.
    norm
        $p$ of $\|x'-x\|_p\le\varepsilon$: 1, 2 or $\infty$.
    clip
        The least and the largest value of the entries of an input, such as (0, 1) for images.
    budget
        Of it all: processor time, divided by the number of threads. What is not decided by then stays between the
        curves.
    threads
        That search at once, one for each core by default.
    """
    seconds = parse_seconds(budget)
    begun = process_time()
    if hasattr(net, "with_data") and hasattr(data, "x") and getattr(data, "y", None) is not None:
        data = net.with_data(data).data  # rows of its input shape, labels that fit its outputs
    x, y = read_rows(data)
    problem, _ = read_problem(net, x, y, clip, norm)
    asked = None if eps is None else read_radii(eps)
    threads = os.cpu_count() or 1 if threads is None else threads
    study = _Study(net, problem, clip, begun, seconds, threads, seed)
    finished = interrupted = False
    try:
        study.lay_out(study.attack_all(asked))
        finished = study.certify_all() and study.all_attacked
    except KeyboardInterrupt:
        interrupts.heed()
        if not len(study.eps):
            study.lay_out(choose_radii(study.distance) if asked is None else asked)
        interrupted = True
    return study.report(finished, interrupted)


class _Study:
    """What is known of each row: at how many radii its label is certain, and at how many nothing was met."""

    def __init__(
        self,
        net: Any,
        problem: Problem,
        clip: Any,
        begun: float,
        seconds: float,
        threads: int,
        seed: int,
    ) -> None:
        self.net = net
        self.problem = problem
        self.clip = clip
        self.begun = begun
        self.seconds = seconds
        self.seed = seed
        self.certifier = Certifier(net, problem, threads)
        self.accuracy = float((problem.margin(problem.x) > 0).mean())
        self.is_right = _find_right(problem)
        self.distance = np.where(self.is_right, inf, 0.0)
        self.all_attacked = True
        self.eps = np.zeros(0)
        self.shown = np.zeros(len(problem.x), int)
        self.met = np.zeros(len(problem.x), int)
        self.least = np.full(len(problem.x), -inf)  # bound of the margin at the first open radius

    @property
    def spent(self) -> float:
        """Processor time, as if all threads had worked all the time: what other programs take does not count."""
        return (process_time() - self.begun) / self.certifier.threads

    @property
    def is_over(self) -> bool:
        return self.spent > self.seconds

    def attack_all(self, eps: Array | None) -> Array:
        """Look for inputs with other labels, of as many rows as a part of the budget allows; the radii that are asked
        about, chosen by the distances met where none are given."""
        until = self.begun + ATTACKING * self.seconds * self.certifier.threads
        rows = np.flatnonzero(self.is_right)
        if not self.certifier.is_chain:
            self._seek_nearest(rows, until)
            return choose_radii(self.distance) if eps is None else eps
        if eps is None:
            chosen = rows[:: max(1, -(-len(rows) // AT_ONCE))]
            self._seek_nearest(chosen, until)
            eps = choose_radii(self.distance)
        self._attack_radii(rows, eps, until)
        return eps

    def _seek_nearest(self, rows: Array, until: float) -> None:
        """The nearest inputs with other labels, of any network in any norm."""
        for chunk in _in_chunks(rows, AT_ONCE):
            if process_time() > until:
                self.all_attacked = False
                return
            part = self.problem.part(chunk)
            x = part.x.reshape(-1, *part.shape)
            found = attack(
                self.net,
                x,
                norm=part.norm,
                label=part.label,
                clip=self.clip,
                seed=self.seed,
                steps=40,
            )
            self.distance[chunk] = np.minimum(self.distance[chunk], found.distance)

    def _attack_radii(self, rows: Array, eps: Array, until: float) -> None:
        """Inputs with other labels within the radii, for a ReLU network in ℓ∞."""
        points, is_tried = RadiusAttack(self.certifier.form, self.problem, self.seed).flip(
            rows, eps, until
        )
        moved = rows[(points != self.problem.x[rows]).any(1)]
        self.all_attacked = bool(is_tried.all())
        for chunk in _in_chunks(moved, AT_ONCE):
            found = confirm(
                self.problem.part(chunk), points[np.searchsorted(rows, chunk)], None, False
            )
            self.distance[chunk] = np.minimum(self.distance[chunk], found.distance)

    def lay_out(self, eps: Array) -> None:
        """The radii that are asked about, from the smallest."""
        self.eps = eps
        self.met = np.where(self.is_right, (self.distance[:, None] > eps).sum(1), -1)
        self.shown = np.where(self.is_right, 0, -1)

    def certify_all(self) -> bool:
        """From cheap to dear; whether all that was planned was done."""
        if not self._bisect("crown"):
            return False
        if self.certifier.is_chain and not all(
            self._branch(splits, domains) for splits, domains in BRANCHING
        ):
            return False
        return self._search()

    def _open_rows(self) -> Array:
        return np.flatnonzero(self.shown < self.met)

    def _bisect(self, method: Any) -> bool:
        """The number of radii that a method shows, by bisection; labels that hold within ε hold within less."""
        fails = self.met.copy()  # the number of a radius at which it is not shown, or was met
        while True:
            rows = np.flatnonzero(self.shown < fails)
            if not len(rows):
                return True
            for chunk in _in_chunks(rows, AT_ONCE):
                if self.is_over:
                    return False
                middle = (self.shown[chunk] + fails[chunk]) // 2
                holds = self.certifier.holds(chunk, self.eps[middle], method)
                self.shown[chunk[holds]] = middle[holds] + 1
                fails[chunk[~holds]] = middle[~holds]

    def _branch(self, splits: int, domains: int) -> bool:
        """One radius more for each row, as long as so much work shows it: first the rows whose margins were nearest to
        being shown."""
        rows = sorted(self._open_rows().tolist(), key=lambda k: -self.least[k])
        return self._for_each(rows, lambda row: self._branch_row(row, splits, domains))

    def _branch_row(self, row: int, splits: int, domains: int) -> bool:
        while self.shown[row] < self.met[row]:
            if self.is_over:
                return False
            radius = float(self.eps[self.shown[row]])
            self.least[row] = self.certifier.bound_margin(row, radius, splits, domains)
            if not self.least[row] > 0:
                break
            self.shown[row] += 1
        return True

    def _search(self) -> bool:
        """Branch and bound, in rounds of ever longer turns: first the rows with the fewest open radii."""
        for turn in TURNS:
            waiting = sorted(self._open_rows().tolist(), key=lambda k: self.met[k] - self.shown[k])
            is_over = not (
                self._search_at_once(waiting, turn)
                if turn <= QUICK
                else self._search_in_turn(waiting, turn)
            )
            if is_over:
                return False
        return not len(self._open_rows())

    def _search_at_once(self, rows: list[int], turn: float) -> bool:
        return self._for_each(rows, lambda row: self._search_row(row, turn, 1))

    def _for_each(self, rows: list[int], do: Callable[[int], bool]) -> bool:
        """One row a thread; False when the time is over."""
        with ThreadPoolExecutor(self.certifier.threads) as workers:
            try:
                return all(workers.map(do, rows))
            except KeyboardInterrupt:
                self.seconds = 0.0  # no row begins any more
                raise

    def _search_in_turn(self, rows: list[int], turn: float) -> bool:
        """All threads on one row."""
        return all(self._search_row(row, turn, self.certifier.threads) for row in rows)

    def _search_row(self, row: int, turn: float, threads: int) -> bool:
        """Decide radii of a row as long as each takes no longer than a turn; False when the time is over."""
        while self.shown[row] < self.met[row]:
            left = self.seconds - self.spent
            if left <= 0:
                return False
            if not self._decide(row, min(turn, left), threads):
                break
        return True

    def _decide(self, row: int, seconds: float, threads: int) -> bool:
        """Whether branch and bound decides the next radius of a row."""
        middle = int(self.shown[row] + self.met[row]) // 2
        found = self.certifier.decide(row, float(self.eps[middle]), seconds, threads)
        if found.interrupted:
            raise KeyboardInterrupt
        if found.answer == "unsat":
            self.shown[row] = middle + 1
        elif found.answer == "sat":
            self.met[row] = middle
        return found.answer in ("sat", "unsat")

    def report(self, finished: bool, interrupted: bool) -> Robustness:
        count = len(self.problem.x)
        numbers = np.arange(len(self.eps))
        return Robustness(
            self.eps,
            (self.shown[:, None] > numbers).sum(0) / count,
            (self.met[:, None] > numbers).sum(0) / count,
            self.accuracy,
            self.shown,
            self.met,
            self.problem.norm,
            self.spent,
            finished,
            interrupted,
            describe_meaning(self.net),
        )


def _find_right(problem: Problem) -> Bool[np.ndarray, "n"]:
    """Which rows have their labels: all but those at which another output is at least as large for certain. The program
    may take a row for wrong whose label it loses by rounding alone."""
    found = problem.margin(problem.x) > 0
    for chunk in _in_chunks(np.flatnonzero(~found), AT_ONCE):
        part = problem.part(chunk)
        found[chunk] = ~confirm(part, part.x, None, False).flipped
    return found


def _in_chunks(rows: Array, size: int) -> Iterator[Array]:
    for begin in range(0, len(rows), size):
        yield rows[begin : begin + size]
