"""Two networks are proved equal, or told apart at a point."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Basis, Enclosure, Identity, UsageError, Verdict
from ftheta.networks.description import Dense, Description
from ftheta.pieces import Box, Equality, Polygon, Polyline, Segment, Space, equal
from ftheta.relu.calculus import pad
from ftheta.relu.elementary import identity
from ftheta.relu.exact import exact
from ftheta.relu.line.cpa1d import realisation
from ftheta.relu.maxima.maximum import maximum
from ftheta.relu.network import ExactNetwork, ReluNetwork, Step

from ..thoroughness import max_examples
from .networks import KINDS, adversarial_network, default_network, tent

SQUARE = Box.cube(2)


def unfolded(net: ReluNetwork) -> ReluNetwork:
    """The same function with r(z) = z + r(-z) in the first hidden layer: another normal form."""
    first, second, *others = net.steps
    W = first.dense()
    b = first.offset
    n = len(first.offset)
    mask = np.repeat([False, True], n)
    twice = Step(np.vstack([W, -W]), np.concatenate([b, -b]), mask)
    return ReluNetwork(
        (twice, Step(np.tile(second.dense(), 2), second.offset, second.rectified), *others)
    )


def judged(found: Equality) -> Verdict:
    """The verdict on the claim that the two are equal."""
    return (
        Identity("sup |f − g|", found.distance, Enclosure.exact(0), found.as_witness())
        .judge()
        .verdict
    )


def spike(at: float, width: float, dimension: int = 1) -> ReluNetwork:
    """A tent of that width in the first coordinate, zero elsewhere."""
    rows = np.zeros((3, dimension))
    rows[:, 0] = 1.0
    return ReluNetwork.dense(
        [rows, [[1.0, -2.0, 1.0]]], [[-at, -at - width, -at - 2 * width], [0.0]]
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("inputs", [1, 2, 3])
def test_a_rewritten_network_is_proved_equal_and_a_changed_one_is_told_apart(kind, inputs):
    for seed in range(3):
        net = adversarial_network(kind, inputs, seed, widest=4)
        box = Box.cube(inputs)
        found = equal(net, unfolded(net), box)
        assert found and judged(found) is Verdict.PROVED
        assert found.distance.hi == 0 and found.distance.basis is Basis.EXACT
        changed = equal(net, unfolded(net) + spike(0.3, 2.0**-20, inputs), box)
        assert changed.equal is False and changed.witness is not None
        x = changed.witness.point
        f = changed.witness.left
        g = changed.witness.right
        assert g[0] - f[0] == exact(spike(0.3, 2.0**-20, inputs))(x)[0] > 0
        assert all(abs(t) <= 1 for t in x)
        assert judged(changed) is Verdict.REFUTED


@max_examples(40)
@given(st.integers(0, 10**6), st.integers(0, 10**6))
def test_in_one_dimension_the_answer_is_that_of_the_two_lists_of_kinks(one, other):
    """Against the exact calculus of piecewise-affine functions on all of the line; the box contains every kink."""

    f = tiny(one)
    g = tiny(other)
    assert equal(f, g, Box([-9.0], [9.0]), points=1).equal == (realisation(f) == realisation(g))


def tiny(seed: int) -> Description:
    rng = np.random.default_rng(seed)
    whole = lambda least, most, *shape: rng.integers(least, most, size=shape).astype(float)
    return Description(
        (
            Dense(whole(-1, 2, 2, 1), whole(-1, 2, 2), "relu"),
            Dense(whole(-1, 2, 1, 2), whole(0, 2, 1)),
        )
    )


def test_a_difference_on_a_small_interval_is_found_by_its_cell():
    net = tent(6)
    width = 2.0**-30
    found = equal(net, net + spike(0.37, width), Box([0.0], [1.0]))
    assert found.witness is not None and found.cells == 0
    assert Fraction(0.37) < found.witness.point[0] < Fraction(0.37) + 2 * Fraction(width)


def test_equality_depends_on_the_domain():
    absolute = ReluNetwork.dense([[[1.0], [-1.0]], [[1.0, 1.0]]], [[0.0, 0.0], [0.0]])
    line = ReluNetwork.dense([[[1.0]]], [[0.0]])
    assert equal(absolute, line, Box([0.0], [5.0]))
    assert equal(absolute, line, Box([-(2.0**-40)], [5.0])).equal is False
    assert equal(absolute, line, Segment([0.0], [3.0])) and equal(
        absolute, line, Polyline([[0.0], [3.0], [1.0]])
    )
    assert equal(absolute, line, Polyline([[3.0], [0.0], [-1.0]])).equal is False


def test_planar_slices_of_many_inputs_are_compared_on_the_slice_alone():
    rng = np.random.default_rng(0)
    net = default_network((5, 8, 8, 2), seed=4)
    p, q, r = rng.normal(size=(3, 5))
    plane = Polygon.through(p, q, r)
    assert equal(net, unfolded(net), plane)
    # zero on the slice, not everywhere
    off = ReluNetwork.dense([[[1.0] * 5], [[1.0], [0.0]]], [[-100.0], [0.0, 0.0]])
    assert equal(net, net + off, plane) and not equal(net, net + off, Space(5))


def test_rational_networks_are_compared_without_rounding():
    third = ExactNetwork.dense([[[Fraction(1, 3)], [Fraction(-1, 3)]], [[3, -3]]], [[0, 0], [0]])
    assert equal(third, identity(1), Box.cube(1))
    nearly = ExactNetwork.dense(
        [[[Fraction(1, 3)], [Fraction(-1, 3)]], [[3, -3 + Fraction(1, 10**40)]]], [[0, 0], [0]]
    )
    found = equal(nearly, identity(1), Box.cube(1))
    assert found.witness is not None and 0 < found.witness.gap < Fraction(1, 10**39)


def test_rationals_that_floats_cannot_hold_are_kept_beside_them():
    rng = np.random.default_rng(3)
    long = lambda *shape: np.vectorize(lambda m: Fraction(int(m), 7**30))(
        rng.integers(-(2**62), 2**62, size=shape)
    )
    net = ExactNetwork.dense(
        [long(3, 2).tolist(), long(2, 3).tolist()], [long(3).tolist(), long(2).tolist()]
    )
    floats = net.in_floats()
    assert floats.is_long and not floats.rounded
    for x in rng.normal(size=(20, 2)).tolist():
        assert exact(floats)(x) == net(x)


def test_cells_that_have_no_corners_decide_in_many_dimensions():
    net = default_network((12, 4, 3, 1), seed=3)
    box = Box.cube(12)
    assert equal(net, unfolded(net), box)
    changed = equal(net, unfolded(net) + spike(0.3, 2.0**-20, 12), box)
    assert (
        changed.witness is not None
        and changed.witness.gap == exact(spike(0.3, 2.0**-20, 12))(changed.witness.point)[0]
    )


def test_tree_and_chain_compute_the_same_maximum():
    assert equal(maximum(4, "tree"), maximum(4, "chain"), Box.cube(4))


def test_equal_normal_forms_need_no_cells_even_on_all_of_space():
    net = default_network((3, 30, 30, 1))
    found = equal(net, pad(net, 5), Space(3))
    assert found and found.cells == 0
    assert equal(net, unfolded(net), Space(3)).equal is None


def test_a_budget_leaves_the_question_open():
    net = tent(30)  # a thousand million pieces
    for cells, seconds in ((100, None), (None, 0.2)):
        found = equal(net, unfolded(net), Box([0.0], [1.0]), max_cells=cells, max_seconds=seconds)
        assert found.equal is None and not found and "undecided" in repr(found)
        assert judged(found) is Verdict.INCONCLUSIVE


def test_functions_between_other_spaces_are_refused():
    with pytest.raises(UsageError, match="inputs and outputs"):
        equal(default_network((2, 3, 1)), default_network((2, 3, 2)), SQUARE)
    with pytest.raises(UsageError, match="another space"):
        equal(default_network((2, 3, 1)), default_network((2, 3, 1)), Box.cube(3))
