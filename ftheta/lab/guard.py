"""Who may speak to the lab: pages that it served itself, under a name that it goes by, to whoever has its token."""

import hashlib
import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response

from ftheta.logic import UsageError

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

SHORTEST = 8  # letters of a token
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_POLICY = {
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self'",
    "img-src": "'self' data: blob:",
    "font-src": "'self'",
    "connect-src": "'self'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
HEADERS = {
    "content-security-policy": "; ".join(f"{name} {value}" for name, value in _POLICY.items()),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


def token_of(given: str | None) -> str:
    """The token that the user chose, or a new one. There is no lab without a token: on this machine, too, other users
    and other programs can reach its port."""
    if given is None:
        return secrets.token_urlsafe(24)
    if len(given) < SHORTEST or not given.isprintable() or " " in given:
        remedy = f"give {SHORTEST} or more visible characters, or leave --token out: one is made"
        raise UsageError(
            "The token can be guessed, or cannot be typed.", got=f"--token {given!r}", remedy=remedy
        )
    return given


@dataclass(frozen=True, slots=True)
class Door:
    """The names and the port that the lab goes by, and the token it asks for."""

    host: str
    port: int
    token: str

    def __post_init__(self) -> None:
        if not self.token:
            raise ValueError("a door without a token is open to everybody")

    def knows(self, name: str) -> bool:
        """Whether the Host header is one of ours. A page of another site that was pointed at this address (DNS
        rebinding) comes under that site's name; where every address is served, a bare address is ours too."""
        address, _, port = name.rpartition(":") if _has_port(name) else (name, "", "80")
        if port != str(self.port):
            return False
        return address.lower() in (*_LOOPBACK, bracket_host(self.host)) or (
            self.wide and _is_address(address)
        )

    @property
    def local(self) -> bool:
        """Whether this machine alone can reach it."""
        return bracket_host(self.host) in _LOOPBACK

    @property
    def wide(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    @property
    def cookie(self) -> str:
        """Browsers share cookies among all ports of a machine; two labs keep theirs apart."""
        return f"ftheta-lab-{self.port}"

    @property
    def key(self) -> str:
        """What the cookie holds: it follows from the token, and not the other way round."""
        return hashlib.sha256(f"ftheta lab: {self.token}".encode()).hexdigest()

    def opens(self, token: str | None) -> bool:
        """Whether the token is the right one; compared in constant time."""
        return _same(token, self.token)

    def remembers(self, key: str | None) -> bool:
        """Whether a cookie is one that this lab gave; compared in constant time."""
        return _same(key, self.key)


def _same(given: str | None, wanted: str) -> bool:
    return secrets.compare_digest((given or "").encode(), wanted.encode())


class Guard:
    """Refuses what does not come from a page of this lab, and puts the rules for browsers on every answer."""

    def __init__(self, app: App, door: Door) -> None:
        self.app = app
        self.door = door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is None:
            await self.app(scope, receive, _with_headers(send))
        elif scope["type"] == "http":
            await refusal(scope, receive, _with_headers(send))
        else:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": "refused"})

    def _refusal(self, scope: Scope) -> Response | None:
        names = _values(scope, b"host")
        origins = _values(scope, b"origin")
        if len(names) != 1 or not self.door.knows(names[0]):
            return _refuse(
                421,
                "This lab does not go by that name.",
                got=names,
                remedy="open the address it printed",
            )
        writes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (writes or origins) and origins != [f"http://{names[0]}"]:
            return _refuse(
                403,
                "This request comes from another site.",
                got=origins,
                remedy="use the lab's own page",
            )
        return self._check_token(scope)

    def _check_token(self, scope: Scope) -> Response | None:
        """None for those who have the cookie. Who brings the token in the address of the page gets the cookie, and the
        same address without the token; a browser keeps what stands behind its `#`."""
        known = self.door.remembers(_cookie(scope, self.door.cookie))
        given = _token(scope)
        if given is not None and (known or self.door.opens(given)):
            answer = RedirectResponse("/", status_code=303, headers={"cache-control": "no-store"})
            answer.set_cookie(self.door.cookie, self.door.key, httponly=True, samesite="strict")
            return answer
        return None if known else _refuse_without_token(scope)


def _token(scope: Scope) -> str | None:
    """The token in the address of the page, and nowhere else; None if there is none."""
    if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
        return None
    asked = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
    return asked.get("token", [None])[0]


def _refuse_without_token(scope: Scope) -> Response:
    """The refusal of those who have no token: words for programs, a page for browsers. The link on the page helps those
    who followed one with a token from another site: the cookie that they got then is sent from our own page alone."""
    what = "This lab asks for its token."
    remedy = "open the address it printed, token included"
    if not any("text/html" in value for value in _values(scope, b"accept")):
        return _refuse(401, what, remedy=remedy)
    words = f"{what} Please {remedy}: it stands where the lab was started."
    page = (
        f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>fθ lab</title><p>{words}</p>'
    )
    again = '<p>If you have done so, <a href="/">go on to the lab</a>.</p></html>'
    return HTMLResponse(page + again, status_code=401, headers={"cache-control": "no-store"})


def bracket_host(host: str) -> str:
    """An address as it stands before the port."""
    return f"[{host}]" if ":" in host else host.lower()


def _has_port(name: str) -> bool:
    return ":" in name.rpartition("]")[2]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _cookie(scope: Scope, name: str) -> str | None:
    try:
        found = SimpleCookie("; ".join(_values(scope, b"cookie"))).get(name)
    except CookieError:
        return None
    return None if found is None else found.value


def _refuse(code: int, what: str, *, got: Iterable[str] = (), remedy: str) -> Response:
    error = {"what": what, "where": "", "got": ", ".join(got)[:200], "remedy": remedy}
    return JSONResponse({"error": error}, status_code=code)


def _with_headers(send: Send) -> Send:
    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            own = {name for name, _ in message["headers"]}
            more = [(k.encode(), v.encode()) for k, v in HEADERS.items() if k.encode() not in own]
            message["headers"] = [*message["headers"], *more]
        await send(message)

    return sending
