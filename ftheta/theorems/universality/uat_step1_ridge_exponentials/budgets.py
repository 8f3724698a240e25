r"""Exponentials of linear forms as ReLU networks, with the error of both stages.

$g(x)=\sum_kc_ke^{\langle v_k,x\rangle}$. On the box $\langle v_k,x\rangle$ runs through $[a_k,b_k]$. The interpolant
$p_k$ of $e^t$ there, with $n$ equal cells of length $h$, is a network of $n$ ReLUs of $\langle v_k,x\rangle$, and

$$\sup|e^t-p_k|=e^{b_k-h}(1+s\ln s-s),\quad s=\tfrac{e^h-1}h,\qquad
\Big|f-\sum_kc_kp_k\Big|\le\sup|f-g|+\sum_k|c_k|\sup|e^t-p_k|.$$
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from flint import arb, ctx  # type: ignore[import-untyped]

from ftheta.approximation.certificate import certify
from ftheta.approximation.enclosed import Shallow
from ftheta.approximation.goal import Goal
from ftheta.approximation.ridge_exponentials import Exponentials
from ftheta.approximation.suprema import Supremum, bounds_of, supremum
from ftheta.logic import Enclosure

BITS = 200
WORK = 5_000_000  # cells times neurons of a certificate


def exp_interpolation_error(b: float, h: float) -> Enclosure:
    r"""$e^{b-h}(1+s\ln s-s)$: the error on the last cell, the largest."""
    with ctx.workprec(BITS):
        step = arb(h)
        s = step.expm1() / step
        return Enclosure.ball((arb(b) - step).exp() * (1 + s * s.log() - s))


@dataclass(frozen=True, eq=False)
class ErrorBudget:
    """The two stages: the error of the exponentials, and the share of each network, with the network of it all."""

    goal: Goal
    sums: Exponentials
    first: Supremum
    shares: tuple[Enclosure, ...]
    network: Shallow

    @property
    def second(self) -> Enclosure:
        total = Enclosure.exact(0)
        for share in self.shares:
            total = total + share
        return total

    @property
    def total(self) -> Enclosure:
        return self.first.value + self.second

    @cached_property
    def error(self) -> Enclosure:
        r"""$\sup|f-\sum_kc_kp_k|$ over the box, proved from both sides."""
        cells = max(2000, WORK // self.network.neurons)
        return certify(self.goal, self.network, self.total.hi, cells).error


def make_budget(goal: Goal, sums: Exponentials, cells: int) -> ErrorBudget:
    """Both stages for a function, with so many ReLUs for every exponential."""
    error = supremum(
        bounds_of(lambda x: goal.f(x) - sums(x), goal.dimension),
        goal.lo,
        goal.hi,
        relative=0.05,
        budget=min(20_000, 200_000 // len(sums.coefficients)),
    )
    low, high = sums.inside(goal)
    steps = (high - low) / cells
    shares = [
        Enclosure.exact(abs(c)) * exp_interpolation_error(float(b + 1e-9), float(h))
        if c and h > 0
        else Enclosure.exact(0)
        for c, b, h in zip(sums.coefficients.tolist(), high, steps)
    ]
    return ErrorBudget(goal, sums, error, tuple(shares), _network(sums, low, steps, cells))


def _network(sums: Exponentials, low: np.ndarray, steps: np.ndarray, cells: int) -> Shallow:
    """One hidden layer: for every exponential its interpolant, as ReLUs of the linear form."""
    weights = []
    biases = []
    outer = []
    constant = 0.0
    for v, c, a, h in zip(sums.directions, sums.coefficients.tolist(), low, steps):
        if not c or not np.any(v):
            constant += c
            continue
        knots = a + h * np.arange(cells + 1)
        rises = np.diff(np.diff(np.exp(knots)) / h, prepend=0.0)
        constant += c * float(np.exp(a))
        weights += [v] * cells
        biases += (-knots[:-1]).tolist()
        outer += (c * rises).tolist()
    d = sums.directions.shape[1]
    shape = np.array(weights).reshape(-1, d) if weights else np.zeros((1, d))
    return Shallow("relu", shape, np.array(biases or [0.0]), np.array(outer or [0.0]), constant)


def share_of_networks(made: ErrorBudget, cells: int) -> float:
    r"""$\sum_k|c_k|\sup|e^t-p_k|$ with so many ReLUs for every exponential."""
    low, high = made.sums.inside(made.goal)
    pairs = zip(made.sums.coefficients.tolist(), high, (high - low) / cells)
    return sum(
        abs(c) * exp_interpolation_error(float(b), float(h)).hi for c, b, h in pairs if c and h > 0
    )
