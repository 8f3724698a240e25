"""`ftheta lab`: every theorem in the browser."""

from typing import Annotated

from cyclopts import Parameter

from ftheta.catalogue import entry_of
from ftheta.logic import UsageError

from .common import Flag


def lab(
    theorem: str | None = None,
    *,
    course: str | None = None,
    subject: Annotated[str | None, Parameter(name=("--on", "--subject"))] = None,
    port: int = 8417,
    host: str = "127.0.0.1",
    token: str | None = None,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
    workers: int = 2,
    classroom: Annotated[bool, Flag] = False,
) -> int:
    """Open the lab in the browser: every theorem with its sliders, on built-in subjects or on yours.

    Parameters
    ----------
    theorem
        The theorem to open; without one, the catalogue.
    course
        The course to follow: its name, or the path of one's own in TOML; `ftheta course` lists them.
    subject
        Your subject: a file, `package.module:attribute`, or a built-in name. Files can also be dropped on the page.
    port
        Where to listen; 0 takes a free port.
    host
        Listen on this address instead of this machine alone: 0.0.0.0 for every network that it is in. The token is
        asked for as always; the connection is not encrypted.
    token
        The token to ask for; without one, a new one is made. It stands in the printed address.
    browser
        Open a browser.
    workers
        Computations at a time.
    classroom
        For a lecture hall: the link with its token as a QR code, answers kept on disk and shared by all pages, presets
        computed ahead, files and audits refused, turns for those who wait longest. It listens on this machine alone
        unless `--host` says otherwise.
    """
    from ftheta.lab.serve import serve

    id = entry_of(theorem)["id"] if theorem else None
    if workers < 1:
        raise UsageError(
            "The lab needs a worker.", got=f"--workers {workers}", remedy="give 1 or more"
        )
    if course is not None:
        from ftheta.courses import course as find

        find(course)  # a mistake in a course is told here, with its line
    if classroom and subject is not None:
        remedy = "leave --on out, or --classroom: a class sees the built-in subjects"
        raise UsageError(
            "In classroom mode there are no files.", got=f"--on {subject}", remedy=remedy
        )
    if subject is not None:
        from ftheta.subjects.resolve import load

        load(subject)  # a subject that cannot be read is told here, not on a page
    options = {
        "host": host,
        "port": port,
        "token": token,
        "browser": browser,
        "workers": workers,
        "classroom": classroom,
    }
    return serve(id, subject=subject, course=course, **options)
