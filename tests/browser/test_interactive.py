"""A theorem as one page, opened as a file."""

from playwright.sync_api import BrowserContext, expect

from ftheta.cli import run

_SHOWN = "n => document.body.dataset.shown === String(n)"


def test_the_slider_of_an_exported_page_changes_chart_numbers_and_verdict(
    context: BrowserContext, tmp_path
):
    path = tmp_path / "page.html"
    # a step of 1.5 is too large, and beyond the slider
    words = ["--positions", "3", "--knob", "step", "--step", "1.5"]
    assert run(["export", "gd-strongly-convex", "--interactive", str(path), *words]) == 0
    page = context.new_page()
    complaints = []
    requests = []
    page.on("console", lambda message: complaints.append(message.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_function(_SHOWN, arg=3)
    expect(page.locator("#verdict")).to_contain_text("not applicable")
    assert page.locator("#chart svg").count() == 0
    slider = page.locator("#position")
    seen = []
    for n in (2, 1):
        slider.press("ArrowLeft")
        page.wait_for_function(_SHOWN, arg=n)
        expect(page.locator("#verdict")).to_contain_text("certified")
        seen.append((page.locator("#chart svg").inner_html(), page.locator("#tables").inner_text()))
    assert seen[0][0] != seen[1][0] and seen[0][1] != seen[1][1]
    page.goto(path.as_uri() + "#step=1")
    page.wait_for_function(_SHOWN, arg=2)
    assert page.locator("#tables").inner_text() == seen[0][1]
    assert complaints == []
    assert {url.split(":")[0] for url in requests} <= {"file", "data"}
