"""Tests that run at night alone: each takes a second of processor time or more, and quicker ones look at the same."""

from pathlib import Path

import pytest

LIST = Path(__file__).with_name("slow.txt")


def read_slow_tests() -> frozenset[str]:
    """The ids in `slow.txt`: `tests/a/test_b.py::test_c` with all of its parameters, or with `[one set]` of them."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return frozenset(line for line in lines if line and not line.startswith("#"))


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark them."""
    slow = read_slow_tests()
    for item in items:
        if item.nodeid in slow or item.nodeid.partition("[")[0] in slow:
            item.add_marker(pytest.mark.nightly)
