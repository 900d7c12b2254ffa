"""Submissions that somebody else made, held against prepared data, scenes or a file of the ground truth."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.assessment.scored import Records, Scored
from shiftbench.errors import PredictionsError, ShiftbenchError
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.report.picture import Picture
from shiftbench.track import ScoredFiles, Task
from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.picture.gallery import galleries
from shiftbench.tracks.motion.submissions import scoring
from shiftbench.tracks.motion.submissions.evaluation import Evaluation, evaluation
from shiftbench.tracks.motion.submissions.requests import KEY, Requests, key_frame
from shiftbench.tracks.motion.submissions.submission import Reading, reading
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.motion.submissions.truth import Truth, together

_FAR_M = 30.0  # 150 m/s for a step of 0.2 s


@dataclass(frozen=True)
class _Evaluated:
    """A split that is scored: its truth, and the predictions of each system in the truth's order."""

    split: str
    truth: Truth
    lined: Mapping[str, Submission]

    def scored(self, error: str) -> tuple[Records, list[Scored]]:
        found = [
            scoring.scored_submission(one, self.truth, error=error, name=name, split=self.split)
            for name, one in self.lined.items()
        ]
        return found[0][0], [replace(scored, system=replace(scored.system, role="model")) for _, scored in found]


@dataclass(frozen=True)
class _Scored:
    """What pictures are drawn from: the data, and the splits with their predictions and errors."""

    held: Evaluation
    evaluated: list[_Evaluated]
    parts: list[tuple[Records, list[Scored]]]
    task: Task


def score_files(
    predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Progress | None = None
) -> list[ScoredFiles]:
    """The scores of submissions by the error of each task; files and data are read once.

    Args:
        predictions: name → file, the official protobuf or Parquet, trajectories in the agent's frame.
        truth: a prepared folder, a folder of scenes, or a file of the ground truth in the form of a submission. Scored
            is every split of it of which a submission has a prediction; notes say which have none.
        tasks: whose errors they are.
        progress: not called.

    Raises:
        PredictionsError: naming all that is wrong with the files, requests without a prediction, and others.
        TableError: if there is nothing to hold them against.
        ShiftbenchError: for scenes that are wrong; with all that is wrong with the files, too.
    """
    held, evaluated = _evaluated(truth, predictions)
    notes = (*held.notes, *_left_out(held, evaluated), *_doubts(evaluated))
    found = []
    for task in tasks:
        parts = [each.scored(task.name) for each in evaluated]
        title = f"Motion, {task.title}: {' · '.join(predictions)} on {held.origin}"
        options = scoring.options(task.name, title=title, task=task.name, recipe=_recipe(predictions, held, evaluated))
        found.append(ScoredFiles(task, parts, options, notes, source=_Scored(held, evaluated, parts, task)))
    return found


def pictures(scored: ScoredFiles) -> tuple[list[Picture], list[str]]:
    """Requests of scored submissions to look at, and why there are none of some."""
    return _pictures(scored.source.held, scored.source.evaluated, scored.source.parts, scored.source.task)


# --- what is held against what ----------------------------------------------------------------------------------------


def _evaluated(data: Path, submitted: Mapping[str, Path]) -> tuple[Evaluation, list[_Evaluated]]:
    """The data, and the splits that submissions are about; problems of data and files are listed together."""
    read = {name: reading(path) for name, path in submitted.items()}
    problems = [problem for each in read.values() for problem in each.problems]
    try:
        held = evaluation(data)
    except ShiftbenchError as error:
        if isinstance(error, ImportError) or not problems:
            raise
        raise ShiftbenchError(*error.problems, *problems) from None
    about = [each.requests for each in read.values() if each.requests is not None]
    truths = {split: truth for split, truth in held.truths.items() if any(_overlap(one, truth) for one in about)}
    if about and not truths:
        raise PredictionsError(_strangers(data, held), *problems)
    lined, misfits = _lined_up(read, submitted, truths)
    if problems or misfits:
        raise PredictionsError(*problems, *misfits)
    places = np.cumsum([0, *map(len, truths.values())])
    return held, [
        _Evaluated(
            split, truth, {name: one.select(np.arange(start, start + len(truth))) for name, one in lined.items()}
        )
        for (split, truth), start in zip(truths.items(), places[:-1], strict=True)
    ]


