"""Attention of scalar tokens in closed form, and attention by position as a convolution."""

from typing import Any

import jax
import numpy as np

from ftheta.graph.compiling import call_compiled
from ftheta.networks.operators.attention import (
    Projections,
    cyclic_convolution_as_attention,
    jacobian,
    self_attention,
)


def scalar_results(tokens: np.ndarray, radius: float) -> tuple[float, float, float]:
    r"""Of scalar tokens: $y_3$ with $Q=K=0$, $V=1$, which is the mean of `tokens`; $y_1$ at $(1,-1)$ and
    $\partial y_1/\partial x_1$ at $(0,R,-R)$, $R$ = `radius`, both with $Q=K=V=1$."""
    one = np.ones((1, 1, 1))
    zero = np.zeros((1, 1, 1))
    unit = Projections(one, one, one)
    first = np.eye(3, 1)
    three = np.array([[0.0], [radius], [-radius]])
    both = np.array([[1.0], [-1.0]])

    def results(tokens: Any, both: Any, three: Any) -> tuple[Any, Any, Any]:
        mean = self_attention(Projections(zero, zero, one), tokens)[2, 0]
        slope = jax.jvp(lambda x: self_attention(unit, x), (three,), (first,))[1]
        return mean, self_attention(unit, both)[0, 0], slope[0, 0]

    mean, pair, slope = map(float, call_compiled(results, tokens, both, three))
    return mean, pair, slope


def slope_of_three(radius: float) -> float:
    r"""$\partial y_1/\partial x_1$ at $(0,R,-R)$ with $Q=K=V=1$, by the closed form of the Jacobian."""
    one = np.ones((1, 1, 1))
    return float(
        jacobian(Projections(one, one, one), np.array([[0.0], [radius], [-radius]]))[0, 0, 0, 0]
    )


def convolution_gap(kernel: np.ndarray, signal: np.ndarray) -> float:
    r"""The largest difference between $\sum_\tau\psi_\tau x_{i+\tau}$, a cyclic convolution, and attention by position.

    `kernel` has the shape (offsets, outputs, d), `signal` (n, d).
    """
    shifted = sum(np.roll(signal, -offset, 0) @ psi.T for offset, psi in enumerate(kernel))
    return float(np.abs(cyclic_convolution_as_attention(kernel, signal) - shifted).max())
