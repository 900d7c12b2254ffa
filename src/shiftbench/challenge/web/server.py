"""What all pages and the API of one server share: the challenge, the ledger, uploads, and who acts."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Better, Refused, Row, Submission, Upload, User
from shiftbench.challenge.web.security import Limits, Passwords, Rates
from shiftbench.challenge.web.uploads import Uploads
from shiftbench.errors import SettingsError
from shiftbench.scores.metric import METRICS

DATABASE = "server.sqlite"
PUBLIC = "public"


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
    limits: Limits = field(default_factory=Limits)
    passwords: Passwords = field(default_factory=Passwords)
    rates: Rates = field(default_factory=Rates)

    def phase(self, board: str, phase: str | None) -> tuple[Board, Phase]:
        """A board and a phase of it; without a name, the phase that is open now, or else the last one.

        Raises:
            Refused: with status 404, if there is no such board or phase.
        """
        try:
            chosen = self.challenge.board(board)
            if phase:
                return chosen, chosen.phase(phase)
        except LookupError as error:
            raise Refused(str(error), status=404) from None
        now = self.ledger.now()
        return chosen, next((each for each in chosen.phases if each.open(now)), chosen.phases[-1])

    def rows(self, board: Board, phase: Phase) -> list[Row]:
        """The leaderboard."""
        better: Better = "max" if METRICS[board.metric].better == "max" else "min"
        return self.ledger.board(board.slug, phase.name, better=better, hidden=phase.hidden)

    def begin(self, user: User, board: str, phase: str | None, file: tuple[str, int], for_team: str | None) -> Upload:
        """Open an upload for one's own team; organisers may name another, which is logged."""
        chosen, during = self.phase(board, phase)
        name, size = file
        if not 1 <= size <= self.limits.largest:
            expected = f"expected a file of 1 to {self.limits.largest:,} bytes"
            raise Refused(f"{expected}, found {size:,}.", status=413 if size > 0 else 422)
        if for_team is not None and not user.organises:
            raise Refused("expected an organiser to submit for another team, found a participant.", status=403)
        team = user.team if for_team is None else self.ledger.team(for_team)
        if team is None:
            raise Refused("expected an account in a team, found one without. Found or join a team first.")
        return self.ledger.begin(chosen.slug, during, user, team=team, file=(name, size))

    def upload(self, user: User, key: str) -> Upload:
        """An upload of this account."""
        if (found := self.ledger.upload(key)).user != user.id:
            raise Refused("expected an upload that exists. Begin another.", status=404)
        return found

    def submission(self, user: User, number: int) -> Submission:
        """A submission of the account's team; organisers see all."""
        found = self.ledger.submission(number)
        if not user.organises and found.team != user.team:
            raise Refused("expected a submission that exists.", status=404)
        return found

    def submissions(self, user: User) -> list[Submission]:
        """The submissions of the account's team, the newest first; organisers see all."""
        if user.organises:
            return self.ledger.submissions()
        return self.ledger.submissions(team=user.team) if user.team is not None else []

    def public_file(self, board: str, name: str) -> Path:
        """A file that participants download: one that the challenge's manifest lists, and nothing else."""
        self.phase(board, None)
        path = self.folder / PUBLIC / board / name
        if name not in self.public_names(board):
            raise Refused("expected a file that the board lists.", status=404)
        return path

    def public_names(self, board: str) -> list[str]:
        """The files of a board that participants download; links are no files."""
        folder = self.folder / PUBLIC / board
        entries = folder.iterdir() if folder.is_dir() else iter(())
        return sorted(path.name for path in entries if path.is_file() and not path.is_symlink())


def opened(folder: Path, state: Path, **parts: Any) -> Server:
    """The server of a challenge's folder; `state` is made where there is none, readable for its owner alone."""
    challenge = definition.read(folder / definition.FILE)
    if unknown := [board.metric for board in challenge.boards if board.metric not in METRICS]:
        raise SettingsError(f"expected metrics among {', '.join(METRICS)}, found {', '.join(unknown)}.")
    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    ledger = Ledger(state / DATABASE, clock=parts.pop("clock", clock))
    return Server(folder, challenge, ledger, Uploads(state, ledger), **parts)


def plain(value: Submission | Upload) -> Mapping[str, Any]:
    """What the API says of a submission or an upload; the same for every role that may see it."""
    hidden = {"team", "user"} if isinstance(value, Submission) else {"team", "user", "begun"}
    return {key: found for key, found in json.loads(json.dumps(vars(value))).items() if key not in hidden}
