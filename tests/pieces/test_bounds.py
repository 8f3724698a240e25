"""Bounds on the number of pieces: the values of the catalogue, networks that attain them, networks that obey them."""

from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.pieces import Box, Space, count_pieces, pieces
from ftheta.pieces.bounds import (
    HiddenLayer,
    arrangement,
    layers_of,
    montufar_lower,
    plain_layers,
    product_upper,
    serra_upper,
)
from ftheta.relu.exact import from_description
from ftheta.theorems.piecewise.regions_deep.constructions import folding_network, montufar_network
from ftheta.theorems.piecewise.regions_deep.counting import (
    count_layer_by_layer,
    count_linear_regions,
)

from ..thoroughness import max_examples
from .networks import default_network


def test_the_bounds_have_the_values_of_the_catalogue():
    assert montufar_lower(2, (4, 4, 4)) == 176
    assert product_upper(2, plain_layers((4, 4, 4))) == 1331
    assert (serra_upper(2, plain_layers((3, 3))), product_upper(2, plain_layers((3, 3)))) == (
        40,
        49,
    )


@given(
    st.integers(1, 4),
    st.lists(st.builds(HiddenLayer, st.integers(0, 6), st.integers(0, 3)), max_size=4),
)
def test_the_bound_of_serra_lies_below_the_product_and_both_below_all_patterns(d, layers):
    assert (
        serra_upper(d, layers)
        <= product_upper(d, layers)
        <= prod(2**layer.neurons for layer in layers)
    )


@pytest.mark.parametrize(
    "d, widths", [(1, (3, 5)), (2, (4, 4, 4)), (2, (5, 7)), (3, (6, 5)), (2, (3,))]
)
def test_the_construction_has_as_many_linear_regions_as_the_lower_bound(d, widths):
    cells = pieces(from_description(montufar_network(d, widths)), Box(np.zeros(d), np.ones(d)))
    assert count_linear_regions(cells).middle == len(cells) == montufar_lower(d, widths)
    assert int(cells.linear_regions().max()) + 1 == len(cells)


@pytest.mark.parametrize("d, width, times", [(2, 4, 3), (1, 3, 4), (2, 6, 2), (3, 6, 2)])
def test_folding_multiplies_the_pieces(d, width, times):
    net = from_description(folding_network(d, width, times))
    assert count_pieces(net, Box(np.zeros(d), np.ones(d))).middle == (width // d) ** (d * times)


@max_examples(20)
@given(
    st.integers(1, 3), st.lists(st.integers(1, 5), min_size=1, max_size=3), st.integers(0, 10**6)
)
def test_no_network_has_more_pieces_than_the_bound(d, widths, seed):
    net = default_network((d, *widths, 1), seed)
    assert count_pieces(net, Space(d)).hi <= serra_upper(d, layers_of(net))


def test_the_beginnings_of_patterns_count_the_pieces_of_the_first_layers():
    cells = pieces(from_description(montufar_network(2, (4, 4, 4))), Box(np.zeros(2), np.ones(2)))
    assert count_layer_by_layer(cells) == [4, 16, 176]
    assert arrangement(4, 2) == 11
