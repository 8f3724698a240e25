"""Subjects of one's own: a file that is read, and files that are not."""

import io

import numpy as np
from playwright.sync_api import FilePayload, expect

from .lab import Tab

THEOREM = "autoencoder-svd-rom"


def dataset() -> FilePayload:
    rng = np.random.default_rng(0)
    held = io.BytesIO()
    np.savez(held, x=rng.normal(size=(40, 8)) * np.arange(8, 0, -1))
    return {
        "name": "my-data.npz",
        "mimeType": "application/octet-stream",
        "buffer": held.getvalue(),
    }


def give(tab: Tab, file: FilePayload) -> None:
    tab.page.get_by_label("Open a file as subject").set_input_files(files=[file])


def test_a_file_becomes_the_subject(tab: Tab) -> None:
    tab.go(THEOREM)
    before = tab.picture()
    give(tab, dataset())
    tab.until(lambda: "subject=" in tab.hash)
    assert tab.settle() == "shown"
    assert tab.picture() != before
    expect(tab.page.locator("#subject option:checked")).to_have_text("my-data.npz")
    tab.page.locator("#subject").select_option("built-in")
    tab.until(lambda: "subject=" not in tab.hash)
    tab.settle()
    assert tab.picture() == before


def test_a_file_can_be_dropped_anywhere(tab: Tab) -> None:
    tab.go(THEOREM)
    carried = tab.page.evaluate_handle(
        """([name, bytes]) => {
          const data = new DataTransfer();
          data.items.add(new File([new Uint8Array(bytes)], name));
          return data;
        }""",
        ["dropped.npz", list(dataset()["buffer"])],
    )
    tab.page.dispatch_event("body", "dragenter", {"dataTransfer": carried})
    expect(tab.page.locator(".veil")).to_be_visible()
    tab.page.dispatch_event("body", "drop", {"dataTransfer": carried})
    tab.until(lambda: "subject=" in tab.hash)
    assert tab.settle() == "shown"
    expect(tab.page.locator(".veil")).to_be_hidden()


def test_a_file_that_cannot_be_read_is_refused_with_the_reason(tab: Tab) -> None:
    tab.go(THEOREM)
    complaint = tab.page.locator("section[aria-label=Subject] .complaint")
    for file in (
        FilePayload(
            name="wrong.npz", mimeType="application/octet-stream", buffer=b"this is no archive"
        ),
        FilePayload(name="wrong.exe", mimeType="application/octet-stream", buffer=b"MZ"),
    ):
        give(tab, file)
        expect(complaint).to_be_visible()
        tab.until(lambda: len(complaint.inner_text()) > 20)
    assert "subject=" not in tab.hash
    # the refusals themselves
    tab.complaints = [c for c in tab.complaints if "Failed to load resource" not in c]


def test_a_network_is_offered_only_where_one_is_asked_for(tab: Tab) -> None:
    tab.go("lipschitz-bounds")
    option = tab.page.locator("#subject option[value=digits-mlp]")
    expect(option).to_be_enabled()
    tab.go("gd-strongly-convex")
    expect(option).to_be_disabled()
