"""What is being done, while it is done."""

import shutil
import sys


class Working:
    """A line on standard error while work goes on, on a terminal only."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr.isatty()
        self.last = ""

    def __enter__(self) -> "Working":
        self.now("")
        return self

    def now(self, step: str) -> None:
        line = f"{self.what} {step}…"[: shutil.get_terminal_size().columns - 1]
        if self.shown and line != self.last:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
            self.last = line

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
