"""The audit page: files dropped on it, answers that arrive, parts asked for again, a report to keep."""

import io
import json
from pathlib import Path

import numpy as np
from playwright.sync_api import FilePayload, expect

from ftheta import save
from ftheta.networks import random_mlp

from .lab import Tab

PHONE = 390  # pixels


def network(folder: Path) -> FilePayload:
    (path,) = save(random_mlp(np.random.default_rng(0), (4, 6, 3)), folder / "tiny.npz")
    return {
        "name": "my-tiny.npz",
        "mimeType": "application/octet-stream",
        "buffer": path.read_bytes(),
    }


def data() -> FilePayload:
    rng = np.random.default_rng(1)
    held = io.BytesIO()
    np.savez(held, x=rng.normal(size=(30, 4)), y=rng.integers(0, 3, 30))
    return {
        "name": "my-rows.npz",
        "mimeType": "application/octet-stream",
        "buffer": held.getvalue(),
    }


def test_answers_arrive_and_parts_can_be_asked_for_again(tab: Tab, tmp_path: Path) -> None:
    page = tab.open("#/audit").page
    tab.until(lambda: page.locator("#audit-model option").count() > 1)
    page.get_by_label("Open files for the audit").set_input_files(files=[network(tmp_path), data()])
    for menu, name in (("model", "my-tiny.npz"), ("data", "my-rows.npz")):
        chosen = page.locator(f"#audit-{menu} option:checked")
        tab.until(lambda chosen=chosen, name=name: chosen.text_content() == name)
    page.get_by_role("button", name="Run the audit").press("Enter")
    said = page.locator("#audit-epsilon + output")
    tab.until(lambda: page.locator("#audit-robustness canvas").count() > 0)
    expect(page.locator(".findings > li").first).to_be_visible()
    page.get_by_role("button", name="Stop and keep").press("Enter")
    tab.until(lambda: page.locator(".audit").get_attribute("data-phase") == "done")
    before = said.inner_text()
    page.locator("#audit-epsilon").press("Home")
    assert "of the rows tried" in before and said.inner_text() != before
    page.locator("#audit-row-number").fill("7")
    page.locator("#audit-row-number").press("Enter")
    tab.until(lambda: page.locator("section#audit-row h3").text_content() == "Row 7")
    with page.expect_download() as coming:
        page.get_by_role("button", name="as JSON").click()
    document = json.loads(Path(coming.value.path()).read_text())
    assert document["subject"] == "my-tiny.npz" and document["findings"]
    page.set_viewport_size({"width": PHONE, "height": 800})
    tab.frames(2)
    assert page.evaluate("() => document.documentElement.scrollWidth") <= PHONE
