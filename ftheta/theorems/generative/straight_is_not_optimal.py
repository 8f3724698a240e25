"""Rectified flows become straight, and a straight flow need not be the shortest."""

from fractions import Fraction
from typing import Annotated

import numpy as np
from flint import arb, ctx

from ftheta.flows.runge_kutta import runge_kutta_step
from ftheta.logic import (
    AtMost,
    Axis,
    Basis,
    Claim,
    Curves,
    Enclosure,
    Evidence,
    Examples,
    Finding,
    Identity,
    Knob,
    hypothesis,
    theorem,
)
from ftheta.subjects import Dataset
from ftheta.theorems.charts_generative import join_lines

BITS = 128
STEPS = 100
MOST_ENTRIES = 128
Numbers = dict[str, Enclosure | float]

# ---- subjects --------------------------------------------------------------------------------------------------------


def two_clouds(
    rng: np.random.Generator,
    *,
    tilt: Annotated[
        float,
        Knob(
            -1.5,
            1.5,
            "covariance of the two coordinates of the first cloud",
            "c",
            least=-1.9,
            most=1.9,
        ),
    ] = 1.0,
    flat: Annotated[bool, Knob(says="the first cloud lies on a line")] = False,
) -> Dataset:
    r"""Two clouds of four rows each, with the covariances $\begin{pmatrix}2&c\\c&2\end{pmatrix}$ and
    $\mathrm{diag}(1,4)$."""
    first = np.linalg.cholesky(np.array([[2.0, tilt], [tilt, 2.0]])).T
    second = np.diag([1.0, 2.0])
    if flat:
        first = np.array([[1.0, 1.0], [1.0, 1.0]])
    rows = [np.sqrt(2) * np.concatenate([m, -m]) for m in (first, second)]
    return Dataset("two clouds", np.concatenate(rows), np.repeat([0, 1], 4))


