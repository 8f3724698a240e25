"""A lab that runs, and a tab in which it is open."""

import os
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import BrowserContext, ConsoleMessage, Page

_SHOWN = "() => ({...document.getElementById('centre').dataset, hash: location.hash})"
_STEP = 30  # ms between two looks
_LOOKS = 4  # in a row, until what is seen is believed
_AT_REST = """() => {
  const ends = animation => animation.effect.getComputedTiming().iterations !== Infinity;
  const ending = document.getAnimations().filter(ends).map(animation => animation.finished);
  return Promise.allSettled(ending).then(() => null);
}"""
_FRAMES = """frames => new Promise(done => {
  const next = left => left ? requestAnimationFrame(() => next(left - 1)) : done(null);
  next(frames);
})"""


class Server:
    """`ftheta lab` as a process of its own, with a cache folder of its own; `address` is the one it prints."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [
            sys.executable,
            "-m",
            "ftheta",
            "lab",
            "--port",
            "0",
            "--no-browser",
            "--workers",
            "1",
            *options,
        ]
        self.log = folder / "lab.log"
        with self.log.open("w") as log:
            environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=log, env=environment, text=True, cwd=folder
            )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert "http://" in line, f"the lab did not start: {line}{self.log.read_text()}"
        self.address = line.split()[2]

    def __enter__(self) -> "Server":
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.terminate()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def workers(self) -> list[int]:
        """The process ids of the workers that sliders wait for: the one at work and the one that is spare."""
        found = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        pids = [int(child) for children in found for child in children.read_text().split()]
        return [
            pid for pid in pids if b"background" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        ]

    def busy_worker(self, within: float = 60.0) -> int:
        """The worker that computes: the only one that does not wait for input, as a spare one does when it is ready."""
        alone: list[int] = []
        end = time.monotonic() + within
        while len(alone) < _LOOKS:
            assert time.monotonic() < end, "no worker computes"
            before = {pid: _ticks(pid) for pid in self.workers()}
            time.sleep(0.3)
            awake = [
                pid for pid, ticks in before.items() if _ticks(pid) > ticks or _is_runnable(pid)
            ]
            alone = [*alone, *awake] if len(awake) == 1 and set(alone) <= set(awake) else []
        return alone[-1]


def _stat(pid: int) -> list[str]:
    """What the system says of a process after its name: first its state."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _is_runnable(pid: int) -> bool:
    """Whether it would compute if it were given a processor."""
    return _stat(pid)[0] == "R"


def _ticks(pid: int) -> int:
    """Processor time of a process, in clock ticks."""
    user, system = _stat(pid)[11:13]
    return int(user) + int(system)


class Tab:
    """A page of the lab that notes everything that must not happen. `address` is the printed one, token included."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.url = address.partition("/?")[0]
        self.page: Page = context.new_page()
        self.complaints: list[str] = []
        self.strangers: list[str] = []
        self.page.on("console", self._console)
        self.page.on(
            "pageerror", lambda error: self.complaints.append(f"error on the page: {error}")
        )
        self.page.on("request", lambda request: self._requested(request.url))
        self.page.on(
            "websocket", lambda socket: self._requested(socket.url.replace("ws://", "http://"))
        )

    def _console(self, message: ConsoleMessage) -> None:
        looking = "willReadFrequently" in message.text  # what the tests do, not the page
        if message.type in ("error", "warning") and not looking:
            self.complaints.append(f"{message.type}: {message.text}")

    def _requested(self, url: str) -> None:
        if not url.startswith((f"{self.url}/", "data:", f"blob:{self.url}/")):
            self.strangers.append(url)

    def open(self, hash: str = "#/") -> "Tab":
        """Load the page at a hash."""
        self.page.goto(f"{self.address}{hash}")
        self.page.wait_for_selector("#centre > div")
        return self

    def go(self, theorem: str, **state: Any) -> str:
        """Go to a state of a theorem and wait for its result; the phase the page is in then."""
        query = urlencode(state)
        hash = f"#/{theorem}{'?' + query if query else ''}"
        if self.page.url.startswith(self.url):
            self.page.evaluate("hash => { location.hash = hash }", hash)
        else:
            self.open(hash)
        self.until(
            lambda: (
                self.hash.startswith(f"#/{theorem}") and self.now["hash"] == self.now.get("shown")
            )
        )
        return self.settle()

    @property
    def now(self) -> dict[str, str]:
        """What the page says that it shows."""
        return self.page.evaluate(_SHOWN)

    @property
    def hash(self) -> str:
        return self.now["hash"]

    def settle(self, seconds: float = 90) -> str:
        """Wait until what is shown is what the address says, and nothing is being computed."""
        done = lambda now: now.get("shown") == now["hash"] and now.get("phase") != "computing"
        self.until(lambda: done(self.now), seconds)
        return self.now["phase"]

    def until(self, holds: Any, seconds: float = 90) -> None:
        """Wait until something holds. (Playwright's own wait would evaluate a string, which the page forbids.)"""
        ends = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < ends, f"still {self.now} after {seconds} s; {self.complaints}"
            self.page.wait_for_timeout(_STEP)

    def rest(self) -> None:
        """Wait until nothing fades or slides any more."""
        self.page.evaluate(_AT_REST)

    def frames(self, count: int) -> None:
        """Wait until the page was painted so many times."""
        self.page.evaluate(_FRAMES, count)

    def text(self, selector: str) -> str:
        return self.page.locator(selector).inner_text()

    def picture(self) -> str:
        """The chart in front as a data URL: two charts differ exactly if these do."""
        return self.page.locator(".stage canvas").evaluate("canvas => canvas.toDataURL()")

    def colours(self) -> int:
        """How many colours the chart has, at least: a blank one has one."""
        return self.page.locator(".stage canvas").evaluate(
            """canvas => {
              const {width, height} = canvas;
              const all = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, width, height).data.buffer);
              const found = new Set();
              for (let i = 0; i < all.length && found.size < 4; i++) found.add(all[i]);
              return found.size;
            }"""
        )

    def preset(self, index: int, seconds: float = 90) -> str:
        """Press a preset's button and wait for its result; the phase the page is in then."""
        button = self.page.locator(".preset").nth(index)
        button.click()
        self.until(lambda: button.get_attribute("aria-pressed") == "true")
        return self.settle(seconds)

    def assert_quiet(self) -> None:
        """Nothing was complained about and nobody else was asked."""
        assert self.complaints == [], self.complaints
        assert self.strangers == [], self.strangers

    def close(self) -> None:
        self.page.close()
