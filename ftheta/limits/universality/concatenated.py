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

from ftheta.logic import Axis, Curves, Enclosure, Series

from .approximation.certificate import certified
from .approximation.enclosed import Kuhn, Shallow
from .approximation.goal import Goal
from .suprema import Oscillation

SHOWN = 9  # functions drawn
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
        low, high = self.steps[k], self.steps[k + 1]
        return (low + (at - k) * (high - low)) / Fraction(self.q)

    @property
    def nodal(self) -> np.ndarray:
        return np.array([s / self.q for s in self.steps])

    @property
    def index(self) -> int:
        """Its number in the list."""
        return before(self.m, self.q) + sum((s + self.q) * (2 * self.q + 1) ** k for k, s in enumerate(self.steps))


def size(m: int, q: int) -> int:
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
    (m, q), rest, steps = pairs[place], n - starts[place], []
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
    start, end = here(Fraction(1)), member(int(n) + 1)(Fraction(0))
    return start + (place - 1) * (end - start)


def rounded(values: np.ndarray, q: int) -> Member:
    """The member closest to these values at the nodes; beyond ±1 it is cut."""
    steps = np.clip(np.rint(values * q), -q, q).astype(int)
    return Member(len(values) - 1, q, tuple(steps.tolist()))


def member_for(goal: Goal, m: int, q: int) -> Member:
    """For a function on [lo, hi], moved to [0, 1]."""
    return rounded(goal.values(np.linspace(goal.lo[0], goal.hi[0], m + 1)[:, None]), q)


def error_of(goal: Goal, found: Member, scale: float) -> Enclosure:
    """sup |f − u| on the interval, proved from both sides."""
    width = goal.hi[0] - goal.lo[0]
    stretch, shift = np.array([found.m / width]), np.array([-goal.lo[0] * found.m / width])
    return certified(goal, Kuhn(found.nodal, stretch, shift), 1e-6 * scale, 100_000).error


def error_to_the_left(goal: Goal, scale: float) -> Enclosure:
    r"""sup |f − ϱ(· − 2n)|: to the left of 0 the activation is one constant."""
    start = float(member(0)(Fraction(0)))
    flat = Shallow("relu", np.zeros((1, 1)), np.zeros(1), np.zeros(1), start)
    return certified(goal, flat, scale, 20_000).error


def bound_for(goal: Goal, m: int, q: int) -> Enclosure:
    r"""$\omega_f(\frac1m)+\frac1{2q}$."""
    spread = Oscillation.of(goal.f, goal.lo[0], goal.hi[0]).modulus((goal.hi[0] - goal.lo[0]) / m)
    return spread + Enclosure.exact(Fraction(1, 2 * q))


def recovered(rng: np.random.Generator, m: int, q: int) -> int:
    """A member drawn at random, read off its own activation: the difference of the two numbers."""
    drawn = Member(m, q, tuple(int(s) for s in rng.integers(-q, q + 1, size=m + 1)))
    n = drawn.index
    seen = [activation(2 * n + Fraction(k, m)) for k in range(m + 1)]
    again = Member(m, q, tuple(int(v * q) for v in seen))
    return abs(again.index - n) + abs(member(n).index - n)


def digits_ladder() -> Curves:
    """Binary digits of the number against the accuracy of a Lipschitz function, m = 2q."""
    sizes = (1, 2, 4, 8, 16, 32)
    bits = [float(before(2 * k, k).bit_length()) for k in sizes]
    errors = [1 / k for k in sizes]
    series = (
        Series("bits of n", errors, bits),
        Series("what float64 can hold", [errors[0], errors[-1]], [51.0, 51.0], "bound"),
    )
    return Curves("how far out the neuron looks", Axis("error 1/q, m = 2q", "log"), Axis("bits of n", "log"), series)


def pictures(goal: Goal, found: Member) -> tuple[Curves, Curves]:
    """The first functions of the activation; and the neuron beside the function."""
    t = [Fraction(k, 16) for k in range(-16, 32 * SHOWN)]
    line = Series("ϱ(t)", [float(s) for s in t], [float(activation(s)) for s in t])
    x = np.linspace(goal.lo[0], goal.hi[0], 401)
    place = [Fraction(k, 400) for k in range(401)]
    neuron = Series("one neuron ϱ(x + 2n)", x, [float(found(s)) for s in place])
    both = (Series(goal.name, x, goal.values(x[:, None]), "reference"), neuron)
    return (
        Curves("the concatenated activation, from its beginning", Axis("t"), Axis("ϱ(t)"), (line,)),
        Curves("a function and one neuron", Axis("x"), Axis("value"), both),
    )
