"""Bounds by back-substitution: they hold every sample, every rounding is paid for, and they are as tight as they can
be."""

from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import Interval, trace
from ftheta.graph.domains.linear import BallSet, BoxSet, Method, Program, linear_bounds

from .linear_soundness import draw_network_and_point, found_wrong
from .soundness import boxes
from .table import TABLE, table_graph
from .zoo import ZOO, draws, graph, layers, mlp


@pytest.mark.parametrize("name", ZOO)
def test_every_slot_of_a_program_holds_every_sample(name):
    assert found_wrong(graph(name), boxes(name)) == []


def test_every_slot_of_the_table_holds_every_sample():
    assert len(TABLE) > 80
    assert found_wrong(*table_graph()) == []


# ---- rounding -------------------------------------------------------------------------------------------------------


def exact_network(params, x):
    """A ReLU network in rationals."""
    h = [Fraction(float(v)) for v in x]
    for k, (w, b) in enumerate(params):
        rows = [[Fraction(float(v)) for v in column] for column in w.T]
        h = [sum((a * v for a, v in zip(row, h)), Fraction(float(c))) for row, c in zip(rows, b)]
        h = h if k == len(params) - 1 else [max(v, Fraction(0)) for v in h]
    return h


def bound_network(params, lo, hi, method: Method = "crown"):
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), lo, fold_rounded=False))
    return linear_bounds(program, [BoxSet(Interval(lo[None], hi[None]))], method=method)


def missed_by(params, x, method: Method = "crown") -> int:
    """Outputs whose exact value is outside of the bounds over the box of one point, or of the forms there."""
    found = bound_network(params, x, x, method)
    missed = 0
    for j, value in enumerate(exact_network(params, x)):
        missed += not (
            Fraction(float(found.lower[0, j])) <= value <= Fraction(float(found.upper[0, j]))
        )
        for form, sign in ((found.lower_form, 1), (found.upper_form, -1)):
            (coefficients,) = form.coefficients
            assert coefficients is not None
            A = coefficients[0, j]
            at = sum((Fraction(float(a)) * Fraction(float(v)) for a, v in zip(A, x)), Fraction(0))
            at += Fraction(float(form.offset[0, j])) - Fraction(float(form.paid_error[0, j]))
            missed += at > sign * value
    return missed


@given(st.integers(0, 10**6), st.sampled_from([0, 20, 56, 200, -300]))
def test_the_bounds_over_a_single_point_hold_the_exact_value(seed, exponent):
    params, x = draw_network_and_point(seed, exponent)
    assert missed_by(params, x) == 0


def test_constants_that_cancel_are_paid_for():
    big = 2.0**56
    params = [
        (np.array([[1.0, 1.0]]), np.array([big, -big])),
        (np.array([[1.0], [-1.0]]), np.array([-big])),
    ]
    for x in np.linspace(0, 1, 7):
        assert missed_by(params, np.array([x])) == 0


# ---- tightness ------------------------------------------------------------------------------------------------------


def test_an_affine_program_is_bounded_exactly_up_to_rounding():
    a, b, c = draws(4, 6), draws(6, 5, seed=1), draws(5, 3, seed=2)
    f = lambda x: (x @ a - x.sum()) @ b @ c + x[:3]
    lo = draws(4)
    hi = lo + 0.5
    whole = np.asarray(jax.jacobian(f)(lo))
    middle = np.asarray(f((lo + hi) / 2))
    reach = np.abs(whole) @ np.full(4, 0.25)
    program = Program.of(trace(f, lo, fold_rounded=False))
    found = linear_bounds(program, [BoxSet(Interval(lo[None], hi[None]))])
    assert np.allclose(found.lower, middle - reach, atol=1e-12) and np.allclose(
        found.upper, middle + reach, atol=1e-12
    )


def test_one_layer_of_relus_is_bounded_by_its_triangles():
    """relu(x) − relu(x) is at most the secant minus the better of the two lower slopes."""
    params = [(np.array([[1.0, 1.0]]), np.zeros(2)), (np.array([[1.0], [-1.0]]), np.zeros(1))]
    found = bound_network(params, np.array([-1.0]), np.array([2.0]))
    # lower: x (slope 1, as the middle is positive) − (2/3)(x + 1), least at x = −1
    assert np.allclose(found.lower, -1.0) and np.allclose(found.upper, 1.0)


@pytest.mark.parametrize(("widths", "share"), [((3, 8, 8, 2), 0.9), ((5, 20, 20, 20, 3), 0.5)])
def test_refined_bounds_are_inside_the_intervals_and_sharper(widths, share):
    params = layers(*widths)
    x = draws(widths[0])
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x, fold_rounded=False))
    sets = [BoxSet(Interval.around(x[None], 0.1))]
    plain = linear_bounds(program, sets, method="interval")
    found = linear_bounds(program, sets)
    assert np.all(found.lower >= plain.lower) and np.all(found.upper <= plain.upper)
    assert np.all(found.upper - found.lower < share * (plain.upper - plain.lower))


def test_functionals_of_the_outputs_are_sharper_than_differences_of_bounds():
    params = layers(4, 10, 10, 3)
    x = draws(4)
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x, fold_rounded=False))
    sets = [BoxSet(Interval.around(x[None], 0.2))]
    each = linear_bounds(program, sets)
    gap = linear_bounds(program, sets, np.array([[1.0, -1.0, 0.0]]))
    assert gap.lower[0, 0] > each.lower[0, 0] - each.upper[0, 1] + 0.01


# ---- sets and batches -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("norm", [1, 2])
def test_balls_hold_the_values_on_them_and_are_sharp_for_affine_maps(norm):
    w = draws(5, 3)
    centre = draws(5)
    program = Program.of(trace(lambda x: x @ w, centre, fold_rounded=False))
    found = linear_bounds(program, [BallSet(centre[None], np.array([0.5]), norm)])
    dual = np.abs(w).max(0) if norm == 1 else np.sqrt((w**2).sum(0))
    assert np.allclose(found.upper, centre @ w + 0.5 * dual) and np.allclose(
        found.lower, centre @ w - 0.5 * dual
    )
    assert np.all(found.upper - centre @ w >= 0.5 * dual * (1 - 1e-15))


def test_a_batch_has_the_bounds_of_its_boxes():
    params = layers(4, 9, 9, 3)
    x = draws(7, 4)
    radius = np.linspace(0.01, 0.3, 7)[:, None]
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x[0], fold_rounded=False))
    whole = linear_bounds(program, [BoxSet(Interval.around(x, radius))])
    for k in range(7):
        one = linear_bounds(program, [BoxSet(Interval.around(x[k : k + 1], radius[k : k + 1]))])
        assert np.allclose(whole.lower[k], one.lower[0]) and np.allclose(
            whole.upper[k], one.upper[0]
        )


def test_an_unbounded_box_says_what_intervals_say():
    found = bound_network(layers(2, 3, 1), np.array([-np.inf, 0.0]), np.array([0.0, np.inf]))
    plain = found.relaxed.enclosures[found.relaxed.program.graph.outputs[0].id]
    assert found.lower == plain.lo == -np.inf and found.upper == plain.hi
