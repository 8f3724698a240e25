"""Bias and variance, errors and filters of ridge and early stopping, against their strength."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ftheta.logic import Axis, Curves, Series, Table, draw_curves
from ftheta.risks.filters import descent_filter, flow_filter, ridge_filter

from .selection import Choices
from .tradeoff import Tradeoff


def draw_tradeoff(model: Tradeoff, ridges: np.ndarray, tau: float) -> tuple[Curves, Curves]:
    """Bias², variance and risk against λ, and against the steps of descent."""
    s = np.asarray(model.values)
    steps = np.unique(np.geomspace(1, max(2.0, 30 / (tau * float(np.median(s)))), 60).astype(int))
    steps = steps[: int(np.searchsorted(steps, 10**7)) + 1]
    shrunk = [ridge_filter(r)(s) for r in ridges]
    walked = [descent_filter(tau, int(k))(s) for k in steps]
    return (
        _draw_parts("bias and variance of ridge", Axis("ridge λ", "log"), ridges, shrunk, model),
        _draw_parts(
            "bias and variance of early stopping",
            Axis("steps k of gradient descent", "log"),
            steps,
            walked,
            model,
        ),
    )


def _draw_parts(title: str, x: Axis, at: Any, filters: list[np.ndarray], model: Tradeoff) -> Curves:
    parts = {
        "risk": [model.risk(f) for f in filters],
        "bias²": [model.bias(f) for f in filters],
        "variance": [model.variance(f) for f in filters],
    }
    low = float(min(parts["risk"]))
    kept = [Series(name, *_within(at, v, low / 30, 1e3 * low)) for name, v in parts.items()]
    lowest = Series(
        "least risk of any filter", [at[0], at[-1]], [float(model.oracle)] * 2, "reference"
    )
    return Curves(title, x, Axis("E‖ŵ − θ‖²", "log"), (*kept, lowest))


def _within(x: Any, y: Any, floor: float, top: float) -> tuple[list[float], list[float]]:
    """The points that a logarithmic axis shows well."""
    kept = [(float(a), float(b)) for a, b in zip(x, y) if floor <= b <= top]
    return [a for a, _ in kept], [b for _, b in kept]


def draw_errors(found: Choices) -> Curves:
    """Training error, what leaving rows out predicts, and the error of the unseen half, against λ."""
    low = float(np.min(found.test))
    series = [
        Series(name, *_within(found.path.ridges, errors, low / 100, 30 * low))
        for name, errors in found.curves.items()
    ]
    axes = Axis("ridge λ", "log"), Axis("mean squared error", "log")
    return Curves("training and test error against the ridge", *axes, tuple(series))


def tabulate_choices(found: Choices) -> Table:
    """λ by each rule, with its degrees of freedom and its error on the unseen half."""
    rows = [
        (name, float(found.path.ridges[i]), float(found.path.freedom[i]), float(found.test[i]))
        for name, i in found.picks.items()
    ]
    return Table("λ by", ("choice", "λ", "degrees of freedom", "test error"), tuple(rows))


def draw_filters(s: np.ndarray, tau: float, steps: int) -> Curves:
    """The filters of descent, flow and ridge with λ = 1/τk on a grid, with the curvatures of the data marked."""
    grid = np.geomspace(max(s.min() / 30, 1e-9 * s[0]), s[0], 120)
    stopped = descent_filter(tau, steps)
    return Curves(
        f"what {steps} steps let through",
        Axis("eigenvalue of XᵀX", "log"),
        Axis("filter φ"),
        (
            Series("gradient descent 1 − (1 − τs)^k", grid, stopped(grid), "measured"),
            Series("flow 1 − exp(−τks)", grid, flow_filter(tau * steps)(grid), "other"),
            Series("ridge s/(s + 1/τk)", grid, ridge_filter(1 / (tau * steps))(grid), "reference"),
            Series("the eigenvalues", s, stopped(s), "measured", "points"),
        ),
    )


def draw_norms(runs: Mapping[str, Sequence[np.ndarray]]) -> Curves:
    """The squared norm of the weights along each run."""
    steps = len(next(iter(runs.values())))
    norms = {name: [float(p @ p) for p in points] for name, points in runs.items()}
    return draw_curves(
        "squared norm of the weights", np.arange(steps), x="step k", y="‖θ_k‖²", measured=norms
    )
