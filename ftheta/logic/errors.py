"""One form for every error a user can cause: what, where, what was got, what to do."""

import difflib
from collections.abc import Iterable


def _printable(got: object) -> object:
    """What was got, unless Python refuses to print it."""
    try:
        str(got)
    except ValueError:
        return "a number of more digits than are printed"
    return got


class FthetaError(Exception):
    """Something the user can mend. `exit_code` is what the command line returns."""

    exit_code = 70

    def __init__(self, what: str, *, where: str = "", got: object = None, remedy: str = "") -> None:
        self.what = what
        self.where = where
        self.got = _printable(got)
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        parts = [self.what]
        if self.where:
            parts.append(f"where: {self.where}")
        if self.got is not None:
            parts.append(f"got: {self.got}")
        if self.remedy:
            parts.append(f"remedy: {self.remedy}")
        return "\n  ".join(parts)


class UsageError(FthetaError):
    """A wrong word on the command line or a wrong argument: an unknown id, a knob out of type or range."""

    exit_code = 2


class SubjectError(FthetaError):
    """A subject that cannot be read or is not what it should be: a broken file, NaN weights, wrong shapes."""

    exit_code = 4


class UnknownSubjectError(SubjectError):
    """Words that name nothing: no file, no built-in subject, no Python object; or something of another kind. Most often
    a slip of the pen."""


def suggest(word: str, known: Iterable[str], otherwise: str = "", *, most: int = 2) -> str:
    """The remedy for a word that is not known: the nearest known ones, or, where none is near, what else to do."""
    names = list(known)
    holding = [name for name in names if word and word in name.split("-")]
    near = holding[:most] or difflib.get_close_matches(word, names, n=most, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else otherwise
