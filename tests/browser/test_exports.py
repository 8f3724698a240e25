"""What the export menu gives: files of the right kind, lines that run."""

import csv
import io
import json
import shlex

import pytest
from playwright.sync_api import BrowserContext, expect

from .lab import Tab

FILES = {
    "pdf": ("Figure, PDF", b"%PDF-"),
    "svg": ("Figure, SVG", b"<svg"),
    "png": ("Figure, PNG", b"\x89PNG\r\n\x1a\n"),
    "csv": ("Data of the figure, CSV", b""),
    "json": ("Result, JSON", b"{"),
    "html": ("Report, HTML", b"<!DOCTYPE html>"),
}


def download(tab: Tab, item: str) -> tuple[str, bytes]:
    tab.page.get_by_role("button", name="Export").click()
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("menuitem", name=item).click()
    return waiting.value.suggested_filename, waiting.value.path().read_bytes()


@pytest.mark.parametrize("format", FILES)
def test_an_exported_file_is_what_it_says(tab: Tab, format: str) -> None:
    tab.go("pieces-1d", folds=4)
    item, begins = FILES[format]
    name, content = download(tab, item)
    assert name.endswith(f".{format}") and "pieces-1d" in name
    assert content.startswith(begins)
    if format == "csv":
        rows = list(csv.reader(io.StringIO(content.decode())))
        assert len(rows) > 2 and len({len(row) for row in rows}) == 1
    if format == "json":
        document = json.loads(content)
        assert document["document"] == "result" and document["provenance"]["knobs"]["folds"] == 4


def test_the_python_and_the_command_line_are_copied(tab: Tab, context: BrowserContext) -> None:
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.go("pieces-1d", folds=4)
    copied = lambda: tab.page.evaluate("() => navigator.clipboard.readText()")
    tab.page.get_by_role("button", name="Export").click()
    tab.page.get_by_role("menuitem", name="Copy Python").click()
    expect(tab.page.locator(".toast")).to_contain_text("Python copied")
    code = copied()
    compile(code, "snippet", "exec")
    assert "pieces-1d" in code and "folds=4" in code
    tab.page.get_by_role("button", name="Export").click()
    tab.page.get_by_role("menuitem", name="Copy command line").click()
    tab.until(lambda: copied() != code)
    assert shlex.split(copied())[:3] == ["ftheta", "check", "pieces-1d"]
