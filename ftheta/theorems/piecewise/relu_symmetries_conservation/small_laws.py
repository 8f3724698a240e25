"""Conservation laws of the scalar network $aw$ and of linear networks, in exact arithmetic."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np


def scalar_step(a: Fraction, w: Fraction, y: Fraction, tau: Fraction) -> tuple[Fraction, Fraction]:
    r"""The factor of $a^2-w^2$ in one step on $\frac12(aw-y)^2$, and $1-\tau^2r^2$ with $r=aw-y$."""
    r = a * w - y
    a1 = a - tau * r * w
    w1 = w - tau * r * a
    return (a1 * a1 - w1 * w1) / (a * a - w * w), 1 - tau * tau * r * r


def linear_law(widths: Sequence[int], rng: np.random.Generator, samples: int = 4) -> Fraction:
    r"""The largest entry of $\frac{d}{dt}(W_{\ell+1}^\top W_{\ell+1}-W_\ell W_\ell^\top)$ under the gradient flow of
    $\frac12\|W_L\cdots W_1X-Y\|^2$, for random whole numbers, in whole numbers."""
    draw = lambda *shape: rng.integers(-3, 4, shape).astype(object)
    W = [draw(n, m) for m, n in pairwise(widths)]
    X = draw(widths[0], samples)
    Y = draw(widths[-1], samples)
    states = [X]
    for matrix in W:
        states.append(matrix @ states[-1])
    back = states[-1] - Y
    slopes = []
    for matrix, state in zip(W[::-1], states[-2::-1]):
        slopes.append(back @ state.T)
        back = matrix.T @ back
    G = slopes[::-1]
    rates = [A.T @ H + H.T @ A - B @ K.T - K @ B.T for A, H, B, K in zip(W[1:], G[1:], W, G)]
    return max((Fraction(int(abs(t))) for rate in rates for t in rate.ravel()), default=Fraction(0))
