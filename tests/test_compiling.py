"""Which programs the suite compiles with more care."""

import jax
import jax.numpy as jnp
import pytest

from .compiling import has_convolution


def smooth(x):
    return jnp.convolve(x, jnp.ones(3), mode="same")


def smooth_often(x):
    return jax.lax.fori_loop(0, 4, lambda _, y: smooth(y), x)


@pytest.mark.parametrize(
    "function, expected", [(smooth, True), (smooth_often, True), (jnp.cumsum, False)]
)
def test_convolutions_are_seen_also_inside_of_loops(function, expected):
    program = jax.jit(function).lower(jnp.arange(8.0)).compiler_ir()
    assert has_convolution(program.operation) is expected
