"""Cases of many disjuncts, and boxes that rows of inputs clip."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify import pruning
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.verification import decide
from ftheta.certify.vnnlib import parse_query
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples

ONE = Fraction(1)


def random_network(rng: np.random.Generator) -> ReluNetwork:
    return ReluNetwork.dense(
        [rng.normal(size=(6, 2)), rng.normal(size=(2, 6))], [rng.normal(size=6), rng.normal(size=2)]
    )


@given(st.integers(0, 2**32 - 1))
@max_examples(25)
def test_disjuncts_that_are_met_somewhere_are_never_left_out(seed: int) -> None:
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    x = tuple(Fraction(float(v)) for v in rng.uniform(-1, 1, 2))
    y = exact(net)(x)
    disjuncts = []
    for _ in range(pruning.MANY + 40):
        row = Row(
            {i: Fraction(float(p)) for i, p in enumerate(rng.normal(size=2)) if rng.random() < 0.5},
            {j: Fraction(float(q)) for j, q in enumerate(rng.normal(size=2))},
            Fraction(0),
        )
        margin = Fraction(float(rng.choice([0.0, 1e-12, 30.0]))) * rng.choice([-1, 1])
        disjuncts.append((replace(row, bound=row.excess(x, y) + margin),))
    case = Case(Box((-ONE, -ONE), (ONE, ONE)), tuple(disjuncts))
    kept = {disjunct for part in pruning.split_case(net, case) for disjunct in map(id, part.unsafe)}
    assert all(id(rows) in kept for rows in disjuncts if rows[0].holds(x, y))
    assert all(len(part.unsafe) <= pruning.MANY for part in pruning.split_case(net, case))


def test_one_disjunct_of_many_is_found() -> None:
    rng = np.random.default_rng(0)
    net = random_network(rng)
    y = exact(net)((Fraction(1, 3), Fraction(1, 7)))
    far = [(Row({}, {0: -ONE}, Fraction(-1000 - k)),) for k in range(2000)]
    near = (Row({}, {0: ONE}, y[0]), Row({}, {0: -ONE}, -y[0]))
    case = Case(Box((-ONE, -ONE), (ONE, ONE)), (*far, near, *far))
    assert decide(net, Question(2, 2, (case,)), seconds=20).answer == "sat"
    assert (
        decide(net, Question(2, 2, (replace(case, unsafe=tuple(far)),)), seconds=20).answer
        == "unsat"
    )


@given(st.integers(0, 2**32 - 1))
@max_examples(30)
def test_clipping_a_box_by_rows_loses_no_point(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = "".join(
        f"(assert ({rng.choice(['<=', '<', '>='])} (+ (* {rng.integers(1, 4)}.0 X[0]) (* {rng.integers(-3, 0)}.0 X[1]) "
        f"(* {rng.integers(-2, 3)}.0 X[2])) {rng.integers(-4, 5) / 2}))\n"
        for _ in range(rng.integers(1, 4))
    )
    sides = [(rng.choice([-1.0, 0.25]), rng.choice([0.5, 1.0])) for _ in range(3)]
    bounds = "".join(
        f"(assert (and (<= X[{i}] {b}) (>= X[{i}] {a})))\n" for i, (a, b) in enumerate(sides)
    )
    declared = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [3]) (declare-output Y real [1]))"
    query = parse_query(declared + bounds + rows + "(assert (<= Y[0] 0.0))")
    question = query.question()
    y = (Fraction(0),)
    for x in product([Fraction(k, 4) for k in range(-4, 5)], repeat=3):
        assert question.admits(x, y) == query.admits(x, y)


def test_a_side_constraint_clips_the_box() -> None:
    text = """(vnnlib-version <2.0>)(declare-network f (declare-input X real [2]) (declare-output Y real []))
    (assert (and (<= X[0] 1.0) (>= X[0] 0.0) (<= X[1] 1.0) (>= X[1] 0.0)))
    (assert (<= (+ X[0] (* 2.0 X[1])) 0.5)) (assert (<= Y 0.0))"""
    (case,) = parse_query(text).question().cases
    assert case.box.hi == (Fraction(1, 2), Fraction(1, 4))
    assert len(case.unsafe[0]) == 2  # the row is kept
