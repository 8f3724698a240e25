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

from ftheta.estimates import fit_rate, mean
from ftheta.estimates.concentration import Law
from ftheta.logic import AtMost, Axis, Converges, Curves, Enclosure, Evidence, Identity, Rate, Series

from .landscapes import LastLayer

BITS = 128
ATOMS = 12  # at most so many are taken into an enumeration of batches
Schedule = Callable[[int], Any]  # ℓ = 1, 2, … -> c_ℓ as a fraction or a ball


def ball(q: Fraction) -> Any:
    return arb(fmpq(q.numerator, q.denominator))


def decreasing(c: Fraction, exponent: Fraction = Fraction(1)) -> Schedule:
    r"""$c_\ell=c/\ell^a$."""
    if exponent == 1:
        return lambda k: ball(c) / k
    return lambda k: ball(c) / arb(k) ** ball(exponent)


def constant(c: Fraction) -> Schedule:
    return lambda k: ball(c)


def second_moments(steps: Schedule, variance: Fraction, start: Fraction, at: Sequence[int]) -> list[Enclosure]:
    r"""$\mathbb Ee_\ell^2$ for the $\ell$ of `at` (increasing), from $e_1=$ `start`, in ball arithmetic."""
    with ctx.workprec(BITS):
        m, noise, found, wanted = ball(start**2), ball(variance), [], set(at)
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


def running_mean_gap(law: Law, rng: np.random.Generator, draws: int = 200) -> Identity:
    r"""$\tau_\ell=\frac1{\mu\ell}$ makes $\theta_{\ell+1}$ the mean of the first $\ell$ draws, from any start."""
    weights = np.array([float(p) for p in law.probabilities])
    drawn = [law.values[i] for i in rng.choice(len(law.values), size=draws, p=weights / weights.sum())]
    theta, total, gap = Fraction(7, 3), Fraction(0), Fraction(0)
    for k, x in enumerate(drawn, 1):
        theta, total = theta - (theta - x) / k, total + x
        gap = max(gap, abs(theta - total / k))
    return Identity(f"largest |θ_ℓ+1 − mean of ℓ draws|, ℓ ≤ {draws}", Enclosure.exact(gap), Enclosure.exact(0))


