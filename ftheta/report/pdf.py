"""A page of HTML as PDF, printed by a browser of the Chromium family, where there is one: it sets the formulas."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ftheta.logic import FthetaError, UsageError

_NAMES = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "msedge",
)
_LONGEST = 180.0  # seconds
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--no-pdf-header-footer",
    "--disable-background-networking",
)


def find_browser() -> str:
    """The program that prints; $CHROMIUM names it where it is not on the path."""
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, _NAMES)), None)
    if found is None:
        raise UsageError(
            "No browser was found that could print a PDF.",
            got=f"none of {', '.join(_NAMES)} on the path",
            remedy="name the file .html and print it from your browser, or let CHROMIUM be the path "
            "of Chrome or Chromium",
        )
    return found


def print_pdf(html: str, path: Path, browser: str) -> None:
    """Print the page into a file. The browser has a profile of its own, and loads nothing but this page."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder, "page.html")
        page.write_text(html, encoding="utf-8")
        printed = Path(folder, "page.pdf")
        words = [browser, *_FLAGS, f"--user-data-dir={folder}/profile", f"--print-to-pdf={printed}"]
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            words.append("--no-sandbox")  # Chromium refuses to run as root with one
        try:
            ended = subprocess.run(
                [*words, page.as_uri()], capture_output=True, timeout=_LONGEST, check=False
            )
            said = ended.stderr.decode(errors="replace").strip().splitlines()
        except (OSError, subprocess.TimeoutExpired) as error:
            said = [str(error)]
        if not printed.exists():
            remedy = "name the file .html and print it from your browser"
            raise FthetaError(
                "The browser printed nothing.", where=browser, got="".join(said[-1:]), remedy=remedy
            )
        shutil.copyfile(printed, path)
