"""The web application of one server: pages, forms, downloads and the API behind the same guard."""

from __future__ import annotations

import errno
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, HTMLResponse, JSONResponse, RedirectResponse, Response

from shiftbench.challenge.store.records import SECOND, SESSION_LASTS, Refused, User
from shiftbench.challenge.web import api
from shiftbench.challenge.web.pages import FORMS, PAGES, Form, Page, Who
from shiftbench.challenge.web.security import COOKIE, SAFE, SMALL, Guard, csrf, new_cookie, require_csrf
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.views import File, Visit

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
    app.include_router(api.router(server, shown.acting))
    for page in PAGES:
        app.add_route(page.path, shown.page(page), methods=["GET"])
    for form in FORMS:
        app.add_route(form.path, shown.form(form), methods=["POST"])
    app.add_route("/boards/{board}/files/{name}", shown.download, methods=["GET"])
    app.add_route("/static/{name}", _static, methods=["GET"])
    for kind in (Refused, HTTPException, RequestValidationError, OSError):
        app.add_exception_handler(kind, shown.failed)
    return app


class _Shown:
    """Requests turned into visits, and what follows into answers."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.templates = Environment(
            loader=PackageLoader("shiftbench.challenge.web"), autoescape=True, undefined=StrictUndefined
        )

    def acting(self, request: Request) -> User:
        """Whose request to the API this is: a token's, or a session's with the page's CSRF token."""
        self._count(request)
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer":
            user = self.server.ledger.bearer("token", token)
        else:
            cookie = request.cookies.get(COOKIE, "")
            user = self.server.ledger.bearer("session", cookie)
            if user is not None and request.method not in SAFE:
                require_csrf(cookie, request.headers.get("x-csrf-token", ""))
        if user is None:
            raise Refused("expected a valid token. Make one on the page of your account.", status=401)
        return user

    def _count(self, request: Request, *, password: bool = False) -> None:
        limits, address = self.server.limits, request.client.host if request.client else ""
        if request.method not in SAFE:
            self.server.rates.take("act", address, limits.acts)
        if password:
            self.server.rates.take("password", address, limits.passwords)

    def _visit(self, request: Request, who: Who, **more: Any) -> Visit:
        cookie = request.cookies.get(COOKIE, "")
        user = self.server.ledger.bearer("session", cookie) if cookie else None
        if who != "anyone" and user is None:
            raise Refused("expected an account. Sign in first.", status=401)
        if who == "organiser" and user is not None and not user.organises:
            raise Refused("expected an organiser, found a participant.", status=403)
        found = {"path": request.path_params, "query": request.query_params} | more
        return Visit(self.server, user, cookie, **found)

    def page(self, page: Page) -> Handler:
        """The handler of a page."""

        def show(request: Request) -> Response:
            visit = self._visit(request, page.who)
            return self._html(request, page.template, visit, dict(page.view(visit)))

        async def handler(request: Request) -> Response:
            return await run_in_threadpool(show, request)

        return handler

    def _html(
        self, request: Request, template: str, visit: Visit, values: dict[str, Any], status: int = 200
    ) -> Response:
        cookie = visit.cookie or new_cookie()
        values |= {"visit": visit, "challenge": self.server.challenge, "csrf": csrf(cookie)}
        answer = HTMLResponse(self.templates.get_template(template).render(values), status)
        if not visit.cookie:
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
            if following.token is not None:
                return self._html(request, "token.html", visit, {"token": following.token})
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

    async def download(self, request: Request) -> Response:
        """A public file of a board."""
        board, name = request.path_params["board"], request.path_params["name"]
        path = await run_in_threadpool(self.server.public_file, board, name)
        return FileResponse(path, filename=name, media_type="application/octet-stream")

    async def failed(self, request: Request, error: Exception) -> Response:
        """An error as JSON for the API and as a page for people."""
        status, problems = _told(error)
        if request.url.path.startswith("/api/"):
            return JSONResponse({"problems": problems}, status, headers=_further(status))
        if status == 401 and request.method == "GET":
            return RedirectResponse(f"/sign-in?next={quote(request.url.path, safe='')}", 303)
        visit = Visit(self.server, None, request.cookies.get(COOKIE, ""))
        answer = self._html(request, "problem.html", visit, {"problems": problems, "status": status}, status)
        answer.headers.update(_further(status))
        return answer


def _further(status: int) -> dict[str, str]:
    found = {429: {"Retry-After": "60"}, 503: {"Retry-After": "5"}, 401: {"WWW-Authenticate": "Bearer"}}
    return found.get(status, {})


def _told(error: Exception) -> tuple[int, list[str]]:
    """Status and problems of an error; what the server's own faults say is for its log, not for visitors."""
    if isinstance(error, Refused):
        return error.status, list(error.problems)
    if isinstance(error, RequestValidationError):
        places = [(".".join(map(str, each["loc"])), each["msg"]) for each in error.errors()]
        return 422, [f"{place}: {message}" for place, message in places]
    if isinstance(error, HTTPException):
        return error.status_code, [str(error.detail)]
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return 507, ["expected room on the server's disk, found none. Send the rest later: nothing is lost."]
    return 503, ["expected the server's disk, found it busy or away. Try again."]


def _set_cookie(request: Request, answer: Response, cookie: str) -> None:
    secure = request.url.scheme == "https"
    lasts = SESSION_LASTS // SECOND if cookie else 0
    answer.set_cookie(COOKIE, cookie, max_age=lasts, httponly=True, samesite="lax", secure=secure)


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in {"upload.js", "style.css"}:
        raise HTTPException(404)
    return FileResponse(STATIC / name, headers={"Cache-Control": "max-age=3600"})
