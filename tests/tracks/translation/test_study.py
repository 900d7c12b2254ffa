"""A run on example sentences: what it writes, what it goes on with, and what it refuses."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.methods.sequences.answers import SequenceAnswers
from shiftbench.pipeline.study import Result
from shiftbench.track import Prepared, RunOptions
from shiftbench.tracks.translation import outputs, preparation, study
from shiftbench.tracks.translation.assessing import score_files
from shiftbench.tracks.translation.definition import TASKS, TRACK
from shiftbench.tracks.translation.evaluation import Evaluation
from tests import small_presets
from tests.methods.sequences import marian_folder

OPTIONS = RunOptions("quick", members=2, replicates=20)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Prepared:
    folder = tmp_path_factory.mktemp("translation")
    TRACK.example.write(folder / "example", 240, 0, None)
    made = preparation.prepare(folder / "example", folder / "prepared", executor="serial", vocabulary=120)
    assert isinstance(made, Prepared)
    return made


@pytest.fixture(scope="module")
def ran(prepared: Prepared, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Result]]:
    """The folder of a run, and its reports."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch:
        small_presets.use(patch)
        results = study.run(prepared, TASKS, OPTIONS, folder=folder, cores=1, progress=None)
    return folder, results


def test_a_run_has_a_report_by_each_error_of_texts(ran):
    _, results = ran
    assert [result.name for result in results] == ["egleu", "chrf", "exact_match"]
    report = results[0].report
    assert [system.name for system in report.systems] == ["Transformer (single)", "Transformer"]
    assert report.splits == ("dev", "eval")
    assert report.threshold == 60
    assert report.measure_of("Transformer") == "beam_score"
    for metric in ("bleu", "chrf", "egleu", "maxgleu", "r_auc", "f1_auc", "f1_at_95", "roc_auc", "rejection_ratio"):
        report.score(metric, system="Transformer", split="eval", subset="full")
    single = report.score("bleu", system="Transformer (single)", split="eval", subset="full")
    assert len(single.each) == 2
    assert report.recipe["track"]["preset"] == "quick, in part"
    assert any(entry.texts for entry in report.notable)
    (spent,) = report.costs
    assert spent.predicted == sum(count.records for count in report.counts if count.subset == "full")
    measures = {score.measure for score in report.scores}
    assert {"token_epkl_pe", "score_knowledge_ep", "text_disagreement_gleu"} <= measures


def test_its_predictions_are_stored_outputs_that_have_the_same_scores(ran, prepared):
    folder, results = ran
    file = folder / "predictions/eval/Transformer.jsonl.gz"
    (found, *_) = score_files({"m": file}, prepared.folder, TASKS)
    (_, (system,)) = found.parts[0]
    report = results[0].report
    wanted = report.score("mean_error", system="Transformer", split="eval", subset="full").value
    assert float(system.errors.mean()) == pytest.approx(wanted, abs=1e-9)
    kept = outputs.read(file)
    assert kept.log_probabilities is not None
    assert len(kept.log_probabilities) == 2
    for name, values in system.uncertainty.items():
        score = next(
            s
            for s in report.scores
            if s.measure == name and (s.split, s.subset, s.metric) == ("eval", "full", "roc_auc")
        )
        assert np.isfinite(values).all()
        assert score.value >= 0


def test_a_damaged_part_of_the_truth_is_refused(prepared, tmp_path):
    copy = shutil.copytree(prepared.folder, tmp_path / "copy")
    assert len(Evaluation.open(copy).sentences) == sum(prepared.counts.values()) - prepared.counts["train"]
    part = copy / "eval_out.jsonl"
    part.write_bytes(part.read_bytes().rpartition(b"\n{")[0])
    with pytest.raises(TableError, match=r"eval_out.jsonl: expected [\d,]+ bytes, found"):
        Evaluation.open(copy)


def test_a_run_goes_on_without_translating_again(ran, prepared, monkeypatch):
    folder, results = ran
    monkeypatch.setattr(SequenceAnswers, "block", lambda self, rows: pytest.fail("translated again"))
    small_presets.use(monkeypatch)
    again = study.run(prepared, TASKS[:1], OPTIONS, folder=folder, cores=1, progress=None)
    assert again[0].report.to_json()["scores"] == results[0].report.to_json()["scores"]


