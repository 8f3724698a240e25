"""A worker that computes nothing: the theorem's name says what happens. Listening and answering are real."""

import json
import os
import signal
import tempfile
import time
from pathlib import Path
from typing import Any

from ftheta.lab.work import Stopped, attend
from ftheta.logic import SubjectError, UsageError

SVG = '<svg xmlns="http://www.w3.org/2000/svg"><path stroke="#2563eb"/></svg>'


def do(order: dict[str, Any], say: Any) -> tuple[dict[str, Any], bytes]:
    if order["kind"] == "thumbnail":
        return {"kind": "done", "verdict": "proved"}, SVG.encode()
    if order["kind"] == "read":
        source = order["source"]
        if "path" in source and b"unreadable" in Path(source["path"]).read_bytes():
            raise SubjectError("This file cannot be read.")
        return {"kind": "done", "type": "Network", "facts": [["size", "1"]]}, b""
    state = order["state"]
    say("gathering the evidence")
    _act(*state["theorem"].split(" "), seed=state["seed"])
    if order["kind"] == "export":
        return {"kind": "done"}, f"{order['format']} {os.getpid()}".encode()
    reply = {"type": "result", "n": order["n"], "theorem": state["theorem"], "pid": os.getpid()}
    parts = []
    for size in order["sizes"]:
        body = json.dumps({**reply, "size": size}, separators=(",", ":")).encode()
        parts.append((size, body))
    header = {"kind": "done", "parts": [{"size": s, "length": len(b)} for s, b in parts]}
    return header, b"".join(body for _, body in parts)


def _act(word: str, seconds: str = "0", *, seed: int) -> None:
    match word:
        case "sleep":
            time.sleep(float(seconds))
        case "stubborn":
            _endure(time.monotonic() + float(seconds))
        case "die":
            os.kill(os.getpid(), signal.SIGKILL)
        case "die-once":
            marker = Path(tempfile.gettempdir()) / f"ftheta-fake-{os.getppid()}-{seed}"
            if not marker.exists():
                marker.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            marker.unlink()
        case "misused":
            what = "Option --kappa cannot take this value."
            raise UsageError(what, where="--kappa", got="-1", remedy="give a value between 1 and 9")
        case "bug":
            raise ZeroDivisionError("division by zero")


def _endure(end: float) -> None:
    while time.monotonic() < end:
        try:
            time.sleep(0.05)
        except Stopped:
            continue


if __name__ == "__main__":
    attend(lambda: (do, iter(())))