def batch_bias(law: Law, theta: Fraction, mu: Fraction) -> Identity:
    r"""$\mathbb E_B\nabla\mathcal E_B(\theta)-\nabla\mathcal E(\theta)$ over every draw, and every pair of atoms."""
    atoms = law.values[:ATOMS]
    size = min(2, len(atoms))
    slopes = [mu * (theta - x) for x in atoms]
    batches = [sum(b, Fraction(0)) / size for b in combinations(slopes, size)]
    gap = sum(batches, Fraction(0)) / len(batches) - sum(slopes, Fraction(0)) / len(slopes)
    one = sum((p * mu * (theta - x) for x, p in zip(law.values, law.probabilities)), Fraction(0)) - mu * (
        theta - law.mean
    )
    return Identity(
        "bias of the gradient over all draws and batches", Enclosure.exact(abs(gap) + abs(one)), Enclosure.exact(0)
    )


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
    error, found, wanted = np.full(paths, start), [], set(at)
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
        return max(Fraction(1), Fraction(sqrt(self.law.variance)).limit_denominator(10**6))

    @property
    def at(self) -> list[int]:
        return sorted({int(k) for k in np.geomspace(1, self.steps, 25)})

    def moments(self, schedule: Schedule) -> list[Enclosure]:
        return second_moments(schedule, self.law.variance, self.start, self.at)

    @property
    def floor(self) -> Fraction:
        r"""$\frac{c\,\sigma^2}{2-c}$, $c=\mu\tau$: where the second moment of constant steps settles."""
        c = self.mu * self.flat
        return c * self.law.variance / (2 - c)

    def settles(self) -> Identity:
        """The floor is the fixed point of the recursion."""
        c, m = self.mu * self.flat, self.floor
        moved = (1 - c) ** 2 * m + c**2 * (self.law.variance + self.hidden)
        return Identity(
            "how far the recursion moves τσ²μ/(2 − μτ)", Enclosure.exact(abs(moved - m)), Enclosure.exact(0)
        )

    def rates(self, moments: list[Enclosure]) -> tuple[Any, ...]:
        r"""The fitted orders, slow regime included; for $\tau/\ell$,
        $\ell\,\mathbb Ee_\ell^2\to\frac{c^2\sigma^2}{2c-1}$."""
        c, late = self.mu * self.tau, len(self.at) // 2
        order = float(self.exponent)
        slope = fit_rate(np.array(self.at[late:]), np.array([m.middle for m in moments[late:]]))
        slow = second_moments(decreasing(Fraction(1, 4)), self.law.variance, self.start, self.at)
        slower = fit_rate(np.array(self.at[late:]), np.array([m.middle for m in slow[late:]]))
        scales, errors = tuple(map(float, self.at[late:])), tuple(m.middle for m in moments[late:])
        claims: tuple[Any, ...] = (
            Rate("E e_ℓ², decreasing steps", order, slope, scales, errors, slack=0.15),
            Rate(
                "E e_ℓ² when μτ = 1/4",
                0.5,
                slower,
                scales,
                tuple(m.middle for m in slow[late:]),
                slack=0.15,
                sharp=True,
            ),
        )
        if self.exponent == 1 and 2 * c > 1:
            limit = c**2 * self.law.variance / (2 * c - 1)
            seen = tuple(m * float(k) for m, k in zip(moments[late:], self.at[late:]))
            within = float(limit) * 0.1 + float(self.start) ** 2 * self.steps ** float(1 - 2 * c) * 2
            claims += (Converges("ℓ E e_ℓ²", Enclosure.exact(limit), seen, scales, within),)
        return claims

    def experiment(
        self, rng: np.random.Generator, schedule: Schedule, exact: list[Enclosure], name: str
    ) -> tuple[Any, ...]:
        """The mean of e² over the runs beside the exact moment, at the end; and the runs."""
        with ctx.workprec(BITS):
            c = [0.0, *(float(schedule(k).mid()) for k in range(1, self.steps + 1))]
        errors = simulate(self.law, rng, c, float(self.start), self.at, self.paths, sqrt(self.hidden))
        squares = errors[-1] ** 2
        fourth = fourth_moment(self.law, c[1 : self.at[-1]], float(self.start))
        seen = mean(squares, variance=max(fourth - exact[-1].lo ** 2, 0.0))
        spread = float(squares.std(ddof=1)) / sqrt(self.paths)
        z = (float(squares.mean()) - exact[-1].middle) / spread if spread > 0 else 0.0
        return Identity(f"E e² at ℓ = {self.steps:,}, {name} steps", seen, exact[-1]), z, errors

    def evidence(self, rng: np.random.Generator) -> Evidence:
        shrinking, flat = decreasing(self.mu * self.tau, self.exponent), constant(self.mu * self.flat)
        exact, level = self.moments(shrinking), self.moments(flat)
        told, z, errors = self.experiment(rng, shrinking, exact, "decreasing")
        hover, z_flat, hovering = self.experiment(rng, flat, level, "constant")
        curves = {"1/ℓ": (exact, errors), "constant": (level, hovering)}
        if self.exponent != 1:
            curves[f"1/ℓ^{float(self.exponent):g}"] = curves.pop("1/ℓ")
        numbers = {
            "constant-step floor": Enclosure.exact(self.floor),
            "E e² at the end": exact[-1],
            "E e² at the end, constant step": level[-1],
            "Π(1 − 1/(4ℓ)), ℓ ≤ 10⁴": mean_factor(Fraction(1, 4), 10_000),
            "z, decreasing steps": z,
            "z, constant step": z_flat,
        }
        summary = f"after {self.steps:,} steps E e² is {exact[-1].middle:.4g} with steps τ/ℓ^{float(self.exponent):g}, "
        summary += (
            f"{level[-1].middle:.4g} with constant ones (floor {float(self.floor):.4g}); z = {z:.2f}, {z_flat:.2f}"
        )
        return Evidence(
            (
                batch_bias(self.law, Fraction(1, 3), self.mu),
                running_mean_gap(self.law, rng),
                self.settles(),
                told,
                hover,
                *self.rates(exact),
            ),
            (self.chart(curves), self.paths_chart(curves)),
            numbers,
            summary=summary,
        )

    def chart(self, curves: dict[str, tuple[list[Enclosure], np.ndarray]]) -> Curves:
        series = []
        for name, (exact, errors) in curves.items():
            series.append(Series(f"{name}, exact", self.at, [m.middle for m in exact], "bound"))
            series.append(Series(name, self.at, (errors**2).mean(axis=1)))
        series.append(Series("floor", [1, self.steps], [float(self.floor)] * 2, "reference"))
        title = f"mean of {self.paths:,} runs of SGD"
        return Curves(title, Axis("step ℓ", "log"), Axis("E (θ_ℓ − θ*)²", "log"), tuple(series))

    def paths_chart(self, curves: dict[str, tuple[list[Enclosure], np.ndarray]]) -> Curves:
        roles = ("measured", "other")
        series = [
            Series(f"{name} {i + 1}", self.at, errors[:, i], roles[j])
            for j, (name, (_, errors)) in enumerate(curves.items())
            for i in range(2)
        ]
        zero = Series("θ*", [1, self.steps], [0.0, 0.0], "reference")
        return Curves("single runs of SGD", Axis("step ℓ", "log"), Axis("θ_ℓ − θ*"), (*series, zero))


