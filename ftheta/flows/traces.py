r"""Estimates of a trace by probes, $\mathbb E\,z^\top Az=\mathrm{tr}\,A$, and their variances.

With $S=\frac{A+A^\top}2$: $2(\|S\|_F^2-\sum_iS_{ii}^2)$ for random signs, $2\|S\|_F^2$ for normal probes and
$\frac2{d+2}(d\|S\|_F^2-\mathrm{tr}^2)$ for probes on the sphere of radius $\sqrt d$.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from ftheta.logic.errors import UsageError, suggest
from ftheta.shapes import Float

PROBES = ("signs", "normal", "sphere")


def draw_probes(kind: str, rng: np.random.Generator, n: int, d: int) -> Float[np.ndarray, "n d"]:
    """Independent probes, one per row: random signs, standard normal, or uniform on the sphere of radius √d."""
    if kind not in PROBES:
        raise UsageError(
            "There is no such probe.",
            got=kind,
            remedy=suggest(kind, PROBES, f"one of {', '.join(PROBES)}"),
        )
    if kind == "signs":
        return rng.choice([-1.0, 1.0], size=(n, d))
    z = rng.normal(size=(n, d))
    return z if kind == "normal" else z * np.sqrt(d) / np.linalg.norm(z, axis=1, keepdims=True)


def probe_variance(A: list[list[Fraction]], kind: str) -> Fraction:
    r"""$\mathrm{Var}(z^\top Az)$ in rationals, for the probes of `draw_probes`."""
    d = len(A)
    S = [[(A[i][j] + A[j][i]) / 2 for j in range(d)] for i in range(d)]
    square = sum((v * v for row in S for v in row), Fraction(0))
    diagonal = [S[i][i] for i in range(d)]
    if kind == "signs":
        return 2 * (square - sum((v * v for v in diagonal), Fraction(0)))
    if kind == "normal":
        return 2 * square
    return Fraction(2, d + 2) * (d * square - sum(diagonal, Fraction(0)) ** 2)


def estimate_divergence(
    field: Callable[[np.ndarray], np.ndarray],
    x: Float[np.ndarray, "n d"],
    probes: Float[np.ndarray, "n d"],
    step: float = 1e-5,
) -> Float[np.ndarray, "n"]:
    r"""$z^\top Dv(x)z$ at every row with its probe, by a central difference of the field along the probe."""
    size = step * (1 + np.abs(x).max())
    return (probes * (field(x + size * probes) - field(x - size * probes))).sum(1) / (2 * size)
