"""The whole site, built by Sphinx from the stored runs of two theorems."""

import functools
import http.server
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

from ftheta.catalogue import index
from tests.browser.axe import violations
from tests.browser.conftest import browser as browser
from tests.browser.test_axe import FITS, WINDOWS
from tests.browser.test_axe import axe as axe
from website.contents import ROOT, Contents
from website.inspection import inspect_site
from website.results import ResultStore, store_runs
from website.writing import list_pages, write_sources

STORED = ("hat-function", "gd-strongly-convex")
LOOKED_AT = (
    "index",
    "gallery",
    "theorems/gd-strongly-convex",
    "theorems/hat-function",
    "courses/gribonval",
    "docs/importing",
    "api/verify",
)

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the built pages."""
    folder = tmp_path_factory.mktemp("site")
    store = ResultStore(folder / "results")
    assert store_runs(store, STORED) == []
    contents = Contents.of_package()
    assert write_sources(contents, store, folder / "source") == len(list_pages(contents))
    sphinx = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--keep-going"]
    built = subprocess.run(
        [*sphinx, folder / "source", folder / "html"], cwd=ROOT, capture_output=True, text=True
    )
    assert built.returncode == 0, built.stderr
    return folder / "html"


def test_the_site_is_built_without_a_warning_and_every_link_leads_somewhere(site: Path) -> None:
    found = inspect_site(site)
    assert found.broken == [] and found.unread == []
    assert len(found.without_picture) == len(index()) - len(STORED)
    assert all((site / f"{name}.html").is_file() for name in list_pages(Contents.of_package()))
    assert "hat-function" in (site / "searchindex.js").read_text(encoding="utf-8")


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    """Where the site is served: axe reads its style sheets, which browsers forbid to files."""
    handler = functools.partial(_Quiet, directory=str(site))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("window", WINDOWS)
def test_axe_finds_nothing_on_the_pages_of_the_site(
    browser: Browser, axe: None, address: str, window: str
) -> None:
    context = browser.new_context(**WINDOWS[window], reduced_motion="reduce")
    page = context.new_page()
    said = []
    page.on("console", lambda message: said.append(message.text))
    found = {}
    for name in LOOKED_AT:
        page.goto(f"{address}/{name}.html")
        found[name] = violations(page)
        assert page.evaluate(FITS), name
    context.close()
    assert not any(found.values()), found
    assert said == []
