"""A process that keeps the networks loaded and performs one task after the other. It can be killed at any time.

Messages are pickles: one `Setup`, then tasks, come in on standard input; `None` when ready, then outcomes, go out on
standard output. What theorems print goes to standard error. When the input ends, so does the process.
"""

import os
import pickle
import signal
import sys
import threading
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

PR_SET_PDEATHSIG = 1  # of prctl(2)


@dataclass(frozen=True, slots=True)
class Setup:
    """How to get the networks (`subjects.recalled`), the seed, how many bytes the process may take, and the file into
    which it writes how long it compiles kernels."""

    recipe: Any
    seed: int
    memory: int | None
    record: int | None = None


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the parent decides
    _die_with_parent()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    inbox: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, inbox), daemon=True).start()
    setup: Setup = pickle.loads(inbox.get())
    _limit(setup.memory)
    try:
        from .performing import look, perform
        from .subjects import recalled

        networks = recalled(setup.recipe)
        _record_compilation(setup.record)
    except Exception as error:
        return send(answers, error if _survives(error) else RuntimeError(f"{type(error).__name__}: {error}"))
    send(answers, None)
    while True:
        task = pickle.loads(inbox.get())
        send(answers, (look if task.looking else perform)(task, networks, setup.seed))


def _listen(stream: Any, inbox: "SimpleQueue[bytes]") -> None:
    """Pass on what comes in; a parent that is gone needs no answers."""
    while (message := receive(stream)) is not None:
        inbox.put(message)
    os._exit(0)


def _die_with_parent() -> None:
    """A process that is set aside cannot notice that its parent is gone: the kernel ends it (on Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _limit(memory: int | None) -> None:
    if memory is not None:
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))


def _record_compilation(descriptor: int | None) -> None:
    """Kernels that are compiled from now on are told of to the parent."""
    if descriptor is not None:
        from ftheta.pieces import enumeration

        from .fairness import CompilationRecord

        enumeration.while_compiling = CompilationRecord(descriptor).under_way


def _survives(error: Exception) -> bool:
    try:
        return type(pickle.loads(pickle.dumps(error))) is type(error)
    except Exception:
        return False


def send(stream: Any, value: Any) -> None:
    data = pickle.dumps(value)
    stream.write(len(data).to_bytes(8, "little") + data)
    stream.flush()


def receive(stream: Any) -> bytes | None:
    """The next message, or None where there is no whole one any more."""
    size = stream.read(8)
    if len(size) < 8:
        return None
    length = int.from_bytes(size, "little")
    data = stream.read(length)
    return data if len(data) == length else None
