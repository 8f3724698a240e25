"""What is being done, while it is done."""

import sys


class Working:
    """A line on standard error while work goes on, on a terminal only."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.shown = sys.stderr.isatty()

    def __enter__(self) -> "Working":
        self.now("")
        return self

    def now(self, step: str) -> None:
        if self.shown:
            print(f"\r\x1b[2K{self.what} {step}…", end="", file=sys.stderr, flush=True)

    def __exit__(self, *_: object) -> None:
        if self.shown:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)
