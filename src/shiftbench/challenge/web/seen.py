"""What visitors may see, as plain values: pages show them and the API returns them, by the same rules.

Of a hidden phase nobody sees more than the one number of the Ladder, organisers included, until its final ranking is
there; then the entries that count are shown with all that was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from shiftbench.challenge import conclusion
from shiftbench.challenge.definition import Board, Phase, moment
from shiftbench.challenge.store.records import Quota, Refused, Row, Score, Submission, User
from shiftbench.challenge.web.results import MOST_COMPARED
from shiftbench.challenge.web.server import Server

State = Literal["to come", "open", "closed"]
RULE_BEFORE = (  # of rankings that were stored without one, by version 0.14.0
    "A rank is one more than the number of entries of teams that a paired test on the same records finds better; "
    "within a rank the earlier one stands first. References have no rank."
)


@dataclass(frozen=True)
class SeenPhase:
    """A phase; moments are microseconds since 1970 UTC.

    hidden: a submission is answered with one number, through the Ladder, while the phase is open. concluded: when its
    final ranking was stored. released: when its labels became public. outdated: why that ranking is not of what counts
    now, in sentences, such as labels that were corrected since; empty if it is.
    """

    name: str
    state: State
    starts: int
    ends: int | None
    per_day: int
    failures_per_hour: int
    hidden: bool
    entries: int
    concluded: int | None
    released: int | None
    outdated: list[str]


@dataclass(frozen=True)
class SeenBoard:
    """A board and its phases. metric_title: the headline score in words; better: min or max."""

    slug: str
    title: str
    track: str
    task: str
    metric: str
    metric_title: str
    better: str
    subset: str
    threshold: float | None
    phases: list[SeenPhase]


@dataclass(frozen=True)
class Standing:
    """The leaderboard of a phase.

    sealed: rows have the Ladder's number alone. versions: of labels and scorer, where rows have several. final: the
    final ranking, once the phase is concluded.
    """

    board: str
    phase: SeenPhase
    metric: str
    better: str
    sealed: bool
    rows: list[Row]
    disqualified: list[tuple[str, str]]


@dataclass(frozen=True)
class SeenScore:
    """A score of a submission. value: of sealed phases that of the Ladder. obsolete: why it no longer counts."""

    labels: str
    scorer: str
    value: float | None
    low: float | None
    high: float | None
    climbed: bool | None
    notes: tuple[str, ...]
    at: int
    receipt: int
    obsolete: str | None


@dataclass(frozen=True)
class SeenSubmission:
    """A submission, its state and what its team may know.

    score: its newest one; of sealed phases that of the Ladder. scores: all of them, the newest first, those of other
    labels and scorers too. report: the address of its report, if it has one that may be seen.
    """

    id: int
    board: str
    phase: str
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
    low: float | None
    high: float | None
    climbed: bool | None
    scores: list[SeenScore]
    report: str | None


_PLAIN = (
    "id", "board", "phase", "team_name", "name", "size", "sha256", "begun", "hidden", "state", "fault", "problems",
    "chosen",
)  # fmt: skip


@dataclass(frozen=True)
class Compared:
    """A submission beside others."""

    submission: int
    team: str
    score: float
    low: float | None
    high: float | None
    begun: int
    reference: bool


@dataclass(frozen=True)
class FinalRow:
    """An entry of a final ranking. rank: see the ranking's rule, None of references; better_than: positions of rows."""

    submission: int
    rank: int | None
    team: str
    score: float | None
    low: float | None
    high: float | None
    begun: int
    reference: bool
    chosen: bool
    better_than: list[int]


@dataclass(frozen=True)
class Pair:
    """The paired test of two rows (positions `a`, `b`): a − b, its 95 % interval, p-values, and which is better."""

    a: int
    b: int
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    p_adjusted: float | None
    better: int | None


@dataclass(frozen=True)
class FinalRanking:
    """The final ranking of a phase, the best rank first; level: of the tests behind the ranks; rule: in words.

    labels, scorer: versions behind it, one of each but in rankings of early servers. outdated: why it is not of what
    counts now, in sentences; empty if it is.
    """

    at: int
    metric: str
    level: float
    rule: str
    labels: list[str]
    scorer: list[str]
    outdated: list[str]
    rows: list[FinalRow]
    comparisons: list[Pair]


@dataclass(frozen=True)
class Comparison:
    """Submissions beside each other, and how their common report is: none, running, done or failed.

    outdated: why scores of a hidden phase, which are those of its final ranking, are not of what counts now; the common
    report is of the labels that were sealed when it was made.
    """

    board: str
    phase: str
    entries: list[Compared]
    state: str
    problems: tuple[str, ...]
    report: str | None
    outdated: list[str]


