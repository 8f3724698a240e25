r"""Attacks on many rows of a ReLU network at a few radii in ℓ∞, by matrix products in single precision.

A row whose label is lost within $\varepsilon$ is lost within every larger radius too, so a few radii are bisected: each
time, projected gradient descent lowers the margin of every row within its own radius. Nothing here proves anything;
what is found is confirmed in intervals (`ftheta.certify.perturbations.confirm`).
"""

from collections.abc import Iterator
from time import process_time

import numpy as np

from ftheta.certify.margins import Problem
from ftheta.lazy import is_sparse
from ftheta.relu.network import ReluNetwork
from ftheta.shapes import Bool, Float, Int

Array = np.ndarray
AT_ONCE = 128  # rows
STEPS = 24
SIZES = (0.5, 0.02)  # of the first and the last step, in widths of the box
MOMENTUM = 0.25
INSIDE = 1 - 1e-9  # of a radius: what is rounded stays within it
RUNS = 2  # from the row itself, and from a random corner


class RadiusAttack:
    """Attacks on the rows of a problem; `form` is the normal form of its network."""

    def __init__(self, form: ReluNetwork, problem: Problem, seed: int) -> None:
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        self.steps = [
            (
                s.matrix.astype(np.float32)
                if is_sparse(s.matrix)
                else np.asarray(s.matrix, np.float32),
                s,
            )
            for s in form.steps
        ]

    def flip(
        self, rows: Int[np.ndarray, "n"], eps: Float[Array, "k"], until: float
    ) -> tuple[Float[np.ndarray, "n d"], Bool[np.ndarray, "n"]]:
        """For each of the `rows` a point with another label at the smallest of the radii at which one was found (the
        row itself where none was), and which rows were tried before the processor time `until`."""
        points = self.problem.x[rows].copy()
        is_tried = np.zeros(len(rows), bool)
        for part in _in_chunks(len(rows)):
            if process_time() > until:
                break
            points[part] = self._bisect(rows[part], eps)
            is_tried[part] = True
        return points, is_tried

    def _bisect(self, rows: Array, eps: Array) -> Array:
        x = self.problem.x[rows]
        found = x.copy()
        holds = np.zeros(len(rows), int)  # radii, from the smallest, at which nothing was found
        fails = np.full(len(rows), len(eps))
        while True:
            open = np.flatnonzero(holds < fails)
            if not len(open):
                return found
            middle = (holds[open] + fails[open]) // 2
            points, is_flipped = self._lower(rows[open], eps[middle])
            found[open[is_flipped]] = points[is_flipped]
            fails[open[is_flipped]] = middle[is_flipped]
            holds[open[~is_flipped]] = middle[~is_flipped] + 1

    def _lower(self, rows: Array, radius: Array) -> tuple[Array, Array]:
        """Points within the radii, and whether their labels are others."""
        x = self.problem.x[rows]
        label = self.problem.label[rows]
        reach = (INSIDE * radius)[:, None]
        low = np.maximum(x - reach, self.problem.low)
        high = np.minimum(x + reach, self.problem.high)
        points = x.copy()
        flipped = np.zeros(len(rows), bool)
        for run in range(RUNS):
            left = np.flatnonzero(~flipped)
            if not len(left):
                break
            start = (
                x[left]
                if run == 0
                else np.where(self.rng.random(x[left].shape) < 0.5, low[left], high[left])
            )
            best, margin = self._descend(start, label[left], low[left], high[left])
            points[left] = best
            flipped[left] = margin <= 0
        return points, flipped

    def _descend(self, x: Array, label: Array, low: Array, high: Array) -> tuple[Array, Array]:
        best = x.copy()
        least = np.full(len(x), np.inf)
        before = x
        width = high - low
        for step in range(STEPS):
            margin, slope = self._margin_and_slope(x, label)
            better = margin < least
            best[better], least[better] = x[better], margin[better]
            if (least <= 0).all():
                break
            size = SIZES[0] * (SIZES[1] / SIZES[0]) ** (step / (STEPS - 1))
            ahead = np.clip(x - size * width * np.sign(slope), low, high)
            before, x = x, np.clip(ahead + MOMENTUM * (x - before), low, high)
        margin, _ = self._margin_and_slope(x, label)
        better = margin < least
        best[better], least[better] = x[better], margin[better]
        return best, least

    def _margin_and_slope(self, x: Array, label: Array) -> tuple[Array, Array]:
        """The output of the label minus the largest other one, and its gradient, in single precision."""
        state = x.astype(np.float32).T
        passed = []
        for W, step in self.steps:
            z = W @ state + step.offset[:, None].astype(np.float32)
            on = (z > 0) | ~step.rectified[:, None]
            state = np.where(on, z, np.float32(0))
            passed.append(on)
        rows = np.arange(len(x))
        others = state.T.copy()
        others[rows, label] = -np.inf
        rival = others.argmax(1)
        margin = state[label, rows] - state[rival, rows]
        back = np.zeros_like(state)
        back[label, rows] = 1
        back[rival, rows] = -1
        for (W, _), on in zip(reversed(self.steps), reversed(passed)):
            back = W.T @ np.where(on, back, np.float32(0))
        return margin, back.T


def _in_chunks(count: int) -> Iterator[slice]:
    for begin in range(0, count, AT_ONCE):
        yield slice(begin, begin + AT_ONCE)
