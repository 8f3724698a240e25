"""Sliders, presets, seed, tabs, play: what is changed is computed again, and the link says it."""

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Tab

THEOREM = "gd-strongly-convex"


def slider(tab: Tab, knob: str):
    return tab.page.locator(f"#knob-{knob}")


def box(tab: Tab, knob: str):
    return tab.page.locator(f"[data-knob={knob}] .box")


def test_a_moved_slider_changes_the_chart_the_numbers_and_the_address(tab: Tab) -> None:
    tab.go(THEOREM)
    before = tab.picture()
    numbers = tab.text(".numbers")
    slider(tab, "kappa").focus()
    for _ in range(5):
        tab.page.keyboard.press("ArrowRight")
    tab.until(lambda: "kappa=" in tab.hash)
    tab.settle()
    assert tab.picture() != before
    assert tab.text(".numbers") != numbers
    assert box(tab, "kappa").input_value() in tab.hash


def test_typing_goes_beyond_the_slider_and_hard_limits_are_refused_with_the_reason(
    tab: Tab,
) -> None:
    tab.go(THEOREM)
    field = box(tab, "kappa")
    field.fill("20000")
    field.press("Enter")
    tab.until(lambda: "kappa=20000" in tab.hash)
    assert tab.settle() == "shown"
    assert slider(tab, "kappa").input_value() == slider(tab, "kappa").get_attribute("max")
    field.fill("0.5")  # a condition number below one
    field.press("Enter")
    tab.until(lambda: tab.now["phase"] == "trouble")
    complaint = tab.page.locator("[data-knob=kappa] .complaint")
    expect(complaint).to_be_visible()
    assert "0.5" in complaint.inner_text()
    field.fill("30")
    field.press("Enter")
    tab.until(lambda: "kappa=30" in tab.hash)
    assert tab.settle() == "shown"
    expect(complaint).to_be_hidden()


def test_what_is_no_number_is_not_sent(tab: Tab) -> None:
    tab.go(THEOREM)
    box(tab, "kappa").fill("many")
    box(tab, "kappa").press("Enter")
    expect(tab.page.locator("[data-knob=kappa] .complaint")).to_have_text("A number, please.")
    assert tab.hash == f"#/{THEOREM}"


def test_presets_are_steps_of_the_history(tab: Tab) -> None:
    tab.go(THEOREM)
    plain = tab.picture()
    tab.page.get_by_role("button", name="Ill-conditioned").click()
    tab.until(lambda: "preset=" in tab.hash)
    tab.settle()
    hard = tab.picture()
    assert hard != plain
    tab.page.go_back()
    tab.until(lambda: "preset=" not in tab.hash)
    tab.settle()
    assert tab.picture() == plain
    tab.page.go_forward()
    tab.until(lambda: "preset=" in tab.hash)
    tab.settle()
    assert tab.picture() == hard
    expect(tab.page.get_by_role("button", name="Ill-conditioned")).to_have_attribute(
        "aria-pressed", "true"
    )


def test_a_broken_hypothesis_says_so_and_can_be_measured_all_the_same(tab: Tab) -> None:
    tab.go(THEOREM, preset="broken on purpose")
    assert "not applicable" in tab.text(".verdict .word").lower()
    expect(tab.page.locator(".checks .failed")).not_to_have_count(0)
    expect(tab.page.locator(".checks .remedy").first).to_be_visible()
    tab.page.get_by_role("button", name="Measure anyway").click()
    tab.until(lambda: "force=1" in tab.hash)
    tab.settle()
    assert tab.page.locator(".stage canvas").count() == 1
    tab.page.get_by_role("button", name="Respect the hypotheses").click()
    tab.until(lambda: "force=1" not in tab.hash)
    tab.settle()


