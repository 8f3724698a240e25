r"""How well networks with polynomial activations fit $|x|$ on $[-1,1]$, whatever their width.

At depth $L$ their functions are polynomials of degree at most $n=r^{L-1}$, so none comes closer to $|x|$ than the best
of these, which has a closed form: with Legendre's $P_k$,
$\min\|p-|x|\|^2=\frac23-\sum_{k\le n}\frac{2k+1}2(\int|x|P_k)^2$.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

WIDTHS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
NODES = 100  # of the quadrature on each half of the interval: exact up to degree 99 of the fit


def best_squared(degree: int) -> Fraction:
    r"""$\min\int_{-1}^1(p(x)-|x|)^2dx$ over the polynomials $p$ of that degree, exactly."""
    error = Fraction(2, 3)
    before = [Fraction(0)]
    here = [Fraction(1)]
    for k in range(degree + 1):
        moment = 0 if k % 2 else 2 * sum(c / (i + 2) for i, c in enumerate(here))
        error -= Fraction(2 * k + 1, 2) * moment**2
        following = [Fraction(2 * k + 1, k + 1) * c for c in [Fraction(0), *here]]
        for i, c in enumerate(before[: len(following)]):
            following[i] -= Fraction(k, k + 1) * c
        before = here
        here = following
    return error


def nearest_squared(coefficients: Sequence[Fraction]) -> Fraction:
    r"""$\min_{a,b}\int_{-1}^1(a+b\,p(x)-|x|)^2dx$ for the polynomial $p$ with these coefficients, exactly."""
    # on [−1, 1]
    mean = sum((c / (k + 1) for k, c in enumerate(coefficients) if k % 2 == 0), Fraction(0))
    centred = [*coefficients] or [Fraction(0)]
    centred[0] -= mean
    overlap = sum(2 * c / (k + 2) for k, c in enumerate(centred) if k % 2 == 0)
    square = sum(
        2 * a * b / (j + k + 1)
        for j, a in enumerate(centred)
        for k, b in enumerate(centred)
        if (j + k) % 2 == 0
    )
    return Fraction(1, 6) - (overlap**2 / square if square else 0)


def fit_squared(
    rng: np.random.Generator, words: Sequence[str], widths: Sequence[int] = WIDTHS
) -> list[float]:
    r"""$\int(g-|x|)^2$ for networks with random hidden layers and the best output layer, one for every width.

    Every layer is divided by its largest value, which only rescales its weights.
    """
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    x = np.concatenate([(nodes - 1) / 2, (nodes + 1) / 2])
    root = np.sqrt(np.concatenate([weights, weights]) / 2)
    errors = []
    for width in widths:
        state = x[:, None]
        for word in words:
            state = state @ rng.normal(size=(state.shape[1], width)) + rng.normal(size=width)
            state = {"square": np.square, "relu": lambda z: np.maximum(z, 0.0)}.get(
                word, lambda z: z
            )(state)
            state = state / max(float(np.abs(state).max()), 1e-300)
        features = np.column_stack([np.ones(len(x)), state]) * root[:, None]
        target = np.abs(x) * root
        solution = np.linalg.lstsq(features, target, rcond=1e-14)[0]
        errors.append(float(np.sum((features @ solution - target) ** 2)))
    return errors
