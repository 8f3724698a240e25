"""The connections of the lab, one class for HTTP and one for WebSockets: nobody holds one open by saying nothing.

The server library waits for ever for the rest of a request, and for a client that does not read its answer. Here each
wait has an end. A page of the lab never gets near it; its WebSocket is kept alive by pings.
"""

import asyncio
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode

# seconds from the first byte of a request, or from the start, to the end of its headers
HEADERS = 10.0
SILENCE = 20.0  # seconds between two parts of a body
BODY = 600.0  # seconds for all of a body
READING = 60.0  # seconds that a client may leave its answer unread, once the buffers are full


class Timer:
    """Calls once, after so many seconds, unless it is stopped before."""

    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float) -> None:
        """Count from now; a timer that runs goes on as it is."""
        if self.handle is None:
            self.handle = asyncio.get_running_loop().call_later(seconds, self._ring)

    def restart(self, seconds: float) -> None:
        """Count from now, whatever was counted before."""
        self.stop()
        self.start(seconds)

    def stop(self) -> None:
        if self.handle is not None:
            self.handle.cancel()
            self.handle = None

    def _ring(self) -> None:
        self.handle = None
        self.call()


class _LeavesTheUnread(asyncio.Protocol):
    """A connection that ends when the client leaves its answer unread for long; `unread` counts that."""

    unread: Timer

    def pause_writing(self) -> None:
        super().pause_writing()
        self.unread.restart(READING)

    def resume_writing(self) -> None:
        super().resume_writing()
        self.unread.stop()

    def connection_lost(self, exc: Exception | None) -> None:
        self.unread.stop()
        super().connection_lost(exc)


class Requests(_LeavesTheUnread, H11Protocol):
    """HTTP: `whole` counts while a request is on its way, `silence` from part to part of its body, `unread` while an
    answer waits for the client. When one of them rings, the connection ends."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.whole = Timer(transport.close)
        self.silence = Timer(transport.close)
        self.unread = Timer(transport.abort)
        self.whole.start(HEADERS)
        self.in_body = False

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._expect()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._expect()

    def _expect(self) -> None:
        """Set the timers for what the client has to send next."""
        if self.transport.get_protocol() is not self or self.conn.their_state not in (
            h11.IDLE,
            h11.SEND_BODY,
        ):
            self._calm()  # nothing: it is a WebSocket now, or the request is complete
        elif self.conn.their_state is h11.SEND_BODY:
            if not self.in_body:
                self.whole.restart(BODY)
            self.silence.restart(SILENCE)
            self.in_body = True
        elif (
            self.timeout_keep_alive_task is not None
        ):  # between two requests: the library has a clock of its own
            self._calm()
        else:
            self.whole.start(HEADERS)

    def _calm(self) -> None:
        self.whole.stop()
        self.silence.stop()
        self.in_body = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._calm()
        super().connection_lost(exc)


class Talks(_LeavesTheUnread, WebSocketsSansIOProtocol):
    """WebSockets: a message that is no text ends the conversation without a word in the log, as other broken frames do;
    so does a client that reads nothing."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.unread = Timer(transport.abort)

    def send_receive_event_to_app(self) -> None:
        if self.curr_msg_data_type == "text" and not _is_text(b"".join(self.frames)):
            self.frames = []
            if not self.close_sent:
                self.conn.fail(CloseCode.INVALID_DATA, "the message is not UTF-8")
                self.handle_parser_exception()
            return
        super().send_receive_event_to_app()


def _is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
