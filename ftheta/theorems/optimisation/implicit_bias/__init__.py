"""Among many solutions, training has a preference: least norm, largest margin, or sparse."""

from fractions import Fraction
from math import inf
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np

from ftheta.estimates import fit_rate
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Finding,
    Identity,
    Knob,
    Rate,
    Series,
    SubjectError,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.training.descent import gradient_descent
from ftheta.training.margins import EXACT_ENTRIES, Margin, direction_error, logistic_flow, separates
from ftheta.training.study import first_rows

from .hyperbolic import Program
from .rows import LabelledRows, projection, unreachable_residual

EXACT_ROWS = 24
EXACT_COLUMNS = 200
LATEST = 2000.0  # logarithm of the time up to which logistic flow is followed
ALPHAS = np.geomspace(1e-4, 10.0, 41)
SHOWN = 8  # coordinates drawn
Numbers = dict[str, Enclosure | float]
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
        return Dataset(
            kind, rng.uniform(-1, 1, (30, 2)) + labels[:, None] * np.array([2.0, 1.0]), labels
        )
    x = rng.normal(size=(rows, max(unknowns, rows)))
    beta = np.zeros(max(unknowns, rows))
    beta[:2] = 1.5, -1.0
    return Dataset(f"{rows} equations for a sparse signal", x, x @ beta)


def contradiction(rng: np.random.Generator) -> Dataset:
    return few_rows(rng, kind="contradiction")


def rows_of(data: Dataset) -> LabelledRows:
    x, y = first_rows(data, flat=True)
    return LabelledRows(x, y[:, 0] if y.shape[1] == 1 else np.zeros(len(x)))


@hypothesis("every row has one target", remedy="give data with one label per row")
def one_target(data: Dataset) -> Finding:
    got = "none" if data.y is None else f"{data.y[0].size}"
    return Finding.decide(
        got == "1", f"{len(data):,} rows, targets per row: {got}", "counted", basis=Basis.EXACT
    )


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
        return Finding.failed(
            f"{note}; {'not separable' if rows.two_classes else 'the labels are not two classes'}"
        )
    basis = Basis.EXACT if rows.z.size <= EXACT_ENTRIES else Basis.FLOAT
    note += f"; separable with margin {best.margin.lo:.4g}"
    return Finding.proved(note, "w has positive products with all rows", best.margin, basis=basis)


@theorem(
    title="Implicit bias of optimisers and architectures",
    sources=("peyre-slides", "scaman-slides", "peyre-notes", "soudry2018", "woodworth2020"),
    gist="Where many parameters fit the data, the optimiser and the architecture decide which of them training finds: "
    "minimum norm, maximum margin or sparse solutions.",
    see_also=(
        "overparam-gd",
        "double-descent",
        "explicit-regularisation",
        "open-problems-register",
    ),
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
        float,
        Knob(-3, 3, "first coordinate of the start of least squares", "θ₀", least=-1e3, most=1e3),
    ] = 0.0,
    alpha: Annotated[
        float, Knob(1e-3, 3, "start of the diagonal network", "α", log=True, least=1e-3, most=10)
    ] = 0.1,
    steps: Annotated[
        int, Knob(100, 20_000, "steps of gradient descent", "K", log=True, least=1, most=100_000)
    ] = 2000,
) -> Evidence:
    r"""(a) Gradient descent on $\frac12\|X\theta-y\|^2$, $\mathrm{rank}X=n$, converges to the projection of $\theta_0$
    on the solutions, $\theta_0+X^+(y-X\theta_0)$: from 0 to the minimum-norm solution. (b) On separable rows the
    logistic loss sends $\theta$ to infinity in the direction of the largest $\ell_2$ margin,
    $\big\|\frac\theta{\|\theta\|}-\frac{\hat w}{\|\hat w\|}\big\|=O(\frac1{\ln t})$. (c) The network $\beta=u^2-v^2$
    from $u=v=\alpha1$ finds
    $$\min_{X\beta=y}\ \sum_i\alpha^2q\Big(\frac{\beta_i}{\alpha^2}\Big),\qquad
    q(z)=2-\sqrt{4+z^2}+z\,\mathrm{arcsinh}\frac z2,$$ that is least $\ell_1$ norm as $\alpha\to0$, least $\ell_2$
    norm as $\alpha\to\infty$."""
    return measure_bias(rows_of(data), start, alpha, steps)


