r"""Angles between Gaussians, and the arc-cosine kernels, to full relative precision at every angle.

A cosine near $\pm1$ does not know its angle: one rounding of it moves the angle by the root of a rounding, and near
$-1$, where the kernels of ReLU vanish, nothing of them is left. So next to a covariance $c$ of variances $p,q$ its
`gap` $\sqrt{pq}-|c|\ge0$ is kept, which is computed without cancellation. The acute angle $t$ between the two lines is
$2\arcsin\sqrt{\text{gap}/2\sqrt{pq}}$; the angle itself is $t$ for $c\ge0$ and $\pi-t$ below.
"""

from collections.abc import Iterable
from math import factorial, pi
from typing import Any, NamedTuple

import numpy as np

from ftheta.shapes import Bool, Float

NARROW = 1e-5  # gap / √(pq) below which nearly parallel inputs are compared in twice the precision
# the same for nearly opposite ones, whose kernels are of the order of the angle cubed
OPPOSITE = 0.1
AT_ONCE = 1 << 21  # numbers held in one comparison
SPLIT = float(2**27 + 1)
SERIES = tuple((-1) ** (k + 1) * 2 * k / factorial(2 * k + 1) for k in range(1, 11))


class ArcCosine(NamedTuple):
    r"""$\kappa_0$, $\kappa_1$ and $1-\kappa_1$."""

    k0: Float[Any, "*shape"]
    k1: Float[Any, "*shape"]
    rest: Float[Any, "*shape"]


class GaussianPart(NamedTuple):
    """One of several independent Gaussians that are added: variances `p` and `q`, covariance `c` and its `gap`."""

    p: Float[np.ndarray, "*#shape"]
    q: Float[np.ndarray, "*#shape"]
    c: Float[np.ndarray, "*#shape"]
    gap: Float[np.ndarray, "*#shape"]


def geometric_mean(
    p: Float[np.ndarray, "*#shape"], q: Float[np.ndarray, "*#shape"]
) -> Float[np.ndarray, "*shape"]:
    r"""$\sqrt{pq}$: exactly $p$ where the two are equal, and without overflow or underflow."""
    with np.errstate(over="ignore", under="ignore"):
        product = p * q
        safe = (product > 1e-290) & (product < 1e290)
        return np.where(safe, np.sqrt(np.where(safe, product, 1.0)), np.sqrt(p) * np.sqrt(q))


def gap_by_difference(
    p: Float[np.ndarray, "*#shape"],
    q: Float[np.ndarray, "*#shape"],
    c: Float[np.ndarray, "*#shape"],
) -> Float[np.ndarray, "*shape"]:
    """The gap where nothing better is known: to a rounding of √(pq), not of itself."""
    return np.maximum(geometric_mean(p, q) - np.abs(c), 0.0)


def arc_cosine(cosine: Float[Any, "*shape"]) -> tuple[Float[Any, "*shape"], Float[Any, "*shape"]]:
    r"""$\pi\kappa_0=\pi-\varphi$ and $\pi\kappa_1=\sin\varphi+(\pi-\varphi)\cos\varphi$ at $\cos\varphi=$ `cosine`.

    Standard Gaussians $u,v$ of that correlation have $\mathbb P(u>0,v>0)=\frac12\kappa_0$ and
    $\mathbb E[u_+v_+]=\frac12\kappa_1$. Relative error at most $10^{-15}$, for the cosine as it is given.
    """
    cosine = np.clip(cosine, -1.0, 1.0)
    found = arc_cosine_of_gap(1 - np.abs(cosine), cosine >= 0)
    return found.k0, found.k1


def arc_cosine_of_gap(share: Float[Any, "*#shape"], acute: Bool[Any, "*#shape"]) -> ArcCosine:
    r"""The same from the `share` $1-|\cos\varphi|$ and whether the angle is `acute`; relative error at most $10^{-15}$.

    With the acute angle $t$ and $h(t)=\sin t-t\cos t$: $\pi\kappa_0=\pi-t$ and
    $\pi\kappa_1=\sin t+(\pi-t)\cos t$, $1-\kappa_1=(1-\cos t)-h(t)/\pi$; for an obtuse one $\pi\kappa_0=t$,
    $\pi\kappa_1=h(t)$.
    """
    share = np.clip(share, 0.0, 1.0)
    t = 2 * np.arcsin(np.sqrt(share / 2))
    sine = np.sqrt(share * (2 - share))
    cosine = 1 - share
    bow = _sine_less_chord(t, sine, cosine)
    k0 = np.where(acute, pi - t, t) / pi
    k1 = np.where(acute, sine + (pi - t) * cosine, bow) / pi
    return ArcCosine(k0, k1, np.where(acute, share, 1.0) - bow / pi)


