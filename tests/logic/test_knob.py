from typing import Annotated

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ftheta.logic import Knob, UsageError
from ftheta.logic.knob import parse_knobs, settings_of


def subject(rng, *, width: Annotated[int, Knob(1, 100, "units", most=1000)] = 10):
    return rng


def measure(
    subject,
    rng,
    *,
    step: Annotated[float, Knob(0.1, 1.0, "step")] = 0.5,
    mode: Annotated[str, Knob(says="which", choices=("a", "b"))] = "a",
    sharp: Annotated[bool, Knob(says="whether")] = False,
    plain: int = 3,
):
    return None


SETTINGS = settings_of(measure, subject)


def test_knobs_are_read_off_the_signatures_and_plain_arguments_are_none():
    assert [s.name for s in SETTINGS] == ["step", "mode", "sharp", "width"]
    assert [s.type for s in SETTINGS] == ["float", "str", "bool", "int"]


def test_defaults_fill_what_is_not_given_and_dashes_are_underscores():
    assert parse_knobs(SETTINGS, {"width": "20"}) == {
        "step": 0.5,
        "mode": "a",
        "sharp": False,
        "width": 20,
    }


@pytest.mark.parametrize(
    "name, value",
    [
        ("step", "fast"),
        ("step", "nan"),
        ("step", "inf"),
        ("step", "2"),
        ("width", "1.5"),
        ("width", "1e9"),
        ("width", ""),
        ("width", True),
        ("wdth", "3"),
        ("mode", "c"),
        ("sharp", "perhaps"),
    ],
)
def test_a_wrong_value_is_a_usage_error_with_a_remedy(name, value):
    with pytest.raises(UsageError) as caught:
        parse_knobs(SETTINGS, {name: value})
    assert caught.value.remedy and caught.value.exit_code == 2


@given(st.integers(1, 1000))
def test_whole_numbers_come_through_in_any_spelling(n):
    for spelling in (n, str(n), f"{n}.0", float(n)):
        assert parse_knobs(SETTINGS, {"width": spelling})["width"] == n


def test_the_hard_limit_may_lie_beyond_the_slider():
    assert parse_knobs(SETTINGS, {"width": 1000})["width"] == 1000
    with pytest.raises(UsageError):
        parse_knobs(SETTINGS, {"width": 1001})
