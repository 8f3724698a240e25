"""Charts that move: the frames are on the page, and play, pause and the slider of time go through them."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, expect

from .conftest import WINDOW
from .lab import Server, Tab

SPHERE = "attention-particle-flow"
FLOW = "flow-diffeomorphism"


def time_of(tab: Tab) -> Locator:
    return tab.page.get_by_role("slider", name="Time of the animation")


def play(tab: Tab) -> Locator:
    return tab.page.get_by_role("button", name="Play the animation")


def frame(tab: Tab) -> int:
    return int(time_of(tab).input_value())


def last(tab: Tab) -> int:
    return int(time_of(tab).get_attribute("max") or 0)


def rest(tab: Tab) -> None:
    tab.until(lambda: play(tab).get_attribute("aria-pressed") == "false")


PLAYED = """() => new Promise((done) => {
  const [button, range] = document.querySelectorAll('.motion button, .motion input');
  const seen = [];
  const look = () => {
    seen.push(Number(range.value));
    if (range.value === range.max) done(seen);
    else requestAnimationFrame(look);
  };
  button.click();
  requestAnimationFrame(look);
})"""


@pytest.mark.parametrize("theorem", [SPHERE, FLOW])
def test_a_chart_that_moves_plays_by_itself_and_again_when_asked_without_leaving_out_a_frame(
    tab: Tab, theorem: str
) -> None:
    tab.go(theorem)
    tab.until(lambda: frame(tab) == last(tab))
    rest(tab)
    end = tab.picture()
    seen = tab.page.evaluate(PLAYED)
    assert seen == sorted(seen) and set(range(1, last(tab) + 1)) <= set(seen) and last(tab) >= 60
    rest(tab)
    assert tab.picture() == end
    tab.page.keyboard.press("Space")  # nothing is in focus
    tab.until(lambda: 0 < frame(tab) < last(tab))
    tab.page.keyboard.press("Space")
    rest(tab)
    stands = frame(tab)
    picture = tab.picture()
    assert picture != end
    tab.frames(20)
    assert (frame(tab), tab.picture()) == (stands, picture)


def test_the_slider_of_time_shows_its_frame_and_says_the_time(tab: Tab) -> None:
    tab.go(SPHERE)
    time_of(tab).focus()
    tab.page.keyboard.press("Home")
    assert frame(tab) == 0
    expect(play(tab)).to_have_attribute("aria-pressed", "false")
    expect(time_of(tab)).to_have_attribute("aria-valuetext", "t = 0.0")
    first = tab.picture()
    tab.page.keyboard.press("End")
    assert frame(tab) == last(tab)
    expect(time_of(tab)).to_have_attribute("aria-valuetext", "t = 15.0")
    assert tab.picture() != first
    tab.page.keyboard.press("Home")
    assert tab.picture() == first
    tab.page.keyboard.press("Space")
    tab.until(lambda: frame(tab) > 2)


def test_what_was_paused_stays_while_a_knob_moves_and_goes_with_its_chart(tab: Tab) -> None:
    tab.go(SPHERE)
    time_of(tab).focus()
    tab.page.keyboard.press("Home")
    for _ in range(5):
        tab.page.keyboard.press("ArrowRight")
    before = tab.picture()
    tab.page.locator("#knob-beta").focus()
    tab.page.keyboard.press("ArrowRight")
    tab.until(lambda: "beta=" in tab.hash)
    tab.settle()
    assert frame(tab) == 5 and tab.picture() != before
    tab.page.get_by_role("tab").nth(1).click()
    tab.settle()
    expect(time_of(tab)).to_be_hidden()
    tab.page.get_by_role("tab").nth(0).click()
    tab.settle()
    expect(time_of(tab)).to_be_visible()
    tab.go("hat-function")
    expect(time_of(tab)).to_be_hidden()


def test_the_chart_in_a_dark_room_and_on_the_projector_moves_too(tab: Tab) -> None:
    tab.go(FLOW)
    for key in ("d", "p"):
        before = tab.picture()
        tab.page.keyboard.press(key)
        tab.until(lambda before=before: tab.picture() != before)
        tab.settle()
    tab.until(lambda: frame(tab) == last(tab))


@pytest.fixture
def calm(browser: Browser, server: Server) -> Iterator[Tab]:
    context = browser.new_context(**WINDOW, reduced_motion="reduce")
    tab = Tab(context, server.address)
    yield tab
    tab.assert_quiet()
    context.close()


def test_where_less_motion_is_asked_for_the_last_frame_stands_until_play_is_pressed(
    calm: Tab,
) -> None:
    calm.go(SPHERE)
    assert frame(calm) == last(calm)
    calm.frames(20)
    assert frame(calm) == last(calm)
    play(calm).click()
    calm.until(lambda: 0 < frame(calm) < last(calm))
    play(calm).click()


def test_a_dragged_point_sets_two_knobs_while_the_picture_changes_under_it(tab: Tab) -> None:
    tab.go("kantorovich-duality")
    box = tab.page.locator(".grip").bounding_box()
    assert box is not None
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    for k in range(1, 5):
        tab.page.mouse.move(x + 20 * k, y - 20 * k)
        tab.frames(4)
    tab.page.mouse.up()
    tab.settle()
    moved = dict(part.split("=") for part in tab.hash.partition("?")[2].split("&"))
    assert float(moved["across"]) > 0.3 and float(moved["up"]) > 0.3