@dataclass(frozen=True, eq=False)
class LastLayerSGD:
    r"""SGD, one row a step, on the ridge regression of a last layer with $\tau_\ell=\frac1{\mu(\ell+\ell_0)}$,
    $\ell_0=2L_{\max}/\mu$, beside the recursion
    $b_{\ell+1}=(1-2\tau\mu(1-\tau L_{\max}))b_\ell+2\tau^2\sigma_*^2$,
    $\sigma_*^2=\frac1n\sum_i\|\nabla\mathcal E_i(\theta^*)\|^2$, which bounds
    $\mathbb E\|\theta_\ell-\theta^*\|^2$ (each $\mathcal E_i$ is convex and $L_{\max}$-smooth)."""

    last: LastLayer
    steps: int
    paths: int

    def slopes(self, W: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The gradient of one row a parameter set: W is (paths, d, m), rows (paths,)."""
        phi, y = self.last.features[rows], self.last.targets[rows]
        misfit = np.einsum("pd,pdm->pm", phi, W) - y
        return phi[:, :, None] * misfit[:, None, :] + self.last.ridge * W

    def bias(self) -> Identity:
        """The mean of every row's gradient beside the gradient of the mean, at the start."""
        n, W = len(self.last.features), self.last.start
        each = self.slopes(np.repeat(W[None], n, 0), np.arange(n)).mean(axis=0)
        whole = self.last.features.T @ (self.last.features @ W - self.last.targets) / n + self.last.ridge * W
        gap = float(np.abs(each - whole).max() / max(np.abs(whole).max(), 1e-300))
        return Identity("bias of a row's gradient, relative", Enclosure.equal(gap), Enclosure.exact(0), atol=1e-10)

    def run(self, rng: np.random.Generator) -> tuple[AtMost, Curves, dict[str, float]]:
        last, n = self.last, len(self.last.features)
        mu = float(np.linalg.eigvalsh(last.hessian)[0])
        most = float((last.features**2).sum(axis=1).max()) + last.ridge
        best = last.optimum
        noise = float((self.slopes(np.repeat(best[None], n, 0), np.arange(n)) ** 2).sum(axis=(1, 2)).mean())
        W, at = np.repeat(last.start[None], self.paths, 0), sorted({int(k) for k in np.geomspace(1, self.steps, 20)})
        bound, allowed, seen = float(((last.start - best) ** 2).sum()), [], []
        for k in range(1, self.steps + 1):
            if k in at:
                allowed.append(bound)
                seen.append(((W - best) ** 2).sum(axis=(1, 2)))
            tau = 1 / (mu * k + 2 * most)
            W = W - tau * self.slopes(W, rng.integers(n, size=self.paths))
            bound = (1 - 2 * tau * mu * (1 - tau * most)) * bound + 2 * tau**2 * noise
        claim = AtMost(f"E ‖θ_ℓ − θ*‖² at ℓ = {self.steps:,}", mean(seen[-1]), Enclosure.equal(allowed[-1]))
        series = (Series("bound", at, allowed, "bound"), Series("mean of the runs", at, [s.mean() for s in seen]))
        axes = Axis("step ℓ", "log"), Axis("E ‖θ_ℓ − θ*‖²", "log")
        return claim, Curves("SGD on the last layer", *axes, series), {"μ": mu, "L_max": most, "gradient noise": noise}
