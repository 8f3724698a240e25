"""Maxima of many forms by maxima of few, and nodal functions in space with two hidden layers."""

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial import Delaunay

from ftheta.logic import SubjectError
from ftheta.relu.counts import count
from ftheta.relu.geometry import value
from ftheta.relu.maxima.sums import MaximaSum, depth_bound
from ftheta.relu.maxima.wang_sun import few_maxima, lifted_star
from ftheta.relu.mesh import Mesh
from ftheta.relu.meshes.nodal import compile_cpa, fem_basis, lattice_nodal

from ..thoroughness import max_examples
from .test_meshes import assert_interpolates, sample


def random_mesh(seed: int, n: int = 11) -> Mesh:
    points = np.unique(np.random.default_rng(seed).integers(0, 9, (n, 3)), axis=0)
    return Mesh.of(points.tolist(), Delaunay(points).simplices.tolist())


@max_examples(40)
@given(st.sampled_from([1, 2, 3]), st.data())
def test_a_maximum_of_many_is_a_signed_sum_of_maxima_of_few(d: int, data: st.DataObject) -> None:
    number = st.integers(-6, 6).map(fmpq)
    forms = data.draw(st.lists(st.tuples(*[number] * (d + 1)), min_size=1, max_size=10))
    f = few_maxima(forms)
    assert f is not None and all(len(term) <= d for _, term in f.terms)
    net = f.network()
    assert count(net).affine_layers <= depth_bound(d)
    for x in data.draw(st.lists(st.tuples(*[number] * d), min_size=5, max_size=5)):
        assert f(x) == net.states(x)[-1][0] == max(value(form, x) for form in forms)


def test_homogeneous_and_flat_families_are_handled() -> None:
    q = lambda *form: tuple(map(fmpq, form))
    cube = [q(a, b, c, 0) for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)]
    square = [q(1, 0, 0, 0), q(-1, 0, 0, 0), q(0, 1, 0, 2), q(0, -1, 0, 2)]
    for forms in (
        cube,
        square,
        [q(1, 2, 3, 4)],
        [q(1, 1, 1, 0), q(2, 2, 2, 0), q(3, 3, 3, 0), q(1, 1, 1, -5)],
    ):
        f = few_maxima(forms)
        assert f is not None
        for x in (q(1, 2, 3), q(-3, 1, 0), q(0, 0, 0), q(5, -5, 1)):
            assert f(x) == max(value(form, x) for form in forms)


@max_examples(4)
@given(st.integers(0, 40))
def test_every_nodal_function_of_a_convex_mesh_in_space_takes_two_hidden_layers(seed: int) -> None:
    mesh = random_mesh(seed)
    rng = np.random.default_rng(seed)
    basis = fem_basis(mesh.points, mesh.simplices)
    assert count(basis).affine_layers == 3
    used = [i for i, star in enumerate(mesh.stars) if star]
    for k, cell in enumerate(mesh.simplices):
        x, w = sample(mesh, k, rng)
        assert list(basis.states(x)[-1]) == [w[cell.index(i)] if i in cell else 0 for i in used]


def test_any_function_on_a_convex_mesh_in_space_takes_two_hidden_layers() -> None:
    mesh = random_mesh(7)
    rng = np.random.default_rng(7)
    values = [int(v) for v in rng.integers(-4, 5, len(mesh.points))]
    net = compile_cpa(mesh.points, mesh.simplices, values)
    assert count(net).affine_layers == 3
    assert_interpolates(net, mesh, values, rng)


@pytest.mark.parametrize(("seed", "vertex"), [(1, 7), (3, 6), (5, 2), (3, 2)])
def test_the_lattice_form_needs_the_parts_on_which_the_order_of_the_forms_is_fixed(
    seed: int, vertex: int
) -> None:
    """With one group a simplex instead of one a part, the first three of these are wrong."""
    mesh = random_mesh(seed)
    hat = [int(j == vertex) for j in range(len(mesh.points))]
    rng = np.random.default_rng(seed)
    assert_interpolates(lattice_nodal(mesh, vertex), mesh, hat, rng)
    lifted = lifted_star(mesh, vertex)
    assert lifted is not None
    assert_interpolates(lifted.network(), mesh, hat, rng)


def test_larger_maxima_than_two_hidden_layers_can_take_are_refused() -> None:
    form = tuple(map(fmpq, (1, 0)))
    with pytest.raises(SubjectError, match="at most four"):
        MaximaSum(form, ((fmpq(1), (form,) * 4),)).network()
