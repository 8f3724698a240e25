"""Certified radii against perturbations met, and against points of their balls in rationals."""

from fractions import Fraction
from math import inf

import numpy as np

from ftheta.networks import random_mlp
from ftheta.relu.exact import exact, from_description
from ftheta.stability.radii import certified_radius
from ftheta.subjects import Network

from . import Trial

SHAPES = ((2, 4, 2), (3, 6, 6, 3), (5, 8, 8, 4))  # few, so that programs are compiled once
NORMS = (1, 2, inf)
ROWS = 3  # of one network: what is to be varied is networks
INSIDE = 3  # points of each ball


def attempt_radius(rng: np.random.Generator) -> str | None:
    """A random network, inputs near and far, one norm: at most the distance met is certified, and labels hold there."""
    widths = SHAPES[rng.integers(len(SHAPES))]
    norm = NORMS[rng.integers(3)]
    description = random_mlp(rng, widths, "relu", bias=10.0 ** rng.uniform(-3, 1))
    x = 10.0 ** rng.uniform(-3, 3, (ROWS, 1)) * rng.standard_normal((ROWS, widths[0]))
    net = Network.described(description, "random")
    found = certified_radius(net, x, norm, methods=("interval", "crown"), tolerance=0.05)
    in_rationals = exact(from_description(description))
    for k in range(len(x)):
        if found.radius[k] > found.distance[k]:
            return f"{widths}, ℓ{norm}: certified {found.radius[k]!r}, met {found.distance[k]!r}"
        if found.radius[k] == 0:
            continue
        towards = (
            found.x[k] - x[k] if np.isfinite(found.distance[k]) else rng.standard_normal(widths[0])
        )
        for direction in (towards, *rng.standard_normal((INSIDE - 1, widths[0]))):
            y = in_rationals(_point_inside(x[k], direction, float(found.radius[k]), norm))
            label = int(found.label[k])
            if any(v >= y[label] for j, v in enumerate(y) if j != label):
                return f"{widths}, ℓ{norm}: another label within {found.radius[k]!r} of {x[k].tolist()}"
    return None


def _point_inside(
    x: np.ndarray, direction: np.ndarray, radius: float, norm: float
) -> tuple[Fraction, ...]:
    """A point of the ball in this direction, as far out as rationals allow: in ℓ2 by a bound of the length."""
    step = [Fraction(float(v)) for v in direction / np.abs(direction).max()]
    length = max(map(abs, step)) if norm == inf else sum(map(abs, step), Fraction(0))
    if norm == 2:
        square = sum((v * v for v in step), Fraction(0))
        length = Fraction(float(np.sqrt(float(square))) * (1 + 1e-12))
    return tuple(Fraction(float(a)) + Fraction(radius) * v / length for a, v in zip(x, step))


TRIALS = (
    Trial(
        "certified radii", "a label that changes within a certified radius", attempt_radius, few=2
    ),
)
