"""What every test costs in processor time, its own and that of processes it starts: `pytest --costs build/costs.csv`.

The clock tells little where tests run side by side; this tells which tests belong into `slow.txt`.
"""

import csv
import os
from collections.abc import Generator
from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--costs", metavar="FILE", help="append test and processor seconds to this file"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Append a line for each test; lines of several workers do not mix, as each is written at once."""
    file = item.config.getoption("--costs")
    before = _processor_seconds()
    result = yield
    if file is not None:
        with Path(file).open("a", newline="", encoding="utf-8") as lines:
            csv.writer(lines).writerow([item.nodeid, round(_processor_seconds() - before, 3)])
    return result


def _processor_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system
