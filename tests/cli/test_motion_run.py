"""`shiftbench prepare motion` and `run motion`, from made-up towns to the paper's tables, with tiny networks.

Figures of reports and tables have tests of their own, and the documentation's commands draw them all: here none is.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest

from shiftbench.cli import main
from shiftbench.errors import SettingsError
from shiftbench.io import executor
from shiftbench.io.output import MARK, writing
from shiftbench.methods import ensemble_files
from shiftbench.metrics import motion as metrics
from shiftbench.report import plots
from shiftbench.report.content import Report
from shiftbench.tracks.motion import definition, example, picture, read_submission
from shiftbench.tracks.motion.paper import systems
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.store import Store
from tests.cli.conftest import Said, Shiftbench, replace_track

pytest.importorskip("torch")

PLANNER = {
    "members": 3, "epochs": 1, "batch": 8, "width": 0.1, "hidden": 16, "pooling": 4, "plans_per_member": 2,
}  # fmt: skip
TINY = (
    {"name": "cloning", "title": "BC", **PLANNER},
    {"name": "imitative", "title": "DIM", **PLANNER},
    {
        "name": "vector", "title": "Vector", "members": 2, "epochs": 1, "batch": 8, "width": 16, "heads": 2,
        "mixing": 0, "layers": 1, "lines": 8,
    },
)  # fmt: skip
FEW = ("--replicates", 20, "--cores", 1)
VECTOR = ("--method", "vector", *FEW)
MAIN = [
    "BC", "RIP-BC", "RIP-BC (dropout)", "RIP-BC (MC dropout, one network)",
    "DIM", "RIP-DIM", "RIP-DIM (dropout)", "RIP-DIM (MC dropout, one network)", "Vector", "constant velocity",
]  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def tiny() -> Iterator[None]:
    """Networks that learn nothing, in no time; one request in a picture, and that only by cNLL."""
    drawn = picture.gallery

    def gallery(*given: Any, error: tuple[str, str], **words: Any) -> list[Any]:
        return drawn(*given, error=error, count=1, **words) if error[1] == "nats" else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shiftbench.tracks.motion.baselines.presets.PRESETS", {"quick": TINY, "paper": TINY})
        patch.setattr(plots, "save", lambda _report, _folder: [])
        paper = dataclasses.replace(definition.TRACK.paper, figures=lambda _reports, _folder: [])
        replace_track(patch, definition.TRACK, paper=paper)
        patch.setattr(picture, "gallery", gallery)
        patch.setenv("COLUMNS", "120")
        yield


@pytest.fixture(scope="module")
def towns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example.write(tmp_path_factory.mktemp("motion") / "towns", example.FEWEST_ROWS, 0)


@pytest.fixture(scope="module")
def prepared(towns: Path) -> Path:
    return preparation.prepare(towns, towns.with_name("prepared"), executor="serial").folder


@pytest.fixture(scope="module")
def whole(prepared: Path) -> tuple[Path, Said]:
    """A run of every method and both errors, and what it said."""
    folder, out, err = prepared.with_name("run"), StringIO(), StringIO()
    words = ("run", "motion", "--data", prepared, "--out", folder, *FEW)
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["shiftbench", *map(str, words)])
        with pytest.raises(SystemExit) as caught:
            main()
    return folder, Said(int(caught.value.code or 0), out.getvalue(), err.getvalue())


def tree(folder: Path) -> dict[str, str]:
    """Every file of a folder and its SHA-256."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def data_of(folder: Path) -> dict[str, str]:
    """The files of a prepared folder but for the one that says where the scenes lie."""
    return {name: sha for name, sha in tree(folder).items() if name not in ("scenes.json", MARK)}


def report_of(folder: Path, name: str) -> Report:
    return Report.load(folder / name / "report" / "report.json")