def phase(server: Server, board: Board, during: Phase) -> SeenPhase:
    """A phase."""
    now, final = server.clock(), server.ledger.final(board.slug, during.name)
    state: State = "open" if during.open(now) else "to come" if now < during.starts else "closed"
    return SeenPhase(
        during.name, state, during.starts, during.ends, during.per_day, during.failures_per_hour, during.hidden,
        during.entries, final.at if final else None, server.ledger.released(board.slug, during.name),
        conclusion.since(server.folder, server.ledger, board, during, final) if final else [],
    )  # fmt: skip


def board(server: Server, chosen: Board) -> SeenBoard:
    """A board."""
    metric = server.metric(chosen)
    return SeenBoard(
        chosen.slug, chosen.title, chosen.track, chosen.task, metric.name, metric.title, server.better(chosen),
        chosen.subset, chosen.threshold, [phase(server, chosen, each) for each in chosen.phases],
    )  # fmt: skip


def standing(server: Server, chosen: Board, during: Phase) -> Standing:
    """A leaderboard."""
    return Standing(
        chosen.slug, phase(server, chosen, during), chosen.metric, server.better(chosen),
        server.sealed(chosen, during), server.rows(chosen, during), server.ledger.disqualified(),
    )  # fmt: skip


def final(server: Server, chosen: Board, during: Phase) -> FinalRanking | None:
    """The final ranking of a phase, once there is one."""
    found = server.ledger.final(chosen.slug, during.name)
    if found is None:
        return None
    known = {each.submission: each for each in server.rows(chosen, during)}
    rows = [_final_row(server, row, known) for row in found.ranking["rows"]]
    pairs = [Pair(**{name: each[name] for name in Pair.__dataclass_fields__}) for each in found.ranking["comparisons"]]
    level, rule = float(found.ranking["level"]), str(found.ranking.get("rule", RULE_BEFORE))
    made = conclusion.versions(server.ledger, chosen, during, found)
    since = conclusion.since(server.folder, server.ledger, chosen, during, found)
    return FinalRanking(found.at, chosen.metric, level, rule, [*made.labels], [*made.scorer], since, rows, pairs)


def ranking(server: Server, chosen: Board, during: Phase) -> FinalRanking:
    """The final ranking of a phase.

    Raises:
        Refused: with status 409, saying when there will be one.
    """
    if (found := final(server, chosen, during)) is not None:
        return found
    if during.ends is None:
        when = "it has no end, so its board is all there is"
    elif server.clock() < during.ends:
        when = f"it ends at {moment(during.ends):%Y-%m-%d %H:%M} UTC, and is ranked after that"
    else:
        when = f"it has ended at {moment(during.ends):%Y-%m-%d %H:%M} UTC, and waits for the organiser to conclude it"
    raise Refused(f"expected a phase with a final ranking, found none of {during.name} yet: {when}.", status=409)


def _final_row(server: Server, row: dict[str, Any], known: dict[int, Row]) -> FinalRow:
    """A row as the scorer stored it; who it is of may have to be looked up."""
    number, of_whom = int(row["submission"]), ("team", "begun", "reference", "chosen")
    if not all(name in row for name in of_whom):
        found = server.ledger.submission(number)
        reference = number in known and known[number].reference
        row = {"team": found.team_name, "begun": found.begun, "reference": reference, "chosen": found.chosen} | row
    return FinalRow(
        number, None if row["reference"] else row["rank"], row["team"], row["score"], row["low"], row["high"],
        row["begun"], row["reference"], row["chosen"], row["better_than"],
    )  # fmt: skip


def public_entries(server: Server, chosen: Board, during: Phase) -> dict[int, Compared]:
    """The submissions of which everybody may see all, by number: best ones of open boards, or those that counted."""
    rows: Sequence[FinalRow | Row] = server.rows(chosen, during)
    if during.hidden:
        found = final(server, chosen, during)
        rows = found.rows if found else []
    return {
        row.submission: Compared(row.submission, row.team, row.score, row.low, row.high, row.begun, row.reference)
        for row in rows
        if row.score is not None
    }


def submission(server: Server, user: User, number: int) -> SeenSubmission:
    """A submission of one's own team; organisers see all."""
    return of(server, server.submission(user, number))


def of(server: Server, found: Submission) -> SeenSubmission:
    """A submission that may be seen."""
    chosen, during = server.phase(found.board, found.phase)
    public = not found.hidden or found.id in public_entries(server, chosen, during)
    scores = [_score(each, public, found.hidden) for each in server.ledger.scores(found.id)]
    newest = scores[0] if scores else None
    shown = {name: value for name, value in vars(found).items() if name in _PLAIN}
    report = f"/submissions/{found.id}/report" if public and server.report(found) else None
    value, low, high, climbed = (
        (newest.value, newest.low, newest.high, newest.climbed) if newest else (None, None, None, None)
    )
    return SeenSubmission(**shown, score=value, low=low, high=high, climbed=climbed, scores=scores, report=report)


