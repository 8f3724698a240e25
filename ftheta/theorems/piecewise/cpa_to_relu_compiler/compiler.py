r"""Piecewise-affine functions to networks: $f=g-h$, $g$ a tree of maxima, $h$ a layer of ridges, then $[1,-1]$."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from flint import fmpq  # type: ignore[import-untyped]

from ftheta.pieces.functions.composition import budget, within_budget
from ftheta.pieces.functions.convexity import Difference
from ftheta.pieces.functions.partitions import OutOfBudget, Piece
from ftheta.pieces.functions.polyhedra import Corner, everywhere
from ftheta.relu.calculus import combination, parts
from ftheta.relu.counts import count
from ftheta.relu.geometry import Form
from ftheta.relu.matrices import rational
from ftheta.relu.maxima.maximum import hidden_layers, max_affine
from ftheta.relu.network import ExactNetwork


@dataclass(frozen=True, eq=False)
class Compiled:
    """A function, the cells on which its two convex parts are affine, and the network made of them."""

    difference: Difference
    refined: list[Piece]

    @classmethod
    def of(cls, pieces: Sequence[Piece], max_cells: int) -> "Compiled | None":
        """None where there are more cells than allowed."""
        made = Difference.of(pieces)
        try:
            return cls(made, made.refine(budget(max_cells)))
        except OutOfBudget:
            return None

    @cached_property
    def forms(self) -> list[Form]:
        return list(dict.fromkeys(p.rows[1] for p in self.refined))

    @cached_property
    def convex(self) -> ExactNetwork:
        """$g$ by a tree of maxima."""
        return max_affine([form[:-1] for form in self.forms], [form[-1] for form in self.forms])

    @cached_property
    def ridge_layer(self) -> ExactNetwork | None:
        """$h$ by one hidden layer, if there is one."""
        ridges = self.difference.ridges
        if not ridges:
            return None
        planes = [plane for _, plane in ridges]
        weights = [w for w, _ in ridges]
        return ExactNetwork.dense(
            [[p[:-1] for p in planes], [weights]], [[p[-1] for p in planes], [0]]
        )

    @cached_property
    def network(self) -> ExactNetwork:
        """Both padded to one depth, in parallel on one input, then $[1,-1]$."""
        return (
            self.convex
            if self.ridge_layer is None
            else combination((1, -1), (self.convex, self.ridge_layer))
        )

    @property
    def depth(self) -> int:
        r"""$\lceil\log_2M\rceil+1$ affine maps for $M$ pieces of $g$, and two where there is an $h$."""
        return max(hidden_layers(len(self.forms)) + 1, 2 if self.difference.ridges else 1)

    @cached_property
    def generators(self) -> dict[Corner, fmpq]:
        """Vertices of the cells with the values of $f$, directions to infinity with its slopes: homogeneous."""
        found: dict[Corner, fmpq] = {}
        for piece in self.refined:
            for c in piece.cell.corners:
                found[c] = sum((a * x for a, x in zip(piece.rows[0], c)), fmpq(0))
        return found

    def gap(self, net: ExactNetwork) -> fmpq:
        r"""The largest $|\text{net}-f|$ over the generators of all cells.

        Zero proves that the compiled network is $f$: on a cell it is a maximum of forms, one of them $g$'s own, less an
        affine $h$. The same for any network that is affine on the cells. At infinity offsets do not count.
        """
        far = net.rebuilt([(A, [0] * len(b), mask) for A, b, mask in parts(net)])
        worst = fmpq(0)
        for (*x, w), meant in self.generators.items():
            at = net([fmpq(t, w) for t in x]) if w else far(x)
            worst = max(worst, abs(rational(at[0]) * (w or 1) - meant))
        return worst

    def again(self, max_cells: int) -> "Compiled | None":
        """The network read as pieces on all of space, and compiled once more."""
        pieces = within_budget(self.network, everywhere(self.network.widths[0]), max_cells)
        return None if pieces is None else Compiled.of(pieces, max_cells)

    @property
    def sizes(self) -> dict[str, int]:
        size = count(self.network)
        made = {
            "pieces": len(self.difference.pieces),
            "hyperplanes in h": len(self.difference.ridges),
        }
        made |= {"M": len(self.forms), "L": len(self.network.steps)}
        return made | {"N": size.neurons, "W": size.connections}
