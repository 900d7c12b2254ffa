"""Challenges of tracks: labels that are scored by the track, inputs that tell neither labels nor the shift."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import tracks
from shiftbench.challenge import creation, definition, forms, manifest, sandbox, scoring
from shiftbench.challenge.creation import Terms
from shiftbench.errors import SettingsError
from shiftbench.io import files, tables
from shiftbench.track import PublicRecords, ScoredFiles
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import read_scene
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.weather.schema import CODES

ROWS = {"weather": 1500, "motion": 20, "lesions": 10, "translation": 100}
TASKS = {"weather": "regression", "motion": "cnll", "translation": tracks.track("translation").tasks[0].name}


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
    assert {path.name for path in folder.iterdir()} == {
        "challenge.toml", "copies", "manifest.json", "public", "sealed",
    }  # fmt: skip
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


@pytest.mark.parametrize("name", ROWS)
def test_what_tells_labels_of_a_track_is_found_and_its_inputs_are_not(
    name: str, made: Callable[[str], Path], tmp_path: Path
):
    folder = tmp_path / "c"
    shutil.copytree(made(name), folder)
    (board,) = definition.read(folder / "challenge.toml").boards
    told = forms.labels(board, manifest.truth(folder, "main", "evaluation"))
    one = sorted(told)[-1]

    def found() -> list[str]:
        return [each for each in manifest.check(folder) if "expected what everybody may see" in each]

    with zipfile.ZipFile(folder / "public/main/late.zip", "w") as archive:
        archive.write(one, "one.dat")
    (problem,) = found()
    assert "public/late.zip: " in problem
    assert problem.endswith(" in one.dat of the phase evaluation. Remove it.")
    (folder / "public/main/late.zip").unlink()
    if columns := told[one]:
        read = tables.read_table(one)
        column = read[next(each for each in columns if each in read.columns)]
        values = column.list.first() if isinstance(column.dtype, pl.List) else column
        pl.DataFrame({"key": read["id"], "y": values}).write_csv(folder / "public/main/late.csv")
        assert ["(column 'y' beside 'key')" in each for each in found()] == [True]


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
    (board,) = definition.read(folder / "challenge.toml").boards
    form = forms.of(board)
    arrays, problems = forms.validated(form.intake, file, manifest.records(folder, board, "evaluation"))
    assert problems == []
    return form.score({"mine": arrays}, manifest.truth(folder, "main", "evaluation"), aside)


def records_of(folder: Path) -> Path:
    path = manifest.records_file(folder, "main", "evaluation")
    assert path is not None
    return path


@pytest.mark.parametrize("name", ROWS)
def test_the_example_of_a_submission_answers_every_record_and_is_scored(
    name: str, made: Callable[[str], Path], tmp_path: Path
):
    (example,) = (made(name) / "public/main/evaluation").glob("example.*")
    ((records, (system,)),) = scored(made(name), example, tmp_path).parts
    assert len(system.errors) == len(PublicRecords.read(records_of(made(name))).ids) == len(records.shifted)


@pytest.mark.parametrize("name", ROWS)
def test_labels_in_a_folder_get_the_same_example_and_records(name: str, made: Callable[[str], Path], tmp_path: Path):
    truth = manifest.truth(made(name), "main", "evaluation")
    terms = Terms(name, task=TASKS.get(name, ""))
    creation.add(tmp_path / "c", terms, creation.from_files(terms, track=name, truths={"evaluation": truth}))
    place = tmp_path / "c/public/main/evaluation"
    assert {path.name.split(".")[0] for path in place.iterdir()} == {"example", "records"}
    for path in place.iterdir():
        other = made(name) / "public/main/evaluation" / path.name
        if path.name == "records.json":  # which of a challenge with two phases tells the other's ids, too
            told = json.loads(other.read_text())
            assert told.pop("other_phases").keys() == {"development"}
            assert json.loads(path.read_text()) == told
        else:
            assert path.read_bytes() == other.read_bytes()


def test_classes_of_a_track_are_in_its_example(made: Callable[[str], Path], tmp_path: Path):
    truth = manifest.truth(made("weather"), "main", "evaluation")
    terms = Terms("Classes", task="classification", metric="accuracy")
    creation.add(tmp_path / "c", terms, creation.from_files(terms, track="weather", truths={"evaluation": truth}))
    example = tmp_path / "c/public/main/evaluation/example.csv"
    assert pl.read_csv(example).columns == ["id", *(f"probability_{code}" for code in CODES)]
    ((records, _),) = scored(tmp_path / "c", example, tmp_path).parts
    assert records.n == pl.read_parquet(truth).height
    (board,) = definition.read(tmp_path / "c/challenge.toml").boards
    regression = next((made("weather") / "public/main/evaluation").glob("example.*"))
    told = scoring.validate(board, regression, PublicRecords.read(records_of(tmp_path / "c")))
    assert "expected predictions of a classification, found those of a regression" in told[0]


@pytest.mark.parametrize("name", ROWS)
def test_public_records_have_an_order_that_tells_nothing(name: str, made: Callable[[str], Path]):
    def orders(value: object) -> list[list[str]]:
        return [[*value], *(each for own in value.values() for each in orders(own))] if isinstance(value, dict) else []

    text = records_of(made(name)).read_text("utf-8")
    held = json.loads(text)
    assert [*orders(held), held["ids"]] == [sorted(each) for each in [*orders(held), held["ids"]]]
    assert not {"site", "part", "shifted", "brain", "gt"} & {*held}


# --- everything that is wrong -----------------------------------------------------------------------------------------


def wrong_trajectories(example: Path, folder: Path) -> tuple[Path, list[str]]:
    rows = pl.read_parquet(example)
    paths = rows["trajectories"].to_list()
    paths[1][0][3][0] = float("nan")
    kinds = rows.schema["trajectories"]
    rows = rows.with_columns(
        uncertainty=pl.Series([-1.0, *rows["uncertainty"][1:]]), trajectories=pl.Series(paths, dtype=kinds)
    )
    given = pl.concat([rows[:-1], rows[2:3], rows[2:3].with_columns(scene_id=pl.lit("foreign"))])
    given.write_parquet(folder / "mine.parquet")
    one, twice, last = (f"{rows['scene_id'][k]}/{rows['track_id'][k]}" for k in (1, 2, -1))
    told = [f"more than one of {twice}", f"found nan in {one}", f"({last})", "(foreign/", "1 of "]
    return folder / "mine.parquet", [*told, "is negative"]


def wrong_texts(example: Path, folder: Path) -> tuple[Path, list[str]]:
    lines = [json.loads(line) for line in example.read_text("utf-8").splitlines()]
    lines[0]["uncertainty"], lines[1]["uncertainty"] = -1.0, float("nan")
    last = lines.pop()
    given = [*lines, lines[2], {**lines[3], "id": "foreign"}]
    (folder / "mine.jsonl").write_text("".join(json.dumps(each) + "\n" for each in given))
    told = ["found nan", f"found '{lines[2]['id']}', which line 3 has", f"({last['id']})", "(foreign)", "is negative"]
    return folder / "mine.jsonl", told


def wrong_maps(example: Path, folder: Path) -> tuple[Path, list[str]]:
    given = list[tuple[str, bytes]]()
    with zipfile.ZipFile(example) as archive:
        one, two, three, last = archive.namelist()
        archive.extractall(folder)
    values, affine = nifti.read_image(folder / one)

    def add(name: str, array: np.ndarray) -> None:
        given.append((name, nifti.write(folder / name, array, affine).read_bytes()))

    add(one, values)
    add(one, values)
    add(f"{one.partition('_')[0]}_probability.nii.gz", values)
    add(two, np.full_like(values, np.nan))
    add(f"{two.partition('_')[0]}_seg.nii.gz", np.zeros((3, 4, 5), dtype=bool))
    add(three, np.full_like(values, 0.9))
    add(three.replace("prob", "entropy_of_expected"), np.full_like(values, -0.5))
    add("foreign_prob.nii.gz", values)
    with zipfile.ZipFile(folder / "mine.zip", "w") as archive:
        for name, data in given:
            archive.writestr(zipfile.ZipInfo(name), data)
    told = [
        f"{one}: expected each file once", f"such file of {one[:2]}", f"{two}: expected finite numbers", "3 × 4 × 5",
        "expected uncertainties >= 0 in lesions, higher is less certain, found -0.5", f"({last.partition('_')[0]})",
        "(foreign_prob.nii.gz)",
    ]  # fmt: skip
    return folder / "mine.zip", told


WRONG = {"motion": wrong_trajectories, "translation": wrong_texts, "lesions": wrong_maps}


@pytest.mark.parametrize("name", WRONG)
def test_everything_that_is_wrong_is_told_at_once_here_and_by_the_reader_of_the_server(
    name: str, made: Callable[[str], Path], tmp_path: Path
):
    (board,) = definition.read(made(name) / "challenge.toml").boards
    (example,) = (made(name) / "public/main/evaluation").glob("example.*")
    file, wanted = WRONG[name](example, tmp_path)
    place = records_of(made(name))
    told = scoring.validate(board, file, PublicRecords.read(place))
    assert [word for word in wanted if word not in "\n".join(told)] == []
    with pytest.raises(sandbox.Refused) as refused:
        sandbox.parse(board, file, tmp_path / "parsed", records=place)
    assert [*refused.value.problems] == [each.replace(f"{tmp_path}/", "") for each in told]


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