def _score(score: Score, public: bool, hidden: bool) -> SeenScore:
    value, low, high = (score.value, score.low, score.high) if public else (score.shown, None, None)
    notes = score.notes if public else ()
    return SeenScore(
        score.labels, score.scorer, value, low, high, score.climbed if hidden else None, notes, score.at,
        score.receipt, score.obsolete,
    )  # fmt: skip


def quota(server: Server, user: User, slug: str, name: str | None) -> Quota:
    """What the account's team has used of a phase."""
    chosen, during = server.phase(slug, name)
    if user.team is None:
        raise Refused("expected an account in a team, found one without. Found or join a team first.")
    return server.ledger.quota(chosen.slug, during, user.team)


def receipt(server: Server, user: User, number: int) -> dict[str, Any]:
    """The signed receipt of the newest score of a submission."""
    server.submission(user, number)
    if not (scores := server.ledger.scores(number)):
        raise Refused("expected a submission with a score, found one without.", status=404)
    return server.proofs.receipt(scores[0].receipt)


def comparison(server: Server, slug: str, name: str | None, numbers: list[int]) -> Comparison:
    """Submissions of a board beside each other; of hidden phases those of the final ranking."""
    chosen, during = server.phase(slug, name)
    entries = compared(server, chosen, during, numbers)
    released = server.ledger.released(slug, during.name) is not None
    state, problems = server.results.comparing(numbers, released=released) if len(entries) > 1 else ("none", ())
    query = "&".join(f"entry={number}" for number in numbers)
    address = f"/boards/{slug}/compared?phase={during.name}&{query}" if state == "done" else None
    outdated = phase(server, chosen, during).outdated if during.hidden else []
    return Comparison(chosen.slug, during.name, entries, state, problems, address, outdated)


def compared(server: Server, chosen: Board, during: Phase, numbers: list[int]) -> list[Compared]:
    """The submissions of these numbers, the best first.

    Raises:
        Refused: if one of them may not be seen.
    """
    known = public_entries(server, chosen, during)
    if server.sealed(chosen, during):
        raise Refused("expected a phase whose scores are shown: those of this one are hidden until its end.")
    if missing := [str(number) for number in numbers if number not in known]:
        raise Refused(f"expected submissions of the board, found {', '.join(missing)}. Choose others.", status=404)
    sign = 1 if server.better(chosen) == "min" else -1
    return sorted((known[number] for number in {*numbers}), key=lambda each: sign * each.score)


def begin_comparison(server: Server, chosen: Board, during: Phase, numbers: list[int]) -> None:
    """Begin the common report of submissions that may be seen."""
    found = compared(server, chosen, during, numbers)
    if len(found) < 2:
        raise Refused(f"expected 2 to {MOST_COMPARED} submissions to compare, found {len(found)}.", status=422)
    server.results.compare(chosen, during, {each.submission: _name(each, found) for each in found})


def _name(entry: Compared, among: list[Compared]) -> str:
    """A team's name, with the number of the submission where there are two of it."""
    twins = sum(each.team == entry.team for each in among)
    return entry.team if twins == 1 else f"{entry.team} {entry.submission}"


def comparison_page(server: Server, slug: str, name: str | None, wanted: list[int]) -> Path:
    """The common report of submissions that may be seen."""
    chosen, during = server.phase(slug, name)
    found = [each.submission for each in compared(server, chosen, during, wanted)]
    page = server.results.comparison(found, released=server.ledger.released(slug, during.name) is not None)
    if not page.is_file():
        raise Refused("expected a comparison that was made, found none. Make it first.", status=404)
    return page


def report_page(server: Server, user: User | None, number: int) -> Path:
    """The report of a submission: of one's own, or of one that everybody may see."""
    found = server.ledger.submission(number)
    chosen, during = server.phase(found.board, found.phase)
    public = found.id in public_entries(server, chosen, during)
    own = user is not None and (user.organises or user.team == found.team)
    if not public and (not own or found.hidden):
        raise Refused("expected a submission with a report that may be seen.", status=404)
    if (page := server.report(found)) is None:
        raise Refused(
            "expected a report, found none yet: one is written when nothing else waits. Come back.", status=404
        )
    return page


def choose(server: Server, user: User, number: int, *, chosen: bool) -> None:
    """Let a submission of one's own team count at the end, or no longer."""
    found = server.submission(user, number)
    server.ledger.choose(number, user, server.phase(found.board, found.phase)[1], chosen=chosen)
