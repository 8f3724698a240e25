"""Which of many solutions training finds: least squares, logistic loss and the diagonal network on the same rows."""

from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.estimates import fit_rate
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Converges,
    Curves,
    Enclosure,
    Evidence,
    Identity,
    Rate,
    Series,
    SubjectError,
)

from .descent import gradient_descent
from .hyperbolic import Program
from .margins import Margin, direction_error, logistic_flow, max_margin

EXACT_ROWS, EXACT_COLUMNS = 24, 200
LATEST = 2000.0  # logarithm of the time up to which logistic flow is followed
ALPHAS = np.geomspace(1e-4, 10.0, 41)
SHOWN = 8  # coordinates drawn
Numbers = dict[str, Enclosure | float]


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows `x` with one number `y` each; `solvable`: x has full row rank, so that xθ = y for every y."""

    x: np.ndarray
    y: np.ndarray

    @property
    def rank(self) -> int:
        return int(np.linalg.matrix_rank(self.x))

    @property
    def solvable(self) -> bool:
        return self.rank == len(self.x)

    @property
    def two_classes(self) -> bool:
        return len(np.unique(self.y)) == 2

    @property
    def z(self) -> np.ndarray:
        """Rows times labels ±1: the larger label of two, or the positive ones of many, count as +1."""
        positive = self.y == self.y.max() if self.two_classes else self.y > 0
        return np.where(positive, 1.0, -1.0)[:, None] * self.x

    def margin(self) -> Margin | None:
        """The largest margin, where the labels are two classes or can be any."""
        return max_margin(self.z) if self.two_classes or self.solvable else None


# ---- (a) least squares ----------------------------------------------------------------------------------------------


def projection(x: np.ndarray, y: np.ndarray, start: np.ndarray) -> tuple[list[Fraction], Fraction] | None:
    r"""$\theta_0+X^\top(XX^\top)^{-1}(y-X\theta_0)$ in rationals, and its largest residual; None if rows depend."""
    X, Y, T = (_matrix(a) for a in (x, y[:, None], start[:, None]))
    try:
        nu = (X * X.transpose()).solve(Y - X * T)
    except ZeroDivisionError:
        return None
    theta = T + X.transpose() * nu
    left = X * theta - Y
    read = lambda matrix: [Fraction(int(v.p), int(v.q)) for v in matrix.entries()]
    return read(theta), max((abs(v) for v in read(left)), default=Fraction(0))


def contradiction(x: np.ndarray, y: np.ndarray) -> Fraction:
    r"""A number that no $\max_i|(X\theta-y)_i|$ is below: the largest $|\nu^\top y|/\|\nu\|_1$ over a basis of the
    $\nu$ with $\nu^\top X=0$, in rationals."""
    n = len(x)
    reduced, rank = _matrix(x.T).rref()
    pivots = [next(j for j in range(n) if reduced[i, j] != 0) for i in range(rank)]
    most = Fraction(0)
    for free in sorted(set(range(n)) - set(pivots)):
        nu = [Fraction(0)] * n
        nu[free] = Fraction(1)
        for i, pivot in enumerate(pivots):
            nu[pivot] = -Fraction(int(reduced[i, free].p), int(reduced[i, free].q))
        inner = sum((a * Fraction(float(b)) for a, b in zip(nu, y)), Fraction(0))
        most = max(most, abs(inner) / sum(map(abs, nu)))
    return most


def _matrix(a: np.ndarray) -> Any:
    return fmpq_mat([[fmpq(*v.as_integer_ratio()) for v in row] for row in a.tolist()])


def least_squares(rows: Rows, start: np.ndarray, steps: int) -> tuple[list[Any], Numbers]:
    """Descent on ½‖xθ − y‖² from `start`, against the projection of the start on the solutions."""
    small = rows.x.shape[0] <= EXACT_ROWS and rows.x.shape[1] <= EXACT_COLUMNS
    exact = projection(rows.x, rows.y, start) if small else None
    if exact is not None:
        limit, residual = np.array([float(v) for v in exact[0]]), Enclosure.exact(exact[1])
        numbers: Numbers = {f"limit {i + 1}": Enclosure.exact(v) for i, v in enumerate(exact[0][:4])}
    else:
        limit = start + np.linalg.lstsq(rows.x, rows.y - rows.x @ start, rcond=None)[0]
        shown = contradiction(rows.x, rows.y) if small else Fraction(0)
        least = Enclosure.exact(shown).lo
        found = float(np.abs(rows.x @ limit - rows.y).max())
        residual = Enclosure(least, inf, Basis.EXACT) if least > 0 else Enclosure.equal(found)
        numbers = {f"limit {i + 1}": float(v) for i, v in enumerate(limit[:4])}
    values = np.linalg.svd(rows.x, compute_uv=False)
    values = values[values > values[0] * max(rows.x.shape) * np.finfo(float).eps]
    mu, L = float(values[-1] ** 2), float(values[0] ** 2)
    x, y = rows.x, rows.y
    path = gradient_descent(lambda theta: jnp.sum((x @ theta - y) ** 2) / 2, start, 2 / (mu + L), steps)
    distance, away = (float(np.linalg.norm(p - limit)) for p in (path[-1], start))
    rounding = 1e-12 * (L / mu) * max(float(np.linalg.norm(limit)), away)
    bound = ((L - mu) / (L + mu)) ** steps * away + rounding
    size = max(float(np.abs(y).max()), 1e-300)
    claims = [
        Identity("largest |xθ* − y| at the projection of the start", residual, Enclosure.exact(0), atol=1e-9 * size),
        AtMost("distance of descent to that projection", Enclosure.equal(distance), Enclosure.equal(bound)),
    ]
    return claims, numbers | {"distance of descent to the projection": distance}


# ---- (b) logistic loss ----------------------------------------------------------------------------------------------


def logistic(rows: Rows, best: Margin, steps: int) -> tuple[list[Any], Curves, Numbers]:
    """Flow and descent on the logistic loss from 0, against the max-margin direction."""
    z = rows.z
    s, theta = logistic_flow(z, LATEST)
    error = direction_error(theta, best.direction)
    tau = 4 * len(z) / float(np.linalg.norm(z, 2)) ** 2
    path = gradient_descent(lambda theta: jnp.mean(jax.nn.softplus(-z @ theta)), np.zeros(z.shape[1]), tau, steps)
    k = np.unique(np.geomspace(1, steps, 40).astype(int))
    seen = direction_error(path[k], best.direction)
    late = (s >= LATEST / 20) & (error > 1e-9)
    gap = Enclosure.exact(best.margin.hi) - Enclosure.exact(best.margin.lo)
    claims: list[Any] = [AtMost("margin allowed − margin attained", gap, Enclosure.exact(1e-7 * best.margin.hi))]
    if late.sum() > 2:
        slope = fit_rate(s[late], error[late])
        scales, errors = (tuple(a[late].tolist()) for a in (s, error))
        claims.append(Rate("distance to the max-margin direction, in ln t", 1.0, slope, scales, errors))
    values = tuple(Enclosure.equal(float(v)) for v in error)
    claims.append(Converges("‖θ/‖θ‖ − ŵ/‖ŵ‖‖", Enclosure.exact(0), values, tuple(s.tolist()), 0.02))
    after = float(seen[-1])
    numbers: Numbers = {"margin": best.margin, "distance of descent to max margin": after}
    return claims, _direction_chart(s, error, np.log1p(tau * k), seen), numbers


def _direction_chart(s: np.ndarray, error: np.ndarray, ln_t: np.ndarray, seen: np.ndarray) -> Curves:
    constant = float(error[-1] * s[-1])
    series = (
        Series("c / ln t", s[s > 2], constant / s[s > 2], "bound"),
        Series("gradient flow", s, error),
        Series("descent", ln_t, seen, "other", "points"),
    )
    title = "the direction on separable rows turns to the largest margin"
    return Curves(title, Axis("ln t", "log"), Axis("distance to the max-margin direction", "log"), series)


# ---- (c) the diagonal network ---------------------------------------------------------------------------------------


def diagonal(rows: Rows, alpha: float) -> tuple[list[Any], Curves, Numbers]:
    """The limit of the diagonal network against the convex program, and the path of solutions from ℓ₁ to ℓ₂."""
    program = Program(rows.x, rows.y)
    own, path = program.solutions(np.array([alpha]))[0], program.solutions(ALPHAS)
    trained = program.trained(alpha)
    sparse, round_ = program.least_sum(), program.least_norm()
    size = max(float(np.linalg.norm(own)), 1e-300)
    off = Enclosure() if trained is None else Enclosure.equal(float(np.linalg.norm(trained - own)) / size)
    sums = tuple(Enclosure.equal(float(v)) for v in np.abs(path).sum(axis=1)[::-1])
    ends = tuple(Enclosure.equal(float(np.linalg.norm(b - round_))) for b in path)
    least = float(np.abs(sparse).sum())
    claims = [
        Identity("distance of the trained β to the convex program, relative", off, Enclosure.exact(0), atol=1e-6),
        AtMost("‖β‖₁ of linear programming ≤ ‖β‖₁", Enclosure.equal(least), sums[-1], rtol=1e-7),
        Converges("‖β‖₁ as α → 0", Enclosure.equal(least), sums, tuple((1 / ALPHAS[::-1]).tolist()), 0.05 * least),
        Converges("‖β − β₂‖ as α → ∞", Enclosure.exact(0), ends, tuple(ALPHAS.tolist()), 1e-3 * size),
    ]
    numbers: Numbers = {f"β {i + 1}": float(v) for i, v in enumerate(own[:4])}
    numbers |= {"least ‖β‖₁": least, "‖β‖₁ at α": float(np.abs(own).sum())}
    return claims, _path_chart(program, path, sparse, round_), numbers


def _path_chart(program: Program, path: np.ndarray, sparse: np.ndarray, least: np.ndarray) -> Curves:
    shown = np.sort(np.argsort(np.abs(sparse) + np.abs(least))[::-1][:SHOWN])
    few = ALPHAS[::8]
    trained = [program.trained(float(a)) for a in few]
    pairs = [(a, float(b[i])) for a, b in zip(few, trained) if b is not None for i in shown]
    edge = [(ALPHAS[0] / 2, float(sparse[i])) for i in shown] + [(2 * ALPHAS[-1], float(least[i])) for i in shown]
    lines = tuple(Series(f"β{i + 1}", ALPHAS, path[:, i], "other") for i in shown)
    series = (
        *lines,
        Series("trained", [a for a, _ in pairs], [b for _, b in pairs], "reference", "points"),
        Series("ℓ₁ left, ℓ₂ right", [a for a, _ in edge], [b for _, b in edge], "bound", "points"),
    )
    return Curves("solutions found by β = u² − v² from u = v = α", Axis("α", "log"), Axis("coordinates β_i"), series)


def bias_evidence(rows: Rows, start: float, alpha: float, steps: int) -> Evidence:
    """What can be said of these rows: all three parts where every target can be met, (b) where they are separable."""
    if not rows.rank:
        raise SubjectError(
            "There is nothing to fit.", got=f"{len(rows.x)} rows of rank 0", remedy="give labelled rows that are not 0"
        )
    claims, charts, told = [], [], []
    numbers: Numbers = {}
    best = rows.margin()
    if rows.solvable or best is None:
        origin = np.zeros(rows.x.shape[1])
        origin[0] = start
        claims, numbers = least_squares(rows, origin, steps)
        told.append(f"descent ends {numbers['distance of descent to the projection']:.2g} from the projection of θ₀")
    if rows.solvable:
        more, chart, found = diagonal(rows, alpha)
        claims, charts, numbers = claims + more, [chart], numbers | found
        told.append(f"‖β‖₁ = {found['‖β‖₁ at α']:.5g} at α = {alpha:g}, least {found['least ‖β‖₁']:.5g}")
    if best is not None:
        more, chart, found = logistic(rows, best, steps)
        claims, charts, numbers = claims + more, [*charts, chart], numbers | found
        told.append(
            f"margin {best.margin.middle:.5g}, direction off by {found['distance of descent to max margin']:.2g}"
        )
    return Evidence(tuple(claims), tuple(charts), numbers, summary="; ".join(told))
