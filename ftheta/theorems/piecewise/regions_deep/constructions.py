"""Networks with many linear regions: the cube folded onto itself, then cut by hyperplanes in general position."""

from collections.abc import Sequence
from math import comb

import numpy as np

from ftheta.networks.description import Dense, Description


def fold(
    pieces: int, d: int, before: np.ndarray, start: np.ndarray, width: int
) -> tuple[Dense, np.ndarray, np.ndarray]:
    r"""A hidden layer that folds $[0,1]^d$ onto itself, `pieces` times along every axis, and how to read its result.

    With $y=Bz+c$ (`before`, `start`) the neurons are $r(ay_k-i)$, $i<a$, and $\sum_i\pm2r(ay_k-i)$ (the first one once)
    goes up and down between 0 and 1. All weights are whole numbers times those of $B$; neurons left over are idle.
    """
    rows = np.repeat(pieces * before, pieces, axis=0)
    bias = np.repeat(pieces * start, pieces) - np.tile(np.arange(pieces), d)
    spare = width - len(rows)
    jumps = np.array([1.0, *(2.0 * (-1) ** i for i in range(1, pieces))])
    after = np.hstack([np.kron(np.eye(d), jumps), np.zeros((d, spare))])
    layer = Dense(
        np.vstack([rows, np.zeros((spare, rows.shape[1]))]),
        np.concatenate([bias, np.zeros(spare)]),
        "relu",
    )
    return layer, after, np.zeros(d)


def general_position(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    r"""$n$ hyperplanes in general position, all their corners inside $(0,1)^d$, and somewhere a neuron is always on.

    Hyperplane $i$ is $q(t_i)=0$ for $q(t)=\sum_{k<d}y_kt^k-\epsilon t^d$, $y=x-\frac12$, with different
    $0<|t_i|\le1$. Any $d$ of them meet where $q=-\epsilon\prod_i(t-t_i)$, in one point with
    $|y_k|\le\epsilon\binom dk<\frac12$; a polynomial of degree $d$ has no $d+1$ roots. The signs of the neurons
    alternate, the last one is $-1$: all are off only if $q$ changes its sign at all $t_i$ and ends positive, which it
    cannot for $n>d$, having $d$ roots and a negative leading coefficient.
    """
    t = np.array([(2 * i + 1.5 - n) / n for i in range(n)])
    sign = np.array([-((-1.0) ** (n - 1 - i)) for i in range(n)])
    normals = t[:, None] ** np.arange(d)
    offsets = -normals.sum(axis=1) / 2 - 0.4 / comb(d, d // 2) * t**d
    return sign[:, None] * normals, sign * offsets


def montufar_network(d: int, widths: Sequence[int]) -> Description:
    r"""Widths $n_\ell\ge d$: all hidden layers but the last fold the cube $[0,1]^d$ onto itself,
    $\lfloor n_\ell/d\rfloor$ times along every axis; the last cuts it by $n_H$ hyperplanes, and all its neurons are
    outputs: `montufar_lower` pieces inside the cube, and for $n_H>d$ as many linear regions."""
    layers = []
    before = np.eye(d)
    start = np.zeros(d)
    for n in widths[:-1]:
        layer, before, start = fold(n // d, d, before, start, n)
        layers.append(layer)
    normals, offsets = general_position(widths[-1], d)
    layers.append(Dense(normals @ before, normals @ start + offsets, "relu"))
    return Description((*layers, Dense(np.eye(widths[-1]), np.zeros(widths[-1]))))


def folding_network(d: int, width: int, times: int) -> Description:
    r"""The cube folded `times` times, $a=\lfloor n/d\rfloor$-fold along every axis: $a^{d\cdot\text{times}}$ pieces."""
    layers = []
    before = np.eye(d)
    start = np.zeros(d)
    for _ in range(times):
        layer, before, start = fold(width // d, d, before, start, width)
        layers.append(layer)
    return Description((*layers, Dense(before, start)))
