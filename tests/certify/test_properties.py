"""Properties in Python ask for their counter-examples, exactly."""

from decimal import Decimal
from fractions import Fraction
from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ftheta as ft
from ftheta.certify.questions import RationalBall
from ftheta.logic import UsageError

grid = st.integers(-4, 4).map(lambda k: Fraction(k, 2))
ORIGIN = (Fraction(0), Fraction(0))


# -- predicates of outputs --------------------------------------------------------------------------------------------


def atoms():
    """A predicate of two outputs, and what it says."""
    row = st.tuples(grid, grid, grid)
    rows = st.lists(row, min_size=1, max_size=3)

    def by_matrix(rows):
        A = np.array([[p, q] for p, q, _ in rows], dtype=object)
        b = np.array([c for _, _, c in rows], dtype=object)
        return ft.Outputs(A, b), lambda y: all(p * y[0] + q * y[1] <= c for p, q, c in rows)

    def by_function(rows):
        (p, q, c), *_ = rows
        return ft.Outputs(
            lambda y: p * y[0] - y[1] * q > c - y[0]
        ), lambda y: p * y[0] - q * y[1] > c - y[0]

    return st.one_of(rows.map(by_matrix), rows.map(by_function))


def combine(inner):
    return st.one_of(
        st.tuples(inner, inner).map(
            lambda ab: (ab[0][0] & ab[1][0], lambda y: ab[0][1](y) and ab[1][1](y))
        ),
        st.tuples(inner, inner).map(
            lambda ab: (ab[0][0] | ab[1][0], lambda y: ab[0][1](y) or ab[1][1](y))
        ),
        inner.map(lambda a: (~a[0], lambda y: not a[1](y))),
    )


@given(
    st.recursive(atoms(), combine, max_leaves=5),
    st.lists(st.tuples(grid, grid), min_size=5, max_size=5),
)
def test_counter_examples_are_where_the_predicate_fails(predicate_and_truth, outputs):
    predicate, truth = predicate_and_truth
    question = predicate.on([-1, 0], [1, 0]).question(2)
    for y in outputs:
        assert question.admits(ORIGIN, y) == (not truth(y))
        assert not question.admits((Fraction(2), Fraction(0)), y)


def test_comparisons_of_whole_vectors_hold_entry_by_entry():
    question = (
        ft.Outputs(lambda y: (y >= 0) & (2 * y + 1 < [3, 5]) & (1 - y[:1] <= 1))
        .on(0, 1)
        .question(2)
    )
    x = (Fraction(0),)
    assert not question.admits(x, (Fraction(0), Fraction(0)))
    assert not question.admits(x, (Fraction(1, 2), Fraction(3, 2)))
    assert question.admits(x, (Fraction(1), Fraction(0)))
    assert question.admits(x, (Fraction(0), Fraction(2)))
    assert question.admits(x, (Fraction(0), Fraction(-1)))


def test_a_matrix_with_floats_is_meant_with_the_values_of_its_floats():
    A = np.array([[0.1, 0.0]], dtype=np.float32)
    question = ft.Outputs(lambda y: A @ y <= np.float32(0.1)).on(0, 1).question(2)
    ((row,),) = question.cases[0].unsafe
    assert (
        row.strict
        and row.outputs == {0: -Fraction(float(np.float32(0.1)))}
        and row.bound == row.outputs[0]
    )


# -- robustness -------------------------------------------------------------------------------------------------------


def test_robustness_is_lost_where_another_output_is_as_large():
    question = ft.Robust([0.5, 0.25], "0.1", label=1).question(3)
    (case,) = question.cases
    assert case.box.lo == (Fraction(4, 10), Fraction(15, 100)) and case.ball is None
    assert len(case.unsafe) == 2
    x = (Fraction(1, 2), Fraction(1, 4))
    assert not question.admits(x, (Fraction(0), Fraction(1), Fraction(0)))
    assert question.admits(x, (Fraction(1), Fraction(1), Fraction(0)))  # a tie
    assert question.admits(x, (Fraction(0), Fraction(1), Fraction(2)))


def test_decimals_floats_and_rationals_are_taken_as_they_are():
    for eps in ("0.1", Decimal("0.1"), Fraction(1, 10)):
        assert ft.Robust([0], eps, label=0).question(2).cases[0].box.hi == (Fraction(1, 10),)
    assert ft.Robust([0], 0.1, label=0).question(2).cases[0].box.hi == (Fraction(0.1),)
    assert ft.Robust(np.array([0.1], np.float32), 0, label=0).question(2).cases[0].box.hi == (
        Fraction(float(np.float32(0.1))),
    )


def test_clipping_cuts_the_box_exactly():
    property = ft.Robust([[0.0, 0.5], [1.0, 0.99]], "0.03", label=0, clip=(0, [1, 1, 1, 1]))
    (case,) = property.question(2).cases
    assert case.box.lo == (0, Fraction("0.47"), Fraction("0.97"), Fraction(0.99) - Fraction("0.03"))
    assert case.box.hi == (Fraction("0.03"), Fraction("0.53"), 1, 1)


