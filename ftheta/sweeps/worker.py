"""The process that runs cells: `python -m ftheta.sweeps.worker`, told what to do on its standard input.

It computes with one thread and, where nothing else is said, on the CPU: with more, XLA splits large sums by the number
of cores, and then the last bits of a result depend on the machine's load and size. What `train` prints goes to standard
error. When its client is gone, however it went, the input ends and so does this process, in the middle of a cell too.
"""

import os
import pickle
import queue
import signal
import struct
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

from .trains import told

ONE = ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def environment() -> dict[str, str]:
    """In which a worker is started: one thread, the client's import path, and no chance in the order of a set."""
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    fixed = dict.fromkeys(ONE, "1") | {"PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    return {"JAX_PLATFORMS": "cpu", **os.environ, **fixed}


def send(stream: BinaryIO, message: Any) -> None:
    data = pickle.dumps(message, protocol=5)
    stream.write(struct.pack("<Q", len(data)) + data)
    stream.flush()


def receive(stream: BinaryIO) -> Any:
    """The next message; EOFError where there is none any more."""
    (length,) = struct.unpack("<Q", _exactly(stream, 8))
    return pickle.loads(_exactly(stream, length))


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def main() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the client's affair
    source, sink = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(source, inbox), daemon=True).start()
    try:
        _work(inbox, sink)
    except BrokenPipeError:  # the client is gone: nobody is left to be told
        os._exit(0)


def _work(inbox: "queue.SimpleQueue[Any]", sink: BinaryIO) -> None:
    send(sink, ("ready",))
    trains: dict[str, Any] = {}
    while True:
        kind, name, *rest = inbox.get()
        if kind == "train":
            try:
                trains[name] = pickle.loads(rest[0])
            except Exception as failure:
                send(sink, ("broken", told(failure)))
        elif kind == "cells":
            task, cells = rest
            for i, outcome in trains[name].run(cells):
                send(sink, ("cell", task, i, outcome))
            send(sink, ("end", task))


def _listen(source: BinaryIO, inbox: "queue.SimpleQueue[Any]") -> None:
    while True:
        try:
            inbox.put(receive(source))
        except (EOFError, OSError):
            os._exit(0)


if __name__ == "__main__":
    main()
