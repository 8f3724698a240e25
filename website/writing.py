"""All sources of the site, written to a folder for Sphinx."""

import shutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ftheta

from .contents import ROOT, Contents
from .course_page import course_page, courses_page
from .front import front_page
from .gallery import chapter_page, gallery_page
from .narrative import cite_page, copy_pages, guide
from .pictures import write_pictures
from .reference import reference_index, reference_page
from .results import ResultStore, control_of
from .style import write_style
from .theorem_page import theorem_page


def list_pages(contents: Contents) -> list[str]:
    """The names of all generated pages, without their endings."""
    return [
        *("index", "gallery", "cite", "courses/index", "api/index"),
        *(f"chapters/{chapter}" for chapter in contents.chapters),
        *(f"theorems/{id}" for id in contents.theorems),
        *(f"courses/{name}" for name in contents.courses),
        *(f"api/{name}" for name in dir(ftheta)),
    ]


def make_pages(contents: Contents, store: ResultStore) -> Iterator[tuple[str, str]]:
    """Every generated page: its name and its source."""
    read = cache(store.read)
    yield "index", front_page(contents, read, guide())
    yield "gallery", gallery_page(contents, read)
    yield "cite", cite_page()
    yield "courses/index", courses_page(contents)
    yield "api/index", reference_index()
    for chapter in contents.chapters:
        yield f"chapters/{chapter}", chapter_page(chapter, contents, read)
    for id, entry in contents.theorems.items():
        yield f"theorems/{id}", theorem_page(entry, read(id), contents, read(control_of(id)))
    for name, course in contents.courses.items():
        yield f"courses/{name}", course_page(name, course, read)
    for name in dir(ftheta):
        yield f"api/{name}", reference_page(name)


def write_sources(contents: Contents, store: ResultStore, source: Path) -> int:
    """Write everything that Sphinx reads, and say how many pages were generated."""
    copy_pages(source)
    write_style(source / "_static")
    shutil.copyfile(Path(__file__).parent / "conf.py", source / "conf.py")
    shutil.copyfile(ROOT / "docs" / "images" / "audit.png", source / "_static" / "audit.png")
    for id in contents.theorems:
        result = store.read(id)
        if result is not None:
            write_pictures(source, result)
    for name, text in make_pages(contents, store):
        _write(source / f"{name}.md", text)
    names = list_pages(contents)
    _remove_stale(source, names)
    return len(names)


def _remove_stale(source: Path, names: list[str]) -> None:
    """Pages of theorems, courses and names that are no more."""
    kept = {source / f"{name}.md" for name in names}
    for folder in ("api", "chapters", "courses", "theorems"):
        for path in (source / folder).glob("*.md"):
            if path not in kept:
                path.unlink()


def _write(path: Path, text: str) -> None:
    """Unless it is there already: what is not written anew is not built anew."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.is_file() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
