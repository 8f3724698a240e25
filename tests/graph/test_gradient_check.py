"""The gradient checker finds exactly the coordinates that were made wrong."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.graph import check_gradient
from ftheta.graph.differences import Counted, one_sided, slope
from ftheta.logic import SubjectError, UsageError

from ..thoroughness import max_examples

RNG = np.random.default_rng(0)
W = RNG.normal(size=(3, 4))
X = RNG.normal(size=4)


def loss(w, x):
    return jnp.sum(jnp.tanh(w @ x) ** 2)


def black_box(w, x):
    """The same function, which JAX cannot trace."""
    return float(np.sum(np.tanh(np.asarray(w) @ np.asarray(x)) ** 2))


def right(w, x):
    with jax.enable_x64(True):
        return jax.grad(loss, (0, 1))(w, x)


@pytest.mark.parametrize("f", [loss, black_box], ids=["traced", "black box"])
def test_a_right_gradient_is_right(f):
    found = ft.check_gradient(f, right, (W, X))
    assert found.holds and not found.wrong and "right in all 16" in str(found)


@given(st.sets(st.integers(0, 15), max_size=5), st.sampled_from([loss, black_box]))
@max_examples(12)
def test_exactly_the_coordinates_that_were_changed_are_named(spoiled, f):
    names = [f"w[{i}][{j}]" for i in range(3) for j in range(4)] + [f"x[{j}]" for j in range(4)]

    def wrong(w, x):
        flat = np.concatenate([np.ravel(g) for g in right(w, x)])
        flat[list(spoiled)] += 1e-4
        return flat[:12].reshape(3, 4), flat[12:]

    found = check_gradient(f, wrong, (W, X))
    assert set(found.wrong) == {names[k] for k in spoiled}
    assert all(name in str(found) for name in found.wrong)


def test_the_doubt_contains_the_derivative():
    traced = check_gradient(loss, right, (W, X))
    blind = check_gradient(black_box, right, (W, X))
    assert "enclosed" in traced.method and np.all(
        np.abs(traced.found - traced.given) <= traced.doubt + 1e-15
    )
    assert blind.method == "finite differences" and np.all(
        np.abs(blind.found - traced.found) <= blind.doubt
    )


@given(st.floats(-3, 3), st.floats(0.5, 5))
def test_a_bound_of_the_third_derivative_makes_the_doubt_a_theorem(x, a):
    found = slope(lambda p: math.sin(a * p[0]), np.array([x]), 0, third=a**3)
    assert abs(found.value - a * math.cos(a * x)) <= found.doubt < 1e-6 and not found.bends


@pytest.mark.parametrize(
    "f, gradient, at, undefined",
    [
        (lambda x: jnp.sum(jax.nn.relu(x)), lambda x: (x > 0) * 1.0, [0.0, 1.0, -2.0], ("x[0]",)),
        (
            lambda x: jnp.sum(jnp.abs(x)) + x[0] * x[1],
            lambda x: np.sign(x) + x[[1, 0, 2]] * [1, 1, 0],
            [0.0, 1.0, 3.0],
            ("x[0]",),
        ),
        (
            lambda x: jnp.maximum(x[0], x[1]),
            lambda x: np.array([0.5, 0.5]),
            [1.0, 1.0],
            ("x[0]", "x[1]"),
        ),
        (lambda x: float(np.abs(np.asarray(x)).sum()), np.sign, [0.0, 1.0], ("x[0]",)),
        (lambda x: jnp.sum(x * jax.nn.relu(x)), lambda x: 2 * np.maximum(x, 0), [0.0, 1.0], ()),
    ],
)
def test_coordinates_without_a_derivative_are_said_to_have_none(f, gradient, at, undefined):
    found = check_gradient(f, gradient, np.array(at))
    assert found.undefined_coordinates == undefined and not found.wrong
    assert found.holds is (not undefined)
    if undefined:
        assert "no derivative in x[0]" in str(found)


def test_nan_in_the_gradient_is_wrong_and_nan_in_the_function_is_an_error():
    found = check_gradient(lambda x: jnp.sum(x**2), lambda x: np.array([np.nan, 2.0]), np.ones(2))
    assert found.wrong == ("x[0]",)
    with pytest.raises(SubjectError, match="log"):
        check_gradient(jnp.log, lambda x: 1 / x, -1.0)


def test_bad_questions_are_refused_with_a_remedy():
    with pytest.raises(UsageError, match="return a scalar"):
        check_gradient(lambda x: x, lambda x: x, np.ones(3))
    with pytest.raises(UsageError, match="structure"):
        check_gradient(jnp.sum, lambda x: np.ones(2), np.ones(3))
    with pytest.raises(UsageError, match="too many coordinates"):
        check_gradient(
            lambda x: float(np.sum(np.asarray(x))), lambda x: np.ones(20_000), np.ones(20_000)
        )
    with pytest.raises(UsageError, match="real numbers"):
        check_gradient(lambda x: x, lambda x: x, "word")


def test_single_precision_gradients_pass_the_default_tolerance_and_fail_a_finer_one():
    with jax.enable_x64(False):
        single = jax.grad(loss, (0, 1))(W.astype(np.float32), X.astype(np.float32))
    assert check_gradient(loss, single, (W, X), rtol=1e-5).holds
    assert check_gradient(loss, single, (W, X), rtol=1e-12, atol=0.0).wrong


def test_one_sided_differences_take_d_plus_one_evaluations_and_have_the_value_of_the_catalogue():
    counted = Counted(lambda x: math.exp(float(np.sum(x))))
    slopes = one_sided(counted, np.zeros(7), 0.01)
    assert counted.evaluations == 8 and slopes == pytest.approx([1.00501670842] * 7, abs=1e-11)
