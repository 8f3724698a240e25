"""Networks on simplices: cells that cover, suprema and integrals against closed forms and numerical ones."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given

from ftheta.logic import SubjectError
from ftheta.relu.calculus import pad
from ftheta.relu.elementary import hat
from ftheta.relu.exact import round_weights
from ftheta.relu.geometry import value
from ftheta.relu.line.points import on_line
from ftheta.relu.maxima.depth_bounds import maximum_with_zero
from ftheta.relu.maxima.maximum import maximum
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.simplex_cells import (
    box_mesh,
    box_simplices,
    cells,
    integral,
    largest,
    volume,
)
from ftheta.relu.network import ExactNetwork

from ..thoroughness import max_examples
from .nets import networks


@max_examples(25)
@given(networks(inputs=2, outputs=1, max_depth=3, plain=False))
def test_cells_cover_the_square_and_carry_the_function(net) -> None:
    square = box_simplices([-2, -2], [2, 2])
    found = [cell for simplex in square for cell in cells(net, simplex)]
    assert sum((volume(cell) for cell, _ in found), fmpq(0)) == 16
    for cell, (form,) in found:
        middle = tuple(sum(t, fmpq(0)) / 3 for t in zip(*cell))
        assert all(value(form, x) == net.states(x)[-1][0] for x in (*cell, middle))


@max_examples(15)
@given(networks(inputs=2, outputs=1, max_depth=3))
def test_supremum_and_integral_agree_with_a_fine_grid(net) -> None:
    square = box_simplices([-1, -1], [1, 1])
    t = (np.arange(64) + 0.5) / 32 - 1
    x = np.stack(np.meshgrid(t, t), axis=-1).reshape(-1, 2)
    y = round_weights(net).network(x)[:, 0]
    steep = float(
        np.abs(np.diff(y.reshape(64, 64), axis=0)).max()
        + np.abs(np.diff(y.reshape(64, 64), axis=1)).max()
    )
    top, place = largest(net, square)
    assert abs(net(place)[0]) == top and -1e-9 <= float(top) - np.abs(y).max() <= 2 * steep + 1e-9
    assert abs(float(integral(net, square)) - 4 * y.mean()) <= 4 * steep + 1e-9


def test_integrals_of_maxima_over_cubes_have_closed_forms() -> None:
    """E max of d uniform numbers is d/(d+1); of their absolute values as well."""
    for d in (1, 2, 3):
        assert integral(maximum(d), box_simplices([0] * d, [1] * d)) == Fraction(d, d + 1)
    assert integral(maximum_with_zero(2), box_simplices([-1, -1], [1, 1])) == Fraction(
        4, 1
    ) * Fraction(5, 12)


def test_on_the_line_the_integral_is_that_of_the_pieces() -> None:
    assert integral(hat(), box_simplices([-1], [1])) == on_line(hat())[0].mass == 1
    assert largest(pad(hat(), 4) - hat(), box_simplices([-3], [3]))[0] == 0


def test_a_box_mesh_is_a_conforming_mesh_of_the_box() -> None:
    for d, n in ((1, 5), (2, 3), (3, 2)):
        points, simplices = box_mesh([-1] * d, [2] * d, n)
        mesh = Mesh.of(points, simplices)
        assert mesh.is_convex and len(points) == (n + 1) ** d
        assert sum((volume(mesh.corners(k)) for k in range(len(simplices))), fmpq(0)) == 3**d


def test_too_many_cells_are_refused() -> None:
    rng = np.random.default_rng(0)
    net = ExactNetwork.dense(
        [rng.integers(-9, 10, (12, 2)).tolist(), [[1] * 12]],
        [rng.integers(-5, 6, 12).tolist(), [0]],
    )
    with pytest.raises(SubjectError, match="too many cells"):
        list(cells(net, box_simplices([-1, -1], [1, 1])[0], most=3))
