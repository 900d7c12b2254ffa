"""The ground truth of submissions: the evaluated requests of prepared data or of scenes, or a file of the truth."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from shiftbench.errors import PredictionsError, ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.partition.settings import SPLITS
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import sources
from shiftbench.tracks.motion.prepared.manifest import MANIFEST
from shiftbench.tracks.motion.prepared.request_table import usable_requests
from shiftbench.tracks.motion.prepared.sources import Part
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene
from shiftbench.tracks.motion.submissions.submission import reading
from shiftbench.tracks.motion.submissions.truth import Truth, truth_of_requests, truth_of_scenes, truth_of_submission

LEARNING = "train"  # the part for training, scored only if it is given alone
WHOLE = "all"


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Requests to be scored, and their description for a recipe.

    truths: split → ground truth; the split is `all` if the data are a single part. origin: of the data. manifest:
    SHA-256 of the table of requests, of the scenes, or of the file. scene: returns a scene by its id; None if there are
    no scenes. unused: reason → number of requests that are not scored. notes: on what was left out.
    """

    truths: Mapping[str, Truth]
    origin: str
    manifest: str
    scene: Callable[[str], Scene] | None = None
    unused: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def clusters(self) -> list[str]:
        """The clusters of all splits; see `Truth`."""
        return sorted({truth.resampled for truth in self.truths.values()})


def evaluation(data: Path) -> Evaluation:
    """The requests of a prepared folder, of a folder of scenes, or of a file of the ground truth.

    Of several parts dev and eval are scored, each as a split; train is for training. Requests that cannot be predicted
    are left out by the rules of preparation.

    Raises:
        TableError: if there is no ground truth.
        PredictionsError: for a file that is not a ground truth.
        ShiftbenchError: listing all problems of the scenes.
    """
    if (data / MANIFEST).is_file():
        return _of_store(Store.open(data))
    if data.is_dir():
        return _of_scenes(data)
    if not data.is_file():
        raise TableError(f"{data}: expected prepared data, scenes or a file of the ground truth, found nothing there.")
    return _of_file(data)


def _of_store(store: Store) -> Evaluation:
    parts = {split: store.requests["partition"].is_in(list(names)).to_numpy() for split, names in SPLITS.items()}
    truths = {
        split: truth_of_requests(store.requests.filter(kept), store.targets[kept])
        for split, kept in parts.items()
        if kept.any()
    }
    manifest = store.manifest
    return Evaluation(truths, manifest["origin"], manifest["requests"]["sha256"], store.scene, manifest["unused"])


def _of_file(path: Path) -> Evaluation:
    found = reading(path)
    if found.submission is None:
        raise PredictionsError(*found.problems)
    try:
        truth = truth_of_submission(found.submission)
    except PredictionsError as error:
        raise PredictionsError(*(f"{path}: {problem}" for problem in error.problems)) from None
    return Evaluation({WHOLE: truth}, path.name, files.sha256(path))


# --- scenes -----------------------------------------------------------------------------------------------------------


def _of_scenes(data: Path) -> Evaluation:
    listed = sources.found(data)
    parts = [part for part in listed.parts if part.name != LEARNING] or list(listed.parts)
    read = _Reader(parts)
    truth, known = read.truth(data), sources.recordings(data)
    if known.keys() & read.paths.keys():
        truth = replace(truth, clusters=np.array([known.get(scene, scene) for scene in truth.scene_ids], dtype=np.str_))
    unused = {reason: count for reason, count in sorted(read.unused.items()) if count}
    notes = [f"left out: {count:,} {reason}" for reason, count in unused.items()]
    if len(parts) < len(listed.parts):
        place = next(part.folder for part in listed.parts if part.name == LEARNING)
        notes.append(f"{LEARNING}: not scored, since it is for training. To score it, name {place} as the data")
    truths = read.split(truth) if len(listed.parts) > 1 else {WHOLE: truth}
    origin = listed.origin or data.resolve().name
    return Evaluation(truths, origin, read.digest.hexdigest(), read.scene, unused, tuple(notes))


class _Reader:
    """Scenes of parts, read one after another with the requests that can be scored; problems are collected."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._parts = parts
        self._part_of: dict[str, str] = {}
        self.paths: dict[str, Path] = {}
        self.unused = Counter[str]()
        self.problems: list[str] = []
        self.digest = hashlib.sha256()

    def truth(self, data: Path) -> Truth:
        """The ground truth of all scenes; raises ShiftbenchError with all their problems."""
        try:
            found = truth_of_scenes(self._scenes())
        except ShiftbenchError as error:
            if isinstance(error, ImportError):  # the same for all scenes
                raise
            own = error.problems if self.paths else ()  # these follow from the problems if no scene could be read
            raise ShiftbenchError(*self.problems, *(f"{data}: {problem}" for problem in own)) from None
        if self.problems:
            raise ShiftbenchError(*self.problems)
        return found

    def split(self, truth: Truth) -> dict[str, Truth]:
        """The ground truth of each part that has any."""
        owner = np.array([self._part_of[scene] for scene in truth.scene_ids])
        rows = {part.name: np.flatnonzero(owner == part.name) for part in self._parts}
        return {name: truth.select(places) for name, places in rows.items() if places.size}

    def scene(self, scene_id: str) -> Scene:
        """One of the scenes, read again."""
        return read_scene(self.paths[scene_id])

    def _scenes(self) -> Iterator[Scene]:
        listed = [(part, path) for part in self._parts for path in part.scenes]
        for part, path in listed:
            try:
                scene = read_scene(path)
                usable, unused = usable_requests(scene, MapSettings())
            except ShiftbenchError as error:
                if isinstance(error, ImportError):
                    raise
                self.problems += error.problems
                continue
            self.paths[scene.id], self._part_of[scene.id] = path, part.name
            self.unused.update(unused)
            self.digest.update(f"{part.file(path)}\t{files.sha256(path)}\n".encode())
            yield replace(scene, requests=tuple(usable))
