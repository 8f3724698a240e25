"""A property is tried on ten times as many examples at night, whether its test states how many or not."""

from pathlib import Path

from hypothesis import settings

from .thoroughness import AT_NIGHT, WITH_EVERY_CHANGE, max_examples


def in_profile(name: str, count: int) -> int:
    usual = settings.get_current_profile_name()
    settings.load_profile(name)
    try:
        return max_examples(count).max_examples
    finally:
        settings.load_profile(usual)


def test_the_number_that_a_test_states_is_scaled_by_the_profile():
    assert settings.get_profile("house").max_examples == WITH_EVERY_CHANGE
    assert settings.get_profile("night").max_examples == AT_NIGHT
    for count in (3, 40, 300):
        assert in_profile("house", count) == count
        assert in_profile("night", count) == 10 * count


def test_no_test_states_a_number_that_the_profile_cannot_change():
    own = {"thoroughness.py", "conftest.py", Path(__file__).name}
    for path in Path(__file__).parent.rglob("*.py"):
        assert path.name in own or "@settings(" not in path.read_text(encoding="utf-8"), path
