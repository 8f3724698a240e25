"""The courses as the page reads them: those of the package, and the one that the lab was started with."""

from pathlib import Path
from typing import Any

from ftheta.courses import Course, built_in_courses, course
from ftheta.report.course_words import course_document
from ftheta.report.letters import letters

from .contents import Contents


def name_of(given: str) -> str:
    """The name under which a course stands in addresses: its own, or that of its file."""
    return Path(given).stem


class Courses:
    """`given` is the name or the path of the course to open; None for none."""

    def __init__(self, given: str | None = None) -> None:
        self.given = given

    def contents(self) -> Contents:
        """All courses in the language that is spoken; reading them is put off until somebody asks."""
        found: dict[str, Course] = dict(built_in_courses())
        if self.given is not None:
            found[name_of(self.given)] = course(self.given)
        return Contents.of([_as_shown(course_document(name, each)) for name, each in found.items()])


def _as_shown(document: dict[str, Any]) -> dict[str, Any]:
    """With the titles of charts in the letters in which the page has them."""
    for section in document["sections"]:
        for page in section["pages"]:
            page["chart"] = letters(page["chart"])
    return document
