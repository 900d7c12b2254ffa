"""Files in chunks that resume."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response
from starlette.concurrency import run_in_threadpool

from shiftbench.challenge.store.records import Upload, User
from shiftbench.challenge.web import seen
from shiftbench.challenge.web.api.bodies import Begin, Complete, Offset
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.views.submissions import file_name

_BYTES = {
    "required": True,
    "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
}


@dataclass(frozen=True)
class SeenUpload:
    """A file that is on its way; `submission` once it is complete. ends: when it is over without further bytes."""

    id: str
    board: str
    phase: str
    team: str
    name: str
    size: int
    received: int
    begun: int
    ends: int
    submission: int | None


def _seen(upload: Upload) -> SeenUpload:
    plain = {name: getattr(upload, name) for name in SeenUpload.__dataclass_fields__ if name != "team"}
    return SeenUpload(**plain, team=upload.team_name)


def add(api: APIRouter, server: Server, acting: Callable[[Request], User]) -> None:
    """Add these paths."""
    Acting = Annotated[User, Depends(acting)]

    @api.post("/uploads", status_code=201)
    def begin(body: Begin, user: Acting) -> SeenUpload:
        """Begin an upload; its first byte counts as received now."""
        file = (file_name(body.name), body.size)
        return _seen(server.begin(user, body.board, body.phase, file, body.for_team))

    @api.get("/uploads")
    def unfinished(user: Acting) -> list[SeenUpload]:
        """Unfinished uploads that take quota until they end or are given up: of the team; organisers see all."""
        return [_seen(each) for each in server.unfinished(user)]

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
        """Give up an upload of the team, or by an organiser, that is not complete: it takes no quota any more."""
        server.discard(user, key)
        return Response(status_code=204)

    @api.post("/uploads/{key}/complete")
    def complete(key: str, body: Complete, user: Acting) -> seen.SeenSubmission:
        """Queue a whole file for scoring; a repeated call returns the same submission."""
        server.upload(user, key)
        number = server.uploads.complete(key, body.sha256)
        return seen.of(server, server.ledger.submission(number))
