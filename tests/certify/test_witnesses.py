"""Witnesses are written exactly and read again as what they were."""

import gzip
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.vnnlib import parse_query
from ftheta.certify.witnesses import (
    parse_witness,
    read_witness,
    write_assignment,
    write_number,
    write_witness,
)
from ftheta.logic import SubjectError

numbers = st.one_of(
    st.fractions(),
    st.fractions(max_denominator=50),
    st.floats(allow_nan=False, allow_infinity=False).map(Fraction),
    st.integers(-(10**30), 10**30).map(Fraction),
)


@given(st.lists(numbers, min_size=1, max_size=5), st.lists(numbers, max_size=3))
def test_a_witness_is_read_as_it_was_written(x, y):
    assert parse_witness(write_witness(x, y)) == (tuple(x), tuple(y))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(1, 2), "0.5"),
        (Fraction(-3), "-3.0"),
        (Fraction(0), "0.0"),
        (Fraction(-7, 40), "-0.175"),
        (Fraction(1, 3), "(/ 1 3)"),
        (Fraction(-10, 7), "(/ -10 7)"),
        (Fraction(0.1), "0.1000000000000000055511151231257827021181583404541015625"),
        (Fraction(12345, 10), "1234.5"),
    ],
)
def test_numbers_are_decimals_where_these_are_finite(value, text):
    assert write_number(value) == text


def test_numbers_of_thousands_of_digits_are_written_and_read():
    long = [Fraction(3, 2**9000), Fraction(10**9000 + 1, 7), Fraction(-(7**9000))]
    assert parse_witness(write_witness(long, long)) == (tuple(long), tuple(long))


def test_witnesses_of_other_tools_are_read(tmp_path):
    text = "sat\n((X_0 -0.303\n) (X_1   4.9e-05)\n(X_2 (- (/ 1 4)))(X_3 (/ 3.0 8))\n(Y_0 1E2))\n"
    expected = (
        (Fraction("-0.303"), Fraction("4.9e-05"), Fraction(-1, 4), Fraction(3, 8)),
        (Fraction(100),),
    )
    assert parse_witness(text) == expected
    path = tmp_path / "a.counterexample.gz"
    path.write_bytes(gzip.compress(text.encode()))
    assert read_witness(path) == expected


@pytest.mark.parametrize(
    ("text", "says", "place"),
    [
        ("((X_0 1)", "truncated", "1:1"),
        ("((X_0 1)\n(X_0 2))", "two values", "2:1"),
        ("((X_0 1)\n (X_2 2))", "no value of X_1", "1:1"),
        ("((X_0 nan))", "must be finite", "1:7"),
        ("((X_0 1)\n (Z_0 2))", "variable and its value", "2:2"),
        ("((X_0 1 2))", "variable and its value", "1:2"),
        ("((X_0))", "variable and its value", "1:2"),
        ("((X_0 (+ 1 2)))", "not understood", "1:7"),
        ("((X_0 (/ 1 0)))", "not understood", "1:7"),
        ("((Y_0 1))", "no input", "1:1"),
        ("unsat", "in parentheses", "1:1"),
        ("", "no input", "1:1"),
    ],
)
def test_what_is_no_witness_is_named(text, says, place):
    with pytest.raises(SubjectError, match=says) as caught:
        parse_witness(text)
    assert caught.value.where == f"text:{place}"


def test_assignments_of_version_2_come_tensor_by_tensor():
    query = parse_query(
        """(vnnlib-version <2.0>)
        (declare-network f
            (declare-input A float32 [2,2]) (declare-input B float32 [1])
            (declare-hidden H float32 [1,2] "hidden")
            (declare-output Y float32 [1]))
        (declare-network g (declare-input C float32 [2]) (declare-output Z float32 []))
        (assert (<= Y[0] Z))"""
    )
    x = [Fraction(k, 2) for k in range(7)]
    y = [Fraction(1, 10), Fraction(3), Fraction(1, 3), Fraction(-4)]  # Y, then H, then Z
    assert write_assignment(query, x, y).splitlines() == [
        *("A float32 [2,2]", "0.0", "0.5", "1.0", "1.5"),
        *("B float32 [1]", "2.0"),
        *("H float32 [1,2]", "3.0", "(/ 1 3)"),
        *("Y float32 [1]", "0.1"),
        *("C float32 [2]", "2.5", "3.0"),
        *("Z float32 []", "-4.0"),
    ]
