"""The routes of the lab."""

import asyncio
import mimetypes
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route, WebSocketRoute
from starlette.staticfiles import StaticFiles
from starlette.websockets import WebSocket

from ftheta.languages import ENGLISH, from_header, language
from ftheta.logic import FthetaError, SubjectError, UsageError
from ftheta.processes.caching import cache_folder, trim
from ftheta.report.charts.measure import FONTS

from .ahead import Ahead
from .answer_jobs import AnswerJobs, KeptAnswers, OwnJobs, SharedJobs
from .audits import AuditRoom
from .background import BackgroundJobs, await_reply
from .classroom import join_page, order_of_lessons, refuse
from .contents import Contents
from .exports import MEDIA
from .gallery import Gallery
from .guard import App, Door, Guard
from .page_data import PageData
from .pool import Pool
from .protocol import LONGEST_MESSAGE, read_state, told
from .scratch import Scratch, sweep
from .subject_store import SubjectStore, TooLarge
from .tabs import Tab
from .thumbnails import in_the_dark
from .workers import PROGRAM, Job

for suffix, kind in (
    (".js", "text/javascript"),
    (".css", "text/css"),
    (".woff2", "font/woff2"),
    (".ttf", "font/ttf"),
):
    # some systems have other names for them, which browsers refuse
    mimetypes.add_type(kind, suffix)

STATIC = Path(__file__).parent / "static"
_ROOM = {"compiled": 300 << 20, "thumbnails": 50 << 20, "classroom": 1 << 30}  # bytes
_TIDY = 300.0  # seconds
_RETRY = 1  # seconds until a page asks again for a picture that is being made


def make_app(door: Door, lab: "Lab") -> App:
    """The lab behind its guard."""
    routes = [
        Route("/", lab.page),
        Route("/api/words", lab.words),
        Route("/api/catalogue", lab.catalogue),
        Route("/api/courses", lab.list_courses),
        Route("/api/subjects", lab.subjects),
        Route("/api/subjects", lab.upload, methods=["POST"]),
        Route("/api/thumbnail/{id}", lab.thumbnail),
        Route("/join", lab.join),
        Route("/api/export", lab.export, methods=["POST"]),
        WebSocketRoute("/ws", lab.tab),
        Mount("/static/fonts", Files(directory=FONTS)),
        Mount("/static", Files(directory=STATIC)),
    ]

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        lab.open()
        try:
            yield
        finally:
            await lab.close()

    handlers = {FthetaError: _refuse, ClientDisconnect: _gone}
    return Guard(Starlette(routes=routes, lifespan=lifespan, exception_handlers=handlers), door)


