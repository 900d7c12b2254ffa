"""What every track keeps: its contract is whole, and it scores a predictions file from files alone."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment.predictions import Predictions
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import PredictionsError, SettingsError, ShiftbenchError, TableError
from shiftbench.track import Option, RunOptions, Task, Track, assessing, read_manifest
from shiftbench.tracks import names, track
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.volumes import Volumes
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.translation import outputs
from shiftbench.tracks.translation.evaluation import Evaluation
from shiftbench.tracks.translation.outputs import Outputs
from tests.tracks.motion import made_parts

ROWS = {"weather": 3_000, "power": 3_000, "lesions": 20, "translation": 600}
OPTIONS: dict[str, dict[str, Any]] = {"lesions": {"voxel": 8.0}}
EVALUATED = ("dev_in", "dev_out", "eval_in", "eval_out")


def prepared(name: str, folder: Path) -> Path:
    """Example data of a track, prepared."""
    chosen = track(name)
    source = made_parts.write(folder / "made") if name == "motion" else folder / chosen.example.name
    if name in ROWS:
        chosen.example.write(source, ROWS[name], 0, None, **OPTIONS.get(name, {}))
    experiment = {"experiment": chosen.experiments[0]} if chosen.experiments else {}
    chosen.prepare(source, folder / "prepared", **experiment, progress=None)
    return folder / "prepared"


def of_tables(data: Path, task: Task, place: Path, seed: int) -> Path:
    """Predictions around the targets of all evaluated records, in an order of their own."""
    rng = np.random.default_rng(seed)
    frames = [pl.read_parquet(data / f"{part}.parquet", columns=["id", task.target]) for part in EVALUATED]
    frame = pl.concat(frames).sample(fraction=1, shuffle=True, seed=seed)
    targets, n = frame[task.target], frame.height
    ensemble: Any
    if task.name == "regression":
        ensemble = Gaussian(targets.to_numpy() + rng.normal(size=(3, n)), rng.gamma(2, size=(3, n)))
    else:
        classes = tuple(map(str, targets.unique().sort()))
        ensemble = Categorical(rng.dirichlet(np.ones(len(classes)), size=(3, n)), classes)
    ids = frame["id"].cast(pl.String).to_numpy()
    return Predictions(ids, ensemble).save(place.with_suffix(".parquet"))


def of_scenes(data: Path, _task: Task, place: Path, seed: int) -> Path:
    """A submission around the truth of all evaluated requests."""
    store, rng = Store.open(data), np.random.default_rng(seed)
    kept = store.requests["partition"].is_in(EVALUATED).to_numpy()
    part = store.select(kept)
    ids = (part.requests["scene_id"].to_numpy().astype(object), part.requests["track_id"].to_numpy())
    ways = part.targets[:, None] + rng.normal(size=(len(part), 3, *part.targets.shape[1:]))
    submission = Submission.of(ids, ways, np.full((len(part), 3), 1 / 3), rng.random(len(part)))
    return write_submission(submission, place.with_suffix(".pb"))


def of_scans(data: Path, _task: Task, place: Path, seed: int) -> Path:
    """Probability maps around the lesions of all patients."""
    volumes, rng = Volumes.open(data), np.random.default_rng(seed)
    for row, name in enumerate(volumes.ids):
        truth = volumes.truth(row)
        assert truth is not None
        noisy = np.clip(0.2 + 0.6 * truth + 0.2 * rng.normal(size=truth.shape), 0, 1)
        nifti.write(place / f"{name}_prob.nii.gz", noisy.astype(np.float32), volumes.affine(row))
    return place


def of_texts(data: Path, _task: Task, place: Path, seed: int) -> Path:
    """Answers to all evaluated sentences, some of them the reference."""
    rng, sentences = np.random.default_rng(seed), Evaluation.open(data).sentences
    assert sentences.references is not None
    texts = [each[0] if rng.random() < 0.5 else "?" for each in sentences.references]
    found = Outputs(
        sentences.ids, np.ones(len(texts), np.int64), texts, quality=rng.uniform(0, 100, len(texts)),
        uncertainties={"uncertainty": rng.random(len(texts))},
    )  # fmt: skip
    return outputs.write(place.with_suffix(".jsonl"), found)


MAKERS: dict[str, Callable[[Path, Task, Path, int], Path]] = {
    "weather": of_tables, "power": of_tables, "motion": of_scenes, "lesions": of_scans,
    "translation": of_texts,
}  # fmt: skip


@pytest.fixture(scope="module", params=names())
def ready(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Track, Path, list[Path]]:
    """A track, its prepared data, and a predictions file for each of its tasks."""
    folder, chosen = tmp_path_factory.mktemp(request.param), track(request.param)
    data = prepared(chosen.name, folder)
    made = [MAKERS[chosen.name](data, task, folder / task.name, 0) for task in chosen.tasks]
    return chosen, data, made


def test_a_predictions_file_is_scored_from_files_alone(ready: tuple[Track, Path, list[Path]]) -> None:
    chosen, data, files = ready
    counts = chosen.open_prepared(data).counts
    for task, file in zip(chosen.tasks, files, strict=True):
        for records, scored in chosen.score(file, data, task):
            inside, outside = counts[f"{records.split}_in"], counts[f"{records.split}_out"]
            assert records.n == len(scored.errors) == inside + outside
            assert records.shifted is not None
            assert int(records.shifted.sum()) == outside
            assert (scored.errors >= 0).all()
            assert scored.system.name == file.stem
            assert all(len(values) == records.n for values in scored.uncertainty.values())


def test_scoring_loads_no_model_and_draws_nothing(ready: tuple[Track, Path, list[Path]]) -> None:
    chosen, data, files = ready
    code = (
        "import json, sys\nfrom pathlib import Path\nfrom shiftbench.tracks import track\n"
        f"chosen = track({chosen.name!r})\n"
        f"chosen.score(Path({str(files[0])!r}), Path({str(data)!r}), chosen.tasks[0])\n"
        "print(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}
    assert not loaded & {"torch", "catboost", "matplotlib"}


def test_several_files_are_compared_in_one_report_for_each_task(ready: tuple[Track, Path, list[Path]]) -> None:
    chosen, data, files = ready
    other = MAKERS[chosen.name](data, chosen.tasks[0], files[0].with_name("other"), 1)
    named, how = {"first": files[0], "second": other}, RunOptions("quick", replicates=20)
    results = assessing.assess(chosen, named, data, chosen.tasks[:1], how, cores=1)
    (report,) = [result.report for result in results]
    assert {"first", "second"} <= {system.name for system in report.systems}
    assert report.splits == ("dev", "eval")
    assert (report.threshold is None) == (chosen.tasks[0].threshold is None)


def test_records_without_a_prediction_and_others_data_are_refused(tmp_path: Path) -> None:
    chosen = track("power")
    data = prepared("power", tmp_path)
    task = chosen.tasks[0]
    whole = of_tables(data, task, tmp_path / "whole", 0)
    read = pl.read_parquet(whole)
    ids, mean = read["id"].to_numpy(), np.zeros((1, read.height))
    part = Predictions(ids[1:], Gaussian(mean[:, 1:], mean[:, 1:] + 1)).save(tmp_path / "part.parquet")
    with pytest.raises(
        PredictionsError, match=rf"part\.parquet: expected a prediction for each .* \(such as {ids[0]}\)"
    ):
        chosen.score(part, data, task)
    strange = Predictions(np.array([f"x{id_}" for id_ in ids]), Gaussian(mean, mean + 1)).save(tmp_path / "s.parquet")
    with pytest.raises(PredictionsError, match=r"expected predictions for records of .*prepared, found none"):
        chosen.score(strange, data, task)
    classes = Predictions(ids, Categorical(np.full((1, len(ids), 2), 0.5), ("a", "b"))).save(
        tmp_path / "classes.parquet"
    )
    with pytest.raises(PredictionsError, match="expected predictions of a regression, found those of a classification"):
        chosen.score(classes, data, task)
    with pytest.raises(ShiftbenchError, match="expected a Parquet file, found nothing there"):
        chosen.score(tmp_path / "nothing.parquet", data, task)


def test_a_part_that_no_prediction_is_for_is_told_and_not_scored(tmp_path: Path) -> None:
    chosen = track("power")
    data = prepared("power", tmp_path)
    frame = pl.read_parquet(data / "eval_in.parquet")
    mean = frame["power"].to_numpy()[None]
    file = Predictions(frame["id"].cast(pl.String).to_numpy(), Gaussian(mean, mean * 0 + 1)).save(
        tmp_path / "in.parquet"
    )
    (found,) = chosen.score_files({"mine": file}, data, chosen.tasks)
    assert [(records.split, records.n) for records, _ in found.parts] == [("eval", frame.height)]
    assert [note.partition(":")[0] for note in found.notes] == ["dev_in", "dev_out", "eval_out"]
    records, scored = chosen.score(file, data / "eval_in.parquet", chosen.tasks[0])[0]
    assert (records.split, records.n, float(scored.errors.max())) == ("all", frame.height, 0.0)


def test_predictions_that_hold_dev_in_have_conformal_scores_without_weights(tmp_path: Path) -> None:
    chosen = track("power")
    data = prepared("power", tmp_path)
    whole = of_tables(data, chosen.tasks[0], tmp_path / "whole", 0)
    (result,) = assessing.assess(
        chosen, {"mine": whole}, data, chosen.tasks, RunOptions(next(iter(chosen.presets)), replicates=20), cores=1
    )
    found = {score.metric for score in result.report.scores if score.split == "eval"}
    assert "conformal_split_coverage_90" in found
    assert not any("weighted" in metric for metric in found)
    assert any("weighted for the shift are left out" in text for text in result.report.warnings)


# --- the contract itself ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "value", "says"),
    [
        ("name", "two words", r"name: expected letters, digits"),
        ("tasks", (), r"tasks: expected at least one"),
        ("presets", {}, r"presets: expected at least one"),
        ("run", None, r"run: expected a function, found None"),
        ("score_files", None, r"score_files: expected a function, found None"),
        (
            "options",
            {"prepare": (Option("depth", int, "How deep"),)},
            r"prepare: expected its function to take 'depth'",
        ),
        ("options", {"fly": ()}, r"options: expected commands of .*, found 'fly'"),
        ("options", {"run": Option("depth", int, "How deep")}, r"options of run: expected a tuple of `Option`.*comma"),
        ("tasks", Task("luck", "luck", "eyes"), r"tasks: expected a tuple of `Task`, found Task.*needs a comma"),
        ("prepare", lambda source, folder: None, r"prepare: expected its function to take 'progress'"),
        ("run", lambda prepared, tasks, options: [], r"run: expected its function to take 'folder'"),
        ("spreads", ("prepare",), r"prepare: expected its function to take 'executor'"),
        ("columns", {"id": "--id"}, r"score_files: expected its function to take 'names'"),
        ("spreads", (), r"gpus: expected 'run' in spreads, since GPUs are reserved for its jobs"),
    ],
)
def test_what_is_missing_in_a_track_is_named(part: str, value: Any, says: str) -> None:
    with pytest.raises(SettingsError, match=says):
        dataclasses.replace(track("power"), **{part: value})


def test_an_option_says_what_is_wrong_with_it() -> None:
    with pytest.raises(SettingsError, match="expected the name of a keyword argument") as caught:
        Option("two words", dict, " ")
    assert len(caught.value.problems) == 3
    assert Option("feature_map", bool, "Draw it").word == "--feature-map"


def test_what_is_no_prepared_folder_says_how_to_make_one(tmp_path: Path) -> None:
    manifest = tmp_path / "manifest.json"
    for place, found in (
        (tmp_path, "no such file in it"),
        (tmp_path / "x", "nothing there"),
        (Path(__file__), "a file"),
    ):
        with pytest.raises(TableError, match=f"a prepared folder .* found {found}. Make one with `shiftbench prepare`"):
            read_manifest(place)
    for text, found in (("{", "expected JSON, found: Expecting"), ("[1]", r"expected a JSON object, found \[1\]")):
        manifest.write_text(text)
        with pytest.raises(TableError, match=f"manifest.json: {found}.*Prepare the data again"):
            read_manifest(tmp_path)
    manifest.write_text('{"counts": {"train": 3}}')
    assert read_manifest(tmp_path) == {"counts": {"train": 3}}


def test_no_truth_is_named(tmp_path: Path) -> None:
    file = Predictions(np.array(["a"]), Gaussian(np.zeros((1, 1)), np.ones((1, 1)))).save(tmp_path / "one.parquet")
    chosen = track("power")
    with pytest.raises(TableError, match="expected a file, found none"):
        chosen.score(file, tmp_path / "nothing", chosen.tasks[0])
