"""Ties and equations: boxes decided in rationals, points moved to where rows hold exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.simplifying import drop_cancelled_outputs
from ftheta.certify.verification import decide
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork

from ..thoroughness import max_examples

ONE = Fraction(1)


def small_integers(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.integers(-2, 3, shape).astype(float)


def random_case(rng: np.random.Generator) -> tuple[ReluNetwork, Case]:
    """Two inputs, two outputs, and rows that are often met with equality only."""
    net = ReluNetwork.dense(
        [small_integers(rng, 3, 2), small_integers(rng, 2, 3)],
        [small_integers(rng, 3), small_integers(rng, 2)],
    )
    low = [Fraction(int(v), 2) for v in rng.integers(-2, 2, 2)]
    box = Box(
        tuple(low), tuple(v + Fraction(int(w), 4) for v, w in zip(low, rng.integers(0, 4, 2)))
    )
    disjuncts = []
    for _ in range(rng.integers(1, 3)):
        rows = []
        for _ in range(rng.integers(1, 4)):
            inputs = {i: Fraction(int(p)) for i, p in enumerate(rng.integers(-1, 2, 2)) if p}
            outputs = {j: Fraction(int(q)) for j, q in enumerate(rng.integers(-1, 2, 2)) if q}
            rows.append(
                Row(
                    inputs, outputs, Fraction(int(rng.integers(-4, 5)), 4), bool(rng.random() < 0.4)
                )
            )
        disjuncts.append(tuple(rows))
    return net, Case(box, tuple(disjuncts))


@given(st.integers(0, 2**32 - 1))
@max_examples(150)
def test_answers_agree_with_points(seed: int) -> None:
    net, case = random_case(np.random.default_rng(seed))
    found = decide(net, Question(2, 2, (case,)), seconds=20)
    in_rationals = exact(net)
    sides = [
        [a + (b - a) * Fraction(k, 8) for k in range(9)] for a, b in zip(case.box.lo, case.box.hi)
    ]
    met = any(case.admits(x, in_rationals(x)) for x in product(*sides))
    assert found.answer == "sat" or not met
    assert found.witness is None or case.admits(found.witness.x, in_rationals(found.witness.x))


@given(st.integers(0, 2**32 - 1))
@max_examples(40)
def test_small_questions_are_always_decided(seed: int) -> None:
    """Ties and equations too: three neurons have few pieces."""
    net, case = random_case(np.random.default_rng(seed))
    answer = decide(net, Question(2, 2, (case,)), seconds=20).answer
    assert answer in ("sat", "unsat")


@pytest.mark.parametrize("strict, answer", [(True, "unsat"), (False, "sat")])
def test_a_tie_is_decided(strict: bool, answer: str) -> None:
    """|x| is never below 0, and 0 at one point, which is not the centre of any box."""
    net = ReluNetwork.dense([[[1.0], [-1.0]], [[1.0, 1.0]]], [np.array([-0.1, 0.1]), np.zeros(1)])
    case = Case(Box((-ONE,), (ONE,)), ((Row({}, {0: ONE}, Fraction(0), strict),),))
    found = decide(net, Question(1, 1, (case,)), seconds=20)
    assert found.answer == answer
    if found.witness is not None:
        assert found.witness.x == (Fraction(0.1),)


def test_outputs_that_cancel_are_left_out() -> None:
    net = ReluNetwork.dense(
        [np.eye(2), [[1.0, 2.0], [2.0, 4.0]]], [np.ones(2), np.array([0.0, 0.5])]
    )
    rows = tuple(Row({0: ONE}, {0: Fraction(2), 1: -ONE}, Fraction(c), True) for c in (-1, 0))
    case = drop_cancelled_outputs(net, Case(Box((-ONE,) * 2, (ONE,) * 2), (rows,)))
    assert case.unsafe == (
        (Row({0: ONE}, {}, Fraction(-1, 2), True), Row({0: ONE}, {}, Fraction(1, 2), True)),
    )
    constant = tuple(Row({}, row.outputs, row.bound, row.strict) for row in rows)
    # −1/2 is not below −1
    assert drop_cancelled_outputs(net, Case(case.box, (constant,))).unsafe == ()


def test_outputs_that_almost_cancel_are_kept() -> None:
    net = ReluNetwork.dense(
        [np.eye(2), [[1.0, 2.0], [2.0, 4.0 + 2.0**-40]]], [np.ones(2), np.zeros(2)]
    )
    case = Case(
        Box((-ONE,) * 2, (ONE,) * 2), ((Row({}, {0: Fraction(2), 1: -ONE}, Fraction(0), True),),)
    )
    assert drop_cancelled_outputs(net, case) == case
