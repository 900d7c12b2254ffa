"""The page to scroll through one patient: whole without a network, with the numbers that scores and pictures have."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from dataclasses import replace
from importlib.resources import files

import nibabel
import numpy as np
import pytest

from shiftbench.errors import UnknownNameError
from shiftbench.report.page import digest
from shiftbench.tracks.lesions import nifti, scoring
from shiftbench.tracks.lesions.picture import viewer
from shiftbench.tracks.lesions.picture.showing import show
from shiftbench.tracks.lesions.picture.view import largest_first
from shiftbench.tracks.lesions.prediction import Prediction

from .test_pictures import ALARM, BRAIN, SHAPE, SPACING, TRUTH, box, view

LOST = box(slice(10, 12), slice(10, 12), slice(4, 6))
AFFINE = np.array([[-1.0, 0, 0, 90], [0, 1, 0, -70], [0, 0, 2, -10], [0, 0, 0, 1]])
MEMBERS = np.stack([np.where(part, 0.9, 0.05) for part in (TRUTH | ALARM, TRUTH | ALARM, TRUTH)]).astype(np.float32)


def told(page: str) -> dict:
    (found,) = re.findall(r'<script type="application/json" id="patient">(.*?)</script>', page, re.DOTALL)
    return json.loads(found)


def unpacked(volume: dict) -> nibabel.Nifti1Image:
    return nibabel.Nifti1Image.from_bytes(gzip.decompress(base64.b64decode(volume["nifti"])))


def seen(prediction=None, truth=TRUTH | LOST):
    return replace(view(prediction), truth=truth)


@pytest.fixture(scope="module")
def whole() -> str:
    return viewer.page(seen(Prediction.of_members(MEMBERS)), AFFINE, title="a patient")


def rows(page: str, section: str) -> list[list[str]]:
    part = re.search(f'<section id="{section}">(.*?)</section>', page, re.DOTALL)
    assert part is not None
    lines = re.findall(r"<tr>(.*?)</tr>", part[1].partition("<tbody>")[2], re.DOTALL)
    cells = (re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line, re.DOTALL) for line in lines)
    return [[re.sub(r"<[^>]*>", "", cell).strip() for cell in row] for row in cells]


def test_the_bundle_is_the_one_whose_hash_is_written_down_and_has_its_licences():
    folder = files(viewer.PACKAGE).joinpath("niivue")
    origin = json.loads(folder.joinpath("origin.json").read_text("utf-8"))
    bundle = gzip.decompress(folder.joinpath("niivue.js.gz").read_bytes())
    assert hashlib.sha256(bundle).hexdigest() == origin["sha256"]
    licences = folder.joinpath("LICENSES").read_text("utf-8")
    assert "Copyright (c) 2021, Niivue" in licences
    assert {"gl-matrix", "fflate", "nifti-reader-js", "zarrita"} <= set(
        re.findall(r"^--- (\S+)", licences, re.MULTILINE)
    )


def test_the_page_runs_its_own_scripts_alone_and_asks_no_server(whole):
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', whole)
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert (parts["default-src"], parts["img-src"]) == ("'none'", "data:")
    plain = re.findall(r"<script>(.*?)</script>", whole, re.DOTALL)
    (bundle,) = re.findall(r'id="niivue">(.*?)</script>', whole)
    scripts = [*plain, gzip.decompress(base64.b64decode(bundle)).decode("utf-8")]
    assert len(scripts) == 3
    assert set(parts["script-src"].split()) == {f"'sha256-{digest(script)}'" for script in scripts}
    assert not re.search(r"(src|href)\s*=\s*\"?(https?:)?//|@import|url\(", whole.replace(bundle, ""))


def test_volumes_are_cut_to_the_brain_in_its_own_grid_and_values_survive_eight_bits(whole):
    held = told(whole)
    assert [volume["title"] for volume in held["volumes"]] == ["Scan", "Entropy of expected", "Truth", "Prediction"]
    shape = unpacked(held["volumes"][0]).shape
    cut = tuple(slice(first, first + size) for first, size in zip(held["first"], shape, strict=True))
    for volume, array in zip(held["volumes"][2:], (TRUTH | LOST, TRUTH | ALARM), strict=True):
        assert (np.asarray(unpacked(volume).dataobj) == array[cut]).all()
        assert array.sum() == array[cut].sum()
    entropy = Prediction.of_members(MEMBERS).maps["entropy_of_expected"]
    shown = unpacked(held["volumes"][1])
    np.testing.assert_allclose(shown.get_fdata(), entropy[cut], atol=0.51 * entropy[BRAIN].max() / 255)
    assert tuple(shown.header.get_zooms()) == pytest.approx(tuple(SPACING))
    assert held["affine"] == AFFINE.tolist()


def test_a_page_has_the_maps_that_are_chosen():
    chosen = ("mutual_information", "entropy_of_expected")
    page = viewer.page(seen(Prediction.of_members(MEMBERS)), AFFINE, title="two maps", measures=chosen)
    titles = [volume["title"] for volume in told(page)["volumes"]]
    assert titles == ["Scan", "Mutual information", "Entropy of expected", "Truth", "Prediction"]


def test_measures_are_chosen_by_name_several_or_all(tmp_path):
    nifti.write(tmp_path / "7.nii.gz", np.where(BRAIN, 100.0, 0), AFFINE)
    nifti.write(tmp_path / "7_members.nii.gz", MEMBERS, AFFINE)
    given = {"predictions": tmp_path / "7_members.nii.gz", "viewer": True}

    def volumes(measure):
        paths = show(tmp_path / "7.nii.gz", tmp_path / "out", measure=measure, **given)
        return [volume["title"] for volume in told(paths["viewer"].read_text("utf-8"))["volumes"]]

    assert volumes("") == ["Scan", "Entropy of expected", "Prediction"]
    assert volumes("epkl, mutual_information,epkl") == ["Scan", "EPKL", "Mutual information", "Prediction"]
    assert len(volumes("all")) == 2 + len(Prediction.of_members(MEMBERS).maps)
    with pytest.raises(UnknownNameError, match=r"Unknown measure 'epk'. Did you mean 'epkl'"):
        volumes("epkl,epk")


def test_lesions_have_the_numbers_of_the_pictures_and_are_true_false_or_missed(whole):
    assert [row[0] for row in rows(whole, "lesions")] == ["1", "2", "T1"]
    volumes = [TRUTH.sum() * 2, ALARM.sum() * 2, LOST.sum() * 2]
    assert [row[1] for row in rows(whole, "lesions")] == [f"{volume:,}" for volume in volumes]
    assert [row[2] for row in rows(whole, "lesions")] == ["0.00", "0.33", "–"]
    assert [row[3] for row in rows(whole, "lesions")] == ["true", "false alarm", "missed"]
    held = told(whole)
    for mask, at in zip((TRUTH, ALARM, LOST), held["lesions"], strict=True):
        assert mask[tuple(np.add(at, held["first"]))]


def test_true_and_false_lesions_keep_their_places_when_numbers_follow_their_size():
    mask = LOST | ALARM | TRUTH  # labels go by place, numbers by size
    labels = largest_first(mask)
    flags = viewer._matches(TRUTH | LOST, mask, labels)
    assert [bool((labels[part] == number).all()) for number, part in enumerate((TRUTH, ALARM, LOST), 1)] == [True] * 3
    assert flags.tolist() == [True, False, True]


def test_scores_are_those_of_the_whole_volume(whole):
    found = dict(rows(whole, "scores"))
    case = scoring.Case(TRUTH | LOST, BRAIN, SPACING)
    scores = scoring.mask_scores(case, TRUTH | ALARM, usual=True)
    assert found["nDSC"] == f"{100 * scores['ndsc']:.1f} %"
    assert found["HD95 (mm)"] == f"{scores['hausdorff_95']:.2f}"
    assert found["In the truth"] == f"2 lesions, {(TRUTH | LOST).sum() * 2 / 1000:.2f} ml"


def test_a_page_can_lack_prediction_truth_and_scan():
    alone = viewer.page(seen(), AFFINE, title="truth alone")
    assert [row[0] for row in rows(alone, "lesions")] == ["1", "2"]
    bare = viewer.page(seen(Prediction(TRUTH), truth=None), AFFINE, title="prediction alone")
    assert [volume["title"] for volume in told(bare)["volumes"]] == ["Scan", "Prediction"]
    assert [row[:2] for row in rows(bare, "lesions")] == [["1", f"{TRUTH.sum() * 2:,}"]]
    empty = replace(seen(truth=None), image=None, brain=np.zeros(SHAPE, dtype=bool))
    assert [volume["title"] for volume in told(viewer.page(empty, AFFINE, title="nothing"))["volumes"]] == ["Brain"]


def test_names_cannot_end_a_script_or_become_markup():
    page = viewer.page(seen(), AFFINE, title="</script><b>7")
    assert "<b>7" not in page
    assert page.count("</script>") == 4


def test_the_viewer_is_written_beside_the_picture_when_asked_for(tmp_path):
    nifti.write(tmp_path / "7.nii.gz", np.where(BRAIN, 100.0, 0), AFFINE)
    nifti.write(tmp_path / "truth.nii.gz", TRUTH, AFFINE)
    assert set(show(tmp_path / "7.nii.gz", tmp_path / "out", truth=tmp_path / "truth.nii.gz")) == {"picture"}
    paths = show(tmp_path / "7.nii.gz", tmp_path / "out", truth=tmp_path / "truth.nii.gz", viewer=True)
    assert paths["viewer"] == tmp_path / "out" / "7.html"
    assert paths["viewer"].stat().st_size < 1.3e6
