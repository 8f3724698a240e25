r"""Stochastic gradient descent on $\mathcal E(\theta)=\mathbb E\frac\mu2(\theta-x)^2$: moments by exact recursion, runs
by experiment; and on the last layer of a network, beside a recursive bound.

With $c_\ell=\mu\tau_\ell$ and $\sigma^2=\mathrm{Var}\,x$ the error $e_\ell=\theta_\ell-\mathbb Ex$ obeys
$\mathbb Ee_{\ell+1}^2=(1-c_\ell)^2\,\mathbb Ee_\ell^2+c_\ell^2\sigma^2$, $\ell=1,2,\dots$
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb, sqrt
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from ftheta.estimates import mean
from ftheta.estimates.concentration import Law
from ftheta.logic import Enclosure
from ftheta.training.landscapes import LastLayer

BITS = 128
ATOMS = 12  # at most so many are taken into an enumeration of batches
Schedule = Callable[[int], Any]  # ℓ = 1, 2, … -> c_ℓ as a fraction or a ball


def ball(q: Fraction) -> Any:
    """The fraction as a ball."""
    return arb(fmpq(q.numerator, q.denominator))


def decreasing(c: Fraction, exponent: Fraction = Fraction(1)) -> Schedule:
    r"""$c_\ell=c/\ell^a$."""
    if exponent == 1:
        return lambda k: ball(c) / k
    return lambda k: ball(c) / arb(k) ** ball(exponent)


def constant(c: Fraction) -> Schedule:
    r"""$c_\ell=c$."""
    return lambda k: ball(c)


def second_moments(
    steps: Schedule, variance: Fraction, start: Fraction, at: Sequence[int]
) -> list[Enclosure]:
    r"""$\mathbb Ee_\ell^2$ for the $\ell$ of `at` (increasing), from $e_1=$ `start`, in ball arithmetic."""
    with ctx.workprec(BITS):
        m = ball(start**2)
        noise = ball(variance)
        found = []
        wanted = set(at)
        for k in range(1, at[-1] + 1):
            if k in wanted:
                found.append(Enclosure.ball(m))
            c = steps(k)
            m = (1 - c) ** 2 * m + c**2 * noise
    return found


def mean_factor(c: Fraction, steps: int) -> Enclosure:
    r"""$\prod_{\ell\le n}(1-\frac c\ell)$: what is left of $\mathbb Ee$."""
    with ctx.workprec(BITS):
        product = arb(1)
        for k in range(1, steps + 1):
            product *= 1 - ball(c) / k
        return Enclosure.ball(product)


def running_mean_gap(law: Law, rng: np.random.Generator, draws: int) -> Fraction:
    r"""$\tau_\ell=\frac1{\mu\ell}$ makes $\theta_{\ell+1}$ the mean of the first $\ell$ draws, from any start: the
    largest difference, in rationals."""
    weights = np.array([float(p) for p in law.probabilities])
    chosen = [
        law.values[i] for i in rng.choice(len(law.values), size=draws, p=weights / weights.sum())
    ]
    theta = Fraction(7, 3)
    total = Fraction(0)
    gap = Fraction(0)
    for k, x in enumerate(chosen, 1):
        theta = theta - (theta - x) / k
        total = total + x
        gap = max(gap, abs(theta - total / k))
    return gap


def batch_bias(law: Law, theta: Fraction, mu: Fraction) -> Fraction:
    r"""$|\mathbb E_B\nabla\mathcal E_B(\theta)-\nabla\mathcal E(\theta)|$ over every draw, and every pair of atoms."""
    atoms = law.values[:ATOMS]
    size = min(2, len(atoms))
    slopes = [mu * (theta - x) for x in atoms]
    batches = [sum(b, Fraction(0)) / size for b in combinations(slopes, size)]
    of_pairs = sum(batches, Fraction(0)) / len(batches) - sum(slopes, Fraction(0)) / len(slopes)
    expected = sum(
        (p * mu * (theta - x) for x, p in zip(law.values, law.probabilities)), Fraction(0)
    )
    return abs(of_pairs) + abs(expected - mu * (theta - law.mean))


def simulate(
    law: Law,
    rng: np.random.Generator,
    steps: Sequence[float],
    start: float,
    at: Sequence[int],
    paths: int,
    hidden: float,
) -> np.ndarray:
    r"""$e_\ell$ of `paths` runs with $c_\ell=$ `steps[ℓ]` at the $\ell$ of `at`: one row an $\ell$."""
    values = np.array([float(v - law.mean) for v in law.values])
    edges = np.cumsum([float(p) for p in law.probabilities])
    error = np.full(paths, start)
    found = []
    wanted = set(at)
    for k in range(1, at[-1] + 1):
        if k in wanted:
            found.append(error.copy())
        drawn = values[np.minimum(np.searchsorted(edges, rng.random(paths)), len(values) - 1)]
        drawn = drawn + hidden * rng.normal(size=paths) if hidden else drawn
        error -= steps[k] * (error - drawn)
    return np.array(found)


def fourth_moment(law: Law, steps: Sequence[float], start: float) -> float:
    r"""$\mathbb Ee^4$ after the steps $e\mapsto(1-c)e+cx$ from `start`, $x$ the draw less its mean, in float64.

    $\mathbb E[e_{\ell+1}^k]=\sum_j\binom kj(1-c)^jc^{k-j}\,\mathbb E[e_\ell^j]\,\mathbb E[x^{k-j}]$.
    """
    centred = np.array([float(v - law.mean) for v in law.values])
    weights = np.array([float(p) for p in law.probabilities])
    of_draw = [float(weights @ centred**k) for k in range(5)]
    moments = [start**k for k in range(5)]
    for c in steps:
        kept = [(1 - c) ** j * moments[j] for j in range(5)]
        added = [c**j * of_draw[j] for j in range(5)]
        moments = [sum(comb(k, j) * kept[j] * added[k - j] for j in range(k + 1)) for k in range(5)]
    return moments[4]


@dataclass(frozen=True, eq=False)
class Quadratic:
    r"""SGD on $\frac\mu2(\theta-x)^2$ from $e_1=1$ (or the standard deviation, if that is more)."""

    law: Law
    mu: Fraction
    tau: Fraction
    exponent: Fraction
    flat: Fraction  # the constant step
    steps: int
    paths: int
    hidden: Fraction = Fraction(0)  # variance of gradient noise that the law does not tell of

    @property
    def start(self) -> Fraction:
        """The error e₁ at the start."""
        return max(Fraction(1), Fraction(sqrt(self.law.variance)).limit_denominator(10**6))

    @property
    def at(self) -> list[int]:
        """The steps ℓ that are looked at."""
        return sorted({int(k) for k in np.geomspace(1, self.steps, 25)})

    def moments(self, schedule: Schedule) -> list[Enclosure]:
        """The exact second moments at these steps."""
        return second_moments(schedule, self.law.variance, self.start, self.at)

    @property
    def floor(self) -> Fraction:
        r"""$\frac{c\,\sigma^2}{2-c}$, $c=\mu\tau$: where the second moment of constant steps settles."""
        c = self.mu * self.flat
        return c * self.law.variance / (2 - c)

    def drift(self) -> Fraction:
        """How far one step of the recursion moves the floor: 0, as it is a fixed point, unless noise is hidden."""
        c = self.mu * self.flat
        moved = (1 - c) ** 2 * self.floor + c**2 * (self.law.variance + self.hidden)
        return abs(moved - self.floor)

    def experiment(
        self, rng: np.random.Generator, schedule: Schedule, exact: list[Enclosure]
    ) -> "Experiment":
        """Runs of SGD with these steps; `exact` are the second moments at the ℓ of `at`."""
        with ctx.workprec(BITS):
            c = [0.0, *(float(schedule(k).mid()) for k in range(1, self.steps + 1))]
        errors = simulate(
            self.law, rng, c, float(self.start), self.at, self.paths, sqrt(self.hidden)
        )
        squares = errors[-1] ** 2
        fourth = fourth_moment(self.law, c[1 : self.at[-1]], float(self.start))
        seen = mean(squares, variance=max(fourth - exact[-1].lo ** 2, 0.0))
        spread = float(squares.std(ddof=1)) / sqrt(self.paths)
        z = (float(squares.mean()) - exact[-1].middle) / spread if spread > 0 else 0.0
        return Experiment(exact, errors, seen, z)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Exact second moments at some ℓ, the errors of the runs there (one row an ℓ), and at the last of them the mean of
    e² with its interval, and its deviation from the exact moment in standard errors."""

    exact: list[Enclosure]
    errors: np.ndarray
    seen: Enclosure
    z: float


