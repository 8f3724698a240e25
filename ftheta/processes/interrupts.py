"""Ctrl-C, heeded at the first press.

Python raises KeyboardInterrupt wherever the main thread happens to be. Inside a callback of the garbage collector (JAX
has one), a `__del__`, or a library's bare `except`, that exception is swallowed and the program runs on. A command
therefore watches the key itself: a press is remembered, and KeyboardInterrupt is raised again until somebody heeds it,
but not where it would be lost and not while it is on its way out. A second press ends the process at once, in the
middle of native code too: it is heard by a thread.

An alarm (`alarm_at`) ends what does not look at the clock itself, in the same way as a press.

`watch` is for the process of a command. Where nobody watches (a script, a notebook, a worker), Python's own handling
stays, and `heed` and `held` change nothing.
"""

import _thread
import atexit
import gc
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from .compilation import clock

EXIT_CODE = 130
TICK = 0.05  # seconds until an unheeded press is raised again
BOUNCE = 0.3  # seconds in which signals are one press: a wrapper may pass on what the terminal has sent already
PATIENCE = 2.0  # seconds after which an unheeded press is commented on


class Interrupted(KeyboardInterrupt):
    """What a watched process raises. Of a plain KeyboardInterrupt that has passed through `exec` of a string, Python
    remembers at its very end that nobody had caught it there, and dies of the signal instead of returning a code."""


class _Watch:
    """The state of one watched process."""

    def __init__(self) -> None:
        self.pressed = False
        self.heeded = False
        self.holds = 0
        self.alarm: Alarm | None = None
        self._heard_at: float | None = None
        self._repeats = 0  # signals of our own among those that are still to be read
        self._commented = False
        self._wakeup_read, self._wakeup_write = os.pipe()
        os.set_blocking(self._wakeup_read, False)
        os.set_blocking(self._wakeup_write, False)

    def start(self) -> None:
        signal.signal(signal.SIGINT, self.on_signal)
        signal.set_wakeup_fd(self._wakeup_write, warn_on_full_buffer=False)
        self._usual_hook = sys.unraisablehook
        sys.unraisablehook = self._on_unraisable
        threading.Thread(target=self._listen, name="ftheta-interrupts", daemon=True).start()

    @property
    def waiting(self) -> bool:
        """Whether a press has not been heeded yet."""
        return self.pressed and not self.heeded

    @property
    def _in_charge(self) -> bool:
        """Whether a press is ours: a server may have put its own handler in the place of this one."""
        return signal.getsignal(signal.SIGINT) == self.on_signal

    def on_signal(self, _: int, frame: FrameType | None) -> None:
        """Raise in the main thread, unless that must wait: the listening thread asks again at the next tick."""
        self.pressed = True
        if not self.heeded and not self.holds and not _on_its_way() and not _would_be_lost(frame):
            raise Interrupted

    def _on_unraisable(self, unraisable: Any) -> None:
        """An interrupt that nobody could hear is raised again: no word about it."""
        if not isinstance(unraisable.exc_value, KeyboardInterrupt):
            self._usual_hook(unraisable)

    def _listen(self) -> None:
        while True:
            select.select([self._wakeup_read], [], [], TICK if self.waiting else None)
            if self._presses() and self._in_charge:
                self._on_press()
            if self.waiting and self._in_charge:
                self._comment()
                self._repeats += 1
                _thread.interrupt_main(signal.SIGINT)

    def _presses(self) -> int:
        """Signals since the last look that were not our own."""
        heard = b""
        with suppress(BlockingIOError):
            heard = os.read(self._wakeup_read, 4096)
        own = min(self._repeats, heard.count(signal.SIGINT))
        self._repeats = 0
        return heard.count(signal.SIGINT) - own

    def _on_press(self) -> None:
        now = time.monotonic()
        if self._heard_at is None:
            self._heard_at = now
            self.pressed = True
        elif now - self._heard_at > BOUNCE:
            _say("interrupted")
            os._exit(EXIT_CODE)

    def _comment(self) -> None:
        late = self._heard_at is not None and time.monotonic() - self._heard_at > PATIENCE
        if late and not self._commented and os.isatty(2):
            self._commented = True
            _say("ending after the step under way; Ctrl-C again ends at once")


