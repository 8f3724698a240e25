"""What is being done, how far it is, and what was found so far, while work goes on."""

import os
import shutil
import sys
from time import monotonic

from ftheta.logic import AuditFinding, AuditProgress, Severity

from .letters import letters

_MOST = 12  # findings shown
_LEAST_BAR = 10  # columns
_MOST_BAR = 32
_BARS = ("━", "─")  # done, to do
_PLAIN_BARS = ("#", "-")  # for terminals that cannot write those
_COLOURS = {Severity.PROBLEM: 31, Severity.WARNING: 33, Severity.NOTE: 34, Severity.GOOD: 32}


class Working:
    """Lines on standard error while work goes on, on a terminal only: findings so far, worst first, and the step.

    They are drawn again in place, and gone in the end.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr.isatty()
        self.coloured = not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
        self.begun = monotonic()
        self.progress: AuditProgress | None = None
        self.findings: list[AuditFinding] = []
        self.lines: list[str] = []

    def __enter__(self) -> "Working":
        self._draw()
        return self

    def advance(self, progress: AuditProgress) -> None:
        """How far the work has come."""
        self.progress = progress
        self._draw()

    def show(self, finding: AuditFinding) -> None:
        """A finding that has just come."""
        self.findings = sorted([*self.findings, finding], key=lambda found: found.severity.rank)
        self._draw()

    def _draw(self) -> None:
        if not self.shown:
            return
        columns, rows = shutil.get_terminal_size()
        # with the line below them they must fit: what has scrolled away stays for ever
        most = min(_MOST, rows - 2)
        found = [
            f"{f.severity.value.upper():8} {letters(f.says)}" for f in self.findings[: max(most, 0)]
        ]
        lines = [line[: columns - 1] for line in (*found, self._standing(columns - 1))]
        if lines != self.lines:
            print(
                self._wipe(columns) + "\n".join(map(self._paint, lines)),
                end="",
                file=sys.stderr,
                flush=True,
            )
            self.lines = lines

    def _standing(self, columns: int) -> str:
        """The step; where it is known how far it is, a bar with the time that is left."""
        progress = self.progress
        if progress is None:
            return f"{self.what}…"
        which = f" {progress.which}" if progress.which else ""
        left = progress.seconds_left
        if left is None:
            return f"{self.what}{which}: reading the network and the data, {monotonic() - self.begun:.0f} s"
        told = f" {100 * progress.share:3.0f} %  {_roughly(left)} left · {progress.done} of {progress.tasks}"
        now = f": {', '.join(progress.now)}" if progress.now else ""
        room = columns - len(self.what) - len(which) - len(told) - len(now) - 1
        return f"{self.what}{which} {_bar(progress.share, min(max(room, _LEAST_BAR), _MOST_BAR))}{told}{now}"

    def _paint(self, line: str) -> str:
        """The line with the word of its severity in colour."""
        word = line.split(" ", 1)[0].lower()
        if not self.coloured or word not in list(Severity):
            return line
        return f"\x1b[1;{_COLOURS[Severity(word)]}m{line[: len(word)]}\x1b[0m{line[len(word) :]}"

    def _wipe(self, columns: int) -> str:
        """Empty the lines and go back to where the first began; a window made narrower has wrapped them.

        Row by row: some terminals keep what is cleared at once for scrolling back.
        """
        rows = sum(1 + max(len(line) - 1, 0) // max(columns, 1) for line in self.lines)
        rise = f"\x1b[{rows - 1}A" if rows > 1 else ""
        return "\r" + rise + "\n".join(["\x1b[2K"] * rows) + "\r" + rise

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print(
                self._wipe(shutil.get_terminal_size().columns), end="", file=sys.stderr, flush=True
            )


def _bar(share: float, columns: int) -> str:
    """So many columns, a share of them filled."""
    filled, empty = _BARS if _writes("".join(_BARS)) else _PLAIN_BARS
    done = round(share * columns)
    return filled * done + empty * (columns - done)


def _writes(text: str) -> bool:
    """Whether standard error has these letters."""
    try:
        text.encode(sys.stderr.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _roughly(seconds: float) -> str:
    """About how long, no finer than is known."""
    if seconds >= 90:
        return f"about {seconds / 60:.0f} min"
    step = 5 if seconds >= 20 else 1
    return f"about {step * max(1, round(seconds / step)):.0f} s"
