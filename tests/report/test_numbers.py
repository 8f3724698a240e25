import re
from decimal import Decimal
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import AtMost, Claim, Enclosure, Identity, Result, Verdict
from ftheta.logic.verdict import MEANING
from ftheta.report.numbers import basis, enclosure, number, quantity, typeset
from ftheta.report.reproduce import command, snippet
from ftheta.report.sides import Sides, sides
from ftheta.report.verdicts import LOOKS, look

from . import samples
from .strategies import claims, enclosures


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, "0"),
        (989_991.0, "989,991"),
        (4.13, "4.13"),
        (-0.25, "−0.25"),
        (2.38e-5, "2.38e-5"),
        (9999.7, "10,000"),
        (123_456.7, "123,457"),
        (1e300, "1e300"),
        (inf, "∞"),
        (-inf, "−∞"),
        (nan, "not a number"),
        (True, "yes"),
        ("as it is", "as it is"),
    ],
)
def test_numbers_are_written_as_people_write_them(value: float | str, written: str) -> None:
    assert number(value) == written


def test_exponents_are_raised_on_paper() -> None:
    assert typeset("[2.38e-18, −1e300]") == "[2.38×10⁻¹⁸, −1×10³⁰⁰]"
    assert typeset("about 3 eggs") == "about 3 eggs"


@pytest.mark.parametrize(
    ("known", "written"),
    [
        (Enclosure.equal(4.13), "4.13"),
        (Enclosure.at_least(4.13, samples=9), "≥ 4.13"),
        (Enclosure.at_most(17.4), "≤ 17.4"),
        (Enclosure.between(1, 2), "[1, 2]"),
        (Enclosure.exact(1) / 3, "0.3333"),
        (Enclosure.estimate(4.0, 0.02, samples=100, confidence=0.95), "4 ± 0.02 (95 %)"),
        (Enclosure(), "unknown"),
        (Enclosure(inf, inf), "∞"),
    ],
)
def test_an_enclosure_says_what_is_known(known: Enclosure, written: str) -> None:
    assert enclosure(known) == written


@given(st.integers(1, 10), st.booleans())
def test_no_level_below_one_is_written_as_certain(nines: int, guaranteed: bool) -> None:
    level = 1 - 10.0**-nines
    make = Enclosure.estimate if guaranteed else Enclosure.approximate
    known = make(
        4.0, 0.02, samples=100, assuming="", **{"confidence" if guaranteed else "nominal": level}
    )
    share = Decimal(re.findall(r"[\d.]+", enclosure(known))[-1]) / 100
    confidence = Decimal(re.findall(r"confidence ([\d.]+)", basis(known))[-1])
    assert share == confidence == 1 - Decimal(10) ** -nines


@given(enclosures())
def test_every_enclosure_can_be_written(known: Enclosure) -> None:
    assert enclosure(known)


@given(claims)
def test_every_claim_has_two_sides(claim: Claim) -> None:
    assert isinstance(sides(claim), Sides)


def test_the_slack_of_a_bound_is_a_factor() -> None:
    assert (
        sides(AtMost("", Enclosure.at_least(4.13, samples=9), Enclosure.at_most(17.4))).slack
        == "4.2×"
    )
    assert sides(AtMost("", Enclosure.equal(-1.0), Enclosure.equal(2.0))).slack == "3"
    assert sides(AtMost("", Enclosure.equal(1e-300), Enclosure.equal(1e300))).slack == "1e300×"
    assert sides(Identity("", Enclosure.equal(1.0), Enclosure.equal(1.25))).slack == "Δ 0.25"


def test_each_verdict_shows_its_true_word_and_meaning() -> None:
    assert set(LOOKS) == set(Verdict)
    for verdict in Verdict:
        assert look(verdict).means == MEANING[verdict]
        if verdict is not Verdict.INAPPLICABLE:
            assert look(verdict).word == verdict.value
        assert (look(verdict).family == "holds") == verdict.holds
    assert look(None).word == "not checked"


def test_the_command_that_repeats_a_result_names_every_knob() -> None:
    result: Result = samples.result()
    assert (
        command(result)
        == "ftheta check lipschitz-product --points 4096 --step 0.5 --exact true --seed 0"
    )
    compile(snippet(result), "snippet", "exec")
    assert "points=4096" in snippet(result) and "seed=0" in snippet(result)


def test_years_have_no_comma_and_counts_of_years_do() -> None:
    year = Enclosure.exact(1986)
    claim = Identity("year of the perceptron", Enclosure.exact(1975), year)
    assert (sides(claim).measured, sides(claim).bound) == ("1975", "= 1986")
    assert (
        quantity("year of the paper", year) == "1986" and quantity("years counted", year) == "1,986"
    )
