"""From pieces to weights and back: equality decided by a second method, sizes, and where it must fail."""

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks import random_mlp
from ftheta.pieces import Box
from ftheta.pieces.functions.composition import Window
from ftheta.pieces.functions.partitions import Budget, pieces_of
from ftheta.pieces.functions.polyhedra import everywhere
from ftheta.pieces.questions.equality import equal
from ftheta.relu.counts import count
from ftheta.relu.exact import exact, from_description
from ftheta.relu.maxima.maximum import neurons
from ftheta.relu.meshes.nodal import compile_cpa
from ftheta.theorems.piecewise.cpa_to_relu_compiler.compiler import Compiled
from ftheta.theorems.piecewise.cpa_to_relu_compiler.mesh_function import (
    MeshFunction,
    make_mesh_function,
)
from ftheta.theorems.piecewise.cpa_to_relu_compiler.sources import Source, mesh_pieces

from ...thoroughness import max_examples


def compiled(pieces) -> Compiled:
    found = Compiled.of(pieces, 5000)
    assert found is not None
    return found


@max_examples(8)
@given(st.integers(0, 10**6), st.sampled_from([(1, 4, 3, 1), (2, 3, 1), (2, 2, 2, 1)]))
def test_a_network_comes_back_as_the_same_function(seed, widths):
    net = exact(random_mlp(np.random.default_rng(seed), widths, bias=0.5))
    made = compiled(pieces_of(net, everywhere(widths[0]), Budget(5000, 10**6)))
    assert made.gap(made.network) == 0 == made.gap(net)
    # cell by cell, by another enumeration
    found = equal(net, made.network, Box.cube(widths[0], 4.0))
    assert found.equal is True, found
    assert len(made.network.steps) == made.depth


@pytest.mark.parametrize("kind", ["square", "random points"])
def test_a_mesh_compiles_to_the_network_that_sums_of_maxima_give(kind):
    f = make_mesh_function(np.random.default_rng(1), kind, 2)
    made = compiled(mesh_pieces(f))
    assert made.gap(made.network) == 0
    low, high = f.box
    other = compile_cpa(f.mesh.points, f.mesh.simplices, f.values)
    assert equal(made.network, other, Box(low, high)).equal is True


def test_vertex_values_in_space_are_met_at_every_vertex():
    number: dict[tuple[int, ...], int] = {x: k for k, x in enumerate(product((0, 1), repeat=3))}
    paths = [
        [tuple(int(j in order[:k]) for j in range(3)) for k in range(4)]
        for order in permutations(range(3))
    ]
    values = np.random.default_rng(0).integers(-8, 9, 8).tolist()
    f = MeshFunction.of(list(number), [[number[x] for x in path] for path in paths], values)
    made = compiled(mesh_pieces(f))
    assert made.gap(made.network) == 0
    assert [made.network(x)[0] for x in number] == values


@pytest.mark.parametrize("cells", [2, 3, 4])
def test_depth_is_logarithmic_in_the_pieces_and_neurons_are_those_of_the_parts(cells):
    made = compiled(mesh_pieces(make_mesh_function(np.random.default_rng(cells), "square", cells)))
    M = len(made.forms)
    ridges = len(made.difference.ridges)
    assert M > 2 and 2 ** (len(made.network.steps) - 2) < M <= 2 ** (len(made.network.steps) - 1)
    padding = 2 * (len(made.network.steps) - 2) if ridges else 0
    assert count(made.network).neurons == neurons(M) + ridges + padding


def test_a_domain_with_a_gap_holds_functions_that_do_not_compile():
    f = make_mesh_function(np.random.default_rng(0), "U-shape", 3)
    made = compiled(mesh_pieces(f))
    assert not f.mesh.is_convex and made.gap(made.network) == 2


def test_a_network_with_another_bias_is_told_apart():
    layers = random_mlp(np.random.default_rng(3), (2, 3, 1), bias=0.5)
    net = exact(layers)
    made = compiled(pieces_of(net, everywhere(2), Budget(1000, 10**6)))
    shifted = net.rebuilt([(s.matrix, [b + 1 for b in s.offset], s.rectified) for s in net.steps])
    assert made.gap(net) == 0 < made.gap(shifted)


def test_one_output_on_a_window_is_read_and_too_many_pieces_are_left_alone():
    net = from_description(random_mlp(np.random.default_rng(0), (2, 4, 3), bias=0.5))
    view = Window.of(net, None, np.random.default_rng(0), 1.0)
    source = Source.from_window(view, 2, 100)
    assert source is not None and source.net is not None and source.net.widths[-1] == 1
    assert Source.from_window(view, 2, 1) is None


def test_round_trip_of_a_small_mesh_is_equal_everywhere():
    made = compiled(mesh_pieces(make_mesh_function(np.random.default_rng(2), "square", 2)))
    back = made.again(2000)
    assert back is not None and back.gap(made.network) == 0 == back.gap(back.network)
    assert made.again(3) is None
