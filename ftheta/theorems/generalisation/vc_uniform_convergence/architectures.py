"""VC dimensions of ReLU networks of some usual sizes, and how many rows the bound asks for."""

from collections.abc import Sequence
from itertools import pairwise
from math import comb

import numpy as np

from ftheta.risks.bounds.uniform import Units, vc_radius

ARCHITECTURES = ((2, 16, 1), (64, 32, 32, 10), (784, 256, 256, 10), (784, *[1024] * 9, 10))


def units_of_widths(widths: Sequence[int]) -> Units:
    """Neurons and weights of a dense network of these widths; its classes are compared pair by pair."""
    sizes = np.cumsum([a * b + b for a, b in pairwise(widths)])
    return Units((*widths[1:-1], max(1, comb(widths[-1], 2))), tuple(sizes.tolist()))


def count_rows_needed(d: int, delta: float) -> int:
    """The least n with a VC radius below 1."""
    lo = 1
    hi = 2
    while vc_radius(d, hi, delta) >= 1:
        lo = hi
        hi = 2 * hi
    while hi - lo > 1:
        middle = (lo + hi) // 2
        if vc_radius(d, middle, delta) < 1:
            hi = middle
        else:
            lo = middle
    return hi
