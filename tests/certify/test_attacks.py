"""Attacks find what is there, inside the box, and end in time."""

import sys
from fractions import Fraction
from itertools import count, pairwise
from time import monotonic
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ftheta.certify import sequential_programs, verification
from ftheta.certify.attacks import attack, propagate, pull_back, sign_step
from ftheta.certify.goals import set_goal
from ftheta.certify.questions import Box, Case, Question, Row
from ftheta.certify.sequential_programs import attack_by_programs
from ftheta.certify.verification import decide
from ftheta.relu.exact import exact
from ftheta.relu.network import ReluNetwork


def random_net(rng: np.random.Generator, widths: list[int]) -> ReluNetwork:
    weights = [rng.normal(0, 1.5 / np.sqrt(a), (b, a)) for a, b in pairwise(widths)]
    return ReluNetwork.dense(weights, [rng.normal(0, 0.5, b) for b in widths[1:]])


def test_gradients_are_those_of_the_network() -> None:
    rng = np.random.default_rng(0)
    net = random_net(rng, [5, 9, 7, 3])
    x = rng.normal(size=(4, 5))
    y, passed = propagate(net, x)
    np.testing.assert_allclose(y, net(x))
    c = rng.normal(size=(4, 3))
    slope = pull_back(net, passed, c)
    step = 1e-7 * rng.normal(size=(4, 5))
    np.testing.assert_allclose(((net(x + step) - y) * c).sum(1), (slope * step).sum(1), atol=1e-12)


def test_attacks_reach_nearly_the_least_value_seen() -> None:
    rng = np.random.default_rng(1)
    met = 0
    for _ in range(10):
        net = random_net(rng, [20, 40, 40, 2])
        low = np.full(20, -0.5)
        values = net(rng.uniform(-0.5, 0.5, (5000, 20)))[:, 0]
        bound = Fraction(float(values.min() - 1.0 * values.std()))
        box = Box((Fraction(-1, 2),) * 20, (Fraction(1, 2),) * 20)
        case = Case(box, ((Row({}, {0: Fraction(1)}, bound),),))
        found = attack(net, case, rng, 2.0, lambda _: True)
        if found is not None:
            met += 1
            assert np.all(found >= low) and np.all(found <= -low)
            assert net(found)[0] <= bound
    assert met >= 9


def test_inputs_with_one_value_that_is_no_float_do_not_end_an_attack() -> None:
    """Most inputs are 1/3, as files write inputs that stay as they are, and so they are in the counter-example."""
    rng = np.random.default_rng(3)
    net = random_net(rng, [20, 30, 30, 1])
    third = Fraction(1, 3)
    box = Box((third,) * 16 + (Fraction(-1),) * 4, (third,) * 16 + (Fraction(1),) * 4)
    free = np.hstack([np.full((2000, 16), 1 / 3), rng.uniform(-1, 1, (2000, 4))])
    bound = Fraction(float(np.quantile(net(free)[:, 0], 0.01)))
    case = Case(box, ((Row({}, {0: Fraction(1)}, bound),),))
    assert attack(net, case, rng, 5.0, lambda _: True, rounds=2) is not None
    found = decide(net, Question(20, 1, (case,)), seconds=20.0)
    assert found.witness is not None and found.witness.x[:16] == (third,) * 16
    assert exact(net)(found.witness.x)[0] <= bound


def test_a_conjunction_is_met_in_all_its_rows() -> None:
    rng = np.random.default_rng(2)
    net = random_net(rng, [4, 20, 2])
    at = net(np.array([0.3, -0.2, 0.1, 0.4]))
    rows = tuple(
        Row({0: Fraction(1)}, {k: Fraction(1)}, Fraction(float(at[k])) + Fraction(31, 100))
        for k in range(2)
    )
    case = Case(Box((Fraction(-1),) * 4, (Fraction(1),) * 4), (rows,))
    found = attack(net, case, rng, 5.0, lambda _: True)
    assert found is not None
    assert np.all(net(found) + found[0] <= at + 0.31 + 1e-12)


def test_attacks_stop_in_time_and_keep_within_thin_boxes() -> None:
    rng = np.random.default_rng(3)
    net = random_net(rng, [3, 10, 1])
    third = Fraction(1, 3)
    thin = Case(Box((third,) * 3, (third,) * 3), ((Row({}, {0: Fraction(1)}, Fraction(10**6)),),))
    proposed: list[np.ndarray] = []
    assert attack(net, thin, rng, 1.0, lambda x: bool(proposed.append(x)), rounds=1) is None
    # no float lies in the box: the one beside it
    assert proposed and all((x == 1 / 3).all() for x in proposed)
    empty = Case(Box((third,) * 3, (Fraction(0),) * 3), thin.unsafe)
    assert attack(net, empty, rng, 1.0, lambda _: True) is None
    never = Case(
        Box((Fraction(-1),) * 3, (Fraction(1),) * 3),
        ((Row({}, {0: Fraction(1)}, Fraction(-(10**6))),),),
    )
    begun = monotonic()
    assert attack(net, never, rng, 0.3, lambda _: True) is None
    assert monotonic() - begun < 5


