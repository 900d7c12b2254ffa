"""The web application of one server: pages, forms, downloads and the API behind the same guard."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from shiftbench.challenge.definition import moment
from shiftbench.challenge.store.records import SECOND, SESSION_LASTS, Refused, User
from shiftbench.challenge.web import api
from shiftbench.challenge.web.downloads import DOWNLOADS, Download
from shiftbench.challenge.web.pages import FORMS, PAGES, Form, Page, Who
from shiftbench.challenge.web.security import (
    COOKIE,
    SAFE,
    SMALL,
    Guard,
    count_secret,
    csrf,
    new_cookie,
    place,
    require_csrf,
)
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.visit import File, Visit

MINUTE = 60 * SECOND
STATIC = Path(__file__).parent / "static"
Handler = Callable[[Request], Awaitable[Response]]


def application(server: Server) -> FastAPI:
    """The ASGI application."""
    app = FastAPI(
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},  # nothing leaves here
        title=server.challenge.title,
        version="1",
        openapi_url="/api/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    shown = _Shown(server)
    app.add_middleware(Guard, limits=server.limits)
    app.include_router(api.router(server, shown.acting, shown.known))
    for download in DOWNLOADS:
        app.add_route(download.path, shown.download(download), methods=["GET"])
    for page in PAGES:
        app.add_route(page.path, shown.page(page), methods=["GET"])
    for form in FORMS:
        app.add_route(form.path, shown.form(form), methods=["POST"])
    app.add_route("/static/{name}", _static, methods=["GET"])
    for kind in (Refused, HTTPException, RequestValidationError, OSError):
        app.add_exception_handler(kind, shown.failed)
    app.add_exception_handler(Exception, shown.broken)
    return app


class _Token:
    """The CSRF token of a page; whether one was written tells whether the visitor needs a cookie."""

    def __init__(self, cookie: str) -> None:
        self._token, self.written = csrf(cookie), False

    def __str__(self) -> str:
        self.written = True
        return self._token


@cache
def _templates() -> Environment:
    made = Environment(
        loader=PackageLoader("shiftbench.challenge.web"), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {"moment": moment, "codes": _codes}
    return made


def _codes(text: str) -> Markup:
    """A sentence whose `words` in backticks are code."""
    parts = text.split("`")
    return Markup("").join(Markup("<code>{}</code>").format(part) if n % 2 else part for n, part in enumerate(parts))


class _Shown:
    """Requests turned into visits, and what follows into answers."""

    def __init__(self, server: Server) -> None:
        self.server = server

    def acting(self, request: Request) -> User:
        """Whose request to the API this is: a token's, or a session's with the page's CSRF token."""
        user = self.known(request)
        if user is None:
            raise Refused("expected a valid token. Make one on the page of your account.", status=401)
        return user

    def known(self, request: Request) -> User | None:
        """Whose request this is; None for a visitor."""
        self._count(request)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            return self.server.ledger.bearer("token", token)
        cookie = request.cookies.get(COOKIE, "")
        user = self.server.ledger.bearer("session", cookie) if cookie else None
        if user is not None and request.method not in SAFE:
            require_csrf(cookie, request.headers.get("x-csrf-token", ""))
        return user

    def _count(self, request: Request, *, password: bool = False) -> None:
        limits, address = self.server.limits, place(_address(request))
        if request.method not in SAFE:
            self.server.rates.take("act", address, limits.acts)
        if password:
            count_secret(self.server.ledger, limits, "password", address)

    def _visit(self, request: Request, who: Who, **more: Any) -> Visit:
        cookie = request.cookies.get(COOKIE, "")
        user = self.server.ledger.bearer("session", cookie) if cookie else None
        if who != "anyone" and user is None:
            raise Refused("expected an account. Sign in first.", status=401)
        if who == "organiser" and user is not None and not user.organises:
            raise Refused("expected an organiser, found a participant.", status=403)
        path, query = request.path_params, request.query_params
        return Visit(self.server, user, cookie, path, query, query.getlist("entry"), address=_address(request), **more)

    def page(self, page: Page) -> Handler:
        """The handler of a page."""

        def show(request: Request) -> Response:
            visit = self._visit(request, page.who)
            if not page.kept or visit.user is not None:
                return self._html(request, page.template, visit, dict(page.view(visit)))

            def make() -> bytes:
                return bytes(self._html(request, page.template, visit, dict(page.view(visit))).body)

            place = (page.path, tuple(visit.path.items()), visit.query.get("phase"))
            return HTMLResponse(self.server.caches.get(place, self._version(), make))

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(show, request)

        return handler

    def _version(self) -> tuple[int, ...]:
        """What a board depends on but its address: the ledger, which phases are open, and reports (each minute)."""
        now = self.server.clock()
        phases = (phase for board in self.server.challenge.boards for phase in board.phases)
        return (
            self.server.ledger.changes(),
            now // MINUTE,
            *(phase.open(now) + (now < phase.starts) * 2 for phase in phases),
        )

    def _html(
        self, request: Request, template: str, visit: Visit, values: dict[str, Any], status: int = 200
    ) -> HTMLResponse:
        cookie = visit.cookie or new_cookie()
        token = _Token(cookie)
        values = {"base": str(request.base_url), **values}
        values |= {"visit": visit, "challenge": self.server.challenge, "csrf": token, "path": request.url.path}
        answer = HTMLResponse(_templates().get_template(template).render(values), status)
        if token.written and not visit.cookie:
            _set_cookie(request, answer, cookie)
        return answer

    def form(self, form: Form) -> Handler:
        """The handler of a form; the file of one is spooled to the disk by the parser, within the guard's limits."""

        def begin(request: Request) -> None:
            self._count(request, password=form.password)
            self._visit(request, form.who)

        def act(request: Request, fields: dict[str, str], file: File | None) -> Response:
            visit = self._visit(request, form.who, form=fields, file=file)
            require_csrf(visit.cookie, fields.get("csrf", ""))
            following = form.act(visit)
            if any(each is not None for each in (following.token, following.invitation, following.renewal)):
                base = str(request.base_url)
                return self._html(request, "secret.html", visit, {"following": following, "base": base})
            answer = RedirectResponse(following.address, 303)
            if following.cookie is not None:
                _set_cookie(request, answer, following.cookie)
            return answer

        async def handler(request: Request) -> Response:
            await run_in_threadpool(begin, request)  # before the body is read
            async with request.form(max_files=1, max_fields=20, max_part_size=SMALL) as fields:
                texts = {key: value for key, value in fields.items() if isinstance(value, str)}
                files = [value for value in fields.values() if isinstance(value, UploadFile)]
                file = File(files[0].filename or "", files[0].size or 0, files[0].file) if files else None
                return await run_in_threadpool(act, request, texts, file)

        return handler

    def download(self, download: Download) -> Handler:
        """The handler of a file."""

        def send(request: Request) -> Response:
            return download.send(self._visit(request, download.who))

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(send, request)

        return handler

    async def failed(self, request: Request, error: Exception) -> Response:
        """An error as JSON for the API and as a page for people."""
        status, problems = _status_and_problems(error)
        if request.url.path.startswith("/api/"):
            return JSONResponse({"problems": problems}, status, headers=_further(status, error))
        if status == 401 and request.method == "GET":
            return RedirectResponse(f"/sign-in?next={quote(request.url.path, safe='')}", 303)
        visit = await run_in_threadpool(self._anybody, request)
        answer = self._html(request, "problem.html", visit, {"problems": problems, "status": status}, status)
        answer.headers.update(_further(status, error))
        return answer

    async def broken(self, request: Request, _error: Exception) -> Response:
        """A fault of the server: its words are for the log alone, as they may be about labels."""
        at = moment(self.server.clock())
        problems = [
            "expected a server without faults, found one, which is in the server's log. Tell the organisers that it "
            f"happened at {at:%Y-%m-%d %H:%M:%S} UTC."
        ]
        if request.url.path.startswith("/api/"):
            return JSONResponse({"problems": problems}, 500)
        visit = await run_in_threadpool(self._anybody, request)
        return self._html(request, "problem.html", visit, {"problems": problems, "status": 500}, 500)

    def _anybody(self, request: Request) -> Visit:
        """Whoever it is; a visitor where the ledger cannot tell."""
        try:
            return self._visit(request, "anyone")
        except Exception:  # whatever is broken may be broken here, too
            return Visit(self.server, None, request.cookies.get(COOKIE, ""), path=request.path_params)


