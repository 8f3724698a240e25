"""Both sweeps of scalar programs, in floats and in balls."""

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flint import arb
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.balls import FUNCTIONS, ball_gradient, known, secant_slope
from ftheta.graph import named, tableau, trace
from ftheta.logic import Basis, Verdict
from ftheta.theorems.gradients.worked_example_graph import (
    claim_differences,
    claim_secants,
    sweep_in_box,
)

from ..thoroughness import max_examples


@pytest.fixture(autouse=True)
def float64():
    with jax.enable_x64(True):
        yield


PROGRAMS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x, y: -x,
    "square": lambda x, y: jnp.square(x),
    "pow": lambda x, y: x**y,
    "integer_pow": lambda x, y: x**3,
    "exp": lambda x, y: jnp.exp(x),
    "expm1": lambda x, y: jnp.expm1(x),
    "exp2": lambda x, y: jnp.exp2(x),
    "log": lambda x, y: jnp.log(x),
    "log1p": lambda x, y: jnp.log1p(x),
    "sqrt": lambda x, y: jnp.sqrt(x),
    "rsqrt": lambda x, y: jax.lax.rsqrt(x),
    "sin": lambda x, y: jnp.sin(x),
    "cos": lambda x, y: jnp.cos(x),
    "tan": lambda x, y: jnp.tan(x),
    "asin": lambda x, y: jnp.arcsin(x),
    "acos": lambda x, y: jnp.arccos(x),
    "atan": lambda x, y: jnp.arctan(x),
    "sinh": lambda x, y: jnp.sinh(x),
    "cosh": lambda x, y: jnp.cosh(x),
    "tanh": lambda x, y: jnp.tanh(x),
    "logistic": lambda x, y: jax.nn.sigmoid(x),
    "erf": lambda x, y: jax.scipy.special.erf(x),
    "abs": lambda x, y: jnp.abs(x - y),
    "max": lambda x, y: jnp.maximum(x, y),
    "min": lambda x, y: jnp.minimum(x, y),
    "relu": lambda x, y: jax.nn.relu(x - y),
    "logaddexp": lambda x, y: jnp.logaddexp(x, y),
    "worked": lambda x, y: y * jnp.exp(x) * jnp.sqrt(x + y * jnp.exp(x)),
    "shared": lambda x, y: (x * y) * (x * y + jnp.sin(x * y)),
}


def test_every_function_with_a_ball_rule_has_a_program_here():
    assert set(FUNCTIONS) - {"add_any", "copy"} <= set(PROGRAMS)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("at", [(0.3, 0.7), (0.9, 0.2)])
def test_sweeps_in_balls_agree_with_jax_and_with_secants(name, at):
    f = PROGRAMS[name]
    graph = trace(f, *at)
    swept = ball_gradient(graph, at)
    assert swept is not None
    value, *slopes = (e.middle for e in swept)
    assert value == pytest.approx(float(f(*at)), rel=1e-12)
    assert slopes == pytest.approx(
        [float(g) for g in jax.grad(f, (0, 1))(*at)], rel=1e-12, abs=1e-14
    )
    for k, slope in enumerate(slopes):
        found = secant_slope(graph, at, k)
        assert found is not None and found.middle == pytest.approx(slope, rel=1e-14, abs=1e-100)
        assert found.basis is Basis.FLOAT


@pytest.mark.parametrize("name", ["abs", "max", "min", "relu"])
def test_balls_use_the_derivative_that_jax_uses_at_a_kink(name):
    f = PROGRAMS[name]
    swept = ball_gradient(trace(f, 0.5, 0.5), (0.5, 0.5))
    assert swept is not None
    assert [e.middle for e in swept[1:]] == [float(g) for g in jax.grad(f, (0, 1))(0.5, 0.5)]


def test_exact_balls_become_exact_points_and_others_contain_the_number():
    assert known(arb(3) / 8).is_point and known(arb(3) / 8).lo == 0.375
    third = known(arb(1) / 3)
    assert third.lo < Fraction(1, 3) < third.hi and third.basis is Basis.EXACT
    assert known(arb("nan")).lo == -np.inf


