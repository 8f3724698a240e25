r"""Poisson's equation on an interval, solved with networks as finite elements, in rationals."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.relu.line.cpa1d import PiecewiseAffine
from ftheta.relu.line.points import on_line
from ftheta.relu.matrices import fraction
from ftheta.relu.meshes.nodal import fem_basis


@dataclass(frozen=True, eq=False)
class Poisson:
    """Nodes $a=x_0<\\dots<x_n=b$, and the solution of $-u''=1$, $u(a)=u(b)=0$ at them by networks as elements."""

    nodes: tuple[Fraction, ...]
    found: tuple[Fraction, ...]

    @classmethod
    def solve(cls, nodes: Sequence[Fraction]) -> "Poisson":
        """Stiffness and load are read off the pieces of the networks."""
        x = sorted(set(nodes))
        if len(x) < 3:
            return cls(tuple(x), (Fraction(0),) * len(x))
        pairs = [[k, k + 1] for k in range(len(x) - 1)]
        basis = on_line(fem_basis([[t] for t in x], pairs, range(1, len(x) - 1)))
        slopes = [[_slope(phi, a, b) for a, b in pairwise(x)] for phi in basis]
        steps = [b - a for a, b in pairwise(x)]
        K = [[sum(map(prod, zip(s, t, steps)), Fraction(0)) for t in slopes] for s in slopes]
        load = [[Fraction(phi.mass)] for phi in basis]
        exactly = lambda rows: fmpq_mat(
            [[fmpq(t.numerator, t.denominator) for t in row] for row in rows]
        )
        inner = [fraction(exactly(K).solve(exactly(load))[i, 0]) for i in range(len(basis))]
        return cls(tuple(x), (Fraction(0), *inner, Fraction(0)))

    def closed_form(self, x: Fraction) -> Fraction:
        return (x - self.nodes[0]) * (self.nodes[-1] - x) / 2

    @property
    def nodal_error(self) -> Fraction:
        return max(abs(u - self.closed_form(x)) for x, u in zip(self.nodes, self.found))

    @property
    def widest(self) -> Fraction:
        return max(b - a for a, b in pairwise(self.nodes))

    @property
    def largest_error(self) -> Fraction:
        """Between the nodes: $u-u_h$ is a parabola on every interval, largest in the middle if it is 0 at the ends."""
        spans = zip(self.nodes, self.nodes[1:], self.found, self.found[1:])
        return max(abs(self.closed_form((a + b) / 2) - (u + v) / 2) for a, b, u, v in spans)


def _slope(phi: PiecewiseAffine, a: Fraction, b: Fraction) -> Fraction:
    return (phi(b) - phi(a)) / (b - a)
