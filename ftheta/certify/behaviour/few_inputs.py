"""The pieces of a network on a box of few inputs, in rationals."""

import numpy as np
from flint import fmpq

from ftheta.certify.questions import Box
from ftheta.pieces.functions.partitions import Budget, OutOfBudget, Piece, pieces_of
from ftheta.pieces.functions.polyhedra import Polyhedron, bounded_by, corners_of, primitive
from ftheta.relu.matrices import ExactMatrix, rational
from ftheta.relu.network import ExactNetwork, ExactStep

PIECE_INPUTS = 3  # up to so many inputs, pieces are enumerated
GLANCE = 1.0  # seconds for boxes before that
MOST_PIECES = 20_000
MOST_CUTS = 200_000


def list_pieces(net: ExactNetwork, j: int, box: Box) -> list[Piece] | None:
    """The pieces of output `j`; None where there are too many, or the box is flat."""
    if any(a == b for a, b in zip(box.lo, box.hi)):
        return None
    try:
        return pieces_of(_choose_output(net, j), _polyhedron(box), Budget(MOST_PIECES, MOST_CUTS))
    except OutOfBudget:
        return None


def _polyhedron(box: Box) -> Polyhedron:
    inputs = len(box.lo)
    sides = []
    for i in range(inputs):
        unit = [fmpq(int(i == k)) for k in range(inputs)]
        sides.append(primitive((*unit, -rational(box.lo[i]))))
        sides.append(primitive((*(-u for u in unit), rational(box.hi[i]))))
    return bounded_by(sides, corners_of(sides, inputs), inputs)


def _choose_output(net: ExactNetwork, j: int) -> ExactNetwork:
    last = net.steps[-1]
    matrix = ExactMatrix((last.matrix.rows[j],), (1, last.matrix.shape[1]))
    return ExactNetwork((*net.steps[:-1], ExactStep(matrix, (last.offset[j],), np.zeros(1, bool))))
