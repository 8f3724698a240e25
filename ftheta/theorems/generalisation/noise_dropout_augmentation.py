"""Noise, dropout and augmentation: what they minimise on average."""

from typing import Annotated

import numpy as np

from ftheta.generalisation.regularisers.noise_study import data_evidence, network_evidence
from ftheta.learning.features import targets_of
from ftheta.learning.outputs import outputs_of
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network
from ftheta.subjects.readouts import ends_in_tanh, linear_model, readout_of
from ftheta.training.study import first_rows


def rows(
    rng: np.random.Generator,
    *,
    n: Annotated[int, Knob(4, 200, "number of rows", "n", log=True, least=2, most=500)] = 30,
    d: Annotated[int, Knob(2, 12, "entries of a row", "d", most=64)] = 4,
    stretch: Annotated[float, Knob(1, 10, "size of the first column, the others are 1", log=True, most=100)] = 3.0,
) -> Dataset:
    X = rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(n, 1))
    X[:, 0] *= stretch
    return Dataset(f"{n} rows of {d} correlated entries", X, X.sum(1) / d + 0.5 * rng.normal(size=n))


@hypothesis("one target a row, or labels that fit the outputs", remedy="give data with targets")
def targets_known(subject: Dataset | Network) -> Finding:
    if isinstance(subject, Network):
        return Finding.decide(
            outputs_of(subject) is not None, "those of the network's data", "counted", basis=Basis.EXACT
        )
    got = 0 if subject.y is None else subject.y[0].size
    return Finding.decide(got == 1, f"{len(subject)} rows, targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(r"the noise has mean 0", remedy="take offset 0, or subtract the mean of the noise")
def centred_noise(subject: Dataset | Network, *, offset: float) -> Finding:
    return Finding.decide(offset == 0, f"mean {offset:g}", "closed form of the noise", basis=Basis.EXACT)


@theorem(
    title="Input noise, dropout and augmentation as penalties",
    sources=("seed 2", "bishop1995", "wager2013", "srivastava2014", "chen2020"),
    assumes=(targets_known, linear_model, centred_noise),
    on=rows,
    breaks_on=ends_in_tanh,
    presets={
        "textbook": {},
        "half dropped": {"keep": 0.5, "d": 8},
        "loud noise, columns alike": {"spread": 1.0, "stretch": 1.0},
        "at the edge": {"keep": 1.0, "spread": 0.0},
        "broken on purpose": {"offset": 0.5},
    },
)
def noise_dropout_augmentation(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    spread: Annotated[
        float, Knob(0, 2, "spread of the noise (of a network's features, relative)", "s", most=100)
    ] = 0.5,
    keep: Annotated[float, Knob(0.1, 1, "share of entries that dropout keeps", "q", least=0.01)] = 0.7,
    offset: Annotated[float, Knob(0, 1, "mean of the noise", "m", least=-100, most=100)] = 0.0,
    draws: Annotated[int, Knob(200, 5000, "draws of noise and masks", "T", log=True, least=20, most=50_000)] = 1000,
) -> Evidence:
    r"""For a linear model and the squared loss, on average over noise $\mathcal N(0,s^2I)$ on the inputs, or over masks
    that keep an entry with probability $q$ and divide it by $q$, $\mathbb E\|y-\tilde Xw\|^2$ is
    $$\|y-Xw\|^2+ns^2\|w\|^2,\qquad\|y-Xw\|^2+\frac{1-q}q\sum_j\|X_j\|^2w_j^2.$$ The ridge fit to all rows moved
    by a finite group is invariant, and is the fit to the means of their orbits."""
    knobs = {"spread": spread, "keep": keep, "offset": offset, "draws": draws}
    if isinstance(subject, Dataset):
        x, y = first_rows(subject, flat=True)
        grid = subject.x.shape[1:] if subject.x.ndim == 3 else (x.shape[1],)
        return data_evidence(x, y[:, 0], grid, rng, **knobs)
    out, found = outputs_of(subject), readout_of(subject)
    if found is None or out is None:
        return Evidence(())
    y = targets_of(out.y, out.classes, found.outputs.shape[1])[: len(found.phi)]
    return network_evidence(found, y, rng, **knobs)
