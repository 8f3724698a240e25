"""What a notebook about a theorem, or a course, holds: words and lines of Python in turn."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ftheta.courses import Course, Exercise, Page, Section

from .course_commands import course_snippet
from .course_words import errata_of
from .reproduce import check_call

IMPORT = "import ftheta as ft"


@dataclass(frozen=True, slots=True)
class Words:
    """A cell of Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Run:
    """A cell that runs a theorem and shows its card: `name` is the variable that keeps the result of `call`."""

    name: str
    call: str


Cell = Words | Run


def theorem_cells(entry: Mapping[str, Any]) -> list[Cell]:
    """The notebook of a theorem, from its entry of the index."""
    return [
        *_theorem(entry),
        *_lesson(entry),
        *_control(entry),
        _own_subject(entry),
        _sources(entry),
    ]


def course_cells(name: str, course: Course) -> list[Cell]:
    """The notebook of a course, section by section."""
    by = f"*{course.by}*\n\n" if course.by else ""
    lead = f"{by}The same in the terminal: `ftheta course {name}`; with sliders: `ftheta lab --course {name}`."
    cells: list[Cell] = [Words(f"# {course.title}\n\n{lead}")]
    for k, section in enumerate(course.sections, 1):
        cells += _section(course, section, k)
    return cells


# -- a theorem ----------------------------------------------------------------------------------------


def _theorem(entry: Mapping[str, Any]) -> Iterator[Cell]:
    assumed = "\n".join(f"- {asked['says'] or asked['name']}" for asked in entry["assumes"])
    hypotheses = f"**Hypotheses**\n\n{assumed}" if assumed else ""
    yield Words(_join(f"# {entry['title']}", f"*{entry['gist']}*", entry["statement"], hypotheses))
    yield Run("result", check_call(entry["id"]))


def _lesson(entry: Mapping[str, Any]) -> Iterator[Cell]:
    """Why one cares, the parts, the idea of the proof, and the trials; without a lesson, the presets."""
    lesson = entry["lesson"]
    if not lesson:
        yield Words("## Presets")
        for k, name in enumerate(entry["presets"], 1):
            yield Words(f"**{name}**")
            yield Run(f"preset_{k}", check_call(entry["id"], name))
        return
    parts = "\n".join(f"{k}. {part['says']}" for k, part in enumerate(lesson["parts"], 1))
    symbols = "\n".join(f"- {symbol}: {means}" for symbol, means in lesson["symbols"].items())
    yield Words(
        _join("## Why one cares", lesson["why"], "## Its parts", parts, "## Symbols", symbols)
    )
    yield Words(_join("## Idea of the proof", lesson["idea"], "## Try this"))
    for k, trial in enumerate(lesson["trials"], 1):
        yield Words(trial["look"])
        yield Run(f"trial_{k}", check_call(entry["id"], trial["preset"], trial["knobs"]))


def _control(entry: Mapping[str, Any]) -> Iterator[Cell]:
    """The negative control: a hypothesis fails, and a forced run shows what it was for."""
    told = entry["lesson"]["breaks"] if entry["lesson"] else ""
    if not entry["breakable"]:
        yield Words(
            _join("## What breaks it", told, f"It has no negative control: {entry['unbreakable']}")
        )
        return
    yield Words(_join("## What breaks it", told, "Its negative control, as it is and forced:"))
    yield Run("broken", f"ft.check({entry['id']!r}, breaker=True)")
    yield Run("forced", f"ft.check({entry['id']!r}, breaker=True, force=True)")


def _own_subject(entry: Mapping[str, Any]) -> Words:
    takes = " or a ".join(entry["takes"])
    yours = f"`ft.check({entry['id']!r}, on=yours)` takes a {takes} of your own, also by the name of a file."
    return Words(_join("## On your own subject", yours))


def _sources(entry: Mapping[str, Any]) -> Words:
    lines = "\n".join(f"- {line}" for line in entry["sources"].values())
    errata = f"**Errata in the sources.** {entry['errata']}" if entry["errata"] else ""
    return Words(_join("## Sources", lines, errata))


# -- a course -----------------------------------------------------------------------------------------


def _section(course: Course, section: Section, k: int) -> Iterator[Cell]:
    quote = f"> {section.quote}" if section.quote else ""
    yield Words(_join(f"## {k}. {section.title}", quote))
    for number, page in enumerate(section.pages, 1):
        yield _page(course, page)
        yield Run(f"page_{k}_{number}", course_snippet(page))
    if section.exercise is not None:
        yield from _exercise(section.exercise, k)


def _page(course: Course, page: Page) -> Words:
    entry = page.entry
    quote = f"> {page.quote}" if page.quote else ""
    errata = errata_of(course, page)
    misprint = f"**Errata in the sources.** {errata}" if errata else ""
    return Words(
        _join(
            f"### {entry['title']}",
            quote,
            f"*{entry['gist']}*",
            entry["statement"],
            page.look,
            misprint,
        )
    )


def _exercise(exercise: Exercise, k: int) -> Iterator[Cell]:
    numbers = ", ".join(f"{name} = {value:g}" for name, value in exercise.numbers.items())
    found = f"The run below finds: {exercise.verdict.value}{'; ' * bool(numbers)}{numbers}."
    folded = f"<details><summary>Answer</summary>\n\n{exercise.answer}\n\n{found}\n\n</details>"
    yield Words(_join(f"**Exercise {k}.** {exercise.ask}", folded))
    yield Run(f"answer_{k}", course_snippet(exercise))


def _join(*parts: str) -> str:
    return "\n\n".join(part for part in parts if part)