def _clouds(data: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """The rows of the two most frequent labels, in the order of the labels."""
    assert data.y is not None
    labels, counts = np.unique(data.y.reshape(len(data), -1)[:, 0], return_counts=True)
    two = np.sort(labels[np.argsort(-counts, kind="stable")[:2]])
    rows = np.asarray(data.x, np.float64).reshape(len(data), -1)
    of = data.y.reshape(len(data), -1)[:, 0]
    return rows[of == two[0]], rows[of == two[1]]


@hypothesis(
    "two clouds of rows, told apart by a label, neither on a hyperplane",
    remedy="give data with labels, at least two of them, and more rows of each than entries",
)
def two_full_clouds(data: Dataset) -> Finding:
    d = int(np.prod(data.x.shape[1:]))
    if data.y is None or len(np.unique(data.y)) < 2:
        return Finding.failed("no two labels")
    if d > MOST_ENTRIES:
        return Finding.failed(f"{d} entries; at most {MOST_ENTRIES} are taken")
    least = []
    for rows in _clouds(data):
        values = np.linalg.eigvalsh(np.cov(rows.T, bias=True).reshape(d, d))
        least.append(float(values[0]) / max(float(values[-1]), 1e-300))
    note = f"least ÷ largest variance: {least[0]:.3g} and {least[1]:.3g}"
    return Finding.decide(
        min(least) > 1e-10, note, "eigenvalues of the covariances", Enclosure.equal(min(least))
    )


# ---- the theorem -----------------------------------------------------------------------------------------------------


@theorem(
    title="Straight flows are not optimal transport",
    gist="Rectifying a flow makes its paths straight and never costs more, but in more than one dimension it does not "
    "lead to optimal transport: between Gaussians it does so only if their covariances commute.",
    see_also=("flow-matching", "normalising-flows"),
    sources=("liu2023", "benamou2000"),
    assumes=(two_full_clouds,),
    on=two_clouds,
    breaks_on="broken on purpose",
    presets={
        "textbook": {},
        "commuting covariances": {"tilt": 0.0},
        "almost on a line": {"tilt": 1.8},
        "broken on purpose": {"flat": True},
    },
    errata="Reflow is often said to converge to optimal transport. It does on the line; in the plane it stops at the "
    "first straight flow, which need not be optimal.",
)
def straight_is_not_optimal(data: Dataset, rng: np.random.Generator) -> Evidence:
    r"""$W_2^2(\mu_0,\mu_1)=\min\int_0^1\int|v_t|^2\,d\rho_t\,dt$ over flows from $\mu_0$ to $\mu_1$. Rectifying a
    coupling, that is following $\mathbb E[x_1-x_0\mid x_t]$, never raises $\mathbb E|x_1-x_0|^2$. From the independent
    coupling of $\mathcal N(m_0,\Sigma_0)$ and $\mathcal N(m_1,\Sigma_1)$ it leads to the linear map
    $M=(\Sigma_1\Sigma_0^{-1})^{1/2}$, whose paths are straight at once; its cost
    $$|m_1-m_0|^2+\mathrm{tr}\big(\Sigma_0+\Sigma_1-2\,\Sigma_0\#\Sigma_1\big)\ge W_2^2$$
    is optimal iff $\Sigma_0\Sigma_1=\Sigma_1\Sigma_0$. On the line the first flow has the action
    $1+s^2-\frac{\pi s}2\ge(1-s)^2$ from $\mathcal N(0,1)$ to $\mathcal N(0,s^2)$."""
    first, second = _clouds(data)
    d = first.shape[1]
    S0, S1 = (np.cov(rows.T, bias=True).reshape(d, d) for rows in (first, second))
    shift = float(((second.mean(0) - first.mean(0)) ** 2).sum())
    M = _straight_map(S0, S1)
    areas = [_exact_determinant(rows) for rows in (first, second)] if d == 2 else []
    if d == 2 and min(areas) > 0:
        cost, optimal, apart = _enclose_costs(first, second)
    else:
        cost = Enclosure.equal(shift + float(np.trace(S0 + S1 - 2 * M @ S0)))
        optimal = Enclosure.equal(shift + _bures(S0, S1))
        apart = Enclosure.equal(shift + float(np.trace(S0 + S1)))
    size = float(np.abs(S1).max())
    miss = float(np.abs(M @ S0 @ M.T - S1).max())
    claims: list[Claim] = [
        Identity(
            "largest entry of MΣ₀Mᵀ − Σ₁",
            Enclosure.equal(miss),
            Enclosure.exact(0),
            atol=1e-8 * size,
        ),
        _claim_end(S0, S1, M),
        _claim_order(first, second, optimal, cost),
        AtMost("cost of the rectified flow ≤ cost of the independent coupling", cost, apart),
    ]
    if d == 2:
        claims.append(_claim_volume(areas[0], areas[1], M))
    numbers: Numbers = {
        "cost of the rectified flow": cost,
        "W₂²": optimal,
        "cost of the independent coupling": apart,
    }
    commutator = float(np.linalg.norm(S0 @ S1 - S1 @ S0))
    printed = (
        (Identity("cost of the rectified flow = W₂²", cost, optimal),)
        if commutator > 1e-6 * size
        else ()
    )
    return Evidence(
        claims=tuple(claims),
        charts=(_draw_paths(S0, S1, M),),
        numbers=numbers,
        as_printed=printed,
        summary=f"rectified: {cost.middle:.6g}, optimal: {optimal.middle:.6g} "
        f"({100 * (cost.middle / max(optimal.middle, 1e-300) - 1):.3g} % more), for Gaussians with these moments",
        examples=_examples,
    )


# ---- mathematics -----------------------------------------------------------------------------------------------------


def _root(S: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(S)
    return vectors * np.sqrt(np.maximum(values, 0)) @ vectors.T


def _straight_map(S0: np.ndarray, S1: np.ndarray) -> np.ndarray:
    r"""$(\Sigma_1\Sigma_0^{-1})^{1/2}=\Sigma_0^{1/2}(\Sigma_0^{-1/2}\Sigma_1\Sigma_0^{-1/2})^{1/2}\Sigma_0^{-1/2}$."""
    root = _root(S0)
    inverse = np.linalg.pinv(root)  # forced on a line, the inverse within it
    return root @ _root(inverse @ S1 @ inverse) @ inverse


def _optimal_map(S0: np.ndarray, S1: np.ndarray) -> np.ndarray:
    root = _root(S0)
    inverse = np.linalg.pinv(root)  # forced on a line, the inverse within it
    return inverse @ _root(root @ S1 @ root) @ inverse


def _bures(S0: np.ndarray, S1: np.ndarray) -> float:
    root = _root(S0)
    return float(np.trace(S0 + S1 - 2 * _root(root @ S1 @ root)))


def _claim_volume(before: Fraction, after: Fraction, M: np.ndarray) -> Claim:
    """What the map does to areas. A cloud on a line has none, and no map gives it one."""
    stretch = Enclosure.equal(float(np.linalg.det(M)) ** 2)
    left = Enclosure.exact(0) if before == 0 else stretch * Enclosure.exact(before)
    return Identity("(det M)² det Σ₀ = det Σ₁", left, Enclosure.exact(after), rtol=1e-6)


def _exact_determinant(rows: np.ndarray) -> Fraction:
    """Of the covariance of rows in the plane, in rationals."""
    _, S = _exact_moments(rows)
    return S[0][0] * S[1][1] - S[0][1] ** 2


def _claim_end(S0: np.ndarray, S1: np.ndarray, M: np.ndarray) -> Claim:
    """The flow of the conditional expectations, integrated, against the closed form."""

    def rate(t: float, X: np.ndarray) -> np.ndarray:
        return (t * S1 - (1 - t) * S0) @ np.linalg.pinv((1 - t) ** 2 * S0 + t**2 * S1) @ X

    ends = []
    for steps in (STEPS, 2 * STEPS):
        X = np.eye(len(S0))
        for k in range(steps):
            t = k / steps
            X = runge_kutta_step(rate, (t, t + 0.5 / steps, t + 1 / steps), X, 1 / steps)
        ends.append(X)
    gap = float(np.abs(ends[1] - M).max())
    error = 2 * float(np.abs(ends[1] - ends[0]).max()) + 1e-10 * float(np.abs(M).max())
    seen = Enclosure.between(max(gap - error, 0.0), gap + error, Basis.FLOAT)
    what = "largest entry of (end of the rectified flow) − M"
    return Identity(what, seen, Enclosure.exact(0), atol=1e-4 * float(np.abs(M).max()))


def _exact_moments(rows: np.ndarray) -> tuple[list[Fraction], list[list[Fraction]]]:
    exact = [[Fraction(v) for v in row] for row in rows.tolist()]
    n = len(exact)
    mean = [sum((row[j] for row in exact), Fraction(0)) / n for j in range(2)]
    covariance = [
        [
            sum(((row[i] - mean[i]) * (row[j] - mean[j]) for row in exact), Fraction(0)) / n
            for j in range(2)
        ]
        for i in range(2)
    ]
    return mean, covariance


def _claim_order(
    first: np.ndarray, second: np.ndarray, optimal: Enclosure, cost: Enclosure
) -> Claim:
    """The rectified flow costs no less than the optimal one, and the same if the covariances commute."""
    if first.shape[1] == 1 or (first.shape[1] == 2 and _commute(first, second)):
        return Identity(
            "cost of the rectified flow = W₂², as the covariances commute",
            cost,
            optimal,
            atol=1e-12,
        )
    return AtMost("W₂² ≤ cost of the rectified flow", optimal, cost)


def _commute(first: np.ndarray, second: np.ndarray) -> bool:
    A, B = (_exact_moments(rows)[1] for rows in (first, second))
    return A[0][0] * B[0][1] + A[0][1] * B[1][1] == B[0][0] * A[0][1] + B[0][1] * A[1][1]


def _ball(q: Fraction) -> arb:
    return arb(q.numerator) / arb(q.denominator)


def _enclose_costs(first: np.ndarray, second: np.ndarray) -> tuple[Enclosure, Enclosure, Enclosure]:
    r"""In the plane, in balls from the rows as rationals: with $\alpha^2=\det\Sigma_0$, $\beta^2=\det\Sigma_1$,
    $\Sigma_0\#\Sigma_1=\sqrt{\alpha\beta}\,(\Sigma_0/\alpha+\Sigma_1/\beta)/\sqrt{\det(\Sigma_0/\alpha+\Sigma_1/\beta)}$
    and $\mathrm{tr}(\Sigma_0\Sigma_1)^{1/2}=\sqrt{\mathrm{tr}\,\Sigma_0\Sigma_1+2\alpha\beta}$."""
    m0, A = _exact_moments(first)
    m1, B = _exact_moments(second)
    shift = sum(((p - q) ** 2 for p, q in zip(m0, m1)), Fraction(0))
    total = A[0][0] + A[1][1] + B[0][0] + B[1][1]
    product = sum((A[i][j] * B[j][i] for i in range(2) for j in range(2)), Fraction(0))
    with ctx.workprec(BITS):
        alpha = _ball(A[0][0] * A[1][1] - A[0][1] ** 2).sqrt()
        beta = _ball(B[0][0] * B[1][1] - B[0][1] ** 2).sqrt()
        C = [[_ball(A[i][j]) / alpha + _ball(B[i][j]) / beta for j in range(2)] for i in range(2)]
        middle = (
            (alpha * beta).sqrt()
            * (C[0][0] + C[1][1])
            / (C[0][0] * C[1][1] - C[0][1] * C[1][0]).sqrt()
        )
        best = (_ball(product) + 2 * alpha * beta).sqrt()
        base = _ball(shift + total)
        return (
            Enclosure.ball(base - 2 * middle),
            Enclosure.ball(base - 2 * best),
            Enclosure.ball(base),
        )


def _examples() -> Examples:
    """On the line: the action of the first flow against the least one."""
    claims = []
    with ctx.workprec(BITS):
        for s in (Fraction(1, 2), Fraction(1), Fraction(3)):
            action = 1 + _ball(s) ** 2 - arb.pi() * _ball(s) / 2
            least = Enclosure.exact((1 - s) ** 2)
            claims.append(
                AtMost(f"s = {s}: (1 − s)² ≤ 1 + s² − πs/2", least, Enclosure.ball(action))
            )
    return Examples(claims=tuple(claims))


# ---- charts ----------------------------------------------------------------------------------------------------------


def _draw_paths(S0: np.ndarray, S1: np.ndarray, M: np.ndarray) -> Curves:
    """Straight paths of both maps from an ellipse of the first cloud, in the first two coordinates."""
    d = len(S0)
    angles = np.linspace(0, 2 * np.pi, 13)[:-1]
    circle = np.zeros((len(angles), d))
    circle[:, 0] = np.cos(angles)
    if d > 1:
        circle[:, 1] = np.sin(angles)
    start = circle @ _root(S0)
    series = []
    for name, matrix in (("rectified", M), ("optimal", _optimal_map(S0, S1))):
        ends = start @ matrix.T
        heights = (
            (start[:, 1], ends[:, 1]) if d > 1 else (np.zeros(len(start)), np.ones(len(start)))
        )
        lines = [np.array([(a[0], y), (b[0], z)]) for a, b, y, z in zip(start, ends, *heights)]
        series.append(join_lines(name, lines, "measured" if matrix is M else "other"))
    axes = (Axis("x₁"), Axis("x₂" if d > 1 else "time"))
    return Curves("paths from an ellipse of the first cloud", *axes, tuple(series))
