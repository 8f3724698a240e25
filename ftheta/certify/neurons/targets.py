"""The disjuncts of a case as targets of branch and bound: mixtures of their rows, each with weights of its own."""

import numpy as np

from ftheta.certify.goals import Goal
from ftheta.shapes import Bool, Float, Int

from .enclosing import begin_rows
from .frames import Array, Frame
from .lines import Mixture, Start, bound_below, plain_lines
from .splitting import Task


class Targets:
    """`members[d]` are the rows of disjunct `d`. Weights are kept for the rows of a target's own disjunct alone."""

    def __init__(self, goal: Goal) -> None:
        self.goal = goal
        self.members = [np.flatnonzero(row) for row in goal.member]
        self.most_rows = max(map(len, self.members))
        self._index = np.zeros((len(self.members), self.most_rows), np.int64)
        self._own = np.zeros((len(self.members), self.most_rows), bool)
        for d, rows in enumerate(self.members):
            self._index[d, : len(rows)] = rows
            self._own[d, : len(rows)] = True

    def even(self, targets: Int[np.ndarray, "n"]) -> Float[np.ndarray, "n k"]:
        """Equal weights of all rows of each disjunct."""
        own = self._own[targets].astype(np.float32)
        return own / np.maximum(own.sum(1, keepdims=True), 1)

    def spread(
        self, targets: Int[np.ndarray, "n"], weights: Float[np.ndarray, "n k"]
    ) -> Float[np.ndarray, "n r"]:
        """As weights of all rows of all disjuncts."""
        wide = np.zeros((len(targets), len(self.goal.bounds)))
        np.add.at(
            wide,
            (np.arange(len(targets))[:, None], self._index[targets]),
            weights * self._own[targets],
        )
        return wide

    def contract(
        self, targets: Int[np.ndarray, "n"], wide: Float[np.ndarray, "n r"]
    ) -> Float[np.ndarray, "n k"]:
        """The way back."""
        own = np.take_along_axis(wide, self._index[targets], axis=1) * self._own[targets]
        return own.astype(np.float32)

    def closes(
        self, bound: Float[np.ndarray, "n"], wide: Float[np.ndarray, "n r"]
    ) -> Bool[np.ndarray, "n"]:
        """Where a mixture of rows is positive they cannot all hold; nor where it is zero, if a strict row is in it."""
        return (bound > 0) | ((bound >= 0) & (wide @ self.goal.strict > 0))

    def bound_plainly(self, frame: Frame) -> Float[np.ndarray, "disjuncts"]:
        """For every disjunct the best bound of one of its rows, with guessed slopes."""
        rows = len(self.goal.bounds)
        start = begin_rows(self.goal, frame, np.eye(rows))
        value = bound_below(frame.inputs, frame.layers, start, plain_lines(frame.layers, rows))
        return np.array([value[own].max() for own in self.members])

    @np.errstate(over="ignore")  # what single precision does not hold is of no use to the optimiser
    def over(self, frame: Frame) -> Task:
        """The task of showing them positive over a box."""
        rough = begin_rows(self.goal, frame, np.eye(len(self.goal.bounds)))
        outputs = rough.outputs.astype(np.float32)
        constant = rough.constant.astype(np.float32)
        inputs = None if rough.inputs is None else rough.inputs.astype(np.float32)

        def begin(targets: Array, weights: Array) -> Start:
            return begin_rows(self.goal, frame, self.spread(targets, weights))

        def mixing(targets: Array, weights: Array) -> Mixture:
            wide = self.spread(targets, weights).astype(np.float32)
            return Mixture(outputs, constant, inputs, wide, self.goal.member[targets])

        def closes(bound: Array, targets: Array, weights: Array) -> Array:
            return self.closes(bound, self.spread(targets, weights))

        mixes = None if self.goal.is_plain else mixing
        return Task(frame.inputs, frame.layers, begin, mixes, self.contract, closes)
