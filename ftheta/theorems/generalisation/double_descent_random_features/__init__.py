"""Double descent of random ReLU features: the peak at N = n, and the ridge that removes it."""

from fractions import Fraction
from functools import partial
from math import sqrt
from typing import Annotated

import numpy as np

from ftheta.datasets import dataset
from ftheta.estimates import binomial_interval, mean
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
    hypothesis,
    theorem,
)
from ftheta.risks.double_descent import Features, Model
from ftheta.risks.learners import unit_targets
from ftheta.subjects import Dataset, Measure

from .random_features import (
    RIDGES,
    FeatureSweep,
    Teacher,
    arc_cosine,
    around,
    data_feature_sweep,
    draw_on_sphere,
    feature_sweep,
    limit,
    ridge_path,
    risks,
)

TEST = 20_000  # fresh rows that check the closed form of the risk
# in one or two dimensions ReLU features are nearly dependent, and the peak is not at N = n
FEWEST_INPUTS = 3
HALF = Enclosure.exact(Fraction(1, 2))
KINDS = ("Gaussian rows", "digits", "mnist1d", "stretched rows")


def draw_rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "Gaussian rows",
    inputs: Annotated[
        int, Knob(3, 100, "dimension of the Gaussian rows", "d", log=True, least=1, most=400)
    ] = 20,
) -> Measure | Dataset:
    if kind in ("digits", "mnist1d"):
        found = dataset(kind)
        return Dataset(kind, found.x, found.y)
    away = np.full((1, inputs), 0.0 if kind == "Gaussian rows" else np.sqrt(3 / inputs))
    return Measure(kind, np.concatenate([away, -away]), np.full(2, 0.5), 1.0)


def stretch_rows(rng: np.random.Generator, *, inputs: int = 20) -> Measure | Dataset:
    return draw_rows(rng, kind="stretched rows", inputs=inputs)


@hypothesis(
    r"the rows are $\mathcal N(0,I_d)$, or data",
    remedy="whiten the law, or hand in rows with labels",
)
def gaussian_or_data(subject: Measure | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.assumed(
            f"{len(subject):,} rows as they are: the sweep is shown, no formula is claimed"
        )
    far = float(np.abs(subject.atoms).max())
    note = f"centres up to {far:.3g} from 0, standard deviation {subject.spread:g}"
    return (
        Finding.proved(note, "the law is given by these numbers")
        if far == 0 and subject.spread == 1
        else Finding.failed(note)
    )


@hypothesis(
    rf"the rows have $d\ge{FEWEST_INPUTS}$ entries",
    remedy="raise --inputs, or give more columns: in one or two dimensions the features are nearly dependent",
)
def several_inputs(subject: Measure | Dataset) -> Finding:
    d = (
        int(np.prod(subject.x.shape[1:]))
        if isinstance(subject, Dataset)
        else subject.atoms.shape[1]
    )
    return (
        Finding.proved(f"d = {d}", "counted") if d >= FEWEST_INPUTS else Finding.failed(f"d = {d}")
    )


@hypothesis("rows are left to test on", remedy="lower --n, or give more labelled rows")
def rows_left(subject: Measure | Dataset, *, n: int) -> Finding:
    if isinstance(subject, Measure):
        return Finding.proved("the law is known", "an empty statement")
    note = f"{len(subject):,} rows, n = {n}"
    return (
        Finding.proved(note, "counted")
        if subject.y is not None and len(subject) >= n + 2
        else Finding.failed(note)
    )


@theorem(
    title="Double descent of random ReLU features",
    gist="Least squares on random ReLU features is worst where there are as many features as rows, and good again with "
    "many more; the right amount of ridge removes the peak altogether.",
    see_also=("double-descent", "double-descent-networks", "explicit-regularisation", "ntk-kernel"),
    sources=("scaman-slides", "belkin2019", "mei2022", "nakkiran2021"),
    assumes=(gaussian_or_data, several_inputs, rows_left),
    on=draw_rows,
    breaks_on=stretch_rows,
    presets={
        "textbook": {},
        "handwritten digits": {
            "kind": "digits",
            "n": 200,
            "noise": 0.1,
            "draws": 4,
            "widest": 1600,
        },
        "one-dimensional digits": {"kind": "mnist1d", "n": 200, "draws": 4, "widest": 1600},
        "fifty dimensions": {"inputs": 50, "n": 150, "widest": 1200, "draws": 8},
        "at the edge": {"n": 20, "widest": 21},
        "broken on purpose": {"kind": "stretched rows"},
    },
)
def double_descent_random_features(
    subject: Measure | Dataset,
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(10, 300, "training rows", "n", log=True, least=4, most=1000)] = 60,
    widest: Annotated[
        int, Knob(20, 2000, "largest number of features", "N", log=True, least=5, most=8000)
    ] = 960,
    signal: Annotated[
        float, Knob(0, 4, "squared norm of the true weights (Gaussian rows)", "r²", most=1e6)
    ] = 1.0,
    noise: Annotated[
        float, Knob(0, 1, "variance of the noise; of data, share of wrong labels", "σ²", most=1.0)
    ] = 0.25,
    draws: Annotated[
        int, Knob(4, 100, "training sets drawn", "T", log=True, least=2, most=2000)
    ] = 20,
) -> Evidence:
    r"""Fit $\sum_{j\le N}a_j\max(0,\langle w_j,x\rangle)$, $w_j$ uniform on the sphere, by minimum-norm least squares
    on $n$ rows $y=\langle\beta,x\rangle+\sigma\epsilon$, $x\sim\mathcal N(0,I_d)$. The risk
    $$a^\top Ka-\langle W\beta,a\rangle+r^2+\sigma^2,\qquad
    K_{jk}=\tfrac1{2\pi}(\sin\theta_{jk}+(\pi-\theta_{jk})\cos\theta_{jk}),$$ with $\theta_{jk}$ the angle of $w_j,w_k$,
    peaks at $N=n$ and falls beyond; with the best ridge it has no peak. As $d\to\infty$ with $\frac Nd$, $\frac nd$
    fixed it tends to the closed form of Mei and Montanari."""
    if isinstance(subject, Dataset):
        if subject.y is None:
            raise SubjectError("The sweep needs labels.", where=subject.name)
        x = subject.x.reshape(len(subject), -1).astype(np.float64)
        return sweep_data(rng, x, unit_targets(subject.y), n, widest, draws, noise)
    d = subject.atoms.shape[1]
    law = Features(subject.atoms, subject.weights, subject.spread)
    model = Model(n, d, Fraction(signal), Fraction(noise))
    null = Enclosure.exact(model.signal + model.noise)
    found = sweep_gaussian(rng, Teacher(d, n, signal, noise), widest, draws)
    first = Identity("risk without features", Enclosure.exact(law.null_risk(model)), null)
    return Evidence(
        claims=(first, *found.claims),
        charts=found.charts,
        numbers=found.numbers,
        summary=found.summary,
        examples=found.examples,
    )


