"""The gallery: every theorem by its picture; and one page per chapter."""

from collections.abc import Callable, Iterable, Mapping
from html import escape
from typing import Any

from ftheta.languages import t
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
        f'<a class="chip" href="#chapter-{name}">{escape(t(title))}</a>'
        for name, title in contents.chapters.items()
    )
    parts = []
    for name, title in contents.chapters.items():
        cards = cards_html(contents.in_chapter(name), read)
        parts += [
            html_block(anchor_html(f"chapter-{name}")),
            heading(2, t(title)),
            html_block(cards),
        ]
    lead = f"<p>{t('{n} theorems, each by the first picture of its default run.', n=len(contents.theorems))}</p>"
    named = t("Chapters")
    return join(
        heading(1, t("Gallery")),
        html_block(lead, f'<nav class="chips" aria-label="{named}">{chips}</nav>'),
        *parts,
        toctree({f"chapters/{name}": t(title) for name, title in contents.chapters.items()}),
    )


def chapter_page(chapter: str, contents: Contents, read: Read) -> str:
    """The theorems of a chapter with their gists."""
    entries = contents.in_chapter(chapter)
    return join(
        heading(1, t(contents.chapters[chapter])),
        html_block(cards_html(entries, read, up="../")),
        toctree({f"../theorems/{entry['id']}": t(entry["title"]) for entry in entries}),
    )


def cards_html(entries: Iterable[Entry], read: Read, up: str = "") -> str:
    """A card per theorem: picture, title, gist, verdict of the stored run."""
    cards = []
    for entry in entries:
        result = read(entry["id"])
        mark = pill(look(result.verdict)) if result is not None else ""
        words = f"<b>{words_html(t(entry['title']))}</b><span class='gist'>{words_html(t(entry['gist']))}</span>{mark}"
        address = f"{up}theorems/{entry['id']}.html"
        cards.append(f'<a class="tile" href="{address}">{picture_html(result, up)}{words}</a>')
    return f'<div class="tiles-grid">{"".join(cards)}</div>'
