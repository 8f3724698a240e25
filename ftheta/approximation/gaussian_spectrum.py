r"""The Fourier side of $e^{-|x|^2/2}$."""

from collections.abc import Callable
from math import exp, lgamma, sqrt
from typing import TypeAlias

import numpy as np

Sampler: TypeAlias = Callable[[np.random.Generator, int], tuple[np.ndarray, np.ndarray]]
"""So many frequencies, one per row, and their phases."""


def gaussian_frequencies(dimension: int) -> Sampler:
    r"""The spectrum of $e^{-|x|^2/2}$: $|\omega|$ is a $\chi$ variable with $d+1$ degrees of freedom."""

    def sample(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        direction = rng.normal(size=(n, dimension))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        return direction * np.sqrt(rng.chisquare(dimension + 1, size=(n, 1))), np.zeros(n)

    return sample


def gaussian_moment(dimension: int) -> float:
    r"""$C_f=\sqrt2\,\Gamma(\frac{d+1}2)/\Gamma(\frac d2)$ of $e^{-|x|^2/2}$."""
    return sqrt(2) * exp(lgamma((dimension + 1) / 2) - lgamma(dimension / 2))