class Lab:
    """What the routes share. `subject` are the words for the subject that the lab was started with, `course` those for
    a course, `theorem` the one to open; `classroom` is the address that a class is to open, None for a lab of one's
    own."""

    def __init__(
        self,
        workers: int,
        subject: str | None = None,
        program: tuple[str, ...] = PROGRAM,
        *,
        course: str | None = None,
        theorem: str | None = None,
        classroom: str | None = None,
    ) -> None:
        self.scratch = Scratch()
        temporary = self.scratch.room("temporary")
        self.pool = Pool(workers, program=program, temporary=temporary)
        self.background = BackgroundJobs(
            Pool(1, spare=False, program=(*program, "background"), temporary=temporary)
        )
        self.classroom = classroom
        self.language = language()
        self.page_data = PageData(course, classroom is not None)
        self.lessons = order_of_lessons(theorem, course) if classroom is not None else []
        self.gallery = Gallery(self.background)
        self.audits = AuditRoom(temporary)
        self.store = SubjectStore(self.background.ask, subject, self.scratch.room("uploads"))
        self.jobs: AnswerJobs = OwnJobs(self.pool, self.store)
        if classroom is not None:
            self.jobs = SharedJobs(self.pool, self.store, KeptAnswers())
            self.audits.closed = refuse

    def open(self) -> None:
        self.pool.open()
        self.background.pool.open()
        self.tasks = [asyncio.create_task(_tidy())]
        if isinstance(self.jobs, SharedJobs):
            ahead = Ahead(self.jobs, self.background, self.lessons)
            self.tasks.append(asyncio.create_task(ahead.work()))

    async def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        self.gallery.close()
        await self.pool.close()
        await self.background.pool.close()
        self.scratch.close()

    async def page(self, request: Request) -> Response:
        """The page in the language of the browser, where the lab was not started in another than English."""
        asked = from_header(request.headers.get("accept-language", ""))
        spoken = asked if self.language == ENGLISH else self.language
        written = (STATIC / "index.html").read_text(encoding="utf-8")
        return HTMLResponse(
            written.replace('<html lang="en">', f'<html lang="{spoken}">'),
            headers={"cache-control": "no-cache", "vary": "accept-language"},
        )

    async def words(self, request: Request) -> Response:
        return _contents(request, self.page_data.words(_language(request)))

    async def catalogue(self, request: Request) -> Response:
        wanted = _language(request)
        return _contents(request, await asyncio.to_thread(self.page_data.catalogue, wanted))

    async def list_courses(self, request: Request) -> Response:
        wanted = _language(request)
        return _contents(request, await asyncio.to_thread(self.page_data.courses, wanted))

    async def subjects(self, request: Request) -> Response:
        return JSONResponse(await self.store.list_subjects(), headers={"cache-control": "no-store"})

    async def join(self, request: Request) -> Response:
        if self.classroom is None:
            remedy = "start the lab with --classroom"
            raise UsageError("This lab is not for a class.", remedy=remedy)
        return HTMLResponse(join_page(self.classroom), headers={"cache-control": "no-store"})

    async def upload(self, request: Request) -> Response:
        if self.classroom is not None:
            refuse()
        length = request.headers.get("content-length", "")
        given = int(length) if length.isascii() and length.isdigit() else None
        entry = await self.store.upload(
            request.query_params.get("name", ""), request.stream(), given
        )
        return JSONResponse(entry, status_code=201)

    async def thumbnail(self, request: Request) -> Response:
        found = self.gallery.picture(request.path_params["id"])
        if found is None:
            return Response(
                status_code=202, headers={"retry-after": str(_RETRY), "cache-control": "no-store"}
            )
        picture, verdict = found
        if not picture:
            return Response(status_code=204)
        drawn = in_the_dark(picture) if request.query_params.get("theme") == "dark" else picture
        return Response(
            drawn,
            headers={"x-verdict": verdict, "cache-control": "no-cache"},
            media_type="image/svg+xml",
        )

    async def export(self, request: Request) -> Response:
        format = request.query_params.get("format", "")
        if format not in MEDIA:
            raise UsageError(
                "There is no such format.",
                got=format[:40],
                remedy=f"choose one of {', '.join(MEDIA)}",
            )
        state = read_state(await _body(request))
        order = {"kind": "export", "state": state.model_dump(), "format": format}
        job = Job({**order, "source": self.store.source(state.subject)}, state.theorem, state.key)
        held = self.pool.give_to_holder(state.key, job)
        _, body = await (await_reply(self.pool, job) if held else self.background.ask(job))
        name = quote(f"{state.theorem}.{format}")
        headers = {
            "content-disposition": f'attachment; filename="{name}"',
            "cache-control": "no-store",
        }
        return Response(body, headers=headers, media_type=MEDIA[format])

    async def tab(self, socket: WebSocket) -> None:
        await Tab(socket, self.jobs, self.store, self.audits).serve()


def _language(request: Request) -> str:
    """The language that the page asks for; English where it is not known."""
    return from_header(request.query_params.get("lang", ""))


def _contents(request: Request, contents: Contents) -> Response:
    """Contents that the browser keeps until they change."""
    headers = {"etag": contents.etag, "cache-control": "no-cache", "vary": "accept-encoding"}
    if request.headers.get("if-none-match") == contents.etag:
        return Response(status_code=304, headers=headers)
    zipped = "gzip" in request.headers.get("accept-encoding", "")
    headers |= {"content-encoding": "gzip"} if zipped else {}
    body = contents.zipped if zipped else contents.plain
    return Response(body, headers=headers, media_type="application/json")


async def _tidy() -> None:
    """Take away what labs that were killed have left. Every position of a slider may leave a compiled program behind:
    keep the folders of the cache small."""
    await asyncio.to_thread(sweep)
    while True:
        for name, most in _ROOM.items():
            folder = cache_folder(name)
            if folder is not None:
                await asyncio.to_thread(trim, folder, most)
        await asyncio.sleep(_TIDY)


class Files(StaticFiles):
    """Files of the package, asked for again each time: a newer version is seen at once."""

    def file_response(self, *arguments: Any, **options: Any) -> Response:
        response = super().file_response(*arguments, **options)
        response.headers["cache-control"] = "no-cache"
        return response


async def _body(request: Request) -> bytes:
    """The body, read no further than a message may be long."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > LONGEST_MESSAGE:
            raise TooLarge("The message is too long.", remedy=f"at most {LONGEST_MESSAGE:,} bytes")
    return body


async def _refuse(request: Request, error: Exception) -> Response:
    assert isinstance(error, FthetaError)
    code = 413 if isinstance(error, TooLarge) else 422 if isinstance(error, SubjectError) else 400
    return JSONResponse({"error": told(error)}, status_code=code)


async def _gone(request: Request, error: Exception) -> Response:
    """The client went away before it had said everything: nobody reads this."""
    return Response(status_code=400)
