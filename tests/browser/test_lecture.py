"""A lecturer's hour: a course from its first to its last page, on a lab that is warm."""

import time
from itertools import pairwise

import pytest
from playwright.sync_api import expect

from ftheta.courses import built_in_courses

from .conftest import SCREENSHOTS
from .lab import Tab

COURSE = "peyre"
SECOND = 1.0
AGAIN = 3  # tries of a page, as the machine may be at something else


SECTIONS = built_in_courses()[COURSE].sections


@pytest.mark.nightly
@pytest.mark.parametrize("number", range(1, len(SECTIONS) + 1))
def test_a_section_is_walked_page_by_page_and_every_page_is_there_at_once(
    tab: Tab, number: int
) -> None:
    """Within a second of the key, once its theorem has run; that nothing is complained about is checked by `tab`."""
    folder = SCREENSHOTS / "lecture"
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [page.theorem for page in SECTIONS[number - 1].pages]
    tab.open(f"#/courses/{COURSE}")
    for place, id in enumerate(wanted, 1):  # the lab gets warm
        assert tab.go(id) == "shown"
        expect(tab.page.locator(".course-strip")).to_be_visible()
        tab.page.screenshot(path=folder / f"{number:02d}-{place:02d}-{id}.png")
    slow = {}
    for before, id in pairwise(wanted):
        took = min(_time_of_next(tab, before, id) for _ in range(AGAIN))
        if took > SECOND:
            slow[id] = round(took, 2)
    assert not slow, f"pages that take longer than {SECOND:g} s on a warm lab: {slow}"


def _time_of_next(tab: Tab, before: str, id: str) -> float:
    """Seconds from the key to the next page of the course until that page shows its result."""
    tab.go(before)
    start = time.monotonic()
    tab.page.keyboard.press("ArrowRight")
    tab.until(lambda: tab.hash.startswith(f"#/{id}") and tab.now["hash"] == tab.now.get("shown"))
    return time.monotonic() - start
