"""One page per course: sections in the order of the slides, each with an exercise whose answer is folded."""

from collections.abc import Callable, Iterator
from html import escape

from ftheta.courses import Course, Exercise, Page, Section
from ftheta.languages import t
from ftheta.logic import Result
from ftheta.logic.chart import Chart
from ftheta.report.course_commands import course_command
from ftheta.report.course_words import errata_of, quoted
from ftheta.report.letters import letters
from ftheta.report.mathml import statement_html, words_html
from ftheta.report.numbers import number
from ftheta.report.page import figure_html, numerals
from ftheta.report.verdicts import look

from .contents import Contents
from .markup import (
    anchor_html,
    code_lines,
    fold,
    heading,
    html_block,
    join,
    link,
    paragraph,
    toctree,
)

Read = Callable[[str], Result | None]


def courses_page(contents: Contents) -> str:
    """All courses with their sections."""
    parts = []
    for name, course in contents.courses.items():
        sections = "".join(
            f"<li>{link(f'{name}.html#section-{k}', t(section.title))}</li>"
            for k, section in enumerate(course.sections, 1)
        )
        by = f'<p class="under">{escape(course.by)}</p>'
        walk = code_lines(f"ftheta course {name}", f"ftheta lab --course {name}")
        parts += [heading(2, t(course.title)), html_block(f"{by}<ol>{sections}</ol>{walk}")]
    lead = t(
        "Most theorems here come from five lecture courses. Each is a way through them in the order of its slides."
    )
    below = {
        name: f"{t(course.title)} ({course.by.split(',')[0]})"
        for name, course in contents.courses.items()
    }
    return join(heading(1, t("Courses")), f"{lead}\n", *parts, toctree(below))


def course_page(name: str, course: Course, read: Read) -> str:
    """The page of a course; `read` gives the stored run of a theorem."""
    lines = code_lines(
        f"ftheta course {name}",
        f"ftheta lab --course {name}",
        f"ftheta course {name} --print {name}.html",
    )
    parts = [
        heading(1, t(course.title)),
        html_block(f'<p class="under">{escape(course.by)}</p>', lines),
    ]
    for k, section in enumerate(course.sections, 1):
        parts += [html_block(anchor_html(f"section-{k}")), heading(2, f"{k}. {t(section.title)}")]
        parts += (
            [html_block(f"<blockquote>{quoted(words_html(section.quote))}</blockquote>")]
            if section.quote
            else []
        )
        parts += [html_block(*_section(course, section, read))]
    return join(*parts)


def _section(course: Course, section: Section, read: Read) -> Iterator[str]:
    for page in section.pages:
        yield f'<article class="lesson-page">{"".join(_page(course, page, read(page.theorem)))}</article>'
    if section.exercise is not None:
        yield _exercise(section.exercise)


def _page(course: Course, page: Page, result: Result | None) -> Iterator[str]:
    entry = page.entry
    yield f"<h3>{link(f'../theorems/{page.theorem}.html', t(entry['title']))}</h3>"
    if page.quote:
        yield f"<blockquote>{quoted(words_html(page.quote))}</blockquote>"
    yield paragraph(t(entry["gist"]), "gist")
    if page.look:
        yield paragraph(t(page.look))
    yield _picture(page, result)
    errata = errata_of(course, page)
    if errata:
        yield f'<div class="note"><p><b>{t("Errata in the sources:")}</b> {statement_html(errata)}</p></div>'
    yield code_lines(course_command(page))


def _picture(page: Page, result: Result | None) -> str:
    """The picture that the page names, of the stored run; where the page has other knobs, it says so."""
    chart = _choose_chart(page, result)
    if chart is None:
        return ""
    differs = t("The picture is of the default run; the line below sets what the page asks for.")
    return figure_html(chart) + (
        f'<p class="faint">{differs}</p>' if page.preset or page.knobs else ""
    )


def _choose_chart(page: Page, result: Result | None) -> Chart | None:
    charts = result.charts if result is not None else ()
    named = [chart for chart in charts if letters(chart.title) == letters(page.chart)]
    return next(iter([*named, *charts]), None)


def _exercise(exercise: Exercise) -> str:
    numbers = ", ".join(
        f"{words_html(name)} = {numerals(number(value))}"
        for name, value in exercise.numbers.items()
    )
    found = f"{look(exercise.verdict).word}{'; ' * bool(numbers)}{numbers}"
    answer = f'{paragraph(t(exercise.answer))}<p class="faint">{t("The run finds: {found}.", found=found)}</p>'
    folded = fold(t("Answer"), answer + code_lines(course_command(exercise)))
    return f'<div class="exercise"><p><b>{t("Exercise.")}</b> {words_html(t(exercise.ask))}</p>{folded}</div>'
