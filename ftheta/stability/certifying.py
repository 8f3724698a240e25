r"""Balls around inputs in which a label cannot change, shown by lower bounds of its margins over all other outputs.

Everything here is batched: one radius for each row. Sound to rounding; what is not shown may hold all the same.
"""

from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from math import inf
from typing import Any, Literal, TypeAlias

import numpy as np

from ftheta.certify.bounds import split_batch
from ftheta.certify.margins import Problem
from ftheta.certify.networks import normal_form_or_program
from ftheta.certify.neurons.bounding import aim_at_margins, bound_margins, show_margins
from ftheta.certify.neurons.targets import Targets
from ftheta.certify.properties import Robust
from ftheta.certify.searches import Verification
from ftheta.certify.traced_programs import read_program
from ftheta.certify.verification import decide
from ftheta.graph.domains.interval.intervals import Interval
from ftheta.graph.domains.linear import BallSet, BoxSet, InputSet, bound_each_below
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int

Relaxation: TypeAlias = Literal["interval", "crown", "alpha-crown"]
RELAXATIONS: tuple[Relaxation, ...] = ("interval", "crown", "alpha-crown")
STEPS = 20  # of ascent, for the slopes


class Certifier:
    """Shows of rows of a problem that their labels hold in balls; `net` is the network that the problem is about."""

    def __init__(self, net: Any, problem: Problem, threads: int = 1) -> None:
        self.net = net
        self.threads = threads
        self._known_targets = dict[int, Targets]()
        self.problem = problem
        self.program = read_program(net, problem.shape)
        self.outputs = self.program.graph.outputs[0].size

    @cached_property
    def form(self) -> Any:
        """The ReLU normal form, or the program where there is none."""
        return normal_form_or_program(self.net)

    def holds(
        self, rows: Int[np.ndarray, "k"], radius: Float[np.ndarray, "k"], method: Relaxation
    ) -> Bool[np.ndarray, "k"]:
        """Whether every input within its radius of each of the `rows` is shown to have the label of the row."""
        if not len(rows):
            return np.zeros(0, bool)
        if self.is_chain and method != "interval":
            return self._hold_in_boxes(rows, radius, optimised=method == "alpha-crown")
        sets = self._balls(rows, radius)
        functionals = self._margins(rows)
        shown = [
            bound_each_below(
                self.program, [sets.part(part)], functionals[part], method=method, steps=STEPS
            ).min(1)
            > 0
            for part in split_batch(self.program, sets)
        ]
        return np.concatenate(shown)

    @cached_property
    def is_chain(self) -> bool:
        """Whether linear bounds over boxes come from the normal form, which is many times faster than the program."""
        return self.problem.norm == inf and isinstance(self.form, ReluNetwork)

    def _hold_in_boxes(
        self, rows: np.ndarray, radius: np.ndarray, *, optimised: bool
    ) -> np.ndarray:
        lo, hi = self._boxes(rows, radius)

        def hold(k: int) -> bool:
            targets = self._targets(int(self.problem.label[rows[k]]))
            return bool(
                np.all(bound_margins(self.form, targets, lo[k], hi[k], optimised=optimised) > 0)
            )

        with ThreadPoolExecutor(self.threads) as workers:
            return np.array(list(workers.map(hold, range(len(rows)))))

    def _boxes(self, rows: np.ndarray, radius: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        box = self._balls(rows, radius).hull
        return box.lo.reshape(len(rows), -1), box.hi.reshape(len(rows), -1)

    def bound_margin(self, row: int, radius: float, splits: int, most_domains: int) -> float:
        """A lower bound of the margin of one row of a ReLU network within a radius in ℓ∞, by so many splits for the
        bounds of each neuron and so many domains of branch and bound: where it is positive the label is shown."""
        lo, hi = self._boxes(np.array([row]), np.array([radius]))
        targets = self._targets(int(self.problem.label[row]))
        return show_margins(
            self.form, targets, lo[0], hi[0], splits=splits, most_domains=most_domains
        )

    def _targets(self, label: int) -> Targets:
        if label not in self._known_targets:
            self._known_targets[label] = aim_at_margins(self.form, label)
        return self._known_targets[label]

    def decide(self, row: int, radius: float, seconds: float, threads: int = 1) -> Verification:
        """Whether the label holds at every input within a radius of one row, by branch and bound."""
        problem = self.problem
        x = problem.x[row]
        reach = 2.0 * radius + 1.0  # as good as no end
        clip = (np.fmax(problem.low, x - reach), np.fmin(problem.high, x + reach))
        asked = Robust(x, radius, problem.norm, int(problem.label[row]), clip)
        return decide(self.form, asked.question(self.outputs), seconds=seconds, threads=threads)

    def _balls(self, rows: np.ndarray, radius: np.ndarray) -> InputSet:
        """In ℓ1 and ℓ2 what is clipped is not left out: that is sound, and the bounds are those of whole balls."""
        x = self.problem.x[rows]
        shape = (len(rows), *self.problem.shape)
        if self.problem.norm != inf:
            return BallSet(x.reshape(shape), radius, int(self.problem.norm))
        box = Interval.around(x, radius[:, None])
        lo = np.maximum(box.lo, self.problem.low)
        hi = np.minimum(box.hi, self.problem.high)
        return BoxSet(Interval(lo.reshape(shape), hi.reshape(shape)))

    def _margins(self, rows: np.ndarray) -> np.ndarray:
        """(rows, outputs − 1, *shape): the output of the label minus each other one."""
        eye = np.eye(self.outputs)
        of_labels = [eye[label] - np.delete(eye, label, 0) for label in range(self.outputs)]
        chosen = np.array([of_labels[label] for label in self.problem.label[rows]])
        return chosen.reshape(*chosen.shape[:2], *self.program.graph.outputs[0].shape)
