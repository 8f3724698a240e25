"""The page that compares with other tools says what the last run of the benchmarks measured."""

import re
from decimal import Decimal
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/peers.md").read_text(encoding="utf-8")
RESULTS = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")


def cells(text: str, head: str) -> list[list[str]]:
    """The rows of the table whose head begins so."""
    lines = text.split("\n")
    start = next(i for i, line in enumerate(lines) if line.startswith(head)) + 2
    rows = []
    for line in lines[start:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def test_ratios_and_peers_are_those_of_the_last_run():
    shown = {}
    for _, peer, ratio in cells(PAGE, "| what | best peer"):
        number = re.search(r"[\d.]+", ratio)
        assert number is not None
        shown[Decimal(number[0])] = peer
    measured = {}
    for row in cells(RESULTS, "| core | size"):
        number = re.search(r"[\d.]+", row[9])
        if number is not None:
            measured[Decimal(number[0])] = row[5]
    assert len(shown) == len(measured)
    for one, other in zip(sorted(shown), sorted(measured)):
        digit = Decimal(1).scaleb(int(one.as_tuple().exponent))
        assert abs(one - other) <= digit / 2, f"docs/peers.md says {one}, measured was {other}"
        first_word = measured[other].split()[0].strip(",")
        assert first_word in shown[one], f"{one}: {shown[one]}, measured beside {measured[other]}"


def test_the_day_is_that_of_the_last_run():
    day = re.search(r"\d+ \w+ 20\d\d", RESULTS)
    assert day is not None and day[0] in PAGE
