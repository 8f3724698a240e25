"""A course in the browser: its outline, the way through it, what was seen, and a subject of one's own on every page."""

from playwright.sync_api import expect

from .lab import Tab
from .test_subjects import dataset, give


def test_a_course_leads_from_page_to_page_and_remembers_what_was_seen(tab: Tab) -> None:
    tab.open("#/courses/gribonval")
    expect(tab.page.locator(".course-section")).to_have_count(11)
    tab.go("hat-function")
    expect(tab.page.locator(".course-strip")).to_contain_text("7. ReLU and exercises · page 2")
    expect(tab.page.locator(".outline [aria-current]")).to_contain_text("The hat function")
    expect(tab.page.locator(".side > .chapter").first).to_be_hidden()
    tab.page.keyboard.press("ArrowLeft")
    tab.until(lambda: tab.hash == "#/relu-univariate-zoo")
    tab.page.locator(".course-strip [rel=next]").click()
    tab.until(lambda: tab.hash == "#/hat-function")
    tab.settle()
    tab.page.reload()
    tab.settle()
    expect(tab.page.locator(".outline [aria-current]")).to_contain_text("✓")
    tab.page.get_by_role("button", name="Leave the course").click()
    expect(tab.page.locator(".course-strip")).to_be_hidden()
    expect(tab.page.locator(".side > .chapter").first).to_be_visible()


def test_the_way_back_and_the_way_on_stand_side_by_side(tab: Tab) -> None:
    tab.open("#/courses/peyre")
    tab.go("neural-ode-limit")  # of a section with a long title
    back, on = (tab.page.locator(f".course-strip [rel={way}]") for way in ("prev", "next"))
    for width in (1440, 800, 390):
        tab.page.set_viewport_size({"width": width, "height": 860})
        places = [way.bounding_box() for way in (back, on)]
        assert places[0] and places[1] and places[0]["y"] == places[1]["y"]
        assert places[1]["x"] + places[1]["width"] <= width


def test_the_answer_of_an_exercise_is_folded_and_runs(tab: Tab) -> None:
    tab.open("#/courses/gribonval")
    section = tab.page.locator(".course-section").nth(9)
    answer = section.locator("details a")
    expect(answer).to_be_hidden()
    section.locator("summary").click()
    answer.click()
    tab.until(lambda: tab.hash == "#/pieces-1d?preset=at+the+edge")
    assert tab.settle() == "shown"
    assert "7 affine pieces" in tab.text(".verdict .summary")


def test_the_chart_that_a_page_names_is_in_front(tab: Tab) -> None:
    tab.open("#/courses/gribonval")
    tab.go("maiorov-pinkus-counts")
    tab.until(lambda: tab.hash.endswith("?chart=1"))
    tab.settle()
    expect(tab.page.locator(".tabs [aria-selected=true]")).to_contain_text("sizes for any accuracy")


def test_a_subject_that_was_given_once_is_used_on_every_page_that_takes_it(tab: Tab) -> None:
    tab.open("#/courses/murari")
    tab.go("autoencoder-svd-rom")
    give(tab, dataset())
    tab.until(lambda: "subject=" in tab.hash)
    subject = tab.hash.partition("subject=")[2]
    links = tab.page.locator(".outline li a")
    deep = links.filter(has_text="Non-linear autoencoders")
    expect(deep).to_have_attribute("href", f"#/autoencoder-svd-rom-deep?subject={subject}")
    expect(links.filter(has_text="The hat function")).to_have_attribute("href", "#/hat-function")


def test_the_list_of_courses_and_an_unknown_one(tab: Tab) -> None:
    tab.open("#/courses")
    expect(tab.page.locator(".course-card")).to_have_count(5)
    tab.page.evaluate("() => { location.hash = '#/courses/nowhere' }")
    expect(tab.page.locator(".course-card")).to_have_count(5)
