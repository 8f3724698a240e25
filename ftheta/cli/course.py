"""`ftheta course`: lecture courses as a way through the theorems."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ftheta.languages import t
from ftheta.logic import UsageError

from .common import Flag, Json, console, print_json

if TYPE_CHECKING:
    from ftheta.courses import Course, Exercise, Page
    from ftheta.logic import Result
    from ftheta.logic.chart import Chart


def course(
    name: str | None = None,
    section: int | None = None,
    *,
    answers: Annotated[bool, Flag] = False,
    handout: Annotated[Path | None, Parameter(name="--print")] = None,
    pictures: Annotated[bool, Flag] = False,
    json: Json = False,
) -> int:
    """Walk through a lecture course, section by section; without a name, list the courses.

    Parameters
    ----------
    name
        A course by name, or the path of one's own in TOML (see docs/courses.md).
    section
        Show this section alone, counted from 1.
    answers
        Run the exercises and show their answers.
    handout
        Write the whole course as a page of HTML that prints well, or as PDF where there is a Chrome or Chromium.
    pictures
        Draw the picture of every page of that handout; this runs every theorem and takes a minute or two.
    """
    from ftheta.courses import built_in_courses
    from ftheta.courses import course as find

    if name is None:
        return _list(built_in_courses(), json)
    found = find(name)
    if section is not None and not 1 <= section <= len(found.sections):
        raise UsageError(
            "There is no such section.", got=section, remedy=f"give 1 to {len(found.sections)}"
        )
    if handout is not None:
        return _print(found, handout, pictures)
    if json:
        from ftheta.report.course_words import course_document

        print_json(course_document(name, found))
        return 0
    return _walk(found, [section] if section else list(range(1, len(found.sections) + 1)), answers)


def _list(courses: "Mapping[str, Course]", json: bool) -> int:
    if json:
        print_json(
            [
                {
                    "name": name,
                    "title": c.title,
                    "by": c.by,
                    "sections": [s.title for s in c.sections],
                }
                | {"theorems": [page.theorem for page in c.pages]}
                for name, c in courses.items()
            ]
        )
        return 0
    from ftheta.report.course_card import course_list

    console().print(course_list(courses))
    return 0


def _walk(course: "Course", sections: list[int], answers: bool) -> int:
    """Show sections one after another. At a terminal, Enter goes on, `a` runs the exercise, `q` ends."""
    from ftheta.report.course_card import section_card

    waits = len(sections) > 1 and sys.stdin.isatty() and sys.stdout.isatty()
    out = console()
    for k in sections:
        out.print(section_card(course, k))
        exercise = course.sections[k - 1].exercise
        if answers and exercise is not None:
            _answer(exercise)
        if waits and k != sections[-1]:
            word = _ask(exercise is not None and not answers)
            if word == "a" and exercise is not None:
                _answer(exercise)
                word = _ask(False)
            if word == "q":
                break
    return 0


def _ask(has_answer: bool) -> str:
    try:
        return input(f"{_choices(has_answer)} ").strip().lower()
    except EOFError:
        return "q"


def _choices(has_answer: bool) -> str:
    if has_answer:
        return t("[Enter: next section, a: answer, q: end]")
    return t("[Enter: next section, q: end]")


def _answer(exercise: "Exercise") -> None:
    from ftheta.courses.answers import differences
    from ftheta.report.course_card import answer_card

    result = _run(exercise, force=exercise.force)
    console().print(answer_card(exercise, result, differences(exercise, result)))


def _run(run: "Page | Exercise", *, force: bool = False) -> "Result":
    """The theorem of a page, or of an exercise, with its knobs."""
    from ftheta.checking import check
    from ftheta.report.working import Working

    knobs: dict[str, Any] = dict(run.knobs)
    with Working(t("checking {id}", id=run.theorem)):
        return check(run.theorem, preset=run.preset or None, force=force, **knobs)


def _print(course: "Course", path: Path, pictures: bool) -> int:
    from ftheta.report.course_html import handout
    from ftheta.report.pdf import find_browser, print_pdf
    from ftheta.report.save import ensure_savable

    ensure_savable(path, (".html", ".pdf"))
    browser = find_browser() if path.suffix.lower() == ".pdf" else ""
    written = handout(course, _picture) if pictures else handout(course)
    n = len(list(course.pages))
    if browser:
        print_pdf(written, path, browser)
        print(t("{path}: {n} theorems", path=path, n=n))
    else:
        path.write_text(written, encoding="utf-8")
        print(t("{path}: {n} theorems; print it from a browser", path=path, n=n))
    return 0


def _picture(page: "Page") -> "Chart | None":
    """The chart that a page names, or the first one."""
    charts = _run(page).charts
    named = [chart for chart in charts if chart.title == page.chart]
    return next(iter([*named, *charts]), None)
