"""VNN-LIB: what a file says is what is asked, and what is wrong in a file is named with its place."""

import gzip
import json
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from ftheta.certify.questions import Box
from ftheta.certify.vnnlib import parse_query, read_query, read_question
from ftheta.logic import SubjectError

ONE_IN_ONE_OUT = "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n"
TWO_IN_TWO_OUT = "".join(f"(declare-const {name} Real)\n" for name in ("X_0", "X_1", "Y_0", "Y_1"))
UNIT_BOX = "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 1))\n"
NETWORK = "(vnnlib-version <2.0>)\n(declare-network f (declare-input X real [2]) (declare-output Y real [2]))\n"
UNIT_BOX_2 = "(assert (and (>= X[0] 0) (<= X[0] 1) (>= X[1] 0) (<= X[1] 1)))\n"


def ask(text):
    return parse_query(text).question()


def rationals(*values):
    return tuple(Fraction(value) for value in values)


def unit(*ends):
    return Box(rationals(*[lo for lo, _ in ends]), rationals(*[hi for _, hi in ends]))


# -- where others went wrong ------------------------------------------------------------------------------------------


def test_a_conjunct_behind_an_or_is_part_of_every_disjunct():
    question = ask(
        TWO_IN_TWO_OUT + UNIT_BOX + "(assert (or (<= Y_0 -1) (>= Y_0 1)))\n(assert (<= Y_1 0.5))"
    )
    (case,) = question.cases
    assert [len(rows) for rows in case.unsafe] == [2, 2]
    inside = rationals(0, 0)
    assert question.admits(inside, rationals(2, 0))
    assert not question.admits(inside, rationals(2, 1))  # the last conjunct fails
    assert not question.admits(inside, rationals(0, 0))  # no disjunct holds


def test_a_conjunct_before_and_between_two_ors_is_part_of_every_disjunct():
    between = "(assert (or (<= Y_0 0) (>= Y_0 1)))(assert (<= Y_1 0.5))(assert (or (<= Y_1 0) (>= Y_0 3)))"
    question = ask(TWO_IN_TWO_OUT + UNIT_BOX + between)
    (case,) = question.cases
    assert len(case.unsafe) == 4
    assert not question.admits(rationals(0, 0), rationals(3, 1))
    assert question.admits(rationals(0, 0), rationals(3, "0.5"))


def test_bounds_of_one_disjunct_do_not_leak_into_another():
    question = ask(
        ONE_IN_ONE_OUT
        + """(assert (>= X_0 0)) (assert (<= X_0 10))
        (assert (or (and (<= X_0 1) (<= Y_0 0)) (and (>= X_0 5) (<= Y_0 1)) (<= Y_0 -7)))"""
    )
    assert [case.box for case in question.cases] == [unit((0, 1)), unit((5, 10)), unit((0, 10))]
    assert not question.admits(rationals(3), rationals(0))
    assert not question.admits(rationals(0), rationals("0.5"))
    assert question.admits(rationals(5), rationals("0.5"))
    assert question.admits(rationals(3), rationals(-7))


def test_a_strict_bound_of_an_input_closes_the_box_and_excludes_its_end():
    question = ask(ONE_IN_ONE_OUT + "(assert (> X_0 0)) (assert (< X_0 1)) (assert (<= Y_0 0))")
    (case,) = question.cases
    assert case.box == unit((0, 1))
    assert not question.admits(rationals(0), rationals(0))
    assert not question.admits(rationals(1), rationals(0))
    assert question.admits(rationals("1e-400"), rationals(0))


def test_a_strict_lower_bound_is_no_upper_bound():
    (case,) = ask(ONE_IN_ONE_OUT + "(assert (> X_0 0.25)) (assert (<= X_0 1))").cases
    assert case.box == unit(("0.25", 1))


def test_constant_inputs_are_kept_exactly():
    question = ask(ONE_IN_ONE_OUT + "(assert (= X_0 0.1)) (assert (>= Y_0 1))")
    assert question.cases[0].box == unit(("0.1", "0.1"))
    assert question.admits(rationals("0.1"), rationals(1))
    # the float beside it is another number
    assert not question.admits((Fraction(0.1),), rationals(1))


def test_no_assertion_is_swallowed():
    asserted = "\n".join(f"(assert (<= Y_0 {k}))" for k in range(50))
    (case,) = ask(TWO_IN_TWO_OUT + UNIT_BOX + asserted).cases
    assert sorted(row.bound for row in case.unsafe[0]) == list(range(50))


