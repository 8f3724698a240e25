"""What is being done, and what was found so far, while work goes on."""

import shutil
import sys
from typing import Any

_MOST = 12  # findings shown


class Working:
    """Lines on standard error while work goes on, on a terminal only: findings so far, worst first, and the step.

    They are drawn again in place, and gone in the end.
    """

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr.isatty()
        self.step = ""
        self.findings: list[Any] = []
        self.lines: list[str] = []

    def __enter__(self) -> "Working":
        self.now("")
        return self

    def now(self, step: str) -> None:
        """The step that work has come to."""
        self.step = step
        self._draw()

    def show(self, finding: Any) -> None:
        """A finding that has just come."""
        self.findings = sorted([*self.findings, finding], key=lambda found: found.severity.rank)[:_MOST]
        self._draw()

    def _draw(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        found = [f"{finding.severity.value.upper():8} {finding.says}" for finding in self.findings]
        lines = [line[:width] for line in (*found, f"{self.what} {self.step}…")]
        if self.shown and lines != self.lines:
            print(self._wipe() + "\n".join(lines), end="", file=sys.stderr, flush=True)
            self.lines = lines

    def _wipe(self) -> str:
        """Back to where the first line began, with nothing after it."""
        up = len(self.lines) - 1
        rise = f"\x1b[{up}A" if up > 0 else ""
        return f"\r{rise}\x1b[J"

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print(self._wipe(), end="", file=sys.stderr, flush=True)
