"""One line on standard error while a run goes on, on a terminal only."""

import sys
import time
from typing import TextIO

BAR = 24


class Line:
    """A bar with step, loss, rate and the time left, drawn at most ten times a second and wiped at the end."""

    def __init__(self, steps: int, shown: bool | None = None, stream: TextIO | None = None) -> None:
        self.steps = steps
        self.stream = stream or sys.stderr
        self.shown = self.stream.isatty() if shown is None else shown
        self._drawn = 0.0

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", file=self.stream, flush=True)

    def say(self, words: str) -> None:
        if self.shown:
            self._drawn = time.monotonic()
            print(f"\r\x1b[2K{words}", end="", file=self.stream, flush=True)

    def now(self, step: int, loss: float, rate: float) -> None:
        if self.shown and time.monotonic() - self._drawn >= 0.1:
            self.say(draw_bar(step, self.steps, loss, rate))


def draw_bar(step: int, steps: int, loss: float, rate: float) -> str:
    """One line: how far the run is, its loss, `rate` steps per second, the time left."""
    full = BAR * step // max(steps, 1)
    left = (steps - step) / rate if rate > 0 else 0.0
    bar = "█" * full + "░" * (BAR - full)
    return (
        f"{bar} {step:,} of {steps:,} · loss {loss:.4g} · {rate:,.0f} steps/s · {_clock(left)} left"
    )


def _clock(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