def test_damaged_predictions_are_made_again(ran, prepared, monkeypatch):
    folder, _ = ran
    file = folder / "predictions/dev/Transformer.jsonl.gz"
    before = file.read_bytes()
    file.write_bytes(b"damaged")
    small_presets.use(monkeypatch)
    study.run(prepared, TASKS[:1], OPTIONS, folder=folder, cores=1, progress=None)
    assert file.read_bytes() == before


def test_what_a_run_cannot_do_is_said(prepared, tmp_path):
    with pytest.raises(SettingsError, match="given: expected an error of translations, found that of files"):
        study.run(prepared, TASKS[3:], OPTIONS, folder=tmp_path, cores=1, progress=None)
    for options in (RunOptions("quik"), RunOptions("quick", methods=("transformr",))):
        with pytest.raises(UnknownNameError, match="Did you mean"):
            study.run(prepared, TASKS, options, folder=tmp_path, cores=1, progress=None)
    empty = Prepared(prepared.folder, "x", {"train": 0})
    with pytest.raises(TableError, match="expected pairs of train to learn from, found none"):
        study.run(empty, TASKS, OPTIONS, folder=tmp_path, cores=1, progress=None)


def test_models_of_a_user_translate_without_training(prepared, tmp_path):
    models = [marian_folder.write(tmp_path / str(seed), seed=seed) for seed in range(2)]
    options = RunOptions("quick", methods=("marian",), replicates=20)
    (result,) = study.run(prepared, TASKS[:1], options, folder=tmp_path / "run", cores=1, progress=None, marian=models)
    assert [system.name for system in result.report.systems] == ["Marian (single)", "Marian"]
    assert result.report.measure_of("Marian") == "beam_score"
    assert {path.name for path in (tmp_path / "run/predictions/eval").glob("*.gz")} == {
        "Marian.jsonl.gz", "Marian-member-0.jsonl.gz", "Marian-member-1.jsonl.gz",
    }  # fmt: skip
    assert result.report.recipe["systems"]["Marian"]["method"] == "marian"


def test_models_of_a_user_are_one_more_system_and_their_folders_have_to_be_named(tmp_path):
    named = [Path("models/first"), tmp_path / "second"]
    both = study.entries(RunOptions("quick", members=3), named)
    assert [planned.name for planned in both] == ["Transformer", "Marian"]
    assert both[1].settings["models"] == (str(Path("models/first").absolute()), str(named[1]))
    assert [planned.settings["members"] for planned in both] == [3, 2]
    assert [planned.name for planned in study.entries(RunOptions("marian"), named)] == ["Marian"]
    for options in (RunOptions("marian"), RunOptions("quick", methods=("marian",))):
        with pytest.raises(SettingsError, match=r"marian: expected folders of models, found none\. Name each"):
            study.entries(options)


@pytest.mark.parametrize("preset", study.SETTINGS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset):
    for planned in study.entries(RunOptions(preset)):
        study.methods.method(planned.method).Settings.from_dict(planned.settings)


@pytest.mark.needs_shared
def test_the_paper_preset_has_the_published_settings(shared):
    protocol = json.loads((shared / "facts/protocol.json").read_text("utf-8"))["translation"]
    flags = protocol["model"]["training_flags"]["value"]
    (planned,) = study.entries(RunOptions("paper"))
    found = study.methods.method(planned.method).Settings.from_dict(planned.settings)
    same = {
        "learning_rate": "lr", "warmup": "warmup_updates", "dropout": "dropout", "weight_decay": "weight_decay",
        "label_smoothing": "label_smoothing", "batch_tokens": "max_tokens", "steps": "max_update", "clip": "clip_norm",
    }  # fmt: skip
    assert {name: getattr(found, name) for name in same} == {name: flags[own] for name, own in same.items()}
    assert (found.first_beta, found.second_beta) == tuple(flags["adam_betas"])
    assert found.members == protocol["model"]["ensemble_size"]["value"]
    assert (found.beam, found.best) == (protocol["decoding"]["beam"]["value"], protocol["decoding"]["nbest"]["value"])
