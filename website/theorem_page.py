"""One page per theorem, generated from the index, its lesson and its stored run."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from ftheta.catalogue.bibliography import bibtex
from ftheta.lab.contents import symbol_html
from ftheta.languages import later, t
from ftheta.logic import Check, Result, Verdict
from ftheta.report.explained import explain_statement
from ftheta.report.letters import letters
from ftheta.report.mathml import statement_html, words_html
from ftheta.report.page import data_table, figure_html, pill, scrolled, table
from ftheta.report.parts_html import parts_html
from ftheta.report.reproduce import check_call, check_line
from ftheta.report.theorem_html import (
    claims_html,
    examples_html,
    numbers_html,
    printed_claims_html,
    summary_html,
)
from ftheta.report.verdicts import MARKS, look
from ftheta.report.words import describe_status, failing_checks

from .contents import Contents
from .lab_lines import lab_address, lab_line
from .lesson_html import symbols_html, trials_html
from .markup import code_lines, fold, heading, html_block, join, link, paragraph
from .related import related_svg

Entry = Mapping[str, Any]
MOST_RELATED = 6  # theorems of a column of the graph
NO_RUN = later(
    "There is no stored run of this theorem in this build of the site; the line below runs it on your machine."
)


def theorem_page(
    entry: Entry, result: Result | None, contents: Contents, control: Result | None = None
) -> str:
    """The source of the page. `result` is the default run and `control` the forced run of the negative control; without
    a stored `result` the page says so."""
    lesson = entry["lesson"] or {}
    symbols = lesson.get("symbols", {})
    return join(
        heading(1, t(entry["title"])),
        html_block(
            _eyebrow(entry, contents), paragraph(t(entry["gist"]), "gist") if entry["gist"] else ""
        ),
        html_block(_verdict_card(entry, result)),
        heading(2, t("Statement")),
        html_block(explain_statement(entry["statement"], symbols)),
        *_section(t("Why one cares"), paragraph(lesson["why"]) if lesson else ""),
        *_section(t("Its parts"), parts_html(lesson["parts"], symbols) if lesson else ""),
        *_section(t("Symbols"), symbols_html(symbols)),
        *_section(t("Hypotheses"), _hypotheses(entry, result)),
        *_section(t("Idea of the proof"), paragraph(lesson["idea"]) if lesson else ""),
        *_section(t("What a run finds"), "\n".join(_findings(result))),
        *_section(t("Try this"), trials_html(entry["id"], lesson["trials"]) if lesson else ""),
        *_section(t("What breaks it"), _breaking(entry, lesson, control)),
        *_section(t("Options and presets"), _options(entry) + _presets(entry)),
        *_section(
            t("Errata in the sources"),
            f'<div class="note">{_paragraphs(entry["errata"])}</div>' * bool(entry["errata"]),
        ),
        *_section(t("Run it"), _run_lines(entry)),
        *_section(t("Related theorems"), _related(entry, contents)),
        *_section(t("In the courses"), _courses(entry, contents)),
        *_section(t("Sources"), _sources(entry)),
    )


def _section(title: str, body: str) -> tuple[str, ...]:
    """A heading and what stands below it; nothing at all where there is nothing to say."""
    return (heading(2, title), html_block(body)) if body else ()


def _paragraphs(text: str) -> str:
    return f"<p>{statement_html(text)}</p>"


def _eyebrow(entry: Entry, contents: Contents) -> str:
    chapter = link(f"../chapters/{entry['chapter']}.html", t(entry["chapter_title"]))
    since = t("since version {version}", version=escape(contents.version_of(entry["id"])))
    return f'<p class="under">{chapter} · <code>{escape(entry["id"])}</code> · {since}</p>'


# -- what was found -----------------------------------------------------------------------------------------


def _verdict_card(entry: Entry, result: Result | None) -> str:
    """Verdict and first picture of the default run."""
    if result is None:
        return f'<div class="card missing-run"><p>{t(NO_RUN)}</p>{code_lines(check_line(entry["id"]))}</div>'
    here = look(result.verdict)
    mark = pill(here, f", {t('vacuous')}" if result.vacuous else "")
    subject = t(
        "{kind} “{name}”, defaults, seed 0",
        kind=result.provenance.subject_kind,
        name=letters(result.provenance.subject),
    )
    told = f'<p class="verdict">{mark} <span class="faint">{escape(subject)}</span></p>{summary_html(result, here)}'
    picture = figure_html(result.charts[0], id=result.id) if result.charts else ""
    return f'<div class="card">{told}{picture}</div>'


def _findings(result: Result | None) -> Iterator[str]:
    """Claims, misprints, further pictures, numbers and tables of the default run."""
    if result is None:
        yield f"<p>{t(NO_RUN)}</p>"
        return
    yield claims_html(result.claims, result.id)
    yield printed_claims_html(result.as_printed)
    further = "".join(figure_html(chart, id=result.id) for chart in result.charts[1:])
    yield f'<div class="gallery">{further}</div>' if further else ""
    tables = "".join(map(data_table, result.tables))
    yield fold(t("Numbers"), numbers_html(result.numbers, title="")) if result.numbers else ""
    yield fold(t("Tables"), tables) if tables else ""
    examples = examples_html(result, 3)
    yield fold(t("Examples on other subjects"), examples) if examples else ""


def _hypotheses(entry: Entry, result: Result | None) -> str:
    """What is assumed, how well that is known in the default run, and how to meet it."""
    found = {check.name: check for check in result.checks} if result is not None else {}
    items = [
        f"<li>{_mark(found.get(asked['name']))}{_kind(asked)}{words_html(asked['says'] or asked['name'])}"
        f"{_known(found.get(asked['name']))}{_remedy(asked['remedy'])}</li>"
        for asked in (*entry["assumes"], *entry["adapters"])
    ]
    return (
        f'<ul class="checks">{"".join(items)}</ul>'
        if items
        else f"<p>{t('None: it holds for every subject it takes.')}</p>"
    )


def _mark(check: Check | None) -> str:
    sign, family = ("·", "unchecked") if check is None else MARKS[check.finding.status]
    return f'<span class="mark {family}">{sign}</span>'


def _kind(asked: Entry) -> str:
    return (
        f'<span class="faint">{t("of a {kind}:", kind=escape(asked["takes"]))}</span> '
        if "takes" in asked
        else ""
    )


def _known(check: Check | None) -> str:
    if check is None:
        return ""
    note = words_html(check.finding.note + describe_status(check.finding))
    return f'<br><span class="faint">{t("Here:")} {note}</span>'


def _remedy(words: str) -> str:
    return (
        f'<br><span class="faint">{t("To meet it:")} {words_html(words.rstrip("."))}.</span>'
        if words
        else ""
    )


def _breaking(entry: Entry, lesson: Entry, control: Result | None) -> str:
    """What fails without a hypothesis, and the control that shows it."""
    told = paragraph(lesson["breaks"]) if lesson else ""
    why = words_html(entry["unbreakable"].rstrip("."))
    if not entry["breakable"]:
        return f"{told}<p>{t('It has no negative control: {why}.', why=why)}</p>"
    id = entry["id"]
    lines = code_lines(f"ftheta check {id} --breaker", f"ftheta check {id} --breaker --force")
    unrefuted = f"<p>{why}.</p>" if why else ""
    return told + (_control(control) if control is not None else "") + unrefuted + lines


def _control(control: Result) -> str:
    """Which hypotheses the negative control breaks, and what becomes of the claims when the run is forced."""
    origin = control.provenance
    subject = t(
        "The negative control is the {kind} “{name}”.",
        kind=escape(origin.subject_kind),
        name=words_html(origin.subject),
    )
    failed = "".join(
        f"<li><b>{words_html(check.says or check.name)}</b>"
        f"{t(' fails: {note}.', note=words_html(check.finding.note))}</li>"
        for check in failing_checks(control)
    )
    refuted = [judged for judged in control.claims if judged.judgement.verdict is Verdict.REFUTED]
    forced = f"<p>{t('Forced:')} {pill(look(control.verdict))}</p>{claims_html(refuted)}"
    picture = fold(t("Its picture"), figure_html(control.charts[0])) if control.charts else ""
    return f"<p>{subject}</p><ul>{failed}</ul>{forced}{picture}"


# -- how to run it ------------------------------------------------------------------------------------------


def _options(entry: Entry) -> str:
    rows = [_option(setting) for setting in entry["knobs"]]
    return (
        table((t("option"), t("meaning"), t("range"), t("default")), rows, left=3) if rows else ""
    )


def _option(setting: Entry) -> tuple[str, ...]:
    knob = setting["knob"]
    symbol = f"{symbol_html(knob['symbol'])}: " if knob["symbol"] else ""
    ends = (
        f"{knob['lo']:g} … {knob['hi']:g}"
        if setting["type"] in ("int", "float")
        else ", ".join(knob["choices"])
    )
    name = f"<code>--{escape(setting['name'].replace('_', '-'))}</code>"
    return (
        name,
        f"{symbol}{words_html(knob['says'])}",
        escape(ends),
        escape(str(setting["default"])),
    )


def _presets(entry: Entry) -> str:
    rows = []
    for name, knobs in entry["presets"].items():
        told = ", ".join(
            f"{escape(knob)} = {escape(str(value))}" for knob, value in knobs.items()
        ) or t("the defaults")
        rows.append(
            (
                escape(name),
                told,
                f'<td class="wraps"><code>{escape(check_line(entry["id"], name))}</code></td>',
            )
        )
    return table((t("preset"), t("sets"), t("run it")), rows, left=3) if rows else ""


def _run_lines(entry: Entry) -> str:
    id = entry["id"]
    kinds = ", ".join(map(escape, entry["takes"]))
    taken = t(
        "It takes: {kinds}; {option} hands in yours.", kinds=kinds, option="<code>--on</code>"
    )
    takes = f"<p>{taken}</p>"
    audited = f"<p>{t('It is part of every audit.')}</p>" if entry["audited"] else ""
    lab = f'<p class="faint">{t("In the lab its address ends in")} <code>{escape(lab_address(id))}</code>.</p>'
    lines = code_lines(
        f"ftheta show {id}",
        check_line(id),
        f"ftheta check {id} --out {id}.svg",
        f"ftheta notebook {id}",
        lab_line(id),
    )
    return (
        takes
        + audited
        + lines
        + code_lines("import ftheta as ft", "", f"result = {check_call(id)}")
        + lab
    )


# -- what it belongs to -------------------------------------------------------------------------------------


def _related(entry: Entry, contents: Contents) -> str:
    leads = contents.leads_of(entry["id"])
    origins = contents.origins_of(entry["id"])
    if not leads and not origins:
        return ""
    titled = lambda ids: {
        f"{id}.html": t(contents.theorems[id]["title"]) for id in list(ids)[:MOST_RELATED]
    }
    graph = scrolled(related_svg(t(entry["title"]), titled(origins), titled(leads)))
    items = [
        f"<li>{link(f'{id}.html', t(contents.theorems[id]['title']))}{': ' * bool(why)}{words_html(why)}</li>"
        for id, why in leads.items()
    ]
    return f"{graph}<ul>{''.join(items)}</ul>" if items else graph


def _courses(entry: Entry, contents: Contents) -> str:
    items = []
    for name, k in contents.places_in_courses(entry["id"]):
        course = contents.courses[name]
        place = link(f"../courses/{name}.html#section-{k}", t(course.sections[k - 1].title))
        title = escape(t(course.title))
        taught = t("in {course}, {author}", course=title, author=escape(course.by))
        items.append(f"<li>{place} <span class='faint'>{taught}</span></li>")
    return f"<ul>{''.join(items)}</ul>" if items else ""


def _sources(entry: Entry) -> str:
    items = "".join(f"<li>{words_html(line)}</li>" for line in entry["sources"].values())
    entries = code_lines(*(bibtex(key).strip() for key in entry["sources"]))
    return f"<ul>{items}</ul>{fold('BibTeX', entries)}" if items else ""