def test_a_witness_outside_the_box_by_a_rounding_error_is_none():
    question = ask(ONE_IN_ONE_OUT + "(assert (>= X_0 0)) (assert (<= X_0 0.1)) (assert (>= Y_0 0))")
    assert question.admits(rationals("0.1"), rationals(0))
    assert not question.admits((Fraction(0.1),), rationals(0))  # 0.1 in float64 is above 0.1


def test_ties_are_decided_by_how_the_comparison_is_written():
    weak = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (<= Y_0 Y_1))")
    strong = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (< Y_0 Y_1))")
    tie = rationals(0, 0), rationals("0.5", "0.5")
    assert weak.admits(*tie) and not strong.admits(*tie)


def test_of_several_bounds_the_tightest_counts():
    (case,) = ask(
        ONE_IN_ONE_OUT + "(assert (and (<= X_0 3) (<= X_0 1) (<= X_0 2) (>= X_0 -1) (>= X_0 -2)))"
    ).cases
    assert case.box == unit((-1, 1))


def test_coefficients_of_a_bound_divide_it():
    (case,) = ask(
        ONE_IN_ONE_OUT + "(assert (<= (* -2 X_0) 3)) (assert (>= 1 (+ (* 0.5 X_0) 2)))"
    ).cases
    assert case.box == unit(("-1.5", -2))
    assert case.box.is_empty


# -- cases and disjuncts ----------------------------------------------------------------------------------------------


def test_an_or_of_boxes_makes_cases_and_an_or_of_outputs_makes_disjuncts():
    boxes = "(or (and (<= X_0 0.2) (<= X_1 0.5)) (>= X_0 0.7))"
    question = ask(
        TWO_IN_TWO_OUT
        + UNIT_BOX
        + f"(assert {boxes})(assert (or (<= Y_0 0) (<= Y_1 0) (>= Y_0 9)))"
    )
    assert [case.box for case in question.cases] == [
        unit((0, "0.2"), (0, "0.5")),
        unit(("0.7", 1), (0, 1)),
    ]
    assert [len(case.unsafe) for case in question.cases] == [3, 3]
    assert question.cases[0].unsafe is question.cases[1].unsafe


def test_disjuncts_with_the_same_box_are_one_case():
    disjuncts = "".join(f"(and (>= X_0 0.0) (<= X_0 1) (<= Y_0 {k}))" for k in range(100))
    question = ask(
        ONE_IN_ONE_OUT + f"(assert (or {disjuncts} (and (>= X_0 0) (<= X_0 1.00) (>= Y_0 3))))"
    )
    (case,) = question.cases
    assert case.box == unit((0, 1)) and len(case.unsafe) == 101


def test_cases_that_exclude_one_another_are_left_out():
    intervals = " ".join(f"(and (>= X_0 {k}) (<= X_0 {k}.5))" for k in range(100))
    question = ask(ONE_IN_ONE_OUT + f"(assert (or {intervals}))" * 4)
    assert len(question.cases) == 100


def test_an_or_said_twice_is_not_multiplied_with_itself():
    text = "(assert (or (<= Y_0 0) (<= Y_1 0)))"
    (case,) = ask(TWO_IN_TWO_OUT + UNIT_BOX + 20 * text).cases
    assert len(case.unsafe) == 2


@pytest.mark.parametrize(("first", "second"), [("<", "<="), ("<=", "<")])
def test_a_strict_row_and_a_weak_one_are_two(first, second):
    text = f"(assert (or ({first} Y_0 0) (<= Y_1 -9)))(assert (or ({second} Y_0 0) (<= Y_1 -99)))"
    question = ask(TWO_IN_TWO_OUT + UNIT_BOX + text)
    assert not question.admits(rationals(0, 0), rationals(0, 0))
    assert question.admits(rationals(0, 0), rationals(-1, 0))


def test_an_input_that_differs_from_a_number_lies_on_one_of_two_sides():
    question = ask(ONE_IN_ONE_OUT + "(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (!= X_0 0.5))")
    assert [case.box for case in question.cases] == [unit((0, "0.5")), unit(("0.5", 1))]
    assert not question.admits(rationals("0.5"), rationals(0))
    assert question.admits(rationals("0.50001"), rationals(0))