def _lined_up(
    read: Mapping[str, Reading], submitted: Mapping[str, Path], truths: Mapping[str, Truth]
) -> tuple[dict[str, Submission], list[str]]:
    """Each submission in the order of the truths, one after another, and all that does not fit these."""
    lined, problems = dict[str, Submission](), list[str]()
    if not truths:
        return lined, problems
    whole = together(list(truths.values()))
    for name, each in read.items():
        found: Iterable[str] = ()
        if each.submission is not None:
            try:
                lined[name] = scoring.line_up(each.submission, whole)
            except PredictionsError as error:
                found = error.problems
        elif each.requests is not None:
            found = scoring.misfits(each.requests, whole)
        problems += [f"{submitted[name]}: {problem}" for problem in found]
    return lined, problems


def _overlap(requests: Requests, truth: Truth) -> bool:
    """Whether there is a prediction for any request of a truth."""
    given, known = key_frame(requests.scene_ids, requests.track_ids), key_frame(truth.scene_ids, truth.track_ids)
    return not known.join(given, on=KEY, how="semi").is_empty()


def _strangers(data: Path, held: Evaluation) -> str:
    notes = "".join(f" ({note}.)" for note in held.notes)
    return f"expected predictions for requests of {data}, found none. Is it the right data?{notes}"


def _left_out(held: Evaluation, evaluated: list[_Evaluated]) -> list[str]:
    """In words: the splits without any predictions."""
    return [
        f"{split}: not scored, since there is no prediction for any of its {count:,} requests"
        for split, count in _not_scored(held, evaluated).items()
    ]


def _not_scored(held: Evaluation, evaluated: list[_Evaluated]) -> dict[str, int]:
    scored = {each.split for each in evaluated}
    return {split: len(truth) for split, truth in held.truths.items() if split not in scored}


def _doubts(evaluated: list[_Evaluated]) -> list[str]:
    """Submissions most of whose trajectories begin where no road user gets within a step: in another frame or unit?"""
    notes = []
    for each in evaluated:
        for name, one in each.lined.items():
            first = one.trajectories[:, 0] - each.truth.targets[one.modes.owner, 0]
            nearest = np.minimum.reduceat(np.hypot(first[:, 0], first[:, 1]), one.modes.starts)
            if (far := int(np.count_nonzero(nearest > _FAR_M))) > len(one) / 2:
                notes.append(
                    f"{name}, {each.split}: the first positions of {far:,} of {len(one):,} requests are more than "
                    f"{_FAR_M:g} m off (median {np.median(nearest):,.0f} m). Are they in the agent's frame, in metres, "
                    "0.2 s after the prediction time?"
                )
    return notes


# --- the report -------------------------------------------------------------------------------------------------------


def _pictures(
    held: Evaluation, evaluated: list[_Evaluated], parts: list[tuple[Records, list[Scored]]], task: Task
) -> tuple[list[Picture], list[str]]:
    """Requests to look at, and why there are no pictures of a split; dev has some only if it is scored alone."""
    if held.scene is None:
        return [], [f"no pictures of requests: {held.origin} has no scenes. Name their folder as the data to have some"]
    pictures, notes = list[Picture](), list[str]()
    for each, (_, scored) in zip(evaluated, parts, strict=True):
        if each.split == "dev" and len(evaluated) > 1:  # what one looks at is what was held back to the end
            continue
        systems = zip(each.lined.items(), scored, strict=True)
        try:
            pictures += galleries(
                held.scene, [(name, one, errors.errors) for (name, one), errors in systems],
                error=(task.title, task.unit), split=each.split,
            )  # fmt: skip
        except ShiftbenchError as error:
            notes.append(f"{each.split}: no pictures of requests: {error}")
    return pictures, notes


def _recipe(submitted: Mapping[str, Path], held: Evaluation, evaluated: list[_Evaluated]) -> dict[str, Any]:
    """What was scored: which requests (their number, and a hash of their ids) of which data, and which files."""
    return {
        "track": {"name": schema.TRACK, "origin": held.origin},
        "manifest": held.manifest,
        "partition": {
            "counts": {each.split: len(each.truth) for each in evaluated},
            "ids": {each.split: _ids_sha256(each.truth) for each in evaluated},
            "not_scored": _not_scored(held, evaluated),
            "unused": dict(held.unused),
        },
        "clusters": held.clusters,
        "systems": {name: {"file": path.name, "sha256": files.sha256(path)} for name, path in submitted.items()},
    }


def _ids_sha256(truth: Truth) -> str:
    """A hash of the scored requests in their order, a line each: scene, tab, track."""
    lines = (f"{scene}\t{track}\n" for scene, track in zip(truth.scene_ids, truth.track_ids, strict=True))
    return hashlib.sha256("".join(lines).encode()).hexdigest()
