"""The commands that run a page of a course, or the answer of an exercise."""

import shlex

from ftheta.courses.model import Exercise, Page

from .reproduce import write_word


def course_command(run: Page | Exercise) -> str:
    """The line for the terminal that runs a page, or the answer of an exercise."""
    preset = [f"--preset {shlex.quote(run.preset)}"] if run.preset else []
    knobs = [f"--{name.replace('_', '-')} {write_word(value)}" for name, value in run.knobs.items()]
    force = ["--force"] if isinstance(run, Exercise) and run.force else []
    return " ".join(["ftheta check", run.theorem, *preset, *knobs, *force])


def course_snippet(run: Page | Exercise) -> str:
    """The same in Python."""
    preset = [f"preset={run.preset!r}"] if run.preset else []
    knobs = [f"{name}={value!r}" for name, value in run.knobs.items()]
    force = ["force=True"] if isinstance(run, Exercise) and run.force else []
    return f"ft.check({', '.join([repr(run.theorem), *preset, *knobs, *force])})"
