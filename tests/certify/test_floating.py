"""What a deployed network computes, in adversarial orders of summation, stays within the bounds that proofs rest on."""

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.deviations import (
    FLOAT_TYPES,
    Deviation,
    FloatType,
    _apply,
    _rectify,
    bound_deviations,
    widen_rows,
)
from ftheta.certify.floating import FloatJudge, list_readings, nearest_float
from ftheta.certify.goals import set_goal
from ftheta.certify.questions import Box, Case, Row
from ftheta.certify.vnnlib import parse_query
from ftheta.logic.errors import SubjectError
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork, Step

from ..thoroughness import max_examples

ONE = Fraction(1)
SINGLE = FLOAT_TYPES["float32"]


def random_network(rng: np.random.Generator, dtype: type) -> ReluNetwork:
    """Weights of mixed size that cancel, so that the order of summation matters."""
    widths = [3, *rng.integers(2, 9, rng.integers(1, 4)), 2]
    weights = []
    biases = []
    for columns, rows in pairwise(widths):
        W = rng.normal(size=(rows, columns)) * 10.0 ** rng.integers(-2, 4, (rows, columns))
        W[rng.random((rows, columns)) < 0.2] = 0
        weights.append(W.astype(dtype).astype(float))
        biases.append(
            (rng.normal(size=rows) * 10.0 ** rng.integers(-1, 4)).astype(dtype).astype(float)
        )
    return ReluNetwork.dense(weights, biases)


def sum_in_some_order(
    rng: np.random.Generator,
    weights: list[Fraction],
    h: list[Fraction],
    b: Fraction,
    kind: FloatType,
) -> Fraction:
    """A sum of products as some program may compute it: permuted, in a tree, or fused."""

    def rounded(value: Fraction) -> Fraction:
        return nearest_float(value, kind)

    how = rng.choice(["fused", "tree", "chain"])
    order = rng.permutation(len(weights))
    if how == "fused":
        total = b if rng.random() < 0.5 else Fraction(0)
        added = total == b
        for j in order:
            total = rounded(total + weights[j] * h[j])
        return total if added else rounded(total + b)
    terms = [rounded(weights[j] * h[j]) for j in order]
    terms.insert(int(rng.integers(0, len(terms) + 1)), b)
    while len(terms) > 1:
        at = 0 if how == "chain" else int(rng.integers(0, len(terms) - 1))
        terms[at : at + 2] = [rounded(terms[at] + terms[at + 1])]
    return terms[0]


def compute_somehow(
    rng: np.random.Generator, net: ReluNetwork, x: tuple[Fraction, ...], kind: FloatType
) -> list[Fraction]:
    state = list(x)
    for step in net.steps:
        rows = [[Fraction(v) for v in row] for row in step.dense().tolist()]
        sums = [
            sum_in_some_order(rng, row, state, Fraction(b), kind)
            for row, b in zip(rows, step.offset.tolist())
        ]
        state = [
            max(v, Fraction(0)) if has_relu else v for v, has_relu in zip(sums, step.rectified)
        ]
    return state


@given(st.integers(0, 2**32 - 1), st.sampled_from(["float32", "float64"]))
@max_examples(80)
def test_no_order_of_summation_leaves_the_bounds(seed: int, name: str) -> None:
    rng = np.random.default_rng(seed)
    kind = FLOAT_TYPES[name]
    net = random_network(rng, kind.dtype)
    low = rng.uniform(-1, 1, 3).astype(kind.dtype).astype(float)
    high = low + rng.choice([0.0, 1e-3, 0.5])
    found = bound_deviations(net, low, high, kind)
    assert found is not None
    deviation, sizes = found
    rows = (
        Row({}, {0: ONE}, Fraction(0)),
        Row({}, {1: -ONE}, Fraction(0)),
        Row({}, {0: ONE, 1: -ONE}, Fraction(0)),
    )
    box = Box(tuple(map(Fraction, low.tolist())), tuple(map(Fraction, high.tolist())))
    goal = set_goal(Case(box, (rows,)), 3, 2)
    allowed = widen_rows(goal, deviation, sizes)
    for _ in range(4):
        x = tuple(
            Fraction(float(v)) for v in rng.uniform(low, high).astype(kind.dtype).clip(low, high)
        )
        exactly = exact(net)(x)
        computed = compute_somehow(rng, net, x, kind)
        assert all(abs(v) <= Fraction(float(size)) for v, size in zip(computed, sizes))
        for row, most in zip(rows, allowed):
            assert row.excess(x, exactly) - row.excess(x, computed) <= Fraction(float(most))


