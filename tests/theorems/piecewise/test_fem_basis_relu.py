"""Meshes with values as networks, against interpolation and finite elements written elsewhere."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.interpolate import LinearNDInterpolator
from scipy.linalg import solveh_banded

from ftheta.logic import SubjectError, Verdict
from ftheta.relu.exact import round_weights
from ftheta.relu.matrices import fraction
from ftheta.subjects import Dataset
from ftheta.theorems.piecewise.fem_basis_relu import fem_basis_relu, place_simplices
from ftheta.theorems.piecewise.fem_basis_relu.elements import Elements
from ftheta.theorems.piecewise.fem_basis_relu.poisson import Poisson
from ftheta.theorems.piecewise.fem_basis_relu.uniform import Uniform, hexagon_gap

from ...thoroughness import max_examples


@max_examples(8)
@given(st.integers(0, 10**6))
def test_scattered_points_give_the_interpolant_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = np.unique(rng.integers(0, 32, (9, 2)), axis=0) / 8.0
    y = rng.integers(-8, 9, len(x)) / 4.0
    try:
        given = Elements.of_points(x, y)
    except SubjectError:  # all on one line
        return
    inside = rng.dirichlet(np.ones(len(x)), 40) @ x
    peer = LinearNDInterpolator(x, y)(inside)
    assert np.allclose(round_weights(given.network).network(inside)[:, 0], peer, atol=1e-6)


def test_points_of_a_line_are_interpolated_in_order() -> None:
    given = Elements.of_points(np.array([[2.0], [0.0], [1.0]]), np.array([5.0, 1.0, -1.0]))
    t = np.linspace(0, 2, 33)
    assert np.allclose(
        round_weights(given.network).network(t[:, None])[:, 0], np.interp(t, [0, 1, 2], [1, -1, 5])
    )


@pytest.mark.parametrize(
    ("d", "n", "shape"),
    [(1, 6, "scattered"), (2, 3, "scattered"), (2, 4, "uniform"), (3, 2, "uniform")],
)
def test_networks_are_proved_to_be_interpolants_and_a_basis(d: int, n: int, shape: str) -> None:
    rng = np.random.default_rng(0)
    x, y = place_simplices(d, n, shape, "hat", 0.0, rng)
    found = fem_basis_relu.measure(Dataset("hat", x, y), rng)
    assert found.examples is not None and found.charts
    claims = (*found.claims, *found.examples().claims)
    assert all(claim.judge().verdict is Verdict.PROVED for claim in claims)
    assert len(found.claims) == (7 if d == 1 else 4) and len(claims) == 11 + (d == 1)
    given = Elements.of_arrays(x, y)
    assert given.gap_at(given.network, 10, rng) == 0


def test_a_network_of_other_values_is_caught() -> None:
    rng = np.random.default_rng(0)
    given = Elements.of_arrays(*place_simplices(2, 3, "scattered", "wave", 0.0, rng))
    other = [v + (i == given.central) for i, v in enumerate(given.values)]
    found = given.gap(given.hat, other)
    assert found is None or found[0] > 0
    exactly = given.gap(given.hat, [2 * int(i == given.central) for i in range(len(given.values))])
    assert (
        exactly is not None and exactly[0] == 1 and exactly[1] == given.mesh.points[given.central]
    )
    assert given.gap_at(given.hat, 20, rng) > 0


def test_two_values_at_one_corner_are_noticed_and_refuted() -> None:
    rng = np.random.default_rng(0)
    x, y = place_simplices(2, 2, "uniform", "hat", 0.25, rng)
    assert len(Elements.of_arrays(x, y).clashes) == 1
    claim: Any = fem_basis_relu.measure(Dataset("hat", x, y), rng).claims[0]
    assert claim.judge().verdict is Verdict.REFUTED and claim.left.lo == 0.25


def test_a_function_on_a_box_is_interpolated_at_its_vertices() -> None:
    given = Elements.of_function(lambda x: x[0] * x[1], (0.0, 0.0), (6.0, 6.0))
    assert all(given.network(x)[0] == fraction(x[0]) * fraction(x[1]) for x in given.mesh.points)


def test_what_is_no_mesh_is_refused() -> None:
    with pytest.raises(SubjectError, match="no mesh"):
        Elements.of_arrays(np.zeros((4, 2, 2)), None)
    with pytest.raises(SubjectError, match="more points"):
        Elements.of_points(np.zeros((2, 2)), None)
    with pytest.raises(SubjectError):
        Elements.of_points(np.array([[0.0, 0], [1, 1], [2, 2], [3, 3]]), None)
    hanging = np.array(
        [[[0.0, 0], [2, 0], [0, 2]], [[0, 0], [1, 0], [0, -1]], [[1, 0], [2, 0], [1, -1]]]
    )
    with pytest.raises(SubjectError, match="vertex lies on a simplex"):
        Elements.of_arrays(hanging, None)


def test_the_uniform_hat_has_the_values_of_the_catalogue() -> None:
    uniform = Uniform.build()
    numbers = uniform.numbers()
    assert uniform.mass == 1 and hexagon_gap() == 0
    assert [uniform.count_needed_maps(d) for d in (1, 2, 3)] == [2, 3, 3]
    assert [numbers[name].middle for name in ("φ(½, 0)", "φ(½, −½)", "neurons in dimension 1")] == [
        0.5,
        0,
        3,
    ]  # type: ignore[union-attr]


@max_examples(20)
@given(st.lists(st.fractions(-3, 3, max_denominator=12), min_size=2, max_size=9, unique=True))
def test_poisson_is_exact_at_the_nodes_and_within_the_bound_between(nodes: list[Fraction]) -> None:
    found = Poisson.solve(nodes)
    assert found.nodal_error == 0 and found.largest_error == found.widest**2 / 8


def test_poisson_agrees_with_finite_differences() -> None:
    n = 16
    peer = solveh_banded(
        np.array([[0.0] + [-1.0] * (n - 2), [2.0] * (n - 1)]), np.full(n - 1, 1 / n**2)
    )
    found = Poisson.solve([Fraction(k, n) for k in range(n + 1)])
    assert np.allclose([float(u) for u in found.found[1:-1]], peer, atol=1e-14)
