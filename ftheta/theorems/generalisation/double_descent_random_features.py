"""Double descent of random ReLU features: the peak at N = n, and the ridge that removes it."""

from fractions import Fraction
from typing import Annotated

import numpy as np

from ftheta.datasets import dataset
from ftheta.generalisation.phenomena.features_study import data_feature_evidence, feature_evidence
from ftheta.generalisation.phenomena.learners import unit_targets
from ftheta.generalisation.phenomena.random_features import Teacher
from ftheta.limits.double_descent import Features, Model
from ftheta.logic import Enclosure, Evidence, Finding, Identity, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Dataset, Measure

KINDS = ("Gaussian rows", "digits", "mnist1d", "stretched rows")


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "Gaussian rows",
    inputs: Annotated[int, Knob(2, 100, "dimension of the Gaussian rows", "d", log=True, least=1, most=400)] = 20,
) -> Measure | Dataset:
    if kind in ("digits", "mnist1d"):
        found = dataset(kind)
        return Dataset(kind, found.x, found.y)
    away = np.full((1, inputs), 0.0 if kind == "Gaussian rows" else np.sqrt(3 / inputs))
    return Measure(kind, np.concatenate([away, -away]), np.full(2, 0.5), 1.0)


def stretched(rng: np.random.Generator, *, inputs: int = 20) -> Measure | Dataset:
    return rows(rng, kind="stretched rows", inputs=inputs)


@hypothesis(r"the rows are $\mathcal N(0,I_d)$, or data", remedy="whiten the law, or hand in rows with labels")
def gaussian_or_data(subject: Measure | Dataset) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.assumed(f"{len(subject):,} rows as they are: the sweep is shown, no formula is claimed")
    far = float(np.abs(subject.atoms).max())
    note = f"centres up to {far:.3g} from 0, standard deviation {subject.spread:g}"
    return (
        Finding.proved(note, "the law is given by these numbers")
        if far == 0 and subject.spread == 1
        else Finding.failed(note)
    )


@hypothesis("rows are left to test on", remedy="lower --n, or give more labelled rows")
def rows_left(subject: Measure | Dataset, *, n: int) -> Finding:
    if isinstance(subject, Measure):
        return Finding.proved("the law is known", "an empty statement")
    note = f"{len(subject):,} rows, n = {n}"
    return Finding.proved(note, "counted") if subject.y is not None and len(subject) >= n + 2 else Finding.failed(note)


@theorem(
    title="Double descent of random ReLU features",
    sources=("seed 3", "belkin2019", "mei2022", "nakkiran2021"),
    assumes=(gaussian_or_data, rows_left),
    on=rows,
    breaks_on=stretched,
    presets={
        "textbook": {},
        "handwritten digits": {"kind": "digits", "n": 200, "noise": 0.1, "draws": 4, "widest": 1600},
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
    widest: Annotated[int, Knob(20, 2000, "largest number of features", "N", log=True, least=5, most=8000)] = 960,
    signal: Annotated[float, Knob(0, 4, "squared norm of the true weights (Gaussian rows)", "r²", most=1e6)] = 1.0,
    noise: Annotated[float, Knob(0, 1, "variance of the noise; of data, share of wrong labels", "σ²", most=1.0)] = 0.25,
    draws: Annotated[int, Knob(4, 100, "training sets drawn", "T", log=True, least=2, most=2000)] = 20,
) -> Evidence:
    r"""Fit $\sum_{j\le N}a_j\max(0,\langle w_j,x\rangle)$, $w_j$ uniform on the sphere, by least squares of least norm
    on $n$ rows $y=\langle\beta,x\rangle+\sigma\epsilon$, $x\sim\mathcal N(0,I_d)$. The risk
    $$a^\top Ka-\langle W\beta,a\rangle+r^2+\sigma^2,\qquad
    K_{jk}=\tfrac1{2\pi}(\sin\theta_{jk}+(\pi-\theta_{jk})\cos\theta_{jk}),$$ with $\theta_{jk}$ the angle of $w_j,w_k$,
    rises up to $N=n$ and falls beyond; with the best ridge it has no peak. As $d\to\infty$ with $\frac Nd$, $\frac nd$
    fixed it tends to the closed form of Mei and Montanari."""
    if isinstance(subject, Dataset):
        if subject.y is None:
            raise SubjectError("The sweep needs labels.", where=subject.name)
        x = subject.x.reshape(len(subject), -1).astype(np.float64)
        return data_feature_evidence(rng, x, unit_targets(subject.y), n, widest, draws, noise)
    d = subject.atoms.shape[1]
    found = feature_evidence(rng, Teacher(d, n, signal, noise), widest, draws)
    law = Features(subject.atoms, subject.weights, subject.spread)
    model = Model(n, d, Fraction(signal), Fraction(noise))
    known = Enclosure.exact(law.null_risk(model)), Enclosure.exact(model.signal + model.noise)
    claims = (Identity("risk without features", *known), *found.claims)
    return Evidence(claims, found.charts, found.numbers, summary=found.summary)
