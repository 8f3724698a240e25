"""Simplified networks: the same rationals inside the set, fewer neurons, another function outside."""

from fractions import Fraction

import numpy as np
import pytest
from flint import fmpq
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.logic.errors import FthetaError, UsageError
from ftheta.networks import random_mlp
from ftheta.relu.deviation import bound_replacement, multiply_up
from ftheta.relu.exact import exact
from ftheta.relu.matrices import ExactMatrix
from ftheta.relu.network import ExactNetwork, ExactStep, ReluNetwork
from ftheta.stability.simplification import _find_idle, _middle, _replace_quiet
from tests.thoroughness import max_examples


def draw(seed: int, *widths: int) -> ReluNetwork:
    layers = random_mlp(np.random.default_rng(seed), widths, "relu", bias=0.5).layers
    return ReluNetwork.dense([layer.weight for layer in layers], [layer.bias for layer in layers])


@max_examples(20)
@given(st.integers(0, 10_000), st.floats(0.001, 1.0))
def test_both_are_equal_in_rationals_at_points_of_the_box(seed, radius):
    net = draw(seed, 2, 12, 12, 3)
    rng = np.random.default_rng(seed)
    centre = rng.standard_normal(2)
    found = ft.simplify(net, (centre - radius, centre + radius))
    before, after = exact(net), exact(found.network)
    assert found.open_neurons + sum(map(len, found.dead)) + sum(map(len, found.linear)) == 24
    points = [
        *rng.uniform(centre - radius, centre + radius, (5, 2)),
        centre - radius,
        centre + radius,
    ]
    for x in points:
        point = tuple(Fraction(float(v)) for v in x)
        assert before(point) == after(point)


def test_on_a_small_box_a_network_is_one_affine_map():
    net = draw(0, 3, 20, 20, 2)
    x = np.full(3, 0.3)
    found = ft.simplify(net, (x - 1e-9, x + 1e-9))
    assert found.network.widths == (3, 2) and found.open_neurons == 0


def test_neurons_that_pass_give_way_to_the_state_before_them():
    """Thirty neurons on two inputs, few of them open: the state is those and the two inputs."""
    net = draw(1, 2, 30, 4, 1)
    found = ft.simplify(net, (np.full(2, 0.25), np.full(2, 0.35)))
    assert found.network.widths[1] < 30
    assert "30" in str(found) and "dead" in str(found)


def test_outside_of_the_box_they_differ():
    net = ReluNetwork.dense([np.eye(1), np.eye(1)], [np.zeros(1), np.zeros(1)])
    found = ft.simplify(net, (np.array([1.0]), np.array([2.0])))
    assert found.network.widths == (1, 1)
    assert found.network([-3.0]) == -3.0 and net([-3.0]) == 0.0


def test_a_dead_layer_leaves_a_constant():
    net = ReluNetwork.dense([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.full(1, 7.0)])
    found = ft.simplify(net, (np.full(2, -2.0), np.full(2, -1.0)))
    assert [len(part) for part in found.dead] == [2]
    assert found.network([5.0, 5.0]) == 7.0


def test_balls_and_networks_of_images_are_taken():
    net = ft.Network.described(
        random_mlp(np.random.default_rng(0), (4, 8, 2), "relu", bias=0.5), "random"
    )
    found = ft.simplify(net, ft.Ball(np.zeros(4), 0.01, norm=2))
    assert found.network([0.0] * 4) == pytest.approx(np.asarray(net(np.zeros(4))), rel=1e-12)


@pytest.mark.parametrize(
    "net, region",
    [
        (draw(0, 2, 4, 1), (np.ones(2), np.zeros(2))),
        (draw(0, 2, 4, 1), (np.zeros(3), np.ones(3))),
        (draw(0, 2, 4, 1), (np.zeros((2, 2)), np.ones((2, 2)))),
    ],
)
def test_what_makes_no_sense_is_refused(net, region):
    with pytest.raises(FthetaError):
        ft.simplify(net, region)


def test_a_network_that_is_not_piecewise_affine_is_refused():
    net = ft.Network.described(
        random_mlp(np.random.default_rng(0), (2, 4, 1), "tanh", bias=0.5), "smooth"
    )
    with pytest.raises((UsageError, FthetaError), match="piecewise affine"):
        ft.simplify(net, (np.zeros(2), np.ones(2)))


