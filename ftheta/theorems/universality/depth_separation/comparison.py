"""A function of few pieces beside the sawtooth of many: the integral of their distance, exactly or from below."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import inf
from typing import Any

from ftheta.logic import Basis, Enclosure
from ftheta.relu.line.cpa1d import PiecewiseAffine, enclose_rational
from ftheta.relu.line.pieces import along
from ftheta.relu.line.separation import certificate, crossings, defeated_from, distance, teeth
from ftheta.relu.network import ExactNetwork

MOST_FOLDS = 11  # of a sawtooth that is written out


@dataclass(frozen=True, eq=False)
class Comparison:
    r"""What is known of $\int_0^1|\Delta^{\circ k}-g|$ for a function of so many pieces, at most `changes` of side."""

    k: int
    pieces: Enclosure
    changes: Fraction
    g: PiecewiseAffine | None = None

    @property
    def written_out(self) -> PiecewiseAffine | None:
        """The competitor, unless it is not known piece by piece or the sawtooth has too many teeth."""
        return self.g if self.k <= MOST_FOLDS else None

    def __str__(self) -> str:
        exactly = f" = {self.integral.middle:.6g}" if self.written_out else ""
        return (
            f"∫|f − g|{exactly} ≥ {float(self.bound):.6g} by {float(self.changes):,.0f} crossings"
        )

    @property
    def bound(self) -> Fraction:
        """Of the integral, from below, by the changes of side."""
        return certificate(self.changes, self.k)

    @cached_property
    def integral(self) -> Enclosure:
        """Exactly where both functions are written out, else from the bound upwards."""
        if self.written_out is not None:
            return enclose_rational(distance(teeth(self.k), self.written_out))
        return Enclosure.between(enclose_rational(self.bound).lo, inf, self.pieces.basis)

    @cached_property
    def in_full(self) -> "Comparison | None":
        """The same with a sawtooth that can be written out: this one, or a small one that leaves $g$ behind as well."""
        if self.g is None:
            return None
        if self.k <= MOST_FOLDS:
            return self
        k = max(6, defeated_from(int(self.pieces.hi)))
        return replace(self, k=k) if k <= MOST_FOLDS else None


def compare_exactly(
    net: ExactNetwork, point: Sequence[Any], direction: Sequence[Any], k: int
) -> Comparison:
    """The first output of a network along a segment, in rationals."""
    g = along(net, point, direction).outputs[0]
    pieces = 1 + sum(0 < t < 1 for t in g.kinks)
    return Comparison(k, enclose_rational(pieces), Fraction(crossings(g)), g)


def compare_by_cells(cells: Enclosure, most: Fraction, k: int) -> Comparison:
    """A function known by a number of cells alone (there may be no end of them): every piece is at most one change."""
    changes = min(Fraction(cells.hi), most) if cells.hi < inf else most
    basis = cells.basis if cells.hi < inf else Basis.EXACT
    return Comparison(k, Enclosure(cells.lo, enclose_rational(changes).hi, basis), changes)