@given(st.integers(0, 2**32 - 1))
@max_examples(60)
def test_deviations_pass_through_a_step_and_its_relus(seed: int) -> None:
    """Along any direction, whatever the deviations, the values and the errors are."""
    rng = np.random.default_rng(seed)
    given = Deviation(rng.normal(size=(4, 3)), rng.uniform(0, 0.1, 4))
    W = rng.normal(size=(5, 4))
    errors = rng.uniform(0, 0.5, 5)
    behind = _apply(W, errors, given)
    is_off, is_open = (rng.random(5) < share for share in (0.2, 0.5))
    is_open &= ~is_off
    after = _rectify(behind, is_off, is_open)
    for _ in range(40):
        along = rng.normal(size=5)
        signs = (
            np.sign(given.generators.T @ W.T @ along)
            if rng.random() < 0.5
            else rng.uniform(-1, 1, 3)
        )
        before = given.generators @ signs + rng.choice([-1, 1], 4) * given.slack
        change = W @ before + rng.choice([-1, 1], 5) * errors
        assert (np.abs(change) <= behind.radius).all()
        slopes = np.where(is_off, 0.0, np.where(is_open, rng.choice([0.0, 0.4, 1.0], 5), 1.0))
        reach = np.abs(along @ after.generators).sum() + np.abs(along) @ after.slack
        assert along @ (slopes * change) <= reach * (1 + 1e-12)


def make_step(matrix: list[list[float]], offset: float, rectified: list[bool]) -> Step:
    return Step(np.array(matrix), np.full(len(matrix), offset), np.array(rectified))


@pytest.mark.parametrize("x", [0.5, -0.5])
def test_a_relu_is_decided_only_where_the_computed_value_has_its_sign_too(x: float) -> None:
    """z = (x + 2²⁴) − 2²⁴ is x of real numbers and may have any sign as computed."""
    large = 2.0**24
    first = (make_step([[1.0]], large, [True]), make_step([[1.0]], -large, [False]))
    alone = bound_deviations(ReluNetwork(first), np.array([x]), np.array([x]), SINGLE)
    both = make_step([[1.0], [1.0]], 0.0, [True, False])
    last = make_step([[1.0, 0.0], [1.0, -1.0]], 0.0, [False, False])
    found = bound_deviations(
        ReluNetwork((*first, both, last)), np.array([x]), np.array([x]), SINGLE
    )
    assert alone is not None and found is not None
    radius = alone[0].radius[0]
    assert radius >= 2
    for z in (x - radius, x + radius):
        changes = np.array([max(z, 0.0) - max(x, 0.0), (max(z, 0.0) - z) - (max(x, 0.0) - x)])
        assert (np.abs(changes) <= found[0].radius * (1 + 1e-9)).all()


@given(st.integers(0, 2**32 - 1))
@max_examples(40)
def test_what_one_order_violates_is_never_proved(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, np.float32)
    x = tuple(Fraction(float(v)) for v in rng.uniform(-1, 1, 3).astype(np.float32))
    largest = max(compute_somehow(rng, net, x, SINGLE)[0] for _ in range(12))
    below = ft.Outputs(lambda y: y[0] < largest).on(x, x)
    assert ft.verify(net, below, budget=2, threads=1, meaning="float32").answer != "unsat"
    far = largest + abs(largest) + 10**6
    assert (
        ft.verify(
            net, ft.Outputs(lambda y: y[0] < far).on(x, x), budget=2, meaning="float32"
        ).answer
        == "unsat"
    )


def test_constants_of_a_query_are_read_as_written_and_as_rounded() -> None:
    """Y = X ≤ 0.1 ≤ Y holds of the float next to 0.1, if the constants are rounded, and of none, if they are not."""
    net = ReluNetwork.dense([[[1.0]], [[1.0]]], [np.zeros(1), np.zeros(1)])
    text = """(vnnlib-version <2.0>)(declare-network f (declare-input X float32 [1]) (declare-output Y float32 [1]))
    (assert (and (<= X[0] 0.1) (>= X[0] 0.0))) (assert (>= Y[0] LEAST))"""
    answers = [
        ft.verify(net, parse_query(text.replace("LEAST", c)), budget=2).answer
        for c in ("0.1", "0.09", "0.11")
    ]
    assert answers[0] not in ("sat", "unsat") and answers[1:] == ["sat", "unsat"]
    between = text.replace("0.1)", "1.0)").replace("LEAST", "0.7") + "(assert (<= Y[0] 0.7))"
    assert ft.verify(net, parse_query(between), budget=2).answer not in ("sat", "unsat")


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_rounding_of_rationals_is_that_of_the_type(name: str) -> None:
    kind = FLOAT_TYPES[name]
    rng = np.random.default_rng(0)
    for _ in range(500):
        value = kind.dtype(rng.normal() * 10.0 ** rng.integers(-45, 30))
        other = kind.dtype(rng.normal() * 10.0 ** rng.integers(-45, 30))
        with np.errstate(all="ignore"):
            sums = value + other, value * other
        exactly = (
            Fraction(float(value)) + Fraction(float(other)),
            Fraction(float(value)) * Fraction(float(other)),
        )
        for computed, true in zip(sums, exactly):
            if np.isfinite(computed):
                assert nearest_float(true, kind) == Fraction(float(computed))