def test_the_sign_step_descends() -> None:
    rng = np.random.default_rng(4)
    net = ReluNetwork.dense([rng.normal(size=(1, 6))], [np.zeros(1)])
    case = Case(
        Box((Fraction(-1),) * 6, (Fraction(1),) * 6), ((Row({}, {0: Fraction(1)}, Fraction(0)),),)
    )
    goal = set_goal(case, 6, 1)
    corner = sign_step(net, goal, -np.ones(6), np.ones(6), np.zeros((1, 6)), np.zeros(1, int))
    np.testing.assert_allclose(net(corner)[0, 0], -np.abs(net.steps[0].matrix).sum())


def test_programs_find_a_thin_conjunction() -> None:
    """|x₀ + … + x₅| and |x₀ − x₁ + 1/3| both at most 2⁻²⁰: gradients of one row at a time zigzag around it."""
    forms = np.array([np.ones(6), -np.ones(6), [1, -1, 0, 0, 0, 0], [-1, 1, 0, 0, 0, 0]])
    net = ReluNetwork.dense(
        [forms, np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]])],
        [np.array([0.0, 0.0, 1 / 3, -1 / 3]), np.zeros(2)],
    )
    thin = Fraction(1, 2**20)
    rows = (Row({}, {0: Fraction(1)}, thin), Row({}, {1: Fraction(1)}, thin))
    case = Case(Box((Fraction(-1),) * 6, (Fraction(1),) * 6), (rows,))
    judged = lambda point: bool((net(point) <= float(thin)).all())
    found = attack_by_programs(net, case, np.random.default_rng(0), 20.0, judged)
    assert found is not None and judged(found) and (np.abs(found) <= 1).all()


def test_programs_are_for_conjunctions_and_end_in_time() -> None:
    net = ReluNetwork.dense([np.eye(2), np.ones((1, 2))], [np.zeros(2), np.ones(1)])
    box = Box((Fraction(-1),) * 2, (Fraction(1),) * 2)
    row = Row({}, {0: Fraction(1)}, Fraction(0))
    rng = np.random.default_rng(0)
    assert attack_by_programs(net, Case(box, ((row,),)), rng, 60.0, lambda point: True) is None
    assert attack_by_programs(net, Case(box, ((row, row),)), rng, 0.2, lambda point: True) is None


def test_a_busy_machine_tries_programs_as_long_as_others(monkeypatch) -> None:
    """The clock runs on by a second at every look, as where other programs have the processor."""
    seconds = count(0.0, 1.0)
    monkeypatch.setattr("ftheta.certify.sequential_programs.monotonic", lambda: next(seconds))
    net = ReluNetwork.dense([np.eye(2), np.eye(2)], [np.ones(2), -np.ones(2)])
    third = Fraction(1, 3)
    near = [
        Row({}, {j: Fraction(s)}, s * third + Fraction(1, 2**20)) for j in (0, 1) for s in (1, -1)
    ]
    case = Case(Box((Fraction(-1),) * 2, (Fraction(1),) * 2), (tuple(near),))
    judge: Any = SimpleNamespace(propose=lambda _: True)
    found = verification._attack_by_programs(net, case, 1000.0, judge, work=0.5)
    assert found is not None and np.abs(found - 1 / 3).max() <= 2.0**-20


@pytest.mark.parametrize(("inputs", "rows"), [(1, 2), (2, 5), (5, 3), (12, 6)])
def test_small_programs_are_solved_as_by_a_solver(inputs: int, rows: int, monkeypatch) -> None:
    """Steps stay within reach, and make the largest linearised excess as small as HiGHS does."""
    rng = np.random.default_rng(inputs)
    for _ in range(20):
        excess = rng.normal(size=rows) * rng.choice([1e-6, 1.0, 1e3])
        slopes = rng.normal(size=(rows, inputs)) * rng.choice([0.0, 1.0, 30.0], (rows, inputs))
        low, high = -rng.uniform(size=inputs), rng.uniform(size=inputs)
        reach = rng.choice([0.0, 0.1, 1.0], inputs)
        least = []
        for small in (10_000, 0):
            monkeypatch.setattr(sequential_programs, "SMALL", small)
            step = sequential_programs._step(excess, slopes, low, high, reach)
            assert step is not None
            assert (step >= np.maximum(low, -reach) - 1e-12).all()
            assert (step <= np.minimum(high, reach) + 1e-12).all()
            least.append(float((excess + slopes @ step).max()))
        assert least[0] <= least[1] + 1e-9 * (1 + np.abs(excess).max())


def test_small_conjunctions_need_no_solver(monkeypatch) -> None:
    """Its import alone takes longer than most searches."""
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)
    net = ReluNetwork.dense([np.eye(2), np.eye(2)], [np.ones(2), -np.ones(2)])
    third = Fraction(1, 3)
    near = [
        Row({}, {j: Fraction(s)}, s * third + Fraction(1, 2**20)) for j in (0, 1) for s in (1, -1)
    ]
    case = Case(Box((Fraction(-1),) * 2, (Fraction(1),) * 2), (tuple(near),))
    judge: Any = SimpleNamespace(propose=lambda _: True)
    found = verification._attack_by_programs(net, case, 100.0, judge, work=5.0)
    assert found is not None and np.abs(found - 1 / 3).max() <= 2.0**-20
