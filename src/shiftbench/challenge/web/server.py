"""What all pages and the API of one server share: the challenge, the ledger, uploads, and who may do what."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiftbench.challenge import conclusion, definition, forms, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import NO_SUBMISSION, Better, Refused, Row, Submission, Upload, User
from shiftbench.challenge.web.caches import Caches
from shiftbench.challenge.web.proofs import Proofs
from shiftbench.challenge.web.results import Results
from shiftbench.challenge.web.security import Limits, Passwords, Rates
from shiftbench.challenge.web.uploads import Uploads
from shiftbench.errors import SettingsError
from shiftbench.scores.metric import METRICS, Metric

DATABASE = "server.sqlite"


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


@dataclass(frozen=True)
class Server:
    """One challenge and the folder of its state."""

    folder: Path
    challenge: Challenge
    ledger: Ledger
    uploads: Uploads
    proofs: Proofs
    results: Results
    clock: Callable[[], int] = clock
    limits: Limits = field(default_factory=Limits)
    passwords: Passwords = field(default_factory=Passwords)
    rates: Rates = field(default_factory=Rates)
    caches: Caches = field(default_factory=Caches)

    def phase(self, board: str, phase: str | None) -> tuple[Board, Phase]:
        """A board and a phase of it; without a name, the phase that is open now, or else the last that has begun.

        Raises:
            Refused: with status 404, if there is no such board or phase.
        """
        try:
            chosen = self.challenge.board(board)
            if phase:
                return chosen, chosen.phase(phase)
        except LookupError as error:
            raise Refused(str(error), status=404) from None
        now = self.clock()
        begun = [each for each in chosen.phases if each.starts <= now]
        return chosen, next((each for each in begun if each.open(now)), (begun or chosen.phases[:1])[-1])

    def metric(self, board: Board) -> Metric:
        """The headline score of a board."""
        return METRICS[board.metric]

    def better(self, board: Board) -> Better:
        """Which values of the headline score are better."""
        return conclusion.better(board)

    def sealed(self, board: Board, phase: Phase) -> bool:
        """Whether a team is told one number alone: of hidden phases until their final ranking is there."""
        return phase.hidden and self.ledger.final(board.slug, phase.name) is None

    def rows(self, board: Board, phase: Phase) -> list[Row]:
        """The leaderboard; of hidden phases with what the Ladder let through, also after the end."""
        return self.ledger.board(board.slug, phase.name, better=self.better(board), hidden=phase.hidden)

    def begin(self, user: User, board: str, phase: str | None, file: tuple[str, int], for_team: str | None) -> Upload:
        """Open an upload for one's own team; organisers may name another, which is logged."""
        chosen, during = self.phase(board, phase)
        name, size = file
        if not 1 <= size <= self.limits.largest:
            expected = f"expected a file of 1 to {self.limits.largest:,} bytes"
            raise Refused(f"{expected}, found {size:,}.", status=413 if size > 0 else 422)
        if for_team is not None and not user.organises:
            raise Refused("expected an organiser to submit for another team, found a participant.", status=403)
        if odd := forms.of(chosen).misnamed(name):
            raise Refused(*odd, status=422)
        team = user.team if for_team is None else self.ledger.team(for_team)
        if team is None:
            raise Refused("expected an account in a team, found one without. Found or join a team first.")
        self.uploads.tidy()
        return self.ledger.begin(chosen.slug, during, user, team=team, file=(name, size))

    def upload(self, user: User, key: str) -> Upload:
        """An upload of this account."""
        if (found := self.ledger.upload(key)).user != user.id:
            raise Refused("expected an upload that exists. Begin another.", status=404)
        return found

    def unfinished(self, user: User) -> list[Upload]:
        """The unfinished uploads of the account and its team, whose quota they take; organisers see all."""
        return self.ledger.unfinished(None if user.organises else user)

    def discard(self, user: User, key: str) -> None:
        """Give up an unfinished upload of the account or its team; organisers may give up all."""
        found = self.ledger.upload(key)
        if user.id != found.user and user.team != found.team and not user.organises:
            raise Refused("expected an upload that exists.", status=404)
        self.uploads.discard(key, user)

    def submission(self, user: User, number: int) -> Submission:
        """A submission of the account's team; organisers see all."""
        found = self.ledger.submission(number)
        if not user.organises and found.team != user.team:
            raise Refused(NO_SUBMISSION, status=404)
        return found

    def report(self, found: Submission) -> Path | None:
        """The report of a submission; it tells of single records once their labels are released, and never before."""
        released = self.ledger.released(found.board, found.phase) is not None
        return self.results.report(found.id, released=released)

    def submissions(self, user: User, **which: Any) -> list[Submission]:
        """The submissions of the account's team, the newest first; organisers see all."""
        if user.organises:
            return self.ledger.submissions(**which)
        return self.ledger.submissions(team=user.team, **which) if user.team is not None else []

    def fault(self, number: int) -> str:
        """What went wrong on the server's side when a submission was scored, for its organisers.

        Raises:
            Refused: with status 404, if nothing did.
        """
        try:
            return (self.uploads.state / "faults" / f"{number}.desk.txt").read_text("utf-8")
        except FileNotFoundError:
            raise Refused("expected a submission with a fault of the server, found none.", status=404) from None

    def faults(self) -> set[int]:
        """The submissions with a fault of the server that was noted."""
        found = (path.name.removesuffix(".desk.txt") for path in (self.uploads.state / "faults").glob("*.desk.txt"))
        return {int(each) for each in found if each.isdigit()}

    def obsolete(self, board: Board, phase: Phase, labels: str, user: User, reason: str) -> int:
        """Let scores of earlier labels count no more; returns how many.

        Raises:
            Refused: for labels that are sealed now.
        """
        if labels == conclusion.sealed(self.folder, board, phase):
            raise Refused(
                f"expected earlier labels, found those that are sealed now ({labels[: conclusion.DIGITS]}). Seal "
                "corrected ones and score all again first."
            )
        return self.ledger.obsolete(board.slug, phase.name, labels, user, reason)

    def join(self, code: str, user: User) -> None:
        """Join the team of a code, as far as the challenge allows its size."""
        self.ledger.join(code, user.id, most=self.challenge.team_size)

    def public_file(self, board: str, name: str) -> Path:
        """A file that participants download; links are no files."""
        if name not in self.public_names(board):
            raise Refused("expected a file that the board lists.", status=404)
        return self.folder / manifest.PUBLIC / board / name

    def public_names(self, board: str) -> list[str]:
        """The files of a board that participants download, by their paths in its folder."""
        self.phase(board, None)
        return manifest.public(self.folder, board)

    def labels(self, board: str, phase: str) -> list[str]:
        """The files of the labels of a phase, once an organiser has released them; before, none."""
        chosen, during = self.phase(board, phase)
        if self.ledger.released(chosen.slug, during.name) is None:
            return []
        place = self.folder / manifest.SEALED / chosen.slug / during.name
        found = (path for path in place.rglob("*") if path.is_file() and not path.is_symlink())
        return sorted(path.relative_to(place).as_posix() for path in found)

    def label_file(self, board: str, phase: str, name: str) -> Path:
        """A file of released labels."""
        if name not in self.labels(board, phase):
            raise Refused("expected a file of released labels.", status=404)
        return self.folder / manifest.SEALED / board / phase / name


def opened(folder: Path, state: Path, *, database: str = "", **parts: Any) -> Server:
    """The server of a challenge's folder.

    Args:
        folder: the challenge.
        state: made where there is none, readable for its owner alone.
        database: the URL of a database; a file in the state without one.
        **parts: other fields of the server.
    """
    challenge = definition.read(folder / definition.FILE)
    if unknown := [board.metric for board in challenge.boards if board.metric not in METRICS]:
        raise SettingsError(f"expected metrics among {', '.join(METRICS)}, found {', '.join(unknown)}.")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger = Ledger(database or state / DATABASE, clock=parts.get("clock", clock))
    proofs, results = Proofs(state, challenge.slug, ledger), Results(folder, state, ledger)
    return Server(folder, challenge, ledger, Uploads(state, ledger), proofs, results, **parts)