def measure_bias(rows: LabelledRows, start: float, alpha: float, steps: int) -> Evidence:
    """What can be said of these rows: all three parts where every target can be met, (b) where they are separable."""
    if not rows.rank:
        raise SubjectError(
            "There is nothing to fit.",
            got=f"{len(rows.x)} rows of rank 0",
            remedy="give labelled rows that are not 0",
        )
    claims = []
    charts = []
    parts = []
    numbers: Numbers = {}
    best = rows.margin()
    if rows.solvable or best is None:
        origin = np.zeros(rows.x.shape[1])
        origin[0] = start
        claims, chart, numbers = _descend_least_squares(rows, origin, steps)
        charts = [] if rows.solvable else [chart]
        gap = numbers["distance of gradient descent to the projection"]
        parts.append(f"gradient descent ends {gap:.2g} from the projection of θ₀")
    if rows.solvable:
        more, chart, found = _train_diagonal(rows, alpha)
        claims = claims + more
        charts = [chart]
        numbers = numbers | found
        parts.append(
            f"‖β‖₁ = {found['‖β‖₁ at α']:.5g} at α = {alpha:g}, least {found['least ‖β‖₁']:.5g}"
        )
    if best is not None:
        more, chart, found = _follow_logistic(rows, best, steps)
        claims = claims + more
        charts = [*charts, chart]
        numbers = numbers | found
        gap = found["distance of gradient descent to max margin"]
        parts.append(f"margin {best.margin.middle:.5g}, direction off by {gap:.2g}")
    return Evidence(tuple(claims), tuple(charts), numbers, summary="; ".join(parts))


# -- (a) least squares --------------------------------------------------------------------------------------


def _descend_least_squares(
    rows: LabelledRows, start: np.ndarray, steps: int
) -> tuple[list[Any], Curves, Numbers]:
    """Descent on ½‖xθ − y‖² from `start`, against the projection of the start on the solutions."""
    small = rows.x.shape[0] <= EXACT_ROWS and rows.x.shape[1] <= EXACT_COLUMNS
    exact = projection(rows.x, rows.y, start) if small else None
    if exact is not None:
        limit = np.array([float(v) for v in exact[0]])
        residual = Enclosure.exact(exact[1])
        numbers: Numbers = {
            f"limit {i + 1}": Enclosure.exact(v) for i, v in enumerate(exact[0][:4])
        }
    else:
        limit = start + np.linalg.lstsq(rows.x, rows.y - rows.x @ start, rcond=None)[0]
        shown = unreachable_residual(rows.x, rows.y) if small else Fraction(0)
        least = Enclosure.exact(shown).lo
        found = float(np.abs(rows.x @ limit - rows.y).max())
        residual = Enclosure(least, inf, Basis.EXACT) if least > 0 else Enclosure.equal(found)
        numbers = {f"limit {i + 1}": float(v) for i, v in enumerate(limit[:4])}
    values = np.linalg.svd(rows.x, compute_uv=False)
    values = values[values > values[0] * max(rows.x.shape) * np.finfo(float).eps]
    mu = float(values[-1] ** 2)
    L = float(values[0] ** 2)
    x = rows.x
    y = rows.y
    path = gradient_descent(
        lambda theta: jnp.sum((x @ theta - y) ** 2) / 2, start, 2 / (mu + L), steps
    )
    distance, away = (float(np.linalg.norm(p - limit)) for p in (path[-1], start))
    rounding = 1e-12 * (L / mu) * max(float(np.linalg.norm(limit)), away)
    bound = ((L - mu) / (L + mu)) ** steps * away + rounding
    size = max(float(np.abs(y).max()), 1e-300)
    claims = [
        Identity(
            "largest |xθ* − y| at the projection of the start",
            residual,
            Enclosure.exact(0),
            atol=1e-9 * size,
        ),
        AtMost(
            "distance of gradient descent to that projection",
            Enclosure.equal(distance),
            Enclosure.equal(bound),
        ),
    ]
    far = np.abs(np.asarray(path) @ x.T - y).max(axis=1)
    series = Series("largest |xθ − y|", np.arange(len(far)), far, "measured")
    chart = Curves("gradient descent on least squares", Axis("step"), Axis("residual"), (series,))
    return claims, chart, numbers | {"distance of gradient descent to the projection": distance}


# -- (b) logistic loss --------------------------------------------------------------------------------------


