"""The API: everything that pages show and forms do, as JSON; FastAPI describes it at /api/v1/openapi.json."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request

from shiftbench.challenge.store.records import User
from shiftbench.challenge.web.api import accounts, boards, organisers, uploads
from shiftbench.challenge.web.api.bodies import Problems
from shiftbench.challenge.web.server import Server

ANSWERS: dict[int | str, dict[str, Any]] = {
    code: {"model": Problems} for code in (400, 401, 403, 404, 405, 408, 409, 410, 413, 422, 429, 503, 507)
}


def router(server: Server, acting: Callable[[Request], User], known: Callable[[Request], User | None]) -> APIRouter:
    """All paths of the API; `acting` tells whose request it is, or refuses it; `known` lets visitors pass."""
    api = APIRouter(prefix="/api/v1", responses=ANSWERS)
    boards.add(api, server, known)
    accounts.add(api, server, acting)
    uploads.add(api, server, acting)
    organisers.add(api, server, acting)
    return api
