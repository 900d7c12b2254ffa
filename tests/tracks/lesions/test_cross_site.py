"""Thresholds by site: which patients each rule looks at, and what it gives on the tested ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.methods.volumes import threshold
from shiftbench.progress import silent
from shiftbench.tracks.lesions import cross_site, nifti
from shiftbench.tracks.lesions.cross_site import Predicted
from shiftbench.tracks.lesions.patient import Patient
from shiftbench.tracks.lesions.volumes import Volumes

PARTS = {
    "train": {"here": ["train"]},
    "dev": {"here": ["dev_in"], "there": ["dev_out", "dev_out"]},
    "eval": {"here": ["eval_in", "eval_in"], "there": ["eval_out"], "far": ["eval_out"]},
}


@pytest.fixture(scope="module")
def sets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Predicted]:
    folder, rng, found = tmp_path_factory.mktemp("sites"), np.random.default_rng(0), {}
    for name, sites in PARTS.items():
        patients = []
        for site, parts in sites.items():
            for number, part in enumerate(parts):
                patient = f"{name}-{site}-{number}"
                truth = np.zeros((8, 9, 7), dtype=bool)
                truth[1:5, 2:6, 1:6] = True
                level = {"here": 0.5, "there": 0.2, "far": 0.8}[site] + 0.05 * number
                odds = np.where(truth, level, level - 0.15) + 0.05 * rng.normal(size=truth.shape)
                nifti.write(folder / f"{patient}_gt.nii.gz", truth, np.eye(4))
                nifti.write(folder / f"{patient}_prob.nii.gz", np.clip(odds, 0, 1).astype(np.float32), np.eye(4))
                patients.append(Patient(patient, site, part, {"gt": folder / f"{patient}_gt.nii.gz"}))
        found[name] = Predicted(Volumes(tuple(patients)), folder, [0.1 * k for k in range(len(patients))])
    return found


def tuned(sets: dict[str, Predicted], tuned_on: list[str], tested: list[str]) -> tuple[float, float]:
    """The best threshold over some patients, and the nDSC of others with it, by trying all."""

    def curves(ids: list[str]) -> np.ndarray:
        folder = sets["dev"].folder
        read = lambda one, end: nifti.read_image(folder / f"{one}_{end}.nii.gz")[0]  # noqa: E731
        return np.mean([threshold.scores(read(one, "prob"), read(one, "gt") > 0) for one in ids], axis=0)

    place = int(np.argmax(curves(tuned_on)))
    return float(threshold.GRID[place]), float(curves(tested)[place])


def test_every_rule_tunes_on_its_own_patients(sets):
    found = cross_site.scores([*sets.values()], "here", progress=silent)
    assert {rule: {*sites} for rule, sites in found.items()} == {
        "in_domain_dev": {"here", "there", "far"},
        "out_domain_train+dev": {"here", "there"},  # of the far site nobody is kept for tuning
        "out_domain_test": {"here", "there", "far"},
    }
    assert found["in_domain_dev"]["here"] == {"ndsc": pytest.approx(0.05), "patients": 2}
    for rule, site, pool, tested in (
        ("out_domain_train+dev", "there", ["dev-there-0", "dev-there-1"], ["eval-there-0"]),
        ("out_domain_train+dev", "here", ["train-here-0", "dev-here-0"], ["eval-here-0", "eval-here-1"]),
        ("out_domain_test", "far", ["eval-far-0"], ["eval-far-0"]),
    ):
        best, ndsc = tuned(sets, pool, tested)
        own = found[rule][site]
        assert (own["threshold"], own["ndsc"]) == (best, pytest.approx(ndsc)), (rule, site)


def test_the_site_that_was_learnt_from_needs_its_train(sets):
    found = cross_site.scores([sets["dev"], sets["eval"]], "here", progress=silent)
    assert {*found["out_domain_train+dev"]} == {"there"}


def test_masks_alone_have_no_threshold_to_tune(sets, tmp_path: Path):
    bare = [Predicted(each.volumes, tmp_path, each.ndsc) for each in sets.values()]
    assert {*cross_site.scores(bare, "here", progress=silent)} == {"in_domain_dev"}