def test_the_label_is_predicted_where_none_is_given():
    met = []

    def predict(x):
        met.append(x)
        return 2

    question = ft.Robust([0.5], 0.25).question(3, predict)
    assert met == [(Fraction(1, 2),)]
    assert question == ft.Robust([0.5], 0.25, label=2).question(3)


@given(
    st.lists(st.tuples(grid, grid), min_size=1, max_size=4),
    st.fractions(0, 3, max_denominator=4),
    st.sampled_from([1, 2, inf]),
)
def test_a_ball_is_where_its_norm_says(pairs, radius, norm):
    centre, x = [c for c, _ in pairs], tuple(v for _, v in pairs)
    question = ft.Robust(centre, radius, norm=norm, label=0).question(2)
    distances = [abs(v - c) for c, v in pairs]
    if norm == 1:
        inside = sum(distances) <= radius
    elif norm == 2:
        inside = sum(d * d for d in distances) <= radius * radius
    else:
        inside = max(distances) <= radius
    assert question.admits(x, (Fraction(0), Fraction(0))) == inside


def test_a_euclidean_ball_is_decided_at_its_surface():
    ball = RationalBall((Fraction(0), Fraction(0)), Fraction(5), 2)
    assert ball.contains((Fraction(3), Fraction(4)))
    assert not ball.contains((Fraction(3), Fraction(4) + Fraction(1, 10**40)))
    assert not RationalBall((Fraction(0),), Fraction(-1), 2).contains((Fraction(0),))


# -- combinations -----------------------------------------------------------------------------------------------------


def test_a_predicate_joins_a_property_on_its_inputs():
    small = ft.Outputs(lambda y: y <= 10)
    for property in (ft.Robust([0], 1, label=0) & small, small & ft.Robust([0], 1, label=0)):
        question = property.question(2)
        assert len(question.cases) == 1
        assert question.admits((Fraction(1),), (Fraction(11), Fraction(0)))
        assert not question.admits((Fraction(1),), (Fraction(10), Fraction(0)))
    either = (small | ft.Robust([0], 1, label=0)).question(2)
    assert not either.admits((Fraction(1),), (Fraction(0), Fraction(1)))


def test_two_properties_hold_if_neither_has_a_counter_example():
    question = (ft.Robust([0], 1, label=0) & ft.Robust([5], 1, label=1)).question(2)
    assert len(question.cases) == 2
    first, second = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    assert question.admits((Fraction(0),), second) and question.admits((Fraction(5),), first)
    assert not question.admits((Fraction(0),), first) and not question.admits(
        (Fraction(5),), second
    )


def test_the_negation_is_meant_at_every_input_of_the_set():
    question = (~ft.Robust([0], 1, label=0)).question(2)
    assert question.admits((Fraction(0),), (Fraction(1), Fraction(0)))
    assert not question.admits((Fraction(0),), (Fraction(0), Fraction(1)))


def test_alternatives_about_one_set_are_alternatives_at_each_input():
    either = ft.Robust([0], 1, label=0) | ft.Robust([0], 1, label=1)
    assert not either.question(3).admits((Fraction(0),), (Fraction(0), Fraction(1), Fraction(0)))
    assert either.question(3).admits((Fraction(0),), (Fraction(0), Fraction(0), Fraction(1)))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: ft.Robust([float("nan")], 1), "no number"),
        (lambda: ft.Robust([inf], 1), "no number"),
        (lambda: ft.Robust(["1e999999999"], 1), "no number"),
        (lambda: ft.Robust(["one"], 1), "no number"),
        (lambda: ft.Robust([1], -1), "negative"),
        (lambda: ft.Robust([1, 2], [1, 2, 3]), "another number of entries"),
        (lambda: ft.Robust([1], 1, norm=3), "norm is 1, 2 or inf"),
        (lambda: ft.Robust([1, 2], [1, 1], norm=2), "norm is 1, 2 or inf"),
        (lambda: ft.Robust([5], 1, clip=(0, 1)), "empty"),
        (lambda: ft.Robust([1], 1).question(3), "label is not known"),
        (lambda: ft.Robust([1], 1, label=3).question(3), "number of an output"),
        (lambda: ft.Robust([1], 1, label=0).question(1), "number of an output"),
        (lambda: ft.Outputs([[1, 2]], [1, 2]), "another number of entries"),
        (lambda: ft.Outputs([[1, 2, 3]], 1).on(0, 1).question(2), "does not fit the outputs"),
        (lambda: ft.Outputs([1], 0).on(1, 0), "empty"),
        (lambda: ft.Outputs([1], 0).on([0, 0], [1, 1, 1]), "another number of entries"),
        (lambda: ft.Outputs([1], 0).on(-inf, 0), "no number"),
        (lambda: ft.Outputs(lambda y: True).on(0, 1).question(2), "compares outputs"),
        (lambda: ft.Robust([0], 1) | ft.Robust([1], 1), "same inputs"),
        (lambda: ~(ft.Robust([0], 1) & ft.Robust([1], 1)), "one set"),
        (
            lambda: (ft.Robust([0], 1, label=0) & ft.Robust([0, 1], 1, label=0)).question(2),
            "different sizes",
        ),
    ],
)
def test_what_makes_no_sense_is_said(make, says):
    with pytest.raises(UsageError, match=says):
        make()
