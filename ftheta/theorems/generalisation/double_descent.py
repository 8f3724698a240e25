"""Double descent: the risk of least squares rises to infinity at p = n and falls again."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.limits.double_descent import Features, Model, anisotropy, convergence, curve_chart, evidence_of_data, sweep
from ftheta.logic import AtMost, Enclosure, Evidence, Finding, Identity, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Measure


def normal_features(
    rng: np.random.Generator,
    *,
    features: Annotated[int, Knob(10, 500, "number of features there are", "D", log=True, least=2, most=1000)] = 100,
    stretch: Annotated[float, Knob(1, 10, "variance along the diagonal (1: isotropic)", "κ", log=True, most=1e3)] = 1.0,
) -> Measure:
    if stretch == 1:
        return Measure(f"N(0, I) in {features} dimensions", np.zeros((1, features)), np.ones(1), 1.0)
    away = np.full(features, np.sqrt((stretch - 1) / features))
    return Measure("features stretched along the diagonal", np.stack([away, -away]), np.full(2, 0.5), 1.0)


def stretched(rng: np.random.Generator, *, features: int = 100) -> Measure:
    return normal_features(rng, features=features, stretch=4.0)


@hypothesis(r"the features are $\mathcal N(0,I_D)$", remedy="whiten the features; --force shows the sweep all the same")
def isotropic_gaussian_features(subject: Measure | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        z = anisotropy(subject.x.reshape(len(subject), -1))
        note = f"largest z-score of second and fourth moments: {z:.3g}, asked: at most 6"
        return Finding.sampled(note, Enclosure.measured(z, samples=len(subject))) if z <= 6 else Finding.failed(note)
    far = float(np.abs(subject.atoms).max())
    white = far == 0 and subject.spread == 1
    note = f"centres up to {far:.3g} from 0, standard deviation {subject.spread:g}"
    return Finding.proved(note, "so the law is given") if white else Finding.failed(note)


@hypothesis(
    r"$D\ge n+2$, and for data more than $n+1$ labelled rows", remedy="lower --n, or give more features and rows"
)
def enough_features(subject: Measure | Dataset, *, n: int) -> Finding:
    table = subject.x.reshape(len(subject), -1) if isinstance(subject, Dataset) else subject.atoms
    note = f"D = {table.shape[1]:,}, n = {n:,}" + (f", {len(table):,} rows" if isinstance(subject, Dataset) else "")
    short = isinstance(subject, Dataset) and (subject.y is None or len(table) < n + 2)
    return Finding.proved(note, "counted") if table.shape[1] >= n + 2 and not short else Finding.failed(note)


@theorem(
    title="Double descent of least squares",
    sources=("seed 1", "seed 3", "belkin2020", "hastie2022", "nakkiran2021"),
    assumes=(isotropic_gaussian_features, enough_features),
    on=normal_features,
    breaks_on=stretched,
    presets={
        "textbook": {},
        "six hundred features": {"n": 60, "features": 600},
        "at the edge": {"features": 22},
        "broken on purpose": {"stretch": 4.0},
    },
)
def double_descent(
    subject: Measure | Dataset,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(5, 100, "training rows", "n", log=True, least=4, most=200)] = 20,
    signal: Annotated[float, Knob(0, 4, "squared norm of the true weights", "r²", most=1e6)] = 1.0,
    noise: Annotated[float, Knob(0, 4, "variance of the label noise", "σ²", most=1e6)] = 0.25,
    draws: Annotated[int, Knob(50, 2000, "training sets drawn", "T", log=True, least=16, most=20_000)] = 400,
) -> Evidence:
    r"""Fit $y=\langle\beta,x\rangle+\sigma\epsilon$, $x\sim\mathcal N(0,I_D)$, $|\beta|=r$, by least squares of least
    norm on $n$ rows and $p$ features with $\frac pD$ of the signal; let $\tau^2=\sigma^2+r^2(1-\frac pD)$. The risk
    $$\tau^2\Big(1+\frac p{n-p-1}\Big)\ (p\le n-2),\qquad
    r^2\frac pD\Big(1-\frac np\Big)+\tau^2\Big(1+\frac n{p-n-1}\Big)\ (p\ge n+2)$$ is infinite for $|p-n|\le1$, rises
    before and is lower at $p=D$ than just beyond. The best ridge stays below $r^2+\sigma^2$: no peak. For $p=D$ and
    $\frac pn\to\gamma>1$ the risk tends to $r^2(1-\frac1\gamma)+\sigma^2\frac\gamma{\gamma-1}$."""
    if isinstance(subject, Dataset):
        return evidence_of_data(rng, subject.x, subject.y, n, draws)
    model = Model(n, subject.atoms.shape[1], Fraction(signal), Fraction(noise))
    law = Features(subject.atoms, subject.weights, subject.spread)
    found, null, last = sweep(model, rng, law, draws), model.signal + model.noise, model.features
    claims = [
        Identity("risk at p = 0", Enclosure.exact(law.null_risk(model)), Enclosure.exact(null)),
        AtMost("largest fall of the risk, p < n − 1", Enclosure.exact(model.steepest_drop()), Enclosure.exact(0)),
        AtMost("risk with all features, less that at p = n + 2", model.second_descent(), Enclosure.exact(0)),
        convergence(model),
    ]
    claims += [Identity(f"risk at p = {p}", m, model.known_risk(p)) for p, m in zip(found.at, found.means())]
    if found.at:
        highest = Enclosure.at_least(float(found.ridge.max()), samples=len(found.ridge))
        claims.append(AtMost("largest risk of the best ridge", highest, Enclosure.exact(null)))
    return Evidence(
        claims=tuple(claims),
        charts=(curve_chart(model, found),),
        numbers={f"risk at p = {p}": model.known_risk(p) for p in (*model.landmarks(), n)},
        summary=f"risk {float(null):.5g} without features, {model.known_risk(n).middle:.5g} at p = n = {n}, "
        f"{model.known_risk(last).middle:.5g} with all {last}; {len(found.risks):,} training sets drawn",
    )
