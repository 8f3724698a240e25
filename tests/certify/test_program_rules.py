"""Each rule of the searches in programs by itself: rows, clipping, and when a point is a counter-example."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

import ftheta as ft
from ftheta.certify.programs.boxes import BoxSearch
from ftheta.certify.programs.judging import EnclosingJudge
from ftheta.certify.programs.network import TracedNetwork
from ftheta.certify.programs.ranges import Domain, RangeSearch
from ftheta.certify.programs.rows import Bounded, Rows, _clip, _least_within, exclude
from ftheta.certify.questions import Box, Case, RationalBall, Row

ONE = Fraction(1)


def swapped() -> TracedNetwork:
    """(x, y) ↦ (y, x): its outputs are enclosed exactly."""
    return TracedNetwork(ft.Network.of(lambda x: jnp.flip(x), example=(2,)))


def box(*ends: Fraction | int) -> Box:
    return Box(tuple(map(Fraction, ends[::2])), tuple(map(Fraction, ends[1::2])))


@pytest.mark.parametrize("strict", [False, True])
def test_a_row_whose_least_excess_is_zero_is_excluded_only_if_it_is_strict(strict):
    rows = Rows(np.ones((1, 1)), None, np.zeros(1), np.array([strict]), (np.arange(1),))
    found = Bounded(np.arange(1), np.zeros((1, 1)), np.zeros((1, 1, 1)), np.zeros((1, 1)))
    outcome = exclude(rows, found, np.ones((1, 1), bool), np.zeros((1, 1)), np.ones((1, 1)))
    assert bool(outcome.open[0, 0]) != strict


def test_clipped_boxes_are_rounded_outward():
    """Ends of the part where a form can be at most 0, against the same in rationals."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        A = rng.standard_normal((1, 1, 2)) * 10.0 ** rng.uniform(-3, 3, (1, 1, 2))
        low = rng.standard_normal((1, 2))
        high = low + rng.random((1, 2)) * 5
        least = -np.abs(rng.standard_normal((1, 1)))
        tight_low, tight_high = _clip(A, least, low, high)
        for k in range(2):
            reach = -Fraction(float(least[0, 0])) / abs(Fraction(float(A[0, 0, k])))
            if A[0, 0, k] > 0:
                assert Fraction(float(tight_high[0, k])) >= min(
                    Fraction(float(low[0, k])) + reach, Fraction(float(high[0, k]))
                )
            else:
                assert Fraction(float(tight_low[0, k])) <= max(
                    Fraction(float(high[0, k])) - reach, Fraction(float(low[0, k]))
                )


def test_least_values_over_clipped_boxes_are_rounded_down():
    rng = np.random.default_rng(1)
    for _ in range(300):
        A = rng.standard_normal((1, 1, 3)) * 10.0 ** rng.uniform(-3, 3, (1, 1, 3))
        low, high = -rng.random((1, 3)), rng.random((1, 3))
        tight_low, tight_high = low + 0.3 * rng.random((1, 3)), high - 0.3 * rng.random((1, 3))
        least = rng.standard_normal((1, 1))
        found = Fraction(float(_least_within(A, least, low, high, tight_low, tight_high)[0, 0]))
        gain = Fraction(0)
        for a, u, v, p, q in zip(A[0, 0], low[0], high[0], tight_low[0], tight_high[0]):
            moved = (
                Fraction(float(p)) - Fraction(float(u))
                if a > 0
                else Fraction(float(v)) - Fraction(float(q))
            )
            gain += abs(Fraction(float(a))) * moved
        assert found <= Fraction(float(least[0, 0])) + gain


@pytest.mark.parametrize("strict", [False, True])
def test_a_tie_is_a_counter_example_only_where_the_row_is_not_strict(strict):
    case = Case(box(-1, 1, -1, 1), ((Row({}, {0: ONE}, Fraction(0), strict),),))
    assert EnclosingJudge(swapped(), case).propose(np.zeros(2)) != strict


