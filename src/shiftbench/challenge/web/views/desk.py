"""The organiser's desk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from shiftbench.challenge import conclusion
from shiftbench.challenge.definition import Board, Phase
from shiftbench.challenge.store.records import ROLES, WAITING
from shiftbench.challenge.web import seen
from shiftbench.challenge.web.results import Progress
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.visit import Next, Visit

RECENT = 50


def queue(visit: Visit) -> Mapping[str, Any]:
    """What waits, what is on its way, what failed, and what came last."""
    ledger = visit.server.ledger
    waiting = ledger.submissions(states=WAITING)
    recent = ledger.submissions(states=("scored", "failed", "cancelled"), limit=RECENT)
    boards = {board.slug: board for board in visit.server.challenge.boards}
    return {
        "waiting": waiting[::-1], "recent": recent, "ahead": ledger.ahead(), "faults": visit.server.faults(),
        "uploads": ledger.unfinished(), "boards": boards,
    }  # fmt: skip


def fault(visit: Visit) -> Mapping[str, Any]:
    """What went wrong on the server's side when a submission was scored."""
    number = visit.number()
    return {"number": number, "text": visit.server.fault(number)}


def teams(visit: Visit) -> Mapping[str, Any]:
    """All teams and their members."""
    return {"teams": visit.server.ledger.teams()}


def people(visit: Visit) -> Mapping[str, Any]:
    """Accounts with their roles, and invitations."""
    ledger = visit.server.ledger
    return {"users": ledger.users(), "invitations": ledger.invitations(), "roles": ROLES}


def phases(visit: Visit) -> Mapping[str, Any]:
    """What can be done with the phases of each board."""
    server = visit.server
    boards = [seen.board(server, each) for each in server.challenge.boards]
    tasks = {
        (board.slug, during.name): _task(server, board, during)
        for board in server.challenge.boards
        for during in board.phases
    }
    return {"boards": boards, "tasks": tasks}


@dataclass(frozen=True)
class Task:
    """What an organiser may do with a phase. job: the final ranking that is being made; waiting: in the queue.

    received: whether anything was handed in. scored: whether anything can be ranked.
    again: whether scores are of labels that were corrected since. earlier: labels that may be made obsolete.
    """

    job: Progress
    waiting: int
    received: bool
    scored: bool
    again: bool
    earlier: list[str]


def _task(server: Server, board: Board, phase: Phase) -> Task:
    sealed, found = conclusion.sealed(server.folder, board, phase), server.ledger.labels(board.slug, phase.name)
    received = server.ledger.submissions(board=board.slug, phase=phase.name, limit=1)
    waiting = len(server.ledger.submissions(board=board.slug, phase=phase.name, states=WAITING))
    entries = server.ledger.chosen(board.slug, phase.name, better=server.better(board), hidden=phase.hidden)
    again = sealed is not None and any(each.labels != sealed for each in entries)
    current = sealed or next(reversed(found), None)
    return Task(
        server.results.concluding(board.slug, phase.name), waiting, bool(received), bool(entries), again,
        [each for each in found if each != current],
    )  # fmt: skip


def news(visit: Visit) -> Mapping[str, Any]:
    """What was announced."""
    return {"announcements": visit.server.ledger.announcements()}


def audit(visit: Visit) -> Mapping[str, Any]:
    """What was done by whom."""
    ledger = visit.server.ledger
    return {"audit": ledger.audit(), "addresses": {user.id: user.email for user in ledger.users()}}


def requeue(visit: Visit) -> Next:
    """Score a submission again that failed or hangs."""
    visit.server.ledger.requeue(visit.number(), visit.account)
    return Next("/desk")


def fail(visit: Visit) -> Next:
    """End a submission that hangs."""
    visit.server.ledger.stop(visit.number(), visit.account)
    return Next("/desk")


def disqualify(visit: Visit) -> Next:
    """Take a team off all boards, with a reason."""
    visit.server.ledger.disqualify(visit.number(), visit.field("reason", 500), visit.account)
    return Next("/desk/teams")


def reinstate(visit: Visit) -> Next:
    """Let a team take part again."""
    visit.server.ledger.reinstate(visit.number(), visit.account)
    return Next("/desk/teams")


def set_role(visit: Visit) -> Next:
    """Give an account a role."""
    visit.server.ledger.set_role(visit.number(), visit.field("role"), visit.account)
    return Next("/desk/people")


def offer_renewal(visit: Visit) -> Next:
    """A link that sets another password of an account; it is shown once."""
    return Next("/desk/people", renewal=visit.server.ledger.offer_renewal(visit.number(), visit.account))


def invite(visit: Visit) -> Next:
    """An invitation; its link is shown once."""
    email = visit.form.get("email", "").strip() or None
    return Next("/desk/people", invitation=visit.server.ledger.invite(visit.field("role"), visit.account, email))


def revoke_invitation(visit: Visit) -> Next:
    """End an invitation."""
    visit.server.ledger.revoke_invitation(visit.number(), visit.account)
    return Next("/desk/people")


def announce(visit: Visit) -> Next:
    """Tell everybody."""
    visit.server.ledger.announce(visit.text("text"), visit.account)
    return Next("/desk/news")


def _place(visit: Visit) -> tuple[Board, Phase]:
    return visit.server.phase(visit.path["board"], visit.path["phase"])


def conclude(visit: Visit) -> Next:
    """Begin the final ranking of a phase."""
    board, phase = _place(visit)
    visit.server.results.conclude(board, phase, visit.account)
    return Next("/desk/phases")


def release(visit: Visit) -> Next:
    """Make the labels of a phase public."""
    board, phase = _place(visit)
    visit.server.ledger.release(board.slug, phase, visit.account)
    return Next("/desk/phases")


def rescore(visit: Visit) -> Next:
    """Score everything of a phase again."""
    board, phase = _place(visit)
    visit.server.ledger.rescore(board.slug, phase.name, visit.account)
    return Next("/desk")


def obsolete(visit: Visit) -> Next:
    """Let scores of old labels count no more."""
    board, phase = _place(visit)
    labels, reason = visit.field("labels", 64), visit.field("reason", 500)
    visit.server.obsolete(board, phase, labels, visit.account, reason)
    return Next("/desk/phases")


def set_clock(visit: Visit) -> Next:
    """Believe the machine's clock again after it ran ahead."""
    visit.server.ledger.set_clock(visit.account)
    return Next("/desk")
