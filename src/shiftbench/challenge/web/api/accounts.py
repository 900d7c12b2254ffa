"""One's own account, team, tokens and submissions."""

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from shiftbench.challenge.store.records import Quota, User
from shiftbench.challenge.web import seen
from shiftbench.challenge.web.api.bodies import Choice, Code, Entries, Me, Named, Number, Secret, Token
from shiftbench.challenge.web.security import count_secret
from shiftbench.challenge.web.server import Server
from shiftbench.challenge.web.views.accounts import TOKEN_LASTS

DONE = 204


def add(api: APIRouter, server: Server, acting: Callable[[Request], User]) -> None:
    """Add these paths."""
    Acting = Annotated[User, Depends(acting)]

    @api.get("/me")
    def me(user: Acting) -> Me:
        """The account of the token."""
        return Me(email=user.email, role=user.role, team=user.team_name)

    @api.get("/tokens")
    def tokens(user: Acting) -> list[Token]:
        """The tokens of the account."""
        return [Token(number=number, name=name) for number, name in server.ledger.tokens(user.id)]

    @api.post("/tokens", status_code=201)
    def issue(body: Named, user: Acting) -> Secret:
        """Another token; it is shown once."""
        return Secret(secret=server.ledger.issue("token", user.id, lasts=TOKEN_LASTS, name=body.name))

    @api.delete("/tokens/{number}", status_code=DONE)
    def revoke(number: Number, user: Acting) -> Response:
        """End a token."""
        server.ledger.revoke(user.id, number)
        return Response(status_code=DONE)

    @api.post("/teams", status_code=201)
    def found(body: Named, user: Acting) -> Code:
        """Found a team; answers with the code that others join it with."""
        return Code(code=server.ledger.found(body.name, user.id))

    @api.post("/teams/join", status_code=DONE)
    def join(body: Code, user: Acting) -> Response:
        """Join a team by its code."""
        count_secret(server.ledger, server.limits, "code", user.email)
        server.join(body.code, user)
        return Response(status_code=DONE)

    @api.get("/submissions")
    def submissions(
        user: Acting, before: Annotated[int | None, Query(ge=1, le=2**53)] = None,
        limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    ) -> list[seen.SeenSubmission]:  # fmt: skip
        """Submissions that the account may see, the newest first."""
        return [seen.of(server, each) for each in server.submissions(user, before=before, limit=limit)]

    @api.get("/submissions/{number}")
    def submission(number: Number, user: Acting) -> seen.SeenSubmission:
        """A submission and its state."""
        return seen.submission(server, user, number)

    @api.get("/submissions/{number}/receipt")
    def receipt(number: Number, user: Acting) -> dict[str, Any]:
        """The signed receipt of a score, with the proof that it is in the log."""
        return seen.receipt(server, user, number)

    @api.post("/submissions/{number}/cancel")
    def cancel(number: Number, user: Acting) -> seen.SeenSubmission:
        """Take back a submission that nobody works on yet."""
        server.ledger.cancel(number, user)
        return seen.submission(server, user, number)

    @api.put("/submissions/{number}/choice")
    def choose(number: Number, body: Choice, user: Acting) -> seen.SeenSubmission:
        """Let a submission count at the end, or no longer."""
        seen.choose(server, user, number, chosen=body.chosen)
        return seen.submission(server, user, number)

    @api.get("/boards/{board}/{phase}/quota")
    def quota(board: str, phase: str, user: Acting) -> Quota:
        """What the account's team has used."""
        return seen.quota(server, user, board, phase)

    @api.post("/boards/{board}/{phase}/compare", status_code=202)
    def compare(board: str, phase: str, entry: Entries, user: Acting) -> seen.Comparison:
        """Make the common report of submissions of a board."""
        seen.begin_comparison(server, *server.phase(board, phase), entry)
        return seen.comparison(server, board, phase, entry)
