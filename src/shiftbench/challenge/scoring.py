"""Scores of submissions against sealed labels, by the same functions as every report; nothing is scored here.

Takes only what the sandbox made of files (`sandbox.arrays`). What a hidden phase answers about labels is one number, so
messages and notes that could tell more stay here.
"""

from __future__ import annotations

import hashlib
import math
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench import __version__
from shiftbench.challenge import forms, manifest, ranks, sandbox
from shiftbench.challenge.definition import Board, Phase
from shiftbench.challenge.sandbox import Fault, Refused
from shiftbench.errors import MissingExtraError, PredictionsError, SettingsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.track.contract import MANIFEST, Arrays, ScoredFiles
from shiftbench.track.public_records import PublicRecords

if TYPE_CHECKING:
    from shiftbench.assessment.assessed import Basis
    from shiftbench.assessment.scored import Records, Scored
    from shiftbench.challenge.store.records import Entry
    from shiftbench.check import Vector
    from shiftbench.scores.intervals import Bootstrap
    from shiftbench.scores.resampling import Resampler, Statistic

SYSTEM, BEST = "submission", "best"
ROUNDING = 1e-9
LEVEL = 0.05  # of the tests behind final ranks
MOST_BY_HOLM = 40  # pairs; of more the smallest possible p-value would not be significant after Holm's adjustment
ANYTHING_ELSE = (
    "expected predictions of exactly the records of this board, with all of its classes, found others. What exactly "
    "does not fit could tell about hidden labels: compare your file with the example."
)


@dataclass(frozen=True)
class Outcome:
    """The headline score of a submission, with its 95 % interval (None without), and remarks that its team may read.

    noise: the standard error of the difference from the team's best submission on the same records, or of the score
    itself if there is none; at least the finest digit that a board shows, and the rounding of what was shown before:
    else a copy of the best submission, or one that differs in a record, would tell more digits.
    """

    value: float
    low: float | None
    high: float | None
    noise: float
    notes: tuple[str, ...] = ()


def scorer() -> str:
    """The version of the scorer, which stands beside each score."""
    return f"shiftbench {__version__}"


def validate(board: Board, file: Path, records: PublicRecords | None = None) -> list[str]:
    """Everything that is wrong with a file for a board, before it is handed in; no labels are needed.

    records: the public ones of the phase; without them, whether the file fits them is not told.
    """
    form = forms.of(board)
    return form.misnamed(file.name) or forms.validated(form.intake, file, records)[1]


def remarks(board: Board, file: Path) -> list[str]:
    """What is odd about a valid file: an uncertainty that is probably of the wrong sign."""
    return forms.remarks(forms.of(board).intake.parse(file))


def evaluate(
    folder: Path, board: Board, phase: Phase | str, parsed: Path, best: Path | None = None, shown: float | None = None
) -> Outcome:
    """The headline score of a submission.

    Args:
        folder: of the challenge.
        board, phase: where it was handed in.
        parsed: the folder of its arrays.
        best: that of the team's best submission so far, for the noise. shown: what the team was told of that.

    Raises:
        Refused: naming what is wrong with the submission, in words that tell nothing about hidden labels.
        Fault: if labels or board are wrong.
    """
    during = _phase(board, phase)
    held = {SYSTEM: sandbox.arrays(parsed)}
    if best is not None:
        held[BEST] = sandbox.arrays(best)
    scored = _scored(folder, board, during, held)
    records, systems = _part(scored, folder, board, during)
    value, *others = _values(board, scored, records, systems)
    low, high, noise = None, None, abs(value) if math.isfinite(value) else 0.0
    drawn = _replicates(board, scored, records, systems)
    if drawn is None and during.hidden:
        raise Fault(f"board {board.slug}: expected a metric with intervals, which the Ladder needs, not {board.metric}")
    if drawn is not None:
        result, units = drawn
        low, high = _interval(result, value, units)
        noise = max(_noise(result, noise), _finest(result, units))
        if others and shown is not None:
            noise = max(noise, abs(shown - others[0]) * (1 + ROUNDING))
    own = forms.remarks(held[SYSTEM])
    notes = own if during.hidden else [*own, *scored.notes]
    return Outcome(value, low, high, noise, tuple(forms.unique(notes)))


