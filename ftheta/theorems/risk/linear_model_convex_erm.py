"""A linear model with a convex loss has a convex risk; the logistic one need not have a minimiser."""

from typing import Annotated

import numpy as np

from ftheta.learning.linear_study import (
    classification_evidence,
    model_evidence,
    nonlinearity,
    regression_evidence,
    signs_of,
)
from ftheta.logic import Basis, Enclosure, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.training.study import first_rows

KINDS = ("three points", "noisy line", "overlapping clouds", "separable clouds", "touching squares", "a product")
LOSSES = ("what the labels ask for", "squared")


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "three points",
    size: Annotated[int, Knob(4, 400, "rows", "n", log=True, most=2000)] = 60,
) -> Dataset | Network:
    if kind == "a product":
        data = Dataset("y = x", np.array([[1.0], [2.0]]), np.array([[1.0], [2.0]]))
        return Network("f(x) = a b x at a = b = 0", lambda p, x: p[0] * p[1] * x, np.zeros(2), (1,), data=data)
    if kind == "three points":
        return Dataset(kind, np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0]))
    if kind == "noisy line":
        x = np.column_stack([np.linspace(-1, 1, size), np.ones(size)])
        return Dataset(kind, x, x @ np.array([1.5, 0.5]) + 0.3 * rng.normal(size=size))
    labels = np.where(np.arange(size) % 2, 1.0, -1.0)
    if kind == "touching squares":  # both classes have rows on the line x₁ = 0
        x = np.round(rng.uniform(0, 1, (size, 2)) * 4) / 4 * np.array([1.0, 2.0]) - np.array([0.0, 1.0])
        x[:, 0] *= labels
        x[:4] = [[0.0, 1.0], [0.0, 0.5], [0.0, -1.0], [0.0, 0.0]]
        return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)
    apart = 0.8 if kind == "overlapping clouds" else 3.5
    x = rng.uniform(-1, 1, (size, 2)) * 1.5 + labels[:, None] * apart * np.array([0.8, 0.6])
    return Dataset(kind, np.column_stack([x, np.ones(size)]), labels)


def product_of_two(rng: np.random.Generator) -> Dataset | Network:
    return rows(rng, kind="a product")


@hypothesis("there is one target a row", remedy="give data with one number or one of two classes a row")
def one_target(subject: Dataset | Network) -> Finding:
    data = subject if isinstance(subject, Dataset) else subject.data
    got = 0 if data is None or data.y is None else data.y[0].size
    return Finding.decide(got == 1, f"targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(r"$f_\theta$ is linear in $\theta$", remedy="train the last layer alone, or features fixed in advance")
def linear_in_parameters(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        return Finding.proved(f"⟨x, θ⟩ with {subject.x[0].size:,} parameters", "fitted so here")
    x = np.random.default_rng(0).normal(size=(4, *subject.input_shape)) if subject.data is None else subject.data.x[:16]
    off = nonlinearity(subject.apply, subject.params, x, np.random.default_rng(0))
    note = f"f(θ + θ′) − f(θ) − f(θ′) + f(0) up to {off:.3g}, relative"
    return Finding.sampled(note) if off < 1e-9 else Finding.failed(note, Enclosure.equal(off))


@theorem(
    title="Linear models with convex losses",
    sources=("seed 0", "albert1984"),
    assumes=(one_target, linear_in_parameters),
    on=rows,
    breaks_on=product_of_two,
    presets={
        "textbook": {},
        "classes that overlap": {"kind": "overlapping clouds"},
        "separable": {"kind": "separable clouds"},
        "at the edge": {"kind": "touching squares"},
        "line": {"kind": "noisy line", "size": 40},
        "broken on purpose": {"kind": "a product"},
    },
    errata=r"The displayed problem of seed 0 lost its name $\mathcal E(\theta)$ before $\triangleq$.",
    audited=False,
)
def linear_model_convex_erm(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    loss: Annotated[str, Knob(says="the loss", symbol="ℓ", choices=LOSSES)] = LOSSES[0],
) -> Evidence:
    r"""$f_\theta(x)=\langle x,\theta\rangle$. If $\ell(\cdot,y)$ is convex, $E(\theta)=\frac1n\sum_i\ell(\langle x_i,
    \theta\rangle,y_i)$ is convex with $\nabla^2E=\frac1n\sum_i\ell''x_ix_i^\top$: for the squared loss
    $\frac2nX^\top X$; for the logistic one $$\nabla^2E\preceq\tfrac1{4n}X^\top X,\quad\text{with equality at }0.$$
    The logistic loss has no minimiser if and only if some $w$ has $y_i\langle x_i,w\rangle\ge0$ for all $i$, not all
    zero."""
    if isinstance(subject, Network):
        return model_evidence(subject, rng)
    x, y = first_rows(subject, flat=True)
    labels = signs_of(y[:, 0]) if loss == LOSSES[0] else None
    return regression_evidence(x, y[:, 0], rng) if labels is None else classification_evidence(x, labels, rng)
