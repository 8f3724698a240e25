from fractions import Fraction
from math import inf, nan

import pytest
from flint import arb
from hypothesis import assume, given
from hypothesis import strategies as st

from ftheta.logic import AtMost, Basis, Enclosure, Identity, Verdict

from .strategies import enclosures, finite

rationals = st.fractions(max_denominator=10**30)
boxes = enclosures(bases=(Basis.EXACT, Basis.FLOAT), ends=finite)
operations = {
    "add": (lambda a, b: a + b),
    "sub": (lambda a, b: a - b),
    "mul": (lambda a, b: a * b),
    "div": (lambda a, b: a / b),
}


@given(rationals)
def test_an_exact_enclosure_contains_the_rational_and_is_at_most_one_gap_wide(q):
    e = Enclosure.exact(q)
    assert e.basis is Basis.EXACT and q in e
    assert e.is_point == (Fraction(float(q)) == q)


@given(st.integers(-(10**400), 10**400))
def test_an_integer_beyond_the_floats_is_still_enclosed(n):
    e = Enclosure.exact(n)
    assert e.lo <= n <= e.hi


@given(finite, finite.map(abs))
def test_a_value_with_its_error_is_enclosed_in_rationals(value, error):
    e = Enclosure.around(value, error)
    assert e.basis is Basis.EXACT
    assert Fraction(value) - Fraction(error) in e and Fraction(value) + Fraction(error) in e


@given(st.integers(1, 10**6))
def test_a_ball_of_arb_is_enclosed(n):
    ball = arb(n).sqrt()
    e = Enclosure.ball(ball)
    assert arb(e.lo) <= ball and ball <= arb(e.hi)
    assert Fraction(e.lo) ** 2 <= n <= Fraction(e.hi) ** 2


@given(boxes, boxes, st.sampled_from(sorted(operations)), st.fractions(0, 1), st.fractions(0, 1))
def test_arithmetic_contains_the_exact_result_of_any_members(a, b, name, s, t):
    p = Fraction(a.lo) + s * (Fraction(a.hi) - Fraction(a.lo))
    q = Fraction(b.lo) + t * (Fraction(b.hi) - Fraction(b.lo))
    assume(name != "div" or q != 0)
    result = operations[name](a, b)
    assert operations[name](p, q) in result
    assert result.basis is max(a.basis, b.basis, key=lambda basis: basis.rank)


@given(st.fractions(0, 10**12))
def test_the_square_root_is_enclosed(q):
    root = Enclosure.exact(q).sqrt()
    assert Fraction(root.lo) ** 2 <= q <= Fraction(root.hi) ** 2


@given(enclosures(), st.floats(0, 1), st.floats(0, 1))
def test_widening_contains_what_was_there(e, rel, absolute):
    wide = e.widened(rel, absolute)
    assert wide.lo <= e.lo and e.hi <= wide.hi and wide.basis is e.basis


@given(finite, finite)
def test_arithmetic_of_two_estimates_keeps_no_more_confidence_than_the_union_bound(a, b):
    x = Enclosure.estimate(a, 1, samples=10, confidence=0.9)
    y = Enclosure.estimate(b, 1, samples=20, confidence=0.95)
    total = x + y
    assert (
        total.samples == 10
        and total.confidence == pytest.approx(0.85)
        and total.basis is Basis.SAMPLED
    )


@pytest.mark.parametrize("lo, hi", [(1, 0), (nan, 1), (0, nan), (inf, -inf)])
def test_an_enclosure_refuses_nan_and_reversed_ends(lo, hi):
    with pytest.raises(ValueError, match="lo <= hi"):
        Enclosure(lo, hi)


@pytest.mark.parametrize(
    "made",
    [
        Enclosure.equal(nan),
        Enclosure.measured(nan, samples=3),
        Enclosure.at_least(nan),
        Enclosure.at_least(nan, samples=3),
        Enclosure.at_most(nan),
        Enclosure.ball(arb("nan")),
        Enclosure.estimate(inf, inf, samples=3, confidence=0.9),
        Enclosure.approximate(inf, inf, samples=3, nominal=0.9, assuming=""),
        Enclosure.equal(inf) - Enclosure.equal(inf),
        Enclosure.equal(inf) + Enclosure.equal(-inf),
    ],
)
def test_of_what_is_no_number_nothing_is_known(made):
    assert (made.lo, made.hi) == (-inf, inf)
    for bound in (Enclosure.exact(1), Enclosure.equal(inf), Enclosure.measured(inf, samples=2)):
        for claim in (
            AtMost("x", made, bound),
            AtMost("x", bound, made),
            Identity("x", made, bound),
        ):
            assert claim.judge().verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("overflowed", [Enclosure.equal(inf), Enclosure.measured(inf, samples=2)])
def test_a_bound_that_overflowed_shows_nothing(overflowed):
    one = Enclosure.equal(1)
    for claim in (AtMost("x", one, overflowed), AtMost("x", overflowed, overflowed)):
        assert claim.judge().verdict is Verdict.INCONCLUSIVE
    assert AtMost("x", overflowed, one).judge().contradicted
    assert AtMost("x", one, Enclosure.between(inf, inf)).judge().verdict is Verdict.CERTIFIED
    assert AtMost("x", one, Enclosure.at_least(3)).judge().verdict is Verdict.CERTIFIED


def test_a_sampled_enclosure_must_say_how_many_samples():
    with pytest.raises(ValueError, match="samples"):
        Enclosure(0, 1, Basis.SAMPLED)
    with pytest.raises(ValueError, match="samples"):
        Enclosure(0, 1, Basis.EXACT, samples=3)


def test_division_by_an_enclosure_of_zero_knows_nothing():
    assert Enclosure.exact(1) / Enclosure.between(-1, 1) == Enclosure.between(-inf, inf)