def forbid_networks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on nothing may be trained or predicted; what was all the same."""
    calls: list[str] = []
    for place in ("member.train", "answers.predict"):
        name = f"shiftbench.methods.trajectories.{place}"
        monkeypatch.setattr(name, lambda *_, what=place, **__: calls.append(what))
    return calls


# --- the whole --------------------------------------------------------------------------------------------------------


def test_a_run_makes_two_reports_an_error_and_the_papers_tables(whole: tuple[Path, Said]) -> None:
    folder, said = whole
    assert said.code == 0, said.err
    assert sorted(entry.name for entry in folder.iterdir()) == [
        MARK, "cnll", "cnll-planning", "cost", "model", "plans", "run.json", "submissions", "tables", "track.toml",
        "weighted_ade", "weighted_ade-planning",
    ]  # fmt: skip
    for task, unit, threshold in (("cnll", "nats", 25.0), ("weighted_ade", "m", 1.0)):
        report = report_of(folder, task)
        assert [system.name for system in report.systems] == MAIN
        assert [system.role for system in report.systems] == [
            *["model", *["ensemble"] * 3] * 2, "ensemble", "baseline",
        ]  # fmt: skip
        assert (report.task, report.error_unit, report.threshold) == (task, unit, threshold)
        assert report.splits == ("dev", "eval")
        assert "made-up towns, 20 scenes, seed 0" in report.title
        assert f"report: {folder / task}/report/report.html" in said.out
        spent = {each.system: each for each in report.costs}
        assert spent.keys() == {name for name in MAIN if name not in ("constant velocity", "BC", "DIM")}
        assert all((each.predict_seconds or 0) > 0 for each in spent.values())
        unknown = {name for name, each in spent.items() if each.fit_cpu_seconds is None}
        assert unknown == {name for name in spent if "one network" in name}  # which was trained among others
        assert all((each.fit_cpu_seconds or 0) > 0 for name, each in spent.items() if name not in unknown)
        listed = {entry.kind: entry for entry in report.notable if entry.system == "RIP-BC"}
        assert listed.keys() >= {"worst", "uncertain"}  # a tenth of so few is a record
        assert {"city", "season", "maneuver"} <= listed["worst"].columns.keys()
    (planning,) = [line for line in said.out.splitlines() if "cnll-planning" in line]
    assert planning.endswith("report.html  (not shown here)")
    assert len(said.out.split("\n")) <= 41
    assert "K = 3" not in said.out
    written = (folder / "tables/tables.md").read_text("utf-8")
    assert all(f"Table {number}," in written for number in (6, 7, 15, 16, 17, 18, 19, 20, 21))
    names = [f"{task}{more}" for task in ("cnll", "weighted_ade") for more in ("", "-planning")]
    assert len(systems.of([report_of(folder, name) for name in names])) == 1  # of one run, side by side in a table
    assert "Not the official data" in written
    assert "constant velocity" in written


def test_every_system_is_compared_with_every_other(whole: tuple[Path, Said]) -> None:
    report = report_of(whole[0], "cnll")
    pairs = {(entry.a, entry.b) for entry in report.comparisons if entry.split == "eval"}
    assert {frozenset(pair) for pair in pairs} == {frozenset((a, b)) for a in MAIN for b in MAIN if a != b}


def test_the_recipe_says_how_every_system_was_made(whole: tuple[Path, Said]) -> None:
    recipe = report_of(whole[0], "cnll").recipe
    assert recipe["track"] == {
        "name": "motion", "origin": "made-up towns, 20 scenes, seed 0", "experiment": "canonical", "preset": "quick",
    }  # fmt: skip
    assert recipe["clusters"] == ["scene_id"]
    said = {name: (system.get("ensemble"), system.get("members")) for name, system in recipe["systems"].items()}
    assert (said["BC"], said["RIP-BC"], said["RIP-DIM (dropout)"]) == (("single", 1), ("deep", 3), ("dropout", 3))
    assert recipe["systems"]["Vector"]["modes"] == 10
    assert set(recipe["tags"]) == {"train", "dev_in", "dev_out", "eval_in", "eval_out"}


def test_the_planning_report_has_every_number_of_members_and_aggregation(whole: tuple[Path, Said]) -> None:
    report = report_of(whole[0], "weighted_ade-planning")
    assert report.notable == ()  # records of one of many systems would look like those of all
    assert len(report.systems) == 2 * (2 * 2 + 1) * 5  # methods, ensembles with K = 1 and 3 or 3 alone, aggregations
    assert "RIP-BC, MC dropout, K = 3, MA" in report.recipe["systems"]
    assert "RIP-DIM, dropout, K = 3, WCM" in report.recipe["systems"]
    assert (report.curves, report.slices, report.comparisons) == ((), (), ())
    main_report = report_of(whole[0], "weighted_ade")
    for mine, name in (("RIP-BC, deep, K = 3, MA", "RIP-BC"), ("RIP-BC, deep, K = 1, MA", "BC")):
        for split in ("dev", "eval"):
            found = report.score("mean_error", system=mine, split=split, subset="full").value
            assert found == main_report.score("mean_error", system=name, split=split, subset="full").value


@pytest.mark.parametrize("name", ["RIP-DIM", "Vector", "constant%20velocity"])
def test_submissions_score_as_the_report_says(whole: tuple[Path, Said], prepared: Path, name: str) -> None:
    store = Store.open(prepared)
    part = store.select(store.requests["partition"].is_in(["eval_in", "eval_out"]).to_numpy())
    one = read_submission(whole[0] / f"submissions/eval/{name}.pb")
    assert [one.name(row) for row in range(len(one))] == part.requests["id"].to_list()
    trajectories = one.trajectories.reshape(len(one), -1, 25, 2)
    weights = one.weights.reshape(len(one), -1)
    weights /= weights.sum(axis=1, keepdims=True)  # the official form has float32
    report = report_of(whole[0], "cnll")
    for metric in ("min_ade", "top1_fde", "weighted_ade", "cnll"):
        own = getattr(metrics, metric)(trajectories, weights, part.targets.astype(np.float64))
        shown = "mean_error" if metric == "cnll" else metric
        said = report.score(shown, system=name.replace("%20", " "), split="eval", subset="full").value
        assert own.mean() == pytest.approx(said, rel=1e-4)


def test_the_worst_requests_of_the_evaluation_are_pictures(whole: tuple[Path, Said]) -> None:
    pictures = sorted(path.stem for path in (whole[0] / "cnll/report/pictures").glob("*.png"))
    assert {name.rsplit("-", 1)[0] for name in pictures} == {"eval-RIP-BC", "eval-RIP-DIM", "eval-Vector"}


def test_a_single_model_has_pictures_too(shiftbench: Shiftbench, prepared: Path, tmp_path: Path) -> None:
    words = ("--task", "cnll", "--method", "cloning", "--members", 1, *FEW)
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", *words)
    assert said.code == 0, said.err
    pictures = (tmp_path / "run/cnll/report/pictures").glob("*.png")
    assert {path.stem.rsplit("-", 1)[0] for path in pictures} == {"eval-BC"}


# --- again ------------------------------------------------------------------------------------------------------------


def test_a_run_that_is_done_trains_and_predicts_nothing_again(
    shiftbench: Shiftbench, whole: tuple[Path, Said], prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(whole[0], tmp_path / "run")
    shutil.rmtree(tmp_path / "run/cnll")
    calls = forbid_networks(monkeypatch)
    monkeypatch.setattr(picture, "gallery", lambda *_, **__: [])
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", "--task", "cnll", *FEW)
    assert (said.code, calls) == (0, []), said.err
    again, first = (report_of(folder, "cnll") for folder in (tmp_path / "run", whole[0]))
    assert again.to_json() == first.to_json()


def test_further_scenes_are_scored_beside(shiftbench: Shiftbench, prepared: Path, towns: Path, tmp_path: Path) -> None:
    words = ("--task", "cnll", *VECTOR, "--test-set", f"more={towns / 'eval'}")
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", *words)
    assert said.code == 0, said.err
    report = report_of(tmp_path / "run", "cnll")
    assert report.splits == ("dev", "eval", "more")
    for metric in ("mean_error", "min_fde"):  # the same scenes, drawn live
        values = {report.score(metric, system="Vector", split=split, subset="full").value for split in ("eval", "more")}
        assert max(values) == pytest.approx(min(values), rel=1e-9)
    assert (tmp_path / "run/submissions/more/Vector.pb").is_file()
    assert report.recipe["track"]["preset"] == "quick, in part"
    assert report.recipe["clusters"] == ["scene_id"]
    noted = report.recipe["test_sets"]["more"]
    (scored,) = [each.records for each in report.counts if (each.split, each.subset) == ("more", "full")]
    assert (noted["requests"], noted["clusters"]) == (scored, "scene_id")
    assert len(noted["sha256"]) == 64
    assert [system.name for system in report.systems] == ["Vector", "constant velocity"]
    assert not (tmp_path / "run/plans/cloning-deep-more.npz").exists()


def test_an_array_trains_and_predicts_to_the_same_bytes(
    shiftbench: Shiftbench, whole: tuple[Path, Said], prepared: Path, towns: Path, made_up_slurm: Path
) -> None:
    words = ("--test-set", f"more={os.path.relpath(towns / 'eval')}", "--executor", "slurm", "--workers", 1)
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", *VECTOR, *words)
    assert said.code == 0, said.err
    assert (made_up_slurm / "asked").exists()
    for name in ("dev", "eval"):
        for path in (f"plans/vector-deep-{name}.npz", f"submissions/{name}/Vector.pb"):
            assert Path("run", path).read_bytes() == (whole[0] / path).read_bytes(), path
    live, packed = (ensemble_files.read(Path(f"run/plans/vector-deep-{name}.npz"), ANY) for name in ("more", "eval"))
    np.testing.assert_allclose(live.trajectories, packed.trajectories, rtol=1e-6)
    assert not list(Path("run").rglob("*.part"))


def test_workers_must_see_the_scenes_of_test_sets(
    shiftbench: Shiftbench, prepared: Path, towns: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_where: object, folders: tuple[Path, ...]) -> None:
        raise SettingsError(*map(str, folders))

    monkeypatch.setattr(executor, "require_shared", refuse)
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", "--test-set", f"more={towns / 'eval'}")
    assert said.code == 2
    assert {f"error: {prepared}", f"error: {towns / 'eval'}"} <= set(said.err.splitlines())
    assert list(tmp_path.iterdir()) == []


def test_other_settings_or_data_are_refused_in_the_same_folder(
    shiftbench: Shiftbench, whole: tuple[Path, Said], prepared: Path, towns: Path, tmp_path: Path
) -> None:
    shutil.copytree(whole[0], tmp_path / "run")
    before = tree(tmp_path / "run")
    for words in (("--members", 4), VECTOR):  # reports of two runs would be mixed
        said = shiftbench("run", "motion", "--data", prepared, "--out", "run", *words)
        assert (said.code, "found a run of BC, DIM, Vector with other methods" in said.err) == (2, True), said.err
    said = shiftbench("run", "motion", "--data", towns, "--out", "run", *VECTOR)
    assert (said.code, "found a run on other data" in said.err) == (2, True), said.err
    assert tree(tmp_path / "run") == before


def test_overwriting_begins_a_run_anew(
    shiftbench: Shiftbench, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with writing(tmp_path / "run", "run motion") as place:
        (place / "old").mkdir(parents=True)
        (place / "track.toml").write_text('track = "motion"\ndata = "others"\n')
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", "--task", "cnll", "--overwrite", *VECTOR)
    assert said.code == 0, said.err
    assert not (tmp_path / "run/old").exists()
    assert not (tmp_path / "run/cnll-planning").exists()  # a mixture is no plan


def test_a_report_needs_no_scenes_but_has_no_pictures_without(
    shiftbench: Shiftbench, towns: Path, tmp_path: Path
) -> None:
    shutil.copytree(towns, tmp_path / "towns")
    assert shiftbench("prepare", "motion", "towns", "--out", "prepared", "--executor", "serial").code == 0
    shutil.move("towns", "elsewhere")
    said = shiftbench("run", "motion", "--data", "prepared", "--out", "run", "--task", "cnll", *VECTOR)
    assert said.code == 0, said.err
    (note,) = [each for each in report_of(tmp_path / "run", "cnll").warnings if "no pictures" in each]
    assert "expected a scene of the prepared data, found nothing there. Were the scenes moved?" in note
    assert not (tmp_path / "run/cnll/report/pictures").exists()


# --- preparing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["serial", "processes"])
def test_every_executor_prepares_the_same_bytes(
    shiftbench: Shiftbench, towns: Path, prepared: Path, tmp_path: Path, name: str
) -> None:
    said = shiftbench("prepare", "motion", towns, "--out", "p", "--executor", name, "--workers", 2)
    assert said.code == 0, said.err
    assert data_of(tmp_path / "p") == data_of(prepared)
    assert "next: shiftbench run motion --data p" in said.out


def test_a_cluster_is_asked_for_as_many_workers(
    shiftbench: Shiftbench, towns: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def replies(job: executor.Job, where: executor.Executor) -> Any:
        asked.append(where.workers)
        return executor.EXECUTORS["serial"](job, where)

    monkeypatch.setitem(executor.EXECUTORS, "ray", replies)
    assert shiftbench("prepare", "motion", towns, "--out", "p", "--executor", "ray", "--workers", 3).code == 0
    assert asked == [3]
    assert data_of(tmp_path / "p") == data_of(prepared)


def test_the_tasks_of_an_array_make_the_same_bytes(
    shiftbench: Shiftbench, towns: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.io.executor.slurm.found", lambda: False)
    words = ("prepare", "motion", towns, "--out", "p p")
    said = shiftbench(*words, "--executor", "slurm", "--workers", 2)
    assert said.code == 0, said.err
    assert "the command sbatch is not on PATH here" in said.err
    script = Path(said.out.splitlines()[0].removeprefix("script: "))
    assert f"submit: sbatch '{script}'" in said.out
    assert f"then:   shiftbench prepare motion {towns} --out 'p p' --experiment canonical" in said.out
    for task in range(2):
        environment = {**os.environ, "SLURM_ARRAY_TASK_ID": str(task)}
        done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    made = {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.shard")}
    assert len(made) == 3
    assert shiftbench(*words, "--executor", "serial").code == 0
    assert data_of(tmp_path / "p p") == data_of(prepared)
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.rglob("*.shard")} == made


def test_an_interrupted_preparation_goes_on_where_it_was(
    shiftbench: Shiftbench, towns: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    serial = executor.EXECUTORS["serial"]

    def interrupted(job: executor.Job, where: executor.Executor) -> Any:
        yield next(serial(job, where))
        raise KeyboardInterrupt

    words = ("prepare", "motion", towns, "--out", "p", "--executor", "serial")
    with monkeypatch.context() as patch:
        patch.setitem(executor.EXECUTORS, "serial", interrupted)
        said = shiftbench(*words)
    assert (said.code, "run the same command again to continue" in said.err) == (130, True)
    assert shiftbench("run", "motion", "--data", "p", "--out", "run").code == 2  # half is not whole
    (first,) = tmp_path.rglob("*.shard")
    made = first.stat().st_mtime_ns
    assert shiftbench(*words).code == 0
    assert data_of(tmp_path / "p") == data_of(prepared)
    assert (tmp_path / "p/shards" / first.name).stat().st_mtime_ns == made


def test_broken_scenes_are_all_named_and_mended_ones_cost_only_their_shards(
    shiftbench: Shiftbench, towns: Path, prepared: Path, tmp_path: Path
) -> None:
    shutil.copytree(towns, tmp_path / "towns")
    spoilt = [tmp_path / "towns/dev/000000.pb", tmp_path / "towns/eval/000001.pb"]
    data = [path.read_bytes() for path in spoilt]
    for path in spoilt:
        path.write_bytes(path.read_bytes()[:-9])
    (tmp_path / "towns/dev_tags.txt").unlink()
    (tmp_path / "towns/eval_tags.txt").unlink()
    words = ("prepare", "motion", "towns", "--out", "p", "--executor", "serial")
    said = shiftbench(*words)
    assert said.code == 2
    assert all(f"{path.parent.name}/{path.name}" in said.err for path in spoilt), said.err
    (kept,) = (tmp_path / ".p.making").rglob("*.shard")
    made = kept.stat().st_mtime_ns
    for path, content in zip(spoilt, data, strict=True):
        path.write_bytes(content)
    assert shiftbench(*words).code == 0
    assert (tmp_path / "p/shards" / kept.name).stat().st_mtime_ns == made
    shards = [
        {name: sha for name, sha in tree(folder).items() if name.endswith((".shard", ".parquet"))}
        for folder in (tmp_path / "p", prepared)
    ]
    assert shards[0] == shards[1]


# --- words that are refused -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--method", "vektor"), "Unknown method 'vektor'. Did you mean 'vector'"),
        (("--preset", "full"), "Unknown preset 'full'"),
        (("--task", "ade"), "Unknown task 'ade'"),
        (("--rule", "publish"), "publish"),
        (("--replicates", -1), "-1"),
        (("--test-set", "eval=towns"), "name of letters, digits, dashes and underscores (not dev, eval, all)"),
        (("--test-set", "a/b=towns"), "found 'a/b' = 'towns'"),
        (("--test-set", "more=nothing"), "nothing: expected the test set more, found nothing there"),
        (("--experiment", "published"), "data that are not divided yet with --experiment, found a prepared folder"),
        (("--target", "y"), "motion does not support --target. Drop the option."),
    ],
)  # fmt: skip
def test_words_of_a_run_that_are_none_are_refused_before_anything_is_done(
    shiftbench: Shiftbench, prepared: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    said = shiftbench("run", "motion", "--data", prepared, "--out", "run", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--executor", "threads"), "Unknown executor 'threads'. Known: processes, ray, serial, slurm"),
        (("--experiment", "A"), "Unknown experiment 'A'"),
        (("--climate", "grid.tsv"), "motion does not support --climate. Drop the option."),
        (("--climate", "grid.tsv", "--executor", "slurm"), "motion does not support --climate. Drop the option."),
    ],
)
def test_words_of_preparing_that_are_none_are_refused_before_anything_is_done(
    shiftbench: Shiftbench, towns: Path, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    said = shiftbench("prepare", "motion", towns, "--out", "p", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["serial", "slurm"])
@pytest.mark.parametrize("source", ["nothing", "empty"])
def test_a_source_without_scenes_leaves_no_folder(
    shiftbench: Shiftbench, tmp_path: Path, name: str, source: str
) -> None:
    (tmp_path / "empty").mkdir()
    said = shiftbench("prepare", "motion", source, "--out", "p", "--executor", name)
    assert (said.code, f"{source}: expected" in said.err) == (2, True), said.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["empty"]


def test_executors_are_for_tracks_that_have_use_for_them(shiftbench: Shiftbench, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").touch()
    for name in ("serial", "slurm"):
        said = shiftbench("prepare", "weather", "x.parquet", "--out", "p", "--executor", name)
        assert (said.code, "weather does not support --executor. Drop the option." in said.err) == (2, True), said.err
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.parquet"]


def test_an_example_has_a_scene_for_every_partition(shiftbench: Shiftbench, tmp_path: Path) -> None:
    said = shiftbench("example", "motion", "--rows", 19, "--out", "towns")
    assert (said.code, "rows: expected 20 to 999,999 scenes, found 19" in said.err) == (2, True), said.err
    assert list(tmp_path.iterdir()) == []


def test_data_without_training_requests_are_refused(shiftbench: Shiftbench, towns: Path, tmp_path: Path) -> None:
    said = shiftbench("run", "motion", "--data", towns / "eval", "--out", "run", *VECTOR)
    assert (said.code, "expected requests of train to learn from, found those of eval_in" in said.err) == (2, True)
    assert not (tmp_path / "run").exists(), "what is refused does not stand in the way of another try"


# --- other people's submissions ---------------------------------------------------------------------------------------


def test_a_submission_of_ones_own_gets_the_reports_of_both_errors(
    whole: tuple[Path, Said], prepared: Path, tmp_path: Path, shiftbench: Shiftbench
) -> None:
    mine = whole[0] / "submissions/eval/Vector.pb"
    words = ("--track", "motion", "--data", prepared, "--replicates", 20)
    said = shiftbench("assess", mine, *words, "--out", "mine")
    assert said.code == 0, said.err
    for task in ("cnll", "weighted_ade"):
        own, before = Report.load(tmp_path / "mine" / task / "report.json"), report_of(whole[0], task)
        found, known = (
            each.score("mean_error", system="Vector", split="eval", subset="full").value for each in (own, before)
        )
        assert found == pytest.approx(known, rel=1e-4)
        assert f"report: mine/{task}/report.html" in said.out
    both = (mine, whole[0] / "submissions/eval/RIP-DIM.pb")
    said = shiftbench("compare", *both, *words, "--task", "cnll", "--out", "both")
    assert said.code == 0, said.err
    assert [system.name for system in Report.load(tmp_path / "both/cnll/report.json").systems] == ["Vector", "RIP-DIM"]


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("--track", "motion"), "--data: expected the ground truth of the predictions, found none"),
        (("--track", "motion", "--data", ".", "--task", "regression"), "Unknown task 'regression'"),
        (("--track", "boats", "--data", "."), "Unknown track 'boats'"),
        (("--track", "motion", "--data", "nowhere"), "expected prepared data, scenes or a file of the ground truth"),
    ],
)
def test_what_is_missing_for_a_submission_is_said(
    words: tuple[str, ...], problem: str, tmp_path: Path, shiftbench: Shiftbench
) -> None:
    (tmp_path / "mine.pb").write_bytes(b"")
    said = shiftbench("assess", "mine.pb", *words)
    assert said.code == 2
    assert problem in said.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.pb"]
