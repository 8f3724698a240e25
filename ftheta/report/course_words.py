"""What the views of a course share: which errata belong to it."""

import re
from typing import Any

from ftheta.courses import Course, Exercise, Page, Section
from ftheta.languages import t

from .course_commands import course_command, course_snippet
from .mathml import statement_html, words_html


def errata_of(course: Course, page: Page) -> str:
    """The errata of a theorem where they speak of the authors of this course; all of them in a course of one's own."""
    errata = page.entry["errata"] or ""
    if not course.source:
        return errata
    surnames = [name.split()[-1] for name in re.split(r",\s*|\s+and\s+", course.by)]
    return errata if any(name in errata for name in surnames) else ""


def quoted(words: str) -> str:
    """A quotation in the marks of the language that is spoken; its words stay those of its source."""
    return t("“{words}”", words=words)


def course_document(name: str, course: Course) -> dict[str, Any]:
    """A course as JSON, for programs and for the lab: formulas are MathML, commands are written out."""
    return {
        "name": name,
        "title": t(course.title),
        "by": course.by,
        "source": course.source,
        "sections": [_section(course, section) for section in course.sections],
    }


def _section(course: Course, section: Section) -> dict[str, Any]:
    return {
        "title": t(section.title),
        "quote": section.quote,
        "pages": [_page(course, page) for page in section.pages],
        "exercise": None if section.exercise is None else _exercise(section.exercise),
    }


def _page(course: Course, page: Page) -> dict[str, Any]:
    errata = errata_of(course, page)
    return {
        "theorem": page.theorem,
        "title": t(page.entry["title"]),
        "preset": page.preset,
        "knobs": page.knobs,
        "chart": page.chart,
        "quote": page.quote,
        "look": words_html(t(page.look)),
        "errata": statement_html(errata) if errata else "",
        "command": course_command(page),
        "python": course_snippet(page),
    }


def _exercise(exercise: Exercise) -> dict[str, Any]:
    return {
        "ask": words_html(t(exercise.ask)),
        "answer": words_html(t(exercise.answer)),
        "theorem": exercise.theorem,
        "preset": exercise.preset,
        "knobs": exercise.knobs,
        "force": exercise.force,
        "verdict": exercise.verdict.value,
        "numbers": exercise.numbers,
        "command": course_command(exercise),
        "python": course_snippet(exercise),
    }