def test_outputs_that_differ_are_two_strict_disjuncts_and_equal_ones_two_rows():
    (unequal,) = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (!= Y_0 Y_1))").cases
    assert [[row.strict for row in rows] for rows in unequal.unsafe] == [[True], [True]]
    (equal,) = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (= Y_0 Y_1))").cases
    assert [[row.strict for row in rows] for rows in equal.unsafe] == [[False, False]]


def test_rows_may_mix_inputs_and_outputs():
    question = ask(
        TWO_IN_TWO_OUT
        + UNIT_BOX
        + "(assert (<= (+ X_0 X_1) 1.5)) (assert (>= Y_0 (- X_0 (* 2 Y_1))))"
    )
    (case,) = question.cases
    (sides,) = case.unsafe
    assert [(dict(row.inputs), dict(row.outputs), row.bound) for row in sides] == [
        ({0: 1, 1: 1}, {}, Fraction(3, 2)),
        ({0: 1}, {0: -1, 1: -2}, 0),
    ]


def test_missing_bounds_follow_from_rows_of_inputs():
    text = """(vnnlib-version <2.0>)
    (declare-network f (declare-input A real [2]) (declare-output B real [1]))
    (declare-network g (equal-to f) (declare-input C real [2]) (declare-output D real [1]))
    (assert (and (>= A[0] 0) (<= A[0] 1) (== C[0] A[0])))
    (assert (and (<= (+ A[1] C[0]) 2) (>= A[1] C[0]) (<= (- (* 2 C[1]) A[1]) 0) (>= C[1] (- A[1] 5))))
    (assert (> B[0] D[0]))"""
    (case,) = ask(text).cases
    assert case.box == unit((0, 1), (0, 2), (0, 1), (-5, 1))


def test_an_empty_box_is_kept_as_such():
    question = ask(ONE_IN_ONE_OUT + "(assert (>= X_0 1)) (assert (<= X_0 0)) (assert (<= Y_0 0))")
    (case,) = question.cases
    assert case.box.is_empty and not question.admits(rationals("0.5"), rationals(0))


def test_what_is_always_false_has_no_case_and_what_is_always_true_says_nothing():
    false = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (<= 2 1))")
    assert false.cases == ()
    true = ask(TWO_IN_TWO_OUT + UNIT_BOX + "(assert (or (<= 1 2) (<= Y_0 0))) (assert (= Y_1 Y_1))")
    assert true.admits(rationals(0, 0), rationals(5, 5))
    nothing = ask(TWO_IN_TWO_OUT + UNIT_BOX)
    assert nothing.cases[0].unsafe == ((),)


def test_negations_reach_the_comparisons():
    question = ask(
        TWO_IN_TWO_OUT
        + UNIT_BOX
        + "(assert (not (or (<= Y_0 1) (not (and (< Y_1 2) (not (= Y_0 5)))))))"
    )
    assert question.admits(rationals(0, 0), rationals(3, 1))
    assert not question.admits(rationals(0, 0), rationals(1, 1))
    assert not question.admits(rationals(0, 0), rationals(5, 1))
    assert not question.admits(rationals(0, 0), rationals(3, 2))


def test_a_point_of_another_size_is_an_error():
    with pytest.raises(SubjectError, match="does not fit"):
        ask(TWO_IN_TWO_OUT + UNIT_BOX).admits(rationals(0), rationals(0, 0))
    with pytest.raises(SubjectError, match="does not fit"):
        parse_query(TWO_IN_TWO_OUT + UNIT_BOX).admits(rationals(0, 0), rationals(0))


# -- how much, and how fast -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("own_box", [False, True], ids=["one box", "each its own box"])
def test_a_hundred_thousand_disjuncts_are_read_in_seconds(own_box):
    count = 100_000
    box = "(>= X_0 {0}.25) (<= X_0 {0}.75) " if own_box else ""
    disjuncts = "\n".join(f"(and {box.format(k)}(<= Y_0 {k}.125))" for k in range(count))
    bounds = "" if own_box else "(assert (>= X_0 0)) (assert (<= X_0 1))"
    start = time.process_time()
    question = ask(ONE_IN_ONE_OUT + bounds + f"(assert (or {disjuncts}))")
    seconds = time.process_time() - start
    assert seconds < 15  # a few on an idle machine
    assert len(question.cases) == (count if own_box else 1)
    assert sum(len(case.unsafe) for case in question.cases) == count


