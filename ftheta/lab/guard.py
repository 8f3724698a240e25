"""Who may speak to the lab: pages that it served itself, under a name that it goes by, with its token if it has one."""

import ipaddress
import secrets
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from typing import Any, TypeAlias
from urllib.parse import parse_qs

from starlette.responses import JSONResponse, RedirectResponse, Response

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

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


@dataclass(frozen=True, slots=True)
class Door:
    """The names and the port that the lab goes by, and the token it asks for."""

    host: str
    port: int
    token: str | None = None

    def knows(self, name: str) -> bool:
        """Whether the Host header is one of ours. A page of another site that was pointed at this address (DNS
        rebinding) comes under that site's name; where every address is served, a bare address is ours too."""
        address, _, port = name.rpartition(":") if _has_port(name) else (name, "", "80")
        if port != str(self.port):
            return False
        return address.lower() in (*_LOOPBACK, bracketed(self.host)) or (self.wide and _is_address(address))

    @property
    def wide(self) -> bool:
        return self.host in ("0.0.0.0", "::")

    @property
    def cookie(self) -> str:
        """Browsers share cookies among all ports of a machine; two labs keep theirs apart."""
        return f"ftheta-lab-{self.port}"

    def opens(self, given: str | None) -> bool:
        """Whether the token is the right one; compared in constant time."""
        return self.token is None or secrets.compare_digest((given or "").encode(), self.token.encode())


class Guard:
    """Refuses what does not come from a page of this lab, and puts the rules for browsers on every answer."""

    def __init__(self, app: App, door: Door) -> None:
        self.app, self.door = app, door

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
        names, origins = _values(scope, b"host"), _values(scope, b"origin")
        if len(names) != 1 or not self.door.knows(names[0]):
            return _refused(421, "This lab does not go by that name.", got=names, remedy="open the address it printed")
        writes = scope["type"] == "websocket" or scope["method"] not in ("GET", "HEAD")
        if (writes or origins) and origins != [f"http://{names[0]}"]:
            return _refused(403, "This request comes from another site.", got=origins, remedy="use the lab's own page")
        return self._unlocked(scope)

    def _unlocked(self, scope: Scope) -> Response | None:
        """None for those who have the token; who brings it in the address gets it as a cookie."""
        token = self.door.token
        if token is None or self.door.opens(_cookie(scope, self.door.cookie)):
            return None
        asked = parse_qs(scope["query_string"].decode("latin-1"))
        if scope["type"] == "http" and scope["path"] == "/" and self.door.opens(asked.get("token", [None])[0]):
            answer = RedirectResponse("/", status_code=303)
            answer.set_cookie(self.door.cookie, token, httponly=True, samesite="strict")
            return answer
        return _refused(401, "This lab asks for its token.", remedy="open the address it printed, token included")


def bracketed(host: str) -> str:
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


def _refused(code: int, what: str, *, got: Iterable[str] = (), remedy: str) -> Response:
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
