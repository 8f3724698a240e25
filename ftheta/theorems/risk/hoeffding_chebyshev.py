"""How far the risk on a sample strays from the true risk."""

from collections.abc import Sequence
from typing import Annotated

import jax
import numpy as np

from ftheta.estimates import concentration as tails
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Knob,
    Series,
    SubjectError,
    Table,
    hypothesis,
    theorem,
)
from ftheta.subjects import Measure, Network


def coin(
    rng: np.random.Generator,
    *,
    risk: Annotated[
        float, Knob(0, 1, "probability that the loss takes its largest value B", "p")
    ] = 0.5,
    bound: float = 1.0,
) -> Measure:
    return Measure(
        f"loss {bound:g} with probability {risk:g}",
        np.array([[0.0], [bound]]),
        np.array([1 - risk, risk]),
    )


def larger_than_claimed(rng: np.random.Generator, *, bound: float = 1.0) -> Measure:
    return Measure(
        "loss up to 4B, claimed at most B", np.array([[0.0], [4 * bound]]), np.array([0.5, 0.5])
    )


def law_and_size(subject: Measure | Network, n: int) -> tuple[tails.Law, int]:
    """The law of the loss: the measure, or the 0-1 losses on the network's data; and the size of the sample."""
    if isinstance(subject, Measure) and subject.spread == 0 and subject.atoms.shape[1] == 1:
        return tails.Law.of(subject.atoms[:, 0].tolist(), subject.weights.tolist()), n
    if isinstance(subject, Measure) or subject.data is None or subject.data.y is None:
        raise SubjectError(
            "This needs a discrete law of one number, or a network with --data.", where=subject.name
        )
    outputs = np.asarray(jax.lax.map(subject, subject.data.x, batch_size=256))
    return tails.zero_one_law(outputs, subject.data.y), len(outputs)


@hypothesis(
    r"$\theta$ is independent of the sample",
    remedy="give labelled --data that no training or selection saw",
)
def predictor_fixed_in_advance(subject: Measure | Network, *, candidates: int) -> Finding:
    if candidates > 1:
        return Finding.failed(
            f"it is the best of {candidates:,} on this very sample", Enclosure.exact(candidates)
        )
    if isinstance(subject, Measure):
        return Finding.proved("the samples are drawn after the law was fixed", "drawn here")
    if subject.data is None or subject.data.y is None:
        return Finding.failed("the network carries no data with labels")
    return Finding.assumed(f"the {len(subject.data):,} rows are taken to be unseen in training")


@hypothesis(
    r"$0\le\ell\le B$",
    remedy="clip the loss, or raise --bound to its true maximum",
    name="a bounded loss",
)
def bounded_loss(subject: Measure | Network, *, bound: float) -> Finding:
    if isinstance(subject, Network):
        return Finding.decide(
            bound >= 1, f"the 0-1 loss, B = {bound:g}", "0 or 1", basis=Basis.EXACT
        )
    low = float(subject.atoms.min())
    high = float(subject.atoms.max())
    inside = low >= 0 and high <= bound and subject.spread == 0 and subject.atoms.shape[1] == 1
    note = f"losses in [{low:g}, {high:g}]{' with Gaussian spread' if subject.spread else ''}, B = {bound:g}"
    return Finding.decide(
        inside, note, "all atoms compared", Enclosure.exact(high), basis=Basis.EXACT
    )


