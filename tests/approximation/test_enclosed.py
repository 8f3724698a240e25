"""Slopes of networks on cells: no secant inside a cell is steeper than its enclosure says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.approximation.enclosed import VALUES, Enclosed, Kuhn, Shallow

from ..thoroughness import max_examples

SEEDS = st.integers(0, 2**32 - 1)
ROUNDING = 1e-9


def assert_secants_within(
    net: Enclosed, rng: np.random.Generator, dimension: int, width: float
) -> None:
    """Along every axis, between random points of random cells of up to this width."""
    a = rng.uniform(-1, 1 - width, (20, dimension))
    b = a + width * rng.uniform(0.01, 1, a.shape)
    slopes = net.slopes(a, b)
    for axis in range(dimension):
        x = rng.uniform(a, b, (50, *a.shape))
        y = x.copy()
        y[..., axis] = rng.uniform(a[:, axis], b[:, axis], x.shape[:2])
        run = (y - x)[..., axis]
        value = lambda z: net.values(z.reshape(-1, dimension)).reshape(z.shape[:2])
        rise = value(y) - value(x)
        slack = ROUNDING * (1 + np.abs(run))
        ends = np.stack([slopes.lo[:, axis] * run, slopes.hi[:, axis] * run])
        assert (rise >= ends.min(0) - slack).all() and (rise <= ends.max(0) + slack).all()


@max_examples(25)
@given(SEEDS, st.sampled_from([2, 3]), st.integers(2, 7), st.sampled_from([0.02, 0.2, 0.6]))
def test_interpolants_on_cells_that_reach_over_the_edges_of_the_mesh(seed, dimension, cells, width):
    rng = np.random.default_rng(seed)
    nodal = rng.normal(size=(cells + 1,) * dimension)
    net = Kuhn(nodal, np.full(dimension, cells / 2), np.full(dimension, cells / 2))
    assert_secants_within(net, rng, dimension, width)


@pytest.mark.parametrize("activation", VALUES)
def test_hidden_layers_of_every_activation(activation):
    rng = np.random.default_rng(0)
    for dimension, width in ((1, 0.05), (2, 0.5), (5, 1.5)):
        net = Shallow(
            activation,
            3 * rng.normal(size=(12, dimension)),
            rng.normal(size=12),
            rng.normal(size=12),
            0.5,
        )
        assert_secants_within(net, rng, dimension, width)


def test_the_enclosure_of_a_fine_cell_is_narrow():
    rng = np.random.default_rng(0)
    net = Shallow("tanh", rng.normal(size=(12, 2)), rng.normal(size=12), rng.normal(size=12), 0.0)
    a = rng.uniform(-1, 1, (100, 2))
    slopes = net.slopes(a, a + 1e-3)
    assert (slopes.hi - slopes.lo).max() < 0.05
