"""Norms of a network and of its minimum-norm rescaling."""

from dataclasses import dataclass

import numpy as np

from ftheta.networks.description import Description

from ..exact import exact
from .canonical import path_norm
from .symmetries import balance, imbalance, norm_squared


@dataclass(frozen=True)
class Norms:
    """Squared norms of a network and of its minimum-norm rescaling, largest imbalance before and after, path norm."""

    before: float
    after: float
    imbalance: float
    left: float
    path: float


def measure_norms(layers: Description) -> Norms:
    r"""Of a ReLU network: $\|\theta\|^2$ without the last offset, $\max_i|\|w_i\|^2+b_i^2-\|a_i\|^2|$ and the path norm
    $\sum_i|a_i|\|w_i\|$."""
    even = balance(layers)
    return Norms(
        norm_squared(layers.params),
        norm_squared(even.params),
        _largest_imbalance(layers),
        _largest_imbalance(even),
        float(path_norm(exact(layers), 2)),
    )


def _largest_imbalance(layers: Description) -> float:
    return max((float(np.abs(d).max(initial=0)) for d in imbalance(layers.params)), default=0.0)