def with_copies(net: ReluNetwork, factor: float = 2.0) -> ReluNetwork:
    """The same function with every neuron of the first layer twice, once scaled, at half the weight each."""
    first, *others = net.steps
    matrix = np.concatenate([first.dense(), factor * first.dense()])
    offset = np.concatenate([first.offset, factor * first.offset])
    read = np.concatenate([0.5 * others[0].dense(), 0.5 / factor * others[0].dense()], axis=1)
    weights = [matrix, read, *(step.dense() for step in others[1:])]
    return ReluNetwork.dense(weights, [offset, *(step.offset for step in others)])


@pytest.mark.parametrize("precision", [None, "float64"])
def test_copies_are_merged_into_the_first_of_their_kind(precision):
    net = draw(3, 3, 7, 5, 2)
    wide = (np.full(3, -50.0), np.full(3, 50.0))
    found = ft.simplify(with_copies(net), wide, precision=precision)
    assert found.network.widths == net.widths and found.removed.copies == 7
    assert found.proof.is_equality
    point = (Fraction(1, 3), Fraction(-2, 7), Fraction(5))
    assert exact(found.network)(point) == exact(net)(point)


def test_neurons_that_read_nothing_and_that_nothing_reads_are_dropped():
    weights = [np.array([[1.0], [0.0], [-1.0]]), np.array([[1.0, 2.0, 0.0]])]
    net = ReluNetwork.dense(weights, [np.array([0.0, 3.0, 0.0]), np.array([0.5])])
    found = ft.simplify(net, (np.array([-1.0]), np.array([1.0])))
    assert found.network.widths == (1, 1, 1)
    assert found.network([0.5]) == net([0.5]) == 7.0


@max_examples(20)
@given(st.integers(0, 10_000), st.floats(0.01, 3.0), st.sampled_from([None, "float32", "float64"]))
def test_no_point_of_the_box_moves_an_output_by_more_than_the_certified_deviation(
    seed, tolerance, precision
):
    net = draw(seed, 3, 10, 10, 2)
    low = np.full(3, -0.3)
    high = np.full(3, 0.4)
    found = ft.simplify(net, (low, high), tolerance=tolerance, precision=precision)
    most = found.proof.deviation.hi
    assert most <= tolerance
    before, after = exact(net), exact(found.network)
    rng = np.random.default_rng(seed)
    for x in [*rng.uniform(low, high, (6, 3)), low, high]:
        point = tuple(Fraction(float(v)) for v in x)
        moved = max(abs(a - b) for a, b in zip(before(point), after(point)))
        assert moved <= Fraction(most)


def test_a_larger_tolerance_leaves_fewer_neurons_and_the_whole_range_leaves_none():
    net = draw(5, 2, 12, 12, 1)
    box = (np.full(2, -1.0), np.full(2, 1.0))
    widths = [sum(ft.simplify(net, box, tolerance=t).network.widths[1:-1]) for t in (0.0, 1.0, 1e6)]
    assert widths[0] > widths[1] > widths[2] == 0


def test_branch_and_bound_finds_no_larger_deviation():
    """A second method: the range of the difference on the box, attained and proved."""
    net = draw(2, 2, 8, 6, 1)
    box = (np.full(2, -0.5), np.full(2, 0.5))
    found = ft.simplify(net, box, tolerance=0.5, precision="float32")
    gap = ft.range(net, box, minus=found.network, budget="20s")
    met = max(-gap.least[0], gap.greatest[0])
    assert 0 < met <= found.proof.deviation.hi


def test_a_weight_of_zero_times_a_size_that_is_not_known_is_not_known():
    """Huge networks ended in a foreign error: an enclosure up to NaN."""
    assert multiply_up(np.zeros((1, 2)), np.array([np.inf, 0.0])).tolist() == [0.0]
    assert multiply_up(np.array([[0.0, 1.0]]), np.array([np.inf, 1.0])).tolist() == [np.inf]


def test_products_are_no_less_than_those_of_numbers_that_are_off_by_a_unit():
    rng = np.random.default_rng(0)
    for _ in range(20):
        A, x = rng.standard_normal((4, 12)), rng.uniform(size=12)
        for row, found in zip(A.tolist(), multiply_up(A, x).tolist()):
            exactly = sum(abs(Fraction(a)) * Fraction(v) for a, v in zip(row, x.tolist()))
            assert exactly * (1 + Fraction(1, 2**53)) <= Fraction(found) <= exactly * (1 + 1e-13)


def test_the_error_of_a_replaced_neuron_goes_through_those_that_are_kept():
    net = ReluNetwork.dense([[[1.0]], [[2.0]], [[-3.0]]], [np.zeros(1)] * 3)
    kept = [np.array([False]), np.array([True])]
    found = bound_replacement(net, kept, [np.array([0.5]), np.zeros(1)])
    assert 3 <= found[0] <= 3 * (1 + 1e-12)


