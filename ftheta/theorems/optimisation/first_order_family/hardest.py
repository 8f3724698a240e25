r"""The quadratic on which every method that stays in the span of its gradients is slow (Nesterov)."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Hardest:
    r"""Nesterov's quadratic $\frac L4\big(\frac12x^\top Tx-cx_1\big)$, $T=\mathrm{tridiag}(-1,2,-1)$ in dimension
    $n=2K+1$, from 0, with $c$ such that $\|x^*\|=R$. Gradients unveil one coordinate a step, so that no method whose
    iterates stay in their span is below $\frac{Lc^2}8\big(\frac1{k+1}-\frac1{n+1}\big)$ after $k\le K$ steps."""

    smoothness: float
    radius: float
    steps: int

    @property
    def dimension(self) -> int:
        """$n=2K+1$."""
        return 2 * self.steps + 1

    @property
    def shape(self) -> np.ndarray:
        """The minimiser for c = 1."""
        n = self.dimension
        return 1 - np.arange(1, n + 1) / (n + 1)

    @property
    def pull(self) -> float:
        """The c with which the minimiser has norm R."""
        return self.radius / float(np.linalg.norm(self.shape))

    def value(self, x: np.ndarray) -> float:
        middle = float(np.sum(np.diff(x) ** 2) + x[0] ** 2 + x[-1] ** 2)
        return self.smoothness / 4 * (middle / 2 - self.pull * float(x[0]))

    def gradient(self, x: np.ndarray) -> np.ndarray:
        return (
            self.smoothness
            / 4
            * (np.convolve(x, [-1.0, 2.0, -1.0], "same") - self.pull * (np.arange(len(x)) == 0))
        )

    @property
    def least(self) -> float:
        """The minimum."""
        n = self.dimension
        return -self.smoothness / 8 * self.pull**2 * n / (n + 1)

    def floor(self, k: np.ndarray) -> np.ndarray:
        """What no method of this kind is below after k steps, above the minimum."""
        return self.smoothness / 8 * self.pull**2 * (1 / (k + 1) - 1 / (self.dimension + 1))
