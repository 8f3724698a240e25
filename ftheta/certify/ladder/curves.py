r"""Activations in plain NumPy: values, slopes and curvature for a search, and sound ranges of slopes over intervals.

The searches need no rigour. `slope_range` is rounded outward: elementary functions of NumPy err by a few units in the
last place, which `MARGIN` pays for many times over.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, pi, sqrt
from typing import Any

import numpy as np

from ftheta.lazy import special
from ftheta.networks.activations import LEAK, activation
from ftheta.shapes import Float

Array = np.ndarray
MARGIN = 2.0**-44
"""More than slopes of size about 1 err by in float64."""


@dataclass(frozen=True)
class Curve:
    r"""An activation $\sigma$, with $\sigma'$ and $\sigma''$.

    `turns` are the points where $\sigma'$ changes from increasing to decreasing or back (0 for a kink); between them it
    is monotone. A piecewise-affine one has `slopes` $(\sigma'(-1),\sigma'(1))$ and is bent at 0 alone.
    """

    value: Callable[[Float[np.ndarray, "*z"]], Float[np.ndarray, "*z"]]
    slope: Callable[[Float[np.ndarray, "*z"]], Float[np.ndarray, "*z"]]
    bend: Callable[[Float[np.ndarray, "*z"]], Float[np.ndarray, "*z"]]
    turns: tuple[float, ...] = ()
    slopes: tuple[float, float] | None = None


def _make_kink(left: float, right: float) -> Curve:
    return Curve(
        lambda z: np.where(z > 0, right * z, left * z),
        lambda z: np.where(z > 0, right, left),
        np.zeros_like,
        slopes=(left, right),
    )


def _sigmoid(z: Array) -> Array:
    return special.expit(z)


def _sigmoid_slope(z: Array) -> Array:
    return special.expit(z) * special.expit(-z)


def _normal(z: Array) -> Array:
    return np.exp(-(z**2) / 2) / sqrt(2 * pi)


def _silu_slope(z: Array) -> Array:
    s = special.expit(z)
    return s + z * s * special.expit(-z)


def _silu_bend(z: Array) -> Array:
    s = special.expit(z)
    return _sigmoid_slope(z) * (2 + z * (1 - 2 * s))


def _tanh_slope(z: Array) -> Array:
    return 4 * special.expit(2 * z) * special.expit(-2 * z)


SILU_TURN = 2.3993572805154985  # where z·tanh(z/2) = 2
CURVES: dict[str, Curve] = {
    "identity": _make_kink(1.0, 1.0),
    "relu": _make_kink(0.0, 1.0),
    "leaky-relu": _make_kink(float(LEAK), 1.0),
    "tanh": Curve(np.tanh, _tanh_slope, lambda z: -2 * np.tanh(z) * _tanh_slope(z), (0.0,)),
    "sigmoid": Curve(
        _sigmoid, _sigmoid_slope, lambda z: _sigmoid_slope(z) * (1 - 2 * _sigmoid(z)), (0.0,)
    ),
    "arctan": Curve(
        np.arctan, lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2, (0.0,)
    ),
    "softplus": Curve(lambda z: np.logaddexp(0.0, z), _sigmoid, _sigmoid_slope),
    "gelu": Curve(
        lambda z: z * special.ndtr(z),
        lambda z: special.ndtr(z) + z * _normal(z),
        lambda z: (2 - z**2) * _normal(z),
        (-sqrt(2), sqrt(2)),
    ),
    "silu": Curve(lambda z: z * _sigmoid(z), _silu_slope, _silu_bend, (-SILU_TURN, SILU_TURN)),
    "square": Curve(np.square, lambda z: 2 * z, lambda z: np.full_like(z, 2.0)),
}


def curve(word: str) -> Curve:
    """The curve of an activation by its name."""
    return CURVES[activation(word).name]


def surrogate(
    word: str, z: Float[np.ndarray, "n k"], temperature: Float[np.ndarray, "n 1"]
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
    """Slopes and their derivatives; those of a kink are smoothed over the `temperature`, so that a search can tell in
    which direction a neuron would switch."""
    shape = curve(word)
    if shape.slopes is None:
        return shape.slope(z), shape.bend(z)
    left, right = shape.slopes
    on = special.expit(z / temperature)
    return left + (right - left) * on, (right - left) * on * (1 - on) / temperature


def slope_range(
    word: str, lo: Float[np.ndarray, "*n"] | float, hi: Float[np.ndarray, "*n"] | float
) -> tuple[Float[Any, "*n"], Float[Any, "*n"]]:
    r"""Bounds of the slopes $(\sigma(s)-\sigma(t))/(s-t)$ over all $s\ne t$ of each interval `[lo, hi]`, which may be
    unbounded: they are those of $\sigma'$, by the mean value theorem."""
    lo, hi = np.broadcast_arrays(np.asarray(lo, np.float64), np.asarray(hi, np.float64))
    shape = curve(word)
    if shape.slopes is not None:
        left, right = shape.slopes
        least = np.where(lo >= 0, right, np.where(hi <= 0, left, min(left, right)))
        most = np.where(lo >= 0, right, np.where(hi <= 0, left, max(left, right)))
        return least, most
    with np.errstate(invalid="ignore", over="ignore"):
        ends = [
            np.nan_to_num(shape.slope(end), nan=0.0, posinf=inf, neginf=-inf) for end in (lo, hi)
        ]
        if word != "square":
            ends = [
                np.where(np.isinf(end), _slope_at_infinity(word, end), s)
                for end, s in zip((lo, hi), ends)
            ]
    least = np.minimum(*ends)
    most = np.maximum(*ends)
    for turn in shape.turns:
        there = float(shape.slope(np.array(turn)))
        reached = (lo <= turn + MARGIN) & (hi >= turn - MARGIN)
        least = np.where(reached, np.minimum(least, there), least)
        most = np.where(reached, np.maximum(most, there), most)
    if word == "square":  # 2z is exact
        return least, most
    known = activation(word)
    floor = 0.0 if known.monotone else -inf
    return np.maximum(least - MARGIN, floor), np.minimum(most + MARGIN, known.lipschitz.hi)


def _slope_at_infinity(word: str, end: Array) -> Array:
    """The limit of the slope where an end of an interval is infinite."""
    grows = word in ("softplus", "gelu", "silu")
    return np.where(end > 0, 1.0 if grows else 0.0, 0.0)
