"""The inside of a worker process: what it hears and says, and what it is bound to."""

import os
import queue
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO

from .environment import DIES_WITH_PARENT, MEMORY
from .framing import Frame, pack, read
from .resources import limit_data

_PR_SET_PDEATHSIG = 1  # of prctl(2)


class Channel:
    """The line to the client. When the client is gone, however it went, the process ends, whatever it is doing."""

    def __init__(self, source: BinaryIO, sink: BinaryIO, on_frame: Callable[[Frame], bool]) -> None:
        self._source = source
        self._sink = sink
        self._on_frame = on_frame
        self._inbox: queue.SimpleQueue[Frame] = queue.SimpleQueue()

    def listen(self) -> None:
        """Take in messages for ever."""
        while (frame := read(self._source)) is not None:
            if not self._on_frame(frame):
                self._inbox.put(frame)
        os._exit(0)

    def receive(self, block: bool = True) -> Frame | None:
        """The next message; None if there is none and it is not waited for."""
        try:
            return self._inbox.get(block)
        except queue.Empty:
            return None

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        try:
            self._sink.write(pack(header, body))
            self._sink.flush()
        except BrokenPipeError:  # nobody is left to be told
            os._exit(0)


def connect(
    on_frame: Callable[[Frame], bool] = lambda frame: False, on_interrupt: Any = signal.SIG_IGN
) -> Channel:
    """Make this process a worker, and return its line to the client.

    `on_frame` is called for each message as it comes in, in a thread of its own, and returns whether it has dealt with
    it. Ctrl-C reaches a whole group of processes and is the client's affair, unless `on_interrupt` says otherwise.
    From now on standard input is empty, and what is printed goes to standard error.
    """
    signal.signal(signal.SIGINT, on_interrupt)
    if os.environ.pop(DIES_WITH_PARENT, ""):
        _die_with_parent()
    memory = os.environ.pop(MEMORY, "")
    if memory:
        limit_data(int(memory))
    source = os.fdopen(os.dup(0), "rb")
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    channel = Channel(source, sink, on_frame)
    threading.Thread(target=channel.listen, name="ftheta-channel", daemon=True).start()
    return channel


def _die_with_parent() -> None:
    """A suspended process cannot notice that its client is gone: the kernel ends it (on Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
