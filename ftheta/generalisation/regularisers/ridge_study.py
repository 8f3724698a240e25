"""Explicit regularisation shown: ridge paths, rows left out, early stopping as a filter, decay beside Adam."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import jax
import numpy as np

from ftheta.estimates import mean
from ftheta.learning.features import Features
from ftheta.learning.kernels import exact_ridge, kernel, ridge_primal
from ftheta.logic import AtMost, Axis, Claim, Curves, Enclosure, Evidence, Identity, Series, Table
from ftheta.training.adaptive import RATIONAL, Adam
from ftheta.training.landscapes import Landscape

from .filters import (
    Selection,
    cross_validated,
    descent_filter,
    flow_filter,
    folds_of,
    halves,
    left_out_by_fitting,
    ridge_filter,
    ridge_path,
)
from .tradeoff import Tradeoff, filters_in_rationals, simulated_risks

ZERO, ONE = Enclosure.exact(0), Enclosure.exact(1)
DRAWS = 1000  # simulated samples of noise
REFITS = 60  # rows that are left out the slow way
R5 = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([1.0, 2.0, 3.0])


def in_rationals() -> tuple[tuple[Claim, ...], dict[str, Enclosure]]:
    """Small cases in fractions: ridge on three rows, descent on two curvatures, the best ridge, decay beside Adam."""
    exact = exact_ridge(*R5, kernel("linear"), 1.0)
    assert exact is not None
    walked, filtered = filters_in_rationals([Fraction(1), Fraction(1, 10)], Fraction(1), 10)
    single = Tradeoff([Fraction(1)], [Fraction(4)], Fraction(1))
    best = single.ridge(single.safe_ridge)
    grid = [single.risk(single.ridge(Fraction(k, 64))) for k in range(129)]
    apart = lambda one, other: Enclosure.exact(max(abs(a - b) for a, b in zip(one, other)))
    claims = (
        Identity(
            "three rows: y_i − ŷ_i over 1 − H_ii, less a fit without row i", apart(exact.shortcut, exact.again), ZERO
        ),
        Identity("10 steps of descent on curvatures 1, 0.1, less 1 − (1 − τλ)^10", apart(walked, filtered), ZERO),
        AtMost(
            "risk at λ = σ²/θ², less the least at λ = 0, 1/64, …, 2",
            Enclosure.exact(single.risk(best) - min(grid)),
            ZERO,
        ),
    )
    numbers = {f"θ {i + 1}": Enclosure.exact(v) for i, v in enumerate(exact.theta)}
    numbers |= {f"filter at {s}": Enclosure.exact(v) for s, v in zip(("1", "0.1"), walked)}
    numbers |= {
        "best ridge": Enclosure.exact(single.safe_ridge),
        "risk of the best ridge": Enclosure.exact(single.risk(best)),
    }
    decay, more = decay_in_rationals()
    return (*claims, *decay), numbers | more


def decay_in_rationals(steps: int = 3) -> tuple[tuple[Claim, ...], dict[str, Enclosure]]:
    r"""$F(\theta)=3\theta$ from 4 with $\gamma=\frac1{20}$: the penalty and decoupled decay, by descent and by Adam."""
    tau, gamma, slope, start = Fraction(1, 10), Fraction(1, 20), Fraction(3), Fraction(4)
    rule = Adam(tau, Fraction(0), Fraction(0), Fraction(0))  # with ε = 0 and no memory Adam moves by sign(g)
    ends = {}
    for name, size in (
        ("descent", lambda g, t: -tau * g),
        ("Adam", lambda g, t: rule.step(g, t, rule.begin(0 * g), RATIONAL)[0]),
    ):
        coupled = beside = start
        for t in range(1, steps + 1):
            coupled = coupled + size(slope + 2 * gamma * coupled, t)
            beside = beside + size(slope, t) - 2 * gamma * tau * beside
        ends[name] = coupled, beside
    (a, b), (c, d) = ends["descent"], ends["Adam"]
    claims = (
        Identity("gradient descent: θ_3 with the penalty, less that with decay", Enclosure.exact(a - b), ZERO),
        AtMost(
            "Adam: θ_3 with decay − that with the penalty + 1/10 ≤ 0", Enclosure.exact(d - c + Fraction(1, 10)), ZERO
        ),
    )
    return claims, {"Adam with the penalty": Enclosure.exact(c), "Adam with decoupled decay": Enclosure.exact(d)}


# ---- data -----------------------------------------------------------------------------------------------------------


def path_claims(X: np.ndarray, y: np.ndarray, ridges: np.ndarray, folds: list[np.ndarray]) -> list[Claim]:
    """One decomposition against a solver at each λ, and residuals left out against fits without the rows."""
    path, scale = ridge_path(X, y, ridges), max(float(np.abs(y).max()), 1e-300)
    assert path.weights is not None
    middle = ridge_path(X, y, ridges[len(ridges) // 2])
    solved = np.array([X @ ridge_primal(X, y, r) for r in ridges])
    alone = [np.array([i]) for i in range(min(len(y), REFITS))]
    again, by_folds = (left_out_by_fitting(X, y, middle.ridges[0], parts) for parts in (alone, folds))
    off = lambda a, b: Enclosure.equal(float(np.abs(a - b).max()) / scale)
    grows = lambda v: Enclosure.equal(float(np.max(np.diff(v), initial=-np.inf) / max(np.abs(v).max(), 1e-300)))
    norms = np.linalg.norm(path.weights.reshape(len(ridges), -1), axis=1)
    left = middle.left_out()[0][: len(alone)]
    return [
        Identity("fits of the whole path, less those of a solver at each λ", off(path.fitted, solved), ZERO, atol=1e-8),
        Identity(
            f"(y_i − ŷ_i)/(1 − H_ii), less the residual of a fit without row i, {len(alone)} rows",
            off(left, again[: len(alone)]),
            ZERO,
            atol=1e-8,
        ),
        Identity(
            f"(I − H_FF)⁻¹(y − ŷ)_F, less the residuals of {len(folds)} fits without a fold F",
            off(middle.left_out(folds)[0], by_folds),
            ZERO,
            atol=1e-8,
        ),
        AtMost("largest rise of ‖w_λ‖ with λ, relative", grows(norms), ZERO, atol=1e-9),
        AtMost("largest rise of the degrees of freedom with λ, relative", grows(path.freedom), ZERO, atol=1e-9),
    ]


def descended(X: np.ndarray, y: np.ndarray, tau: float, steps: int) -> np.ndarray:
    r"""$w_k$ of gradient descent from 0 on $\frac12\|Xw-y\|^2$, step by step."""
    w = np.zeros((X.shape[1], *y.shape[1:]))
    for _ in range(steps):
        w = w - tau * X.T @ (X @ w - y)
    return w


def stopping_claims(X: np.ndarray, y: np.ndarray, step: float, steps: int) -> list[Claim]:
    r"""Descent walked against its filter, which lies between that of ridge, $\lambda=\frac1{\tau k}$, and twice it."""
    path = ridge_path(X, y, 1.0)
    s = path.spectrum.values
    tau = step / s[0]
    walked, filtered = X @ descended(X, y, tau, steps), path.spectrum.fitted(y, descent_filter(tau, steps))
    off = Enclosure.equal(float(np.abs(walked - filtered).max() / max(np.abs(y).max(), 1e-300)))
    ratio = descent_filter(tau, steps)(s) / ridge_filter(1 / (tau * steps))(s)
    return [
        Identity(f"fit after {steps} steps of descent, less Uφ(s)Uᵀy", off, ZERO, atol=1e-8),
        AtMost(
            "1 ≤ least of descent's filter over that of ridge with λ = 1/τk", ONE, Enclosure.equal(float(ratio.min()))
        ),
        AtMost(
            "largest of descent's filter over that of ridge ≤ 2",
            Enclosure.equal(float(ratio.max())),
            Enclosure.exact(2),
        ),
    ]


def variance_claims(X: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> tuple[list[Claim], Tradeoff]:
    """A truth and a noise like those of the data: the risk by formula and by simulation, ridge below least squares."""
    spectrum = ridge_path(X, y, 1.0).spectrum
    truth = spectrum.weights(y, ridge_filter(1e-3 * spectrum.values[0]))
    noise = float(np.mean((y - X @ truth) ** 2)) or 1.0
    model = Tradeoff.on(spectrum, truth, noise)
    ridge = float(model.safe_ridge) if model.safe_ridge is not None else 1.0
    phi = ridge_filter(ridge)
    outside = truth - spectrum.right @ (spectrum.right.T @ truth)  # type: ignore[operator,union-attr]
    seen = mean(simulated_risks(X, truth, noise, phi, rng, DRAWS), variance=model.spread(phi(spectrum.values)))
    formula = Enclosure.equal(float(model.risk(phi(spectrum.values))) + float(outside @ outside))
    claims: list[Claim] = [
        Identity("bias² + variance of ridge, and ‖ŵ − θ‖² in a simulation", formula, seen),
        AtMost(
            "risk of ridge with λ = σ²/max θ_i², at most that of least squares",
            Enclosure.equal(float(model.risk(phi(spectrum.values)))),
            Enclosure.equal(float(model.least_squares)),
        ),
    ]
    return claims, model


def tradeoff_chart(model: Tradeoff, ridges: np.ndarray, tau: float) -> tuple[Curves, Curves]:
    """Bias², variance and risk against λ, and against the steps of descent."""
    s = np.asarray(model.values)
    steps = np.unique(np.geomspace(1, max(2.0, 30 / (tau * float(np.median(s)))), 60).astype(int))
    steps = steps[: int(np.searchsorted(steps, 10**7)) + 1]
    shrunk = [ridge_filter(r)(s) for r in ridges]
    walked = [descent_filter(tau, int(k))(s) for k in steps]
    return (
        _parts("bias and variance of ridge", Axis("ridge λ", "log"), ridges, shrunk, model),
        _parts("bias and variance of early stopping", Axis("steps k of gradient descent", "log"), steps, walked, model),
    )


def _parts(title: str, x: Axis, at: Any, filters: list[np.ndarray], model: Tradeoff) -> Curves:
    parts = {
        "risk": [model.risk(f) for f in filters],
        "bias²": [model.bias(f) for f in filters],
        "variance": [model.variance(f) for f in filters],
    }
    low = float(min(parts["risk"]))
    kept = [Series(name, *_within(at, v, low / 30, 1e3 * low)) for name, v in parts.items()]
    lowest = Series("least risk of any filter", [at[0], at[-1]], [float(model.oracle)] * 2, "reference")
    return Curves(title, x, Axis("E‖ŵ − θ‖²", "log"), (*kept, lowest))


def _within(x: Any, y: Any, floor: float, top: float) -> tuple[list[float], list[float]]:
    """The points that a logarithmic axis shows well."""
    kept = [(float(a), float(b)) for a, b in zip(x, y) if floor <= b <= top]
    return [a for a, _ in kept], [b for _, b in kept]


def selection_chart(
    X: np.ndarray, y: np.ndarray, ridges: np.ndarray, count: int, rng: np.random.Generator
) -> tuple[Curves, Table, Selection]:
    """Half of the rows fitted: their training risk, what leaving rows out predicts, and the risk of the other half."""
    seen, unseen = halves(len(y), rng)
    path = ridge_path(X[seen], y[seen], ridges)
    chosen = cross_validated(path, folds_of(len(seen), min(count, len(seen)), rng))
    assert path.weights is not None
    test = np.array([((y[unseen] - X[unseen] @ w) ** 2).sum() / len(unseen) for w in path.weights])
    curves = {
        "training": path.training_risk(),
        "rows left out": path.validation_risk(),
        f"{chosen.risks.shape[1]} folds": chosen.mean,
        "test": test,
    }
    low = float(np.min(test))
    series = [Series(name, *_within(ridges, v, low / 100, 30 * low)) for name, v in curves.items()]
    axes = Axis("ridge λ", "log"), Axis("mean squared error", "log")
    chart = Curves("training and test error against the ridge", *axes, tuple(series))
    picks = {"rows left out": int(curves["rows left out"].argmin()), "folds": int(chosen.mean.argmin())}
    picks |= {"folds, one standard error": int(np.searchsorted(ridges, chosen.careful)), "test": int(test.argmin())}
    rows = [(name, float(ridges[i]), float(path.freedom[i]), float(test[i])) for name, i in picks.items()]
    rows += [
        (
            "generalised",
            float(ridges[g := int(path.generalised_risk().argmin())]),
            float(path.freedom[g]),
            float(test[g]),
        )
    ]
    return chart, Table("λ by", ("choice", "λ", "degrees of freedom", "test error"), tuple(rows)), chosen


def filter_chart(s: np.ndarray, tau: float, steps: int) -> Curves:
    """The filters of descent, flow and ridge with λ = 1/τk on a grid, with the curvatures of the data marked."""
    grid = np.geomspace(max(s.min() / 30, 1e-9 * s[0]), s[0], 120)
    stopped = descent_filter(tau, steps)
    return Curves(
        f"what {steps} steps let through",
        Axis("eigenvalue of XᵀX", "log"),
        Axis("filter φ"),
        (
            Series("descent 1 − (1 − τs)^k", grid, stopped(grid), "measured"),
            Series("flow 1 − exp(−τks)", grid, flow_filter(tau * steps)(grid), "other"),
            Series("ridge s/(s + 1/τk)", grid, ridge_filter(1 / (tau * steps))(grid), "reference"),
            Series("the eigenvalues", s, stopped(s), "measured", "points"),
        ),
    )


def ridges_for(s: np.ndarray, count: int = 60) -> np.ndarray:
    """λ from far below the smallest eigenvalue that matters to above the largest."""
    return np.geomspace(max(float(s.min()), 1e-6 * float(s[0])) / 100, 10 * float(s[0]), count)


def data_evidence(
    X: np.ndarray, y: np.ndarray, rng: np.random.Generator, *, step: float, steps: int, folds: int
) -> Evidence:
    """All of it on rows with one target each."""
    exact, numbers = in_rationals()
    s = ridge_path(X, y, 1.0).spectrum.values
    ridges, tau = ridges_for(s), step / s[0]
    parts = folds_of(len(y), min(folds, len(y)), rng)
    measured, model = variance_claims(X, y, rng)
    chart, table, chosen = selection_chart(X, y, ridges, folds, rng)
    claims = (*exact, *path_claims(X, y, ridges[::6], parts), *stopping_claims(X, y, step, steps), *measured)
    charts = (chart, *tradeoff_chart(model, ridges, tau), filter_chart(s, tau, steps))
    told = (
        f"{len(y)} rows, {X.shape[1]} columns: λ = {chosen.best:.3g} by {len(parts)} folds, {table.rows[0][1]:.3g} by "
    )
    told += f"rows left out, {table.rows[3][1]:.3g} best for the unseen half"
    return Evidence(claims, charts, numbers, (table,), summary=told)


# ---- networks -------------------------------------------------------------------------------------------------------


def decay_on(
    risk: Callable[[Any], Any], start: np.ndarray, gamma: float, tau: float, steps: int
) -> dict[str, list[np.ndarray]]:
    """Four runs on one loss: descent and Adam, each with the penalty γ‖θ‖² and with decoupled decay."""
    slope = jax.jit(jax.grad(risk))
    rule = Adam(tau)
    runs: dict[str, list[np.ndarray]] = {}
    for method in ("descent", "Adam"):
        for kind in ("penalty", "decay"):
            theta, memory, points = start, rule.begin(0 * start), [start]
            for t in range(1, steps + 1):
                g = np.asarray(slope(theta)) + (2 * gamma * theta if kind == "penalty" else 0.0)
                move = -tau * g
                if method == "Adam":
                    move, memory = rule.step(g, t, memory)
                theta = theta + move - (2 * gamma * tau * theta if kind == "decay" else 0.0)
                points.append(theta)
            runs[f"{method}, {kind}"] = points
    return runs


def network_evidence(
    found: Features, y: np.ndarray, loss: Landscape, rng: np.random.Generator, gamma: float, steps: int, folds: int
) -> Evidence:
    """A network: ridge on its last features, and decay on its whole loss. `y` has one column an output."""
    exact, numbers = in_rationals()
    runs = decay_on(loss.risk, loss.start, gamma, 0.01, steps)
    size = max(float(np.abs(loss.start).max()), 1e-300)
    gap = lambda m: float(np.abs(runs[f"{m}, penalty"][-1] - runs[f"{m}, decay"][-1]).max()) / size
    parts = folds_of(len(y), min(folds, len(y)), rng)
    ridges = ridges_for(ridge_path(found.phi, y, 1.0).spectrum.values)
    same = Enclosure.equal(gap("descent"))
    claims = (
        *exact,
        found.claim(),
        *path_claims(found.phi, y, ridges[::6], parts),
        Identity(f"{steps} steps of descent: θ with the penalty, less θ with decay", same, ZERO, atol=1e-9),
    )
    k = np.arange(steps + 1)
    series = [Series(name, k, [float(p @ p) for p in points]) for name, points in runs.items()]
    norms = Curves("squared norm of the weights", Axis("step k"), Axis("‖θ_k‖²"), tuple(series))
    chart, table, chosen = selection_chart(found.phi, y, ridges, folds, rng)
    numbers |= {"Adam: penalty against decay": Enclosure.equal(gap("Adam"))}
    told = (
        f"{found.phi.shape[1]} features: λ = {chosen.best:.3g} by {len(parts)} folds; after {steps} steps the penalty "
    )
    told += f"and decay differ by {gap('descent'):.2g} under descent, by {gap('Adam'):.3g} under Adam"
    return Evidence(claims, (norms, chart), numbers, (table,), summary=told)


def built_in(kind: str, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The three rows of the catalogue, Legendre polynomials against a noisy wave, or nearly equal columns."""
    if kind == "three points":
        return R5
    if kind == "noisy wave":
        t = np.sort(rng.uniform(-1, 1, n))
        return np.polynomial.legendre.legvander(t, 14), np.sin(4 * t) + 0.3 * rng.normal(size=n)
    X = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, 10))
    return X, X @ rng.normal(size=10) + rng.normal(size=n)
