"""The gallery: every theorem by its picture; and one page per chapter."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from ftheta.logic import Result
from ftheta.report.mathml import words_html
from ftheta.report.page import pill
from ftheta.report.verdicts import look

from .contents import Contents
from .markup import anchor_html, heading, html_block, join, toctree
from .pictures import picture_html

Entry = Mapping[str, Any]
Read = Callable[[str], Result | None]


def gallery_page(contents: Contents, read: Read) -> str:
    """All theorems by chapter; `read` gives the stored run of one."""
    chips = "".join(
        f'<a class="chip" href="#chapter-{name}">{escape(title)}</a>'
        for name, title in contents.chapters.items()
    )
    parts = []
    for name, title in contents.chapters.items():
        cards = cards_html(contents.in_chapter(name), read)
        parts += [html_block(anchor_html(f"chapter-{name}")), heading(2, title), html_block(cards)]
    lead = (
        f"<p>{len(contents.theorems)} theorems, each by the first picture of its default run.</p>"
    )
    return join(
        heading(1, "Gallery"),
        html_block(lead, f'<nav class="chips" aria-label="Chapters">{chips}</nav>'),
        *parts,
        toctree({f"chapters/{name}": title for name, title in contents.chapters.items()}),
    )


def chapter_page(chapter: str, contents: Contents, read: Read) -> str:
    """The theorems of a chapter with their gists."""
    entries = contents.in_chapter(chapter)
    return join(
        heading(1, contents.chapters[chapter]),
        html_block(cards_html(entries, read, up="../")),
        toctree({f"../theorems/{entry['id']}": entry["title"] for entry in entries}),
    )


def cards_html(entries: Iterable[Entry], read: Read, up: str = "") -> str:
    """A card per theorem: picture, title, gist, verdict of the stored run."""
    cards = []
    for entry in entries:
        result = read(entry["id"])
        mark = pill(look(result.verdict)) if result is not None else ""
        words = f"<b>{words_html(entry['title'])}</b><span class='gist'>{words_html(entry['gist'])}</span>{mark}"
        address = f"{up}theorems/{entry['id']}.html"
        cards.append(f'<a class="tile" href="{address}">{picture_html(result, up)}{words}</a>')
    return f'<div class="tiles-grid">{"".join(cards)}</div>'
