"""Clouds of tokens: what theorems ask of them, and clouds to start from."""

from typing import Any

import numpy as np

from ftheta.learning.separation import separation
from ftheta.logic import Enclosure, Finding, hypothesis

STARTS = ("uniform", "hemisphere", "orthonormal")
MOST_TOKENS = 4000


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def start(name: str, rng: np.random.Generator, tokens: int, dimension: int) -> np.ndarray:
    """Unit tokens: uniform on the sphere, the same turned into one half of it, or the first unit vectors."""
    x = unit(rng.normal(size=(tokens, dimension)))
    if name == "hemisphere":
        x[:, 0] = np.abs(x[:, 0]) + 0.05
    elif name == "orthonormal":
        x = np.eye(tokens, max(tokens, dimension))
    return unit(x)


@hypothesis("unit tokens of equal weight", remedy="normalise the tokens, give each the weight 1/n and spread 0")
def tokens_on_the_sphere(cloud: Any) -> Finding:
    off = float(np.abs(np.linalg.norm(cloud.atoms, axis=1) - 1).max())
    uneven = float(np.ptp(cloud.weights)) + cloud.spread
    note = f"norms differ from 1 by {off:.3g}; weights differ and spread by {uneven:.3g}; asked: at most 1e-12"
    return Finding.decide(max(off, uneven) <= 1e-12, note, "every norm and weight in float64", Enclosure.equal(off))


def hemisphere(x: np.ndarray) -> np.ndarray | None:
    r"""A direction $w$ with $\langle w,x_i\rangle>0$ for all tokens, checked in rationals; None where none is found."""
    found = separation(x)
    if found.kind != "separable" or found.direction is None:
        return None
    w = np.array([float(v) for v in found.direction])
    return w / np.linalg.norm(w)


def meeting(x: np.ndarray, beta: float, kind_is_softmax: bool) -> Finding:
    """Why these tokens are known to meet in one point: a hemisphere, or almost surely by their dimension."""
    d = x.shape[1]
    if hemisphere(x) is not None:
        return Finding.proved("all tokens lie in an open hemisphere", "a direction has positive products, in rationals")
    if d >= 3 and not kind_is_softmax:
        return Finding.assumed(f"d = {d}: almost every start, for every β ≥ 0 (USA)")
    if d >= 3:
        return Finding.assumed(f"d = {d}: almost every start, proved for small and for large β (SA)")
    note = f"d = {d}, β = {beta:g}, no open hemisphere holds all tokens: known for d = 2 and β ≤ 1 alone"
    return Finding.assumed(note) if d == 2 and beta <= 1 else Finding.failed(note)
