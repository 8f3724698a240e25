"""The cores behind the theorems on the line, the maximum and the calculus of networks."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from ftheta.logic import Basis, SubjectError
from ftheta.networks import random_mlp
from ftheta.networks.description import require_layers
from ftheta.relu.counts import count
from ftheta.relu.describe import describe_layers
from ftheta.relu.exact import exact
from ftheta.relu.line.fewest import fewest
from ftheta.relu.line.pieces import along, narrow_bound, product_bound
from ftheta.relu.line.points import from_slopes, on_line
from ftheta.relu.line.program import LineFunction, exact_pieces
from ftheta.relu.maxima.maximum import maximum
from ftheta.relu.network import ExactNetwork
from ftheta.relu.symmetry.folding import distance, fold
from ftheta.subjects import Network
from ftheta.theorems.piecewise.cpa_1d_one_hidden_layer.spline import interpolate, pairs
from ftheta.theorems.piecewise.max_network.braid import against_maximum, rays
from ftheta.theorems.piecewise.max_network.tournament import shape_of
from ftheta.theorems.piecewise.network_calculus import network_calculus
from ftheta.theorems.piecewise.pieces_1d import three_by_two, two_by_two


@pytest.mark.parametrize(
    "slopes, neurons",
    [((1, -1, 1, -2), 3), ((0, 1), 1), ((-1, 1), 2), ((1, 2, 5), 3), ((2, 0, 3), 2)],
)
def test_the_fewest_neurons_realise_the_function(slopes, neurons):
    f = from_slopes(range(len(slopes) - 1), slopes, 0, 1)
    net, least = fewest(f)
    assert on_line(net)[0] == f
    assert least.lo == least.hi == neurons == count(net).neurons


def test_programs_are_read_as_pieces():
    with jax.enable_x64(True):
        read = exact_pieces(lambda x: jnp.abs(x) - jnp.maximum(x - 1, 0))
        assert not isinstance(read, str) and read[1] is Basis.EXACT and read[0].kinks == (0, 1)
        assert "sin" in str(exact_pieces(jnp.sin))
        f = from_slopes([0, 2], [1, -1, 3], 0, 1)
        again = exact_pieces(lambda x: LineFunction(f)(x))
        assert not isinstance(again, str) and again[0] == f


def test_points_on_the_line():
    x = np.array([[0.0], [1.0], [2.0], [3.0]])
    y = np.array([0.0, 1.0, 0.0, 2.0])
    f, missed = interpolate(x, y)
    assert missed is None and f(Fraction(5, 2)) == 1 and f(10) == 16
    assert pairs(x, None) == "no labels"
    with pytest.raises(SubjectError):
        interpolate(x, None)


@pytest.mark.parametrize("M", [2, 3, 5, 6])
def test_cones_tell_the_maximum_from_its_neighbours(M):
    for shape in ("tree", "chain"):
        net = maximum(M, shape)
        on = against_maximum(net)
        assert on.error == on.bent == 0 and shape_of(net) is not None
    weights = [[[1, -1], [0, 1], [0, -1]], [[1, 1, -1]]]
    weights[0][0][0] = 2
    assert against_maximum(ExactNetwork.dense(weights, [[0] * 3, [0]])).error > 0
    assert len(rays(M)) == 2 ** (M + 1)


def test_a_network_that_bends_inside_a_cone_is_seen():
    # u + v is positive on the ray (1, 0) and negative on (0, -1), which span the cone u >= 0 >= v
    net = ExactNetwork.dense([[[1, 1]], [[1]]], [[0], [0]])
    assert against_maximum(net).bent == 1


@pytest.mark.parametrize("widths", [(1, 3, 1), (3, 8, 8, 2), (2, 1, 1), (4, 3)])
@pytest.mark.parametrize("seed", range(4))
def test_the_calculus_is_proved_by_normal_forms(widths, seed):
    rng = np.random.default_rng(seed)
    found = network_calculus.measure(Network.described(random_mlp(rng, widths, bias=0.5)), rng)
    assert found.examples is not None
    for claim in (*found.claims, *found.examples().claims):
        assert claim.judge().verdict == "proved", claim.what


def test_folding_keeps_the_function_and_different_networks_keep_their_distance():
    f = exact(random_mlp(np.random.default_rng(0), (2, 4, 3, 1), bias=0.5))
    x = [Fraction(1, 3), Fraction(-2, 7)]
    assert fold(f)(x) == f(x)
    assert distance(f, 2 * f, [x]).lo > 0


def test_pieces_along_a_line():
    seven = along(two_by_two(), [0], [1])
    twelve = along(three_by_two(), [0], [1])
    assert seven.pieces == narrow_bound((2, 2)) == 7 and twelve.pieces == 12
    assert product_bound((2, 2)) == 9 and narrow_bound((3, 2)) == 12
    rng = np.random.default_rng(3)
    for _ in range(200):
        net = exact(random_mlp(rng, (1, 2, 3, 1), bias=1.0))
        assert along(net, [0], [1]).pieces <= narrow_bound((2, 3))


def test_layers_are_needed_and_kept():
    with pytest.raises(SubjectError):
        require_layers(None)
    with pytest.raises(SubjectError):
        describe_layers(ExactNetwork.dense([[[Fraction(1, 3)]], [[1]]], [[0], [0]]))