def test_all_rows_of_a_disjunct_must_hold():
    rows = (Row({}, {0: ONE}, Fraction(1, 2)), Row({}, {1: ONE}, Fraction(-1, 2)))
    judge = EnclosingJudge(swapped(), Case(box(-1, 1, -1, 1), (rows,)))
    assert not judge.propose(np.array([0.0, 0.0])) and judge.witness is None
    assert judge.propose(np.array([-0.75, 0.25]))
    assert judge.witness is not None and judge.witness.y == (Fraction(1, 4), Fraction(-3, 4))


def test_a_point_outside_of_the_ball_is_brought_inside_before_it_is_judged():
    rows = (Row({}, {0: ONE}, Fraction(5)),)
    case = Case(box(-1, 1, -1, 1), (rows,), RationalBall((Fraction(0), Fraction(0)), ONE, 2))
    judge = EnclosingJudge(swapped(), case)
    assert judge.propose(np.array([0.8, 0.8])) and judge.witness is not None
    assert sum(v**2 for v in judge.witness.x) <= 1
    assert EnclosingJudge(swapped(), case).propose(np.array([0.6, 0.8]) * (1 - 2.0**-50))


def test_outputs_at_a_rational_point_are_enclosed():
    third = Fraction(1, 3)
    found = swapped().enclose_at((third, -third))
    ends = [[Fraction(float(v)) for v in side] for side in (found.lo, found.hi)]
    assert ends[0][0] <= -third <= ends[1][0] and ends[0][1] <= third <= ends[1][1]


def test_boxes_that_no_float_hits_are_covered():
    """The search looks at the smallest box of floats that holds the one asked for."""
    third = Fraction(1, 3)
    case = Case(Box((third,) * 2, (third,) * 2), ((Row({}, {0: ONE}, third),),))
    search = BoxSearch(swapped(), case, 1.0, lambda point: False)
    assert all(Fraction(float(v)) <= third for v in search.low[0])
    assert all(Fraction(float(v)) >= third for v in search.high[0])


# ---- searches -------------------------------------------------------------------------------------------------------


def exponential() -> TracedNetwork:
    return TracedNetwork(ft.Network.of(lambda x: jnp.exp(x), example=(1,)))


@pytest.mark.parametrize("search", [BoxSearch, RangeSearch])
def test_what_cannot_be_halved_stays_open(search):
    """One point, at which the row is a tie within rounding."""
    half = Fraction(1, 2)
    case = Case(Box((half,), (half,)), ((Row({}, {0: ONE}, Fraction(float(np.exp(0.5)))),),))
    found = search(exponential(), case, 2.0, lambda point: False).run()
    assert not found.closed and found.open > 0


def test_a_domain_that_misses_by_little_stays_open():
    net = exponential()
    whole = Domain(0, 0, (), -np.inf, None)

    def bound(limit: Fraction) -> list[Domain]:
        """The whole box as a domain, if it stays open where outputs at most this are sought."""
        run = RangeSearch(
            net, Case(box(-1, 1), ((Row({}, {0: ONE}, limit),),)), 5.0, lambda point: False
        )
        return run.bound_domains(run.enclose_all(None, 0), [whole])

    (far,) = bound(Fraction(10))
    least = Fraction(10) + Fraction(far.bound)
    assert bound(least + Fraction(1, 2048)) and not bound(least - Fraction(1, 2048))


def test_boxes_that_are_not_looked_at_in_time_are_kept(monkeypatch):
    """Rows that always hold: nothing is excluded, and the open boxes are the whole box at any time."""
    case = Case(box(-1, 1, -1, 1), ((Row({}, {0: ONE}, Fraction(100)),),))
    net = TracedNetwork(ft.Network.of(lambda x: jnp.sin(3 * x), example=(2,)))
    search = BoxSearch(net, case, 1000.0, lambda point: False)
    look = search.look

    def late(*parts):
        search.end = 0.0
        return look(*parts)

    for turn in range(4):
        search.batch, search.most = 16, 2
        if turn == 3:
            monkeypatch.setattr(search, "look", late)
        search.advance()
        assert np.isclose(np.prod(search.high - search.low, axis=1).sum(), 4.0)
    assert search.least() == -np.inf or search.least() <= -99
