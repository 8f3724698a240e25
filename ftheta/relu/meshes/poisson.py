r"""Poisson's equation on an interval, solved with networks as finite elements, in rationals."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod

from flint import fmpq, fmpq_mat  # type: ignore[import-untyped]

from ftheta.logic import Axis, Curves, Identity, Series

from ..line.cpa1d import PiecewiseAffine, known
from ..line.points import on_line
from ..matrices import fraction
from .nodal import fem_basis


@dataclass(frozen=True, eq=False)
class Poisson:
    """Nodes $a=x_0<\\dots<x_n=b$, and the solution of $-u''=1$, $u(a)=u(b)=0$ at them by networks as elements."""

    nodes: tuple[Fraction, ...]
    found: tuple[Fraction, ...]

    @classmethod
    def solved(cls, nodes: Sequence[Fraction]) -> "Poisson":
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
        exactly = lambda rows: fmpq_mat([[fmpq(t.numerator, t.denominator) for t in row] for row in rows])
        inner = [fraction(exactly(K).solve(exactly(load))[i, 0]) for i in range(len(basis))]
        return cls(tuple(x), (Fraction(0), *inner, Fraction(0)))

    def closed_form(self, x: Fraction) -> Fraction:
        return (x - self.nodes[0]) * (self.nodes[-1] - x) / 2

    @property
    def nodal_error(self) -> Fraction:
        return max(abs(u - self.closed_form(x)) for x, u in zip(self.nodes, self.found))

    def claims(self) -> tuple[Identity, Identity]:
        """Exact at the nodes; between them the error of interpolation, $h^2/8$ on the longest interval."""
        share = 8 * self.largest_error / self.widest**2
        return (
            Identity(f"Poisson: largest |u_h − u| at the {len(self.nodes)} nodes", known(self.nodal_error), known(0)),
            Identity("Poisson: 8 sup |u_h − u| / h²", known(share), known(1)),
        )

    def chart(self) -> Curves:
        a, b = self.nodes[0], self.nodes[-1]
        x = [a + (b - a) * k / 96 for k in range(97)]
        series = (
            Series("closed form", [float(t) for t in x], [float(self.closed_form(t)) for t in x], "reference"),
            Series("u_h, sum of networks", [float(t) for t in self.nodes], [float(u) for u in self.found]),
        )
        return Curves("−u″ = 1 with networks as elements", Axis("x"), Axis("u"), series)

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
