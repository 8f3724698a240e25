"""Courses in the terminal: the list of them, and one section at a time."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ftheta.courses import Course, Exercise, Page, Section
from ftheta.languages import t
from ftheta.logic import Result

from .course_commands import course_command
from .course_words import errata_of, quoted
from .letters import letters
from .numbers import quantity
from .plain import plain
from .terminal import FAINT, Card, Columns, Styled, hanging_indent, heading, indent, line
from .verdicts import look

if TYPE_CHECKING:
    from rich.console import RenderableType


def course_list(courses: Mapping[str, Course]) -> Card:
    """Every course with its author and its size."""
    rows: list[Sequence[Styled]] = [
        [(name, "bold"), t(c.title), (c.by, FAINT), f"{len(c.sections)}", f"{len(list(c.pages))}"]
        for name, c in courses.items()
    ]
    return Card(
        iter(
            [
                Columns(
                    (t("course"), t("title"), t("by"), t("sections"), t("pages")),
                    rows,
                    left=(0, 1, 2),
                    whole=True,
                )
            ]
        )
    )


def section_card(course: Course, number: int) -> Card:
    """A section: quotation, theorems with what to see and how to run it, errata, exercise; `number` counts from 1."""
    return Card(_section(course, course.sections[number - 1], number))


def _section(course: Course, section: Section, number: int) -> Iterator["RenderableType"]:
    place = f"  {t('{k} of {n}', k=number, n=len(course.sections))} · {t(course.title)}"
    yield line((f"{number}. {t(section.title)}", "bold"), (place, FAINT))
    if section.quote:
        yield indent(line((quoted(section.quote), "italic")))
    yield line("")
    for page in section.pages:
        yield from _page(course, page)
    if section.exercise is not None:
        yield heading(t("Exercise"))
        yield indent(line(plain(t(section.exercise.ask))), below=1)


def _page(course: Course, page: Page) -> Iterator["RenderableType"]:
    entry = page.entry
    yield hanging_indent("·", FAINT, (t(entry["title"]), "bold"), f"  {page.theorem}")
    quote = f"{quoted(page.quote)} " if page.quote else ""
    yield from _below(line((quote, "italic"), letters(t(entry["gist"]))))
    if page.look:
        yield from _below(line((f"{t('look:')} ", FAINT), plain(t(page.look))))
    errata = errata_of(course, page)
    if errata:
        yield from _below(line((f"{t('erratum:')} ", "yellow"), " ".join(plain(errata).split())))
    yield from _below(line((course_command(page), FAINT)))
    yield line("")


def _below(body: "RenderableType") -> Iterator["RenderableType"]:
    from rich.padding import Padding

    yield Padding(body, (0, 0, 0, 3), expand=False)


def answer_card(exercise: Exercise, result: Result, differing: Sequence[str]) -> Card:
    """The answer of an exercise, and what its run has found."""
    return Card(_answer(exercise, result, differing))


def _answer(
    exercise: Exercise, result: Result, differing: Sequence[str]
) -> Iterator["RenderableType"]:
    here = look(result.verdict)
    yield heading(t("Answer"))
    yield indent(line(plain(t(exercise.answer))))
    yield indent(line((course_command(exercise), FAINT)))
    found: list[Any] = [f"{here.sign} {here.word}", f": {result.summary}" if result.summary else ""]
    yield indent(line(*found))
    yield from (
        indent(line(f"{name} = {quantity(name, result.numbers[name])}"))
        for name in _names_in(exercise, result)
    )
    yield from (indent(line((f"! {words}", "red"))) for words in differing)
    yield line("")


def _names_in(exercise: Exercise, result: Result) -> list[str]:
    return [name for name in exercise.numbers if name in result.numbers]
