"""The risk on a sample is right on average for a predictor fixed in advance, and too low for one fitted to it.

Where the samples are few enough they are all enumerated, and the claims are facts about rationals. Otherwise samples
are drawn, and the claims are about means with their confidence. A network is a predictor fixed in advance; its rows are
the law that samples are drawn from.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Annotated

import numpy as np

from ftheta.estimates import mean
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Histogram,
    Identity,
    Knob,
    Series,
    Table,
    hypothesis,
    theorem,
)
from ftheta.risks.empirical import (
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
    risk,
    simulated_risks,
)
from ftheta.risks.outputs import asked_loss
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

LAWS = ("coin", "three values", "noisy line")
MODELS = ("constant", "linear")
LOSSES = ("squared", "absolute", "zero-one")
TRIALS = 4000
DRAWN_EXACTLY = 6000  # losses behind an exact point of the figure
DRAWN = 400  # samples of each size behind the band of the figure
ZERO = Enclosure.exact(0)


def small_law(
    rng: np.random.Generator,
    *,
    law: Annotated[str, Knob(says="the built-in law, one row per example", choices=LAWS)] = "coin",
) -> Dataset:
    if law == "coin":
        return Dataset("a fair coin", np.ones((2, 1)), np.array([0.0, 1.0]))
    if law == "three values":
        return Dataset(
            "0, 1 and 10 with weights .4, .35, .25",
            np.ones((20, 1)),
            np.repeat([0.0, 1.0, 10.0], [8, 7, 5]),
        )
    x = np.array([-1.0, -1.0, 0.0, 0.0, 1.0, 1.0])
    return Dataset(
        "y = x ± 1/2 at x = −1, 0, 1", np.column_stack([x, np.ones(6)]), x + np.tile([0.5, -0.5], 3)
    )


def _loss_of(net: Network) -> str | None:
    """What the labels ask for: the squared loss of real targets, the top-1 error of classes."""
    wanted = asked_loss(net)
    return "top-1" if wanted == "cross-entropy" else wanted


@hypothesis(
    "the examples have targets that fit the predictor",
    remedy="give --data with one label per row",
    name="targets",
)
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        wanted = _loss_of(subject)
        note = (
            "no data with labels that fit the outputs"
            if wanted is None
            else f"the {wanted} loss is used"
        )
        return Finding.decide(wanted is not None, note, "counted", basis=Basis.EXACT)
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(
        got == 1, f"{len(subject):,} rows, targets per row: {got}", "counted", basis=Basis.EXACT
    )


@hypothesis(
    r"$\theta$ is fixed before the sample is drawn",
    remedy="judge a fitted predictor on rows it did not see",
    name="parameters fixed before the sample is drawn",
)
def fixed_in_advance(subject: Dataset | Network, *, chosen: str) -> Finding:
    if chosen != "in advance":
        return Finding.failed("θ is chosen on the sample that judges it")
    if isinstance(subject, Network):
        return Finding.assumed("the rows are taken to be unseen in training")
    return Finding.proved("the samples are drawn after θ was fixed", "drawn here")


@theorem(
    title="Risk, empirical risk and its minimiser",
    gist="The mean loss on a sample is an unbiased estimate of the risk of a predictor chosen beforehand, but too "
    "optimistic for one that was fitted to the same sample; this is why test sets exist.",
    see_also=("hoeffding-chebyshev", "error-decomposition", "bayes-predictors"),
    sources=("peyre-slides", "gribonval-slides", "murari-slides", "scaman-slides"),
    assumes=(targets_known, fixed_in_advance),
    on=small_law,
    unbreakable="""No law breaks it: the samples are drawn here, after θ. The preset `broken on purpose` chooses θ on
    the sample; forced, it is refuted.""",
    presets={
        "textbook": {},
        "lines": {"law": "noisy line", "model": "linear", "n": 8},
        "medians": {"law": "three values", "loss": "absolute", "n": 20},
        "at the edge": {"n": 1},
        "broken on purpose": {"chosen": "on the sample"},
    },
    errata="""Scaman's slides say that the test error is in general larger than the training error. That is a
    statement about expectations; on a single sample it may fail.""",
)
def population_and_empirical_risk(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(1, 64, "sample size", "n", log=True, most=100_000)] = 4,
    model: Annotated[
        str, Knob(says="the class of predictors", symbol="g", choices=MODELS)
    ] = "constant",
    loss: Annotated[
        str, Knob(says="loss of the constants", symbol="ℓ", choices=LOSSES)
    ] = "squared",
    theta: Annotated[
        float, Knob(-2, 2, "the prediction fixed in advance", "θ", least=-1e6, most=1e6)
    ] = 0.0,
    chosen: Annotated[
        str, Knob(says="when θ is chosen", choices=("in advance", "on the sample"))
    ] = "in advance",
) -> Evidence:
    r"""$R(\theta)=\mathbb E\,\ell(g_\theta(X),Y)$ and $R_n(\theta)=\frac1n\sum_i\ell(g_\theta(x_i),y_i)$. For $\theta$
    fixed before the sample is drawn, $\mathbb ER_n(\theta)=R(\theta)$ and $\mathrm{Var}R_n(\theta)=\frac1n\mathrm{Var}
    \,\ell$. For $\hat\theta_n\in\arg\min R_n$
    $$\mathbb ER_n(\hat\theta_n)\le\min_\theta R(\theta)\le\mathbb ER(\hat\theta_n).$$"""
    if isinstance(subject, Network):
        return _risk_of_network(risk(subject, loss=_loss_of(subject) or "squared"), rng, n)
    law = FiniteLaw.of(*first_rows(subject, flat=True))
    return _sandwich_of_law(law, rng, n, model, loss, theta, chosen != "in advance")


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
    def is_enumerable(self) -> bool:
        return classes_of_samples(len(self.p), self.n) <= MOST_SAMPLES

    @cached_property
    def expected_risks(self) -> Expected:
        return expected_risks(self.p, self.learner, self.n)

    @property
    def risk(self) -> Fraction:
        return mean_of(self.p, self.fixed)

    @property
    def variance(self) -> Fraction:
        return mean_of(self.p, [v * v for v in self.fixed]) - self.risk**2

    def claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        """Unbiased, variance over n, and the two inequalities of the minimiser: enumerated or simulated."""
        return self._enumerate() if self.is_enumerable else self._simulate(rng)

    def _enumerate(self) -> tuple[Claim, ...]:
        found = self.expected_risks
        mean_risk, variance = moments_of_risk(self.p, self.fixed, self.n)
        bias = found.train - found.test if self.on_sample else mean_risk - self.risk
        return (
            Identity("E R_n(θ) − R(θ)", Enclosure.exact(bias), ZERO),
            Identity(
                "n Var R_n(θ) − Var ℓ", Enclosure.exact(self.n * variance - self.variance), ZERO
            ),
            AtMost("E R_n(θ̂) − min R", Enclosure.exact(found.train - found.least), ZERO),
            AtMost("min R − E R(θ̂)", Enclosure.exact(found.least - found.test), ZERO),
        )

    def _simulate(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        train, test = simulated_risks(self.p, self.learner, self.n, rng, TRIALS)
        least = Enclosure.equal(float(mean_of(self.p, self.learner.exact(self.p))))
        losses = np.array([float(v) for v in self.fixed])
        law = np.array([float(q) for q in self.p])
        risks = rng.multinomial(self.n, law / law.sum(), size=TRIALS) @ losses / self.n
        gaps = risks - float(self.risk)
        unbiased = Identity(
            "E R_n(θ) = R(θ)",
            mean(risks, variance=float(self.variance) / self.n),
            Enclosure.equal(float(self.risk)),
        )
        if self.on_sample:
            unbiased = Identity("E R_n(θ) − R(θ)", mean(train - test), ZERO)
        spread = mean(self.n * gaps**2, variance=self._spread_of_squares())
        return (
            unbiased,
            Identity("n Var R_n(θ) = Var ℓ", spread, Enclosure.equal(float(self.variance))),
            AtMost("E R_n(θ̂) ≤ min R", mean(train), least),
            AtMost("min R ≤ E R(θ̂)", least, mean(test)),
        )

    def _spread_of_squares(self) -> float:
        r"""The variance of $n(R_n-R)^2$: $\frac1n(\mu_4+3(n-1)\sigma^4)-\sigma^4$, $\mu_4$ the fourth moment."""
        fourth = mean_of(self.p, [(v - self.risk) ** 4 for v in self.fixed])
        square = self.variance**2
        return float((fourth + 3 * (self.n - 1) * square) / self.n - square)

    def moment_claims(self, rng: np.random.Generator) -> tuple[Claim, ...]:
        """Mean and variance of the empirical risk beside the risk and the variance of the loss: both sides shown."""
        if not self.is_enumerable:
            return self._simulate(rng)[:2]
        mean_risk, variance = moments_of_risk(self.p, self.fixed, self.n)
        return (
            Identity("E R_n(θ) = R(θ)", Enclosure.exact(mean_risk), Enclosure.exact(self.risk)),
            Identity(
                "n Var R_n(θ) = Var ℓ",
                Enclosure.exact(self.n * variance),
                Enclosure.exact(self.variance),
            ),
        )

    def numbers(self) -> dict[str, Enclosure | float]:
        known: dict[str, Enclosure | float] = {
            "R(θ)": Enclosure.exact(self.risk),
            "Var ℓ": Enclosure.exact(self.variance),
        }
        if not self.is_enumerable:
            return known
        e = self.expected_risks
        named = {
            "E R_n(θ̂)": e.train,
            "min R": e.least,
            "E R(θ̂)": e.test,
            "P(R_n(θ̂) > R(θ̂))": e.inverted,
        }
        return known | {name: Enclosure.exact(value) for name, value in named.items()}

    def chart(self, rng: np.random.Generator) -> Curves:
        """Both risks against n: exact means where samples can be enumerated, and what single samples do."""
        sizes = np.unique(np.geomspace(1, max(32, 4 * self.n), 18).astype(int))
        drawn = [simulated_risks(self.p, self.learner, int(n), rng, DRAWN) for n in sizes]
        few = [
            int(n)
            for n in sizes
            if len(self.p) * classes_of_samples(len(self.p), int(n)) <= DRAWN_EXACTLY
        ]
        exact = [expected_risks(self.p, self.learner, n) for n in few]
        lines = []
        for name, k in (
            ("R(θ̂) of samples, 80% of them in the band", 1),
            ("R_n(θ̂) of samples, likewise", 0),
        ):
            lo, hi = np.quantile([d[k] for d in drawn], [0.1, 0.9], axis=1)
            lines.append(
                Series(
                    name, sizes, [float(d[k].mean()) for d in drawn], "measured", "points", lo, hi
                )
            )
        least = float(mean_of(self.p, self.learner.exact(self.p)))
        series = (
            *lines,
            Series("E R(θ̂)", few, [float(e.test) for e in exact], "bound"),
            Series("min R", sizes, [least] * len(sizes), "reference"),
            Series("E R_n(θ̂)", few, [float(e.train) for e in exact], "bound"),
        )
        return Curves(
            "risk on the sample and true risk", Axis("sample size n", "log"), Axis("risk"), series
        )


def _printed_inequality() -> AtMost:
    """That the training risk is below the true one on *every* sample: four throws of a coin with p = 1/5 say no."""
    law = FiniteLaw.of(np.ones((5, 1)), np.array([1.0, 0.0, 0.0, 0.0, 0.0]))
    found = expected_risks(law.probabilities, law.constants("squared"), 4)
    return AtMost(
        "R_n(θ̂) − R(θ̂), coin with p = 1/5, n = 4, its worst sample",
        Enclosure.exact(found.worst),
        ZERO,
    )


def _sandwich_of_law(
    law: FiniteLaw,
    rng: np.random.Generator,
    n: int,
    model: str,
    loss: str,
    theta: float,
    on_sample: bool,
):
    """The sandwich on a law of examples: constants with any of the rational losses, or lines with the squared one."""
    learner = law.linear() if model == "linear" else law.constants(loss)
    found = Experiment(
        law.probabilities,
        learner,
        law.losses(theta, "squared" if model == "linear" else loss),
        n,
        on_sample,
    )
    summary = f"n = {n}, {len(law)} examples: R(θ) = {float(found.risk):.6g}"
    if found.is_enumerable:
        e = found.expected_risks
        summary += f"; E R_n(θ̂) = {float(e.train):.6g} ≤ min R = {float(e.least):.6g} ≤ E R(θ̂) = {float(e.test):.6g}"
        summary += f"; on a single sample the first exceeds the last with probability {float(e.inverted):.4g}"
    return Evidence(
        found.claims(rng),
        (found.chart(rng),),
        found.numbers(),
        as_printed=(_printed_inequality(),),
        summary=summary,
    )


def _risk_of_network(found: Risk, rng: np.random.Generator, n: int) -> Evidence:
    """The rows as a law, the network as a predictor fixed in advance: its risk with a bootstrap error bar."""
    values, counts = np.unique(found.losses, return_counts=True)
    p = tuple(Fraction(int(c), len(found.losses)) for c in counts)
    fixed = tuple(map(Fraction, values.tolist()))
    seen = resampled_means(found.losses, rng)
    experiment = Experiment(p, FiniteClass((fixed,)), fixed, n)
    error = float(found.losses.std() / len(found.losses) ** 0.5)
    bins = min(40, max(8, len(np.unique(seen))))
    # means that differ by rounding share one bar
    apart = max(np.ptp(seen), 1e-9 * float(np.abs(seen).max()), 1e-300)
    heights, edges = np.histogram(
        seen, bins, (seen.min() - apart / bins, seen.max() + apart / bins), density=True
    )
    grid = np.linspace(edges[0], edges[-1], 120)
    bell = (
        np.exp(-(((grid - found.value) / max(error, 1e-300)) ** 2) / 2)
        / max(error, 1e-300)
        / (2 * np.pi) ** 0.5
    )
    curve = (Series("normal with Var ℓ / n", grid, bell, "bound"),) if error > 0 else ()
    title = f"{found.loss} risk of samples as large as the data, drawn from them again"
    chart = Histogram(title, Axis("R_n"), Axis("density"), edges, heights, curve)
    interval = found.interval
    rows = ((found.loss, found.value, interval.lo, interval.hi, error),)
    table = Table(
        "risk on these rows", ("loss", "risk", "bootstrap 95% from", "to", "standard error"), rows
    )
    numbers = {"risk": found.value, "risk within (bootstrap)": interval, "standard error": error}
    return Evidence(
        experiment.moment_claims(rng),
        (chart,),
        numbers,
        (table,),
        (_printed_inequality(),),
        str(found),
    )
