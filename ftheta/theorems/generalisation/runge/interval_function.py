r"""A function on an interval, carried to $[-1,1]$, and what goes through its values: broken lines and a network."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ftheta.logic import Enclosure
from ftheta.networks.description import random_mlp
from ftheta.training import fit

from .nodes import nodes
from .runge_function import Runge
from .sampled_function import SampledFunction

WIDTH = 32
STEP = 0.01


@dataclass(frozen=True, eq=False)
class IntervalFunction:
    """A function on [lo, hi], carried to [-1, 1]: `sampled` by its values and, for Runge's own, `exact` besides."""

    name: str
    sampled: SampledFunction
    exact: Runge | None
    lo: float
    hi: float

    def error(self, kind: str, n: int) -> Enclosure:
        """The largest error of the polynomial of degree n through nodes of that kind."""
        return self.sampled.error(kind, n) if self.exact is None else self.exact.error(kind, n)

    def best_error(self, n: int) -> Enclosure:
        r"""$E_n$, the least error of a polynomial of degree n."""
        return (
            self.sampled.best_error(n)
            if self.exact is None
            else Enclosure.ball(self.exact.best_error(n))
        )

    def on_ellipse(self, ellipse: float) -> Enclosure:
        r"""$M=\max|f|$ on the ellipse with sum of semi-axes `ellipse`."""
        if self.exact is not None:
            return Enclosure.ball(self.exact.on_ellipse(ellipse)[1])
        return Enclosure.measured(self.sampled.on_ellipse(ellipse), samples=1024)

    def carry(self, t: np.ndarray) -> np.ndarray:
        """From [-1, 1] to the interval of the function."""
        return (self.lo + self.hi) / 2 + (self.hi - self.lo) / 2 * t

    def line_error(self, n: int) -> Enclosure:
        """The largest error of the broken line through n + 1 equispaced points."""
        return self.sampled_line_error(n) if self.exact is None else self.exact.bent_line_error(n)

    def sampled_line_error(self, n: int) -> Enclosure:
        """The same, at points."""
        x = nodes("equispaced", n)
        t, y = self.sampled.grid
        return Enclosure.at_least(
            float(np.abs(np.interp(t, x, self.sampled.values(x)) - y).max()), samples=len(t)
        )


def train_network(
    f: SampledFunction, n: int, rng: np.random.Generator, steps: int
) -> Callable[[np.ndarray], np.ndarray]:
    """A tanh network with one hidden layer, fitted to n + 1 equispaced points; its function of an array."""
    x = nodes("equispaced", n)
    start = random_mlp(rng, (1, WIDTH, 1), "tanh", gain=9.0, bias=2.0)
    data = (x[:, None], f.values(x)[:, None])
    net = fit(start, data, steps=steps, step=STEP, every=max(steps, 1), progress=False).network
    return lambda t: np.asarray(net.apply(net.params, np.asarray(t)[:, None]))[:, 0]


def extend_broken_line(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    """The broken line through sorted points, going on with its outermost slopes."""
    left = (y[1] - y[0]) / (x[1] - x[0])
    right = (y[-1] - y[-2]) / (x[-1] - x[-2])
    return np.interp(t, x, y) + np.minimum(t - x[0], 0) * left + np.maximum(t - x[-1], 0) * right
