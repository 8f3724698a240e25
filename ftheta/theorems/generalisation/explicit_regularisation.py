"""Weight decay, early stopping and cross-validation: one spectrum, several filters."""

from typing import Annotated

import numpy as np

from ftheta.generalisation.regularisers.ridge_study import built_in, data_evidence, network_evidence
from ftheta.learning.features import targets_of
from ftheta.learning.outputs import asked_loss
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.subjects.problems import loss_of, rows_of
from ftheta.subjects.readouts import ends_in_tanh, linear_model, readout_of
from ftheta.training.study import affordable, first_rows

KINDS = ("noisy wave", "three points", "correlated columns")


def rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "noisy wave",
    n: Annotated[int, Knob(16, 200, "number of rows", "n", log=True, least=8, most=500)] = 44,
) -> Dataset:
    return Dataset(kind, *built_in(kind, n, rng))


@hypothesis("three rows at least, not all zero, with targets that fit", remedy="give data with targets")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Dataset):
        got = 0 if subject.y is None else subject.y[0].size
        good = got == 1 and len(subject) > 2 and bool(subject.x.any())
        return Finding.decide(good, f"{len(subject)} rows, targets a row: {got}", "counted", basis=Basis.EXACT)
    fits, n = asked_loss(subject), len(subject.data or ())
    return Finding.decide(fits is not None and n > 2, f"{fits or 'no'} loss on {n} rows", "counted", basis=Basis.EXACT)


@hypothesis(r"$0<\tau s_{\max}\le1$", remedy="take a step of at most 1, in units of 1/s_max")
def short_steps(subject: Dataset | Network, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"τ s_max = {step:g}", "a comparison of knobs", basis=Basis.EXACT)


@theorem(
    title="Weight decay, early stopping, cross-validation",
    sources=("seed 2", "seed 3", "hoerl1970", "ali2019", "loshchilov2019"),
    assumes=(targets_known, linear_model, short_steps),
    on=rows,
    breaks_on=ends_in_tanh,
    presets={
        "textbook": {},
        "three points": {"kind": "three points"},
        "correlated columns": {"kind": "correlated columns", "steps": 300},
        "at the edge": {"n": 16, "steps": 1},
        "broken on purpose": {"step": 2.5},
    },
)
def explicit_regularisation(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    step: Annotated[float, Knob(0.05, 1.0, "step of descent, in units of 1/s_max", "τ", least=1e-3, most=10)] = 1.0,
    steps: Annotated[int, Knob(1, 1000, "steps of descent", "k", log=True, most=20_000)] = 50,
    folds: Annotated[int, Knob(2, 20, "folds of the cross-validation", "F")] = 5,
    gamma: Annotated[float, Knob(1e-4, 0.1, "weight decay of a network", "γ", log=True, least=0, most=10)] = 0.01,
) -> Evidence:
    r"""$\hat w_\lambda=(X^\top X+\lambda I)^{-1}X^\top y$ filters the eigenvalues $s_i$ of $X^\top X$ by
    $\varphi_i=\frac{s_i}{s_i+\lambda}$; $k$ steps of gradient descent from 0 on $\frac12\|Xw-y\|^2$ by
    $1-(1-\tau s_i)^k$, between ridge with $\lambda=\frac1{\tau k}$ and twice it. For $y=X\theta+\epsilon$
    $$\mathbb E\|\hat w-\theta\|^2=\sum_i(1-\varphi_i)^2\theta_i^2+\sigma^2\sum_i\varphi_i^2/s_i;$$ the ridge
    $\sigma^2/\max\theta_i^2$ beats least squares and is best if all $\theta_i^2$ are equal. Without row $i$ its
    residual is $\frac{y_i-\hat y_i}{1-H_{ii}}$. Under Adam decoupled decay is not the penalty $\gamma\|\theta\|^2$."""
    if isinstance(subject, Dataset):
        x, y = first_rows(subject, flat=True)
        return data_evidence(x, y[:, 0], rng, step=step, steps=steps, folds=folds)
    y, loss, found = rows_of(subject)[1], loss_of(subject), readout_of(subject)
    if found is None:
        return Evidence(())
    classes = y[:, 0].astype(int) if loss.loss == "cross-entropy" else None
    few = affordable(subject.parameters, loss.rows, min(steps, 50))
    return network_evidence(found, targets_of(y, classes, found.outputs.shape[1]), loss, rng, gamma, few, folds)
