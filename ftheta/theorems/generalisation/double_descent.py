"""Double descent: the risk of least squares rises to infinity at p = n and falls again."""

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from math import inf
from typing import Annotated, Any

import numpy as np

from ftheta.logic import (
    AtMost,
    Axis,
    Claim,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    Series,
    SubjectError,
    draw_curves,
    hypothesis,
    theorem,
)
from ftheta.risks.double_descent import (
    Features,
    Model,
    Sweep,
    anisotropy,
    sweep_data,
    sweep_features,
)
from ftheta.subjects import Dataset, Measure


def make_features(
    rng: np.random.Generator,
    *,
    features: Annotated[
        int, Knob(10, 500, "number of features there are", "D", log=True, least=2, most=1000)
    ] = 100,
    stretch: Annotated[
        float, Knob(1, 10, "variance along the diagonal (1: isotropic)", "κ", log=True, most=1e3)
    ] = 1.0,
) -> Measure:
    if stretch == 1:
        return Measure(
            f"N(0, I) in {features} dimensions", np.zeros((1, features)), np.ones(1), 1.0
        )
    away = np.full(features, np.sqrt((stretch - 1) / features))
    return Measure(
        "features stretched along the diagonal", np.stack([away, -away]), np.full(2, 0.5), 1.0
    )


def stretch_features(rng: np.random.Generator, *, features: int = 100) -> Measure:
    return make_features(rng, features=features, stretch=4.0)


@hypothesis(
    r"the features are $\mathcal N(0,I_D)$",
    remedy="whiten the features; --force shows the sweep all the same",
)
def isotropic_gaussian_features(subject: Measure | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        z = anisotropy(subject.x.reshape(len(subject), -1))
        note = f"largest z-score of second and fourth moments: {z:.3g}, asked: at most 6"
        return (
            Finding.sampled(note, Enclosure.measured(z, samples=len(subject)))
            if z <= 6
            else Finding.failed(note)
        )
    far = float(np.abs(subject.atoms).max())
    white = far == 0 and subject.spread == 1
    note = f"centres up to {far:.3g} from 0, standard deviation {subject.spread:g}"
    return Finding.proved(note, "so the law is given") if white else Finding.failed(note)


@hypothesis(
    r"$D\ge n+2$, and for data more than $n+1$ labelled rows",
    remedy="lower --n, or give more features and rows",
)
def enough_features(subject: Measure | Dataset, *, n: int) -> Finding:
    table = subject.x.reshape(len(subject), -1) if isinstance(subject, Dataset) else subject.atoms
    note = f"D = {table.shape[1]:,}, n = {n:,}" + (
        f", {len(table):,} rows" if isinstance(subject, Dataset) else ""
    )
    short = isinstance(subject, Dataset) and (subject.y is None or len(table) < n + 2)
    return (
        Finding.proved(note, "counted")
        if table.shape[1] >= n + 2 and not short
        else Finding.failed(note)
    )


@theorem(
    title="Double descent of least squares",
    gist="The test error of least squares explodes where there are as many features as rows and falls again with more "
    "features, so that the largest model can be the best; a well-chosen ridge shows no such peak.",
    see_also=(
        "double-descent-random-features",
        "double-descent-networks",
        "explicit-regularisation",
        "implicit-bias",
    ),
    sources=("gribonval-slides", "scaman-slides", "belkin2020", "hastie2022", "nakkiran2021"),
    assumes=(isotropic_gaussian_features, enough_features),
    on=make_features,
    breaks_on=stretch_features,
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
    draws: Annotated[
        int, Knob(50, 2000, "training sets drawn", "T", log=True, least=16, most=20_000)
    ] = 400,
) -> Evidence:
    r"""Fit $y=\langle\beta,x\rangle+\sigma\epsilon$, $x\sim\mathcal N(0,I_D)$, $|\beta|=r$, by minimum-norm least
    squares on $n$ rows and $p$ features with $\frac pD$ of the signal; let $\tau^2=\sigma^2+r^2(1-\frac pD)$. The risk
    $$\tau^2\Big(1+\frac p{n-p-1}\Big)\ (p\le n-2),\qquad
    r^2\frac pD\Big(1-\frac np\Big)+\tau^2\Big(1+\frac n{p-n-1}\Big)\ (p\ge n+2)$$ is infinite for $|p-n|\le1$, rises
    before and is lower at $p=D$ than just beyond. The best ridge stays below $r^2+\sigma^2$: no peak. For $p=D$ and
    $\frac pn\to\gamma>1$ the risk tends to $r^2(1-\frac1\gamma)+\sigma^2\frac\gamma{\gamma-1}$."""
    if isinstance(subject, Dataset):
        return sweep_rows(rng, subject.x, subject.y, n, draws)
    model = Model(n, subject.atoms.shape[1], Fraction(signal), Fraction(noise))
    law = Features(subject.atoms, subject.weights, subject.spread)
    found = sweep_features(model, rng, law, draws)
    null = model.signal + model.noise
    last = model.features
    fall = Enclosure.exact(model.steepest_drop())
    claims: list[Claim] = [
        Identity("risk at p = 0", Enclosure.exact(law.null_risk(model)), Enclosure.exact(null)),
        AtMost("largest fall of the risk, p < n − 1", fall, Enclosure.exact(0)),
        AtMost(
            "risk with all features, less that at p = n + 2",
            model.second_descent(),
            Enclosure.exact(0),
        ),
    ]
    claims += [
        Identity(f"risk at p = {p}", m, model.enclose_risk(p))
        for p, m in zip(found.at, found.means())
    ]
    if found.at:
        highest = Enclosure.at_least(float(found.ridge.max()), samples=len(found.ridge))
        claims.append(AtMost("largest risk of the best ridge", highest, Enclosure.exact(null)))
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_curve(model, found),),
        numbers={f"risk at p = {p}": model.enclose_risk(p) for p in (*model.landmarks(), n)},
        summary=f"risk {float(null):.5g} without features, {model.enclose_risk(n).middle:.5g} at p = n = {n}, "
        f"{model.enclose_risk(last).middle:.5g} with all {last}; {len(found.risks):,} training sets drawn",
        examples=partial(_examples, model),
    )