@dataclass(frozen=True, eq=False)
class LastLayerSGD:
    r"""SGD, one row per step, on the ridge regression of a last layer with $\tau_\ell=\frac1{\mu(\ell+\ell_0)}$,
    $\ell_0=2L_{\max}/\mu$, beside the recursion
    $b_{\ell+1}=(1-2\tau\mu(1-\tau L_{\max}))b_\ell+2\tau^2\sigma_*^2$,
    $\sigma_*^2=\frac1n\sum_i\|\nabla\mathcal E_i(\theta^*)\|^2$, which bounds
    $\mathbb E\|\theta_\ell-\theta^*\|^2$ (each $\mathcal E_i$ is convex and $L_{\max}$-smooth)."""

    last: LastLayer
    steps: int
    paths: int

    def slopes(self, W: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The gradient of one row a parameter set: W is (paths, d, m), rows (paths,)."""
        phi = self.last.features[rows]
        y = self.last.targets[rows]
        misfit = np.einsum("pd,pdm->pm", phi, W) - y
        return phi[:, :, None] * misfit[:, None, :] + self.last.ridge * W

    def bias(self) -> float:
        """The mean of every row's gradient beside the gradient of the mean, at the start: their relative distance."""
        n = len(self.last.features)
        W = self.last.start
        each = self.slopes(np.repeat(W[None], n, 0), np.arange(n)).mean(axis=0)
        whole = (
            self.last.features.T @ (self.last.features @ W - self.last.targets) / n
            + self.last.ridge * W
        )
        return float(np.abs(each - whole).max() / max(np.abs(whole).max(), 1e-300))

    def run(self, rng: np.random.Generator) -> "LastLayerRun":
        """All paths at once, and the bound."""
        last = self.last
        n = len(last.features)
        mu = float(np.linalg.eigvalsh(last.hessian)[0])
        most = float((last.features**2).sum(axis=1).max()) + last.ridge
        best = last.optimum
        noise = float(
            (self.slopes(np.repeat(best[None], n, 0), np.arange(n)) ** 2).sum(axis=(1, 2)).mean()
        )
        W = np.repeat(last.start[None], self.paths, 0)
        at = sorted({int(k) for k in np.geomspace(1, self.steps, 20)})
        bound = float(((last.start - best) ** 2).sum())
        allowed = []
        seen = []
        for k in range(1, self.steps + 1):
            if k in at:
                allowed.append(bound)
                seen.append(((W - best) ** 2).sum(axis=(1, 2)))
            tau = 1 / (mu * k + 2 * most)
            W = W - tau * self.slopes(W, rng.integers(n, size=self.paths))
            bound = (1 - 2 * tau * mu * (1 - tau * most)) * bound + 2 * tau**2 * noise
        return LastLayerRun(at, allowed, seen, mu, most, noise)


@dataclass(frozen=True, eq=False)
class LastLayerRun:
    r"""At the steps `at`: the bound `allowed`, and `seen` $\|\theta_\ell-\theta^*\|^2$ of every path; with $\mu$,
    $L_{\max}$ and $\sigma_*^2$."""

    at: list[int]
    allowed: list[float]
    seen: list[np.ndarray]
    mu: float
    most: float
    noise: float