def report(
    folder: Path, board: Board, phase: Phase | str, parsed: Mapping[str, Path], out: Path, *, records: bool = False
) -> Path:
    """The report on submissions by name, in a folder; returns its page.

    records: whether labels are released, so that it may tell of single records and picture them. Without, no file of it
    has anything of a record.
    """
    from shiftbench import report as room
    from shiftbench.assessment.assess import build

    during = _phase(board, phase)
    arrays = {name: sandbox.arrays(place) for name, place in parsed.items()}
    with _aside(folder, board, during, arrays) as scored:
        options = replace(
            scored.options, title=f"{board.title}: {' · '.join(parsed)}", threshold=_threshold(board, scored),
            records=records,
        )  # fmt: skip
        track = forms.of(board).track
        drawn = records and track is not None and track.pictures is not None
        pictures, missing = track.pictures(scored) if drawn else ((), ())
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = build([_part(scored, folder, board, during)], options)
        made = replace(made, warnings=(*scored.notes, *missing, *made.warnings))
    return room.write(made, out, tuple(pictures))["html"]


def ranking(
    folder: Path, board: Board, phase: Phase | str, parsed: Mapping[str, Path], entries: Sequence[Entry] = ()
) -> dict[str, Any]:
    """The final ranking of submissions by paired tests on the headline score, as JSON.

    Ranks and order are those of `ranks.ranked`. Pairs of teams are one family of tests (differences on the same
    records, adjusted by Holm's method, of very many pairs by Romano & Wolf's), pairs of a reference and a team another;
    references are not compared with each other.

    Args:
        folder, board, phase: as of `evaluate`.
        parsed: name → arrays, in the order of arrival. Names are the numbers of submissions.
        entries: what is known of them; adds `team`, `begun`, `reference` and `chosen` to the rows. References take no
            rank from teams.

    Returns:
        `rule`: in words; `rows`, in the order in which they stand: `submission`, `rank`, `score`, `low`, `high`,
        `better_than` (positions of rows); `comparisons`: `a`, `b` (positions of rows), `difference`, `low`, `high`,
        `p`, `p_adjusted`, `better` (a position, or None).
    """
    from shiftbench.scores.metric import METRICS

    during, names = _phase(board, phase), list(parsed)
    scored = _scored(folder, board, during, {name: sandbox.arrays(place) for name, place in parsed.items()})
    records, systems = _part(scored, folder, board, during)
    values = _values(board, scored, records, systems)
    drawn = _replicates(board, scored, records, systems)
    known = {str(each.submission): each for each in entries}
    reference = [name in known and known[name].reference for name in names]
    compared = [] if drawn is None else _comparisons(board, drawn[0], reference)
    found = [
        (each["winner"], each["a"] + each["b"] - each["winner"]) for each in compared if each["winner"] is not None
    ]
    losses = np.array(values) * (1 if METRICS[board.metric].better == "min" else -1)
    standing, order = ranks.ranked(found, reference, losses)
    rows = []
    for k in order:
        low, high = (None, None) if drawn is None else _interval(drawn[0], values[k], drawn[1], k)
        row: dict[str, Any] = {
            "submission": int(names[k]) if names[k].isdigit() else names[k], "rank": standing[k],
            "score": _or_none(values[k]), "low": low, "high": high,
        }  # fmt: skip
        if (entry := known.get(names[k])) is not None:
            row |= {"team": entry.team_name, "begun": entry.begun, "reference": entry.reference, "chosen": entry.chosen}
        rows.append(row)
    place = {k: position for position, k in enumerate(order)}
    matrix = [{**each, "a": place[each["a"]], "b": place[each["b"]]} for each in compared]
    for each in matrix:
        winner = each.pop("winner")
        each["better"] = None if winner is None else place[winner]
    for position, row in enumerate(rows):
        row["better_than"] = sorted(
            each["a"] + each["b"] - position for each in matrix if each["better"] == position
        )  # fmt: skip
    return {
        "metric": board.metric, "subset": board.subset, "level": LEVEL, "rule": ranks.RULE, "rows": rows,
        "comparisons": matrix,
    }  # fmt: skip


# --- labels -----------------------------------------------------------------------------------------------------------


def labels(folder: Path, board: Board, phase: str) -> str:
    """The version of the labels that lie in the folder now.

    Raises:
        Fault: if they are others than those that were sealed.
    """
    sealed = manifest.labels(folder, board.slug, phase)
    place = folder / manifest.SEALED / board.slug / phase
    held = sorted(
        (path.relative_to(place).as_posix(), files.sha256(path)) for path in place.rglob("*") if path.is_file()
    )
    found = hashlib.sha256("".join(f"{each}  {name}\n" for name, each in held).encode()).hexdigest()
    if found != sealed:
        raise Fault(
            f"{board.slug}, {phase}: expected the labels that were sealed, found others. Seal the challenge again: "
            "shiftbench challenge seal."
        )
    return sealed


def _phase(board: Board, phase: Phase | str) -> Phase:
    return board.phase(phase) if isinstance(phase, str) else phase


def _scored(folder: Path, board: Board, phase: Phase, arrays: Mapping[str, Arrays]) -> ScoredFiles:
    with _aside(folder, board, phase, arrays) as found:
        return found


