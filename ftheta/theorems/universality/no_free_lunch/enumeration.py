r"""No free lunch, by enumeration: every learner, all labellings of a small domain, exact averages.

A learner maps a training set to a labelling of the whole domain. Labellings that agree on the training points give it
the same data, and their labels elsewhere are $0$ as often as $1$: whatever it answers there is wrong in exactly half
of them. It is called once for each set of training labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

import numpy as np

from ftheta.logic import SubjectError

Learner: TypeAlias = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
"""`learner(x, y, everywhere)`: the labels 0 or 1 that it gives all points, after seeing y at x."""
MOST_CALLS = 100_000


def nearest(x: np.ndarray, y: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """The label of the nearest training point; of the first among equals."""
    return y[np.argmin(np.abs(everywhere[:, None] - x), axis=1)]


def majority(x: np.ndarray, y: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """The label seen most often; 1 in a tie."""
    return np.full(len(everywhere), int(2 * y.sum() >= len(y)))


def contrarian(x: np.ndarray, y: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """The label seen least often."""
    return 1 - majority(x, y, everywhere)


def network(x: np.ndarray, y: np.ndarray, everywhere: np.ndarray, steps: int = 200) -> np.ndarray:
    """Eight tanh neurons, all weights trained by gradient descent on the logistic loss."""
    rng = np.random.default_rng(0)
    scale = max(1.0, float(np.abs(everywhere).max()))
    rows = np.column_stack([np.asarray(x) / scale, np.ones(len(x))])
    W = 2 * rng.normal(size=(2, 8))
    v = rng.normal(size=8)
    signs = 2.0 * y - 1
    for _ in range(steps):
        hidden = np.tanh(rows @ W)
        pull = signs / (1 + np.exp(np.clip(signs * (hidden @ v), -30, 30))) / len(y)
        W = W + rows.T @ (pull[:, None] * v * (1 - hidden**2))
        v = v + hidden.T @ pull
    return (
        np.tanh(np.column_stack([everywhere / scale, np.ones(len(everywhere))]) @ W) @ v > 0
    ).astype(int)


LEARNERS: dict[str, Learner] = {
    "nearest neighbour": nearest,
    "majority": majority,
    "contrarian": contrarian,
    "trained network": network,
}


def all_labellings(points: int) -> np.ndarray:
    """All 2^N rows of N labels."""
    return np.array(list(product((0, 1), repeat=points)), int).reshape(-1, points)


def thresholds(points: int) -> np.ndarray:
    """The N + 1 labellings that jump from 0 to 1 once: a class with structure."""
    return (np.arange(points) >= np.arange(points + 1)[:, None]).astype(int)


@dataclass(frozen=True, eq=False)
class OffTraining:
    """Errors of a learner off its training points, one for each target (row of labels), as counts out of `places`."""

    wrong: np.ndarray
    places: int

    @property
    def average(self) -> Fraction:
        """The error averaged over all targets."""
        return Fraction(int(self.wrong.sum()), len(self.wrong) * self.places)


def ask(learner: Learner, x: np.ndarray, y: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """What the learner answers, checked to be labels."""
    answer = np.asarray(learner(x, y, everywhere))
    if answer.shape != everywhere.shape or not np.isin(answer, (0, 1)).all():
        raise SubjectError(
            "A learner gives every point of the domain the label 0 or 1.",
            got=f"shape {answer.shape}, values {np.unique(answer)[:5].tolist()}",
            remedy=f"return an array of shape {everywhere.shape} with entries 0 and 1",
        )
    return answer.astype(int)


def off_training(
    learner: Learner, targets: np.ndarray, train: Sequence[int] | np.ndarray
) -> OffTraining:
    """The errors off the training points on every target, the learner called once for each set of training labels."""
    n = targets.shape[1]
    seen = np.asarray(train)
    rest = np.setdiff1d(np.arange(n), seen)
    if not len(rest) or not len(seen):
        raise SubjectError(
            "Some points are seen and some are not.", got=f"{len(seen)} training points of {n}"
        )
    everywhere = np.arange(float(n))
    patterns, which = np.unique(targets[:, seen], axis=0, return_inverse=True)
    answers = np.array([ask(learner, everywhere[seen], y, everywhere) for y in patterns])
    return OffTraining((answers[which.ravel()][:, rest] != targets[:, rest]).sum(1), len(rest))


def sample_risks(learner: Learner, m: int) -> tuple[Fraction, Fraction]:
    r"""Shalev-Shwartz and Ben-David, theorem 5.1, on $2m$ points with $m$ independent draws, by enumeration.

    The mean over all targets and samples of the risk $R$, which is at least $\frac14$; and the largest over the
    targets of $\mathbb P(R\ge\frac18)$, which is at least $\frac17$.
    """
    n = 2 * m
    targets = all_labellings(2 * m)
    if n**m * 2**m > MOST_CALLS:
        raise SubjectError("Too many samples to enumerate.", got=f"m = {m}", remedy="take m ≤ 3")
    total = 0
    bad = np.zeros(len(targets), int)
    everywhere = np.arange(float(n))
    for sample in product(range(n), repeat=m):
        seen = np.array(sample)
        patterns, which = np.unique(targets[:, seen], axis=0, return_inverse=True)
        answers = np.array([ask(learner, everywhere[seen], y, everywhere) for y in patterns])
        wrong = (answers[which.ravel()] != targets).sum(1)
        total = total + int(wrong.sum())
        bad = bad + (8 * wrong >= n)
    return Fraction(total, len(targets) * n**m * n), Fraction(int(bad.max()), n**m)
