"""Among many solutions, training has a preference: least norm, largest margin, or sparse."""

from typing import Annotated

import numpy as np

from ftheta.logic import Basis, Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset
from ftheta.training.implicit_bias import Rows, bias_evidence
from ftheta.training.margins import EXACT_ENTRIES, separates
from ftheta.training.study import first_rows

KINDS = ("sparse signal", "one equation", "two clouds", "contradiction")


def few_rows(
    rng: np.random.Generator,
    *,
    kind: Annotated[str, Knob(says="the built-in rows", choices=KINDS)] = "sparse signal",
    rows: Annotated[int, Knob(1, 20, "equations", "n", most=100)] = 4,
    unknowns: Annotated[int, Knob(2, 40, "unknowns", "d", most=400)] = 8,
) -> Dataset:
    if kind == "one equation":
        return Dataset(kind, np.array([[1.0, 1.0]]), np.array([2.0]))
    if kind == "contradiction":
        return Dataset("θ₁ + θ₂ = 2 and θ₁ + θ₂ = 3", np.ones((2, 2)), np.array([2.0, 3.0]))
    if kind == "two clouds":
        labels = np.repeat([1.0, -1.0], 15)
        return Dataset(kind, rng.uniform(-1, 1, (30, 2)) + labels[:, None] * np.array([2.0, 1.0]), labels)
    x, beta = rng.normal(size=(rows, max(unknowns, rows))), np.zeros(max(unknowns, rows))
    beta[:2] = 1.5, -1.0
    return Dataset(f"{rows} equations for a sparse signal", x, x @ beta)


def contradiction(rng: np.random.Generator) -> Dataset:
    return few_rows(rng, kind="contradiction")


def rows_of(data: Dataset) -> Rows:
    x, y = first_rows(data, flat=True)
    return Rows(x, y[:, 0] if y.shape[1] == 1 else np.zeros(len(x)))


@hypothesis("every row has one target", remedy="give data with one label a row")
def one_target(data: Dataset) -> Finding:
    got = "none" if data.y is None else f"{data.y[0].size}"
    return Finding.decide(got == "1", f"{len(data):,} rows, targets a row: {got}", "counted", basis=Basis.EXACT)


@hypothesis(
    r"the rows are independent ($\mathrm{rank}X=n\le d$), or two classes that a hyperplane through 0 separates",
    remedy="drop rows that depend on others, or add features (a column of ones for an offset)",
)
def many_solutions(data: Dataset) -> Finding:
    rows = rows_of(data)
    note = f"rank {rows.rank}, {len(rows.x)} rows, {rows.x.shape[1]} columns"
    if rows.solvable:
        return Finding.proved(note, "the rank in float64", basis=Basis.FLOAT)
    best = rows.margin()
    if best is None or not separates(rows.z, best.w):
        return Finding.failed(f"{note}; {'not separable' if rows.two_classes else 'the labels are not two classes'}")
    basis = Basis.EXACT if rows.z.size <= EXACT_ENTRIES else Basis.FLOAT
    note += f"; separable with margin {best.margin.lo:.4g}"
    return Finding.proved(note, "w has positive products with all rows", best.margin, basis=basis)


@theorem(
    title="Implicit bias of optimisers and architectures",
    sources=("seed 0", "seed 3", "seed 4", "soudry2018", "woodworth2020"),
    assumes=(one_target, many_solutions),
    on=few_rows,
    breaks_on=contradiction,
    presets={
        "textbook": {},
        "one equation": {"kind": "one equation", "start": 1.0},
        "largest margin": {"kind": "two clouds"},
        "twenty unknowns": {"rows": 8, "unknowns": 20, "alpha": 0.01},
        "at the edge": {"rows": 2, "unknowns": 2},
        "broken on purpose": {"kind": "contradiction"},
    },
)
def implicit_bias(
    data: Dataset,
    rng: np.random.Generator,
    *,
    start: Annotated[
        float, Knob(-3, 3, "first coordinate of the start of least squares", "θ₀", least=-1e3, most=1e3)
    ] = 0.0,
    alpha: Annotated[float, Knob(1e-3, 3, "start of the diagonal network", "α", log=True, least=1e-3, most=10)] = 0.1,
    steps: Annotated[int, Knob(100, 20_000, "steps of descent", "K", log=True, least=1, most=100_000)] = 2000,
) -> Evidence:
    r"""(a) Descent on $\frac12\|X\theta-y\|^2$, $\mathrm{rank}X=n$, converges to the projection of $\theta_0$ on the
    solutions, $\theta_0+X^+(y-X\theta_0)$: from 0 to the solution of least norm. (b) On separable rows the logistic
    loss sends $\theta$ to infinity in the direction of the largest $\ell_2$ margin,
    $\big\|\frac\theta{\|\theta\|}-\frac{\hat w}{\|\hat w\|}\big\|=O(\frac1{\ln t})$. (c) The network $\beta=u^2-v^2$
    from $u=v=\alpha1$ finds
    $$\min_{X\beta=y}\ \sum_i\alpha^2q\Big(\frac{\beta_i}{\alpha^2}\Big),\qquad
    q(z)=2-\sqrt{4+z^2}+z\,\mathrm{arcsinh}\frac z2,$$ that is least $\ell_1$ norm as $\alpha\to0$, least $\ell_2$
    norm as $\alpha\to\infty$."""
    return bias_evidence(rows_of(data), start, alpha, steps)
