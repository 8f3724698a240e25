"""The worst-case loss along a line, and accuracies after training against an attack."""

import numpy as np

from ftheta.logic import Axis, Bars, Chart, Curves, Series
from ftheta.subjects import Network
from ftheta.training import RobustLoss, fit

from .worst_losses import (
    certified_margins,
    certified_share,
    count_unflipped,
    loss_of,
    search,
    targets_of,
)

JUDGED = 100  # rows on which accuracies are compared


def draw_line(t: list[float], values: list[float], here: float, slope: float) -> Curves:
    tangent = [here + slope * s for s in t]
    return Curves(
        "worst loss along a line of parameters",
        Axis("t, parameters θ + t v"),
        Axis("worst loss"),
        (
            Series("worst loss", t, values),
            Series("slope at the worst inputs", t, tangent, "reference"),
        ),
    )


def draw_retrained(net: Network, method: str, epsilon: float) -> Chart:
    """Accuracy, what the search leaves and what is certified at ε: of the network, and of a copy trained on for the
    worst case on every other row. Both are judged on the rows between."""
    x, y = targets_of(net, len(net.data) if net.data is not None else 0)
    clip = (float(x.min()), float(x.max()))
    robust = RobustLoss(method, epsilon, clip=clip, ramp=(100, 400))  # type: ignore[arg-type]
    copy = fit(
        net,
        (x[::2], y[::2]),
        loss_of(net).name,
        step=0.003,
        steps=600,
        batch=min(100, len(x[::2])),
        robust=robust,
    )
    judged = x[1::2][:JUDGED], y[1::2][:JUDGED]
    groups = ("as it is", f"trained on by {method}")
    shares = tuple(_shares(one, *judged, epsilon) for one in (net, copy.network))
    names = (
        "accurate",
        f"not flipped by the search at ε = {epsilon:g}",
        f"certified at ε = {epsilon:g}",
    )
    return Bars(f"share of {len(judged[0])} rows", Axis("share"), names, groups, shares)


def _shares(
    net: Network, x: np.ndarray, y: np.ndarray, epsilon: float
) -> tuple[float, float, float]:
    plain = search(net, net.params, x, y, 0.0)
    found = search(net, net.params, x, y, epsilon)
    kept = (count_unflipped(net, net.params, one, y) for one in (plain, found))
    certified = certified_share(certified_margins(net, x, y, epsilon), y)
    return tuple(count / len(x) for count in (*kept, certified))  # type: ignore[return-value]
