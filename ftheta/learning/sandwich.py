r"""Training risk below, true risk above: $\mathbb ER_n(\hat\theta_n)\le\min R\le\mathbb ER(\hat\theta_n)$ on one law.

Where the samples are few enough they are all enumerated, and the inequalities are facts about rationals. Otherwise
samples are drawn, and the claims are about means with their confidence.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Histogram, Identity, Series, Table

from .risks import (
    MOST_SAMPLES,
    Expected,
    FiniteClass,
    FiniteLaw,
    Learner,
    Rationals,
    Risk,
    classes_of_samples,
    expected_risks,
    mean_of,
    moments_of_risk,
    resampled_means,
    simulated_risks,
)

TRIALS = 4000
DRAWN_EXACTLY = 6000  # losses behind an exact point of the figure
DRAWN = 400  # samples of each size behind the band of the figure
ZERO = Enclosure.exact(0)


@dataclass(frozen=True, eq=False)
class Experiment:
    """Samples of size n from a law, a class of predictors, and the losses of one predictor fixed in advance.

    With `on_sample` that predictor is chosen on the sample instead, which is what the theorem forbids.
    """

    p: Rationals
    learner: Learner
    fixed: Rationals
    n: int
    on_sample: bool = False

    @property
    def enumerable(self) -> bool:
        return classes_of_samples(len(self.p), self.n) <= MOST_SAMPLES

    @cached_property
    def expected(self) -> Expected:
        return expected_risks(self.p, self.learner, self.n)

    @property
    def risk(self) -> Fraction:
        return mean_of(self.p, self.fixed)

    @property
    def variance(self) -> Fraction:
        return mean_of(self.p, [v * v for v in self.fixed]) - self.risk**2

    def claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        return self._exact() if self.enumerable else self._drawn(rng)

    def _exact(self) -> tuple[Claim, ...]:
        found = self.expected
        first, second = moments_of_risk(self.p, self.fixed, self.n)
        off = found.train - found.test if self.on_sample else first - self.risk
        return (
            Identity("E R_n(θ) − R(θ)", Enclosure.exact(off), ZERO),
            Identity("n Var R_n(θ) − Var ℓ", Enclosure.exact(self.n * second - self.variance), ZERO),
            AtMost("E R_n(θ̂) − min R", Enclosure.exact(found.train - found.least), ZERO),
            AtMost("min R − E R(θ̂)", Enclosure.exact(found.least - found.test), ZERO),
        )

    def _drawn(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        train, test = simulated_risks(self.p, self.learner, self.n, rng, TRIALS)
        least = Enclosure.equal(float(mean_of(self.p, self.learner.exact(self.p))))
        losses, law = np.array([float(v) for v in self.fixed]), np.array([float(q) for q in self.p])
        risks = rng.multinomial(self.n, law / law.sum(), size=TRIALS) @ losses / self.n
        gaps = risks - float(self.risk)
        off = mean(train - test) if self.on_sample else mean(gaps, variance=float(self.variance) / self.n)
        spread = mean(self.n * gaps**2, variance=self._spread_of_squares())
        return (
            Identity("E R_n(θ) − R(θ)", off, ZERO),
            Identity("n Var R_n(θ)", spread, Enclosure.equal(float(self.variance))),
            AtMost("E R_n(θ̂)", mean(train), least),
            AtMost("min R", least, mean(test)),
        )

    def _spread_of_squares(self) -> float:
        r"""The variance of $n(R_n-R)^2$: $\frac1n(\mu_4+3(n-1)\sigma^4)-\sigma^4$, $\mu_4$ the fourth moment."""
        fourth = mean_of(self.p, [(v - self.risk) ** 4 for v in self.fixed])
        square = self.variance**2
        return float((fourth + 3 * (self.n - 1) * square) / self.n - square)

    def numbers(self) -> dict[str, Enclosure | float]:
        told: dict[str, Enclosure | float] = {
            "R(θ)": Enclosure.exact(self.risk),
            "Var ℓ": Enclosure.exact(self.variance),
        }
        if not self.enumerable:
            return told
        e = self.expected
        named = {"E R_n(θ̂)": e.train, "min R": e.least, "E R(θ̂)": e.test, "P(R_n(θ̂) > R(θ̂))": e.inverted}
        return told | {name: Enclosure.exact(value) for name, value in named.items()}

    def chart(self, rng: np.random.Generator) -> Curves:
        """Both risks against n: exact means where samples can be enumerated, and what single samples do."""
        sizes = np.unique(np.geomspace(1, max(32, 4 * self.n), 18).astype(int))
        drawn = [simulated_risks(self.p, self.learner, int(n), rng, DRAWN) for n in sizes]
        few = [int(n) for n in sizes if len(self.p) * classes_of_samples(len(self.p), int(n)) <= DRAWN_EXACTLY]
        exact = [expected_risks(self.p, self.learner, n) for n in few]
        lines = []
        for name, k in (("R(θ̂) of samples, 80% of them in the band", 1), ("R_n(θ̂) of samples, likewise", 0)):
            lo, hi = np.quantile([d[k] for d in drawn], [0.1, 0.9], axis=1)
            lines.append(Series(name, sizes, [float(d[k].mean()) for d in drawn], "measured", "points", lo, hi))
        least = float(mean_of(self.p, self.learner.exact(self.p)))
        series = (
            *lines,
            Series("E R(θ̂)", few, [float(e.test) for e in exact], "bound"),
            Series("min R", sizes, [least] * len(sizes), "reference"),
            Series("E R_n(θ̂)", few, [float(e.train) for e in exact], "bound"),
        )
        return Curves("risk on the sample and true risk", Axis("sample size n", "log"), Axis("risk"), series)


def single_draw() -> AtMost:
    """That the training risk is below the true one on *every* sample: four throws of a coin with p = 1/5 say no."""
    law = FiniteLaw.of(np.ones((5, 1)), np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    found = expected_risks(law.probabilities, law.constants("squared"), 4)
    return AtMost("R_n(θ̂) − R(θ̂), coin with p = 1/5, n = 4, its worst sample", Enclosure.exact(found.worst), ZERO)


def law_evidence(
    law: FiniteLaw, rng: np.random.Generator, n: int, model: str, loss: str, theta: float, on_sample: bool
):
    """The sandwich on a law of examples: constants with any of the rational losses, or lines with the squared one."""
    learner = law.linear() if model == "linear" else law.constants(loss)
    found = Experiment(
        law.probabilities, learner, law.losses(theta, "squared" if model == "linear" else loss), n, on_sample
    )
    told = f"n = {n}, {len(law)} examples: R(θ) = {float(found.risk):.6g}"
    if found.enumerable:
        e = found.expected
        told += f"; E R_n(θ̂) = {float(e.train):.6g} ≤ min R = {float(e.least):.6g} ≤ E R(θ̂) = {float(e.test):.6g}"
        told += f"; on a single sample the first exceeds the last with probability {float(e.inverted):.4g}"
    return Evidence(found.claims(rng), (found.chart(rng),), found.numbers(), as_printed=(single_draw(),), summary=told)


def network_evidence(found: Risk, rng: np.random.Generator, n: int) -> Evidence:
    """The rows as a law, the network as a predictor fixed in advance: its risk with a bootstrap error bar."""
    values, counts = np.unique(found.losses, return_counts=True)
    p = tuple(Fraction(int(c), len(found.losses)) for c in counts)
    fixed = tuple(map(Fraction, values.tolist()))
    seen = resampled_means(found.losses, rng)
    experiment = Experiment(p, FiniteClass((fixed,)), fixed, n)
    error = float(found.losses.std() / len(found.losses) ** 0.5)
    bins = min(40, max(8, len(np.unique(seen))))
    apart = max(np.ptp(seen), 1e-9 * float(np.abs(seen).max()), 1e-300)  # means that differ by rounding share one bar
    heights, edges = np.histogram(seen, bins, (seen.min() - apart / bins, seen.max() + apart / bins), density=True)
    grid = np.linspace(edges[0], edges[-1], 120)
    bell = np.exp(-(((grid - found.value) / max(error, 1e-300)) ** 2) / 2) / max(error, 1e-300) / (2 * np.pi) ** 0.5
    curve = (Series("normal with Var ℓ / n", grid, bell, "bound"),) if error > 0 else ()
    title = f"{found.loss} risk of samples as large as the data, drawn from them again"
    chart = Histogram(title, Axis("R_n"), Axis("density"), edges, heights, curve)
    interval = found.interval
    rows = ((found.loss, found.value, interval.lo, interval.hi, error),)
    table = Table("risk on these rows", ("loss", "risk", "bootstrap 95% from", "to", "standard error"), rows)
    numbers = {"risk": found.value, "risk within (bootstrap)": interval, "standard error": error}
    return Evidence(experiment.claims(rng)[:2], (chart,), numbers, (table,), (single_draw(),), str(found))
