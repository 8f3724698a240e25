"""Double descent of trained networks: by width, by number of rows, and along training."""

from typing import Annotated

import numpy as np

from ftheta.datasets import dataset
from ftheta.generalisation.phenomena.learners import Setting, two_speeds, unit_targets
from ftheta.generalisation.phenomena.learners_study import network_evidence
from ftheta.logic import Evidence, Finding, Knob, SubjectError, hypothesis, theorem
from ftheta.subjects import Dataset

KINDS = ("digits", "mnist1d", "two speeds")


def labelled_rows(
    rng: np.random.Generator, *, kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "digits"
) -> Dataset:
    if kind == "two speeds":
        return Dataset(kind, *two_speeds(rng, 1100))
    found = dataset(kind)
    return Dataset(kind, found.x, found.y)


@hypothesis("there are labelled rows to train and to test on", remedy="lower --n, or give more labelled rows")
def rows_left(data: Dataset, *, n: int, along: str) -> Finding:
    note = f"{len(data):,} rows, {'up to ' if along == 'rows' else ''}n = {n}"
    return Finding.proved(note, "counted") if data.y is not None and len(data) >= n + 50 else Finding.failed(note)


@hypothesis("the labels are noisy, or the inputs have several scales", remedy="raise --noise")
def something_to_overfit(data: Dataset, *, noise: float) -> Finding:
    note = f"{noise:.0%} of the labels are made wrong; clean labels show the peak less, or not"
    return Finding.assumed(note)


@theorem(
    title="Double descent of trained networks",
    sources=("seed 3", "belkin2019", "nakkiran2021", "heckel2021"),
    assumes=(rows_left, something_to_overfit),
    on=labelled_rows,
    unbreakable="a phenomenon: it is seen or it is not, and a run without it refutes nothing",
    presets={
        "textbook": {},
        "thirty widths, five seeds": {"points": 30, "seeds": 5, "steps": 1000},
        "more rows hurt": {"along": "rows", "n": 1400, "width": 12, "points": 12, "steps": 1200},
        "along training": {
            "along": "steps", "kind": "two speeds", "n": 100, "noise": 0.0, "activation": "identity", "steps": 10_000,
            "seeds": 5,
        },
        "one-dimensional digits": {"kind": "mnist1d", "points": 9},
        "weight decay": {"decay": 3.0},
        "at the edge": {"width": 2, "points": 1, "seeds": 1, "steps": 50},
    },
)  # fmt: skip
def double_descent_networks(
    data: Dataset,
    rng: np.random.Generator,
    *,
    along: Annotated[str, Knob(says="what grows", choices=("width", "rows", "steps"))] = "width",
    n: Annotated[
        int, Knob(50, 1400, "training rows (the most, along rows)", "n", log=True, least=25, most=20_000)
    ] = 800,
    width: Annotated[int, Knob(4, 256, "hidden units (the most, along width)", "h", log=True, least=2, most=2048)] = 64,
    noise: Annotated[float, Knob(0, 0.5, "share of wrong training labels", most=1.0)] = 0.2,
    points: Annotated[int, Knob(5, 40, "widths or numbers of rows", least=1, most=200)] = 10,
    seeds: Annotated[int, Knob(1, 10, "networks trained for each", "S", least=1, most=100)] = 2,
    steps: Annotated[int, Knob(100, 10_000, "optimisation steps", "K", log=True, least=1, most=1_000_000)] = 800,
    step: Annotated[float, Knob(1e-3, 0.1, "step of the optimiser", "τ", log=True, least=1e-5, most=1.0)] = 0.02,
    decay: Annotated[float, Knob(0, 5, "weight decay", "λ", most=100)] = 0.0,
    activation: Annotated[str, Knob(says="of the hidden layer", choices=("relu", "tanh", "identity"))] = "relu",
) -> Evidence:
    r"""Train networks with one hidden layer of $h$ units on $n$ rows with noisy labels. As $h$ grows the test error
    falls, rises to a peak where the $h(d+1+K)+K$ parameters just fit the labels, and falls again; at fixed $h$ more
    rows bring the network to its peak, so that more data can hurt; along training the test error of a network that
    learns at several speeds falls, rises and falls again."""
    if data.y is None:
        raise SubjectError("Networks are trained on labels.", where=data.name)
    setting = Setting(width, n, noise, steps, step, decay, activation)
    x = data.x.reshape(len(data), -1).astype(np.float64)
    return network_evidence(x, unit_targets(data.y), setting, along, points, int(rng.integers(2**31)), seeds)
