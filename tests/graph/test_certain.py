"""What a program is for certain: its degree, whether it can jump, bend or have poles, its range over all of space."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import trace
from ftheta.graph.certain import (
    bounds_over,
    is_continuous,
    is_pole_free,
    is_smooth,
    is_smooth_at,
    polynomial_degree,
)

degrees = st.lists(st.integers(0, 4), min_size=1, max_size=4)


@pytest.fixture(autouse=True)
def in_float64():
    with jax.enable_x64(True):
        yield


@given(degrees, degrees)
def test_products_add_degrees_and_sums_take_the_larger(one, other):
    p = lambda x: sum(x**k for k in one)
    q = lambda x: sum(x**k for k in other)
    assert polynomial_degree(lambda x: p(x) * q(x), 0.0) == max(one) + max(other)
    assert polynomial_degree(lambda x: p(x) + q(x) / 3 - 1, 0.0) == max(*one, *other)
    assert polynomial_degree(lambda x: p(x) ** 2 * x, 0.0) == 2 * max(one) + 1


@pytest.mark.parametrize(
    "f, degree",
    [
        (lambda x: x @ jnp.eye(3) @ x, 2),
        (lambda x: jnp.sum((jnp.outer(x, x) @ x) ** 2), 6),
        (lambda x: jnp.mean((jnp.ones((5, 3)) @ x - 1) ** 2), 2),
        (lambda x: x[1] * x[jnp.array([0, 2])].sum(), 2),
        (lambda x: jnp.where(jnp.arange(3) > 0, x, x**2).sum(), 2),
        (lambda x: jnp.float64(3.0), 0),
        (lambda x: jnp.sum(jnp.exp(x)), None),
        (lambda x: jnp.sum(1 / x), None),
        (lambda x: jnp.sum(x**-2), None),
        (lambda x: jnp.sum(jnp.where(x > 0, x, x)), None),
        (lambda x: jnp.sum(x * jax.lax.stop_gradient(x)), None),
        (lambda x: jnp.sum(x.astype(int)).astype(float), None),
        (lambda x: jnp.arange(3.0)[jnp.argmax(x)], None),
        (lambda x: jax.nn.relu(x).sum(), None),
    ],
)
def test_the_degree_of_a_program(f, degree):
    assert polynomial_degree(f, np.zeros(3)) == degree


@jax.custom_jvp
def relu(x):
    """A step under the name of another function."""
    return jnp.where(x > 0, 1.0, 0.0)


relu.defjvp(lambda primals, tangents: (relu(*primals), tangents[0]))


@pytest.mark.parametrize(
    "f, continuous, smooth, without_poles",
    [
        (jnp.tanh, True, True, True),
        (jnp.abs, True, False, True),
        (jax.nn.relu, True, False, True),
        (jax.nn.softplus, True, True, True),
        (lambda x: 1 / (1 + x * x), True, True, True),
        (lambda x: 1 / x, True, True, False),
        (jnp.tan, True, True, False),
        (jnp.floor, False, False, True),
        (jnp.sign, False, False, True),
        (lambda x: jnp.arctan2(x, -1.0), False, False, True),
        (lambda x: jnp.array([0.0, 1.0])[jnp.argmax(jnp.stack([0 * x, x]))], False, False, True),
        (lambda x: x * jax.lax.stop_gradient(x), False, False, True),
        (lambda x: relu(x), False, False, True),
    ],
)
def test_jumps_kinks_and_poles_of_a_program(f, continuous, smooth, without_poles):
    graph = trace(f, 0.0)
    assert is_continuous(graph) == continuous
    assert is_smooth(graph) == smooth
    assert is_pole_free(graph, -np.inf, np.inf) == without_poles


@pytest.mark.parametrize("keys", [1, 2])
def test_what_is_sorted_by_other_numbers_jumps(keys):
    def f(x):
        return jax.lax.sort((x, x + jnp.array([0.0, 5.0])), num_keys=keys)[1]

    assert not is_continuous(trace(f, jnp.zeros(2)))
    assert is_continuous(trace(jnp.sort, jnp.zeros(2)))


def test_a_root_is_smooth_away_from_its_vertical_tangent():
    graph = trace(lambda x: jnp.sqrt(x - 1), 0.0)
    assert is_smooth_at(graph, 1.5)
    assert not is_smooth_at(graph, 1.0)
    assert not is_smooth_at(graph, 0.5)


@pytest.mark.parametrize(
    "f, lo, hi",
    [
        (lambda x: 1 - jnp.cos(x), 0.0, 2.0),
        (lambda x: x * x, 0.0, np.inf),
        (lambda x: -x * x / 2, -np.inf, 0.0),
        (lambda x: x, -np.inf, np.inf),
    ],
)
def test_the_range_over_the_line(f, lo, hi):
    found = bounds_over(f, -np.inf, np.inf)
    assert found is not None
    assert (float(found.lo), float(found.hi)) == (lo, hi)