@contextmanager
def _aside(folder: Path, board: Board, phase: Phase, arrays: Mapping[str, Arrays]) -> Iterator[ScoredFiles]:
    """Submissions scored, with files in between in a folder that is removed at the end."""
    truth = manifest.truth(folder, board.slug, phase.name)
    _require_fit(folder, board, phase, arrays)
    with tempfile.TemporaryDirectory(prefix="shiftbench-scoring-") as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = forms.of(board).score(arrays, truth, Path(place))
        except (SettingsError, MissingExtraError) as error:
            raise Fault(*error.problems) from None
        except ShiftbenchError as error:
            raise Refused(*_publishable(error, phase, truth, Path(place))) from None
        yield found


def _require_fit(folder: Path, board: Board, phase: Phase, arrays: Mapping[str, Arrays]) -> None:
    """Refuse what `forms.validated` refuses: predictions of other records, or of some alone, which could be easy ones.

    Raises:
        Refused: which only a reader that was deceived lets happen, or labels that were corrected.
        Fault: if the records cannot be told.
    """
    form = forms.of(board)
    try:
        records = manifest.records(folder, board, phase.name)
    except ShiftbenchError as error:
        raise Fault(*error.problems) from None
    found = {
        name: forms.problems(form.intake, held, records)
        for name, held in arrays.items()
        if name != BEST  # was scored with these labels
    }
    if problems := [f"{name}: {problem}" for name, own in found.items() for problem in own]:
        raise Refused(*problems)


def _publishable(error: ShiftbenchError, phase: Phase, truth: Path, place: Path) -> list[str]:
    """What a team may read of a problem that was found beside labels: missing records, and nothing of this machine."""
    if phase.hidden and not isinstance(error, PredictionsError):
        return [ANYTHING_ELSE]
    found = []
    for problem in error.problems:
        for path in (truth, place, truth.parents[3]):
            for text in (str(path.resolve()), str(path)):
                problem = problem.replace(text, "the labels" if path == truth else "")
        found.append(problem.lstrip("/"))
    return found


def _part(scored: ScoredFiles, folder: Path, board: Board, phase: Phase) -> tuple[Records, list[Scored]]:
    """The records of the board: of a prepared folder with `eval` these, so that nobody is scored on others."""
    parts = {records.split: (records, list(systems)) for records, systems in scored.parts}
    truth = manifest.truth(folder, board.slug, phase.name)
    if (truth / MANIFEST).is_file():
        counts = forms.of(board).track.open_prepared(truth).counts
        if any(name.startswith("eval") and count for name, count in counts.items()):
            if "eval" not in parts:
                raise Refused("expected predictions of the records of eval, found those of others.")
            return parts["eval"]
    if len(parts) != 1:
        raise Fault(f"{board.slug}, {phase.name}: expected labels of one split, found {', '.join(parts)}.")
    return next(iter(parts.values()))


# --- numbers ----------------------------------------------------------------------------------------------------------


def _threshold(board: Board, scored: ScoredFiles) -> float | None:
    return scored.options.threshold if board.threshold is None else board.threshold


def _values(board: Board, scored: ScoredFiles, records: Records, systems: Sequence[Scored]) -> list[float]:
    """The headline score of each system, as a report shows it."""
    from shiftbench.assessment.assessed import Assessed

    found = []
    for system in systems:
        assessed = Assessed(records, system, threshold=_threshold(board, scored), rule=scored.options.rule)
        own = ("", system.measure)
        scores = [each for each in assessed.scores({}) if each.subset == board.subset and each.measure in own]
        named = [each.value for each in scores if each.metric == board.metric]
        if not named:
            known = ", ".join(dict.fromkeys(each.metric for each in scores)) or "none"
            raise Fault(
                f"board {board.slug}: expected a metric of its submissions on the subset {board.subset}: {known}; "
                f"found {board.metric}. Choose one in challenge.toml."
            )
        found.append(float(named[0]))
    return found


class _Only:
    """One score of a statistic that has several."""

    def __init__(self, statistic: Statistic, place: int) -> None:
        self.inner, self.place = statistic, place
        self.names: tuple[str, ...] = (statistic.names[place],)

    def values(self, counts: Vector) -> Vector:
        return self.inner.values(counts)[[self.place]]

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        values, influence = self.inner.linearised(counts)
        return values[[self.place]], influence[[self.place]]


