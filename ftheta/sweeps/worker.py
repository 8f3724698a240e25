"""The process that runs cells, on what its client sends: trained things by name (`train`), then cells of them."""

from typing import Any

from ftheta.processes.framing import dump, load
from ftheta.processes.serving import Channel, connect

from .trains import describe_failure


def main() -> None:
    """Train cells until the input ends."""
    channel = connect()
    channel.send({"kind": "ready"})
    trains: dict[str, Any] = {}
    while True:
        frame = channel.receive()
        assert frame is not None
        header, body = frame
        if header["kind"] == "train":
            try:
                trains[header["name"]] = load(body)
            except Exception as failure:
                channel.send({"kind": "broken", "words": describe_failure(failure)})
        else:
            _run(channel, trains[header["name"]], header["task"], load(body))


def _run(channel: Channel, train: Any, task: int, cells: Any) -> None:
    for index, outcome in train.run(cells):
        channel.send({"kind": "cell", "task": task, "index": index}, dump(outcome))
    channel.send({"kind": "end", "task": task})
