"""Forms carried forward: they hold every sample, every rounding is paid for, affine programs are bounded exactly."""

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.graph import Graph, Interval, trace
from ftheta.graph.domains.linear import BallSet, BoxSet, Program, linear_bounds
from ftheta.graph.domains.linear.forward import Forward
from ftheta.graph.domains.linear.refining import Carry, enclose

from .linear_soundness import (
    SLACK,
    draw_network_and_point,
    form_values,
    prepared,
    samples_of,
    with_axis,
)
from .soundness import boxes
from .table import table_graph
from .test_linear_backward import missed_by
from .zoo import ZOO, draws, graph, layers, mlp


def found_wrong(
    g: Graph, inputs: tuple[Interval, ...], count: int = 100, carry: Carry = "all"
) -> list[str]:
    """Slots with a sample outside of their enclosure or of their forms."""
    sets = [with_axis(box) for box in inputs]
    relaxed = enclose(prepared(g), sets, carry=carry)
    forward = Forward(relaxed, sets)
    at, seen = samples_of(g, inputs, count)
    wrong = []
    for slot in relaxed.program.graph.slots:
        if not slot.is_real or slot.id not in relaxed.program.varying:
            continue
        values = seen[slot.id].reshape(len(at[0]), -1)
        slack = SLACK * np.where(np.isfinite(values), np.abs(values), 0.0).max(initial=1.0)
        x = relaxed.enclosures[slot.id]
        outside = np.any(values < x.lo.ravel() - slack) or np.any(values > x.hi.ravel() + slack)
        for sign in (1.0, -1.0):
            form = forward.of_rows(slot, sign * np.eye(slot.size).reshape(slot.size, *slot.shape))
            outside |= np.any(form_values(form, at) > sign * values + slack)
        if outside:
            wrong.append(str(relaxed.program.graph.producers.get(slot.id, slot)))
    return wrong


@pytest.mark.parametrize("name", ZOO)
def test_every_slot_of_a_program_holds_every_sample(name):
    assert found_wrong(graph(name), boxes(name)) == []


@pytest.mark.parametrize("carry", ["all", "most"])
def test_every_slot_of_the_table_holds_every_sample(carry):
    assert found_wrong(*table_graph(), carry=carry) == []


def test_back_substitution_after_forms_is_at_least_as_sharp_as_either_where_few_entries_are_open():
    params = layers(3, 12, 12, 12, 2)
    x = draws(3)
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x, fold_rounded=False))
    sets = [BoxSet(Interval.around(x[None], 1.5))]
    (slot,) = program.graph.outputs
    seeds = {slot.id: np.concatenate([np.eye(2), -np.eye(2)])[None]}
    both, forward, backward = (
        enclose(program, sets, carry=carry).pull_back(seeds).least(sets)
        for carry in ("most", "all", "nothing")
    )
    assert np.all(both >= forward - 1e-12) and np.all(both >= backward - 1e-12)
    assert np.any(both > forward + 1e-6)


def test_maps_lines_and_planes_are_carried_as_their_functionals_are():
    """The three quick ways against the functionals of every entry, and against single points of the box."""
    f = lambda x: jax.numpy.concatenate(
        [jax.numpy.tanh(x @ W_3) * (x @ W_3.T), -jax.nn.relu(x), x[::-1] - x]
    )
    lo = draws(3)
    program = Program.of(trace(f, lo, fold_rounded=False))
    sets = [BoxSet(Interval(lo[None], lo[None] + 0.5))]
    relaxed = enclose(program, sets, carry="all")
    forward = Forward(relaxed, sets)
    for slot in program.graph.slots:
        if slot.id not in program.varying or not slot.is_real or slot in program.graph.inputs:
            continue
        seeds = np.eye(slot.size).reshape(slot.size, *slot.shape)
        quick = forward.form(forward._make(slot))
        slow = forward.form(forward._pull(slot, np.concatenate([seeds, -seeds])))
        assert np.allclose(quick.offset, slow.offset, atol=1e-12)
        for a, b in zip(quick.coefficients, slow.coefficients):
            assert a is not None and b is not None and np.allclose(a, b, atol=1e-12)
        assert np.all(quick.error < 1e-12)


W_3 = draws(3, 3, seed=11)


@given(st.integers(0, 10**6), st.sampled_from([0, 20, 56, 200, -300]))
def test_the_bounds_over_a_single_point_hold_the_exact_value(seed, exponent):
    params, x = draw_network_and_point(seed, exponent)
    assert missed_by(params, x, method="forward") == 0


def test_constants_that_cancel_are_paid_for():
    big = 2.0**56
    params = [
        (np.array([[1.0, 1.0]]), np.array([big, -big])),
        (np.array([[1.0], [-1.0]]), np.array([-big])),
    ]
    for x in np.linspace(0, 1, 7):
        assert missed_by(params, np.array([x]), method="forward") == 0


def test_an_affine_program_is_bounded_exactly_up_to_rounding():
    a, b, c = draws(4, 6), draws(6, 5, seed=1), draws(5, 3, seed=2)
    f = lambda x: (x @ a - x.sum()) @ b @ c + x[:3]
    lo = draws(4)
    hi = lo + 0.5
    whole = np.asarray(jax.jacobian(f)(lo))
    middle = np.asarray(f((lo + hi) / 2))
    reach = np.abs(whole) @ np.full(4, 0.25)
    program = Program.of(trace(f, lo, fold_rounded=False))
    found = linear_bounds(program, [BoxSet(Interval(lo[None], hi[None]))], method="forward")
    assert np.allclose(found.lower, middle - reach, atol=1e-12) and np.allclose(
        found.upper, middle + reach, atol=1e-12
    )


def test_one_layer_of_relus_is_bounded_as_by_back_substitution():
    params = layers(3, 8, 2)
    x = draws(3)
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x, fold_rounded=False))
    sets = [BoxSet(Interval.around(x[None], 0.3))]
    back = linear_bounds(program, sets)
    found = linear_bounds(program, sets, method="forward")
    assert np.allclose(found.lower, back.lower) and np.allclose(found.upper, back.upper)


@pytest.mark.parametrize("norm", [1, 2])
def test_balls_are_sharp_for_affine_maps(norm):
    w = draws(5, 3)
    centre = draws(5)
    program = Program.of(trace(lambda x: x @ w, centre, fold_rounded=False))
    found = linear_bounds(program, [BallSet(centre[None], np.array([0.5]), norm)], method="forward")
    dual = np.abs(w).max(0) if norm == 1 else np.sqrt((w**2).sum(0))
    assert np.allclose(found.upper, centre @ w + 0.5 * dual) and np.allclose(
        found.lower, centre @ w - 0.5 * dual
    )


def test_a_batch_has_the_bounds_of_its_boxes():
    params = layers(4, 9, 9, 3)
    x = draws(5, 4)
    radius = np.linspace(0.01, 0.3, 5)[:, None]
    program = Program.of(trace(lambda x: mlp(jax.nn.relu, params, x), x[0], fold_rounded=False))
    whole = linear_bounds(program, [BoxSet(Interval.around(x, radius))], method="forward")
    for k in range(5):
        one = linear_bounds(
            program, [BoxSet(Interval.around(x[k : k + 1], radius[k : k + 1]))], method="forward"
        )
        assert np.allclose(whole.lower[k], one.lower[0]) and np.allclose(
            whole.upper[k], one.upper[0]
        )
