"""A lab in a thread of this process, and the two ways to speak to it."""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn
from websockets.sync.client import ClientConnection, connect

from ftheta.lab.app import Lab, make_app
from ftheta.lab.guard import Door
from ftheta.lab.serve import configuration

TOKEN = "Sesame-open"
FAKE = (str(Path(__file__).parent / "fake_worker.py"),)


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Site:
    """Where a lab is, and the headers of a page that it served: also the cookie, unless `token` is empty."""

    port: int
    lab: Lab | None = None
    token: str = TOKEN

    @property
    def cookie(self) -> str:
        door = Door("127.0.0.1", self.port, self.token or "none")
        return f"{door.cookie}={door.key}" if self.token else ""

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """One request; a header given as an empty text is left out."""
        own = {"Host": f"127.0.0.1:{self.port}", "Origin": self.origin if method == "POST" else ""}
        given = {**own, "Cookie": self.cookie, **headers}
        line = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            line.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
            for name, value in given.items():
                if value:
                    line.putheader(name, value)
            if body is not None and "Content-Length" not in headers:
                line.putheader("Content-Length", str(len(body)))
            line.endheaders(body)
            reply = line.getresponse()
            return Answer(reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read())
        finally:
            line.close()

    def get(self, path: str, **headers: str) -> Answer:
        return self.ask("GET", path, **headers)

    def post(self, path: str, body: bytes | str = b"", **headers: str) -> Answer:
        return self.ask("POST", path, body.encode() if isinstance(body, str) else body, **headers)

    @contextmanager
    def tab(self) -> "Iterator[Talk]":
        origin: Any = self.origin
        address = f"ws://127.0.0.1:{self.port}/ws"
        headers = {"Cookie": self.cookie}
        with connect(
            address, origin=origin, additional_headers=headers, max_size=None, close_timeout=1
        ) as line:
            yield Talk(line)

    def say(self, *lines: str) -> socket.socket:
        """A connection on which these lines were said, for what no library would say."""
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        made.sendall("".join(f"{line}\r\n" for line in lines).encode())
        return made

    def handshake(self, cookie: str | None = None) -> socket.socket:
        """A connection on which a WebSocket was asked for; its first bytes are the answer."""
        return self.say(
            "GET /ws HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            f"Origin: {self.origin}",
            f"Cookie: {self.cookie if cookie is None else cookie}",
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            "",
        )


@dataclass
class Talk:
    """The conversation of one page."""

    line: ClientConnection

    def run(self, n: int, theorem: str, **state: Any) -> None:
        self.say({"type": "run", "n": n, "state": {"theorem": theorem, **state}})

    def say(self, message: Any) -> None:
        self.line.send(message if isinstance(message, str) else json.dumps(message))

    def hear(self, timeout: float = 30) -> dict[str, Any]:
        return json.loads(self.line.recv(timeout=timeout))

    def until(self, *types: str) -> list[dict[str, Any]]:
        """Everything up to the first message of one of these types."""
        heard = [self.hear()]
        while heard[-1]["type"] not in types:
            heard.append(self.hear())
        return heard


@contextmanager
def running(workers: int = 2, classroom: str | None = None) -> Iterator[Site]:
    """A lab with workers that compute nothing."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    lab = Lab(workers, program=FAKE, classroom=classroom)
    server = uvicorn.Server(configuration(make_app(Door("127.0.0.1", port, TOKEN), lab)))
    thread = threading.Thread(
        target=lambda: asyncio.run(server.serve(sockets=[listening])), daemon=True
    )
    thread.start()
    eventually(lambda: server.started)
    try:
        yield Site(port, lab)
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive(), "the lab did not end"


def eventually(holds: Callable[[], Any], seconds: float = 30) -> None:
    """Wait until it holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "this never came true"
        time.sleep(0.02)
