"""The lab in a lecture hall, on a phone, and for those who do not see it: lessons, search, projector, small windows."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

import ftheta as ft
from ftheta.catalogue import index
from ftheta.report.html import result_page

from .lab import Server, Tab
from .test_looks import CONTRAST

THEOREM = "gd-strongly-convex"
ACCESS = (Path(__file__).parent / "access.js").read_text().rstrip().rstrip(";")
PHONE = {"width": 390, "height": 844}
OPEN_ALL = "() => document.querySelectorAll('main details').forEach((node) => { node.open = true })"


def assert_accessible(tab: Tab) -> None:
    """With everything unfolded: names, words for pictures, headings in order, and contrast."""
    tab.page.evaluate(OPEN_ALL)
    tab.rest()
    assert tab.page.evaluate(ACCESS) == []
    assert tab.page.evaluate(CONTRAST)["bad"] == []


def test_a_symbol_says_what_it_means_to_pointer_and_keyboard_and_parts_have_their_letters(
    tab: Tab,
) -> None:
    tab.go(THEOREM)
    box = tab.page.locator(".hint-box")
    expect(box).to_be_hidden()
    tab.page.locator(".statement .symbol-1").first.hover()
    expect(box).to_contain_text("condition number")
    tab.page.locator("h1").hover()
    expect(box).to_be_hidden()
    tab.page.locator(".statement .symbol[tabindex='0']").first.focus()
    expect(box).to_be_visible()
    tab.page.keyboard.press("Escape")
    expect(box).to_be_hidden()
    expect(tab.page.locator(".part-verdicts li").first).to_contain_text("(a) ✓")
    expect(tab.page.locator(".caption .of-part")).to_have_text("(a)")
    assert_accessible(tab)


def test_the_slider_of_a_class_has_the_stops_that_it_is_given_and_no_others(tab: Tab) -> None:
    tab.go(THEOREM)
    knob = '{type: "float", stops: [1, 2, 50], knob: {lo: 1, hi: 50, log: false}}'
    visit = f"const t = track({knob}); return [t.count, t.value(0), t.value(2), t.at(3), t.at(49)]"
    found = tab.page.evaluate(f"import('/static/scales.js').then(({{ track }}) => {{ {visit} }})")
    assert found == [2, 1, 50, 1, 2]


def test_many_claims_of_one_part_leave_room_for_what_was_found(tab: Tab) -> None:
    tab.go("gradient-product-bound")  # ten claims check its part (a)
    expect(tab.page.locator(".part-verdicts li")).to_have_text([re.compile(r"^\(a\) ✓.*")])
    expect(tab.page.locator(".part-verdicts li")).to_have_attribute("title", re.compile("\n"))
    bar = tab.page.locator(".verdict").bounding_box()
    assert bar and bar["height"] < 120


def test_the_projector_can_hide_statement_and_controls_and_what_is_broken_on_purpose_has_a_chart(
    tab: Tab,
) -> None:
    tab.go(THEOREM)
    tab.page.get_by_role("button", name="Broken on purpose").click()
    tab.until(lambda: "force=1" in tab.hash)
    tab.settle()
    assert tab.page.locator(".stage canvas").count() == 1
    expect(tab.page.locator(".verdict")).to_contain_text("Hypothesis fails")
    width = lambda: tab.page.locator(".chart").evaluate("node => node.clientWidth")
    before = width()
    tab.page.keyboard.press("t")
    tab.page.keyboard.press("c")
    expect(tab.page.locator(".statement")).to_be_hidden()
    expect(tab.page.locator("#controls")).to_be_hidden()
    expect(tab.page.locator(".theorem h1")).to_be_visible()
    assert width() > before
    tab.page.keyboard.press("t")
    tab.page.keyboard.press("c")
    expect(tab.page.locator(".statement")).to_be_visible()
    expect(tab.page.locator("#controls")).to_be_visible()
    tab.settle()


@pytest.fixture
def phone(browser: Browser, server: Server):
    context = browser.new_context(
        viewport=PHONE, is_mobile=True, has_touch=True, color_scheme="light"
    )  # type: ignore[arg-type]
    tab = Tab(context, server.address)
    yield tab
    tab.assert_quiet()
    context.close()


def test_on_a_phone_chart_and_sliders_are_seen_together_and_nothing_runs_out(phone: Tab) -> None:
    phone.go(THEOREM)
    phone.page.locator("#knob-kappa").focus()
    phone.page.keyboard.press("ArrowRight")
    phone.until(lambda: "kappa=" in phone.hash)
    phone.settle()
    expect(phone.page.locator(".stage canvas")).to_be_in_viewport(ratio=0.8)
    expect(phone.page.locator("#knob-kappa")).to_be_in_viewport()
    assert_fits(phone)
    help = phone.page.locator(".top .round").bounding_box()
    assert help and min(help["width"], help["height"]) >= 24, "the bar scrolls, nothing is squeezed"


def test_what_people_type_is_found(tab: Tab) -> None:
    tab.open("#/")
    for words in ("backpropagation", "generalization", "overfitting"):
        tab.page.get_by_label("Search theorems").fill(words)
        expect(tab.page.locator(".side li:visible").first).to_be_visible()
    tab.page.get_by_label("Search theorems").fill("reverse-mode")
    tab.page.keyboard.press("Enter")
    tab.until(lambda: tab.hash == "#/reverse-mode")


def test_the_report_of_a_theorem_is_accessible(context: BrowserContext) -> None:
    page = context.new_page()
    page.set_content(result_page(ft.check("hat-function")))
    assert page.evaluate(ACCESS) == []
    assert page.evaluate(CONTRAST)["bad"] == []


@pytest.mark.nightly
@pytest.mark.parametrize("id", index())
def test_every_page_fits_a_phone_and_is_accessible(phone: Tab, id: str) -> None:
    phone.go(id)
    assert_accessible(phone)
    assert_fits(phone)


def assert_fits(tab: Tab) -> None:
    """No part of the page is wider than the window; formulas that are scroll by themselves."""
    for part in ("html", "#centre", "#controls"):
        wide = tab.page.locator(part).evaluate("node => node.scrollWidth - node.clientWidth")
        assert wide <= 1, part