def _address(request: Request) -> str:
    """From where a request comes: what a trusted proxy says, else who is connected."""
    return request.client.host if request.client else ""


def _further(status: int, error: Exception) -> dict[str, str]:
    """Headers that say what to do next."""
    wait = getattr(error, "wait_s", None) or {429: 60, 503: 5}.get(status)
    return ({"Retry-After": str(wait)} if wait else {}) | ({"WWW-Authenticate": "Bearer"} if status == 401 else {})


def _status_and_problems(error: Exception) -> tuple[int, list[str]]:
    """Status and problems of an error; what the server's own faults say is for its log, not for visitors."""
    if isinstance(error, Refused):
        return error.status, list(error.problems)
    if isinstance(error, RequestValidationError):
        places = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors()]
        return 422, [f"{place}: {message}" for place, message in places]
    if isinstance(error, HTTPException):
        return error.status_code, [str(error.detail)]
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return 507, ["expected room on the server's disk, found none. Try again later; an upload in pieces goes on."]
    return 503, ["expected the server's disk, found it busy or away. Try again."]


def _set_cookie(request: Request, answer: Response, cookie: str) -> None:
    secure = request.url.scheme == "https"
    lasts = SESSION_LASTS // SECOND if cookie else 0
    answer.set_cookie(COOKIE, cookie, max_age=lasts, httponly=True, samesite="lax", secure=secure)


_STATIC = {
    "icon.svg": "icon.svg",
    "page.js": "page.js",
    "style.css": "style.css",
    "htmx.js": "htmx/htmx.js",
    "htmx.txt": "htmx/LICENSE",
}


async def _static(request: Request) -> Response:
    if (name := request.path_params["name"]) not in _STATIC:
        raise HTTPException(404)
    kind = "text/plain" if name.endswith(".txt") else None
    return FileResponse(STATIC / _STATIC[name], media_type=kind, headers={"Cache-Control": "max-age=3600"})
