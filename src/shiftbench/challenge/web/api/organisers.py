"""What organisers may do, under /desk."""

from collections.abc import Callable
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Query, Request, Response

from shiftbench.challenge.store.records import WAITING, Act, Announcement, Invitation, Refused, Team, User
from shiftbench.challenge.web import seen
from shiftbench.challenge.web.api.bodies import Because, Count, Invite, Number, Old, Progress, Role, Secret, Text, Told
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.visit import readable

DONE = 204


def add(api: APIRouter, server: Server, acting: Callable[[Request], User]) -> None:
    """Add these paths."""

    def organising(user: Annotated[User, Depends(acting)]) -> User:
        if not user.organises:
            raise Refused("expected an organiser, found a participant.", status=403)
        return user

    _add_work(api, server, organising)
    _add_people(api, server, organising)
    _add_phases(api, server, organising)


def _add_work(api: APIRouter, server: Server, organising: Callable[..., User]) -> None:
    Organiser = Annotated[User, Depends(organising)]

    @api.get("/desk/queue")
    def queue(user: Organiser, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> list[seen.SeenSubmission]:
        """Submissions that wait or are worked on, the newest first."""
        return [seen.of(server, each) for each in server.ledger.submissions(states=WAITING, limit=limit)]

    @api.post("/desk/submissions/{number}/{act}")
    def work(number: Number, act: Literal["requeue", "fail"], user: Organiser) -> seen.SeenSubmission:
        """Score a submission again that failed or hangs, or end it."""
        server.ledger.requeue(number, user) if act == "requeue" else server.ledger.stop(number, user)
        return seen.submission(server, user, number)

    @api.get("/desk/submissions/{number}/fault")
    def fault(number: Number, user: Organiser) -> Told:
        """What kind of fault of the server there was when a submission was scored, and where."""
        return Told(text=server.fault(number))

    @api.get("/desk/audit")
    def audit(user: Organiser, limit: Annotated[int, Query(ge=1, le=1_000)] = 100) -> list[Act]:
        """What was done by whom, the newest first."""
        return server.ledger.audit(limit)

    @api.post("/desk/announcements", status_code=201)
    def announce(body: Text, user: Organiser) -> list[Announcement]:
        """Tell everybody."""
        server.ledger.announce(readable(body.text), user)
        return server.ledger.announcements()

    @api.post("/desk/clock", status_code=DONE)
    def set_clock(user: Organiser) -> Response:
        """Believe the machine's clock again after it ran ahead."""
        server.ledger.set_clock(user)
        return Response(status_code=DONE)


def _add_people(api: APIRouter, server: Server, organising: Callable[..., User]) -> None:
    Organiser = Annotated[User, Depends(organising)]

    @api.get("/desk/users")
    def users(user: Organiser) -> list[User]:
        """All accounts."""
        return server.ledger.users()

    @api.post("/desk/users/{number}/password", status_code=201)
    def offer_renewal(number: Number, user: Organiser) -> Secret:
        """The end of a link, /passwords/SECRET, that sets another password of an account once, within a day."""
        return Secret(secret=server.ledger.offer_renewal(number, user))

    @api.put("/desk/users/{number}/role", status_code=DONE)
    def set_role(number: Number, body: Role, user: Organiser) -> Response:
        """Give an account a role, by an admin."""
        server.ledger.set_role(number, body.role, user)
        return Response(status_code=DONE)

    @api.get("/desk/teams")
    def teams(user: Organiser) -> list[Team]:
        """All teams and the addresses of their members."""
        return server.ledger.teams()

    @api.post("/desk/teams/{number}/disqualify", status_code=DONE)
    def disqualify(number: Number, body: Because, user: Organiser) -> Response:
        """Take a team off all boards and refuse its uploads."""
        server.ledger.disqualify(number, readable(body.reason, "reason"), user)
        return Response(status_code=DONE)

    @api.post("/desk/teams/{number}/reinstate", status_code=DONE)
    def reinstate(number: Number, user: Organiser) -> Response:
        """Let a team take part again."""
        server.ledger.reinstate(number, user)
        return Response(status_code=DONE)

    @api.get("/desk/invitations")
    def invitations(user: Organiser) -> list[Invitation]:
        """Those that were not used yet."""
        return server.ledger.invitations()

    @api.post("/desk/invitations", status_code=201)
    def invite(body: Invite, user: Organiser) -> Secret:
        """An invitation; its link is /invitations/SECRET."""
        return Secret(secret=server.ledger.invite(body.role, user, body.email))

    @api.delete("/desk/invitations/{number}", status_code=DONE)
    def revoke(number: Number, user: Organiser) -> Response:
        """End an invitation."""
        server.ledger.revoke_invitation(number, user)
        return Response(status_code=DONE)


def _add_phases(api: APIRouter, server: Server, organising: Callable[..., User]) -> None:
    Organiser = Annotated[User, Depends(organising)]

    @api.post("/desk/boards/{board}/{phase}/conclude", status_code=202)
    def conclude(board: str, phase: str, user: Organiser) -> Progress:
        """Begin the final ranking of a phase that has ended."""
        chosen, during = server.phase(board, phase)
        server.results.conclude(chosen, during, user)
        return _progress(board, phase)

    @api.get("/desk/boards/{board}/{phase}/conclude")
    def concluding(board: str, phase: str, user: Organiser) -> Progress:
        """How far the final ranking is."""
        server.phase(board, phase)
        return _progress(board, phase)

    def _progress(board: str, phase: str) -> Progress:
        state, problems = server.results.concluding(board, phase)
        return Progress(state=state, problems=list(problems))

    @api.post("/desk/boards/{board}/{phase}/release", status_code=DONE)
    def release(board: str, phase: str, user: Organiser) -> Response:
        """Make the labels of a phase that has ended public."""
        chosen, during = server.phase(board, phase)
        server.ledger.release(chosen.slug, during, user)
        return Response(status_code=DONE)

    @api.post("/desk/boards/{board}/{phase}/rescore")
    def rescore(board: str, phase: str, user: Organiser) -> Count:
        """Score everything of a phase again; old scores stay beside the new ones."""
        chosen, during = server.phase(board, phase)
        return Count(count=server.ledger.rescore(chosen.slug, during.name, user))

    @api.post("/desk/boards/{board}/{phase}/obsolete")
    def obsolete(board: str, phase: str, body: Old, user: Organiser) -> Count:
        """Let scores of old labels count no more."""
        chosen, during = server.phase(board, phase)
        return Count(count=server.obsolete(chosen, during, body.labels, user, readable(body.reason, "reason")))
