"""Formulas as networks: read back, evaluated at corners, and asked about, against the truth table."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.networks import Dense, Description
from ftheta.relu.exact import exact, from_description
from ftheta.theorems.robustness.verification_np_hard import (
    ALL_EIGHT,
    TWO_OF_THREE,
    Formula,
    ask,
    compile_formula,
    read_formula,
)


@st.composite
def formulas(draw) -> Formula:
    n = draw(st.integers(1, 5))
    clause = st.lists(st.integers(1, n), min_size=1, max_size=min(3, n), unique=True)
    chosen = draw(st.lists(clause, min_size=1, max_size=9))
    signs = [[draw(st.sampled_from((1, -1))) for _ in literals] for literals in chosen]
    return Formula(
        n,
        tuple(
            tuple(s * i for s, i in sorted(zip(ss, c), key=lambda p: p[1]))
            for ss, c in zip(signs, chosen)
        ),
    )


def holds(literal: int, truth: tuple[bool, ...]) -> bool:
    return truth[abs(literal) - 1] == (literal > 0)


@given(formulas(), st.integers(0, 9))
def test_a_formula_is_read_back_from_its_network(formula: Formula, penalty: int):
    assert read_formula(compile_formula(formula, float(penalty))) == (formula, float(penalty))


@given(formulas())
def test_at_the_corners_the_network_counts_satisfied_clauses(formula: Formula):
    net = exact(from_description(compile_formula(formula, 7.0)))
    for truth in product((False, True), repeat=formula.variables):
        count = sum(any(holds(literal, truth) for literal in clause) for clause in formula.clauses)
        assert net(tuple(Fraction(int(v)) for v in truth)) == (count,)


@given(formulas())
def test_the_verifier_agrees_with_the_truth_table(formula: Formula):
    tables = product((False, True), repeat=formula.variables)
    most = max(
        sum(any(holds(i, truth) for i in clause) for clause in formula.clauses) for truth in tables
    )
    assert formula.most_satisfied() == most
    penalty = float(formula.occurrences())
    assert ask(formula, penalty, Fraction(2 * most - 1, 2)).answer == "sat"
    assert ask(formula, penalty, Fraction(2 * most + 1, 2)).answer == "unsat"


def test_known_formulas():
    assert ALL_EIGHT.most_satisfied() == 7
    assert TWO_OF_THREE.most_satisfied() == 5


def test_without_a_penalty_half_satisfies_everything():
    found = ask(ALL_EIGHT, 0.0, Fraction(8))
    assert found.answer == "sat" and found.witness is not None
    assert any(v.denominator > 1 for v in found.witness.x)


@pytest.mark.parametrize("change", ["weight", "bias", "activation", "outer"])
def test_a_network_that_is_no_formula_is_not_read_as_one(change):
    hidden, outer = compile_formula(ALL_EIGHT, 8.0).layers
    weight, bias, last = np.array(hidden.weight), np.array(hidden.bias), np.array(outer.weight)
    activation = "tanh" if change == "activation" else "relu"
    weight[0, 0] += 0.5 * (change == "weight")
    bias[3] += 1.0 * (change == "bias")
    last[0, 0] += 1.0 * (change == "outer")
    other = Description((Dense(weight, bias, activation), Dense(last, np.array(outer.bias))))
    assert isinstance(read_formula(other), str)
