"""Runs on prepared scans: the baseline of intensity, networks as systems, predictions that are kept."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from shiftbench.components import components, without_small
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.methods import method
from shiftbench.metrics import segmentation
from shiftbench.pipeline.study import Fitted, Planned
from shiftbench.track import RunOptions
from shiftbench.tracks import track
from shiftbench.tracks.lesions import intensity, preparation, scoring, study
from shiftbench.tracks.lesions.scoring import Case
from shiftbench.tracks.lesions.volumes import Volumes
from tests.methods.volumes.made_up import MadeUp

ALONE = RunOptions("quick", methods=(study.INTENSITY,), replicates=20)


@pytest.fixture(scope="module")
def ran(prepared: Path, tmp_path_factory: pytest.TempPathFactory):
    folder = tmp_path_factory.mktemp("run")
    chosen = track("lesions")
    held = chosen.open_prepared(prepared)
    (result,) = chosen.run(held, chosen.tasks, ALONE, folder=folder, cores=1, progress=None)
    return folder, held, result


def test_the_threshold_is_the_best_of_those_tried_on_dev_in(ran):
    folder, held, _ = ran
    dev = Volumes.open(held.folder).part("dev_in")

    def reached(deviations: float) -> float:
        bright = [intensity.brightness(dev.image(row)[0], dev.brain(row)) for row in range(len(dev))]
        masks = [without_small(each >= deviations, dev.spacing(k)) for k, each in enumerate(bright)]
        return float(np.mean([segmentation.ndsc(dev.truth(k), mask) for k, mask in enumerate(masks)]))

    found = intensity.threshold(folder / "model" / "Intensity%20threshold")
    assert reached(found) == max(map(reached, intensity.DEVIATIONS))


def test_the_threshold_is_the_best_of_masks_without_small_components(tmp_path):
    # A lesion of 24 voxels and brighter specks of 8: below them only masks without specks are good.
    truth, brain = np.zeros((20, 20, 20), np.bool_), np.ones((20, 20, 20), np.bool_)
    truth[2:4, 2:5, 2:6] = True
    image = np.random.default_rng(0).normal(100, 1, truth.shape) + 20 * truth
    for place in (8, 12, 16):
        image[place : place + 2, place : place + 2, place : place + 2] = 130
    dev = MadeUp([image[None].astype(np.float32)], [truth], [brain], ("one",))
    found = intensity.fit(dev, tmp_path)
    assert json.loads((tmp_path / intensity.FILE).read_text())["ndsc_dev_in"] == 1
    assert intensity.predict(dev, 0, found).mask.tolist() == truth.tolist()


def test_a_report_has_both_splits_and_pictures_of_evaluation_alone(ran):
    _, _, result = ran
    assert result.report.splits == ("dev", "eval")
    assert result.report.title.startswith("MS lesions: ")
    assert all(picture.name.startswith("eval-") for picture in result.pictures)
    assert {system.role for system in result.report.systems} == {"baseline"}


def test_the_recipe_says_how_much_of_each_part_is_lesion(ran):
    _, held, result = ran
    volumes = Volumes.open(held.folder).part("dev_out")
    ml = [Case.of(volumes, row).load_ml for row in range(len(volumes))]
    told = dict(result.report.recipe["lesions"]["dev_out"])
    truths = [volumes.truth(row) for row in range(len(volumes))]
    assert told.pop("lesions") == {str(c): sum(components(each, c)[1] for each in truths) for c in (6, 18, 26)}
    expected = {"patients": len(ml), "volume_ml": np.mean(ml)}
    assert told == pytest.approx(expected | ({"volume_sd_ml": np.std(ml, ddof=1)} if len(ml) > 1 else {}))


def test_a_killed_run_goes_on_with_the_next_patient(ran, monkeypatch):
    folder, held, result = ran
    place = folder / "predictions" / "eval" / "Intensity%20threshold"
    first, *_ = sorted(place.glob("*.json"))
    first.unlink()  # it was killed before this patient was done
    made: list[int] = []
    predict = intensity.predict
    monkeypatch.setattr(intensity, "predict", lambda *given: made.append(given[1]) or predict(*given))
    chosen = track("lesions")
    (again,) = chosen.run(held, chosen.tasks, ALONE, folder=folder, cores=1, progress=None)
    assert len(made) == 1
    assert [score.value for score in again.report.scores] == pytest.approx(
        [score.value for score in result.report.scores], nan_ok=True
    )


def test_a_damaged_file_of_scores_is_made_again(ran, tmp_path):
    path = tmp_path / "one.json"
    for text in ("{", "[]", json.dumps({"key": "another"}), json.dumps({"key": "mine"})):
        path.write_text(text)
        assert study._held(path, "mine") is None


class Answers:
    """Members that say the same of every patient, as networks do."""

    def __init__(self, members: np.ndarray, threshold: float = 0.5) -> None:
        self.each, self.members, self.threshold = members, len(members), threshold
        self.thresholds = [threshold] * len(members)

    def probabilities(self, _row: int):
        return iter(self.each)


def case() -> tuple[Case, np.ndarray]:
    truth = np.zeros((8, 8, 8), dtype=bool)
    truth[2:5, 2:5, 2:6] = True
    rng = np.random.default_rng(0)
    members = np.clip(0.2 + 0.6 * truth + 0.15 * rng.normal(size=(4, 8, 8, 8)), 0, 1).astype(np.float32)
    return Case(truth, np.ones_like(truth), np.ones(3)), members


def test_networks_give_the_same_scores_as_their_probabilities_in_files():
    own, members = case()
    _, found = study.by_networks([Answers(members)], own, 0)
    from_files = scoring.patient_scores(own, study.Prediction.of_members(members))
    assert found.scores == pytest.approx(from_files.scores)
    assert found.uncertainty == pytest.approx(from_files.uncertainty)
    assert [each.scores["ndsc"] for each in found.members] == pytest.approx(
        [each.scores["ndsc"] for each in from_files.members]
    )


def test_draws_of_several_networks_are_an_ensemble_of_all_with_a_model_for_each_network():
    own, members = case()
    prediction, found = study.by_networks([Answers(members[:2]), Answers(members[2:])], own, 0)
    assert prediction.members.shape[0] == 4
    assert len(found.members) == 2
    alone = scoring.patient_scores(own, study.Prediction.of_members(members[:2]))
    assert found.members[0].scores["ndsc_raac_epkl"] == pytest.approx(alone.scores["ndsc_raac_epkl"])


def test_dropout_gives_a_further_system_of_draws():
    planned = Planned("UNet", "unet", "ensemble", {})
    for dropout, names in ((0.0, ["UNet"]), (0.5, ["UNet", "UNet, MC dropout"])):
        settings = {"dropout": dropout, "draws": 5, "members": 3}
        assert [each.name for each in study.ensembles(Fitted(planned, settings, Path()))] == names


def test_a_run_names_methods_that_its_preset_lacks(prepared):
    held = preparation.open_prepared(prepared)
    with pytest.raises(UnknownNameError, match=r"Unknown method of this preset 'unet_dropout'\..*intensity_threshold"):
        study.LesionStudy.open(held, track("lesions").tasks, RunOptions("quick", methods=("unet_dropout",)))
    paper = study.entries(RunOptions("paper", members=3, seed=7))
    assert [each.method for each in paper] == [study.INTENSITY, "unet", "unet", "unetr"]
    assert paper[2].settings == {"dropout": 0.5, "members": 3, "seed": 7}


def test_the_quick_preset_has_small_networks_of_volumes_for_those_who_name_them():
    assert [each.method for each in study.entries(RunOptions("quick"))] == [study.INTENSITY, "unet_slices"]
    named = study.entries(RunOptions("quick", methods=("unetr", "unet"), members=2, seed=5))
    assert [(each.name, each.method) for each in named] == [("UNet", "unet"), ("UNETR", "unetr")]
    for each in named:
        settings = method(each.method).Settings.from_dict(each.settings)
        assert (settings.members, settings.seed, settings.window) == (2, 5, 32)


def test_data_without_training_patients_are_refused_with_what_to_do(prepared, monkeypatch):
    nobody = Volumes(tuple(each for each in Volumes.open(prepared).patients if each.part != "train"))
    monkeypatch.setattr(Volumes, "open", lambda _folder: nobody)
    with pytest.raises(TableError, match=r"found none\. To score predictions .* use `shiftbench assess`"):
        study.LesionStudy.open(SimpleNamespace(folder=prepared), track("lesions").tasks, RunOptions("quick"))


def test_patients_of_train_are_segmented_for_tables_alone(ran, tmp_path):
    _, held, usual = ran
    chosen = track("lesions")
    (result,) = chosen.run(held, chosen.tasks, ALONE, folder=tmp_path, cores=1, progress=None, with_train=True)
    by_sex = result.report.recipe["systems"]["Intensity threshold"]["ndsc_by_sex"]
    train = Volumes.open(held.folder).part("train")
    assert sum(patients for patients, *_ in by_sex["train"].values()) == len(train)
    assert "train" not in usual.report.recipe["systems"]["Intensity threshold"]["ndsc_by_sex"]
    assert result.report.splits == usual.report.splits
    assert str(result.report.scores) == str(usual.report.scores)


@pytest.fixture
def three_sites(phantoms: Path, tmp_path: Path) -> Path:
    """The phantoms as a table of patients of three sites."""
    sites = ["one"] * 4 + ["two"] * 3 + ["three"] * 3
    parts = ["train", "train", "dev_in", "eval_in", *["dev_out"] * 3, *["eval_out"] * 3]
    lines = ["patient,site,part,flair,gt,brain,sex"]
    for patient, site, part in zip(Volumes.of(phantoms).patients, sites, parts, strict=True):
        paths = ",".join(str(patient.files[kind]) for kind in ("flair", "gt", "brain"))
        lines.append(f"{patient.id},{site},{part},{paths},{patient.columns['sex']}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "table.csv"


def test_a_run_on_one_site_has_a_score_for_every_site(three_sites, tmp_path):
    chosen = track("lesions")
    held = preparation.prepare(three_sites, tmp_path / "p", train_on="one")
    (result,) = chosen.run(held, chosen.tasks, ALONE, folder=tmp_path / "run", cores=1, progress=None)
    report = result.report
    assert report.recipe["track"]["experiment"] == {"train_on": "one"}
    assert report.title.endswith(", trained on one alone")
    by_site = report.recipe["systems"]["Intensity threshold"]["ndsc_by_site"]
    assert [*by_site] == ["in_domain_dev"], "an intensity has no threshold of probability to tune"
    tested = [each.site for each in Volumes.open(held.folder).patients if each.part in ("eval_in", "eval_out")]
    assert {site: found["patients"] for site, found in by_site["in_domain_dev"].items()} == {
        site: tested.count(site) for site in tested
    }
    for subset, sites in (("in", {"one"}), ("shifted", {"two", "three"})):
        own = [by_site["in_domain_dev"][site] for site in sites]
        mean = np.average([each["ndsc"] for each in own], weights=[each["patients"] for each in own])
        score = report.score("ndsc", system="Intensity threshold", split="eval", subset=subset)
        assert score.value == pytest.approx(mean)


def test_without_patients_of_dev_in_thresholds_are_tuned_on_train_and_the_report_says_so(phantoms, tmp_path):
    lines = ["patient,part,flair,gt"]
    for patient in Volumes.of(phantoms).patients:
        if patient.part in ("train", "eval_out"):
            lines.append(f"{patient.id},{patient.part},{patient.files['flair']},{patient.files['gt']}")
    (tmp_path / "table.csv").write_text("\n".join(lines) + "\n")
    chosen, held = track("lesions"), preparation.prepare(tmp_path / "table.csv", tmp_path / "p")
    (made,) = chosen.run(held, chosen.tasks, ALONE, folder=tmp_path / "run", cores=1, progress=None)
    assert study.ALIKE in made.report.warnings
    assert made.report.splits == ("eval",)


def test_patients_without_scans_that_a_run_needs_are_refused_before_it_begins(prepared, monkeypatch):
    chosen, whole = track("lesions"), Volumes.open(prepared)
    lacking = {0: "gt", len(whole) - 1: "flair"}
    patients = [
        replace(each, files={kind: path for kind, path in each.files.items() if kind != lacking.get(row)})
        for row, each in enumerate(whole.patients)
    ]
    monkeypatch.setattr(Volumes, "open", lambda _: replace(whole, patients=tuple(patients)))
    with pytest.raises(TableError, match=r"found no lesion mask\. Add it") as refused:
        study.LesionStudy.open(chosen.open_prepared(prepared), chosen.tasks, ALONE)
    assert [problem.split(" ")[0] for problem in refused.value.problems] == [whole.ids[0], whole.ids[-1]]
