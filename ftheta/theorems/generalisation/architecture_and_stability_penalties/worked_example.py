"""In fractions: a linear map and all signs, a row with noise, and x² where curvature counts."""

from fractions import Fraction
from itertools import product

import numpy as np

from ftheta.logic import Enclosure
from ftheta.risks.averages import fractions, noise_loss_by_signs

LINEAR_MAP = fractions(np.array([[1, 2], [0, -1], [3, 1]]))
ADDED = 6  # for x² at x = 1, y = 0: E(1 + sε)⁴ = 1 + 6s² + 3s⁴
SLOPE = 2
BEND = 2
SPREAD = Fraction(1, 10)


def noise_loss_of_example() -> Fraction:
    r"""$\mathbb E(y-\tilde xw)^2$ for the row $(1,2)$, $w=(1,1)$, $y=0$ and noise of spread $\frac1{10}$."""
    X = fractions(np.array([[1, 2]]))
    w = fractions(np.array([1, 1]))
    y = fractions(np.array([0]))
    return noise_loss_by_signs(X, y, w, SPREAD)


def example_numbers() -> dict[str, Enclosure]:
    numbers = {
        "penalty of the linear map": (LINEAR_MAP**2).sum(),
        "noise loss of the example": noise_loss_of_example(),
        "x² at 1: what s² multiplies": ADDED,
        "its slope squared": SLOPE**2,
    }
    return {name: Enclosure.exact(value) for name, value in numbers.items()}


def errors_of_example() -> tuple[Fraction, Fraction, Fraction]:
    """Of the mean over all signs, of the loss with noise, and of what multiplies s² beside x²: all are 0."""
    probed = sum(
        ((np.array(v) @ LINEAR_MAP) ** 2).sum() for v in product((1, -1), repeat=3)
    ) / Fraction(8)
    off_probes = probed - (LINEAR_MAP**2).sum()
    off_noise = noise_loss_of_example() - 9 - SPREAD**2 * 2
    off_square = Fraction(ADDED - SLOPE**2 - BEND)
    return off_probes, off_noise, off_square
