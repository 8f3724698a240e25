r"""Polyhedral partitions, what a network makes of them, and composition; in rational arithmetic.

A piece is a closed full-dimensional polyhedron with an affine map on it. A network $g$ after that map cuts it into the
parts that are sent into one cell of $g$. Where the image lies in a common face of several cells of $g$, all of them
have the same full-dimensional part as pre-image. *The owner* is the one that the image enters when it is moved along
$(\varepsilon,\varepsilon^2,\dots)$: owners alone form a partition.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic.errors import UsageError
from ftheta.relu.calculus import parts, precompose
from ftheta.relu.geometry import Form, Point, value
from ftheta.relu.linear_programs import has_interior
from ftheta.relu.matrices import rational
from ftheta.relu.network import ExactNetwork, ExactStep

from ..domains import Chart
from .polyhedra import Polyhedron, Side, primitive

ZERO = fmpq(0)


class OutOfBudget(Exception):
    """More pieces, or more cuts, than were allowed."""


@dataclass
class Budget:
    """So many pieces at most, and so many cuts tried: counted, so that a run depends on its arguments alone."""

    pieces: int
    cuts: int

    def spend(self, pieces: int) -> None:
        self.cuts -= 1
        if self.cuts < 0 or pieces > self.pieces:
            raise OutOfBudget


@dataclass(frozen=True)
class Piece:
    r"""The affine map `rows`, a form an output, on a polyhedron.

    `pattern` says which neurons are active, `source` numbers the piece that this one is a part of, `owner` is False for
    a pre-image that another cell of $g$ owns.
    """

    cell: Polyhedron
    rows: tuple[Form, ...]
    pattern: tuple[bool, ...] = ()
    source: int = 0
    owner: bool = True

    def __call__(self, x: Point) -> tuple[fmpq, ...]:
        return tuple(value(row, x) for row in self.rows)

    def halves(self, side: Side) -> tuple["Piece | None", "Piece | None"]:
        above, below = self.cell.halves(side)
        return self._on(above), self._on(below)

    def _on(self, cell: Polyhedron | None) -> "Piece | None":
        """The part on this `cell`, if there is one."""
        if cell is None or cell is self.cell:
            return cell and self
        return Piece(cell, self.rows, self.pattern, self.source, self.owner)

    def with_neuron(self, active: bool, owner: bool) -> "Piece":
        """The piece, with the sign of one neuron more."""
        return Piece(self.cell, self.rows, (*self.pattern, active), self.source, owner)


def coordinates(d: int) -> tuple[Form, ...]:
    """The identity map, as forms."""
    return tuple(tuple(fmpq(i == j) for j in range(d + 1)) for i in range(d))


def identity_on(cell: Polyhedron) -> Piece:
    """The identity map as one piece on the `cell`."""
    return Piece(cell, coordinates(cell.dimension))


def pieces_of(net: ExactNetwork, cell: Polyhedron, budget: Budget) -> list[Piece]:
    """The pieces of a network on a polyhedron."""
    return compose_pieces(net, [identity_on(cell)], budget)


def on_chart(net: ExactNetwork, chart: Chart) -> ExactNetwork:
    """The network on the coordinates of a domain, without rounding."""
    pairs = zip(chart.basis.tolist(), chart.tail.tolist())
    return precompose(
        net,
        [[rational(a) + rational(b) for a, b in zip(*pair)] for pair in pairs],
        chart.origin.tolist(),
    )


def split(net: ExactNetwork, hidden: int) -> tuple[ExactNetwork, ExactNetwork]:
    r"""$f$ and $g$ with $g\circ f$ the network: its first `hidden` steps, ReLU included, and the others."""
    given = parts(net)
    m = net.widths[hidden]
    through = (net.algebra.eye(m), net.algebra.vector([0] * m), np.zeros(m, bool))
    return net.rebuilt([*given[:hidden], through]), net.rebuilt(given[hidden:])


def cut(pieces: Sequence[Piece], plane: Side, budget: Budget) -> list[Piece]:
    """The pieces, those that a hyperplane passes through replaced by their two parts."""
    found: list[Piece] = []
    for piece in pieces:
        budget.spend(len(found))
        found += [part for part in piece.halves(plane) if part is not None]
    return found


# ---- composition -----------------------------------------------------------------------------------------------------


def compose_pieces(
    net: ExactNetwork, pieces: Sequence[Piece], budget: Budget, listed: bool = False
) -> list[Piece]:
    r"""$g\circ f$ on the cells $(f|_{P_j})^{-1}(P'_k)\cap P_j$ that are full-dimensional: those of owners, or
    (`listed`) one for every pair $(j,k)$, so that some may be the same or overlap."""
    found: list[Piece] = []
    for j, piece in enumerate(pieces):
        if net.widths[0] != len(piece.rows):
            raise UsageError(
                "The network does not fit the map.",
                got=f"{net.widths[0]} inputs, {len(piece.rows)} rows",
            )
        branches = [_Branch(replace(piece, source=j, pattern=(), owner=True))]
        for i in range(len(net.steps)):
            walk = _Walk(net, i, listed, budget, len(found))
            branches = [after for branch in branches for after in walk(branch)]
        found += [branch.piece for branch in branches]
    return found


@dataclass(frozen=True)
class _Branch:
    """A part of a piece on its way through the network. `touched` are the neurons that vanish on its image, as forms in
    the inputs of the network that are positive on the side that was chosen."""

    piece: Piece
    touched: tuple[Form, ...] = ()


@dataclass(frozen=True)
class _Walk:
    """Step `i` of the network: every branch is cut by the neurons of the step, one after the other."""

    net: ExactNetwork
    i: int
    listed: bool
    budget: Budget
    before: int

    @property
    def step(self) -> ExactStep:
        return self.net.steps[self.i]

    def __call__(self, branch: _Branch) -> list[_Branch]:
        rows = _after(self.step, branch.piece.rows)
        known = len(branch.piece.pattern)
        branches = [branch]
        for k in np.flatnonzero(self.step.rectified).tolist():
            self.budget.spend(self.before + len(branches))
            side = primitive(rows[k]) if any(rows[k][:-1]) else None
            branches = [
                part for b in branches for part in self._split_by_sign(b, k, rows[k][-1], side)
            ]
        return [self._rectify(b, rows, b.piece.pattern[known:]) for b in branches]

    def _split_by_sign(
        self, branch: _Branch, k: int, constant: fmpq, side: Side | None
    ) -> Iterator[_Branch]:
        """The parts of a branch where neuron `k` is active, and inactive: on the `side`, unless it is constant."""
        piece = branch.piece
        if side is not None:
            for part, active in zip(piece.halves(side), (True, False)):
                if part is not None:
                    yield _Branch(part.with_neuron(active, part.owner), branch.touched)
        elif constant or not self.listed:
            yield _Branch(piece.with_neuron(bool(constant > 0), piece.owner), branch.touched)
        else:
            yield from _either_side(branch, self._neuron(k, piece.pattern))

    def _neuron(self, k: int, pattern: Sequence[bool]) -> Form:
        """Neuron `k` in the inputs of the network, where the neurons before it have this pattern."""
        rows = coordinates(self.net.widths[0])
        used = 0
        for step in self.net.steps[: self.i]:
            count = int(step.rectified.sum())
            rows = _mask(step, _after(step, rows), pattern[used : used + count])
            used += count
        return _after(self.step, rows)[k]

    def _rectify(self, branch: _Branch, rows: Sequence[Form], signs: Sequence[bool]) -> _Branch:
        return replace(branch, piece=replace(branch.piece, rows=_mask(self.step, rows, signs)))


def _either_side(branch: _Branch, neuron: Form) -> Iterator[_Branch]:
    """A neuron that vanishes on the image: the cells of the outer network on either side of its zero set."""
    piece = branch.piece
    leading = next((a for a in neuron[:-1] if a), None)
    if leading is None:  # zero near the image: inactive, and no boundary of a cell
        yield _Branch(piece.with_neuron(False, piece.owner), branch.touched)
        return
    for active in (True, False):
        side = (*(a if active else -a for a in neuron[:-1]), ZERO)
        touched = (*branch.touched, side)
        if (
            has_interior(touched, len(neuron) - 1) is not None
        ):  # else no cell of the outer network lies there
            owner = piece.owner and (leading > 0) == active
            yield _Branch(piece.with_neuron(active, owner), touched)


def _after(step: ExactStep, forms: Sequence[Form]) -> list[Form]:
    """The rows of a step, before its ReLU, as forms."""
    return [
        (*slope, constant + b)
        for (*slope, constant), b in zip(step.matrix.times(forms), step.offset)
    ]


def _mask(step: ExactStep, rows: Sequence[Form], signs: Sequence[bool]) -> tuple[Form, ...]:
    """The rows after the ReLU, where its neurons have these signs."""
    on = iter(signs)
    zero = (ZERO,) * len(rows[0])
    return tuple(row if not r or next(on) else zero for row, r in zip(rows, step.rectified))
