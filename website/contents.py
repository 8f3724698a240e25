"""What the pages are about: the catalogue, the courses, and how theorems hang together."""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ftheta.catalogue import index
from ftheta.courses import Course, built_in_courses

ROOT = Path(__file__).parents[1]
SINCE = Path(__file__).parent / "since.json"


@dataclass(frozen=True)
class Contents:
    """Theorems by id, as the index has them, courses by name, and the version in which each theorem came.

    A theorem that `since` does not know came with the version in the making.
    """

    theorems: Mapping[str, Mapping[str, Any]]
    courses: Mapping[str, Course]
    since: Mapping[str, str]

    @classmethod
    def of_package(cls) -> "Contents":
        """All theorems and courses."""
        return cls(index(), built_in_courses(), json.loads(SINCE.read_text(encoding="utf-8")))

    @cached_property
    def chapters(self) -> dict[str, str]:
        """Titles of the chapters by name, in order."""
        return {entry["chapter"]: entry["chapter_title"] for entry in self.theorems.values()}

    def in_chapter(self, chapter: str) -> list[Mapping[str, Any]]:
        """The theorems of a chapter."""
        return [entry for entry in self.theorems.values() if entry["chapter"] == chapter]

    def version_of(self, id: str) -> str:
        """The version in which a theorem came."""
        return self.since.get(id, project_version())

    def leads_of(self, id: str) -> dict[str, str]:
        """Where a theorem leads: ids with a reason, empty where none is given."""
        entry = self.theorems[id]
        lesson = entry["lesson"]
        leads = dict(lesson["leads"]) if lesson else {}
        known = {**leads, **{other: leads.get(other, "") for other in entry["see_also"]}}
        return {other: why for other, why in known.items() if other in self.theorems}

    def origins_of(self, id: str) -> list[str]:
        """Theorems that lead to this one, and to which it does not lead itself."""
        here = self.leads_of(id)
        return [
            other for other in self.theorems if other not in here and id in self.leads_of(other)
        ]

    def places_in_courses(self, id: str) -> list[tuple[str, int]]:
        """Courses that have a theorem, each with the number of the section."""
        return [
            (name, k)
            for name, course in self.courses.items()
            for k, section in enumerate(course.sections, 1)
            if any(page.theorem == id for page in section.pages)
        ]


def record_versions() -> None:
    """Note the version of every theorem that has none; part of a release."""
    known = json.loads(SINCE.read_text(encoding="utf-8")) if SINCE.is_file() else {}
    told = {id: known.get(id, project_version()) for id in sorted(index())}
    SINCE.write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


def project_version() -> str:
    """The version that the sources state; what is installed may be older."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"][
        "version"
    ]
