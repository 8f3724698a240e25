"""The list of slow tests names tests that exist."""

from pathlib import Path

import pytest

from .slow import read_slow_tests

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("slow", sorted(read_slow_tests()))
def test_a_slow_test_exists(slow):
    file, name = slow.split("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")
