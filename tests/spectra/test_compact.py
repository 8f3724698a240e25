"""Constants of a loss on a ball of parameters, against the loss itself and against outputs in ball arithmetic."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from ftheta.spectra.compact import NetworkOnBall, _largest_output, into_ball

from ..thoroughness import max_examples


@max_examples(8)
@given(
    st.integers(0, 10**6),
    st.sampled_from(["tanh", "sigmoid", "arctan", "softplus"]),
    st.sampled_from([0.3, 1.0, 4.0]),
)
def test_gradients_and_curvatures_in_the_ball_lie_within_the_constants(seed, word, radius):
    rng = np.random.default_rng(seed)
    F = NetworkOnBall((2, 3, 1), word, rng.normal(size=(4, 2)), rng.normal(size=(4, 1)), radius)
    steepest, largest, lowest = F.constants
    points = into_ball(radius * rng.normal(size=(12, F.size)), radius)
    with jax.enable_x64(True):
        slopes = jax.jit(jax.vmap(jax.grad(F)))(jnp.asarray(points))
        curvatures = jax.jit(jax.vmap(jax.hessian(F)))(jnp.asarray(points))
    assert np.linalg.norm(slopes, axis=1).max() <= steepest
    eigenvalues = np.linalg.eigvalsh(curvatures)
    assert lowest <= eigenvalues.min()
    assert eigenvalues.max() <= largest


@pytest.mark.parametrize(
    ("word", "limit"), [("tanh", arb(1)), ("sigmoid", arb(1)), ("arctan", arb.pi() / 2)]
)
def test_bounded_activations_stay_below_their_true_limit(word, limit):
    """The limit of the arctangent is no float64 number."""
    for width in (1, 4):
        bound = _largest_output(word, width, arb(10) ** 9)
        assert bound >= limit * arb(width).sqrt()
        assert bound <= limit * arb(width).sqrt() * (1 + arb(2) ** -40)


def test_unbounded_activations_grow_from_their_value_at_zero():
    assert _largest_output("softplus", 4, arb(3)).overlaps(2 * arb(2).log() + 3)
    assert _largest_output("identity", 4, arb(3)).overlaps(arb(3))
