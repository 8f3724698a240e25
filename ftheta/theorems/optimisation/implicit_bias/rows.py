"""Rows with one target each: rank, classes, margin, and the projection of a point on the solutions, exactly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.training.margins import Margin, max_margin


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows `x` with one number `y` each; `solvable`: x has full row rank, so that xθ = y for every y."""

    x: np.ndarray
    y: np.ndarray

    @property
    def rank(self) -> int:
        """The rank of x, in float64."""
        return int(np.linalg.matrix_rank(self.x))

    @property
    def solvable(self) -> bool:
        """Whether the rows are independent."""
        return self.rank == len(self.x)

    @property
    def two_classes(self) -> bool:
        """Whether the targets take two values."""
        return len(np.unique(self.y)) == 2

    @property
    def z(self) -> np.ndarray:
        """Rows times labels ±1: the larger label of two, or the positive ones of many, count as +1."""
        positive = self.y == self.y.max() if self.two_classes else self.y > 0
        return np.where(positive, 1.0, -1.0)[:, None] * self.x

    def margin(self) -> Margin | None:
        """The largest margin, where the labels are two classes or can be any."""
        return max_margin(self.z) if self.two_classes or self.solvable else None


def projection(
    x: np.ndarray, y: np.ndarray, start: np.ndarray
) -> tuple[list[Fraction], Fraction] | None:
    r"""$\theta_0+X^\top(XX^\top)^{-1}(y-X\theta_0)$ in rationals, and its largest residual; None if rows depend."""
    X, Y, T = (_matrix(a) for a in (x, y[:, None], start[:, None]))
    try:
        nu = (X * X.transpose()).solve(Y - X * T)
    except ZeroDivisionError:
        return None
    theta = T + X.transpose() * nu
    left = X * theta - Y
    read = lambda matrix: [Fraction(int(v.p), int(v.q)) for v in matrix.entries()]
    return read(theta), max((abs(v) for v in read(left)), default=Fraction(0))


def unreachable_residual(x: np.ndarray, y: np.ndarray) -> Fraction:
    r"""A number that no $\max_i|(X\theta-y)_i|$ is below: the largest $|\nu^\top y|/\|\nu\|_1$ over a basis of the
    $\nu$ with $\nu^\top X=0$, in rationals."""
    n = len(x)
    reduced, rank = _matrix(x.T).rref()
    pivots = [next(j for j in range(n) if reduced[i, j] != 0) for i in range(rank)]
    most = Fraction(0)
    for free in sorted(set(range(n)) - set(pivots)):
        nu = [Fraction(0)] * n
        nu[free] = Fraction(1)
        for i, pivot in enumerate(pivots):
            nu[pivot] = -Fraction(int(reduced[i, free].p), int(reduced[i, free].q))
        inner = sum((a * Fraction(float(b)) for a, b in zip(nu, y)), Fraction(0))
        most = max(most, abs(inner) / sum(map(abs, nu)))
    return most


def _matrix(a: np.ndarray) -> Any:
    return fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in a.tolist()])
