"""Finite elements with a network as basis give the solution of a finite-element library."""

import numpy as np
import pytest

from ftheta.relu.exact import round_weights
from ftheta.relu.meshes.nodal import compile_cpa, fem_basis

skfem = pytest.importorskip("skfem")


def test_poisson_with_the_network_basis_equals_scikit_fem() -> None:
    from skfem.models.poisson import laplace, unit_load

    mesh = skfem.MeshTri().refined(2)
    points = mesh.p.T
    cells = mesh.t.T
    basis = skfem.Basis(mesh, skfem.ElementTriP1())
    A = laplace.assemble(basis)
    b = unit_load.assemble(basis)
    inner = mesh.interior_nodes()
    expected = skfem.solve(*skfem.condense(A, b, I=inner))

    phi = round_weights(fem_basis(points, cells, nodes=inner.tolist())).network
    K = np.zeros((len(inner), len(inner)))
    load = np.zeros(len(inner))
    inside = np.array([[0.6, 0.2, 0.2], [0.2, 0.6, 0.2], [0.2, 0.2, 0.6]])
    for cell in cells:
        x = inside @ points[cell]
        values = phi(x)
        edges = x[1:] - x[0]
        gradients = np.linalg.solve(edges, values[1:] - values[0])
        area = abs(np.linalg.det(points[cell][1:] - points[cell][0])) / 2
        K += area * gradients.T @ gradients
        load += area * values.mean(axis=0)
    solution = np.linalg.solve(K, load)
    assert np.allclose(solution, expected[inner], atol=1e-12)

    whole = round_weights(compile_cpa(points, cells, expected)).network
    x = np.random.default_rng(0).random((50, 2))
    assert np.allclose(whole(x)[:, 0], basis.probes(x.T) @ expected, atol=1e-10)
