"""What axe finds on a page: rules of WCAG 2.2 A and AA, and what it calls good practice."""

from pathlib import Path

from playwright.sync_api import Page

UNFOLD = "() => document.querySelectorAll('details').forEach((node) => { node.open = true })"
_ASK = """() => axe.run({
  resultTypes: ['violations'],
  rules: { 'target-size': { enabled: true } },  // WCAG 2.2: of 24 pixels, or with as much room
})"""
_TOLD = 5  # places of each kind


def violations(page: Page) -> list[str]:
    """One line for each kind, with the first places where it is; everything that folds is open."""
    from axe_playwright_python.base import AXE_FILE_PATH

    page.evaluate(UNFOLD)
    page.evaluate(Path(AXE_FILE_PATH).read_text(encoding="utf-8"))
    found = page.evaluate(_ASK)["violations"]
    places = lambda kind: " | ".join(node["html"][:120] for node in kind["nodes"][:_TOLD])
    return [f"{kind['impact']}: {kind['id']}, {kind['help']}: {places(kind)}" for kind in found]
