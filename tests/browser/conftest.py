"""One lab and one Chromium for all tests of pages, closed after the last of them; a fresh context for every test.

Where there is no Chromium these tests are skipped, except with FTHETA_BROWSER_TESTS=required.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Error, expect, sync_playwright

from .lab import Server, Tab

_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
]
expect.set_options(timeout=30_000)  # ms; no machine is too busy for that
WINDOW: Any = {"viewport": {"width": 1440, "height": 860}, "color_scheme": "light"}
SCREENSHOTS = Path(__file__).parents[2] / "build" / "screenshots"


def missing(reason: str) -> None:
    told = f"The browser tests need Chromium: {reason}. Debian has it: apt-get install chromium"
    if os.environ.get("FTHETA_BROWSER_TESTS") == "required":
        pytest.fail(told, pytrace=False)
    pytest.skip(told)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        missing("there is none on this machine")
    with sync_playwright() as playwright:
        try:
            found = playwright.chromium.launch(executable_path=path, args=_FLAGS)
        except Error as error:
            missing(f"{path} does not start ({error.message.splitlines()[0]})")
            raise
        yield found
        found.close()


@pytest.fixture(scope="package")
def server(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    made = browser.new_context(**WINDOW)
    yield made
    made.close()


@pytest.fixture
def tabs(context: BrowserContext, server: Server) -> Callable[[], Tab]:
    """Opens another tab."""
    return lambda: Tab(context, server.address)


@pytest.fixture
def tab(tabs: Callable[[], Tab]) -> Iterator[Tab]:
    """A tab in which nothing may be complained about."""
    made = tabs()
    yield made
    made.assert_quiet()
