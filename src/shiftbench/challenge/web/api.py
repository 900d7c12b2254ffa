"""The API: the same functions as the pages, as JSON; FastAPI describes it at /api/v1/openapi.json."""

from collections.abc import Callable
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Path, Request, Response
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool

from shiftbench.challenge.store.records import Refused, User
from shiftbench.challenge.web.server import Server, plain
from shiftbench.challenge.web.views import file_name

Slug = Annotated[str, Field(pattern="^[a-z0-9][a-z0-9-]{0,39}$")]
Number = Annotated[int, Path(ge=1, le=2**53)]
Offset = Annotated[int, Header(ge=0, le=2**53)]


class Problems(BaseModel):
    """What was expected, what was found and what to do."""

    problems: list[str]


class Begin(BaseModel, extra="forbid"):
    """The file that is to be uploaded. for_team: a team's name, for organisers who hand in for it."""

    board: Slug
    phase: Slug | None = None
    name: Annotated[str, Field(min_length=1, max_length=255)]
    size: Annotated[int, Field(ge=1, le=2**53, strict=True)]
    for_team: Annotated[str, Field(min_length=1, max_length=60)] | None = None


class Complete(BaseModel, extra="forbid"):
    """The SHA-256 of the whole file, to be compared with what arrived."""

    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


_BYTES = {
    "required": True,
    "content": {"application/offset+octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}
ANSWERS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problems} for code in (400, 401, 403, 404, 408, 409, 413, 422, 429, 503, 507)
}


def router(server: Server, acting: Callable[[Request], User]) -> APIRouter:
    """All paths of the API; `acting` tells whose request it is, or refuses it."""
    api = APIRouter(prefix="/api/v1", responses=ANSWERS)
    Acting = Annotated[User, Depends(acting)]

    @api.get("/challenge")
    def challenge() -> dict[str, Any]:
        """The challenge, its boards and phases."""
        return asdict(server.challenge)

    @api.get("/boards/{board}/{phase}")
    def board(board: str, phase: str) -> dict[str, Any]:
        """The leaderboard of a phase."""
        chosen, during = server.phase(board, phase)
        return {"metric": chosen.metric, "rows": [asdict(row) for row in server.rows(chosen, during)]}

    @api.get("/me")
    def me(user: Acting) -> dict[str, Any]:
        """The account of the token."""
        return {"email": user.email, "role": user.role, "team": user.team_name}

    @api.get("/submissions")
    def submissions(user: Acting) -> list[dict[str, Any]]:
        """Submissions that the account may see, the newest first."""
        return [dict(plain(each)) for each in server.submissions(user)]

    @api.get("/submissions/{number}")
    def submission(number: Number, user: Acting) -> dict[str, Any]:
        """A submission and its state."""
        return dict(plain(server.submission(user, number)))

    @api.post("/uploads", status_code=201)
    def begin(body: Begin, user: Acting) -> dict[str, Any]:
        """Begin an upload; its first byte counts as received now."""
        file = (file_name(body.name), body.size)
        return dict(plain(server.begin(user, body.board, body.phase, file, body.for_team)))

    @api.head("/uploads/{key}")
    def offset(key: str, user: Acting) -> Response:
        """How many bytes have arrived, as the header Upload-Offset."""
        found = server.upload(user, key)
        return Response(headers={"Upload-Offset": str(found.received), "Upload-Length": str(found.size)})

    @api.patch("/uploads/{key}", status_code=204, openapi_extra={"requestBody": _BYTES})
    async def append(key: str, upload_offset: Offset, request: Request, user: Acting) -> Response:
        """Send a chunk of at most 8 MiB that begins at Upload-Offset."""
        await run_in_threadpool(server.upload, user, key)
        data = await request.body()
        upload = await run_in_threadpool(server.uploads.append, key, upload_offset, data)
        return Response(status_code=204, headers={"Upload-Offset": str(upload.received)})

    @api.delete("/uploads/{key}", status_code=204)
    def abandon(key: str, user: Acting) -> Response:
        """Give up an upload that is not complete."""
        found = server.upload(user, key)
        if found.submission is not None:
            raise Refused("expected an upload that is not complete, found one that is.")
        server.uploads.abandon(found)
        return Response(status_code=204)

    @api.post("/uploads/{key}/complete")
    def complete(key: str, body: Complete, user: Acting) -> dict[str, Any]:
        """Queue a whole file for scoring; a repeated call returns the same submission."""
        server.upload(user, key)
        return dict(plain(server.submission(user, server.uploads.complete(key, body.sha256))))

    return api
