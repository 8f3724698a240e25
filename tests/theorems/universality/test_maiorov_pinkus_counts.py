"""Kolmogorov's superpositions: the inner function in exact numbers, disjoint intervals, outer steps, and sizes."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks import count
from ftheta.theorems.universality.maiorov_pinkus_counts import kolmogorov as k
from ftheta.theorems.universality.maiorov_pinkus_counts.sizes import Sizes, architecture, own_units


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_the_inner_function_rises_and_agrees_with_its_digits(rank):
    exact = k.inner_values(rank)
    assert all(a < b for a, b in pairwise(exact))
    # a little to the right: rounding takes no digit
    x = np.arange(k.BASE**rank) / k.BASE**rank + 1e-9 / k.BASE**rank
    np.testing.assert_allclose(k.inner(x), [float(t) for t in exact[:-1]], atol=1e-12)
    assert exact[-1] == 1 and len(exact) == k.BASE**rank + 1


@given(st.integers(0, 6**3 - 1), st.integers(0, 4), st.integers(0, 4))
def test_numbers_with_small_further_digits_hardly_rise(i, fourth, fifth):
    """ψ on [D, D + 4/5·6⁻³] stays within 4(6⁻¹⁵ + …) of ψ(D)."""
    x = i / 6**3 + fourth / 6**4 + fifth / 6**5 + 1e-6 / 6**5
    rise = float(k.inner(np.array([x]))[0]) - float(k.inner_values(3)[i])
    assert -1e-15 <= rise <= 4 * 6.0**-15 * (1 + 1e-3) + 1e-15


@pytest.mark.parametrize("rank", [1, 2])
def test_squares_go_to_disjoint_intervals_and_shifts_keep_points_in_them(rank):
    assert k.overlaps(rank) == 0
    assert k.fewest_good(rank) == 3
    rng = np.random.default_rng(0)
    cells = (rng.uniform(size=(20_000, 2))[:, None] + np.arange(5)[None, :, None] / 30) * 6**rank
    good = (np.mod(cells, 1) <= 4 / 5).all(2).sum(1)
    assert good.min() == 3


def test_wider_squares_would_overlap(monkeypatch):
    # a rational λ of few digits maps squares together
    monkeypatch.setattr(k, "slope", lambda terms=5: Fraction(1, 6))
    assert k.overlaps(2) > 0


def test_outer_steps_leave_four_fifths_or_less():
    found = k.superposition((2, 3))
    assert found.errors[1] <= 0.8 + 0.6 * 0.96 / 36
    assert found.errors[2] < found.errors[1]


@pytest.mark.parametrize(
    "d, connections, neurons, printed", [(1, 39, 12, 27), (2, 117, 21, 180), (3, 237, 30, 567)]
)
def test_counts_of_maiorov_and_pinkus(d, connections, neurons, printed):
    rng = np.random.default_rng(0)
    found = count(architecture(rng, d))
    other = count(own_units(rng, d))
    sizes = Sizes(d)
    assert (
        (found.connections, found.neurons)
        == (connections, neurons)
        == (sizes.connections, sizes.neurons)
    )
    assert sizes.input_weights == printed
    assert (other.connections, other.neurons) == (sizes.own_connections, sizes.own_neurons)