@theorem(
    title="Hoeffding and Chebyshev: a test set measures the risk",
    gist="How far the error on a test set can be from the true error, as a function of the number of rows: the reason "
    "why a model that was not tuned on its test set can be trusted.",
    see_also=("population-and-empirical-risk", "vc-uniform-convergence", "error-decomposition"),
    sources=("scaman-slides", "hoeffding1963"),
    assumes=(predictor_fixed_in_advance, bounded_loss),
    on=coin,
    breaks_on=larger_than_claimed,
    presets={
        "textbook": {},
        "a million rows": {"n": 1_000_000, "risk": 0.03, "delta": 1e-6},
        "at the edge": {"n": 1, "delta": 0.5},
        "broken on purpose": {"candidates": 1000, "n": 100},
    },
    errata=r"""Scaman's slides print the radius $\|\ell\|_\infty\sqrt{2\ln(2/\delta)/n}$: valid (for losses in
    $[-B,B]$), but twice too large for $\ell\ge0$.""",
)
def hoeffding_chebyshev(
    subject: Measure | Network,
    rng: np.random.Generator,
    *,
    n: Annotated[
        int, Knob(1, 10**6, "sample size (a network is judged on all its rows)", "n", log=True)
    ] = 1000,
    delta: Annotated[
        float, Knob(0.001, 0.5, "failure probability", "δ", log=True, least=1e-12, most=0.999)
    ] = 0.05,
    bound: Annotated[
        float, Knob(0.1, 10, "largest value of the loss", "B", log=True, least=1e-6, most=1e6)
    ] = 1.0,
    candidates: Annotated[
        int, Knob(1, 1000, "predictors competing on the sample", "M", log=True, most=10_000)
    ] = 1,
    trials: Annotated[
        int, Knob(100, 20_000, "samples in the experiment", "T", log=True, most=10**6)
    ] = 2000,
) -> Evidence:
    r"""If $\theta$ is independent of the sample and $0\le\ell\le B$, then each of
    $$|R_n(\theta)-R(\theta)|\le B\sqrt{\frac{\ln(2/\delta)}{2n}},\qquad
    |R_n(\theta)-R(\theta)|\le\sqrt{\frac{\mathrm{Var}(\ell)}{n\delta}}$$ holds with probability at least $1-\delta$."""
    law, n = law_and_size(subject, n)
    radius = tails.hoeffding_radius(n, delta, bound)
    other = tails.chebyshev_radius(n, delta, law.variance)
    named = (("Hoeffding", radius), ("Chebyshev", other), ("printed", 2 * radius))
    found = [tails.deviation(name, law, n, r, rng, trials, candidates) for name, r in named]
    most = Enclosure.exact(delta)
    claims = [
        AtMost(f"P(|R_n − R| > {d.name} radius)", d.tail, most, d.trivial(bound)) for d in found
    ]
    intervals = tails.risk_intervals(law, n, delta, radius) if isinstance(subject, Network) else {}
    exceeded = ", ".join(
        f"{d.name} {d.radius.middle:.5g} with {d.tail.middle:.4g}" for d in found[:2]
    )
    return Evidence(
        claims=tuple(claims[:2]),
        as_printed=tuple(claims[2:]),
        charts=(_draw_radii(law, rng, delta, bound, n), _draw_tails(law, rng, n, bound, trials)),
        numbers={"risk": float(law.mean)}
        | intervals
        | {f"{d.name} radius": d.radius for d in found}
        | {f"{d.name} tail": d.tail for d in found},
        tables=(_tabulate(found),),
        summary=f"risk {float(law.mean):.5g}, n = {n:,}; radius, probability to exceed it: {exceeded}; δ = {delta:g}",
    )


def _tabulate(deviations: Sequence[tails.Deviation]) -> Table:
    columns = ("radius", "r", "P(|R_n − R| > r)", "frequency", "z")
    rows = [(d.name, d.radius.middle, d.tail.middle, d.frequency, d.z) for d in deviations]
    return Table("how often each radius is exceeded", columns, tuple(rows))


def _draw_radii(
    law: tails.Law, rng: np.random.Generator, delta: float, bound: float, largest: int
) -> Curves:
    """The radii of the bounds against n, and the quantile of order 1 − δ that an experiment finds."""
    sizes = np.unique(np.geomspace(1, max(largest, 100), 25).astype(int)).tolist()
    trials = max(100, min(2000, tails.DRAWS // len(law.values)))
    deviations = [np.abs(law.sample_means(rng, n, trials) - float(law.mean)) for n in sizes]
    measured = [float(np.quantile(d, 1 - delta, method="higher")) for d in deviations]
    hoeffding = [float(tails.hoeffding_radius(n, delta, bound)) for n in sizes]
    chebyshev = [float(tails.chebyshev_radius(n, delta, law.variance)) for n in sizes]
    series = (
        Series("Chebyshev", sizes, chebyshev, "other"),
        Series("as printed", sizes, [2 * r for r in hoeffding], "reference"),
        Series("Hoeffding", sizes, hoeffding, "bound"),
        Series("measured quantile", *_positive(sizes, measured), "measured"),
    )
    return Curves(
        "radius of confidence 1 − δ", Axis("sample size n", "log"), Axis("|R_n − R|", "log"), series
    )


def _draw_tails(
    law: tails.Law, rng: np.random.Generator, n: int, bound: float, trials: int
) -> Curves:
    """The probability of a deviation above t, measured and bounded."""
    means = law.sample_means(rng, n, max(100, min(trials, tails.DRAWS // len(law.values))))
    deviations = np.sort(np.abs(means - float(law.mean)))
    t = np.linspace(0, 1.5 * float(tails.hoeffding_radius(n, 0.01, bound)), 61)[1:]
    survival = 1 - np.searchsorted(deviations, t, side="right") / len(deviations)
    series = (
        Series("Hoeffding", t, np.minimum(1, 2 * np.exp(-2 * n * (t / bound) ** 2)), "bound"),
        Series("Chebyshev", t, np.minimum(1, float(law.variance) / (n * t**2)), "other"),
        Series("measured", *_positive(t.tolist(), survival.tolist()), "measured"),
    )
    title = f"probability of a deviation above t, n = {n:,}"
    return Curves(title, Axis("deviation t"), Axis("probability", "log"), series)


def _positive(x: Sequence[float], y: Sequence[float]) -> tuple[list[float], list[float]]:
    """The points that a logarithmic axis can show."""
    kept = [(a, b) for a, b in zip(x, y) if b > 0]
    return [a for a, _ in kept], [b for _, b in kept]
