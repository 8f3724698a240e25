"""A course as a printable handout: statements, what to look at, errata, exercises, and the answers at the end."""

from collections.abc import Callable, Iterator

from ftheta.courses import Course, Exercise, Page, Section
from ftheta.languages import t
from ftheta.logic.chart import Chart

from .course_commands import course_command
from .course_words import errata_of, quoted
from .mathml import statement_html
from .page import figure_html, page, prose, text
from .verdicts import look

Draw = Callable[[Page], Chart | None]


def handout(course: Course, draw: Draw = lambda _: None) -> str:
    """The handout as one page of HTML; `draw` makes the picture of a page, where there are to be pictures."""
    return page(t(course.title), _body(course, draw))


def _body(course: Course, draw: Draw) -> Iterator[str]:
    yield f"<h1>{text(t(course.title))}</h1>"
    if course.by:
        yield f'<p class="under">{text(course.by)}</p>'
    yield (
        "<ol>"
        + "".join(
            f'<li><a href="#s{k}">{text(t(s.title))}</a></li>' for k, s in _number_sections(course)
        )
        + "</ol>"
    )
    for k, section in _number_sections(course):
        yield from _section(course, section, k, draw)
    yield '<section><h2 class="part">' + text(t("Answers")) + "</h2>"
    for k, section in _number_sections(course):
        if section.exercise is not None:
            yield _answer(section.exercise, k)
    yield "</section>"


def _number_sections(course: Course) -> list[tuple[int, Section]]:
    return list(enumerate(course.sections, 1))


def _section(course: Course, section: Section, k: int, draw: Draw) -> Iterator[str]:
    yield f'<section id="s{k}"><h2 class="part">{k}. {text(t(section.title))}</h2>'
    if section.quote:
        yield f"<blockquote>{text(quoted(section.quote))}</blockquote>"
    for shown in section.pages:
        yield from _page(course, shown, draw)
    if section.exercise is not None:
        ask = prose(t(section.exercise.ask))
        yield f'<p><b>{t("Exercise {k}.", k=k)}</b> {ask} <a href="#a{k}">{t("Answer")}</a></p>'
    yield "</section>"


def _page(course: Course, shown: Page, draw: Draw) -> Iterator[str]:
    entry = shown.entry
    yield f'<article><h3 class="title">{text(t(entry["title"]))}</h3>'
    if shown.quote:
        yield f"<blockquote>{text(quoted(shown.quote))}</blockquote>"
    yield f'<p class="gist">{prose(t(entry["gist"]))}</p>'
    yield f'<div class="statement">{statement_html(entry["statement"])}</div>'
    chart = draw(shown)
    yield figure_html(chart) if chart is not None else ""
    if shown.look:
        yield f"<p>{prose(t(shown.look))}</p>"
    errata = errata_of(course, shown)
    if errata:
        yield f'<div class="note"><p><b>{text(t("Errata in the sources:"))}</b> {statement_html(errata)}</p></div>'
    yield f"<pre>{text(course_command(shown))}</pre></article>"


def _answer(exercise: Exercise, k: int) -> str:
    numbers = ", ".join(f"{text(name)} = {value:g}" for name, value in exercise.numbers.items())
    found = f"{look(exercise.verdict).word}{'; ' if numbers else ''}{numbers}"
    told = f'<p id="a{k}"><b>{k}.</b> {prose(t(exercise.answer))} <span class="faint">({found})</span></p>'
    return f"{told}<pre>{text(course_command(exercise))}</pre>"
