"""The end of a phase: which submissions are ranked, by which labels and scorer, and what has come since.

Final results are of one version of the labels: that of the scores by which the entries were chosen, which has to be the
one that is sealed then. Labels that are corrected later leave them as they are until the phase is concluded again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from shiftbench.challenge import manifest
from shiftbench.challenge.definition import Board, Phase, moment
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Better, Entry, Final, Refused
from shiftbench.errors import SettingsError, counted
from shiftbench.scores.metric import METRICS

DIGITS = 12  # of a version of labels, as pages tell it


class Versions(NamedTuple):
    """Versions of labels and of the scorer behind final results: one of each, but of earlier versions of this code."""

    labels: tuple[str, ...]
    scorer: tuple[str, ...]


def better(board: Board) -> Better:
    """Which values of the headline score are better."""
    return "max" if METRICS[board.metric].better == "max" else "min"


def sealed(folder: Path, board: Board, phase: Phase) -> str | None:
    """The version of the labels that are sealed now; None of a challenge that was not sealed."""
    try:
        return manifest.labels(folder, board.slug, phase.name)
    except SettingsError:
        return None


def entries(folder: Path, ledger: Ledger, board: Board, phase: Phase) -> list[Entry]:
    """The submissions that are to be ranked: those that teams chose, else their best; references, too.

    Raises:
        Refused: while the phase goes on, something of it waits, nothing has a score, or not all scores are of the
            labels that are sealed now.
    """
    ledger.require_over(board.slug, phase)
    found = ledger.chosen(board.slug, phase.name, better=better(board), hidden=phase.hidden)
    if not found:
        raise Refused("expected submissions with a score, found none: there is nothing to rank.")
    if (labels := sealed(folder, board, phase)) is not None:
        _require(found, labels)
    return found


def _require(found: Sequence[Entry], labels: str) -> None:
    if other := [each for each in found if each.labels != labels]:
        raise Refused(
            f"expected scores with the labels that are sealed now ({labels[:DIGITS]}), found older ones of "
            f"{counted(len(other), 'submission')} ({_some([str(each.submission) for each in other])}). "
            "Score all again first; what cannot be scored with them is left out once the older ones are made obsolete."
        )


def ranking(folder: Path, state: Path, board: Board, phase: Phase, found: Sequence[Entry]) -> dict[str, Any]:
    """The final ranking of submissions, as JSON, with the `labels` and the `scorer` that it was made with.

    Raises:
        Refused: if their scores are of other labels, or these change meanwhile.
    """
    from shiftbench.challenge import scoring

    labels = scoring.labels(folder, board, phase.name)
    _require(found, labels)
    parsed = {str(each.submission): state / "parsed" / str(each.submission) for each in found}
    made = scoring.ranking(folder, board, phase, parsed, found)
    if scoring.labels(folder, board, phase.name) != labels:
        raise Refused("expected labels that stay as they are while submissions are ranked, found them corrected.")
    return {**made, "labels": labels, "scorer": scoring.scorer()}


# --- what has come since ----------------------------------------------------------------------------------------------


def versions(ledger: Ledger, board: Board, phase: Phase, final: Final) -> Versions:
    """Labels and scorer behind a final ranking; earlier versions of this code did not keep them with it."""
    told = final.ranking
    if "labels" in told:
        return Versions((told["labels"],), (told["scorer"],))
    ranked = {row["submission"] for row in told["rows"]}
    held = ledger.versions(board.slug, phase.name, final.at)
    known = [each for number, each in held.items() if number in ranked]
    return Versions(_unique(labels for labels, _ in known), _unique(scorer for _, scorer in known))


def since(folder: Path, ledger: Ledger, board: Board, phase: Phase, final: Final) -> list[str]:
    """Why a final ranking is not of what counts now, in sentences; none if it is."""
    now = ledger.chosen(board.slug, phase.name, better=better(board), hidden=phase.hidden)
    made, ranked = versions(ledger, board, phase, final), {row["submission"]: row for row in final.ranking["rows"]}
    found = [*_newer_labels(folder, ledger, board, phase, made, now), *_newer_scorer(made, now, final.at)]
    out = dict(ledger.disqualified())
    gone = _unique(str(row["team"]) for row in ranked.values() if row.get("team") in out)
    if gone:
        found.append(f"Still ranked, though disqualified since: {_some(gone)}.")
    if not found and {each.submission for each in now} != {*ranked}:
        names = _unique(each.team_name for each in now if each.submission not in ranked)
        found.append(
            "The submissions that count have changed since, for example because a team was reinstated or scores were "
            f"made obsolete{f' (of {_some(names)})' if names else ''}."
        )
    if found:
        found.append("The final results stay as they are until the organisers conclude the phase again.")
    return found


def _newer_labels(
    folder: Path, ledger: Ledger, board: Board, phase: Phase, made: Versions, now: Sequence[Entry]
) -> list[str]:
    newest = max(now, key=lambda each: each.score).labels if now else None
    current = sealed(folder, board, phase) or newest
    if current is None or made.labels == (current,):
        return []
    done, old = sum(each.labels == current for each in now), _some([each[:DIGITS] for each in made.labels])
    since = _day(_first(folder, ledger, board, phase, current))
    return [
        f"The final results are of earlier labels ({old}). Corrected ones ({current[:DIGITS]}) have been in place "
        f"since {since} at the latest. Of {counted(len(now), 'submission')} that would count now, "
        f"{done or 'none'} {'has' if done == 1 else 'have'} been scored with them."
    ]


def _first(folder: Path, ledger: Ledger, board: Board, phase: Phase, labels: str) -> int:
    """When a version of labels was there at the latest: scored with, or sealed."""
    scored = ledger.labels(board.slug, phase.name).get(labels)
    known = [] if scored is None else [scored]
    if sealed(folder, board, phase) == labels:
        known.append((folder / manifest.FILE).stat().st_mtime_ns // 1_000)
    return min(known, default=0)


def _newer_scorer(made: Versions, now: Sequence[Entry], at: int) -> list[str]:
    newer = [each for each in now if each.scored > at and (each.scorer,) != made.scorer]
    if not newer:
        return []
    first = min(newer, key=lambda each: each.scored)
    return [
        f"The final results were made by {_some(made.scorer)}. Submissions have been scored again by "
        f"{_some(_unique(each.scorer for each in newer))} since {_day(first.scored)}."
    ]


def _day(at: int) -> str:
    return f"{moment(at):%Y-%m-%d %H:%M} UTC"


def _some(names: Sequence[str], most: int = 3) -> str:
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"


def _unique(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(values))