def test_a_constant_in_place_of_a_neuron_is_rounded():
    """The neuron moves by one unit in the last place, of which no float is the middle."""
    net = ReluNetwork.dense([np.ones((1, 1)), np.ones((1, 1))], [np.zeros(1), np.zeros(1)])
    low, high = np.array([1.0]), np.array([1 + 2.0**-52])
    start = _find_idle(net, [(low, high)], low, high, ((1,), (1,)))
    found = _replace_quiet(start, 1e-12)
    constant = Fraction(_middle((low, high), np.ones(1, bool), 0))
    assert len(found.replaced[0]) == 1
    for end in (low, high):
        assert abs(Fraction(end[0]) - constant) <= Fraction(found.proof.deviation.hi)


@pytest.mark.parametrize("precision", ["float32", "float64"])
@pytest.mark.parametrize("slope, offset", [(1, 7), (3, 1), (3, 7)])
def test_rounded_weights_and_rounded_offsets_are_paid_for(slope, offset, precision):
    row = {0: fmpq(1, slope)}
    step = ExactStep(ExactMatrix((row,), (1, 1)), (fmpq(1, offset),), np.zeros(1, bool))
    net = ExactNetwork((step,)).in_floats()
    found = ft.simplify(net, ([1.0], [2.0]), precision=precision, tolerance=1e-5)
    for x in (1, 2):
        moved = exact(found.network)((Fraction(x),))[0] - Fraction(x, slope) - Fraction(1, offset)
        assert 0 < abs(moved) <= Fraction(found.proof.deviation.hi)


def test_what_float32_cannot_hold_is_refused_without_a_tolerance():
    net = ReluNetwork.dense([np.array([[1 / 3]]), np.array([[1.0]])], [np.zeros(1), np.zeros(1)])
    box = (np.array([-1.0]), np.array([1.0]))
    with pytest.raises(UsageError, match="precision"):
        ft.simplify(net, box, precision="float32")
    found = ft.simplify(net, box, precision="float32", tolerance=1e-6)
    moved = abs(exact(net)((Fraction(1),))[0] - exact(found.network)((Fraction(1),))[0])
    assert 0 < moved <= Fraction(found.proof.deviation.hi) <= 2 * moved


@pytest.mark.parametrize("slope", [Fraction(0), Fraction(1, 3 * 2**1080)])
def test_numbers_below_all_floats_are_not_written_without_a_deviation(slope):
    """The float that stands for a third of 2⁻¹⁰⁸⁰ is 2⁻¹⁰⁷⁴."""
    offset = Fraction(1, 3 * 2**1080)
    row = {0: rational_of(slope)} if slope else {}
    step = ExactStep(ExactMatrix((row,), (1, 1)), (rational_of(offset),), np.zeros(1, bool))
    net = ExactNetwork((step,)).in_floats()
    found = ft.simplify(net, ([1.0], [2.0]), precision="float64", tolerance=1e-300)
    moved = exact(found.network)((Fraction(2),))[0] - (2 * slope + offset)
    assert 0 < moved <= Fraction(found.proof.deviation.hi)


@pytest.mark.parametrize("end, offset", [(1.0, 2.0**-40 - 1), (-1.0, 1 - 2.0**-40)])
def test_a_neuron_that_bends_beside_the_rim_is_neither_dead_nor_linear(end, offset):
    net = ReluNetwork.dense([np.ones((1, 1)), np.ones((1, 1))], [np.array([offset]), np.zeros(1)])
    found = ft.simplify(net, ([min(end, 0.0)], [max(end, 0.0)]))
    assert not found.dead[0].size and not found.linear[0].size
    x = (Fraction(end),)
    assert exact(found.network)(x) == exact(net)(x)


def test_a_tolerance_takes_nothing_from_an_affine_network():
    net = ReluNetwork.dense([np.array([[2.0]])], [np.ones(1)])
    found = ft.simplify(net, ([1.0], [2.0]), tolerance=0.1)
    assert found.proof.is_equality and found.network.widths == (1, 1)


def rational_of(x: Fraction) -> fmpq:
    return fmpq(x.numerator, x.denominator)


@pytest.mark.parametrize("tolerance", [-1.0, np.nan, np.inf])
def test_a_tolerance_is_a_number(tolerance):
    with pytest.raises(UsageError, match="tolerance"):
        ft.simplify(draw(0, 2, 4, 1), (np.zeros(2), np.ones(2)), tolerance=tolerance)


def test_an_unbounded_box_is_refused():
    with pytest.raises(UsageError, match="bounded"):
        ft.simplify(draw(0, 2, 4, 1), (np.zeros(2), np.full(2, np.inf)))
