"""A theorem's page of every chapter as in the textbook; every night all of them, in every preset."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser

from ftheta.catalogue import index

from .conftest import SCREENSHOTS, WINDOW
from .lab import Server, Tab

FIRST_OF_CHAPTER = {entry["chapter"]: id for id, entry in reversed(index().items())}
WITHIN = "() => { const centre = document.getElementById('centre'); return centre.scrollWidth <= centre.clientWidth }"


@pytest.fixture(scope="module")
def one_tab(browser: Browser, server: Server) -> Iterator[Tab]:
    """One tab that goes from page to page, as a visitor does: loading the lab anew each time takes longer."""
    context = browser.new_context(**WINDOW)
    yield Tab(context, server.address)
    context.close()


@pytest.fixture
def tab(one_tab: Tab) -> Iterator[Tab]:
    one_tab.complaints.clear()
    yield one_tab
    one_tab.assert_quiet()


@pytest.mark.parametrize("id", FIRST_OF_CHAPTER.values())
def test_a_page_of_every_chapter_is_shown_without_a_complaint(tab: Tab, id: str) -> None:
    look_at_page(tab, id)


@pytest.mark.nightly
@pytest.mark.parametrize("id", [id for id in index() if id not in FIRST_OF_CHAPTER.values()])
def test_every_page_is_shown_without_a_complaint(tab: Tab, id: str) -> None:
    look_at_page(tab, id)


def look_at_page(tab: Tab, id: str) -> None:
    """Open the page of a theorem, keep its picture, and see that verdict and chart are there."""
    assert tab.go(id) == "shown", tab.text(".verdict")
    assert tab.page.locator(".stage canvas").count() == 1, "the textbook case has a chart"
    tab.rest()  # the chart is no longer dimmed
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    tab.page.screenshot(path=SCREENSHOTS / f"{id}.png")
    assert_shown(tab)


@pytest.mark.nightly
@pytest.mark.parametrize("id", index())
def test_every_preset_is_shown_without_a_complaint(tab: Tab, id: str) -> None:
    tab.go(id)
    for other in range(1, len(names(tab))):
        assert tab.preset(other, seconds=300) == "shown", tab.text(".verdict")
        assert_shown(tab)


def names(tab: Tab) -> list[str]:
    return [text.strip() for text in tab.page.locator(".preset").all_inner_texts()]


def assert_shown(tab: Tab) -> None:
    """A verdict and a chart that is not blank; where a hypothesis fails, the words that say so."""
    assert tab.text(".verdict .word")
    drawn = tab.page.locator(".stage canvas").count()
    assert drawn or tab.page.locator(".stage .nothing").count()
    assert not drawn or tab.colours() > 2
    assert tab.page.evaluate(WITHIN), "wider than its column"