_watch: _Watch | None = None


def watch() -> None:
    """Watch the key from now on, in the main thread of a command; a process that ignores Ctrl-C goes on doing so."""
    global _watch
    main = threading.current_thread() is threading.main_thread()
    if (
        _watch is None
        and main
        and os.name == "posix"
        and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN
    ):
        _watch = _Watch()
        _watch.start()


def end_watch() -> None:
    """The command is over: from now on a press ends what is left of the process without a word."""
    if _watch is not None:
        _watch.heeded = True
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def was_pressed() -> bool:
    """Whether Ctrl-C was pressed and nobody has heeded it yet."""
    return _watch is not None and _watch.waiting


def heed() -> None:
    """Whoever catches KeyboardInterrupt and goes on to its own orderly end says so here."""
    if _watch is None:
        return
    rang = _watch.alarm is not None and _watch.alarm.rang
    if _watch.alarm is not None:
        _watch.alarm.heeded = rang
    if (
        _watch.pressed or not rang
    ):  # after an alarm, a press that is still to come is another matter
        _watch.heeded = True


class Alarm:
    """Whether an alarm `rang`, and whether the interrupt it raised was heeded."""

    rang = False
    heeded = False


@contextmanager
def alarm_at(end: float) -> Iterator[Alarm]:
    """Interrupt the block as a press would, once `clock` has passed `end`; `rang` tells the one from the other.

    It rings in the main thread of a watched process, and nowhere else: a script or a notebook keeps its own alarms.
    """
    alarm = Alarm()
    main = threading.current_thread() is threading.main_thread()
    watch = _watch
    if watch is None or not main or not hasattr(signal, "setitimer"):
        yield alarm
        return

    def ring(_: int, frame: FrameType | None) -> None:
        left = end - clock()
        if left > 0:  # kernels were compiled meanwhile
            signal.setitimer(signal.ITIMER_REAL, max(left, TICK), TICK)
            return
        must_wait = watch.holds or _on_its_way() or _would_be_lost(frame)
        if watch.alarm is alarm and not alarm.heeded and not must_wait:
            alarm.rang = True
            raise Interrupted

    watch.alarm = alarm
    # it stays: a signal on its way at the end finds that the alarm is over
    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, max(end - clock(), TICK), TICK)
    try:
        yield alarm
    finally:
        watch.alarm = None
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextmanager
def held() -> Iterator[None]:
    """Do the block as a whole: a press inside of it is heard at its end."""
    if _watch is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    _watch.holds += 1
    try:
        yield
    finally:
        _watch.holds -= 1
    if _watch.waiting and not _watch.holds:
        raise Interrupted


def leave() -> None:
    """End the process at once: what is registered for the end is done, but threads in compiled code are not waited for
    and objects are not cleared away one by one, which takes a second or two with compiled libraries."""
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(EXIT_CODE)


def _on_its_way() -> bool:
    """Whether an interrupt is being handled: raised once more, it would cut the clearing up short."""
    error = sys.exception()
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.add(id(error))
        error = error.__context__
    return False


def _would_be_lost(frame: FrameType | None) -> bool:
    """Whether an exception here would not come out as it is. Python drops it where garbage is collected or an object
    cleared away; an extension module that is being initialised turns it into another one, or crashes."""
    collecting = {getattr(callback, "__code__", None) for callback in gc.callbacks}
    while frame is not None:
        code = frame.f_code
        if (
            code in collecting
            or code.co_name == "__del__"
            or code.co_qualname.startswith("ExtensionFileLoader.")
        ):
            return True
        frame = frame.f_back
    return False


def _say(words: str) -> None:
    """Past Python's own streams, whose locks the main thread may hold."""
    with suppress(OSError):
        os.write(2, f"\nftheta: {words}\n".encode())
