"""Classes before and after the lift, the function found, and the spectrum of the Gram matrix."""

import numpy as np

from ftheta.kernels.reproducing import KernelRidge
from ftheta.logic import Axis, Curves, Heatmap, Points, Series

from .scores import principal_coordinates


def draw_before(X: np.ndarray, labels: np.ndarray) -> Curves:
    return Curves(
        "before the lift: no line separates",
        Axis("x₁"),
        Axis("x₂"),
        _class_series(X[:, 0], X[:, 1], labels),
    )


def draw_after(X: np.ndarray, labels: np.ndarray, fit: KernelRidge) -> Curves:
    """Two directions of the lifted space: the fitted function, and the first principal one."""
    K = fit.kernel.of(X, X)
    n = len(X)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(centre @ K @ centre)
    up = vectors[:, -1] * np.sqrt(max(values[-1], 0))
    hyperplane = Series("a hyperplane", [0.0, 0.0], [up.max(), up.min()], "bound")
    title = f"after the lift by the {fit.kernel.name} kernel"
    x = Axis("⟨f, φ(x)⟩ = Σ αᵢk(xᵢ, x)")
    y = Axis("first principal coordinate of φ(x)")
    return Curves(title, x, y, (*_class_series(fit.fitted, up, labels), hyperplane))


def _class_series(x: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[Series, ...]:
    """Rows as points, one series per class."""
    names = {1: "+1", -1: "−1"}
    return tuple(
        Series(name, x[labels == s], y[labels == s], "measured", "points")
        for s, name in names.items()
    )


def draw_function(X: np.ndarray, fit: KernelRidge) -> Heatmap:
    """The fitted function in the plane."""
    lo = X.min(0) - 0.2 * np.ptp(X, axis=0)
    hi = X.max(0) + 0.2 * np.ptp(X, axis=0)
    a, b = (np.linspace(lo[k], hi[k], 90) for k in (0, 1))
    grid = np.stack(np.meshgrid(a, b), axis=-1).reshape(-1, 2)
    values = fit.predict(grid).reshape(90, 90)
    extent = (lo[0], hi[0], lo[1], hi[1])
    return Heatmap(
        f"f = Σ αᵢk(xᵢ, ·), {fit.kernel.name}", Axis("x₁"), Axis("x₂"), values, extent, "f"
    )


def draw_features(phi: np.ndarray, classes: np.ndarray | None) -> Points:
    """Two principal coordinates of the learned features, coloured by class."""
    order = np.arange(len(phi)) if classes is None else np.argsort(classes, kind="stable")
    groups = () if classes is None else tuple(f"class {k}" for k in classes[order])
    at = principal_coordinates(phi)[order]
    title = "learned features, two principal coordinates"
    return Points(title, Axis("first"), Axis("second"), at[:, 0], at[:, 1], groups)


def draw_spectrum(values: np.ndarray, title: str) -> Curves:
    shown = values[values > values.max(initial=0.0) * 1e-16]
    series = (Series("eigenvalues", np.arange(1, len(shown) + 1), shown, "measured", "points"),)
    return Curves(title, Axis("index", "log"), Axis("eigenvalue", "log"), series)
