"""Challenges of tracks: labels that are scored by the track, inputs that tell neither labels nor the shift."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import tracks
from shiftbench.challenge import creation, definition, forms, manifest
from shiftbench.challenge.creation import Terms
from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.track import ScoredFiles
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import read_scene
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission

ROWS = {"weather": 1500, "motion": 20, "lesions": 10, "translation": 100}
TASKS = {"weather": "regression", "translation": tracks.track("translation").tasks[0].name}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folders: dict[str, Path] = {}

    def of(name: str) -> Path:
        if name not in folders:
            terms = Terms(name, task=TASKS.get(name, ""))
            folders[name] = tmp_path_factory.mktemp(name) / name
            creation.add(folders[name], terms, creation.from_track(terms, name, None, rows=ROWS[name]))
        return folders[name]

    return of


@pytest.mark.parametrize("name", ROWS)
def test_a_challenge_on_an_example_is_well_and_its_example_is_gone(name: str, made: Callable[[str], Path]):
    folder = made(name)
    assert manifest.check(folder) == []
    assert {path.name for path in folder.iterdir()} == {"challenge.toml", "manifest.json", "public", "sealed"}
    (board,) = definition.read(folder / "challenge.toml").boards
    assert (board.track, [phase.hidden for phase in board.phases]) == (name, [False, True])
    assert {each.split("/")[0] for each in manifest.public(folder, "main")} == {
        "train", "development", "evaluation", "split.json",
    }  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_no_sealed_file_is_public(name: str, made: Callable[[str], Path]):
    public, sealed = (
        {files.sha256(path) for path in (made(name) / part).rglob("*") if path.is_file()}
        for part in ("public", "sealed")
    )
    shared = public & sealed
    if name == "lesions":  # masks of the brain are inputs, too
        shared -= {files.sha256(path) for path in (made(name) / "sealed").rglob("brain.nii.gz")}
    assert not shared


def test_hidden_scenes_have_no_future_no_tags_and_requests_that_can_be_scored(made: Callable[[str], Path]):
    public, sealed = (made("motion") / part for part in ("public/main/evaluation", "sealed/main/evaluation/truth"))
    paths = sorted(public.rglob("*.pb"))
    assert [path.name for path in paths] == [path.name for path in sorted(sealed.rglob("*.pb"))] != []
    for path in paths:
        message = protobuf.parse_scene(path.read_bytes())
        names = {field.name for field, _ in message.ListFields()}
        assert not names & {"future_vehicle_tracks", "future_pedestrian_tracks", "future_ego_track", "scene_tags"}
        assert all(not request.trajectory_tags for request in message.prediction_requests)
        read_scene(path)  # still a valid scene
    assert not [*public.rglob("*tags*")]
    assert [*(made("motion") / "public/main/train").rglob("*_tags.txt")]


def test_hidden_patients_have_neither_mask_nor_site(made: Callable[[str], Path]):
    public = made("lesions") / "public/main/evaluation"
    assert {path.name.split(".")[0] for path in public.rglob("*.nii.gz")} == {"flair", "brain"}
    assert not [path for path in public.rglob("*") if "site" in str(path.relative_to(public))]
    assert pl.read_csv(public / "patients.csv").columns == ["patient", "flair", "brain"]
    truth = pl.read_csv(made("lesions") / "sealed/main/evaluation/truth/patients.csv")
    assert {*truth["part"]} == {"eval_in", "eval_out"}
    assert "load_ml" not in truth.columns


def test_hidden_weather_has_features_alone(made: Callable[[str], Path]):
    folder = made("weather")
    inputs = pl.read_parquet(folder / "public/main/evaluation/inputs.parquet")
    truth = pl.read_parquet(folder / "sealed/main/evaluation/truth.parquet")
    assert inputs["id"].to_list() == truth["id"].to_list()
    assert not [name for name in inputs.columns if name.startswith("fact_") or name in ("climate", "shifted")]
    assert 0 < truth["shifted"].sum() < truth.height


def test_the_track_scores_predictions_against_the_sealed_truth(made: Callable[[str], Path], tmp_path: Path):
    from shiftbench.assessment.predictions import Predictions
    from shiftbench.ensembles import Gaussian

    folder, track = made("weather"), tracks.track("weather")
    ids = pl.read_parquet(folder / "public/main/evaluation/inputs.parquet")["id"]
    ensemble = Gaussian(np.zeros((1, len(ids))), np.linspace(1, 2, len(ids))[None])
    Predictions(ids.to_list(), ensemble, {"task": "regression"}).save(tmp_path / "p.parquet")
    ((records, scored),) = track.score(
        tmp_path / "p.parquet", manifest.truth(folder, "main", "evaluation"), track.tasks[0]
    )
    assert len(scored.errors) == len(ids)
    assert 0 < records.shifted.sum() < len(ids)


def test_hidden_sentences_have_sources_alone_and_are_scored(made: Callable[[str], Path], tmp_path: Path):
    folder, track = made("translation"), tracks.track("translation")
    lines = (folder / "public/main/evaluation/inputs.jsonl").read_text("utf-8").splitlines()
    assert {key for line in lines for key in json.loads(line)} == {"id", "source"}
    answers = [{"id": json.loads(line)["id"], "hypotheses": [{"text": "No.", "confidence": 1.0}]} for line in lines]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(each) + "\n" for each in answers))
    ((records, scored),) = track.score(
        tmp_path / "a.jsonl", manifest.truth(folder, "main", "evaluation"), track.tasks[0]
    )
    assert len(scored.errors) == len(lines)
    assert 0 < records.shifted.sum() < len(lines)


def test_a_track_that_divides_nothing_says_what_to_do(monkeypatch: pytest.MonkeyPatch):
    undivided = replace(tracks.track("motion"), withhold=None)
    monkeypatch.setattr(tracks, "track", lambda _: undivided)
    with pytest.raises(SettingsError, match="PHASE/truth"):
        creation.from_track(Terms("T"), "motion", None)


def scored(folder: Path, file: Path, aside: Path) -> ScoredFiles:
    """A file as the server takes and scores it in the hidden phase, without its sandbox."""
    form = forms.of(definition.read(folder / "challenge.toml").boards[0])
    arrays = form.intake.parse(file)
    assert forms.problems(arrays) == []
    return form.score({"mine": arrays}, manifest.truth(folder, "main", "evaluation"), aside)


def test_maps_of_hidden_patients_are_scored(made: Callable[[str], Path], tmp_path: Path):
    public = made("lesions") / "public/main/evaluation"
    patients = pl.read_csv(public / "patients.csv")
    with zipfile.ZipFile(tmp_path / "mine.zip", "w") as archive:
        for row in patients.iter_rows(named=True):
            image, affine = nifti.read_image(public / row["flair"])
            bright = 0.8 * (image > np.quantile(image, 0.98)).astype(np.float32)
            path = nifti.write(tmp_path / f"{row['patient']}_prob.nii.gz", bright, affine)
            archive.write(path, path.name)
    ((records, _),) = scored(made("lesions"), tmp_path / "mine.zip", tmp_path).parts
    assert len(records.shifted) == patients.height
    assert 0 < records.shifted.sum() < patients.height


def test_trajectories_of_hidden_scenes_are_scored(made: Callable[[str], Path], tmp_path: Path):
    scenes = [read_scene(path) for path in sorted((made("motion") / "public/main/evaluation").rglob("*.pb"))]
    asked = [(scene.id, request.track_id) for scene in scenes for request in scene.requests]
    count, steps = len(asked), np.arange(1, 26)[:, None] * np.array([1.0, 0.0])
    mine = Submission(
        np.array([scene for scene, _ in asked], dtype=object), np.array([track for _, track in asked], dtype=np.uint64),
        np.stack([steps] * count), np.ones(count), np.ones(count, dtype=np.int64), np.linspace(0, 1, count),
        np.zeros(count, dtype=np.bool_),
    )  # fmt: skip
    ((records, _),) = scored(made("motion"), write_submission(mine, tmp_path / "mine.pb"), tmp_path).parts
    assert len(records.shifted) == count
    assert 0 < records.shifted.sum() < count
