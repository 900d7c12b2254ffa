"""What goes into a ledger and what comes out of it, as plain values; all moments are microseconds since 1970 UTC."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from shiftbench.errors import ShiftbenchError

SECOND = 1_000_000
HOUR = 3_600 * SECOND
DAY = 24 * HOUR
SESSION_LASTS = 14 * DAY
INVITATION_LASTS = 14 * DAY
RENEWAL_LASTS = DAY  # a link that sets another password
UPLOAD_RESTS = HOUR  # an upload without a byte for so long is over
UPLOAD_LASTS = DAY  # and so is one that takes longer: else bytes could be chosen long after a phase has ended
LEASE = 120 * SECOND
MOST_TRIES = 5
NO_SUBMISSION = (
    "expected the number of a submission that you may see, found another. The page of your submissions has them all."
)
OURS = "a fault of the server: it costs no quota"
ENDED_WORKERS = (
    "expected a file that can be scored, found one whose workers ended again and again, as they do without enough "
    "memory. It counts as a failure; the organiser has been told, and can score it again"
)
WAITING = ("uploaded", "validating", "scoring")  # states of submissions in the queue
ROLES = ("participant", "organiser", "admin")
Better = Literal["min", "max"]


class Refused(ShiftbenchError):
    """A request that the rules of the challenge, or of the server, do not allow.

    status: of HTTP. wait_s: after how long the same request may be allowed, where that is known.
    """

    def __init__(self, *problems: str, status: int = 409, wait_s: int | None = None) -> None:
        super().__init__(*problems)
        self.status, self.wait_s = status, wait_s


class Away(Refused):
    """The database cannot be reached, or is too busy; nothing of the request was done, and it may come again."""

    def __init__(self, found: str = "it away or busy") -> None:
        super().__init__(f"expected the server's database, found {found}. Try again: nothing is lost.", status=503)


class Full(Refused):
    """The disk of the database is full; nothing of the request was done."""

    def __init__(self) -> None:
        super().__init__(
            "expected room for the server's database, found its disk full. Send it again later: nothing is lost.",
            status=507,
        )


@dataclass(frozen=True)
class User:
    """An account; role: participant, organiser or admin."""

    id: int
    email: str
    role: str
    team: int | None
    team_name: str | None

    @property
    def organises(self) -> bool:
        """Whether the account may act for the organiser."""
        return self.role in ("organiser", "admin")


@dataclass(frozen=True)
class CommandLine:
    """Whoever runs commands on the server's own machine; name: of the account there."""

    name: str

    @property
    def via(self) -> str:
        """As the audit tells it."""
        return f"command line ({self.name})"


class Allowance(NamedTuple):
    """How many acts of a kind somebody (`key`) has in so many seconds; they come back one by one."""

    kind: str
    key: str
    most: int
    seconds: int = 60


@dataclass(frozen=True)
class Invitation:
    """An account that may be made, until it is; `number` revokes it."""

    number: int
    role: str
    email: str | None
    ends: int


@dataclass(frozen=True)
class Team:
    """A team and the addresses of its members; `disqualified` tells why."""

    id: int
    name: str
    members: tuple[str, ...]
    reference: bool
    disqualified: str | None


@dataclass(frozen=True)
class Upload:
    """A file that is on its way; `submission` once it is complete. touched: when its last byte came."""

    id: str
    board: str
    phase: str
    team: int
    user: int
    name: str
    size: int
    received: int
    begun: int
    submission: int | None
    touched: int
    team_name: str

    @property
    def ends(self) -> int:
        """When it is over without further bytes, and takes no quota any more."""
        return min(self.touched + UPLOAD_RESTS, self.begun + UPLOAD_LASTS)


@dataclass(frozen=True)
class Quota:
    """What a team has used of a phase: submissions of the day, failures of the last hour; `resets` at midnight UTC.

    unfinished: uploads among those used. frees: when the team may begin another; None if it may now.
    """

    used: int
    per_day: int
    failures: int
    failures_per_hour: int
    resets: int
    unfinished: int = 0
    frees: int | None = None


@dataclass(frozen=True)
class Submission:
    """A team's file for a phase, its state and, at the end, its score or what is wrong with it.

    state: uploaded, validating, scoring, scored, failed or cancelled. fault: whose, "submission" or "ours".
    score: the number that the team may see: of hidden phases that of the Ladder. climbed: whether it improved.
    obsolete: why that score does not count any more.
    """

    id: int
    board: str
    phase: str
    team: int
    team_name: str
    name: str
    size: int
    sha256: str
    begun: int
    hidden: bool
    state: str
    fault: str | None
    problems: tuple[str, ...]
    chosen: bool
    score: float | None
    climbed: bool | None
    obsolete: str | None


@dataclass(frozen=True)
class NewScore:
    """What a scorer found. An undefined value is NaN; `noise` is the standard error that the Ladder needs.

    labels, scorer, manifest: versions of the sealed labels, of the code and of the challenge's folder.
    """

    labels: str
    scorer: str
    value: float
    low: float | None = None
    high: float | None = None
    noise: float = 0.0
    notes: tuple[str, ...] = ()
    better: Better = "min"
    manifest: str = ""


@dataclass(frozen=True)
class Score:
    """A score of a submission; those of other labels or another scorer stand beside it.

    value, low, high: what is sealed while a hidden phase is open. shown: the number for the team; None if undefined.
    receipt: the number of its entry in the log. obsolete: why it does not count any more.
    """

    id: int
    submission: int
    labels: str
    scorer: str
    value: float | None
    low: float | None
    high: float | None
    shown: float | None
    climbed: bool
    notes: tuple[str, ...]
    at: int
    receipt: int
    obsolete: str | None


class Newest(NamedTuple):
    """A submission, the number of its newest score, and the labels behind that."""

    submission: Submission
    score: int
    labels: str


class Ladder(NamedTuple):
    """What a team sees of a hidden phase, and its best submission; None where no submission climbed."""

    shown: float | None
    best: int | None


@dataclass(frozen=True)
class Row:
    """A line of a leaderboard; references have no rank."""

    rank: int | None
    team: str
    score: float
    low: float | None
    high: float | None
    submission: int
    begun: int
    reference: bool
    labels: str
    scorer: str


@dataclass(frozen=True)
class Entry:
    """A submission that counts at the end of a phase; `chosen`: by its team, else it is its best one.

    score: the number of its newest score that counts, made at the moment `scored` with these labels by this scorer.
    """

    submission: int
    team: int
    team_name: str
    begun: int
    reference: bool
    chosen: bool
    score: int = 0
    labels: str = ""
    scorer: str = ""
    scored: int = 0


@dataclass(frozen=True)
class Final:
    """The final ranking of a phase, as it was stored."""

    at: int
    ranking: Any


@dataclass(frozen=True)
class Announcement:
    """What organisers tell everybody."""

    id: int
    at: int
    text: str


class Act(NamedTuple):
    """What an account did; user: None for the server itself, and for the command line of its machine (`via`)."""

    at: int
    user: int | None
    action: str
    subject: str
    via: str | None = None
