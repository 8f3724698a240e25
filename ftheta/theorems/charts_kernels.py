"""Charts of tangent kernels: linearised training, and how far training moves the kernel."""

import numpy as np

from ftheta.kernels.linearisation import Linearised
from ftheta.kernels.regimes import Drift
from ftheta.logic import Axis, Curves, Series, draw_curves


def draw_linearised_training(found: Linearised) -> tuple[Curves, Curves]:
    """The spectrum with the cumulative share of the target, and the loss against time."""
    largest = found.values[0]
    scale = max(largest, 1e-300)
    spectrum = draw_curves(
        "spectrum of the tangent kernel",
        np.arange(1, len(found.values) + 1),
        x="index",
        y="share",
        log="xy",
        measured={"λ / λ₁": np.maximum(found.values, scale * 1e-16) / scale},
        other={"target not yet reached": np.maximum(1 - np.cumsum(found.modes), 1e-16)},
    )
    times = np.geomspace(0.1 / largest, 100 / max(found.values[-1], 1e-6 * largest), 80)
    losses = [max(found.loss(t), 1e-300) for t in times.tolist()]
    return spectrum, draw_curves(
        "linearised training", times, x="time t", y="loss", log="xy", measured={"loss": losses}
    )


def draw_kernel_drift(found: Drift) -> Curves:
    """The movement of the kernel in training against the width, beside the order 1/2."""
    middle = np.median(found.moved, 1)
    guide = middle[0] * np.sqrt(found.widths[0] / found.widths)
    low = found.moved.min(1)
    high = found.moved.max(1)
    series = (
        Series("slope −1/2", found.widths, guide, "reference"),
        Series("networks trained", found.widths, middle, "measured", "line", low, high),
    )
    return Curves(
        "drift of the kernel", Axis("width m", "log"), Axis("‖Θ̂ₖ − Θ̂₀‖ / ‖Θ̂₀‖", "log"), series
    )
