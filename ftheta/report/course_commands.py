"""The commands that run a page of a course, or the answer of an exercise."""

from ftheta.courses.model import Exercise, Page

from .reproduce import check_call, check_line


def course_command(run: Page | Exercise) -> str:
    """The line for the terminal that runs a page, or the answer of an exercise."""
    return check_line(run.theorem, run.preset, run.knobs, force=_is_forced(run))


def course_snippet(run: Page | Exercise) -> str:
    """The same in Python."""
    return check_call(run.theorem, run.preset, run.knobs, force=_is_forced(run))


def _is_forced(run: Page | Exercise) -> bool:
    return isinstance(run, Exercise) and run.force
