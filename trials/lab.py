"""Trials of the lab and of the picture of classes: forged requests, broken messages, many files at once.

The lab runs in a thread of this process, with workers that compute nothing; it is started when the first case needs it.
"""

import asyncio
import atexit
import logging
import socket
import tempfile
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from unittest import mock

import numpy as np

from ftheta.lab import subject_store
from ftheta.lab.guard import Door
from ftheta.logic import FthetaError, Regions
from tests.lab.clients import TOKEN, Site, running
from tests.lab.test_connections import frame

from . import Trial


class _Tracebacks(logging.Handler):
    """Everything that the server logs with a traceback."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info is not None:
            self.seen.append(f"{record.getMessage().strip()}: {record.exc_info[1]!r}")


@cache
def _lab() -> tuple[Site, _Tracebacks]:
    """A lab that runs until this process ends."""
    open_until_the_end = ExitStack()
    atexit.register(open_until_the_end.close)
    heard = _Tracebacks()
    site = open_until_the_end.enter_context(running(workers=1))
    for name in ("uvicorn.error", "asyncio"):
        logging.getLogger(name).addHandler(heard)
    return site, heard


# -- forged requests ------------------------------------------------------------------------------------------

_PATHS = (
    "/",
    "/api/catalogue",
    "/api/subjects",
    "/api/thumbnail/hat-function",
    "/static/main.js",
    "/api/export",
    "/x",
)
_REFUSED = (401, 403, 421)


def _forged_request(rng: np.random.Generator) -> str | None:
    """A request with some of its papers wrong. Who may pass is known here from how it was made."""
    site, _ = _lab()
    door = Door("127.0.0.1", site.port, TOKEN)
    own = f"127.0.0.1:{site.port}"
    hosts = [
        own,
        f"localhost:{site.port}",
        "evil.example",
        "127.0.0.1",
        f"127.0.0.1:{site.port + 1}",
        f"{own}.evil",
    ]
    host = hosts[_mostly_first(rng, len(hosts))]
    origins = [
        f"http://{host}",
        "",
        "null",
        "http://evil.example",
        f"https://{host}",
        f"http://{host}/",
    ]
    origin = origins[_mostly_first(rng, len(origins))]
    right = f"{door.cookie}={door.key}"
    cookies = [
        right,
        "",
        f"{door.cookie}=",
        f"{door.cookie}={TOKEN}",
        f"other={door.key}",
        f"{right}x",
        "\x01",
        f"{right[:-1]}",
    ]
    cookie = cookies[_mostly_first(rng, len(cookies))]
    tokens = [None, TOKEN, "", TOKEN[:-1], TOKEN.upper(), f"{TOKEN}&token=x"]
    token = tokens[_mostly_first(rng, len(tokens))]
    method = str(rng.choice(["GET", "HEAD", "POST", "PUT", "DELETE"]))
    path = str(rng.choice(_PATHS))
    named = host in hosts[:2]
    from_here = origin == origins[0] or (origin == "" and method in ("GET", "HEAD"))
    carried = (
        path == "/" and method == "GET" and token is not None and token.partition("&")[0] == TOKEN
    )
    may_pass = named and from_here and (cookie == right or carried)
    asked = path if token is None else f"{path}?token={token}"
    headers = {"Host": host, "Origin": origin, "Cookie": cookie}
    answer = site.ask(method, asked, b"", **headers)
    # not those that the server library itself refuses
    ours = "content-security-policy" in answer.headers
    passed = ours and answer.status not in _REFUSED
    if passed == may_pass:
        return None
    return f"{method} {asked} with {headers} was answered {answer.status}"


def _mostly_first(rng: np.random.Generator, count: int) -> int:
    """The first of several choices half of the time, so that often only one of the papers is wrong."""
    return 0 if rng.random() < 0.5 else int(rng.integers(count))


# -- broken messages ------------------------------------------------------------------------------------------


def _broken_message(rng: np.random.Generator) -> str | None:
    """Frames with random faults, cut off at a random place, on a conversation that was begun properly."""
    site, heard = _lab()
    heard.seen.clear()
    sent = b"".join(_frame(rng) for _ in range(rng.integers(1, 5)))
    sent = sent[: rng.integers(1, len(sent) + 1)] if rng.random() < 0.3 else sent
    with site.handshake() as line:
        if b" 101 " not in line.recv(4096):
            return "a proper handshake was refused"
        line.sendall(sent)
        if rng.random() < 0.5:
            line.shutdown(socket.SHUT_WR)
            _drain(line)
    if site.get("/").status != 200:
        return f"the lab does not answer after {sent.hex()}"
    return f"a traceback after {sent.hex()}: {heard.seen[0]}" if heard.seen else None


def _frame(rng: np.random.Generator) -> bytes:
    texts = (
        b"{}",
        b"[]",
        b"\xff\xfe",
        b"\xed\xa0\x80",
        b'{"type": "cancel", "n": 1}',
        b"[" * 500,
        b"",
        b"\x00" * 130,
    )
    data = (
        texts[rng.integers(len(texts))] if rng.random() < 0.7 else rng.bytes(int(rng.integers(200)))
    )
    code = int(rng.choice([1, 1, 1, 2, 0, 8, 9, 10, 3, 15]))
    bits = int(rng.integers(8)) if rng.random() < 0.1 else 0
    return frame(code, data, last=rng.random() < 0.8, bits=bits, masked=rng.random() < 0.9)


def _drain(line: socket.socket) -> None:
    line.settimeout(5)
    try:
        while line.recv(1 << 16):
            pass
    except OSError:
        pass


# -- many files at once ---------------------------------------------------------------------------------------


def _files_at_once(rng: np.random.Generator) -> str | None:
    """Files in random pieces, in random order, some of them broken off: never more than there is room for."""
    most_files = int(rng.integers(1, 8))
    most_bytes = int(rng.integers(1, 400))
    sizes = rng.integers(0, 120, size=rng.integers(1, 25)).tolist()
    breaks = (rng.random(len(sizes)) < 0.2).tolist()
    with (
        tempfile.TemporaryDirectory() as folder,
        mock.patch.multiple(subject_store, MOST_FILES=most_files, MOST_BYTES=most_bytes),
    ):
        uploads = _uploaded(rng, Path(folder), sizes, breaks, most_files, most_bytes)
        with ThreadPoolExecutor(1) as own_thread:  # where no other event loop runs
            return own_thread.submit(asyncio.run, uploads).result()


async def _uploaded(
    rng: np.random.Generator,
    folder: Path,
    sizes: list[int],
    breaks: list[bool],
    most_files: int,
    most_bytes: int,
) -> str | None:
    async def ask(job: object) -> tuple[dict, bytes]:
        await asyncio.sleep(0)
        return {"type": "Network", "facts": []}, b""

    async def chunks(i: int) -> AsyncIterator[bytes]:
        left = sizes[i]
        while left:
            size = int(rng.integers(1, left + 1))
            left -= size
            for _ in range(rng.integers(4)):
                await asyncio.sleep(0)
            over.append(_over(kept, most_files, most_bytes))
            yield i.to_bytes(2, "big") * size if size % 2 == 0 else bytes([i]) * size
        if breaks[i]:
            raise FthetaError("broken off")

    kept = subject_store.SubjectStore(ask, None, folder)
    over: list[str | None] = []
    jobs = [kept.upload("a.npz", chunks(i), None) for i in range(len(sizes))]
    ended = await asyncio.gather(*jobs, return_exceptions=True)
    over.append(_over(kept, most_files, most_bytes))
    strange = [e for e in ended if isinstance(e, BaseException) and not isinstance(e, FthetaError)]
    files = [path for path in folder.rglob("*") if path.is_file()]
    on_disk = sum(path.stat().st_size for path in files)
    counted = (kept.room.files, kept.room.bytes)
    if strange:
        return f"{strange[0]!r}"
    if counted != (len(files), on_disk):
        return f"{len(files)} files of {on_disk} bytes are kept, {counted} are counted"
    return next((fault for fault in over if fault), None)


def _over(kept: subject_store.SubjectStore, most_files: int, most_bytes: int) -> str | None:
    """What lies in the folder at this moment, finished or not, against the limits."""
    files = [path for path in kept.folder.rglob("*") if path.is_file()]
    if len(files) > most_files:
        return f"{len(files)} files where {most_files} are allowed"
    size = sum(path.stat().st_size for path in files)
    return f"{size} bytes where {most_bytes} are allowed" if size > most_bytes else None


# -- the picture of classes -----------------------------------------------------------------------------------


def _picture_of_classes(rng: np.random.Generator) -> str | None:
    """A random classifier on a square: the colour at random points against the network itself."""
    from ftheta.pieces import Box, pieces
    from tests.pieces.test_pictures import KINDS, assert_agrees, classifier

    kind = str(rng.choice(KINDS))
    outputs = int(rng.integers(1, 6))
    seed = int(rng.integers(2**31))
    net = classifier(kind, 2, outputs, seed)
    side = float(rng.choice([0.1, 1.0, 10.0]))
    domain = Box([-side, -side], [side, 2 * side])
    exact = "auto" if rng.random() < 0.6 else False
    chart = pieces(net, domain, exact=exact, maps=True).chart("class")
    assert isinstance(chart, Regions)
    try:
        assert_agrees(chart, net, domain, seed)
    except AssertionError as fault:
        return f"classifier({kind!r}, 2, {outputs}, {seed}) on ±{side:g}, exact={exact}: {str(fault).splitlines()[0]}"
    return None


TRIALS = (
    Trial(
        "lab: forged requests",
        "one passes without its papers, or is refused with them",
        _forged_request,
        few=60,
    ),
    Trial(
        "lab: broken messages",
        "a traceback in the log, or no answer afterwards",
        _broken_message,
        few=40,
    ),
    Trial(
        "lab: files at once", "more files or bytes than there is room for", _files_at_once, few=20
    ),
    Trial(
        "pictures: classes", "a point in the colour of another class", _picture_of_classes, few=5
    ),
)
