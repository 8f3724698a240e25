"""The process of an audit that audits nothing: the name of the model says what happens. Listening is real."""

import json
import os
import signal
from typing import Any

from ftheta.processes.serving import Channel, connect


def say(channel: Channel, message: dict[str, Any]) -> None:
    channel.send({"kind": "said"}, json.dumps(message).encode())


def main() -> None:
    channel = connect()
    frame = channel.receive()
    assert frame is not None
    order = frame[0]
    say(
        channel,
        {
            "type": "audit-findings",
            "n": order["n"],
            "sources": order["sources"],
            "pid": os.getpid(),
        },
    )
    if order["model"] == "moons":
        os.kill(os.getpid(), signal.SIGKILL)
    if order["model"] == "circles":
        error = {"what": "It cannot be read.", "where": "", "got": "", "remedy": ""}
        channel.send({"kind": "failed", "n": order["n"], "error": error})
    if order["model"] != "spirals":  # which never ends
        channel.send({"kind": "ended"})
    while (frame := channel.receive()) is not None:
        say(channel, {"type": "audit-part", "n": frame[0]["n"], "asked": frame[0]})


if __name__ == "__main__":
    main()