def test_programs_of_arrays_and_unknown_primitives_have_no_balls():
    assert ball_gradient(trace(lambda x: x.sum(), np.ones(3)), ()) is None
    assert ball_gradient(trace(lambda x: jax.lax.lgamma(x), 1.0), (1.0,)) is None
    assert claim_secants(tableau(lambda x: (x * x).sum(), np.ones(3))) is None


def test_two_hinges_that_make_the_identity_are_refuted_at_their_kink_and_nowhere_else():
    f = lambda x: jax.nn.relu(x) - jax.nn.relu(-x)
    here = claim_secants(tableau(f, 0.0))
    there = claim_secants(tableau(f, 0.25))
    assert here and here[0].judge().verdict is Verdict.REFUTED
    assert there and there[0].judge().verdict is Verdict.CERTIFIED


def test_a_flat_cubic_is_not_refuted_by_the_length_of_the_secant():
    claims = claim_secants(tableau(lambda x: x**3, 0.0))
    assert claims and claims[0].judge().verdict is Verdict.CERTIFIED


def test_cancellation_in_floats_does_not_refute():
    claims = claim_secants(tableau(lambda x: 1 / ((1e8 + x) - 1e8), 1e-3))
    assert claims and claims[0].judge().verdict is Verdict.CERTIFIED


@max_examples(20)
@given(*[st.floats(-2, 2).map(lambda t: round(t, 6))] * 2)  # differences see nothing of 1e-300
def test_differences_along_a_direction_are_consistent_for_a_smooth_program_of_arrays(a, b):
    with jax.enable_x64(True):
        found = tableau(lambda x: jnp.sum(jnp.sin(x) * x[::-1]), np.array([a, b]))
        verdicts = {c.judge().verdict for c in claim_differences(found, np.random.default_rng(0))}
        assert verdicts == {Verdict.CONSISTENT}


@pytest.mark.parametrize(
    "f, at, word",
    [
        (jnp.sqrt, -1.0, "no finite value"),
        (jnp.log, 0.0, "no finite value"),
        (jnp.sqrt, 0.0, "not finite"),
        (jnp.abs, 0.0, "no derivative"),
        (jax.nn.relu, 0.0, "no derivative"),
        (lambda x: jnp.maximum(x, 1.0), 1.0, "no derivative"),
        (lambda x: jnp.where(x > 2, x, 2.0), 2.0, "no derivative"),
        (lambda x: jnp.clip(x, 0, 1), 1.0, "no derivative"),
        (jnp.floor, 3.0, "no derivative"),
    ],
)
def test_a_node_without_derivative_is_named(f, at, word):
    assert word in tableau(f, at).trouble[0]


def test_smooth_points_of_the_same_functions_give_no_trouble():
    for f, at in [
        (jnp.sqrt, 1.0),
        (jnp.abs, -0.5),
        (jax.nn.relu, 0.1),
        (lambda x: jnp.clip(x, 0, 1), 0.5),
    ]:
        assert tableau(f, at).trouble == []


def test_table_picture_and_numbers_show_every_node_with_value_and_adjoint():
    f = lambda x, y: named(x * y, "u") + jnp.exp(x)
    found = tableau(f, 0.0, 2.0, names=("x", "y"))
    rows = {row[0]: row for row in found.table.rows}
    assert rows["u"][1:] == ("x · y", 0.0, 1.0) and rows["x"][2:] == (0.0, 3.0)
    assert {v.id for v in found.picture.vertices} == set(rows)
    assert ("x", "u") in found.picture.edges
    assert found.numbers["∂x"] == 3.0 and found.numbers["adjoint of u"] == 1.0


def test_a_point_is_moved_into_the_box_and_completed_with_its_middle():
    f = lambda x: (x**2).sum()
    found = sweep_in_box(f, (0, 0, 4), (1, 1, 6), (0.5, 3.0))
    assert found is not None
    assert found.at[0].tolist() == [0.5, 1.0, 5.0]
    assert found.gradient.tolist() == [1.0, 2.0, 10.0]
    assert found.coordinates[2].endswith("[2]")
    assert sweep_in_box(lambda x: x, (0, 0), (1, 1), (0.5, 0.5)) is None
