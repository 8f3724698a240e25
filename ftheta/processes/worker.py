"""One worker process as its client sees it."""

import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

from .environment import DIES_WITH_PARENT, MEMORY, worker_environment
from .framing import MOST_BODY, Frame, FrameTooLong, pack, read

_LAST = 5.0  # seconds that a process may take to end once it has closed its output


def program(module: str) -> tuple[str, ...]:
    """The arguments of Python that run `main` of a module, whatever lies in the folder where it is started."""
    return ("-P", "-c", f"from {module} import main; main()")


class Worker:
    """A process that is sent frames and answers with frames.

    `on_message(worker, frame)` is called for each answer, and with None when the process has ended, from a thread of
    its own.

    Parameters
    ----------
    arguments
        Of Python: see `program`.
    memory
        Bytes that the process may take.
    descriptors
        Open files that it inherits.
    temporary
        The folder for its temporary files.
    keep_stderr
        Whether what it writes on standard error is kept for `stderr_tail`, or goes where the client's goes.
    own_session
        Whether it is left out when Ctrl-C is pressed in the client's terminal.
    longest
        Bytes that the body of one of its answers may have.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        on_message: Callable[[Any, Frame | None], None],
        *,
        memory: int | None = None,
        descriptors: Sequence[int] = (),
        temporary: Path | None = None,
        keep_stderr: bool = False,
        own_session: bool = False,
        longest: int = MOST_BODY,
    ) -> None:
        environment = worker_environment(temporary)
        if memory is not None:
            environment[MEMORY] = str(memory)
        if (
            threading.current_thread() is threading.main_thread()
        ):  # else it would end with this thread
            environment[DIES_WITH_PARENT] = "1"
        self._on_message = on_message
        self._longest = longest
        self._stderr = tempfile.TemporaryFile() if keep_stderr else None  # noqa: SIM115 (lives as long as the worker)
        self.started = monotonic()
        self.ready = False
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env=environment,
            pass_fds=tuple(descriptors),
            start_new_session=own_session,
        )
        threading.Thread(target=self._listen, name=f"ftheta-worker-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self.process.pid

    def send(self, header: dict[str, Any], body: bytes = b"") -> None:
        """Send a message. To a process that has ended nothing is sent: `on_message` says so."""
        assert self.process.stdin is not None
        with suppress(OSError, ValueError):
            self.process.stdin.write(pack(header, body))
            self.process.stdin.flush()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        try:
            while (frame := read(self.process.stdout, self._longest)) is not None:  # type: ignore[arg-type]
                self._on_message(self, frame)
            self.process.wait(_LAST)
        except (OSError, FrameTooLong, subprocess.TimeoutExpired):
            pass
        self.kill()
        self.process.stdout.close()
        self._on_message(self, None)

    def suspend(self) -> None:
        """Stop it where it is, until `resume`."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    @property
    def ending(self) -> str:
        """How the process ended: the name of a signal, or its exit code."""
        code = self.process.wait()
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"

    def stderr_tail(self) -> str:
        """The last line that it wrote on standard error, where that is kept."""
        if self._stderr is None:
            return ""
        self._stderr.seek(0)
        lines = self._stderr.read().decode(errors="replace").strip().splitlines()
        return lines[-1][:160] if lines else ""
