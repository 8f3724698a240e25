"""Start the lab, say where it is, and end it with everything that belongs to it."""

import asyncio
import socket
import sys
import threading
import webbrowser
from urllib.parse import quote

import uvicorn

from ftheta.logic import UsageError
from ftheta.processes import interrupts

from .app import Lab, make_app
from .connections import Requests, Talks
from .courses import name_of
from .guard import App, Door, bracket_host, token_of
from .protocol import LONGEST_MESSAGE
from .qr import encode, to_terminal
from .subject_store import GIVEN


def serve(
    theorem: str | None,
    *,
    subject: str | None,
    host: str,
    port: int,
    token: str | None,
    browser: bool,
    workers: int,
    course: str | None = None,
    classroom: bool = False,
) -> int:
    """Serve until interrupted."""
    token = token_of(token)
    listening = _listen(host, port)
    port = listening.getsockname()[1]
    door = Door(host, port, token)
    address = address_of(door, theorem, subject is not None, course)
    shared = (
        address_of(door, theorem, course=course, name=reachable_name(door)) if classroom else None
    )
    lab = Lab(workers, subject, course=course, theorem=theorem, classroom=shared)
    server = uvicorn.Server(configuration(make_app(door, lab)))
    print(f"fθ lab: {address}   (Ctrl-C ends it)", flush=True)
    if shared is not None:
        print(_invite(door, shared), flush=True)
    if browser:
        threading.Timer(0.5, webbrowser.open, [address]).start()
    try:
        asyncio.run(server.serve(sockets=[listening]))
    except KeyboardInterrupt:
        interrupts.heed()
    finally:
        listening.close()
    return 0


def configuration(app: App) -> uvicorn.Config:
    """How uvicorn serves the lab."""
    return uvicorn.Config(
        app,
        http=Requests,
        ws=Talks,
        ws_max_size=2 * LONGEST_MESSAGE,
        ws_per_message_deflate=False,  # the pages are near: to compress takes longer than to send
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=1,
        lifespan="on",
    )


def _invite(door: Door, address: str) -> str:
    """What a lecturer is told: the link as a QR code, and who can follow it."""
    code = f"{to_terminal(encode(address))}\n" if sys.stdout.isatty() else ""
    if door.local:
        who = "Only this machine can open it. To let a class in, name the address to listen on: --host 0.0.0.0"
    else:
        who = f"Whoever has this link can use the lab; it is not encrypted: {address}\nTo project it: /join"
    return f"{code}{who}"


def reachable_name(door: Door) -> str:
    """The name under which others reach the lab: where every address is served, the one of this machine that leads out
    (the system is asked for its route; nothing is sent)."""
    if not door.wide:
        return bracket_host(door.host)
    family = socket.AF_INET6 if ":" in door.host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("2001:db8::1" if family == socket.AF_INET6 else "192.0.2.1", 9))
            return bracket_host(asking.getsockname()[0])
        except OSError:
            return "127.0.0.1"


def address_of(
    door: Door,
    theorem: str | None,
    given: bool = False,
    course: str | None = None,
    name: str | None = None,
) -> str:
    """The address to open: the catalogue, a course, or a theorem, on the subject that was given if there is one."""
    name = name or ("127.0.0.1" if door.wide else bracket_host(door.host))
    state = f"#/{theorem}{f'?subject={GIVEN}' if given else ''}" if theorem else ""
    if course and not theorem:
        state = f"#/courses/{quote(name_of(course), safe='')}"
    return f"http://{name}:{door.port}/?token={quote(door.token, safe='')}{state}"


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # asyncio sets this only on sockets that name their protocol; without it every answer waits 40 ms for an ACK
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        listening.bind((host, port))
        listening.listen(512)  # who opens the printed address at once is kept waiting, not refused
    except (OSError, OverflowError) as error:
        listening.close()
        raise UsageError(
            "The lab cannot listen there.",
            got=f"{host}:{port}: {getattr(error, 'strerror', None) or error}",
            remedy="--port 0 takes a free port",
        ) from None
    return listening