def sweep_gaussian(rng: np.random.Generator, teacher: Teacher, widest: int, draws: int) -> Evidence:
    """The sweep on Gaussian rows, with the closed form of the risk checked on fresh rows."""
    found = feature_sweep(rng, teacher, around(teacher.rows, widest), draws)
    measured, closed = check_closed_form(rng, teacher, 2 * teacher.rows)
    claims = [
        Identity("risk of one fit: fresh rows, closed form", measured, closed),
        *_claim_shape(found),
    ]
    seed = rng.bit_generator.seed_seq.spawn(1)[0]  # type: ignore[attr-defined]
    shares = {"n/2": 0.5, "2n": 2.0, "4n": 4.0}
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_sweep(found, teacher),),
        numbers={
            f"limit at N = {name}": limit(teacher, share * teacher.rows)
            for name, share in shares.items()
        },
        summary=_summarise(found, f"risk {teacher.null_risk:.3g} without features"),
        examples=partial(_examples, seed, teacher, draws) if teacher.signal > 0 else None,
    )


def sweep_data(
    rng: np.random.Generator,
    x: np.ndarray,
    y: np.ndarray,
    n: int,
    widest: int,
    draws: int,
    noise: float,
) -> Evidence:
    """The sweep on rows of data: what trains and what tests is drawn anew each time."""
    found = data_feature_sweep(rng, x, y, n, around(n, widest), draws, noise)
    classes = y.shape[1] > 1
    rise = float(np.diff(found.train, axis=1).max(initial=0.0))
    training = AtMost(
        "largest rise of the training error from fewer to more features",
        Enclosure.measured(rise, samples=found.draws),
        Enclosure.exact(0),
        atol=1e-7 * float(np.abs(y).max() ** 2) + 1e-300,
    )
    title = f"random ReLU features on data: n = {n} rows" + (
        f", {noise:.0%} of the labels wrong" if noise else ""
    )
    error = Axis("test error in %") if classes else Axis("squared test error", "log")
    series = _measured_series(found, 100.0 if classes else 1.0)
    return Evidence(
        claims=(training, *_claim_shape(found)),
        charts=(Curves(title, Axis("random features N", "log"), error, series),),
        numbers={"N of the largest test error": float(found.peak)},
        summary=_summarise(found, f"{x.shape[1]} inputs"),
    )


# ---- claims ---------------------------------------------------------------------------------------------------------


