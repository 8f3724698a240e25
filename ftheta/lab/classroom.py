"""The lab for a lecture hall: presets computed ahead, nothing uploaded, no audits, a page with the link to join."""

import asyncio
from html import escape
from typing import Any, NoReturn

from ftheta.catalogue import index
from ftheta.courses import course as find_course
from ftheta.languages import language
from ftheta.logic import UsageError

from .answer_jobs import SharedJobs, run_job
from .background import BackgroundJobs
from .protocol import Run, Size, State
from .qr import encode, to_svg

BROKEN = "broken on purpose"
_SIZES = 2  # of the charts, that presets are computed ahead in: the commonest
_PAUSE = 1.0  # seconds between two looks whether a page is open


def refuse() -> NoReturn:
    """Nobody hands a file to a class, and nobody takes all of its processors."""
    remedy = "start a lab of your own: `ftheta lab`"
    raise UsageError(
        "In classroom mode files are not taken, and networks not audited.", remedy=remedy
    )


def join_page(address: str) -> str:
    """The link as a QR code to be projected."""
    style = '<link rel="icon" href="/static/icon.svg"><link rel="stylesheet" href="/static/style/join.css">'
    head = f'<meta charset="utf-8"><title>fθ lab: join</title>{style}'
    code = to_svg(encode(address))
    return f'<!DOCTYPE html><html lang="en"><head>{head}</head><body>{code}<p>{escape(address)}</p></body></html>'


def order_of_lessons(theorem: str | None, course: str | None) -> list[str]:
    """All theorems, those that the lab was opened with first."""
    first = [theorem] if theorem else []
    if course is not None:
        first += [
            page.theorem for section in find_course(course).sections for page in section.pages
        ]
    return list(dict.fromkeys([*first, *index()]))


async def compute_ahead(jobs: SharedJobs, background: BackgroundJobs, theorems: list[str]) -> None:
    """Have the presets of all theorems computed, in the sizes that pages ask for; again when these change."""
    done: set[Size | None] = set()
    while True:
        wanted = [size for size, _ in jobs.sizes.most_common(_SIZES) if size not in done]
        if not wanted:
            await asyncio.sleep(_PAUSE)
            continue
        for run in (preset for id in theorems for preset in presets_of(id, wanted[0])):
            await _compute(run, jobs, background)
        done.add(wanted[0])


def presets_of(id: str, size: Size | None) -> list[Run]:
    """What a page asks for when a theorem is opened, and for each of its presets."""
    names: list[str | None] = [None, *index()[id]["presets"]]
    states = [
        State(theorem=id, preset=name, force=name == BROKEN, lang=language()) for name in names
    ]
    return [Run(type="run", n=0, state=state, size=size) for state in states]


async def _compute(run: Run, jobs: SharedJobs, background: BackgroundJobs) -> None:
    if jobs.holds(run):
        return
    while jobs.pool.waiting:  # pages wait: the processors are theirs
        await asyncio.sleep(_PAUSE)
    order: dict[str, Any] = run_job(run, jobs.store).order
    header, body = await background.picture({**order, "theorem": run.state.theorem, "ahead": True})
    if header["kind"] == "done":
        jobs.keep(run, body)
