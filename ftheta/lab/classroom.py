"""The lab for a lecture hall: nothing uploaded, no audits, a page with the link to join, the order of the lesson."""

from html import escape
from typing import NoReturn

from ftheta.catalogue import index
from ftheta.courses import course as find_course
from ftheta.logic import UsageError

from .qr import encode, to_svg


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
