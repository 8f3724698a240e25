"""The least-squares fit, and the loss along the ray of a separating direction."""

import numpy as np

from ftheta.logic import Axis, Curves, Series
from ftheta.risks.linear import LogisticFit, feature_columns, logistic_value


def draw_regression(x: np.ndarray, y: np.ndarray, theta: np.ndarray) -> Curves:
    """The line where there is one feature; else predictions against targets."""
    predictions = x @ theta
    varying = feature_columns(x)
    if len(varying) == 1:
        t = x[:, varying[0]]
        ends = np.array([t.min(), t.max()])
        at = np.repeat(x[:1], 2, axis=0)
        at[:, varying[0]] = ends
        series = (
            Series("rows", t, y, "measured", "points"),
            Series("least squares", ends, at @ theta, "bound"),
        )
        return Curves("regression line", Axis("x"), Axis("y"), series)
    span = [float(min(y.min(), predictions.min())), float(max(y.max(), predictions.max()))]
    series = (
        Series("y = ŷ", span, span, "reference"),
        Series("rows", predictions, y, "measured", "points"),
    )
    return Curves(
        "targets against predictions of least squares", Axis("prediction"), Axis("target"), series
    )


def draw_ray(z: np.ndarray, fit: LogisticFit, direction: np.ndarray) -> Curves:
    """The loss along a ray: down for ever on separable rows, up again on others."""
    unit = direction / max(float(np.linalg.norm(direction)), 1e-300)
    size = max(1.0, float(np.linalg.norm(fit.theta)))
    t = np.geomspace(size / 100, size * 10, 160)
    loss = np.array([logistic_value(z, a * unit) for a in t])
    shown = loss > 1e-300
    return Curves(
        "loss along a ray",
        Axis("t", "log"),
        Axis("E(t w/‖w‖)", "log"),
        (Series("logistic", t[shown], loss[shown]),),
    )
