"""Functions with kinks: the sub-gradient method, proximal maps, forward–backward and FISTA."""

from typing import Annotated

import numpy as np

from ftheta.logic import Evidence, Finding, Knob, hypothesis, theorem
from ftheta.subjects import Dataset, Target
from ftheta.training import prox, worst_cases
from ftheta.training.sparse_regression import AbsoluteDeviations, Lasso, one_step

ROWS = 400  # of the data, at most


def sparse_signal(
    rng: np.random.Generator,
    *,
    rows: Annotated[int, Knob(10, 200, "number of measurements", "n", log=True, least=4, most=400)] = 40,
    unknowns: Annotated[int, Knob(5, 200, "number of unknowns", "d", log=True, least=2, most=400)] = 80,
) -> Dataset:
    A, truth = rng.normal(size=(rows, unknowns)) / np.sqrt(rows), np.zeros(unknowns)
    truth[: max(1, unknowns // 10)] = rng.choice([-2.0, 2.0], size=max(1, unknowns // 10))
    return Dataset("sparse signal with noise", A, A @ truth + 0.05 * rng.normal(size=rows))


def hard_threshold(rng: np.random.Generator) -> Target:
    return Target("hard threshold", lambda x: x * (abs(x) > 1), (-3.0,), (3.0,))


def map_of(target: Target):
    """The map on arrays of shape (d,)."""
    return (lambda x: target.f(x[0]).reshape(1)) if target.dimension == 1 else target.f


def box_of(target: Target) -> tuple[np.ndarray, np.ndarray]:
    return np.asarray(target.lo), np.asarray(target.hi)


@hypothesis(
    r"the map is the gradient of a convex function and firmly non-expansive; data have one number $b_i$ a row",
    remedy="a proximal map is monotone and 1-Lipschitz; data need a matrix x and one target a row",
)
def proximal_map(subject: Dataset | Target) -> Finding:
    if isinstance(subject, Dataset):
        size = 0 if subject.y is None else subject.y[0].size
        return Finding.decide(size == 1 and bool(np.any(subject.y)), f"{len(subject):,} rows of {size}", "counted")
    rng = np.random.default_rng(0)
    claim = prox.firmness(subject.name, map_of(subject), *box_of(subject), rng, 2000)
    bent = prox.asymmetry(map_of(subject), *box_of(subject), rng, 200)
    note = f"{claim.what}: {claim.left.hi:.3g} at 2,000 pairs; asymmetry of the Jacobian {bent:.3g}"
    return Finding.sampled(note) if claim.left.hi <= 1e-9 and bent <= 1e-9 else Finding.failed(note)


@hypothesis(r"$\tau=h/L$ with $0<h\le1$", remedy="take a smaller step")
def step_at_most_one(subject: Dataset | Target, *, step: float) -> Finding:
    return Finding.decide(0 < step <= 1, f"h = {step:g}", "a comparison of knobs")


@theorem(
    title="Proximal maps and their descent",
    sources=("seed 1", "moreau1965", "beck2009", "taylor2017b"),
    assumes=(proximal_map, step_at_most_one),
    on=sparse_signal,
    breaks_on=hard_threshold,
    presets={
        "textbook": {},
        "overdetermined": {"rows": 150, "unknowns": 20},
        "almost no penalty": {"penalty": 0.01, "steps": 1000},
        "broken on purpose": {"step": 2.5},
    },
)
def nonsmooth_proximal(
    subject: Dataset | Target,
    rng: np.random.Generator,
    *,
    penalty: Annotated[float, Knob(0.01, 1, "penalty λ in units of ‖Aᵀb‖∞", "λ", log=True, least=1e-6)] = 0.1,
    step: Annotated[float, Knob(0.05, 1.0, "forward–backward step times L", "h", least=1e-6, most=4)] = 1.0,
    steps: Annotated[int, Knob(10, 1000, "number of steps", "k", log=True, least=1, most=5000)] = 200,
    points: Annotated[int, Knob(100, 10_000, "points at which maps are tried", "n", log=True)] = 1000,
) -> Evidence:
    r"""$\mathrm{prox}_f+\mathrm{prox}_{f^*}=I$, and $\|p(x)-p(y)\|^2\le\langle p(x)-p(y),x-y\rangle$ for
    $p=\mathrm{prox}_f$. With sub-gradients bounded by $G$,
    $\min_{i<k}F_i-F^*\le\frac{R^2+G^2\sum\tau^2}{2\sum\tau}$. For $f$ $L$-smooth and $\tau=\frac1L$,
    $$F_k-F^*\le\frac{LR^2}{2k}\ \text{(forward–backward)},\qquad F_k-F^*\le\frac{2LR^2}{(k+1)^2}\ \text{(FISTA)}.$$
    ReLU and soft threshold are proximal maps."""
    common = (*prox.everywhere(rng, points), *worst_cases.kinked_equalities(steps))
    if isinstance(subject, Target):
        claim = prox.firmness(subject.name, map_of(subject), *box_of(subject), rng, points)
        line = map_of(subject) if subject.dimension == 1 else None
        figure = prox.prox_chart(1.0, line and (lambda v: line(v[None])[0]), subject.name)
        return Evidence((claim, *common), (figure,), summary=f"{subject.name}: {claim.what} is {claim.left.hi:.3g}")
    A, b = subject.x[:ROWS].reshape(min(len(subject), ROWS), -1), np.ravel(np.asarray(subject.y))[:ROWS]
    weight = penalty * float(np.abs(A.T @ b).max())
    claims, figure, numbers = Lasso(A, b, weight).claims(step, steps)
    absolute, kinked = AbsoluteDeviations(A, b).run(steps)
    told = "LASSO with {nonzeros:.0f} nonzeros, F* = {F*:.6g}, duality gap {duality gap:.2g}".format_map(numbers)
    everything = (*claims, absolute, one_step(b, weight), *common)
    numbers |= worst_cases.kinked_values(steps)
    return Evidence(everything, (figure, kinked, prox.prox_chart(1.0)), numbers, summary=told)
