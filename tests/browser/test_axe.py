"""The lab and the files that it writes, looked at by axe: wide and light, on a phone and dark."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import ftheta as ft
from ftheta.catalogue import index
from ftheta.courses import NAMES, built_in_courses
from ftheta.report.audit_html import audit_page
from ftheta.report.course_html import handout
from ftheta.report.html import result_page
from tests.report import samples

from .axe import violations
from .conftest import missing
from .lab import Server, Tab
from .test_hall import PHONE
from .test_looks import THEOREM

WINDOWS: dict[str, Any] = {
    "wide": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "phone": {"viewport": PHONE, "color_scheme": "dark"},
}
VIEWS = ("#/", "#/audit", "#/courses", "#/courses/peyre")
THEOREMS = (THEOREM, "history-timeline", "worked-example-graph")
FILES: dict[str, Callable[[], str]] = {
    "audit": lambda: audit_page(samples.audit()),
    "theorem": lambda: result_page(ft.check("hat-function")),
    "everything": lambda: result_page(samples.rich_result()),
}
FROM_ITS_TOP = "() => { document.getElementById('side').scrollTop = 0 }"
FITS = "() => document.documentElement.scrollWidth <= innerWidth"


pytestmark = pytest.mark.usefixtures("axe")


@pytest.fixture(scope="module")
def axe() -> None:
    try:
        import axe_playwright_python  # noqa: F401
    except ImportError:
        missing("and axe-playwright-python, which is not installed")


@pytest.fixture(scope="module", params=WINDOWS)
def window(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A window that pages are opened in one after the other; nothing moves."""
    context = browser.new_context(**WINDOWS[request.param], reduced_motion="reduce")
    yield context
    context.close()


@pytest.fixture(scope="module")
def one_tab(window: Any, server: Server) -> Tab:
    return Tab(window, server.address).open("#/")


@pytest.fixture(scope="module")
def sheet(window: Any) -> Page:
    return window.new_page()


@pytest.mark.parametrize("hash", VIEWS)
def test_axe_finds_nothing_on_the_pages_of_the_lab(one_tab: Tab, hash: str) -> None:
    one_tab.page.evaluate("hash => { location.hash = hash }", hash)
    drawn = one_tab.page.locator("#centre > div")
    one_tab.until(lambda: one_tab.hash == hash and drawn.is_visible())
    assert_accessible(one_tab)


@pytest.mark.parametrize("id", THEOREMS)
def test_axe_finds_nothing_on_the_page_of_a_theorem(one_tab: Tab, id: str) -> None:
    look_at_theorem(one_tab, id)


@pytest.mark.nightly
@pytest.mark.parametrize("id", [id for id in index() if id not in THEOREMS])
def test_axe_finds_nothing_on_any_page_of_a_theorem(one_tab: Tab, id: str) -> None:
    look_at_theorem(one_tab, id)


def look_at_theorem(tab: Tab, id: str) -> None:
    tab.go(id)
    assert_accessible(tab)


def assert_accessible(tab: Tab) -> None:
    """As one comes to the page; what lies half below the search field is not taken for too small."""
    tab.rest()
    tab.page.evaluate(FROM_ITS_TOP)
    assert violations(tab.page) == []
    assert tab.page.evaluate(FITS)
    tab.assert_quiet()


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_on_the_page_of_any_course(one_tab: Tab, name: str) -> None:
    one_tab.page.evaluate("hash => { location.hash = hash }", f"#/courses/{name}")
    title = built_in_courses()[name].title
    one_tab.until(lambda: one_tab.page.locator(".course h1").all_inner_texts() == [title])
    assert_accessible(one_tab)


@pytest.mark.parametrize("name", FILES)
def test_axe_finds_nothing_in_a_file_and_it_fits_the_window(sheet: Page, name: str) -> None:
    sheet.set_content(FILES[name]())
    assert violations(sheet) == []
    assert sheet.evaluate(FITS)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_in_a_handout_and_it_fits_the_window(sheet: Page, name: str) -> None:
    sheet.set_content(handout(built_in_courses()[name]))
    assert violations(sheet) == []
    assert sheet.evaluate(FITS)


@pytest.mark.nightly
def test_axe_finds_nothing_in_the_report_of_a_whole_audit(sheet: Page, tmp_path: Path) -> None:
    report = ft.audit("digits-mlp", "digits-test", budget="20s")
    ft.save(report, tmp_path / "report.html")
    sheet.goto((tmp_path / "report.html").as_uri())
    assert violations(sheet) == []
    assert sheet.evaluate(FITS)
