r"""Activations around noisy weights: in the limit of infinite depth their curvature at 0 becomes a drift.

Blocks $h_{k+1}=h_k+\sigma\big(L^{-1/2}(A_kh_k+b_k)\big)$, $\sigma(0)=0$, $\sigma'(0)=1$, with independent centred
Gaussian weights: given $h$, every argument of $\sigma$ is normal with variance $q/L$, where $q$ is the quadratic
variation a unit of time ($\frac1d\|h\|^2$ of weights of variance $\frac1d$, plus 1 of standard biases). So a block adds
$\mathbb E\sigma=\frac1{2L}\sigma''(0)\,q+O(L^{-2})$ in the mean, and the limit is
$dH=\frac12\sigma''(0)\,q\,dt+\text{noise}$. With $\sigma(z)=e^z-1$ all of it is known: $\mathbb E\sigma=e^{q/2L}-1$,
and with biases alone $h_L$ is a sum of independent terms of mean $e^{1/2L}-1$ and variance $e^{2/L}-e^{1/L}$.
"""

from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from ftheta.logic import Enclosure

BITS = 128
DRAWS = 4000


def drift(q: int, depth: int) -> arb:
    r"""$L\,\mathbb E\sigma(\sqrt{q/L}\,g)=L(e^{q/2L}-1)$."""
    return depth * ((arb(q) / (2 * depth)).exp() - 1)


def drift_gap(q: int, depth: int) -> tuple[Enclosure, Enclosure]:
    r"""$L\,\mathbb E\sigma-\frac q2$ and its bound $\frac{q^2}{8L}e^{q/2L}$, as balls."""
    with ctx.workprec(BITS):
        off = drift(q, depth) - arb(q) / 2
        room = arb(q) ** 2 / (8 * depth) * (arb(q) / (2 * depth)).exp()
        return Enclosure.ball(off), Enclosure.ball(room)


def sum_moments(depth: int) -> tuple[Enclosure, Enclosure, Enclosure]:
    r"""Mean, variance and fourth central moment of $h_L$ from 0, with standard normal biases alone.

    Each of the $L$ independent terms is log-normal less 1: with $w=e^{1/L}$ its variance is $v=w(w-1)$, its fourth
    central moment $v^2(w^4+2w^3+3w^2-3)$, and that of the sum $L$ times it plus $3L(L-1)v^2$.
    """
    with ctx.workprec(BITS):
        w = (arb(1) / depth).exp()
        v = w * (w - 1)
        fourth = depth * v**2 * (w**4 + 2 * w**3 + 3 * w**2 - 3) + 3 * depth * (depth - 1) * v**2
        return Enclosure.ball(drift(1, depth)), Enclosure.ball(depth * v), Enclosure.ball(fourth)


@dataclass(frozen=True, eq=False)
class BiasedEnds:
    """Ends $h_L$ of networks with random biases alone: with $e^z-1$, and with tanh, which has no curvature at 0."""

    depth: int
    curved: np.ndarray
    odd: np.ndarray


def draw_biased_ends(depth: int, rng: np.random.Generator, draws: int = DRAWS) -> BiasedEnds:
    """Both activations on the same biases, in blocks of networks."""
    ends = np.zeros((2, draws))
    for _ in range(depth):
        z = rng.normal(size=draws) / np.sqrt(depth)
        ends += np.expm1(z), np.tanh(z)
    return BiasedEnds(depth, *ends)