def _follow_logistic(
    rows: LabelledRows, best: Margin, steps: int
) -> tuple[list[Any], Curves, Numbers]:
    """Flow and descent on the logistic loss from 0, against the max-margin direction."""
    z = rows.z
    s, theta = logistic_flow(z, LATEST)
    error = direction_error(theta, best.direction)
    tau = 4 * len(z) / float(np.linalg.norm(z, 2)) ** 2
    path = gradient_descent(
        lambda theta: jnp.mean(jax.nn.softplus(-z @ theta)), np.zeros(z.shape[1]), tau, steps
    )
    k = np.unique(np.geomspace(1, steps, 40).astype(int))
    seen = direction_error(path[k], best.direction)
    late = (s >= LATEST / 20) & (error > 1e-9)
    gap = Enclosure.exact(best.margin.hi) - Enclosure.exact(best.margin.lo)
    claims: list[Any] = [
        AtMost("margin allowed − margin attained", gap, Enclosure.exact(1e-7 * best.margin.hi))
    ]
    if late.sum() > 2:
        slope = fit_rate(s[late], error[late])
        scales, errors = (tuple(a[late].tolist()) for a in (s, error))
        claims.append(
            Rate("distance to the max-margin direction, in ln t", 1.0, slope, scales, errors)
        )
    values = tuple(Enclosure.equal(float(v)) for v in error)
    claims.append(Converges("‖θ/‖θ‖ − ŵ/‖ŵ‖‖", Enclosure.exact(0), values, tuple(s.tolist()), 0.02))
    after = float(seen[-1])
    numbers: Numbers = {"margin": best.margin, "distance of gradient descent to max margin": after}
    return claims, _draw_direction(s, error, np.log1p(tau * k), seen), numbers


def _draw_direction(s: np.ndarray, error: np.ndarray, ln_t: np.ndarray, seen: np.ndarray) -> Curves:
    constant = float(error[-1] * s[-1])
    series = (
        Series("c / ln t", s[s > 2], constant / s[s > 2], "bound"),
        Series("gradient flow", s, error),
        Series("gradient descent", ln_t, seen, "other", "points"),
    )
    title = "the direction on separable rows turns to the largest margin"
    return Curves(
        title, Axis("ln t", "log"), Axis("distance to the max-margin direction", "log"), series
    )


# -- (c) the diagonal network -------------------------------------------------------------------------------


def _train_diagonal(rows: LabelledRows, alpha: float) -> tuple[list[Any], Curves, Numbers]:
    """The limit of the diagonal network against the convex program, and the path of solutions from ℓ₁ to ℓ₂."""
    program = Program(rows.x, rows.y)
    own = program.solutions(np.array([alpha]))[0]
    path = program.solutions(ALPHAS)
    trained = program.train(alpha)
    sparse = program.least_sum()
    round_ = program.least_norm()
    size = max(float(np.linalg.norm(own)), 1e-300)
    off = (
        Enclosure()
        if trained is None
        else Enclosure.equal(float(np.linalg.norm(trained - own)) / size)
    )
    sums = tuple(Enclosure.equal(float(v)) for v in np.abs(path).sum(axis=1)[::-1])
    ends = tuple(Enclosure.equal(float(np.linalg.norm(b - round_))) for b in path)
    least = float(np.abs(sparse).sum())
    claims = [
        Identity(
            "distance of the trained β to the convex program, relative",
            off,
            Enclosure.exact(0),
            atol=1e-6,
        ),
        AtMost("‖β‖₁ of linear programming ≤ ‖β‖₁", Enclosure.equal(least), sums[-1], rtol=1e-7),
        Converges(
            "‖β‖₁ as α → 0",
            Enclosure.equal(least),
            sums,
            tuple((1 / ALPHAS[::-1]).tolist()),
            0.05 * least,
        ),
        Converges(
            "‖β − β₂‖ as α → ∞", Enclosure.exact(0), ends, tuple(ALPHAS.tolist()), 1e-3 * size
        ),
    ]
    numbers: Numbers = {f"β {i + 1}": float(v) for i, v in enumerate(own[:4])}
    numbers |= {"least ‖β‖₁": least, "‖β‖₁ at α": float(np.abs(own).sum())}
    return claims, _draw_solutions(program, path, sparse, round_), numbers


def _draw_solutions(
    program: Program, path: np.ndarray, sparse: np.ndarray, least: np.ndarray
) -> Curves:
    shown = np.sort(np.argsort(np.abs(sparse) + np.abs(least))[::-1][:SHOWN])
    few = ALPHAS[::8]
    trained = [program.train(float(a)) for a in few]
    pairs = [(a, float(b[i])) for a, b in zip(few, trained) if b is not None for i in shown]
    edge = [(ALPHAS[0] / 2, float(sparse[i])) for i in shown] + [
        (2 * ALPHAS[-1], float(least[i])) for i in shown
    ]
    lines = tuple(Series(f"β{i + 1}", ALPHAS, path[:, i], "other") for i in shown)
    series = (
        *lines,
        Series("trained", [a for a, _ in pairs], [b for _, b in pairs], "reference", "points"),
        Series("ℓ₁ left, ℓ₂ right", [a for a, _ in edge], [b for _, b in edge], "bound", "points"),
    )
    return Curves(
        "solutions found by β = u² − v² from u = v = α",
        Axis("α", "log"),
        Axis("coordinates β_i"),
        series,
    )
