r"""Bounds of all Jacobians $W_{L+1}D_LW_L\cdots D_1W_1$ with slopes $D_i$ in ranges: entry by entry, by linear bounds,
and over all corners.

Write $D_i=M_i+R_iE_i$ with middle $M_i$, radius $R_i\ge0$ and $|E_i|\le1$. For $\|s\|_\infty\le1$ the change of layer
$i$ is $v_i=W_i(M_{i-1}v_{i-1}+R_{i-1}\delta_{i-1})$ with $|\delta_{i-1}|\le h_{i-1}\ge|v_{i-1}|$: back-substitution (as
CROWN does with values) gives $h_i=|P_i|1+\sum_{j<i}|G_{ij}|R_jh_j$ where $P_i$ is the product of all middles and
$G_{ij}$ that from layer $j$ on.
"""

from collections.abc import Sequence
from itertools import product
from math import inf, nextafter

import numpy as np

from ftheta.shapes import Float

from ..norms import U, gamma, largest_norm, round_sum_up, spectral_norm, sum_norm
from .chains import Ranges
from .products import absolute_product

MOST_PATTERNS = 12
"""Neurons of two slopes whose corners are all looked at: up to 2¹² Jacobians, ..."""
MOST_ENTRIES = 2**23
"""... of so many entries in all."""


def _middles(ranges: Ranges) -> tuple[list[np.ndarray], list[np.ndarray]]:
    middles = [(low + high) / 2 for low, high in ranges]
    radii = [
        np.nextafter(np.maximum(high - m, m - low), inf) * (high > low)
        for (low, high), m in zip(ranges, middles)
    ]
    return middles, radii


def linear_bound(weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges) -> float:
    r"""A bound of $\|J\|_\infty$ by linear bounds of the Jacobian, never above that of absolute values."""
    middles, radii = _middles(ranges)
    absolute = absolute_product(weights, ranges)
    terms = sum(W.shape[1] + 4 for W in weights)
    reach: list[np.ndarray] = []
    for i, W in enumerate(weights):
        row = np.array(W, np.float64)
        total = np.zeros(len(W))
        for j in reversed(range(i)):
            total += np.abs(row) @ (radii[j] * reach[j])
            row = (row * middles[j]) @ weights[j]
        total += np.abs(row).sum(1)
        error = 4 * (i + 2) * gamma(terms) * absolute[i] + 2.0**-900
        reach.append(np.minimum(round_sum_up(total + error, 4), absolute[i]))
    return float(reach[-1].max())


def interval_bound(
    weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges, norm: float
) -> float:
    r"""A bound of $\|J\|$ from an enclosure $|J-M|\le R$ of every entry, found from the outputs on."""
    middles, radii = _middles(ranges)
    M = np.array(weights[-1], np.float64)
    R = np.zeros_like(M)
    for W, m, r in zip(reversed(weights[:-1]), reversed(middles), reversed(radii)):
        spread = np.abs(M) * r + R * (np.abs(m) + r) + 4 * U * np.abs(M) * np.abs(m)
        M = M * m
        doubt = gamma(W.shape[1] + len(W) + 6)
        size = np.abs(W)
        R = (
            (spread * (1 + 32 * U)) @ size * (1 + 2 * doubt)
            + doubt * (np.abs(M) @ size) * (1 + doubt)
            + 2.0**-900
        )
        M = M @ W
    if not (np.isfinite(M).all() and np.isfinite(R).all()):
        return inf
    if norm != 2:
        return sum_norm(np.nextafter(np.abs(M) + R, inf), norm)
    return nextafter(spectral_norm(M).hi + spectral_norm(R).hi, inf)


def corner_bound(
    weights: Sequence[Float[np.ndarray, "_m _n"]], ranges: Ranges, norm: float
) -> float | None:
    r"""The largest $\|J\|$ over all corners of the ranges, which is the largest over the ranges, since the norm is
    convex in every single slope; None where there are too many corners, or numbers beyond the range of floats."""
    if (
        len(weights[-1]) > weights[0].shape[1]
    ):  # the transposed chain, whose matrices are smaller all the way
        turned = [W.T for W in reversed(weights)]
        return corner_bound(turned, tuple(reversed(ranges)), {1: inf, 2: 2, inf: 1}[norm])
    moving = sum(int((high > low).sum()) for low, high in ranges)
    widest = max(W.shape[1] for W in weights)
    if moving > MOST_PATTERNS or 2**moving * len(weights[-1]) * widest > MOST_ENTRIES:
        return None
    J = weights[-1][None]
    for W, (low, high) in zip(reversed(weights[:-1]), reversed(ranges)):
        J = (J[:, None] * _corners(low, high)[:, None]).reshape(-1, len(weights[-1]), len(low)) @ W
    if not np.isfinite(J).all():
        return None
    terms = sum(W.shape[1] + 4 for W in weights)
    sizes = np.prod(
        [
            np.linalg.norm(np.maximum(np.abs(low), np.abs(high))[:, None] * W)
            for W, (low, high) in zip(weights, ranges)
        ]
    )
    error = 4 * gamma(terms) * float(sizes) * float(np.linalg.norm(weights[-1])) + 2.0**-900
    if norm == 2:
        return nextafter(largest_norm(J) + error, inf)
    axis = 1 if norm == 1 else 2
    largest = float(np.abs(J).sum(axis=axis).max(initial=0.0))
    return nextafter(round_sum_up(largest, J.shape[axis]) + max(J.shape[1:]) ** 0.5 * error, inf)


def _corners(
    low: Float[np.ndarray, "n"], high: Float[np.ndarray, "n"]
) -> Float[np.ndarray, "corners n"]:
    """The slopes of one layer at every corner of their ranges."""
    moving = np.flatnonzero(high > low)
    choices = np.array(list(product((False, True), repeat=len(moving)))).reshape(
        2 ** len(moving), len(moving)
    )
    slopes = np.repeat(low[None], len(choices), axis=0)
    slopes[:, moving] = np.where(choices, high[moving], low[moving])
    return slopes