def absorbing_network() -> ReluNetwork:
    """(x + 2²⁴) − 2²⁴ − x: zero for real numbers, up to one half in single precision."""
    return ReluNetwork.dense(
        [[[1.0], [1.0], [-1.0]], [[1.0, -1.0, 1.0]]],
        [np.array([2.0**24, 0.0, 0.0]), np.array([-(2.0**24)])],
    )


def test_a_property_of_the_real_function_fails_in_floats() -> None:
    net = absorbing_network()
    small = ft.Outputs(lambda y: y >= -0.25).on([0], [4])
    assert ft.verify(net, small, budget=10, threads=1).answer == "unsat"
    found = ft.verify(net, small, budget=10, threads=1, meaning="float32")
    assert found.answer == "sat" and "float32" in found.meaning and found.witness is not None
    x = np.float32(float(found.witness.x[0]))
    assert Fraction(float(x)) == found.witness.x[0] and 0 <= x <= 4
    computed = (x + np.float32(2**24) - x) + np.float32(-(2**24))
    assert Fraction(float(computed)) == found.witness.y[0] < Fraction(-1, 4)
    wide = ft.Outputs(lambda y: y >= -100).on([0], [4])
    assert ft.verify(net, wide, budget=10, threads=1, meaning="float32").answer == "unsat"
    assert ft.verify(net, small, budget=10, threads=1, meaning="float64").answer == "unsat"


@given(st.integers(0, 2**32 - 1))
@max_examples(25)
def test_answers_about_floats_agree_with_runs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng, np.float32)
    x = rng.uniform(-0.9, 0.9, 3).astype(np.float32)
    judge = FloatJudge(net, Case(Box((-ONE,) * 3, (ONE,) * 3), ()), (), SINGLE)
    y = Fraction(float(judge.run(x[None])[0, 0]))
    margin = Fraction(float(rng.choice([0.0, 1e-6, 1e-3, 1.0, 1e5]))) * int(rng.choice([-1, 1]))
    bound = y + abs(y) * margin
    found = ft.verify(
        net,
        ft.Outputs(lambda out: out[0] > bound).on([-1] * 3, [1] * 3),
        budget=2,
        meaning="float32",
    )
    if found.answer == "unsat":
        assert y > bound
        for _ in range(20):
            x = tuple(Fraction(float(v)) for v in rng.uniform(-1, 1, 3).astype(np.float32))
            assert compute_somehow(rng, net, x, SINGLE)[0] > bound
    elif found.witness is not None:
        point = np.array([[float(v) for v in found.witness.x]], np.float32)
        assert [Fraction(float(v)) for v in judge.run(point)[0]] == list(found.witness.y)
        assert found.witness.y[0] <= bound


def test_a_counter_example_meets_every_reading_of_the_constants() -> None:
    """0.1 as it is written, and as the float next to it, which is larger."""
    case = Case(Box((Fraction(0),), (Fraction(1, 10),)), ((Row({}, {0: ONE}, Fraction(1, 10)),),))
    written, rounded = list_readings(case, SINGLE)
    near = Fraction(float(np.float32(0.1)))
    assert near > Fraction(1, 10)
    assert written.box.hi == (Fraction(1, 10),) and rounded.box.hi == (near,)
    assert rounded.unsafe[0][0].bound == near
    point = Case(Box((Fraction(1, 10),), (Fraction(1, 10),)), case.unsafe)
    # no float is 1/10
    assert all(reading.box.lo == (near,) for reading in list_readings(point, SINGLE))


def test_overflow_and_other_types_are_never_proved() -> None:
    huge = ReluNetwork.dense([[[1e30]], [[1e30]]], [np.zeros(1), np.zeros(1)])
    as_single = ReluNetwork.dense(
        [np.array([[1e30]], np.float32), np.array([[1e30]], np.float32)], [[0.0], [0.0]]
    )
    positive = ft.Outputs(lambda y: y >= -1).on([0], [1])
    with pytest.raises(SubjectError, match="float32"):
        ft.verify(huge, positive, meaning="float32")
    assert ft.verify(as_single, positive, budget=2, meaning="float32").answer not in (
        "unsat",
        "sat",
    )
    finite = ft.Outputs(lambda y: y <= 1e70).on([0], [1])
    # it is infinite
    assert ft.verify(as_single, finite, budget=2, meaning="float32").answer not in ("unsat", "sat")
    above = ft.Outputs(lambda y: y >= -1e50).on([0], [1])
    assert ft.verify(as_single, above, budget=2, meaning="float64").answer == "unsat"
