"""Where the pieces to compile come from: a mesh, or a network that is read so that it can be written again."""

from dataclasses import dataclass

import numpy as np
from flint import fmpq  # type: ignore[import-untyped]

from ftheta.logic import Axis, SubjectError
from ftheta.pieces.functions.composition import Window
from ftheta.pieces.functions.partitions import Piece
from ftheta.pieces.functions.polyhedra import Polyhedron, bounded_by, box, primitive
from ftheta.pieces.normal_forms import Form
from ftheta.pieces.pictures import axes_of
from ftheta.relu.calculus import postcompose
from ftheta.relu.network import ExactNetwork

from .mesh_function import MeshFunction


def mesh_pieces(function: MeshFunction) -> list[Piece]:
    """The simplices of a mesh with their affine forms."""
    mesh = function.mesh
    corners = [primitive((*x, fmpq(1))) for x in mesh.points]
    return [
        Piece(
            bounded_by(
                [primitive(f) for f in own.values()], tuple(corners[i] for i in own), mesh.dimension
            ),
            (function.forms[k],),
        )
        for k, own in enumerate(mesh.coordinates)
    ]


@dataclass(frozen=True, eq=False)
class Source:
    """Pieces to compile, the box and axes to draw them in, and the network or the mesh that they were read from."""

    pieces: list[Piece]
    frame: Polyhedron
    axes: tuple[Axis, Axis]
    net: ExactNetwork | None = None
    mesh: MeshFunction | None = None

    @classmethod
    def of(
        cls,
        read: MeshFunction | Form,
        rng: np.random.Generator,
        output: int,
        radius: float,
        max_cells: int,
    ) -> "Source | None":
        """None where there is no normal form, or where there are too many pieces."""
        if isinstance(read, MeshFunction):
            return cls.from_mesh(read)
        if read.network is None or read.refusal:
            return None
        return cls.from_window(Window.of(read.network, None, rng, radius), output, max_cells)

    @classmethod
    def from_mesh(cls, function: MeshFunction) -> "Source":
        points = [x for x, star in zip(function.mesh.points, function.mesh.stars) if star]
        low, high = ([pick(column) for column in zip(*points)] for pick in (min, max))
        return cls(mesh_pieces(function), box(low, high), (Axis("x₁"), Axis("x₂")), mesh=function)

    @classmethod
    def from_window(cls, view: Window, output: int, max_cells: int) -> "Source | None":
        """One output of a network; None where it has more pieces than allowed."""
        rows = view.net.widths[-1]
        if not 0 <= output < rows:
            raise SubjectError("There is no such output.", got=output, remedy=f"0 … {rows - 1}")
        net = postcompose(view.net, [[int(k == output) for k in range(rows)]])
        pieces = Window(net, view.frame, view.domain).pieces(max_cells)
        return None if pieces is None else cls(pieces, view.frame, axes_of(view.domain), net)
