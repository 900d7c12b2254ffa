"""What everybody may see: the challenge, its boards and results, and the log's checkpoints."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import FileResponse

from shiftbench.challenge.store.records import Announcement, User
from shiftbench.challenge.web import seen, threats
from shiftbench.challenge.web.api.bodies import Entries, Layers, Number
from shiftbench.challenge.web.downloads import page_of
from shiftbench.challenge.web.server import Server


@dataclass(frozen=True)
class SeenChallenge:
    """The challenge, its boards and their phases; key: the public one of the receipts."""

    slug: str
    title: str
    about: str
    rules: str
    sign_up: bool
    team_size: int
    key: str
    boards: list[seen.SeenBoard]


@dataclass(frozen=True)
class Files:
    """Files to download: public ones, and labels once they are released."""

    public: list[str]
    labels: dict[str, list[str]]


def add(api: APIRouter, server: Server, known: Callable[[Request], User | None]) -> None:
    """Add these paths."""
    Known = Annotated[User | None, Depends(known)]

    @api.get("/challenge")
    def challenge() -> SeenChallenge:
        """The challenge, its boards and phases."""
        hosted, boards = server.challenge, [seen.board(server, each) for each in server.challenge.boards]
        key = server.proofs.key.public
        return SeenChallenge(
            hosted.slug, hosted.title, hosted.about, hosted.rules, hosted.sign_up, hosted.team_size, key, boards
        )  # fmt: skip

    @api.get("/announcements")
    def announcements() -> list[Announcement]:
        """What organisers told everybody, the newest first."""
        return server.ledger.announcements()

    @api.get("/threats")
    def layers() -> Layers:
        """Which layers of defence are active on this machine."""
        return Layers(layers=dict(threats.layers()))

    @api.get("/boards/{board}/files")
    def files(board: str) -> Files:
        """The names of files of a board; each is at /boards/BOARD/files/NAME, labels at /boards/BOARD/labels/PHASE."""
        chosen, _ = server.phase(board, None)
        labels = {each.name: server.labels(board, each.name) for each in chosen.phases}
        return Files(server.public_names(board), labels)

    @api.get("/boards/{board}/{phase}")
    def standing(board: str, phase: str) -> seen.Standing:
        """The leaderboard of a phase."""
        return seen.standing(server, *server.phase(board, phase))

    @api.get("/boards/{board}/{phase}/results")
    def results(board: str, phase: str) -> seen.FinalRanking:
        """The final ranking of a phase; 409 before there is one, saying when there will be."""
        return seen.ranking(server, *server.phase(board, phase))

    @api.get("/boards/{board}/{phase}/compare")
    def compare(board: str, phase: str, entry: Entries) -> seen.Comparison:
        """Submissions beside each other."""
        return seen.comparison(server, board, phase, entry)

    @api.get("/boards/{board}/{phase}/compare/report", response_class=FileResponse)
    def comparison_report(board: str, phase: str, entry: Entries) -> FileResponse:
        """The common report of submissions, a page of its own."""
        return page_of(seen.comparison_page(server, board, phase, entry))

    @api.get("/submissions/{number}/report", response_class=FileResponse)
    def report(number: Number, user: Known) -> FileResponse:
        """The report of a submission, a page of its own."""
        return page_of(seen.report_page(server, user, number))

    @api.get("/checkpoint")
    def checkpoint() -> dict[str, Any]:
        """What the log of scores is now, signed."""
        return server.proofs.checkpoint(server.clock())

    @api.get("/growth")
    def growth(first: Annotated[int, Query(ge=0, le=2**53)]) -> dict[str, Any]:
        """The signed proof that the log of `first` entries is the beginning of what it is now."""
        return server.proofs.growth(first)
