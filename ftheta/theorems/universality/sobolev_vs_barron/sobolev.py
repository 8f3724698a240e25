r"""What smoothness alone buys: $n$ parameters, continuously chosen, gain $n^{-s/d}$ on $W^{s,\infty}$ and no more.

**Below** (DeVore, Howard, Micchelli). Cut $[0,1]^d$ into $m^d>n$ cubes with centres $c_i$; the pyramids
$\psi_i(x)=(\frac1{2m}-|x-c_i|_\infty)_+$ have slope 1 and do not overlap. All $n$ parameters, if linear, vanish at some
$f=\sum_{i\le n+1}t_i\psi_i$ with $\max|t_i|=1$: then $f$ and $-f$ have the same parameters, and whatever is made of
them misses one of the two by $\frac1{2m}\ge\frac14n^{-1/d}$. For parameters that are only continuous, Borsuk's theorem
has the zero.

**Above** (Mhaskar). A polynomial of degree $m$ in each coordinate is a limit of networks with $(m+1)^d$ neurons that
share their weights, by difference quotients in $w$ at 0,

$$\sum_{j\in\{0,\dots,m\}^d}v_j\,\varrho(h\langle j,x\rangle+b),\qquad
v_j=\sum_{k\ge j}\frac{a_k}{h^{|k|}\varrho^{(|k|)}(b)}\prod_i(-1)^{k_i-j_i}\binom{k_i}{j_i},$$

and Chebyshev's polynomials of $f\in W^{s,\infty}$ are within $O(m^{-s})$. The weights are huge and cancel:
everything is computed in balls.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb, prod

import numpy as np
from flint import arb, ctx, fmpq, fmpq_mat  # type: ignore[import-untyped]
from scipy import fft

from ftheta.approximation.monomials import SMOOTH, ball, derivative
from ftheta.logic import Enclosure

DEGREES = {1: (4, 6, 8, 12, 16, 24, 32), 2: (4, 6, 8, 10, 12, 14)}
BIAS = Fraction(1, 2)
SAMPLES = 1 << 14


# -- below -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unseen:
    """A function whose n parameters are 0: the largest of them, and the function's size."""

    n: int
    d: int
    parameters: Fraction
    size: Fraction


def find_unseen(rng: np.random.Generator, n: int, d: int) -> Unseen:
    """For n random functionals, which on n + 1 pyramids are a matrix of whole numbers; solved exactly."""
    side = next(m for m in range(2, n + 3) if m**d > n)
    while True:
        A = rng.integers(-9, 10, size=(n, n + 1))
        left = fmpq_mat([[fmpq(int(t)) for t in row] for row in A[:, :n]])
        if left.det() != 0:
            break
    t = left.solve(fmpq_mat([[fmpq(-int(row[n]))] for row in A]))
    weights = [Fraction(int(t[i, 0].p), int(t[i, 0].q)) for i in range(n)] + [Fraction(1)]
    most = max(map(abs, weights))
    parameters = max(abs(sum(int(a) * w for a, w in zip(row, weights))) for row in A) / most
    return Unseen(n, d, Fraction(parameters), Fraction(1, 2 * side))


# -- above -----------------------------------------------------------------------------------------


def rough(s: int, t: Fraction) -> Fraction:
    r"""$\mathrm{sgn}(t)^{s+1}|t|^s$: its derivative of order $s$ is bounded and jumps at 0."""
    return abs(t) ** s * (-1 if t < 0 and s % 2 == 0 else 1)


@lru_cache(64)
def chebyshev(s: int, m: int) -> tuple[Fraction, ...]:
    """The coefficients of the powers in Chebyshev's polynomial of degree m of the function above, from samples."""
    t = np.cos(np.pi * (np.arange(SAMPLES) + 0.5) / SAMPLES)
    found = np.asarray(fft.dct(np.abs(t) ** s * np.sign(t) ** (s + 1), type=2))[: m + 1] / SAMPLES
    found[0] /= 2
    before = [1]
    now = [0, 1]
    total = [Fraction(0)] * (m + 1)
    for k, a in enumerate(map(Fraction, found.tolist())):
        now_or_one = before if k == 0 else now
        for i, c in enumerate(now_or_one):
            total[i] += a * c
        if k > 0:
            doubled = [0, *(2 * c for c in now)]
            before, now = (
                now,
                [c - (before[i] if i < len(before) else 0) for i, c in enumerate(doubled)],
            )
    return tuple(total)


@dataclass(frozen=True, eq=False)
class GridNetwork:
    r"""The network of the docstring for $\prod_ip(x_i)$: one weight $v_j$ for each of $(m+1)^d$ neurons."""

    outer: dict[tuple[int, ...], arb]
    step: Fraction
    bits: int

    @classmethod
    def of(cls, coefficients: Sequence[Fraction], d: int, name: str = "tanh") -> "GridNetwork":
        """For a polynomial $p$ with these coefficients, from the constant on."""
        m = len(coefficients) - 1
        # the step is 2 to minus this: powers of degree m have coefficients up to about 6^m
        small = 40 + 3 * m
        bits = small * m * d + 400
        with ctx.workprec(bits):
            grid = range(m + 1)
            slopes = [1 / derivative(name, k, ball(BIAS)) for k in range(m * d + 1)]
            shares = [
                [ball(a * (-1) ** (k - j) * comb(k, j) * 2 ** (small * k)) for j in range(k + 1)]
                for k, a in enumerate(coefficients)
            ]
            outer = {}
            for j in product(grid, repeat=d):
                above = product(*(range(i, m + 1) for i in j))
                outer[j] = sum(
                    (
                        prod((shares[k][i] for k, i in zip(ks, j)), start=slopes[sum(ks)])
                        for ks in above
                    ),
                    arb(0),
                )
        return cls(outer, Fraction(1, 2**small), bits)

    @property
    def neurons(self) -> int:
        """$(m+1)^d$."""
        return len(self.outer)

    def __call__(self, x: Sequence[Fraction], name: str = "tanh") -> arb:
        with ctx.workprec(self.bits):
            inner = (
                (v, sum(i * t for i, t in zip(j, x)) * self.step + BIAS)
                for j, v in self.outer.items()
            )
            return sum((v * SMOOTH[name](ball(z)) for v, z in inner), arb(0))


@dataclass(frozen=True, eq=False)
class Smooth:
    """Largest errors met for a product of d rough functions of one variable, by the number of neurons."""

    s: int
    d: int
    neurons: tuple[int, ...]
    errors: tuple[float, ...]


@lru_cache(16)
def measure_errors(s: int, d: int) -> Smooth:
    """Networks of growing degree, evaluated near the singularity and away from it."""
    neurons = []
    errors = []
    for even in DEGREES[d]:
        m = even + s % 2 - 1  # with the parity of the function
        net = GridNetwork.of(chebyshev(s, m), d)
        side = [Fraction(0), Fraction(1, 2 * m), Fraction(-1, m), Fraction(2, 5)]
        gaps = []
        for x in product(side, repeat=d):
            truth = prod((rough(s, t) for t in x), start=Fraction(1))
            with ctx.workprec(net.bits):
                gaps.append(Enclosure.ball(abs(net(x) - ball(truth))).lo)
        neurons.append(net.neurons)
        errors.append(max(gaps))
    return Smooth(s, d, tuple(neurons), tuple(errors))