def test_the_link_restores_everything(tab: Tab, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.go("double-descent", preset="at the edge", seed=3)
    tab.page.get_by_role("button", name="Copy link").click()
    expect(tab.page.locator(".toast")).to_contain_text("Link copied")
    link = tab.page.evaluate("() => navigator.clipboard.readText()")
    picture = tab.picture()
    verdict = tab.text(".verdict")
    other = Tab(context, tab.address)
    other.page.goto(link)
    other.until(lambda: "shown" in other.now)
    other.settle()
    assert other.picture() == picture
    assert other.text(".verdict") == verdict
    assert other.page.locator(".seed .box").input_value() == "3"
    other.assert_quiet()


def test_an_unknown_link_leads_to_the_catalogue(tab: Tab) -> None:
    tab.open("#/no-such-theorem?x=1")
    expect(tab.page.locator(".card").first).to_be_visible()
    assert tab.hash == "#/"


def test_another_seed_and_reset(tab: Tab) -> None:
    tab.go("double-descent")
    before = tab.picture()
    tab.page.get_by_role("button", name="Another seed").click()
    tab.until(lambda: "seed=1" in tab.hash)
    tab.settle()
    assert tab.picture() != before
    tab.page.locator(".reset").click()
    tab.until(lambda: tab.hash == "#/double-descent")
    tab.settle()
    assert tab.picture() == before


def test_tabs_show_the_other_charts(tab: Tab) -> None:
    tab.go("pieces-1d")
    first = tab.picture()
    tab.page.get_by_role("tab").nth(1).click()
    tab.until(lambda: "chart=1" in tab.hash)
    tab.until(lambda: tab.picture() != first)
    expect(tab.page.get_by_role("tab").nth(1)).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_moves_the_slider_until_it_is_paused(tab: Tab, motion: str) -> None:
    tab.page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
    tab.go("hat-function")
    before = slider(tab, "iterates").input_value()
    picture = tab.picture()
    tab.page.get_by_role("button", name="Play iterates").click()
    tab.until(lambda: slider(tab, "iterates").input_value() != before)
    tab.page.get_by_role("button", name="Play iterates").click()
    tab.until(lambda: "iterates=" in tab.hash)
    tab.settle()
    assert tab.picture() != picture
    rests = slider(tab, "iterates").input_value()
    tab.page.wait_for_timeout(600)
    assert slider(tab, "iterates").input_value() == rests


def test_knobs_of_the_built_in_subject_rest_when_another_one_is_chosen(tab: Tab) -> None:
    tab.go("pieces-1d", subject="breaker")
    expect(slider(tab, "depth")).to_be_disabled()
    expect(slider(tab, "folds")).to_be_enabled()


def test_the_evidence_lists_claims_and_provenance(tab: Tab) -> None:
    tab.go(THEOREM)
    tab.page.get_by_text("Evidence", exact=True).click()
    # it has opened
    expect(tab.page.locator(".evidence")).to_contain_text("versions", use_inner_text=True)
    told = tab.text(".evidence").lower()
    for word in (
        "measured",
        "bound",
        "slack",
        "seed",
        "certified",
        "proved",
        "refuted",
        "versions",
    ):
        assert word in told
    expect(tab.page.locator(".errata")).to_be_visible()


def test_the_pointer_reads_values_off_the_curves(tab: Tab) -> None:
    tab.go(THEOREM)
    stage = tab.page.locator(".stage canvas").bounding_box()
    assert stage
    tab.page.mouse.move(stage["x"] + stage["width"] / 2, stage["y"] + stage["height"] / 2)
    expect(tab.page.locator(".readout")).to_be_visible()
    assert float(tab.text(".readout b")) == pytest.approx(50, abs=15)
    expect(tab.page.locator(".readout span")).to_have_count(2)
    tab.page.mouse.move(5, 5)
    expect(tab.page.locator(".readout")).to_be_hidden()


def test_the_title_of_a_single_chart_is_there_when_one_comes_back_to_it(tab: Tab) -> None:
    tab.go("history-timeline")
    title = tab.text(".caption")
    assert title
    tab.page.evaluate("() => { location.hash = '#/' }")
    expect(tab.page.locator(".cards, .card").first).to_be_visible()
    tab.go("history-timeline")
    assert tab.text(".caption") == title