def check_closed_form(
    rng: np.random.Generator, teacher: Teacher, features: int
) -> tuple[Enclosure, Enclosure]:
    """The mean squared error of one fit on fresh rows, and its population risk."""
    d = teacher.inputs
    n = teacher.rows
    beta = np.full(d, sqrt(teacher.signal / d))
    W = draw_on_sphere(rng, features, d)
    x = rng.normal(size=(n + TEST, d))
    y = x @ beta + sqrt(teacher.noise) * rng.normal(size=n + TEST)
    F = np.maximum(x @ W.T, 0)
    a = ridge_path(F[:n], y[:n, None], RIDGES[:1])[0, :, 0]
    exact = float(risks(teacher, beta, W, arc_cosine(W), a[None])[0])
    return mean((F[n:] @ a - y[n:]) ** 2), Enclosure.equal(exact)


def _claim_shape(found: FeatureSweep) -> list[Claim]:
    """Up to N = n, down beyond it, and without a peak for the best ridge.

    What holds in most draws is counted, and what holds of a mean has its interval: few draws contradict nothing.
    """
    n = found.rows
    if n not in found.at or n >= found.at[-1]:
        return []
    here = found.at.index(n)
    peak = found.least_norm[:, here]
    before = found.least_norm[:, int(found.middle[:here].argmin())] if here else peak
    rise, fall = _measure_rise(found)
    return [
        _claim_mostly(
            "½ ≤ share of draws with no more risk at the best N < n than at N = n", before <= peak
        ),
        _claim_mostly(
            "½ ≤ share of draws with no more risk with most features than at N = n",
            found.least_norm[:, -1] <= peak,
        ),
        _claim_mostly(
            "½ ≤ share of draws with no more risk for the best ridge than for the minimum-norm fit, N = n",
            found.best_risks(here) <= peak,
        ),
        AtMost(
            "best ridge: rise of the mean risk with N, against a quarter of its fall",
            rise,
            fall / 4,
        ),
    ]


def _claim_mostly(what: str, held: np.ndarray) -> Claim:
    """That something holds with probability ½ at least, from independent draws in which it held or not."""
    return AtMost(what, HALF, binomial_interval(int(held.sum()), len(held)))


def _measure_rise(found: FeatureSweep) -> tuple[Enclosure, Enclosure]:
    """The largest rise of the mean risk with the best ridge from one number of features to the next, and its fall from
    the highest to the lowest: means of differences in the same draws."""
    columns = [found.best_risks(i) for i in range(len(found.at))]
    step = int(np.diff(found.best).argmax())
    highest = int(found.best.argmax())
    lowest = int(found.best.argmin())
    return mean(columns[step + 1] - columns[step]), mean(columns[highest] - columns[lowest])


def _examples(seed: np.random.SeedSequence, teacher: Teacher, draws: int) -> Examples:
    """At N = 2n, rows and inputs growing together, the risk tends to its limit."""
    rng = np.random.default_rng(seed)
    share = teacher.rows / teacher.inputs
    scales = (10, 20, 40, 80)
    grown = [Teacher(d, max(1, round(share * d)), teacher.signal, teacher.noise) for d in scales]
    means = [
        feature_sweep(rng, t, [2 * t.rows], draws, RIDGES[:1]).least_norm.mean() for t in grown
    ]
    values = tuple(Enclosure.measured(float(m), samples=draws) for m in means)
    goal = limit(grown[-1], 2 * grown[-1].rows)
    return Examples(
        (
            Converges(
                "risk at N = 2n",
                Enclosure.equal(goal),
                values,
                tuple(map(float, scales)),
                0.2 * goal,
            ),
        )
    )


# ---- charts ---------------------------------------------------------------------------------------------------------


def _draw_sweep(found: FeatureSweep, teacher: Teacher) -> Curves:
    """Measured risks and their limit for many dimensions, which is infinite at N = n."""
    lines = [
        N for N in np.geomspace(found.at[0], found.at[-1], 60) if abs(N / teacher.rows - 1) > 0.05
    ]
    limits = Series("limit d → ∞", lines, [limit(teacher, N) for N in lines], "bound", "points")
    title = f"random ReLU features: n = {teacher.rows} rows in {teacher.inputs} dimensions"
    series = (limits, *_measured_series(found))
    return Curves(title, Axis("random features N", "log"), Axis("risk", "log"), series)


def _measured_series(found: FeatureSweep, scale: float = 1.0) -> tuple[Series, ...]:
    low = scale * np.quantile(found.least_norm, 0.1, axis=0)
    high = scale * np.quantile(found.least_norm, 0.9, axis=0)
    return (
        Series(
            "minimum norm (median)", found.at, scale * found.middle, "measured", "line", low, high
        ),
        Series("best ridge", found.at, scale * found.best, "other"),
    )


def _summarise(found: FeatureSweep, more: str) -> str:
    peak = found.at.index(found.peak)
    return (
        f"median risk {found.middle[peak]:.3g} at N = {found.peak} (n = {found.rows}), {found.middle[-1]:.3g} with "
        f"{found.at[-1]:,} features, {found.best.min():.3g} with the best ridge; {more}; {found.draws} draws"
    )