def test_a_property_that_multiplies_out_without_end_is_refused():
    many = "".join(f"(assert (or (<= Y_0 {k}) (<= Y_1 {k})))" for k in range(40))
    with pytest.raises(SubjectError, match="too large as a union of cases") as caught:
        ask(TWO_IN_TWO_OUT + UNIT_BOX + many)
    assert "split" in caught.value.remedy


@pytest.mark.parametrize(
    ("opening", "inner"),
    [
        ("(and (<= Y_0 1) ", "(<= Y_1 0)"),
        ("(or (<= Y_0 1) ", "(<= Y_1 0)"),
        ("(not ", "(<= Y_1 0)"),
        ("(or ", "(<= Y_1 0)"),
    ],
)
def test_formulas_may_be_nested_a_hundred_thousand_times(opening, inner):
    depth = 100_000
    question = ask(TWO_IN_TWO_OUT + UNIT_BOX + f"(assert {opening * depth}{inner}{')' * depth})")
    assert question.admits(rationals(0, 0), rationals(0, 0))


@pytest.mark.parametrize("opening", ["(+ Y_0 ", "(- ", "(* 1 ", "(- 1 "])
def test_arithmetic_may_be_nested_a_hundred_thousand_times(opening):
    depth = 100_000
    question = ask(TWO_IN_TWO_OUT + UNIT_BOX + f"(assert (<= {opening * depth}Y_1{')' * depth} 0))")
    assert question.admits(rationals(0, 0), rationals(0, 0))


def test_a_tower_of_alternating_connectives_is_read_or_refused():
    depth = 20_000
    nested = "(and (<= Y_0 1) (or (<= Y_1 1) " * depth + "(<= Y_0 0)" + "))" * depth
    with pytest.raises(SubjectError, match="too large as a union of cases"):
        ask(TWO_IN_TWO_OUT + UNIT_BOX + f"(assert {nested})")


