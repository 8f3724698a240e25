"""What was built: links that lead nowhere, formulas that could not be read, theorems without a picture."""

import re
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ftheta.report.mathml import UNREAD

_SCHEMES = {"https", "http", "mailto", "data"}
_PICTURES = {"svg", "img"}


class Page(HTMLParser):
    """What matters of one page: its anchors, its links, and how many formulas and pictures it has."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.formulas = 0
        self.unread = 0
        self.pictures = 0
        self.figures = 0
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element is and where it leads."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.formulas += tag == "math"
        self.unread += UNREAD in given.get("class", "").split()
        self.figures += tag == "figure"
        self.pictures += tag in _PICTURES and self.figures > 0

    def handle_endtag(self, tag: str) -> None:
        """Pictures count inside of figures alone: a page has icons, too."""
        self.figures -= tag == "figure"


@dataclass
class Inspection:
    """Counts over a site, with every fault as a sentence."""

    pages: int = 0
    links: int = 0
    formulas: int = 0
    broken: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    without_picture: list[str] = field(default_factory=list)

    @property
    def faults(self) -> list[str]:
        """All of them."""
        return [*self.broken, *self.unread, *self.without_picture]

    def describe(self) -> str:
        """One line."""
        return (
            f"{self.pages} pages, {self.links:,} links, {self.formulas:,} formulas: {len(self.broken)} links broken, "
            f"{len(self.unread)} pages with unread formulas, {len(self.without_picture)} theorems without picture"
        )


def inspect_site(root: Path) -> Inspection:
    """Read every page below `root`, and follow every link between them; others are checked for their form alone."""
    pages = {
        path.resolve(): Page(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.html"))
    }
    found = Inspection(pages=len(pages))
    for path, page in pages.items():
        name = path.relative_to(root.resolve()).as_posix()
        found.links += len(page.links)
        found.formulas += page.formulas
        faults = {
            link: fault
            for link in page.links
            if (fault := _fault(link, path, pages, root.resolve()))
        }
        found.broken += [f"{name}: {link} {fault}" for link, fault in faults.items()]
        found.unread += [f"{name}: {page.unread} formulas could not be read"] * bool(page.unread)
        is_theorem = name.startswith("theorems/")
        found.without_picture += [f"{name}: no picture"] * (is_theorem and page.pictures == 0)
    return found


def _fault(link: str, path: Path, pages: dict[Path, Page], root: Path) -> str:
    """What is wrong with a link of a page; nothing where it leads somewhere."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return "is no address"
    if parts.scheme:
        return _fault_outside(parts.scheme, parts.netloc, link)
    if parts.netloc or parts.path.startswith("/"):
        return "leaves the site without a scheme"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target = target / "index.html"
    if not target.is_relative_to(root) or not target.is_file():
        return "leads to no file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "leads to no place of that page"
    return ""


def _fault_outside(scheme: str, host: str, link: str) -> str:
    if scheme not in _SCHEMES:
        return "has an unknown scheme"
    if scheme in ("http", "https") and not re.fullmatch(r"[\w.-]+(:\d+)?", host):
        return "names no host"
    return "has a space in it" if re.search(r"\s", link) and scheme != "data" else ""
