"""Questions to a network: is there an input of this set whose output lies in that one?

A `Question` is a union of cases, each a box of inputs with a disjunction of conjunctions of linear rows. Its answer is
*sat* where some input of a box and its output meet all rows of one disjunct, and *unsat* where none does. A property
that is to hold of a network is asked by its negation: what is sought is a counter-example. All numbers are rationals,
as they were written. Without any case, and in an empty box, the answer is *unsat*; a disjunct without rows is met by
every input of its box.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, nextafter

from ftheta.logic.errors import SubjectError


@dataclass(frozen=True, slots=True)
class Row:
    r"""$\sum_ip_ix_i+\sum_jq_jy_j\le c$ of inputs $x$ and outputs $y$, or $<$ where it is `strict`."""

    inputs: Mapping[int, Fraction]
    outputs: Mapping[int, Fraction]
    bound: Fraction
    strict: bool = False

    def excess(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> Fraction:
        """Left side minus right side, exactly."""
        left = sum((p * x[i] for i, p in self.inputs.items()), Fraction(0))
        return left + sum((q * y[j] for j, q in self.outputs.items()), Fraction(0)) - self.bound

    def holds(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        excess = self.excess(x, y)
        return excess < 0 if self.strict else excess <= 0


@dataclass(frozen=True, slots=True)
class Box:
    """All inputs with `lo ≤ x ≤ hi`, entry by entry. Strict bounds are rows of a disjunct: the box is their closure."""

    lo: tuple[Fraction, ...]
    hi: tuple[Fraction, ...]

    def contains(self, x: Sequence[Fraction]) -> bool:
        return all(a <= v <= b for a, v, b in zip(self.lo, x, self.hi))

    @property
    def is_empty(self) -> bool:
        return any(a > b for a, b in zip(self.lo, self.hi))

    def outer(self) -> tuple[list[float], list[float]]:
        """The smallest box with ends in float64 that holds this one."""
        return [round_down(a) for a in self.lo], [round_up(b) for b in self.hi]

    def inner(self) -> tuple[list[float], list[float]]:
        """The largest box with ends in float64 inside this one; `lo > hi` where no float lies between."""
        return [round_up(a) for a in self.lo], [round_down(b) for b in self.hi]


@dataclass(frozen=True, slots=True)
class RationalBall:
    r"""All inputs with $\|x-c\|_p\le r$ for the `centre` $c$, the `radius` $r$ and the `norm` $p\in\{1,2\}$."""

    centre: tuple[Fraction, ...]
    radius: Fraction
    norm: int

    def contains(self, x: Sequence[Fraction]) -> bool:
        """Decided exactly: Euclidean lengths are compared by their squares."""
        return self.radius >= 0 and self._measure(x) <= self.radius**self.norm

    def touches(self, x: Sequence[Fraction]) -> bool:
        """Whether a point lies on the surface."""
        return self.radius >= 0 and self._measure(x) == self.radius**self.norm

    def bring_inside(self, x: Sequence[Fraction], home: Sequence[Fraction]) -> tuple[Fraction, ...]:
        """A point outside, moved towards a point `home` by about as much as it takes; `home` where that is outside."""
        length = nearest(self._measure(x)) ** (1 / self.norm)
        share = Fraction(min(1.0, nearest(self.radius) / length)) if length > 0 else Fraction(1)
        shortfall = Fraction(1, 2**50)
        while shortfall < 1:
            moved = tuple(h + share * (1 - shortfall) * (v - h) for v, h in zip(x, home))
            if self.contains(moved):
                return moved
            shortfall *= 16
        return tuple(home)

    def _measure(self, x: Sequence[Fraction]) -> Fraction:
        """The distance from the centre in ℓ1, its square in ℓ2."""
        return sum((abs(v - c) ** self.norm for v, c in zip(x, self.centre)), Fraction(0))


@dataclass(frozen=True, slots=True)
class Case:
    """Inputs of `box`, and of `ball` where there is one, with all rows of one of the disjuncts `unsafe`.

    The box holds the whole of its part of the ball: whoever takes the box alone asks about more inputs, never fewer.
    """

    box: Box
    unsafe: tuple[tuple[Row, ...], ...]
    ball: RationalBall | None = None

    def contains(self, x: Sequence[Fraction]) -> bool:
        """Whether an input belongs to it."""
        return self.box.contains(x) and (self.ball is None or self.ball.contains(x))

    def bring_inside(self, point: Sequence[float]) -> tuple[Fraction, ...]:
        """An input near a point of floats: what is outside of the box is moved to its faces, and from outside of the
        ball towards the point of the box next to its centre. Where there is no input at all, some point of the box."""
        lo, hi = self.box.lo, self.box.hi
        x = tuple(min(max(Fraction(v), a), b) for v, a, b in zip(point, lo, hi))
        if self.ball is None or self.ball.contains(x):
            return x
        return self.ball.bring_inside(
            x, [min(max(c, a), b) for c, a, b in zip(self.ball.centre, lo, hi)]
        )

    def admits(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Whether an input with its output answers *sat*."""
        return self.contains(x) and any(
            all(row.holds(x, y) for row in rows) for rows in self.unsafe
        )


@dataclass(frozen=True)
class Question:
    """The cases, and how many inputs and outputs the network has."""

    inputs: int
    outputs: int
    cases: tuple[Case, ...]

    def admits(self, x: Sequence[Fraction], y: Sequence[Fraction]) -> bool:
        """Whether an input with its output is a witness of *sat*, decided exactly."""
        if len(x) != self.inputs or len(y) != self.outputs:
            raise SubjectError(
                "The point does not fit the question.",
                got=f"{len(x)} inputs and {len(y)} outputs",
                remedy=f"give {self.inputs} inputs and {self.outputs} outputs",
            )
        return any(case.admits(x, y) for case in self.cases)


def round_down(value: Fraction) -> float:
    """The largest float64 that is at most a rational."""
    near = nearest(value)
    return (
        near if near == -inf or (near != inf and Fraction(near) <= value) else nextafter(near, -inf)
    )


def round_up(value: Fraction) -> float:
    """The smallest float64 that is at least a rational."""
    return 0.0 - round_down(-value)  # not −0.0


def nearest(value: Fraction) -> float:
    """The nearest float64, infinite where the rational is beyond its range."""
    try:
        return float(value)
    except OverflowError:
        return inf if value > 0 else -inf