def _replicates(
    board: Board, scored: ScoredFiles, records: Records, systems: Sequence[Scored]
) -> tuple[Bootstrap, int] | None:
    """Paired replicates of the headline score of all systems, and the units behind it; None if it has none."""
    from shiftbench.assessment.assessed import Assessed, in_canonical_order
    from shiftbench.scores import intervals
    from shiftbench.scores.resampling import Resampler

    records, ordered = in_canonical_order(records, systems)
    strata = None if records.shifted is None else records.shifted.astype(np.intp)
    resampler = Resampler(records.n, clusters=records.clusters, strata=strata)
    assessed = [
        Assessed(records, each, threshold=_threshold(board, scored), rule=scored.options.rule) for each in ordered
    ]
    found = [_headline(each, board, resampler) for each in assessed]
    statistics = [each[0] for each in found if each is not None]
    if len(statistics) < len(systems):
        return None
    basis = next(each[1] for each in found if each is not None)
    settings = scored.options.intervals
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = intervals.bootstrap(
            statistics, resampler, settings, units=[max(basis.units, intervals.FEWEST)], scales=[basis.scale],
            effective=[basis.effective],
        )  # fmt: skip
    return result, basis.units


def _headline(assessed: Any, board: Board, resampler: Resampler) -> tuple[Statistic, Basis] | None:
    from shiftbench.scores.metric import METRICS

    needed = {board.metric, *(name for name, metric in METRICS.items() if metric.area == board.metric)}
    labels, bases, joined = assessed.statistic(resampler, needed)
    try:
        place = labels.index(("score", board.subset, board.metric))
    except ValueError:
        return None
    basis = bases[place]
    for part in joined.parts:
        if place < len(part.names):
            return _Only(part, place), basis
        place -= len(part.names)
    return None


def _interval(result: Bootstrap, value: float, units: int, k: int = 0) -> tuple[float | None, float | None]:
    """The interval of a system's score; None if too few units are behind it."""
    from shiftbench.scores.intervals import FEWEST

    low, high = (float(side[k, 0]) for side in result.intervals())
    if units < FEWEST or not (math.isfinite(low) and math.isfinite(high) and math.isfinite(value)):
        return None, None
    return min(low, value), max(high, value)


def _noise(result: Bootstrap, otherwise: float) -> float:
    """The standard error of the first system's score, or of its difference from the second's."""
    several = len(result.values) > 1
    row = len(result.values) if several else 0
    if len(result.replicates):
        drawn = result.replicates[:, 0, 0] - (result.replicates[:, 1, 0] if several else 0.0)
        drawn = drawn[np.isfinite(drawn)]
        found = float(np.std(drawn, ddof=1)) if len(drawn) > 1 else math.nan
    else:
        found = float(result.errors[row, 0]) if result.errors is not None else math.nan
    return found if math.isfinite(found) else otherwise


def _finest(result: Bootstrap, units: int) -> float:
    """The standard error of the score over √N: the 1/N to which Blum & Hardt round losses, for any score."""
    alone = replace(result, values=result.values[:1], replicates=result.replicates[:, :1])
    return _noise(alone, 0.0) / math.sqrt(max(units, 1))


def _comparisons(board: Board, result: Bootstrap, reference: Sequence[bool]) -> list[dict[str, Any]]:
    """All pairs but those of references, with what is better according to a test that is adjusted in its family."""
    from shiftbench.scores.metric import METRICS

    families = [[pair for pair, (a, b) in enumerate(result.pairs) if reference[a] + reference[b] == count]
                for count in (0, 1)]  # fmt: skip
    numbers = {pair: tuple(float(each[0]) for each in result.difference(pair)) for pair in (*families[0], *families[1])}
    adjusted = {
        pair: p for family in families for pair, p in zip(family, _adjusted(result, family, numbers), strict=True)
    }
    lower_wins, found = METRICS[board.metric].better == "min", []
    for pair, (difference, low, high, alone) in sorted(numbers.items()):
        (a, b), joint = result.pairs[pair], adjusted[pair]
        winner = (a if (difference < 0) == lower_wins else b) if joint < LEVEL else None
        measured = {"difference": difference, "low": low, "high": high, "p": alone, "p_adjusted": joint}
        found.append({"a": a, "b": b, **{name: _or_none(x) for name, x in measured.items()}, "winner": winner})
    return found


def _adjusted(result: Bootstrap, family: Sequence[int], numbers: Mapping[int, tuple[float, ...]]) -> list[float]:
    """The p-values of a family of pairs, adjusted for their number."""
    from shiftbench.scores.multiplicity import holm, step_down

    p = [numbers[pair][3] for pair in family]
    if not len(result.replicates) or len(p) <= MOST_BY_HOLM:
        return [float(each) for each in holm(p)]
    observed, drawn = zip(*(result.distances(pair, 0) for pair in family), strict=True)
    return [float(each) for each in step_down(p, np.array(observed), np.array(drawn))]


def _or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None
