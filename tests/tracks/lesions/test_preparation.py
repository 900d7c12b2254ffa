"""Files are paired by patient; what does not belong together is refused, and what is odd is told."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import ndimage

from shiftbench.components import components
from shiftbench.errors import MissingExtraError, ShiftbenchError, TableError
from shiftbench.tracks.lesions import bias_field, layout, nifti, preparation, resampling
from shiftbench.tracks.lesions.nifti import Scan
from shiftbench.tracks.lesions.volumes import Volumes

SITE = Path("site-e/dev_out")


@pytest.fixture
def site(phantoms: Path, tmp_path: Path) -> Path:
    """A copy of one site in its part, with one patient, number 1."""
    shutil.copytree(phantoms / SITE, tmp_path / "data" / SITE)
    for path in [*(tmp_path / "data").rglob("*.nii.gz")]:
        if not path.name.startswith("1_"):
            path.unlink()
    return tmp_path / "data"


def flair(site: Path) -> Path:
    return site / SITE / "flair" / "1_FLAIR_isovox.nii.gz"


def lesions(site: Path) -> Path:
    return site / SITE / "gt" / "1_gt_isovox.nii.gz"


def brain(site: Path) -> Path:
    return site / SITE / "fg_mask" / "1_isovox_fg_mask.nii.gz"


def test_a_prepared_folder_gives_what_its_source_gives(phantoms: Path, prepared: Path) -> None:
    opened, direct = Volumes.open(prepared), Volumes.of(phantoms)
    assert opened.ids == direct.ids
    assert opened.digest == direct.digest
    assert opened.columns == direct.columns
    row = opened.ids.index("site-e-1")
    array, affine = nifti.image(phantoms / SITE / "flair" / "1_FLAIR_isovox.nii.gz").array, opened.affine(row)
    assert np.array_equal(opened.image(row)[0], array)
    assert np.allclose(opened.spacing(row), 8)
    assert affine.shape == (4, 4)
    truth = opened.truth(row)
    assert truth is not None
    assert truth.dtype == bool
    assert (truth <= opened.brain(row)).all()
    manifest = json.loads((prepared / "manifest.json").read_text())
    entry = next(entry for entry in manifest["patients"] if entry["id"] == "site-e-1")
    assert entry["lesions_ml"] == pytest.approx(truth.sum() * 8**3 / 1_000)
    assert preparation.open_prepared(prepared).counts["train"] == opened.parts.count("train")


def test_preparing_twice_gives_the_same_bytes(phantoms: Path, prepared: Path, tmp_path: Path) -> None:
    again = preparation.prepare(phantoms, tmp_path / "again").folder
    assert (again / "manifest.json").read_bytes() == (prepared / "manifest.json").read_bytes()


def test_a_missing_brain_mask_is_derived_and_told(site: Path, tmp_path: Path) -> None:
    brain(site).unlink()
    made = preparation.prepare(site, tmp_path / "p")
    assert any("no brain mask: taken as FLAIR ≠ 0" in note for note in made.notes)
    assert np.array_equal(Volumes.open(made.folder).brain(0), nifti.image(flair(site)).array != 0)


def test_an_empty_lesion_mask_is_accepted_and_told(site: Path, tmp_path: Path) -> None:
    array, affine = nifti.mask(lesions(site)).array, nifti.mask(lesions(site)).affine
    nifti.write(lesions(site), np.zeros_like(array), affine)
    assert any("no lesions: an empty mask" in note for note in preparation.prepare(site, tmp_path / "p").notes)


def test_a_small_displacement_is_told_and_a_large_one_refused(site: Path, tmp_path: Path) -> None:
    scan = nifti.mask(lesions(site))
    for apart in (0.45, 2.0):
        moved = scan.affine.copy()
        moved[:2, 3] += apart  # real masks are 0.45 and 0.26 mm off along two axes
        nifti.write(lesions(site), scan.array, moved)
        if apart < 0.5:
            assert any("0.45 mm off" in note for note in preparation.prepare(site, tmp_path / "p").notes)
        else:
            with pytest.raises(ShiftbenchError, match="found it 2 mm away"):
                preparation.prepare(site, tmp_path / "q")


def spoiled(path: Path, change: Callable[[np.ndarray], np.ndarray]) -> None:
    scan = nifti.image(path)
    nifti.write(path, change(scan.array), scan.affine)


@pytest.mark.parametrize(
    ("file", "change", "told"),
    [
        (flair, np.zeros_like, "expected an image, found 0 in every voxel"),
        (brain, np.zeros_like, "expected a brain, found an empty mask"),
        (lesions, lambda array: array[:-1], "expected the shape"),
        (lesions, lambda array: np.eye(*array.shape[:2])[..., None] * np.ones(array.shape[2]) * 0.4, "a threshold"),
        (lesions, lambda array: np.pad(np.ones((3, 3, 3)), [(0, size - 3) for size in array.shape]), "another patient"),
        (brain, lambda array: np.pad(np.ones((3, 3, 3)), [(0, size - 3) for size in array.shape]), "another patient"),
    ],
)
def test_files_that_cannot_be_right_are_refused(
    site: Path, tmp_path: Path, file: Callable[[Path], Path], change: Callable[[np.ndarray], np.ndarray], told: str
) -> None:
    spoiled(file(site), change)
    with pytest.raises(ShiftbenchError, match=told) as error:
        preparation.prepare(site, tmp_path / "p")
    assert str(file(site)) in str(error.value)
    assert not (tmp_path / "p").exists()


def test_problems_of_all_files_come_at_once(site: Path, tmp_path: Path) -> None:
    flair(site).write_bytes(flair(site).read_bytes()[:-30])
    brain(site).write_text("text")
    with pytest.raises(ShiftbenchError, match="cut short") as error:
        preparation.prepare(site, tmp_path / "p")
    assert len(error.value.problems) == 2


def test_one_file_for_two_patients_is_refused(site: Path, tmp_path: Path) -> None:
    for path in list(site.rglob("1_*.nii.gz")):
        shutil.copy(path, path.with_name(path.name.replace("1_", "9_", 1)))
    (site / layout.TABLE).unlink(missing_ok=True)
    with pytest.raises(ShiftbenchError, match="'site-e-1', 'site-e-9': expected a FLAIR of each"):
        preparation.prepare(site, tmp_path / "p")


def test_a_file_that_changed_after_preparation_is_refused(site: Path, tmp_path: Path) -> None:
    made = preparation.prepare(site, tmp_path / "p")
    spoiled(flair(site), lambda array: array + 1)
    with pytest.raises(ShiftbenchError, match="expected the file that was prepared"):
        Volumes.open(made.folder).image(0)


def test_a_table_pairs_any_files_by_patient_and_not_by_order(phantoms: Path, tmp_path: Path) -> None:
    there = phantoms / SITE
    for number, name in ((1, "zoe"), (2, "adam")):
        for kind, path in {"flair": "flair/{}_FLAIR_isovox", "mask": "gt/{}_gt_isovox"}.items():
            if (file := there / f"{path.format(number)}.nii.gz").is_file():
                shutil.copy(file, tmp_path / f"{kind}-{name}.nii.gz")
    table = tmp_path / "scans.csv"
    table.write_text("patient,site,part,flair,gt,age\nzoe,x,dev_out,flair-zoe.nii.gz,mask-zoe.nii.gz,51\n")
    found = Volumes.of(table)
    assert found.ids == ["zoe"]
    assert found.columns == {"site": ["x"], "age": [51]}
    assert np.array_equal(found.image(0)[0], nifti.image(there / "flair" / "1_FLAIR_isovox.nii.gz").array)
    assert preparation.prepare(table, tmp_path / "p").counts["dev_out"] == 1


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("flair\na.nii.gz\n", "expected columns patient"),
        ("patient,flair\na,absent.nii.gz\n", "row 1: expected an existing FLAIR, found nothing at 'absent.nii.gz'"),
        ("patient,flair,part\na,x.nii.gz,test\n", "expected a part among train"),
        ("patient,flair\na,x.nii.gz\na,x.nii.gz\n", "'a': expected each patient once, found 2"),
        ("patient,flair\n../a,x.nii.gz\n", "can be in a file name"),
        ("patient,flair,gt\na,,\n", "row 1: expected a FLAIR or a lesion mask"),
        ("patient,flair,age\na,x.nii.gz,inf\n", "row 1: expected a number in column .age., found inf"),
    ],
)
def test_a_wrong_table_is_refused(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "x.nii.gz").touch()
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(TableError, match=told):
        layout.found(tmp_path / "t.csv")


def test_numbers_that_parts_of_a_site_share_are_different_patients(tmp_path: Path) -> None:
    # In the published archives 25 is a patient of train and another of eval_in of Best, and one of Ljubljana.
    for place in ("best/train", "best/eval_in", "ljubljana/dev_out"):
        (tmp_path / place / "flair").mkdir(parents=True)
        (tmp_path / place / "flair" / "25_FLAIR_isovox.nii.gz").touch()
    (tmp_path / "best/train/flair/3_FLAIR_isovox.nii.gz").touch()
    ids = [patient.id for patient in layout.found(tmp_path).patients]
    assert ids == ["best-train-3", "best-train-25", "best-eval_in-25", "ljubljana-25"]


def test_names_that_are_none_and_folders_without_parts_are_refused(tmp_path: Path, site: Path) -> None:
    with pytest.raises(TableError, match="expected scans as"):
        layout.found(tmp_path / "data" / SITE / "flair")
    flair(site).rename(flair(site).with_name("brain.nii.gz"))
    with pytest.raises(TableError, match="expected a name such as 7_FLAIR"):
        layout.found(site)


def test_a_damaged_manifest_is_refused(site: Path, tmp_path: Path) -> None:
    made = preparation.prepare(site, tmp_path / "p").folder
    held = json.loads((made / "manifest.json").read_text())
    held["patients"][0]["files"]["flair"]["file"] = "../../etc/passwd"
    (made / "manifest.json").write_text(json.dumps(held))
    with pytest.raises(TableError, match="expected a file below the source"):
        preparation.open_prepared(made)


@pytest.mark.needs_shared
def test_three_real_patients_of_two_hospitals_are_prepared(shared: Path, tmp_path: Path) -> None:
    made = preparation.prepare(shared / "data" / "lesions", tmp_path / "p")
    assert made.counts == {"train": 0, "dev_in": 0, "eval_in": 0, "dev_out": 3, "eval_out": 0}
    found = Volumes.open(made.folder)
    assert found.ids == ["ljubljana-7", "ljubljana-19", "mslesseg-18"]
    truth = found.truth(0)
    assert truth is not None
    assert truth.shape == found.image(0).shape[1:] == (182, 218, 182)
    assert "60 scans are outside the folders of the parts: left out" in made.notes


def test_resampled_volumes_have_1_mm_the_same_place_and_the_same_lesions(tmp_path: Path) -> None:
    x, y, z = np.meshgrid(*[np.linspace(-1, 1, size) for size in (12, 14, 8)], indexing="ij")
    inside, affine = x**2 + y**2 + z**2, np.array([[2.0, 0, 0, 5], [0, 2, 0, -9], [0, 0, 3, 1], [0, 0, 0, 1]])
    nifti.write(tmp_path / "f.nii.gz", np.where(inside < 0.8, 100 + 40 * (inside < 0.2), 0), affine)
    nifti.write(tmp_path / "g.nii.gz", inside < 0.2, affine)
    (tmp_path / "t.csv").write_text("patient,flair,gt,part\na,f.nii.gz,g.nii.gz,dev_out\n")
    made = preparation.prepare(tmp_path / "t.csv", tmp_path / "p", resample=True)
    assert any("resampled to 1 mm" in note for note in made.notes)
    found = Volumes.open(made.folder)
    truth = found.truth(0)
    assert truth is not None
    assert truth.shape == found.image(0).shape[1:] == (24, 28, 24)
    assert np.allclose(found.spacing(0), 1)
    assert truth.sum() == pytest.approx(12 * (inside < 0.2).sum(), rel=0.15)
    old = affine @ [*np.argwhere(inside < 0.2).mean(axis=0), 1]
    assert np.allclose(found.affine(0) @ [*np.argwhere(truth).mean(axis=0), 1], old, atol=0.3)
    shutil.move(made.folder, tmp_path / "moved")
    assert Volumes.open(tmp_path / "moved").image(0).any()


def test_images_finer_than_1_mm_are_smoothed_before_they_are_resampled() -> None:
    rng = np.random.default_rng(0)
    noise = Scan(rng.normal(100, 10, (60, 60, 24)).astype(np.float32), np.diag([0.25, 0.25, 1.0, 1.0]))
    found = resampling.resampled(noise).array
    assert found.shape == (15, 15, 24)
    assert abs(found.mean() - 100) < 0.3
    assert found.std() < 3.5  # the mean of 16 voxels has 2.5, single ones 10
    stripes = np.where(np.arange(64) % 2, 0.5, 1.5).astype(np.float32)  # 0.5 mm wide
    striped = Scan(np.broadcast_to(stripes[:, None, None], (64, 8, 8)), np.diag([0.4, 1.0, 1.0, 1.0]))
    assert np.ptp(resampling.resampled(striped).array[2:-2]) < 0.2


def test_smoothing_leaves_what_is_0_and_coarse_voxels_and_masks_alone() -> None:
    ball = sum((grid - 15.5) ** 2 for grid in np.mgrid[:32, :32, :32]) < 100
    fine = Scan(np.where(ball, 50.0, 0).astype(np.float32), np.diag([0.5, 0.5, 0.5, 1.0]))
    image, mask = resampling.resampled(fine).array, resampling.resampled(Scan(ball, fine.affine)).array
    assert mask.dtype == np.bool_
    assert abs(mask.sum() * 8 / ball.sum() - 1) < 0.05
    assert image[mask].min() > 20
    reached = ndimage.binary_dilation(mask, iterations=1)
    assert not image[~reached].any()
    coarse = Scan(np.random.default_rng(0).random((6, 6, 6)).astype(np.float32), np.diag([1.0, 1.0, 3.0, 1.0]))
    assert np.ptp(resampling.resampled(coarse).array) > 0.8
    whole = Scan(coarse.array, np.eye(4))
    assert np.array_equal(resampling.resampled(whole).array, coarse.array)


def test_affines_that_differ_a_little_are_resampled_to_one_grid(tmp_path: Path) -> None:
    flair = np.zeros((12, 12, 12))
    flair[3:9, 3:9, 3:9] = 100
    for name, volume, side in (("f", flair, 2.04), ("g", flair > 200, 2.05)):  # 24.48 and 24.6 mm
        nifti.write(tmp_path / f"{name}.nii.gz", volume, np.diag([side, 2, 2, 1]))
    (tmp_path / "t.csv").write_text("patient,flair,gt,part\na,f.nii.gz,g.nii.gz,dev_out\n")
    found = Volumes.open(preparation.prepare(tmp_path / "t.csv", tmp_path / "p", resample=True).folder)
    truth = found.truth(0)
    assert truth is not None
    assert truth.shape == found.image(0).shape[1:] == (24, 24, 24)


def test_volumes_too_large_at_1_mm_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    flair = np.zeros((27, 27, 27))
    flair[3:20, 3:20, 3:20] = 100
    nifti.write(tmp_path / "f.nii.gz", flair, np.diag([20, 20, 20, 1]))
    (tmp_path / "t.csv").write_text("patient,flair,part\na,f.nii.gz,dev_out\n")
    with pytest.raises(ShiftbenchError, match="at most 134,217,728 voxels at 1 mm, found 540 × 540 × 540"):
        preparation.prepare(tmp_path / "t.csv", tmp_path / "p", resample=True)
    assert not (tmp_path / "p").exists()


class _StandIn(ModuleType):
    """As much of SimpleITK as is called: images are arrays [Z, Y, X], and every field is the same ramp along X."""

    class _Image:
        def __init__(self, array: np.ndarray) -> None:
            self.array = array

        def SetSpacing(self, spacing: list[float]) -> None:
            assert spacing == [2.0, 2.0, 3.0]

    class N4BiasFieldCorrectionImageFilter:
        def Execute(self, image: _StandIn._Image, mask: _StandIn._Image) -> None:
            assert image.array.dtype == np.float32
            assert mask.array.dtype == np.uint8
            assert image.array.shape == mask.array.shape == (8, 14, 12)
            assert (mask.array == (image.array != 0)).all()

        def GetLogBiasFieldAsImage(self, image: _StandIn._Image) -> _StandIn._Image:
            return _StandIn._Image(np.broadcast_to(np.log(RAMP), image.array.shape))

    @classmethod
    def GetImageFromArray(cls, array: np.ndarray) -> _StandIn._Image:
        return cls._Image(array)

    @staticmethod
    def GetArrayFromImage(image: _StandIn._Image) -> np.ndarray:
        return image.array

    @staticmethod
    def Shrink(image: _StandIn._Image, steps: list[int]) -> _StandIn._Image:
        return _StandIn._Image(image.array[:: steps[2], :: steps[1], :: steps[0]])


RAMP = np.linspace(0.8, 1.25, 12)


@pytest.fixture
def shaded(tmp_path: Path) -> Path:
    """A table of one scan that is brighter on its right."""
    flair = np.zeros((12, 14, 8), dtype=np.float32)
    flair[2:10, 2:12, 1:7] = 100
    affine = np.diag([2.0, 2, 3, 1])
    nifti.write(tmp_path / "f.nii.gz", flair * RAMP[:, None, None], affine)
    nifti.write(tmp_path / "g.nii.gz", np.arange(flair.size).reshape(flair.shape) == 700, affine)
    (tmp_path / "t.csv").write_text("patient,flair,gt,part\na,f.nii.gz,g.nii.gz,dev_out\n")
    return tmp_path / "t.csv"


def test_the_bias_field_is_divided_out_of_images_and_masks_stay(shaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SimpleITK", _StandIn("SimpleITK"))
    made = preparation.prepare(shaded, shaded.with_name("p"), bias_field=True)
    assert "the bias field of all images was removed by N4" in made.notes
    found = Volumes.open(made.folder)
    image = found.image(0)[0]
    assert np.allclose(image[image != 0], 100, rtol=1e-5)
    assert found.patients[0].files["gt"].samefile(shaded.with_name("g.nii.gz"))


def test_the_bias_field_is_removed_before_volumes_are_resampled(shaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SimpleITK", _StandIn("SimpleITK"))
    found = Volumes.open(preparation.prepare(shaded, shaded.with_name("p"), bias_field=True, resample=True).folder)
    assert found.image(0).shape == (1, 24, 28, 24)
    assert found.image(0).max() == pytest.approx(100, rel=1e-5)


def test_images_without_a_bias_field_to_find_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SimpleITK", _StandIn("SimpleITK"))
    image = np.random.default_rng(0).normal(0, 1, (12, 14, 1)).astype(np.float32)
    nifti.write(tmp_path / "f.nii.gz", image, np.diag([2.0, 2, 3, 1]))
    (tmp_path / "t.csv").write_text("patient,flair,part\na,f.nii.gz,dev_out\n")
    with pytest.raises(
        ShiftbenchError, match=r"(?s)along each axis .* found 12 × 14 × 1.*found [45]\d% below 0. Was it"
    ):
        preparation.prepare(tmp_path / "t.csv", tmp_path / "p", bias_field=True)
    assert not (tmp_path / "p").exists()


def test_a_strong_bias_field_is_gone_after_n4() -> None:
    rng, shape = np.random.default_rng(0), (20, 24, 19)
    place = np.stack(np.meshgrid(*(np.linspace(-1, 1, size) for size in shape), indexing="ij"))
    radius = np.sqrt((place**2).sum(axis=0))
    brain, white = radius < 0.9, (radius > 0.25) & (radius < 0.65)
    tissue = np.where(white, 100, 130) + rng.normal(0, 3, shape)
    shade = np.exp(0.6 * place[0] + 0.5 * place[1] ** 2 - 0.35 * place[2])
    scan = nifti.Scan((tissue * shade * brain).astype(np.float32), np.diag([8.0, 8, 8, 1]))
    found = bias_field.without_it({"flair": scan, "gt": nifti.Scan(white, scan.affine)}, brain)
    spread = [np.std(each[white]) / np.mean(each[white]) for each in (scan.array, found["flair"].array)]
    assert spread[0] > 0.2 > 0.08 > spread[1]
    assert not found["flair"].array[~brain].any()
    assert found["gt"].array is white


def test_the_bias_field_needs_its_package(shaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "SimpleITK", None)
    with pytest.raises(MissingExtraError, match="pip install SimpleITK"):
        preparation.prepare(shaded, shaded.with_name("p"), bias_field=True)
    assert not shaded.with_name("p").exists()


def test_lesions_are_counted_by_every_connectivity(prepared: Path) -> None:
    manifest = json.loads((prepared / "manifest.json").read_text())
    volumes = Volumes.open(prepared)
    for row, entry in enumerate(manifest["patients"]):
        truth = volumes.truth(row)
        assert entry["lesions"] == {str(each): components(truth, each)[1] for each in (6, 18, 26)}
    assert any(len(set(entry["lesions"].values())) > 1 for entry in manifest["patients"]), "else nothing is told apart"


def test_a_site_to_train_on_is_noted_with_its_parts(phantoms: Path, tmp_path: Path) -> None:
    made = preparation.prepare(phantoms, tmp_path / "p", leave_out="site-a")
    volumes = Volumes.open(made.folder)
    assert {
        part for part, patient in zip(volumes.parts, volumes.patients, strict=True) if patient.site == "site-a"
    } == {"dev_out"}
    assert json.loads((made.folder / "manifest.json").read_text())["experiment"] == {"leave_out": "site-a"}
    assert "site-a is left out of train, and is dev_out" in made.notes


def test_a_damaged_experiment_is_refused(phantoms: Path, prepared: Path, tmp_path: Path) -> None:
    held = json.loads((prepared / "manifest.json").read_text())
    (tmp_path / "manifest.json").write_text(json.dumps({**held, "experiment": {"train_on": 3}}))
    with pytest.raises(TableError, match="experiment: expected the name of a site, found"):
        preparation.open_prepared(tmp_path)
