"""Lipschitz constants read off graphs."""

from contextlib import suppress
from fractions import Fraction
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.steepness import steepness
from ftheta.graph import GraphError, trace
from ftheta.logic import Enclosure

from ..thoroughness import max_examples

FUNCTIONS = {
    "tanh": jnp.tanh,
    "sigmoid": jax.nn.sigmoid,
    "relu": jax.nn.relu,
    "silu": jax.nn.silu,
    "softplus": jax.nn.softplus,
    "leaky": lambda x: jax.nn.leaky_relu(x, 0.3),
    "steep leaky": lambda x: jax.nn.leaky_relu(x, 3.0),
    "erf": jax.scipy.special.erf,
    "clip": lambda x: jnp.clip(x, -0.5, 0.5),
    "maximum of two": lambda x: jnp.maximum(x, 2 * x[::-1]),
    "side by side": lambda x: jnp.concatenate([x, jnp.sin(3 * x)]),
    "neuron by neuron": lambda x: jnp.concatenate(
        [f(p) for f, p in zip((jnp.tanh, jnp.sin), jnp.split(x, 2))]
    ),
    "overlapping parts": lambda x: jnp.concatenate([jnp.tanh(x[:3]), jnp.sin(2 * x[2:])]),
    "mean": lambda x: jnp.broadcast_to(x.mean(), (5,)),
    "difference": lambda x: x - jnp.cos(x) / 4,
}


def bound(f: Any, shape: tuple[int, ...], *fixed: Any) -> Enclosure:
    with jax.enable_x64(True):
        graph = trace(f, jax.ShapeDtypeStruct(shape, np.float64), *fixed)
        still = {
            **graph.constants,
            **{slot.id: value for slot, value in zip(graph.inputs[1:], fixed)},
        }
        return steepness(graph.nodes, graph.inputs[0], graph.outputs[0], still)


@max_examples(40)
@given(st.sampled_from(sorted(FUNCTIONS)), st.integers(0, 10_000))
def test_no_slope_exceeds_the_bound(name, seed):
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, 3))
    V = rng.normal(size=(2, 4 if name != "side by side" else 8))
    V = V if name not in ("mean", "overlapping parts") else rng.normal(size=(2, 5))
    f = lambda x, W, V: V @ FUNCTIONS[name](W @ x)
    limit = bound(f, (3,), W, V)
    with jax.enable_x64(True):
        slopes = jax.vmap(jax.jacfwd(lambda x: f(x, W, V)))(3 * rng.normal(size=(64, 3)))
    assert np.linalg.norm(np.asarray(slopes), 2, axis=(1, 2)).max() <= limit.hi


def test_the_bound_of_a_linear_map_is_its_norm():
    W = np.random.default_rng(0).normal(size=(5, 3))
    limit = bound(lambda x, W: (W @ x - 1.0) / 4, (3,), W)
    assert float(np.linalg.norm(W, 2)) / 4 in limit and limit.width < 1e-13


