"""A worker that does what it is told."""

import os
import sys
import time

from ftheta.processes.serving import connect


def main() -> None:
    channel = connect()
    channel.send({"kind": "ready", "pid": os.getpid(), "threads": os.environ["OMP_NUM_THREADS"]})
    while True:
        frame = channel.receive()
        assert frame is not None
        header, body = frame
        match header["kind"]:
            case "echo":
                print("a line on standard output", flush=True)
                channel.send(header, body)
            case "exit":
                print("last words", file=sys.stderr, flush=True)
                sys.exit(header["code"])
            case "sleep":
                channel.send({"kind": "asleep"})
                time.sleep(3600)
            case "take":
                try:
                    found = len(bytearray(header["bytes"]))
                except MemoryError:
                    found = -1
                channel.send({"kind": "taken", "bytes": found})