def test_reading_imports_no_jax():
    program = """
import json, sys
import ftheta.certify.vnnlib, ftheta.certify.witnesses, ftheta.certify.properties
print(json.dumps([name for name in ("jax", "scipy", "numba") if name in sys.modules]))
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == []


# -- numbers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("0.1", Fraction(1, 10)),
        ("-0.0", 0),
        ("+.5", Fraction(1, 2)),
        ("-3.", -3),
        ("1e-06", Fraction(1, 10**6)),
        ("1E+3", 1000),
        ("-2.5e1", -25),
        ("1e400", 10**400),
        ("0." + "3" * 5000, Fraction((10**5000 - 1) // 3, 10**5000)),
        ("(/ 1 3)", Fraction(1, 3)),
        ("(- (/ 2 -8))", Fraction(1, 4)),
    ],
)
def test_decimals_are_read_as_the_rationals_that_they_are(written, value):
    (case,) = ask(TWO_IN_TWO_OUT + UNIT_BOX + f"(assert (<= Y_0 {written}))").cases
    assert case.unsafe[0][0].bound == value


@pytest.mark.parametrize(
    ("written", "says"),
    [
        ("NaN", "must be finite"),
        ("inf", "must be finite"),
        ("-Infinity", "must be finite"),
        ("+inf", "must be finite"),
        ("1e999999999999", "exponent"),
        ("1e-6000", "exponent"),
        ("0." + "1" * 30_000, "too many digits"),
        ("1.2.3", "no number"),
        ("1_000", "no number"),
        ("--1", "no number"),
        ("0x10", "no number"),
        ("٣", "not declared"),
    ],
)
def test_what_is_no_finite_number_is_named(written, says):
    start = time.process_time()
    with pytest.raises(SubjectError, match=says) as caught:
        ask(TWO_IN_TWO_OUT + UNIT_BOX + f"(assert (<= Y_0 {written}))")
    assert time.process_time() - start < 1
    assert caught.value.where == "text:6:17"


# -- errors, version 1.0 ----------------------------------------------------------------------------------------------

GOOD = (
    "(declare-const X_0 Real)\n(declare-const Y_0 Real)\n(assert (>= X_0 0))\n(assert (<= X_0 1))\n"
)


@pytest.mark.parametrize(
    ("text", "place", "says", "names"),
    [
        ("(assert (<= X_1 0))", "5:13", "not declared", "X_1"),
        ("(assert (<= 0 (+ Y_0 Z)))", "5:22", "not declared", "Z"),
        ("(assert (<= X_0))", "5:9", "wrong number of arguments", "1"),
        ("(assert (<= X_0 1 2))", "5:9", "wrong number of arguments", "3"),
        ("(assert (not (<= X_0 1) (<= X_0 2)))", "5:9", "wrong number of arguments", "2"),
        ("(assert (and))", "5:9", "wrong number of arguments", "0"),
        ("(assert)", "5:1", "wrong number of arguments", "0"),
        ("(assert (<= X_0 1) (<= Y_0 1))", "5:1", "wrong number of arguments", "2"),
        ("(assert (<= (+) 1))", "5:13", "wrong number of arguments", "0"),
        ("(assert (<= (/ Y_0) 1))", "5:13", "wrong number of arguments", "1"),
        ("(assert (or (<= X_0 1) (<= Y_0 1))", "5:1", "ends inside parentheses", "1 open"),
        ("(assert (<= X_0 1)))", "5:20", "never opened", ")"),
        ("(assert (<= X_0 1", "5:9", "ends inside parentheses", "2 open"),
        ("(assert (<= (* X_0 Y_0) 1))", "5:13", "not linear", "2 terms"),
        ("(assert (<= (/ 1 Y_0) 1))", "5:13", "division by a constant", "variable"),
        ("(assert (<= (/ Y_0 0) 1))", "5:13", "division by a constant", "by 0"),
        ("(assert (xor (<= X_0 1) (<= Y_0 1)))", "5:9", "no such operator", "xor"),
        ("(assert (<= (sin Y_0) 1))", "5:13", "no such operator", "sin"),
        ("(assert (=> (<= X_0 1) (<= Y_0 1)))", "5:9", "no such operator", "=>"),
        ("(assert ((<= X_0 1)))", "5:10", "outside an assertion", "<="),
        ("(assert (+ X_0 1))", "5:1", "of formulas", "arithmetic"),
        ("(assert X_0)", "5:9", "of formulas", "X_0"),
        ("(assert (<= (and (<= X_0 1)) 2))", "5:9", "not of formulas", "formula"),
        ("(assert (<= (<= X_0 1) 2))", "5:9", "not of formulas", "<="),
        ("(<= X_0 1)", "5:1", "outside an assertion", "<="),
        ("(and (<= X_0 1) (<= Y_0 1))", "5:1", "outside an assertion", "and"),
        ("(+ 1 2)", "5:1", "outside an assertion", "+"),
        ("(assert (and (assert (<= X_0 1)) (<= X_0 2)))", "5:14", "inside another form", "assert"),
        (
            "(assert (and (assert (and (<= X_0 1) (<= X_0 2)))))",
            "5:14",
            "inside another form",
            "assert",
        ),
        ("(declare-const X_0 Real)", "5:16", "declared twice", "X_0"),
        ("(declare-const Z_0 Real)", "5:16", "inputs X_0", "Z_0"),
        ("(declare-const X_01 Real)", "5:16", "inputs X_0", "X_01"),
        ("(declare-const X_1 Int)", "5:1", "not understood", "Int"),
        ("(declare-const X_1)", "5:1", "not understood", "X_1"),
        ("(declare-fun X_1 (Real) Real)", "5:1", "not understood", "X_1"),
        ("(declare-cons X_1 Real)", "5:1", "no such command", "declare-cons"),
        ("(define-fun f () Bool (<= X_0 1))", "5:1", "no such operator", "define-fun"),
        ("(push 1)", "5:1", "no such command", "push"),
        ("()", "5:1", "no such command", "without a command"),
        ("(check-sat)\n(assert (<= Y_0 1))", "6:1", "behind the end", "check-sat"),
        ("assert", "5:1", "not VNN-LIB", "assert"),
        ('(assert (<= X_0 "1"))', "5:17", "not declared", '"'),
        ("(assert (<= X_0 [1]))", "5:17", "not declared", "["),
    ],
)
def test_an_error_names_the_line_and_the_word(text, place, says, names):
    with pytest.raises(SubjectError) as caught:
        ask(GOOD + text)
    assert says in caught.value.what
    assert caught.value.where == f"text:{place}"
    assert names in f"{caught.value.what} {caught.value.got}"


def test_a_misspelt_word_is_met_with_the_nearest_one():
    with pytest.raises(SubjectError) as caught:
        ask(GOOD + "(assert (<= X0 1))")
    assert "X_0" in caught.value.remedy
    with pytest.raises(SubjectError) as caught:
        ask(GOOD + "(declare-konst X_1 Real)")
    assert "declare-const" in caught.value.remedy


def test_an_input_without_bounds_is_named():
    for missing, side in (
        ("(>= X_0 0)", "upper"),
        ("(<= X_0 0)", "lower"),
        ("(<= X_0 Y_0)", "lower"),
    ):
        with pytest.raises(SubjectError, match=f"input X_0 has no {side} bound"):
            ask(ONE_IN_ONE_OUT + f"(assert {missing})")
    with pytest.raises(SubjectError, match="input X_0 has no upper bound") as caught:
        ask(
            ONE_IN_ONE_OUT
            + "(assert (>= X_0 0)) (assert (or (and (<= X_0 1) (<= Y_0 0)) (>= Y_0 1)))"
        )
    assert caught.value.where == "text, case 2 of 2"


def test_variables_are_numbered_without_gaps():
    with pytest.raises(SubjectError, match="X_1 is not declared"):
        ask("(declare-const X_0 Real)(declare-const X_2 Real)(declare-const Y_0 Real)")
    with pytest.raises(SubjectError, match="Y_0 is not declared"):
        ask("(declare-const X_0 Real)(declare-const Y_999999999 Real)")
    with pytest.raises(SubjectError, match="declares no input"):
        ask("; nothing but a comment\n")


def test_commands_of_smt_lib_that_say_nothing_are_passed_over():
    text = '(set-logic QF_LRA)\n(set-info :source |x| "a (string) ; with all")\n(declare-fun X_0 () Real)'
    question = ask(text + "(assert (and (>= X_0 0) (<= X_0 1)))(check-sat)(get-model)(exit)")
    assert question.inputs == 1 and question.outputs == 0


# -- errors, version 2.0 ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place", "says", "names"),
    [
        ("(assert (<= Z[0] 1))", "3:13", "not declared", "Z"),
        ("(assert (<= f 1))", "3:13", "not declared", "f"),
        ("(assert (<= X[2] 1))", "3:13", "out of range", "X[2]"),
        ("(assert (<= X[0,0] 1))", "3:13", "has 1 axes", "2 indices"),
        ("(assert (<= X 1))", "3:13", "has 1 axes", "0 indices"),
        ("(assert (<= X[-1] 1))", "3:13", "natural numbers", "-1"),
        ("(assert (<= X[0 1] 1))", "3:13", "natural numbers", "0 1"),
        ("(assert (<= (+ X[i] 1) 1))", "3:16", "natural numbers", "i"),
        ("(declare-const X_0 Real)", "3:1", "no such command", "declare-const"),
        (
            "(declare-network f (declare-input A real []) (declare-output B real []))",
            "3:18",
            "name is taken",
            "f",
        ),
        (
            "(declare-network g (declare-input X real []) (declare-output B real []))",
            "3:35",
            "name is taken",
            "X",
        ),
        (
            "(declare-network g (declare-input A float31 []) (declare-output B real []))",
            "3:37",
            "no such type",
            "float31",
        ),
        (
            "(declare-network g (declare-input A string []) (declare-output B real []))",
            "3:37",
            "no such type",
            "string",
        ),
        (
            "(declare-network g (declare-input A real) (declare-output B real []))",
            "3:20",
            "no type or no shape",
            "real",
        ),
        (
            "(declare-network g (declare-input A real [-1]) (declare-output B real []))",
            "3:37",
            "natural numbers",
            "-1",
        ),
        (
            "(declare-network g (declare-input A real [2] init) (declare-output B real []))",
            "3:20",
            "not understood",
            "init",
        ),
        ("(declare-network g (declare-input A real [2]))", "3:1", "no declare-output", "g"),
        ("(declare-network g (declare-output A real [2]))", "3:1", "no declare-input", "g"),
        ("(declare-network 7 (declare-output A real [2]))", "3:18", "A name is missing", "7"),
        ("(declare-network)", "3:1", "A name is missing", "declare-network"),
        (
            "(declare-network g (declare-inputs A real [2]))",
            "3:20",
            "declared by its inputs",
            "declare-inputs",
        ),
        (
            "(declare-network g (declare-input A real [1]) (declare-hidden H real [1]) (declare-output B real [1]))",
            "3:47",
            "not understood",
            "no name",
        ),
        (
            "(declare-network g (equal-to h) (declare-input A real [2]) (declare-output B real [2]))",
            "3:30",
            "no earlier network",
            "h",
        ),
        (
            "(declare-network g (equal-to f) (declare-input A real [3]) (declare-output B real [2]))",
            "3:30",
            "different inputs",
            "f",
        ),
        (
            "(declare-network g (equal-to f) (declare-input A float32 [2]) (declare-output B real [2]))",
            "3:30",
            "different inputs",
            "f",
        ),
        (
            "(declare-network g (equal-to f) (isomorphic-to f) (declare-input A real [2]) (declare-output B real [2]))",
            "3:30",
            "one other at most",
            "f",
        ),
        (
            (
                "(declare-network g (equal-to f) (declare-input A real [2]) (declare-output B real [2]))"
                "(declare-network h (equal-to g) (declare-input C real [2]) (declare-output D real [2]))"
            ),
            "3:117",
            "refers to another one",
            "g",
        ),
        (
            "(assert (<= X[0] 1))(declare-network g (declare-input A real [2]) (declare-output B real [2]))",
            "3:21",
            "behind an assertion",
            "declare-network",
        ),
        ("(assert (<= X[0] 1", "3:9", "ends inside parentheses", "2 open"),
    ],
)
def test_an_error_in_version_2_names_the_line_and_the_word(text, place, says, names):
    with pytest.raises(SubjectError) as caught:
        parse_query(NETWORK + text)
    assert says in caught.value.what
    assert caught.value.where == f"text:{place}"
    assert names in f"{caught.value.what} {caught.value.got}"


def test_types_are_known_and_never_mixed():
    network = "(vnnlib-version <2.0>)(declare-network f (declare-input X {} [2]) (declare-output Y {} [1]))"
    query = parse_query(
        network.format("float32", "float16") + "(assert (<= X[0] 0.5))(assert (<= Y[0] 1))"
    )
    assert query.element_types == {"float32", "float16"}
    with pytest.raises(SubjectError, match="different types") as caught:
        parse_query(network.format("float32", "float16") + "\n(assert (<= X[0] Y[0]))")
    assert caught.value.got == "float16 and float32"
    with pytest.raises(SubjectError, match="different types"):
        parse_query(network.format("float32", "float16") + "\n(assert (<= (+ (* 2 X[0]) Y[0]) 0))")
    with pytest.raises(SubjectError, match="decimal is combined with integers"):
        parse_query(network.format("int8", "int8") + "(assert (<= X[0] 0.5))")
    assert parse_query(network.format("int8", "int8") + "(assert (<= X[0] -5))").element_types == {
        "int8"
    }
    assert parse_query(
        network.format("Real", "real") + "(assert (<= X[0] Y[0]))"
    ).element_types == {"real"}


def test_hidden_nodes_scalars_and_twins_are_declared():
    query = parse_query(
        """(vnnlib-version <2.1>) ; with a comment
        (declare-network f
            (declare-input A float32 [1, 3]) (declare-input B float32 [] initialized)
            (declare-hidden H float32 [2,2] "a/b \\"c\\" (d)")
            (declare-output Y float32 []))
        (declare-network g (equal-to f)
            (declare-input C float32 [1,3]) (declare-input D float32 [])
            (declare-output Z float32 []))
        (assert (<= (+ H[1,0] (* 2 Y) B) Z))"""
    )
    f, g = query.networks
    assert (f.equal_to, g.equal_to, g.isomorphic_to) == ("", "f", "")
    assert f.hidden[0].node == 'a/b "c" (d)' and f.hidden[0].shape == (2, 2)
    assert f.inputs[1].initialized and not g.inputs[1].initialized
    assert (query.version, query.inputs, query.outputs) == ((2, 1), 8, 6)
    assert [query.name_output(j) for j in range(6)] == [
        "Y",
        "H[0,0]",
        "H[0,1]",
        "H[1,0]",
        "H[1,1]",
        "Z",
    ]
    assert not query.is_plain


def test_an_initialized_input_takes_its_values_from_the_network():
    query = parse_query(
        "(vnnlib-version <2.1>)(declare-network f (declare-input A real [2] initialized) (declare-output Y real []))"
        "(assert (<= Y 0.5))"
    )
    with pytest.raises(SubjectError, match="A takes its value from the network's file"):
        query.question()
    question = query.question({"A": rationals("0.5", 2)})
    assert question.cases[0].box == unit(("0.5", "0.5"), (2, 2))


def test_equal_products_are_one_output_and_what_cancels_is_none():
    query = parse_query(
        NETWORK
        + UNIT_BOX_2
        + """(assert (<= (* X[0] Y[1]) 1)) (assert (>= (* Y[1] -2 X[0]) 3))
        (assert (<= (- (* X[0] X[0]) (* X[0] X[0])) 0))
        (assert (<= (* (+ (* X[0] Y[1]) 1) Y[0] Y[0]) 0))"""
    )
    assert len(query.products) == 3  # X₀Y₁, X₀², (X₀Y₁ + 1)Y₀²
    x, y = rationals(2, 3), rationals(5, 7)
    assert query.extend(x, y) == [5, 7, 14, 4, 15 * 25]
    question = query.question()
    assert question.outputs == 5
    assert len(question.cases[0].unsafe[0]) == 3


def test_an_entry_written_with_other_spaces_is_the_same_variable():
    query = parse_query(
        NETWORK
        + UNIT_BOX_2
        + "(assert (>= X [ 1 ] X[1]))(assert (<= Y[1] Y[01]))(assert (< X[0 ] Y [0]))"
    )
    (case,) = query.question().cases
    assert case.unsafe == ((case.unsafe[0][0],),)
    assert case.unsafe[0][0].inputs == {0: 1} and case.unsafe[0][0].outputs == {0: -1}


def test_versions_that_are_not_known_are_refused():
    with pytest.raises(SubjectError, match="version is not known") as caught:
        parse_query("(vnnlib-version <3.0>)")
    assert caught.value.got == "3.0"
    with pytest.raises(SubjectError, match="version is not understood"):
        parse_query("(vnnlib-version 2.0)")
    with pytest.raises(SubjectError, match="declares no network"):
        parse_query("(vnnlib-version <2.0>)")
    with pytest.raises(SubjectError, match="declares no network"):
        parse_query("(vnnlib-version <2.0>) (assert (<= X[0] 1))")
    assert parse_query("(vnnlib-version <1.0>)" + TWO_IN_TWO_OUT + UNIT_BOX).version == (1, 0)


# -- files ------------------------------------------------------------------------------------------------------------


def test_files_may_be_packed_and_begin_with_a_mark(tmp_path):
    text = "\ufeff; a property\r\n" + GOOD.replace("\n", "\r\n")
    plain = tmp_path / "a.vnnlib"
    plain.write_text(text, encoding="utf-8")
    packed = tmp_path / "a.vnnlib.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_question(plain) == read_question(packed) == read_question(str(packed))


def test_comments_may_be_in_any_encoding(tmp_path):
    path = tmp_path / "a.vnnlib"
    path.write_bytes(b"; caf\xe9\n" + GOOD.encode())
    assert read_question(path).inputs == 1


def test_broken_files_are_named(tmp_path):
    path = tmp_path / "a.vnnlib"
    with pytest.raises(SubjectError, match="no such file"):
        read_query(path)
    path.write_bytes(b"")
    with pytest.raises(SubjectError, match="is empty"):
        read_query(path)
    path.write_bytes(gzip.compress(GOOD.encode())[:-12])
    with pytest.raises(SubjectError, match="cannot be read as VNN-LIB"):
        read_query(path)
    path.write_bytes(bytes(range(256)))
    with pytest.raises(SubjectError, match="not VNN-LIB"):
        read_query(path)
    path.write_text(GOOD + "(assert (<= Z 1))")
    with pytest.raises(SubjectError) as caught:
        read_query(path)
    assert caught.value.where == f"{path}:5:13"


@pytest.mark.parametrize("cut", range(5, len(GOOD) - 1, 7))
def test_a_file_cut_anywhere_inside_a_form_is_an_error(cut):
    text = GOOD[:cut]
    if text.count("(") != text.count(")"):
        with pytest.raises(SubjectError, match="ends inside parentheses"):
            ask(text)


def test_a_query_about_more_than_one_network_is_no_plain_question(tmp_path):
    path = tmp_path / "a.vnnlib"
    path.write_text(NETWORK + UNIT_BOX_2 + "(assert (<= (* Y[0] Y[1]) 1))")
    with pytest.raises(
        SubjectError, match="more than the inputs and outputs of one network"
    ) as caught:
        read_question(path)
    assert caught.value.got == "1 networks, 0 hidden nodes, 1 products"
    path.write_text(NETWORK + UNIT_BOX_2 + "(assert (<= Y[0] Y[1]))")
    assert read_question(path).outputs == 2
