r"""One activation that contains them all: piecewise-affine functions on $[0,1]$, one after the other.

For $m,q\ge1$ let $U_{m,q}$ be the functions with nodes $k/m$ and values in $\frac1q\mathbb Z\cap[-1,1]$: there are
$(2q+1)^{m+1}$ of them, numbered in mixed radix by $\sum_k(qv_k+q)(2q+1)^k$. Pairs $(m,q)$ are taken in the order of
$m+q$, then $m$. So every such function has a number $n$, and

$$\varrho(t)=u_n(t-2n)\text{ on }[2n,2n+1],\quad\text{affine on }[2n+1,2n+2],\quad\varrho=u_0(0)\text{ on }t\le0.$$

The neuron $x\mapsto\varrho(x+2n)$ is $u_n$. Rounding the values of $f$ at the nodes to $\frac1q\mathbb Z$ gives
$|f-u_n|\le\omega_f(\frac1m)+\frac1{2q}$, and $n$ has about $(m+1)\log_2(2q+1)$ binary digits.
"""

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import floor

import numpy as np

from ftheta.approximation.certificate import certify
from ftheta.approximation.enclosed import Kuhn, Shallow
from ftheta.approximation.goal import Goal
from ftheta.approximation.suprema import Oscillation
from ftheta.logic import Enclosure

DIGITS = 2.0**51  # beyond, float64 cannot hold 2n + x with any digit of x


@dataclass(frozen=True, slots=True)
class Member:
    """The function with nodes k/m and values `steps[k]`/q."""

    m: int
    q: int
    steps: tuple[int, ...]

    def __call__(self, x: Fraction) -> Fraction:
        at = min(max(x, Fraction(0)), Fraction(1)) * self.m
        k = min(floor(at), self.m - 1)
        low = self.steps[k]
        high = self.steps[k + 1]
        return (low + (at - k) * (high - low)) / Fraction(self.q)

    @property
    def nodal(self) -> np.ndarray:
        """Its values at the nodes."""
        return np.array([s / self.q for s in self.steps])

    @property
    def index(self) -> int:
        """Its number in the list."""
        return before(self.m, self.q) + sum(
            (s + self.q) * (2 * self.q + 1) ** k for k, s in enumerate(self.steps)
        )


def size(m: int, q: int) -> int:
    """How many functions there are with m cells and values in multiples of 1/q."""
    return (2 * q + 1) ** (m + 1)


@cache
def _starts(last: int) -> tuple[list[int], list[tuple[int, int]]]:
    """The first number of every pair (m, q) with m + q ≤ last, in order, and the pairs."""
    pairs = [(m, s - m) for s in range(2, last + 1) for m in range(1, s)]
    return list(accumulate((size(*pair) for pair in pairs[:-1]), initial=0)), pairs


def before(m: int, q: int) -> int:
    """How many functions are listed before those of (m, q)."""
    starts, pairs = _starts(1 << (m + q).bit_length())
    return starts[pairs.index((m, q))]


def member(n: int) -> Member:
    """The function with the number n."""
    last = 4
    while n >= _starts(last)[0][-1]:
        last *= 2
    starts, pairs = _starts(last)
    place = bisect_right(starts, n) - 1
    m, q = pairs[place]
    rest = n - starts[place]
    steps = []
    for _ in range(m + 1):
        rest, digit = divmod(rest, 2 * q + 1)
        steps.append(digit - q)
    return Member(m, q, tuple(steps))


def activation(t: Fraction) -> Fraction:
    r"""$\varrho(t)$, decoded where it is asked for."""
    if t <= 0:
        return member(0)(Fraction(0))
    n, place = divmod(t, 2)
    here = member(int(n))
    if place <= 1:
        return here(place)
    start = here(Fraction(1))
    end = member(int(n) + 1)(Fraction(0))
    return start + (place - 1) * (end - start)


def round_to_member(values: np.ndarray, q: int) -> Member:
    """The member closest to these values at the nodes; beyond ±1 it is cut."""
    steps = np.clip(np.rint(values * q), -q, q).astype(int)
    return Member(len(values) - 1, q, tuple(steps.tolist()))


def member_for(goal: Goal, m: int, q: int) -> Member:
    """For a function on [lo, hi], moved to [0, 1]."""
    return round_to_member(goal.values(np.linspace(goal.lo[0], goal.hi[0], m + 1)[:, None]), q)


def error_of(goal: Goal, found: Member, scale: float) -> Enclosure:
    """sup |f − u| on the interval, proved from both sides."""
    width = goal.hi[0] - goal.lo[0]
    stretch = np.array([found.m / width])
    shift = np.array([-goal.lo[0] * found.m / width])
    return certify(goal, Kuhn(found.nodal, stretch, shift), 1e-6 * scale, 100_000).error


def error_to_the_left(goal: Goal, scale: float) -> Enclosure:
    r"""sup |f − ϱ(· − 2n)|: to the left of 0 the activation is one constant."""
    start = float(member(0)(Fraction(0)))
    flat = Shallow("relu", np.zeros((1, 1)), np.zeros(1), np.zeros(1), start)
    return certify(goal, flat, scale, 20_000).error


def bound_for(goal: Goal, m: int, q: int) -> Enclosure:
    r"""$\omega_f(\frac1m)+\frac1{2q}$."""
    spread = Oscillation.of(goal.f, goal.lo[0], goal.hi[0]).modulus((goal.hi[0] - goal.lo[0]) / m)
    return spread + Enclosure.exact(Fraction(1, 2 * q))