def _sine_less_chord(t: np.ndarray, sine: np.ndarray, cosine: np.ndarray) -> np.ndarray:
    r"""$\sin t-t\cos t=\sum_{k\ge1}(-1)^{k+1}\frac{2k}{(2k+1)!}t^{2k+1}$ for $0\le t\le\pi/2$: the series up to 1."""
    square = t * t
    total = np.zeros_like(t)
    for coefficient in reversed(SERIES):
        total = total * square + coefficient
    return np.where(t < 1, total * square * t, sine - t * cosine)


def gap_of_sum(
    parts: Iterable[GaussianPart],
    p: Float[np.ndarray, "*#shape"],
    q: Float[np.ndarray, "*#shape"],
    c: Float[np.ndarray, "*#shape"],
) -> Float[np.ndarray, "*shape"]:
    r"""The gap of a sum of independent Gaussians with the totals $p$, $q$, $c$.

    $\sqrt{pq}-\sum_i\sqrt{p_iq_i}=\sum_i(\sqrt{p_iq}-\sqrt{q_ip})^2/2\sqrt{pq}$, so that nothing cancels:
    to it each part adds $\sqrt{p_iq_i}-|c_i|$, or $\sqrt{p_iq_i}+|c_i|$ where its sign is not that of the sum.
    """
    positive = c >= 0
    one = np.sqrt(p)
    two = np.sqrt(q)
    twice = 2 * one * two
    total = np.zeros(np.broadcast_shapes(np.shape(p), np.shape(q), np.shape(c)))
    for part in parts:
        same = (part.c >= 0) == positive
        away = 2 * geometric_mean(part.p, part.q) - part.gap
        total += np.where(same, part.gap, away)
        skew = (np.sqrt(part.p) * two - np.sqrt(part.q) * one) ** 2
        total += np.divide(skew, twice, out=np.zeros_like(total), where=twice > 0)
    return total


def gap_of_inputs(
    x: Float[np.ndarray, "n d"],
    y: Float[np.ndarray, "m d"],
    p: Float[np.ndarray, "n"],
    q: Float[np.ndarray, "m"],
    c: Float[np.ndarray, "n m"],
) -> Float[np.ndarray, "n m"]:
    r"""The gaps of covariances $c_{ij}$ proportional to $\langle x_i,y_j\rangle$, with $p_i,q_j$ alike; rows `(n, d)`.

    Where the rows are nearly parallel, or nearly opposite, from the part of $x_i$ that is orthogonal to $y_j$.
    """
    size = geometric_mean(p[:, None], q[None, :])
    gap = np.maximum(size - np.abs(c), 0.0)
    near = np.argwhere((size > 0) & (gap < np.where(c > 0, NARROW, OPPOSITE) * size))
    block = max(1, AT_ONCE // x.shape[1])
    for start in range(0, len(near), block):
        i, j = near[start : start + block].T
        sine = _sine_between(_scale(x[i]), _scale(y[j]))
        gap[i, j] = size[i, j] * (sine**2 / (1 + np.sqrt(np.maximum(1 - sine**2, 0.0))))
    return gap


def _scale(rows: np.ndarray) -> np.ndarray:
    """Rows with entries of at most 1, by a power of two: nothing is rounded."""
    largest = np.abs(rows).max(1, keepdims=True)
    return np.ldexp(rows, -np.frexp(largest)[1])


def _sine_between(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    r"""$\sin\angle(x,y)$ row by row: $x-\alpha y$ with products in twice the precision, then projected once more."""
    dot = lambda a, b: np.einsum("nd,nd->n", a, b)
    square = dot(y, y)
    alpha = (dot(x, y) / square)[:, None]
    product = alpha * y
    off = (x - product) - _product_error(alpha, y, product)
    off -= (dot(off, y) / square)[:, None] * y
    return np.sqrt(dot(off, off) / dot(x, x))


def _product_error(a: np.ndarray, b: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What rounding took from a·b (Dekker, Veltkamp)."""
    high_a = SPLIT * a - (SPLIT * a - a)
    high_b = SPLIT * b - (SPLIT * b - b)
    low_a = a - high_a
    low_b = b - high_b
    return -(((product - high_a * high_b) - low_a * high_b) - high_a * low_b) + low_a * low_b