@pytest.mark.parametrize("options", [{}, {"window_strides": (2, 2)}, {"feature_group_count": 2}])
def test_a_convolution_is_no_steeper_than_its_taps(options):
    groups = options.get("feature_group_count", 1)
    K = np.random.default_rng(0).normal(size=(4, 4 // groups, 3, 3))
    given_ = {"window_strides": (1, 1), "padding": "SAME", **options}
    f = lambda x, K: jax.lax.conv_general_dilated(x, K, **given_)
    with jax.enable_x64(True):
        matrix = jax.jacfwd(lambda x: f(x, K).ravel())(jnp.zeros((1, 4, 5, 5))).reshape(-1, 100)
    norm = np.linalg.norm(np.asarray(matrix), 2)
    limit = bound(f, (1, 4, 5, 5), K).hi
    assert norm <= limit <= 9 * norm  # each tap is a block of the matrix


def test_a_one_by_one_convolution_has_the_norm_of_its_matrix():
    K = np.random.default_rng(0).normal(size=(3, 4, 1, 1))
    f = lambda x, K: jax.lax.conv_general_dilated(x, K, (1, 1), "SAME")
    assert bound(f, (1, 4, 5, 5), K).hi == pytest.approx(
        np.linalg.norm(K[:, :, 0, 0], 2), rel=1e-12
    )


@pytest.mark.parametrize(
    "jump", [lambda x: (x > 0).astype(x.dtype), lambda x: jnp.where(x > 0, x, 2 * x + 1)]
)
def test_a_jump_has_no_constant(jump):
    with suppress(GraphError):
        assert bound(jump, (3,)).hi == np.inf


@pytest.mark.parametrize(
    "steep", [lambda x: x * x, lambda x: x / (1 + x**2), jnp.exp, lambda x: jnp.floor(x)]
)
def test_what_has_no_rule_is_an_error_that_names_it(steep):
    with pytest.raises(GraphError, match="no Lipschitz constant is known"):
        bound(steep, (3,))


def test_what_does_not_depend_on_the_input_has_constant_zero():
    assert bound(lambda x, W: W.sum() * jnp.ones(2), (3,), np.ones((2, 2))) == Enclosure.exact(0)


@pytest.mark.parametrize(
    "stride, padding, apart, between", [(1, 1, 1, 1), (2, 1, 1, 1), (1, 0, 2, 1), (1, 2, 1, 2)]
)
@pytest.mark.parametrize("groups", [1, 2])
def test_the_bound_of_a_convolution_lies_above_its_matrix_and_near_it(
    stride, padding, apart, between, groups
):
    """The dense matrix of the convolution column by column, and its norm by a singular value decomposition."""
    kernel = np.random.default_rng(0).normal(size=(4, 2 // groups, 3, 3))

    def convolve(x):
        return jax.lax.conv_general_dilated(
            x[None],
            jnp.asarray(kernel),
            (stride, stride),
            [(padding, padding)] * 2,
            lhs_dilation=(between, between),
            rhs_dilation=(apart, apart),
            feature_group_count=groups,
        )

    with jax.enable_x64(True):
        graph = trace(convolve, jax.ShapeDtypeStruct((2, 7, 7), np.float64))
        bound = steepness(graph.nodes, graph.inputs[0], graph.outputs[0], graph.constants).hi
        matrix = np.asarray(jax.jacrev(convolve)(np.zeros((2, 7, 7)))).reshape(-1, 98)
    truth = np.linalg.norm(matrix, 2)
    taps = sum(np.linalg.norm(kernel[:, :, i, j], 2) for i in range(3) for j in range(3))
    assert truth <= bound * (1 + 1e-12)
    if groups == 1:
        assert bound < taps
    if stride == between == apart == 1:
        assert bound <= 1.3 * truth


def test_one_activation_a_neuron_is_as_steep_as_the_steepest_of_them():
    x = (4,)
    kinds = (jnp.tanh, jax.nn.relu, lambda t: jnp.sin(3 * t), lambda t: jax.nn.leaky_relu(t, 0.3))
    split = lambda x: jnp.concatenate([f(p) for f, p in zip(kinds, jnp.split(x, 4))])
    picked = lambda x: jnp.concatenate([f(x[k : k + 1]) for k, f in enumerate(kinds)])
    strided = lambda x: jnp.concatenate([jnp.tanh(x[::2]), jnp.sin(3 * x[1::2])])
    assert [bound(f, x).hi for f in (split, picked, strided)] == pytest.approx([3, 3, 3], rel=1e-14)


def test_parts_that_overlap_or_are_of_two_vectors_are_not_taken_for_parts_of_one():
    overlapping = lambda x: jnp.concatenate([x[:3], x[2:]])
    twice = lambda x: jnp.concatenate([jnp.split(x, 2)[0], jnp.split(x, 2)[0]])
    of_two = lambda x: jnp.concatenate([x[:2], jnp.sin(x)[2:]])
    through_both = lambda x: jnp.concatenate([x[:2] + x[2:], x[2:]])
    for f, least in ((overlapping, 2), (twice, 2), (of_two, 2), (through_both, 5)):
        assert bound(f, (4,)).hi ** 2 == pytest.approx(least)


# ---- what does not change, but is computed on the way ----------------------------------------------------------------


def test_constants_that_cancel_are_those_of_the_real_function():
    """(2⁵⁶ + 1) − 2⁵⁶ is 1, and 0 in float64."""
    limit = bound(lambda x, big: ((big + 1.0) - big) * x, (1,), np.array([2.0**56]))
    assert limit.hi >= 1


@pytest.mark.parametrize("share", ["product", "quotient", "matrix", "convolution"])
def test_weights_that_are_normalised_on_the_way_are_enclosed(share):
    """Division by three is exact in rationals and by no float: seven of them, and the norm is still no smaller."""
    third = lambda w: w / 3 / 3 / 3 / 3 / 3 / 3 / 3
    w = 0.1 + np.arange(1.0, 4.0)
    f = {
        "product": lambda x, w: third(w)[0] * x,
        "quotient": lambda x, w: x / third(w)[0],
        "matrix": lambda x, w: third(w)[None, :1] @ x,
        "convolution": lambda x, w: jnp.convolve(x, third(w)[:1]),
    }[share]
    for first in w + np.arange(40)[:, None] / 7:
        exact = Fraction(first[0]) / 3**7
        exact = 1 / exact if share == "quotient" else exact
        assert Fraction(bound(f, (1,), first).hi) >= exact


def test_a_number_that_changes_beside_an_array_changes_all_of_its_entries():
    """The bound of a clamp may be a scalar, which would move four entries at once."""
    with pytest.raises(GraphError, match="clamp"):
        bound(lambda x, y: jax.lax.clamp(x[0], y, jnp.asarray(10.0)), (1,), np.full(4, -5.0))


def test_constants_that_are_not_bounded_have_no_norm():
    for f in (lambda x, w: (1.0 / (w - w)) * x, lambda x, w: (1.0 / (w - w))[None] @ x):
        with pytest.raises(GraphError):
            bound(f, (2,), np.ones(2))


REPEATED = {
    "scalar times array": lambda x: x[0] * jnp.arange(1.0, 4.0),
    "outer product": lambda x: jnp.outer(x, jnp.ones(3)),
    "column plus row": lambda x: x[:, None] + jnp.ones((1, 3)),
    "column less row": lambda x: x[:, None] - x[None, :],
    "column over row": lambda x: x[:, None] / jnp.array([[0.5, 1.0, 2.0]]),
    "largest of column and row": lambda x: jnp.maximum(x[:, None], jnp.zeros((1, 3))),
    "sum of exponentials": lambda x: jnp.logaddexp(x[:, None], jnp.zeros((1, 3))),
    "difference to one entry": lambda x: x[0] - jnp.concatenate([x, -x]),
    "clamp of a column": lambda x: jax.lax.clamp(-1.0, x[:, None], jnp.ones((2, 1))),
    "sigmoid gate": lambda x: jax.nn.silu(x[:1]) * jnp.ones(4),
}


@pytest.mark.parametrize("name", sorted(REPEATED))
def test_what_is_repeated_without_a_node_counts_as_often_as_it_is_there(name):
    f = REPEATED[name]
    rng = np.random.default_rng(0)
    limit = bound(f, (2,))
    with jax.enable_x64(True):
        jacobians = np.asarray(
            jax.vmap(jax.jacfwd(lambda x: jnp.ravel(f(x))))(rng.normal(size=(200, 2)))
        )
    steepest = np.linalg.norm(jacobians, 2, axis=(1, 2)).max()
    assert steepest <= limit.hi * (1 + 1e-12) and limit.hi < np.inf
