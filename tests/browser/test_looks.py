"""Dark, projector, contrast, narrow windows, and everything by keyboard alone."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from .lab import Server, Tab

THEOREM = "gd-strongly-convex"
PAGES = (
    "#/",
    f"#/{THEOREM}",
    f"#/{THEOREM}?preset=broken+on+purpose",
    "#/nonconvex-tanh?preset=at+the+edge",
)

CONTRAST = (Path(__file__).parent / "contrast.js").read_text().rstrip().rstrip(";")


@pytest.fixture(params=["light", "dark"])
def shaded(browser: Browser, server: Server, request: pytest.FixtureRequest):
    context = browser.new_context(
        viewport={"width": 1440, "height": 860}, color_scheme=request.param, reduced_motion="reduce"
    )
    tab = Tab(context, server.address)
    yield tab
    tab.assert_quiet()
    context.close()


def test_all_letters_have_the_contrast_that_aa_asks_for(shaded: Tab) -> None:
    shaded.open("#/")
    for hash in PAGES:
        shaded.page.evaluate("hash => { location.hash = hash }", hash)
        if hash != "#/":
            shaded.until(lambda hash=hash: shaded.now.get("shown") == hash)
            shaded.settle()
            shaded.page.locator("details.how").evaluate("node => { node.open = true }")
        shaded.rest()
        found = shaded.page.evaluate(CONTRAST)
        assert found["seen"] > 50
        assert found["bad"] == [], hash


def test_the_page_begins_as_the_system_asks_and_the_chart_follows(shaded: Tab) -> None:
    shaded.go(THEOREM)
    corner = "canvas => [...canvas.getContext('2d').getImageData(1, 1, 1, 1).data].slice(0, 3)"
    brightness = lambda: sum(shaded.page.locator(".stage canvas").evaluate(corner))
    ground = lambda: shaded.page.evaluate(
        "() => getComputedStyle(document.querySelector('.chart')).backgroundColor"
    )
    before = brightness()
    paper = ground()
    pressed = shaded.page.get_by_role("button", name="Dark")
    was_dark = before < 380
    expect(pressed).to_have_attribute("aria-pressed", str(was_dark).lower())
    shaded.page.keyboard.press("d")
    shaded.until(lambda: (brightness() < 380) != was_dark)
    assert ground() != paper
    shaded.page.reload()
    shaded.until(lambda: "shown" in shaded.now)
    shaded.settle()
    assert (brightness() < 380) != was_dark, "the choice is kept"


def test_the_projector_shows_larger_letters_and_no_list(tab: Tab) -> None:
    tab.go(THEOREM)
    size = lambda: tab.page.locator(".theorem h1").evaluate(
        "node => parseFloat(getComputedStyle(node).fontSize)"
    )
    before = size()
    picture = tab.picture()
    tab.page.keyboard.press("p")
    tab.until(lambda: tab.picture() != picture)
    assert size() > 1.2 * before
    expect(tab.page.locator("#side")).to_be_hidden()
    tab.page.keyboard.press("p")
    expect(tab.page.locator("#side")).to_be_visible()
    assert size() == before


@pytest.mark.parametrize("width, language", [(1440, "en"), (1024, "fr"), (800, "en")])
def test_nothing_runs_out_of_the_window(tab: Tab, width: int, language: str) -> None:
    tab.page.set_viewport_size({"width": width, "height": 860})
    tab.go("regions-shallow")
    tab.page.goto(f"{tab.url}/?lang={language}#/regions-shallow")
    tab.settle()
    inside = "() => document.documentElement.scrollWidth <= innerWidth"
    assert tab.page.evaluate(inside)
    for part in ("#centre", "#controls", "#top"):
        wide = tab.page.locator(part).evaluate("node => node.scrollWidth - node.clientWidth")
        assert wide <= 1, part
    canvas = tab.page.locator(".stage canvas").bounding_box()
    stage = tab.page.locator(".stage").bounding_box()
    assert canvas and stage and canvas["width"] <= stage["width"] + 1
    tab.open("#/")
    assert tab.page.evaluate(inside)


def focused(tab: Tab) -> str:
    """The element in focus, which has to be seen."""
    name, seen = tab.page.evaluate(
        """() => {
          const node = document.activeElement;
          const outlined = ['', '::after'].some((part) => getComputedStyle(node, part).outlineStyle !== 'none');
          const name = node.id || node.className || node.tagName;
          return [name, outlined || Boolean(node.closest('.segment, .menu'))];
        }"""
    )
    assert seen, f"the focus on {name} cannot be seen"
    return name


def test_the_whole_journey_by_keyboard_alone(tab: Tab, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    keys = tab.page.keyboard
    tab.open("#/")
    keys.press("/")
    assert focused(tab) == "search"
    keys.type("strongly convex rate")
    keys.press("Enter")
    tab.until(lambda: tab.now.get("shown") == f"#/{THEOREM}")
    tab.settle()
    before = tab.picture()
    for _ in range(120):  # the list of theorems lies before the controls
        keys.press("Tab")
        if focused(tab) == "knob-kappa":
            break
    assert focused(tab) == "knob-kappa"
    keys.press("ArrowRight")
    tab.until(lambda: "kappa=" in tab.hash)
    tab.settle()
    assert tab.picture() != before
    keys.press("Space")
    expect(tab.page.locator("[data-knob=kappa]")).to_contain_class("playing")
    keys.press("Space")
    expect(tab.page.locator("[data-knob=kappa]")).not_to_contain_class("playing")
    tab.settle()
    keys.press("s")
    expect(tab.page.locator(".toast")).to_contain_text("Link copied")
    keys.press("e")
    expect(tab.page.get_by_role("menu")).to_be_visible()
    keys.press("ArrowDown")
    expect(tab.page.get_by_role("menuitem", name="Figure, SVG")).to_be_focused()
    keys.press("Escape")
    expect(tab.page.get_by_role("menu")).to_be_hidden()
    keys.press("?")
    expect(tab.page.get_by_role("dialog")).to_be_visible()
    keys.press("Escape")
    expect(tab.page.get_by_role("dialog")).to_be_hidden()
    keys.press("r")
    tab.until(lambda: tab.hash == f"#/{THEOREM}")
    tab.settle()
    keys.press("ArrowRight")
    tab.until(lambda: THEOREM not in tab.hash)
    keys.press("ArrowLeft")
    tab.until(lambda: tab.hash == f"#/{THEOREM}")
    tab.settle()


def test_every_control_has_a_name_and_the_verdict_is_spoken(tab: Tab) -> None:
    tab.go(THEOREM)
    nameless = tab.page.evaluate(
        """() => [...document.querySelectorAll('button, input, select, a[href], [role=img]')]
             .filter((node) => node.checkVisibility())
             .filter((node) => !(node.getAttribute('aria-label') || node.textContent.trim() || node.labels?.length))
             .map((node) => node.outerHTML.slice(0, 120))"""
    )
    assert nameless == []
    tab.until(lambda: "ertified" in tab.page.locator("#spoken").text_content())  # type: ignore[operator]


def test_the_catalogue_shows_pictures_and_searches(tab: Tab) -> None:
    tab.open("#/")
    expect(tab.page.locator(".picture img").first).to_be_visible(timeout=60_000)
    expect(tab.page.locator(".card .pill:visible").first).not_to_be_empty()
    tab.page.get_by_label("Search theorems").fill("translation")
    expect(tab.page.locator(".card:visible")).to_have_count(1)
    tab.page.locator(".card:visible").click()
    tab.until(lambda: tab.hash == "#/conv-iff-equivariant")
    tab.settle()
