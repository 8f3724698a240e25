"""Layers that are enough and layers that are needed."""

from math import ceil, log

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Verdict
from ftheta.networks.description import random_mlp
from ftheta.pieces import Polygon
from ftheta.relu.elementary import hat
from ftheta.relu.exact import from_description, round_weights
from ftheta.relu.maxima.depth_bounds import enough, maximum_with_zero, necessary
from ftheta.relu.maxima.sums import depth_bound, recent_hidden_layers
from ftheta.theorems.piecewise.cpa_depth_bound import cpa_depth_bound, network
from ftheta.theorems.piecewise.cpa_depth_bound.broken_kinks import OnSlice
from ftheta.theorems.piecewise.cpa_depth_bound.small_maxima import convert_maximum

from ..thoroughness import max_examples

WINDOW = (fmpq(-2), fmpq(2))
SQUARE = [(-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, 2.0)]


def plane(d: int) -> Polygon:
    return Polygon(SQUARE, np.zeros(d), np.eye(d)[:, :2])


def test_the_bounds_of_the_catalogue() -> None:
    assert [depth_bound(d) for d in (1, 2, 3, 4, 7, 8, 15, 16)] == [2, 3, 3, 4, 4, 5, 5, 6]
    assert [(depth_bound(d) - 1, recent_hidden_layers(d)) for d in (4, 10, 28)] == [
        (3, 2),
        (4, 3),
        (5, 4),
    ]


def test_the_recent_bound_is_nowhere_worse_than_the_older_one() -> None:
    assert all(recent_hidden_layers(d) <= depth_bound(d) - 1 for d in range(3, 3001))


@given(st.integers(3, 10**6))
def test_the_recent_bound_is_the_logarithm_rounded_up(d: int) -> None:
    exponent = recent_hidden_layers(d) - 1
    assert 3**exponent >= d - 1 > 3 ** (exponent - 1) * (exponent > 0)
    assert abs(exponent - ceil(log(d - 1, 3))) <= 1 and enough(d) <= d.bit_length()


def test_a_maximum_of_three_is_not_one_hidden_layer_and_the_reason_can_be_checked() -> None:
    on_diagonal = ((fmpq(1), fmpq(1)), (fmpq(1), fmpq(-1)))
    found = necessary(maximum_with_zero(2), [on_diagonal], WINDOW)
    assert found.layers == 2 and found.why is not None
    assert found.why.jumps == (2, 0) and found.why.holds(maximum_with_zero(2))
    assert not found.why.holds(maximum_with_zero(2) + maximum_with_zero(2))  # other jumps
    assert "jump 2 at (1, 1)" in str(found.why)


def test_on_the_line_a_kink_needs_one_layer_and_no_more() -> None:
    assert necessary(hat(), [((fmpq(0),), (fmpq(1),))], WINDOW).layers == 1
    assert necessary(hat(), [((fmpq(5),), (fmpq(1),))], WINDOW).layers == 0


@max_examples(12)
@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 8), st.integers(1, 3))
def test_one_hidden_layer_in_any_dress_is_never_excluded(
    seed: int, d: int, width: int, depth: int
) -> None:
    """Padded with layers that pass everything on, so that the search cannot see how few layers there are."""
    from ftheta.relu.calculus import pad

    rng = np.random.default_rng(seed)
    net = pad(from_description(random_mlp(rng, (d, width, 2), bias=0.5)), 1 + depth)
    assert OnSlice.of(net, plane(d), rng).needs.layers <= 1


@pytest.mark.parametrize("d", [2, 3, 7])
def test_maxima_and_random_deep_networks_need_two(d: int) -> None:
    rng = np.random.default_rng(d)
    nets = [
        round_weights(maximum_with_zero(d)).network,
        from_description(random_mlp(rng, (d, 12, 12, 1), bias=0.5)),
    ]
    for net in nets:
        found = OnSlice.of(net, plane(d), rng)
        assert (
            found.needs.layers == 2
            and found.needs.why is not None
            and found.needs.why.holds(found.plane)
        )


@pytest.mark.parametrize(("d", "forms"), [(1, 8), (2, 7), (3, 5)])
def test_maxima_of_many_are_sums_of_maxima_of_few_on_every_cell(d: int, forms: int) -> None:
    rng = np.random.default_rng(d)
    found = convert_maximum(rng.integers(-6, 7, (forms, d + 1)).tolist())
    assert found.gap == 0 and found.largest_term <= d + 1 and found.layers <= depth_bound(d) - 1


def test_the_examples_are_proved_and_the_kink_is_drawn() -> None:
    rng = np.random.default_rng(0)
    found = cpa_depth_bound.measure(network(rng), rng)
    assert found.examples is not None and len(found.charts) == 3
    assert all(claim.judge().verdict is Verdict.PROVED for claim in found.examples().claims)
