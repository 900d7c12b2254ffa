"""Pages and forms of submissions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from shiftbench.challenge import conclusion
from shiftbench.challenge.definition import Board, Phase
from shiftbench.challenge.store.records import WAITING, Refused
from shiftbench.challenge.web import numbers, seen
from shiftbench.challenge.web.security import CHUNK
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.visit import MOST_NAME, Next, Visit, whole
from shiftbench.errors import ShiftbenchError

AT_ONCE = 100


def submissions(visit: Visit) -> Mapping[str, Any]:
    """The submissions of the team, the newest first."""
    before = whole(visit.query["before"]) if "before" in visit.query else None
    found = visit.server.submissions(visit.account, before=before, limit=AT_ONCE)
    boards = {board.slug: board for board in visit.server.challenge.boards}
    uploads = visit.server.unfinished(visit.account)
    return {
        "submissions": found,
        "uploads": uploads,
        "boards": boards,
        "more": found[-1].id if len(found) == AT_ONCE else None,
    }


def submission(visit: Visit) -> Mapping[str, Any]:
    """A submission, its state, its problems and the team's quota."""
    server, user = visit.server, visit.account
    found = seen.submission(server, user, visit.number())
    board, phase = server.phase(found.board, found.phase)
    metric, own = server.metric(board), server.submission(user, found.id).team == user.team
    return {
        "submission": found, "board": seen.board(server, board), "phase": seen.phase(server, board, phase),
        "metric": metric, "numbers": numbers.of(metric, [found]), "own": own, "waiting": found.state in WAITING,
        "corrected": _corrected(server, board, phase, found),
        "quota": server.ledger.quota(board.slug, phase, user.team) if own and user.team is not None else None,
    }  # fmt: skip


def _corrected(server: Server, board: Board, phase: Phase, found: seen.SeenSubmission) -> str | None:
    """The labels that are sealed now, where the newest score is of earlier ones; final results tell it themselves."""
    sealed = conclusion.sealed(server.folder, board, phase)
    earlier = any(each.labels != sealed and not each.obsolete for each in found.scores[:1])
    return sealed if earlier and not seen.phase(server, board, phase).outdated else None


def submit(visit: Visit) -> Next:
    """Take a whole file from a form without script."""
    if visit.file is None:
        raise Refused("expected a file, found none. Choose one.", status=422)
    server, user, file = visit.server, visit.account, visit.file
    name = file_name(file.name)
    upload = server.begin(user, visit.path["board"], visit.form.get("phase") or None, (name, file.size), None)
    try:
        while data := file.stream.read(CHUNK):
            upload = server.uploads.append(upload.id, upload.received, data)
    except Exception:  # a form cannot go on with it: it takes no quota
        with suppress(ShiftbenchError, OSError):
            server.discard(user, upload.id)
        raise
    return Next(f"/submissions/{server.uploads.complete(upload.id)}")


def discard(visit: Visit) -> Next:
    """Give up an unfinished upload: of the team, or by an organiser."""
    visit.server.discard(visit.account, visit.path["key"])
    return Next("/desk" if visit.account.organises else "/submissions")


def file_name(name: str) -> str:
    """The last part of a file's name, for people to read; no path is ever made of it."""
    kept = "".join(each for each in name.replace("\\", "/").rsplit("/", 1)[-1] if each.isprintable())
    return (kept if len(kept) <= MOST_NAME else f"…{kept[1 - MOST_NAME :]}") or "file"


def cancel(visit: Visit) -> Next:
    """Take back a submission that nobody works on yet."""
    visit.server.ledger.cancel(visit.number(), visit.account)
    return Next(f"/submissions/{visit.number()}")


def choose(visit: Visit) -> Next:
    """Let a submission count at the end, or no longer."""
    seen.choose(visit.server, visit.account, visit.number(), chosen=visit.form.get("chosen") == "yes")
    return Next(f"/submissions/{visit.number()}")
