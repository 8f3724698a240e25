"""A class that labels few points in all ways learns from few examples."""

from typing import Annotated

import numpy as np

from ftheta.generalisation.bounds.shattering import MOST_POINTS, dependent_rows, lifted
from ftheta.generalisation.bounds.table import classes_known
from ftheta.generalisation.bounds.vc_study import Asked, network_evidence, points_evidence
from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Network

POSITIONS = ("general", "on a line")


def some_points(
    rng: np.random.Generator,
    *,
    dimension: Annotated[int, Knob(1, 4, "dimension of the points", "d", most=8)] = 2,
    position: Annotated[str, Knob(says="how the points lie", choices=POSITIONS)] = "general",
) -> Dataset:
    x = rng.normal(size=(MOST_POINTS, dimension))
    if position == "on a line":
        x = np.arange(MOST_POINTS)[:, None] * np.ones(dimension)
    return Dataset(f"points in {dimension} dimensions, {position}", x)


def collinear(rng: np.random.Generator) -> Dataset:
    return some_points(rng, position="on a line")


def first_points(data: Dataset, points: int) -> np.ndarray:
    """The first rows that differ."""
    flat = data.x.reshape(len(data), -1).astype(float)
    _, where = np.unique(flat, axis=0, return_index=True)
    return flat[np.sort(where)[:points]]


@hypothesis(
    "the points are in general position; for a network, there are rows with classes",
    remedy="move the points a little; a classifier needs --data with one class a row",
)
def general_position(subject: Dataset | Network, *, points: int) -> Finding:
    if isinstance(subject, Network):
        why = classes_known(subject)
        return Finding.failed(why) if why else Finding.assumed("the rows are independent and unseen in training")
    rows = dependent_rows(lifted(first_points(subject, points)))
    note = "no minor vanishes" if rows is None else f"the points {', '.join(map(str, rows))} lie on a hyperplane"
    return Finding.decide(rows is None, note, "every minor in rationals", basis=Basis.EXACT)


@theorem(
    title="Shattering, VC dimension and uniform convergence",
    sources=("seed 1", "vapnik1971", "sauer1972", "cover1965", "bartlett2019", "bartlett2002"),
    assumes=(general_position,),
    on=some_points,
    breaks_on=collinear,
    presets={
        "textbook": {},
        "four dimensions": {"dimension": 4, "points": 8},
        "many rows": {"n": 100_000, "hypotheses": 1_000_000, "radius": 0.01},
        "at the edge": {"dimension": 3, "points": 4, "n": 10},
        "broken on purpose": {"position": "on a line"},
    },
)
def vc_uniform_convergence(
    subject: Dataset | Network,
    rng: np.random.Generator,
    *,
    points: Annotated[int, Knob(1, 10, "points that are labelled", "m", most=12)] = 5,
    n: Annotated[int, Knob(10, 10**6, "sample size", "n", log=True, most=10**7)] = 1000,
    delta: Annotated[float, Knob(0.001, 0.5, "chance to be wrong", "δ", log=True, least=1e-9, most=0.999)] = 0.05,
    hypotheses: Annotated[int, Knob(1, 10**6, "predictors of the finite class", "|H|", log=True, most=10**9)] = 1000,
    radius: Annotated[float, Knob(0.01, 0.5, "deviation allowed", "ε", log=True, least=1e-3, most=1)] = 0.1,
    norm: Annotated[float, Knob(0.1, 10, "radius of the ball of linear functions", "B", log=True, most=1e6)] = 1.0,
    draws: Annotated[int, Knob(1000, 50_000, "random networks drawn", "T", log=True, most=10**6)] = 20_000,
) -> Evidence:
    r"""A class of VC dimension $d$ labels $m$ points in at most $\sum_{i\le d}\binom mi$ ways; halfspaces of $\mathbb
    R^d$ have dimension $d+1$, and make $2\sum_{k\le d}\binom{m-1}k$ labellings of $m$ points in general position. With
    probability at least $1-\delta$ no predictor $h$ of the class has $|R_n(h)-R(h)|$ above
    $$\sqrt{\frac{\ln(2|H|/\delta)}{2n}}\quad\text{or}\quad\sqrt{\frac8n\Big(d\ln\frac{2en}d+\ln\frac4\delta\Big)}.$$
    ReLU networks with $W$ weights in $L$ layers: $c\,WL\log\frac WL\le\mathrm{VC}\le C\,WL\log W$. The Rademacher
    complexity of $\{\langle w,\cdot\rangle:|w|\le B\}$ on points with $|x_i|\le R$ is at most $BR/\sqrt n$."""
    asked = Asked(n, delta, hypotheses, radius, norm)
    if isinstance(subject, Network):
        return network_evidence(subject, asked, rng, draws)
    few = first_points(subject, points)
    return points_evidence(few, subject.x.reshape(len(subject), -1).astype(float), asked, rng)
