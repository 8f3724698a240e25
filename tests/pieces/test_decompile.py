"""A network, cut into simplices and compiled again, is the same function."""

from fractions import Fraction
from itertools import pairwise
from math import factorial

import numpy as np
import pytest
from flint import fmpq_mat

from ftheta.logic import UsageError
from ftheta.pieces import Box, Polygon, decompile, equal, pieces
from ftheta.relu.exact import exact
from ftheta.relu.mesh import Mesh
from ftheta.relu.network import ReluNetwork

from .networks import KINDS, adversarial_network, default_network


def small_network(widths, seed) -> ReluNetwork:
    rng = np.random.default_rng(seed)
    whole = lambda least, most, *shape: rng.integers(least, most, size=shape).astype(float)
    weights = [whole(-2, 3, m, n) for n, m in pairwise(widths)]
    return ReluNetwork.dense(weights, [whole(-1, 2, m) for m in widths[1:]])


def volume(corners) -> Fraction:
    det = fmpq_mat([[*x, 1] for x in corners]).det()
    return abs(Fraction(int(det.p), int(det.q))) / factorial(len(corners) - 1)


@pytest.mark.parametrize("first", range(0, 200, 25))
def test_compiling_what_was_decompiled_gives_the_function_back_in_the_plane(first):
    for seed in range(first, first + 25):
        net = small_network((2, 3, 2, 1), seed)
        mesh = decompile(net, Box.cube(2))
        assert equal(net, mesh.network(), Box.cube(2)), seed


@pytest.mark.parametrize("widths", [(1, 4, 3, 1), (2, 3, 1), (3, 2, 2, 1)])
def test_the_lattice_form_of_a_mesh_gives_the_function_back(widths):
    for seed in range(8):
        net = small_network(widths, seed)
        mesh = decompile(net, Box.cube(widths[0]))
        assert equal(net, mesh.lattice(), Box.cube(widths[0])), seed


@pytest.mark.parametrize("inputs", [1, 2, 3])
@pytest.mark.parametrize("kind", KINDS)
def test_simplices_meet_face_to_face_fill_the_box_and_carry_the_values(kind, inputs):
    net = adversarial_network(kind, inputs, 1, widest=3)
    mesh = decompile(net, Box.cube(inputs))
    checked = Mesh.of(mesh.points, mesh.simplices)  # raises unless it is a mesh
    assert sum(volume(checked.corners(k)) for k in range(len(mesh.simplices))) == 2**inputs
    assert all(exact(net)(x) == y for x, y in zip(mesh.points, mesh.values))
    for cell in mesh.simplices[:20]:
        middle = [sum(mesh.points[v][c] for v in cell) / len(cell) for c in range(inputs)]
        assert exact(net)(middle)[0] == sum(mesh.values[v][0] for v in cell) / len(cell)


def test_polygons_and_several_outputs_and_rational_networks_are_decompiled():
    net = small_network((2, 3, 2), 5)
    triangle = Polygon([[0, 0], [3, 1], [1, 3]])
    again = decompile(net, triangle).network()
    assert again.widths[-1] == 2 and equal(net, again, triangle)
    assert decompile(again, triangle).values and equal(
        decompile(again, triangle).network(), net, triangle
    )


def test_a_mesh_needs_all_cells():
    net = default_network((2, 16, 16, 1))
    with pytest.raises(UsageError, match="all cells"):
        decompile(net, Box.cube(2), max_cells=3)
    assert len(pieces(net, Box.cube(2))) > 3