def sweep_rows(
    rng: np.random.Generator, x: np.ndarray, y: np.ndarray | None, n: int, draws: int
) -> Evidence:
    """What can be said of rows without a law: the sweep itself, and that more features never fit the sample worse."""
    if y is None or len(x) < n + 2:
        raise SubjectError(
            "The sweep needs labels on more than n + 1 rows.",
            got=f"{len(x)} rows",
            remedy="lower --n",
        )
    labels = y.reshape(len(x), -1)[:, 0].astype(np.float64)
    found = sweep_data(rng, x.reshape(len(x), -1), labels, n, draws)
    rise = Enclosure.measured(
        float(np.diff(found.ridge, axis=1).max(initial=0.0)), samples=len(found.ridge)
    )
    errors = found.risks.mean(0)
    worst = found.at[int(errors.argmax())]
    best = found.at[int(errors.argmin())]
    what = "largest rise of the training error from fewer to more features"
    return Evidence(
        claims=(AtMost(what, rise, Enclosure.exact(0), atol=1e-7 * float(labels.var()) + 1e-300),),
        charts=(_draw_data(found, n),),
        numbers={
            "p of the largest test error": float(worst),
            "p of the least test error": float(best),
        },
        summary=f"n = {n}: mean test error {errors.max():.4g} at p = {worst}, {errors.min():.4g} at p = {best}",
    )


def _examples(model: Model) -> Examples:
    """The exact risk at p = D = 2n tends to its limit as n grows."""
    scales = [model.n * 2**k for k in range(8)]
    values = tuple(Model(n, 2 * n, model.signal, model.noise).enclose_risk(2 * n) for n in scales)
    limit = Enclosure.exact(model.signal / 2 + 2 * model.noise)
    within = 2 * float(model.noise) / scales[-1] + 1e-9
    return Examples(
        (Converges("risk at p = D = 2n", limit, values, tuple(float(n) for n in scales), within),)
    )


# ---- charts ---------------------------------------------------------------------------------------------------------


def _draw_curve(model: Model, found: Sweep) -> Curves:
    """The exact curve on both sides of the threshold, what was measured, the limit, and the ridge without a peak."""
    n = model.n
    D = model.features
    every = max(1, D // 400)
    below = list(range(n - 1))
    above = [p for p in range(n + 2, D + 1) if p < 3 * n or p % every == 0 or p == D]
    both = [*below[1:], *above]
    few = both[:: max(1, len(both) // 40)]
    ridge = [float(model.signal + model.noise), *found.ridge.mean(0).tolist()]
    series = (
        _positive(
            "exact, p < n", below, [float(model.risk(p) or 0) for p in below], "bound", "line"
        ),
        _positive(
            "exact, p > n", above, [float(model.risk(p) or 0) for p in above], "bound", "line"
        ),
        _positive("limit n → ∞", few, [model.limit(p) for p in few], "reference", "points"),
        _positive("measured", found.at, found.risks.mean(0).tolist(), "measured", "points"),
        _positive("best ridge", (0, *found.at), ridge, "other", "line"),
    )
    title = f"risk of least squares, n = {n} rows, D = {D} features"
    return Curves(
        title, Axis("features used p"), Axis("risk", "log"), tuple(s for s in series if s.x)
    )


def _positive(name: str, x: Sequence[int], y: Sequence[float], role: Any, mark: Any) -> Series:
    """The points that a logarithmic axis can show."""
    kept = [(float(a), b) for a, b in zip(x, y) if 0 < b < inf]
    return Series(name, tuple(a for a, _ in kept), tuple(b for _, b in kept), role, mark)


def _draw_data(found: Sweep, n: int) -> Curves:
    """Test and training errors on data against the number of features."""

    def show(row: np.ndarray) -> np.ndarray:
        return np.maximum(row, 1e-12)

    return draw_curves(
        f"sweep over features, n = {n} rows",
        found.at,
        x="features used p",
        y="squared error",
        log="y",
        measured={"test error (median)": show(np.median(found.risks, 0))},
        other={"test error (mean)": show(found.risks.mean(0))},
        reference={"training error (mean)": show(found.ridge.mean(0))},
    )
