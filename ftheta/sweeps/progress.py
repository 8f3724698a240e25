"""How far a sweep is and when it ends, in one line on standard error. (The line of `fit` lives in a room with JAX.)"""

import sys
import time

BAR = 24
OFTEN = 0.1  # seconds between two drawings


class Progress:
    """`done` of `total` cells are finished when it starts. Drawn on a terminal only, unless `shown` says otherwise."""

    def __init__(self, total: int, done: int, shown: bool | None, what: str = "cells") -> None:
        self.what = what
        self.total = total
        self.done = done
        self.failed = 0
        self.note = ""
        self.began = time.monotonic()
        self.before = done
        self.shown = sys.stderr.isatty() if shown is None else shown
        self._drawn = 0.0
        self._remark = ""

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._drawn:
            print("\r\x1b[2K", end="", file=sys.stderr, flush=True)

    def add(self, done: int, failed: int) -> None:
        self.done, self.failed = self.done + done, self.failed + failed

    def tell(self, remark: str) -> None:
        """Say this once: in the line, or where none is drawn in one of its own."""
        if remark == self._remark:
            return
        self._remark = self.note = remark
        if remark and not self.shown:
            print(f"ftheta: {remark}", file=sys.stderr, flush=True)

    def draw(self) -> None:
        if self.shown and time.monotonic() - self._drawn >= OFTEN:
            self._drawn = time.monotonic()
            print(f"\r\x1b[2K{self.words()}", end="", file=sys.stderr, flush=True)

    def words(self) -> str:
        rate = (self.done - self.before) / max(time.monotonic() - self.began, 1e-9)
        full = BAR * self.done // max(self.total, 1)
        left = f"{clock((self.total - self.done) / rate)} left" if rate > 0 else "time left unknown"
        parts = [f"{'█' * full}{'░' * (BAR - full)} {self.done:,} of {self.total:,} {self.what}"]
        parts += [f"{self.failed:,} failed"] if self.failed else []
        parts += [f"{rate:,.1f} {self.what}/s", left] + ([self.note] if self.note else [])
        return " · ".join(parts)


def clock(seconds: float) -> str:
    """`1:02:03`, with days where there are some."""
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    told = f"{hours}:{minutes:02}:{seconds:02}" if days or hours else f"{minutes}:{seconds:02}"
    return f"{days} d {told}" if days else told
