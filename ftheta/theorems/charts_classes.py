"""Two classes and the boundary of a linear classifier: a chart that several theorems show."""

import numpy as np

from ftheta.logic import Axis, Curves, Points, Series
from ftheta.risks.linear import feature_columns


def draw_boundary(
    x: np.ndarray, labels: np.ndarray, theta: np.ndarray, name: str
) -> Curves | Points:
    """The classes in the plane with the boundary ⟨x, θ⟩ = 0; of more features, the scores."""
    varying = feature_columns(x)
    if len(varying) != 2:
        groups = tuple("+1" if s > 0 else "−1" for s in labels)
        return Points(
            "scores of the rows",
            Axis("score ⟨x, θ⟩"),
            Axis("row"),
            x @ theta,
            np.arange(len(x)),
            groups,
        )
    a = x[:, varying[0]]
    b = x[:, varying[1]]
    rest = float(sum(theta[j] * x[0, j] for j in range(x.shape[1]) if j not in varying))
    p, q = theta[varying]
    series = [
        Series("+1" if s > 0 else "−1", a[labels == s], b[labels == s], "measured", "points")
        for s in (1, -1)
    ]
    low = float(b.min())
    high = float(b.max())
    room = 0.1 * (high - low)
    if abs(q) > 1e-12 * abs(p):
        t = np.linspace(a.min(), a.max(), 400)
        line = -(rest + p * t) / q
        kept = (line >= low - room) & (line <= high + room)
        series.append(Series(name, t[kept], line[kept], "bound"))
    elif p:
        series.append(Series(name, [-rest / p] * 2, [high, low], "bound"))
    return Curves("classification boundary", Axis("x₁"), Axis("x₂"), tuple(series))
