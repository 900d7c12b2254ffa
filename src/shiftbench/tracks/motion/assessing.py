"""Submissions that somebody else made, held against prepared data, scenes or a file of the ground truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import files
from shiftbench.assessment import build
from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.report.content import Report
from shiftbench.scored import Records, Scored
from shiftbench.settings import Assessment
from shiftbench.track import Progress, Task, Words
from shiftbench.tracks.motion import schema
from shiftbench.tracks.motion.prepared import sources
from shiftbench.tracks.motion.prepared.manifest import MANIFEST
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene
from shiftbench.tracks.motion.submissions import scoring
from shiftbench.tracks.motion.submissions.submission import read_submission
from shiftbench.tracks.motion.submissions.submitted import Submission, key_frame
from shiftbench.tracks.motion.submissions.truth import (
    Truth,
    together,
    truth_of_requests,
    truth_of_scenes,
    truth_of_submission,
)

SPLITS = {"dev": ("dev_in", "dev_out"), "eval": ("eval_in", "eval_out")}
WHOLE = "all"


def assess(
    data: Path, submitted: Mapping[str, Path], task: Task, words: Words, *, cores: int, progress: Progress | None
) -> Report:
    """The report of submissions, beside each other if there are several.

    Args:
        data: a prepared folder, a folder of scenes, or a file of the ground truth in the form of a submission. Scored
            is every split of a prepared folder of which a submission has a prediction; other data as a whole.
        submitted: name → file, the official protobuf or Parquet, trajectories in the agent's frame.
        task: whose error it is.
        words: seed and assessment; nothing else of them is used.
        cores, progress: of the bootstrap, and told how far it is.

    Raises:
        PredictionsError: naming all that is wrong with the files, requests without a prediction, and others.
        TableError: if there is nothing to hold them against.
        ShiftbenchError: for scenes that are wrong.
    """
    say = progress or (lambda stage, done, total: None)
    truths, about = _truths(data)
    read = {name: _read(path) for name, path in submitted.items()}
    truths = {split: truth for split, truth in truths.items() if any(_meet(one, truth) for one in read.values())}
    if not truths:
        raise PredictionsError(f"expected predictions for requests of {data}, found none. Is it the right data?")
    whole = together(list(truths.values()))
    lined, problems = {}, list[str]()
    for name, one in read.items():
        try:
            lined[name] = scoring.line_up(one, whole)
        except PredictionsError as error:
            problems += [f"{submitted[name]}: {problem}" for problem in error.problems]
    if problems:
        raise PredictionsError(*problems)
    how = words.assessment(Assessment())
    options = scoring.options(
        task.name,
        title=f"Motion, {task.title}: {' · '.join(submitted)} on {about['origin']}",
        task=task.name,
        rule=how.rule,
        intervals=how.intervals(words.seed, cores),
        recipe=_recipe(submitted, about, seed=words.seed),
    )
    parts = [_split(lined, whole, rows, (truth, split), task.name) for split, truth, rows in _places(truths)]
    return build(parts, options, progress=lambda done, total: say(f"assess {task.title}", done, total))


def _truths(data: Path) -> tuple[dict[str, Truth], dict[str, Any]]:
    """What came true, by split, and what the recipe says of the data."""
    if (data / MANIFEST).is_file():
        store = Store.open(data)
        parts = {split: store.requests["partition"].is_in(list(names)).to_numpy() for split, names in SPLITS.items()}
        found = {
            split: truth_of_requests(store.requests.filter(kept), store.targets[kept])
            for split, kept in parts.items()
            if kept.any()
        }
        return found, {"origin": store.manifest["origin"], "manifest": store.manifest["requests"]["sha256"]}
    if data.is_dir():
        listed = sources.found(data)
        paths = [path for part in listed.parts for path in part.scenes]
        truth, known = truth_of_scenes(_scenes(paths)), sources.recordings(data)
        clusters = np.array([known.get(scene, scene) for scene in truth.scene_ids], dtype=np.str_)
        return {WHOLE: replace(truth, clusters=clusters)}, {"origin": listed.origin or data.name}
    if not data.is_file():
        raise TableError(f"{data}: expected prepared data, scenes or a file of the ground truth, found nothing there.")
    return {WHOLE: truth_of_submission(_read(data))}, {"origin": data.name, "sha256": files.sha256(data)}


def _scenes(paths: Sequence[Path]) -> Iterator[Scene]:
    problems: list[str] = []
    for path in paths:
        try:
            yield read_scene(path)
        except ShiftbenchError as error:
            if isinstance(error, ImportError):  # true of every scene
                raise
            problems += error.problems
    if problems:
        raise ShiftbenchError(*problems)


def _read(path: Path) -> Submission:
    try:
        return read_submission(path)
    except PredictionsError as error:
        raise PredictionsError(
            *(problem if str(path) in problem else f"{path}: {problem}" for problem in error.problems)
        ) from None


def _meet(submission: Submission, truth: Truth) -> bool:
    """Whether a submission has a prediction for any request of a truth."""
    given, asked = key_frame(submission.scene_ids, submission.track_ids), key_frame(truth.scene_ids, truth.track_ids)
    return not asked.join(given, on=["scene", "track"], how="semi").is_empty()


def _places(truths: Mapping[str, Truth]) -> Iterator[tuple[str, Truth, Any]]:
    """Each split with its truth, and the places of its requests among all."""
    start = 0
    for split, truth in truths.items():
        yield split, truth, np.arange(start, start + len(truth))
        start += len(truth)


def _split(
    lined: Mapping[str, Submission], whole: Truth, rows: Any, place: tuple[Truth, str], error: str
) -> tuple[Records, list[Scored]]:
    truth, split = place
    found = [
        scoring.scored_submission(one.select(rows), truth, error=error, name=name, split=split)
        for name, one in lined.items()
    ]
    return found[0][0], [replace(scored, system=replace(scored.system, role="model")) for _, scored in found]


def _recipe(submitted: Mapping[str, Path], about: Mapping[str, Any], *, seed: int) -> dict[str, Any]:
    return {
        "track": {"name": schema.TRACK, "origin": about["origin"]},
        **{name: value for name, value in about.items() if name != "origin"},
        "files": {path.name: files.sha256(path) for path in submitted.values()},
        "clusters": ["scene_id"],
        "systems": {name: {"file": path.name} for name, path in submitted.items()},
        "seed": seed,
    }
