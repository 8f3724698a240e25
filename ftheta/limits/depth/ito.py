r"""Activations around noisy weights: in the limit of infinite depth their curvature at 0 becomes a drift.

Blocks $h_{k+1}=h_k+\sigma\big(L^{-1/2}(A_kh_k+b_k)\big)$, $\sigma(0)=0$, $\sigma'(0)=1$, with independent centred
Gaussian weights: given $h$, every argument of $\sigma$ is normal with variance $q/L$, where $q$ is the quadratic
variation a unit of time ($\frac1d\|h\|^2$ of weights of variance $\frac1d$, plus 1 of standard biases). So a block adds
$\mathbb E\sigma=\frac1{2L}\sigma''(0)\,q+O(L^{-2})$ in the mean, and the limit is
$dH=\frac12\sigma''(0)\,q\,dt+\text{noise}$. With $\sigma(z)=e^z-1$ all of it is known: $\mathbb E\sigma=e^{q/2L}-1$,
and with biases alone $h_L$ is a sum of independent terms of mean $e^{1/2L}-1$ and variance $e^{2/L}-e^{1/L}$.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from flint import arb, ctx

from ftheta.estimates import mean
from ftheta.logic import AtMost, Axis, Claim, Converges, Enclosure, Histogram, Identity, Series

BITS = 128
DRAWS = 4000
VARIATIONS = (1, 4)  # q: of biases alone, and of a state with ‖h‖² = 4d


def drift(q: int, depth: int) -> arb:
    r"""$L\,\mathbb E\sigma(\sqrt{q/L}\,g)=L(e^{q/2L}-1)$."""
    return depth * ((arb(q) / (2 * depth)).exp() - 1)


def drift_claims(depth: int) -> tuple[AtMost, ...]:
    r"""$0\le L\,\mathbb E\sigma-\frac q2\le\frac{q^2}{8L}e^{q/2L}$, as balls."""
    found = []
    with ctx.workprec(BITS):
        for q in VARIATIONS:
            off, room = drift(q, depth) - arb(q) / 2, arb(q) ** 2 / (8 * depth) * (arb(q) / (2 * depth)).exp()
            what = f"L·E σ − ½σ″(0)q ≤ q²e^(q/2L)/8L, σ(z) = e^z − 1, q = {q}, L = {depth}"
            found.append(AtMost(what, Enclosure.ball(off), Enclosure.ball(room)))
    return tuple(found)


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
class Biased:
    """Ends $h_L$ of networks with random biases alone: with $e^z-1$, and with tanh, which has no curvature at 0."""

    depth: int
    curved: np.ndarray
    odd: np.ndarray

    def claims(self) -> tuple[Claim, ...]:
        first, second, fourth = sum_moments(self.depth)
        around = mean((self.curved - first.middle) ** 2, variance=(fourth - second * second).hi)
        curved = mean(self.curved, variance=second.hi)
        odd = mean(self.odd, variance=1.0)  # |tanh z| ≤ |z|: at most the variance of the biases themselves
        return (
            *drift_claims(self.depth),
            Identity("E h_L with random biases in e^z − 1, over networks", curved, first),
            Identity("variance of h_L with random biases in e^z − 1, over networks", around, second),
            Identity("E h_L with random biases in tanh, over networks", odd, Enclosure.exact(0)),
        )

    def histogram(self) -> Histogram:
        edges = np.linspace(-3, 4, 43)
        x = np.linspace(-3, 4, 141)
        normal = lambda centre: np.exp(-((x - centre) ** 2) / 2) / np.sqrt(2 * np.pi)
        return Histogram(
            f"Itô's correction: h after {self.depth} blocks h + σ(b/√L), σ(z) = e^z − 1",
            Axis("h at the end, from 0"),
            Axis("density"),
            edges,
            np.histogram(self.curved, edges, density=True)[0],
            (
                Series("limit, with the drift ½σ″(0)", x, normal(0.5), "bound"),
                Series("without it", x, normal(0.0), "reference"),
            ),
        )


def biased(depth: int, rng: np.random.Generator, draws: int = DRAWS) -> Biased:
    """Both activations on the same biases, in blocks of networks."""
    ends = np.zeros((2, draws))
    for _ in range(depth):
        z = rng.normal(size=draws) / np.sqrt(depth)
        ends += np.expm1(z), np.tanh(z)
    return Biased(depth, *ends)


def corrected_limit(depths: Sequence[int]) -> tuple[Converges, Converges]:
    r"""$h_L\to\mathcal N(\frac12\sigma''(0),1)$: mean and variance against depth."""
    seen, scales = [sum_moments(L) for L in depths], tuple(map(float, depths))
    first, second = (
        Converges(what, Enclosure.exact(limit), tuple(row[k] for row in seen), scales, 4 / depths[-1])
        for k, (what, limit) in enumerate((("E h_L with random biases: ½σ″(0)", 0.5), ("its variance", 1.0)))
    )
    return first, second
