"""Connections that say too little, or nonsense."""

import logging
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from ftheta.lab import connections

from .clients import Site, eventually, running

SHORT = 0.3


@pytest.fixture(scope="module")
def hasty(own_cache) -> Iterator[Site]:
    """A lab without patience."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HEADERS", "SILENCE", "READING"):
            patch.setattr(connections, name, SHORT)
        patch.setattr(connections, "BODY", 4 * SHORT)
        with running(workers=1) as site:
            yield site


def ended(line: socket.socket, seconds: float = 10) -> float:
    """How long it took until the lab had closed the connection."""
    line.settimeout(seconds)
    began = time.monotonic()
    try:
        while line.recv(1 << 16):
            pass
    except ConnectionError:
        pass
    return time.monotonic() - began


HALVES = {
    "nothing": (),
    "half a line": ("GET / HT",),
    "headers without an end": ("GET / HTTP/1.1", "Host: {host}"),
    "half a handshake": (
        "GET /ws HTTP/1.1",
        "Host: {host}",
        "Connection: Upgrade",
        "Upgrade: websocket",
    ),
    "half an upload": (
        "POST /api/subjects?name=a.npz HTTP/1.1",
        "{page}",
        "Content-Length: 9",
        "",
        "abc",
    ),
    "half a state": (
        "POST /api/export?format=py HTTP/1.1",
        "{page}",
        "Content-Length: 99",
        "",
        "{{",
    ),
    "half a chunk": (
        "POST /api/subjects?name=a.npz HTTP/1.1",
        "{page}",
        "Transfer-Encoding: chunked",
        "",
        "5",
        "ab",
    ),
    "a body that nobody reads": ("GET / HTTP/1.1", "{page}", "Content-Length: 9", "", "abc"),
}


def said(site: Site, lines: tuple[str, ...]) -> list[str]:
    host = f"127.0.0.1:{site.port}"
    page = f"Host: {host}\r\nOrigin: {site.origin}\r\nCookie: {site.cookie}"
    return [line.format(host=host, page=page) for line in lines]


@pytest.mark.parametrize("lines", HALVES.values(), ids=HALVES)
def test_a_connection_that_says_half_is_closed(hasty: Site, lines, capfd):
    with hasty.say(*said(hasty, lines)) as line:
        assert ended(line) < 5
    assert "Traceback" not in capfd.readouterr().err
    assert hasty.get("/").status == 200


@pytest.mark.parametrize(
    "start", [("GET / HTTP/1.1",), HALVES["half an upload"][:4]], ids=["headers", "body"]
)
def test_a_connection_that_drips_is_closed(hasty: Site, start):
    with hasty.say(*said(hasty, start)) as line:
        began = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() < began + 20:
                line.sendall(b"a")
                time.sleep(SHORT / 4)


def test_a_conversation_in_which_nothing_is_read_is_closed(hasty: Site, capfd):
    with hasty.handshake() as line:
        assert b" 101 " in line.recv(4096)
        message = frame(1, b"x" * 40)  # is answered with an error, which is longer
        with pytest.raises(ConnectionError):
            for _ in range(10_000):
                line.sendall(message * 100)
    assert "Traceback" not in capfd.readouterr().err


def test_a_connection_whose_answers_are_not_read_is_closed(hasty: Site, capfd):
    large = said(hasty, ("GET /static/vendor/vega.min.js HTTP/1.1", "{page}", ""))
    with hasty.say(*large) as line, pytest.raises(ConnectionError):
        for _ in range(10_000):
            line.sendall(("\r\n".join(large) + "\r\n").encode())
            time.sleep(0.005)
    assert "Traceback" not in capfd.readouterr().err


def test_a_page_that_is_quiet_stays(hasty: Site):
    with hasty.tab() as tab:
        time.sleep(3 * SHORT)
        tab.run(1, "fast")
        assert tab.until("result")


def test_a_slow_answer_is_waited_for(hasty: Site):
    answer = hasty.post("/api/export?format=py", '{"theorem": "sleep 1"}')
    assert answer.status == 200


def test_a_conversation_without_the_cookie_never_begins(hasty: Site):
    with hasty.handshake(cookie="") as line:
        assert b" 403 " in line.recv(4096)
        assert ended(line) < 5


def frame(
    code: int, data: bytes = b"", *, last: bool = True, bits: int = 0, masked: bool = True
) -> bytes:
    """A WebSocket frame; its mask is zero, so that the data stand in it as they are."""
    size = len(data)
    first = (last << 7) | (bits << 4) | code
    length = (
        struct.pack("!B", size | masked << 7)
        if size < 126
        else struct.pack("!BH", 126 | masked << 7, size)
    )
    return bytes([first]) + length + bytes(4 * masked) + data


BROKEN = {
    "no text": frame(1, b"\xff\xfe"),
    "no text in two parts": frame(1, b"\xc3", last=False) + frame(0, b"\x28"),
    "no text and again": frame(1, b"\xff") * 3,
    "no text, then a good one": frame(1, b"\xff") + frame(1, b"{}"),
    "no text, then the end": frame(1, b"\xff") + frame(8, struct.pack("!H", 1000)),
    "a surrogate": frame(1, b"\xed\xa0\x80"),
    "bytes": frame(2, b"abc"),
    "without a mask": frame(1, b"{}", masked=False),
    "reserved bits": frame(1, b"{}", bits=4),
    "no such kind": frame(3, b"{}"),
    "the rest of nothing": frame(0, b"{}"),
    "a text in a text": frame(1, b"{", last=False) + frame(1, b"}"),
    "a long ping": frame(9, b"x" * 126),
    "half a ping": frame(9, last=False),
    "a close of one byte": frame(8, b"\x03"),
    "a close of no reason": frame(8, struct.pack("!H", 999)),
    "a close that is no text": frame(8, struct.pack("!H", 1000) + b"\xff"),
    "too long": bytes([0x81, 0xFF]) + (1 << 40).to_bytes(8, "big"),
    "half a frame": frame(1, b"abcdef")[:5],
    "words after the end": frame(8, struct.pack("!H", 1000)) + frame(1, b"{}"),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_a_broken_frame_leaves_no_traceback(site: Site, data, capfd, caplog):
    caplog.set_level(logging.WARNING)
    for waits in (True, False):
        with site.handshake() as line:
            assert b" 101 " in line.recv(4096)
            line.sendall(data)
            line.shutdown(socket.SHUT_WR)
            if waits:
                assert ended(line) < 5
    with site.tab() as tab:
        tab.run(1, "fast")
        assert tab.until("result")
    assert not caplog.records and "Traceback" not in capfd.readouterr().err


def test_what_is_no_text_is_refused_as_such(site: Site):
    with site.handshake() as line:
        line.recv(4096)
        line.sendall(BROKEN["no text"])
        answer = line.recv(4096)
        assert answer[0] == 0x88 and struct.unpack("!H", answer[2:4]) == (1007,)


def test_a_client_that_is_gone_leaves_no_traceback(site: Site, capfd):
    for lines in (HALVES["half an upload"], HALVES["half a state"]):
        with site.say(*said(site, lines)):
            time.sleep(0.05)
    eventually(lambda: site.get("/").status == 200)
    assert "Traceback" not in capfd.readouterr().err
