"""Interpolants of vertex values as functions that JAX can call."""

import jax
import numpy as np
import pytest
from scipy.interpolate import LinearNDInterpolator
from scipy.spatial import Delaunay

from ftheta.logic import SubjectError
from ftheta.theorems.piecewise.cpa_to_relu_compiler.mesh_function import MeshFunction


def test_inside_the_mesh_it_is_the_linear_interpolant_of_scipy():
    rng = np.random.default_rng(0)
    points = rng.uniform(-1, 1, (25, 2))
    values = rng.normal(size=25)
    triangles = Delaunay(points)
    f = MeshFunction.of(points, triangles.simplices, values.tolist())
    reference = LinearNDInterpolator(triangles, values)
    x = rng.dirichlet(np.ones(25), 40) @ points
    with jax.enable_x64(True):
        found = np.array([float(f(row)) for row in x])
    np.testing.assert_allclose(found, reference(x), atol=1e-12)


def test_on_a_line_points_in_any_order_are_joined_to_their_neighbours():
    x = np.array([3.0, 0.0, 2.0, 1.0])
    y = np.array([2.0, 0.0, 0.0, 1.0])
    f = MeshFunction.delaunay(x[:, None], y)
    assert len(f.mesh.simplices) == 3
    with jax.enable_x64(True):
        assert [float(f(t)) for t in (0.5, 1.5, 2.5)] == [0.5, 0.5, 1.0]


def test_two_rows_at_one_point_are_refused():
    points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(SubjectError):
        MeshFunction.delaunay(points, np.arange(5.0))


def test_points_on_one_line_have_no_triangulation():
    with pytest.raises(SubjectError, match="no triangulation"):
        MeshFunction.delaunay(
            np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]), np.zeros(4)
        )
