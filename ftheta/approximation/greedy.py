r"""Frank–Wolfe over steps: Barron's bound without sampling the spectrum's thresholds.

The hull of $\{\pm s\,\mathbf 1[\langle a,\cdot\rangle>t]\}$ contains $f-f(x_0)$ when $s\ge2rC_f$. One iteration moves
towards the step that correlates most with the residual, with an exact line search: $\|f-f_k\|^2\le4D^2/(k+2)$, $D\le2s$
the diameter of the hull, provided that the best step is found. On points of the line it is: every threshold is tried.
In higher dimension the search is over given directions, which is the non-convex sub-problem cut short.
"""

from dataclasses import dataclass

import numpy as np

from ftheta.shapes import Float


@dataclass(frozen=True, eq=False)
class Steps:
    r"""Neurons $c_k\mathbf 1[\langle a_k,x-x_0\rangle>t_k]$ with unit `directions` $a_k$ and `thresholds` $t_k$."""

    directions: Float[np.ndarray, "k d"]
    thresholds: Float[np.ndarray, "k"]
    coefficients: Float[np.ndarray, "k"]

    def on(self, offsets: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "k n"]:
        """The value of each neuron at $x_0$ + each row of `offsets`, shape (neurons, rows)."""
        active = self.directions @ offsets.T > self.thresholds[:, None]
        return np.where(active, self.coefficients[:, None], 0.0)


@dataclass(frozen=True, eq=False)
class GreedyPath:
    r"""`errors[k - 1]` is $\|f-f_k\|^2$. Iteration $k$ went the way `shares[k - 1]` towards `moves` $k-1$."""

    errors: Float[np.ndarray, "p"]
    moves: Steps
    shares: Float[np.ndarray, "p"]

    def network(self, k: int) -> Steps:
        """$f_k$ with each of its steps once: every later move shrinks the coefficients of the earlier ones."""
        left = np.append(np.cumprod(1 - self.shares[k - 1 : 0 : -1])[::-1], 1.0)
        coefficients = self.moves.coefficients[:k] * self.shares[:k] * left
        keys = np.column_stack([self.moves.directions[:k], self.moves.thresholds[:k]])
        atoms, which = np.unique(keys, axis=0, return_inverse=True)
        total = np.bincount(which.ravel(), coefficients, len(atoms))
        kept = total != 0
        return Steps(atoms[kept, :-1], atoms[kept, -1], total[kept])


def frank_wolfe(
    offsets: Float[np.ndarray, "n d"],
    wanted: Float[np.ndarray, "n"],
    directions: Float[np.ndarray, "k d"],
    size: float,
    p: int,
) -> GreedyPath:
    r"""$p$ iterations; `wanted` is $f-f(x_0)$ at the points $x_0+$`offsets`, `size` is $s$.

    Each of the `directions` stands for its opposite as well: the points beyond a threshold, or those before it.
    """
    points = _Sorted(directions, offsets)
    n = len(wanted)
    current = np.zeros(n)
    errors = np.empty(p)
    shares = np.empty(p)
    chosen = []
    signs = np.empty(p)
    for k in range(p):
        residual = wanted - current
        chosen.append(points.best(residual))
        active = points.active(*chosen[-1])
        signs[k] = size * np.sign(residual[active].sum())
        move = -current
        move[active] += signs[k]
        length = float(move @ move)
        shares[k] = min(1.0, max(0.0, float(residual @ move) / length)) if length > 0 else 0.0
        current = current + shares[k] * move
        errors[k] = ((wanted - current) ** 2).mean()
    turned, thresholds = zip(*(points.step(*where) for where in chosen)) if chosen else ((), ())
    return GreedyPath(errors, Steps(np.array(turned), np.array(thresholds), signs), shares)


class _Sorted:
    """Points along each direction, the farthest first: steps are active on the first few, or on all the others."""

    def __init__(self, directions: np.ndarray, offsets: np.ndarray) -> None:
        self.directions = directions
        projections = directions @ offsets.T
        self.order = np.argsort(-projections, axis=1)
        self.along = np.take_along_axis(projections, self.order, 1)
        equal = np.diff(self.along, axis=1) == 0  # no threshold falls between equal ones
        self.ends = _ends_of_runs(equal) if equal.any() else None
        self.sums = np.empty(self.order.shape)

    def best(self, residual: np.ndarray) -> tuple[int, int, bool]:
        """Direction, last active point, and whether the others are meant: the largest |sum of the residual|."""
        np.take(residual, self.order, out=self.sums, mode="clip")
        sums = np.cumsum(self.sums, axis=1, out=self.sums)
        if self.ends is not None:
            sums = np.take_along_axis(sums, self.ends, 1)
        total = float(residual.sum())
        found = []
        for index in (int(sums.argmax()), int(sums.argmin())):
            row, last = divmod(index, self.order.shape[1])
            last = last if self.ends is None else int(self.ends[row, last])
            value = float(sums[row, last])
            found += [(abs(value), row, last, False), (abs(total - value), row, last, True)]
        _, row, last, others = max(found)
        return row, last, others

    def active(self, row: int, last: int, others: bool) -> np.ndarray:
        return self.order[row, last + 1 :] if others else self.order[row, : last + 1]

    def step(self, row: int, last: int, others: bool) -> tuple[np.ndarray, float]:
        """The unit direction and the threshold of the step that is active there."""
        along = self.along[row]
        a = self.directions[row]
        beyond = along[last + 1] if last + 1 < len(along) else 2 * along[-1] - along[0] - 1.0
        threshold = float(along[last] + beyond) / 2
        return (-a, -threshold) if others else (a, threshold)


def _ends_of_runs(equal: np.ndarray) -> np.ndarray:
    """For each place the last one with the same value; `equal[:, i]` says whether i and i + 1 are."""
    rows = equal.shape[0]
    n = equal.shape[1] + 1
    places = np.broadcast_to(np.arange(n), (rows, n))
    ends = np.where(np.column_stack([~equal, np.ones(rows, bool)]), places, n)
    return np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]


def unit_directions(frequencies: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "m d"]:
    """The directions of the frequencies; on the line there is one."""
    if frequencies.shape[1] == 1:
        return np.ones((1, 1))
    return frequencies / np.maximum(np.linalg.norm(frequencies, axis=1, keepdims=True), 1e-300)
