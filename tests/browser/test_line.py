"""The line to the server: long computations, lost connections, workers that die, several tabs."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from .lab import Server, Tab

LONG = "#/double-descent-networks?" + urlencode({"preset": "thirty widths, five seeds"})
WIRE = """
  const Real = WebSocket;
  globalThis.sockets = [];
  globalThis.WebSocket = class extends Real { constructor(...a) { super(...a); sockets.push(this); } };
"""


def start_long(tab: Tab) -> None:
    tab.open(LONG)


def test_a_long_computation_shows_its_time_and_can_be_cancelled(tab: Tab) -> None:
    start_long(tab)
    cancel = tab.page.get_by_role("button", name="Cancel")
    cancel.click()
    tab.until(lambda: tab.now.get("phase") == "cancelled")
    assert "Cancelled" in tab.text(".verdict")
    expect(cancel).to_be_hidden()
    assert tab.go("hat-function") == "shown"


def test_a_stale_computation_does_not_hold_up_the_next(tab: Tab) -> None:
    start_long(tab)
    tab.until(lambda: tab.now.get("phase") == "computing")
    assert tab.go("hat-function") == "shown"
    assert tab.page.locator(".theorem h1").inner_text() == "The hat function as a ReLU network"


def test_older_results_never_paint_over_newer_ones(tab: Tab) -> None:
    tab.go("hat-function")
    first = tab.picture()
    slider = tab.page.locator("#knob-iterates")
    for position in (1, 8, 2, 7, 3, 6, 4):
        slider.evaluate(
            "(node, to) => { node.value = to; node.dispatchEvent(new Event('input', {bubbles: true})) }",
            str(position),
        )
        tab.page.wait_for_timeout(35)
    tab.until(lambda: "iterates=5" in tab.hash)
    tab.settle()
    moved = tab.picture()
    assert moved != first
    tab.go("max-network")
    tab.go("hat-function", iterates=5)
    assert tab.picture() == moved


def test_a_lost_line_is_told_and_taken_up_again(context: BrowserContext, server: Server) -> None:
    tab = Tab(context, server.address)
    tab.page.add_init_script(WIRE)
    tab.go("hat-function")
    tab.page.evaluate("() => sockets.at(-1).close()")
    expect(tab.page.locator("#banner")).to_be_visible()
    expect(tab.page.locator("#banner")).to_be_hidden()
    tab.page.locator("#knob-iterates").focus()
    tab.page.keyboard.press("ArrowRight")
    tab.until(lambda: "iterates=" in tab.hash)
    assert tab.settle() == "shown"
    tab.assert_quiet()


def test_two_tabs_do_not_disturb_one_another(tabs: Callable[[], Tab]) -> None:
    first = tabs()
    second = tabs()
    first.go("hat-function", iterates=3)
    second.go("max-network")
    before = first.picture()
    second.go("hat-function", iterates=5)
    assert first.picture() == before
    assert second.picture() != before
    assert first.hash == "#/hat-function?iterates=3"
    first.assert_quiet()
    second.assert_quiet()


def test_all_requests_go_to_the_server_itself(tab: Tab) -> None:
    tab.open("#/")
    tab.page.wait_for_load_state("networkidle")
    tab.go("regions-shallow")
    tab.go("double-descent")
    assert tab.strangers == []


@pytest.mark.nightly
@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the workers are found in /proc")
def test_a_worker_that_dies_is_replaced_and_the_page_says_so(
    browser: Browser, tmp_path: Path
) -> None:
    with Server(tmp_path) as server:
        context = browser.new_context()
        tab = Tab(context, server.address)
        tab.go("hat-function")
        expect(tab.page.locator("#subject option[value=digits-mlp]")).to_have_count(1)
        tab.page.evaluate("hash => { location.hash = hash }", LONG)
        expect(tab.page.locator(".elapsed")).to_be_visible()
        os.kill(server.busy_worker(), signal.SIGKILL)
        expect(tab.page.locator(".toast")).to_contain_text("replaced")
        tab.page.get_by_role("button", name="Cancel").click()
        assert tab.go("hat-function", iterates=3) == "shown"
        tab.assert_quiet()
        context.close()
