"""Hostile scans: NIfTI files with damaged headers, voxels and bytes, tables of patients, and predictions."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.hostile.mutations import Rng, damaged, edited, one_of, pick

Words = list[str]
SHAPE = (12, 11, 10)
TABLE = "patients.csv"
HEADER = 352  # bytes before the voxels
FIELDS = {
    "sizeof_hdr": (0, "<i4", 1), "dim": (40, "<i2", 8), "intent": (68, "<i2", 1), "datatype": (70, "<i2", 1),
    "bitpix": (72, "<i2", 1), "pixdim": (76, "<f4", 8), "vox_offset": (108, "<f4", 1), "scl_slope": (112, "<f4", 1),
    "scl_inter": (116, "<f4", 1), "xyzt_units": (123, "<u1", 1), "qform_code": (252, "<i2", 1),
    "sform_code": (254, "<i2", 1), "quaternion": (256, "<f4", 6), "srow": (280, "<f4", 12), "magic": (344, "<u1", 4),
    "extension": (348, "<u1", 4),
}  # fmt: skip
WHOLE = (0, 1, -1, 2, 3, 4, 5, 7, 8, 16, 32, 64, 128, 255, 256, 512, 768, 1024, 1536, 1792, 2304, 32_767, -32_768)
REAL = (0.0, 1.0, -1.0, 0.5, 3.0, 1e-30, 1e-3, 1e3, 1e30, 3e38, float("nan"), float("inf"), -float("inf"), 352.0, 540.0)
VOXELS = (float("nan"), float("inf"), -1.0, 0.9999, 0.5, 255.0, 2.0, 1e30, -3e38, 0.0)
LABELS = (0, 1, 2, 3, 7, 100, 127, 128, 254, 255)


def write(folder: Path) -> None:
    """Write whole scans of three patients, a table of them, and predictions of one."""
    from shiftbench.tracks.lesions import nifti

    lines = ["patient,site,part,flair,gt,brain,age"]
    for number, part in enumerate(("train", "dev_in", "dev_out")):
        flair, lesions, brain = _phantom(number)
        names = [f"{number}_{kind}.nii.gz" for kind in ("flair", "gt", "brain")]
        for name, volume in zip(names, (flair, lesions, brain), strict=True):
            nifti.write(folder / name, volume, np.diag([4.0, 4.0, 4.0, 1.0]))
        lines.append(f"{number},site-{number},{part},{','.join(names)},{40 + number}")
    (folder / TABLE).write_text("\n".join(lines) + "\n")
    probability = np.where(lesions, np.float32(0.8), np.float32(0.1))
    (mine := folder / "mine").mkdir()
    nifti.write(mine / "2_prob.nii.gz", probability, np.diag([4.0, 4.0, 4.0, 1.0]))
    np.savez(folder / "2.npz", probabilities=np.stack([1 - probability, probability]).swapaxes(1, 3))
    nifti.write(mine / "2_members.nii.gz", np.stack([lesions, brain]), np.diag([4.0, 4.0, 4.0, 1.0]))


def _phantom(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The FLAIR of a patient, its lesion mask and its brain mask."""
    away = np.sqrt(sum((axis - size / 2) ** 2 for axis, size in zip(np.indices(SHAPE), SHAPE, strict=True)))
    brain, lesions = away < 4.5, np.zeros(SHAPE, dtype=bool)
    lesions[4 + number : 6 + number, 5:8, 4:6] = True
    flair = brain * (100 + 5 * np.random.default_rng(number).standard_normal(SHAPE) + 60 * lesions)
    return flair.astype(np.float32), lesions, brain


def prepared(whole: Path, here: Path, rng: Rng) -> Words:
    """A table of scans, one or two of which are damaged."""
    shutil.copytree(whole / "scans-lesions", here / "scans")
    names = [f"{number}_{kind}.nii.gz" for number in range(3) for kind in ("flair", "gt", "brain")]
    for name in rng.choice(names, int(rng.choice([1, 1, 2])), replace=False):
        path = here / "scans" / str(name)
        path.write_bytes(_spoiled(path.read_bytes(), rng))
    resampled = ["--resample"] if rng.random() < 0.1 else []
    return ["prepare", "lesions", f"scans/{TABLE}", "--out", "out", *resampled]


def listed(whole: Path, here: Path, rng: Rng) -> Words:
    """Whole scans, and a table of them that is damaged."""
    shutil.copytree(whole / "scans-lesions", here / "scans")
    path = here / "scans" / TABLE
    data = path.read_bytes()
    path.write_bytes(edited(data, rng) if rng.random() < 0.7 else damaged(data, rng))
    return ["prepare", "lesions", pick(rng, f"scans/{TABLE}", "scans"), "--out", "out"]


def predicted(whole: Path, here: Path, rng: Rng) -> Words:
    """A probability map, members or a result of nnU-Net of one patient, damaged; seldom their truth."""
    shutil.copytree(whole / "scans-lesions", here / "scans")
    if rng.random() < 0.3:
        return _of_nnunet(here / "scans", rng)
    path = one_of(here / "scans/mine", rng) if rng.random() < 0.9 else here / "scans/2_gt.nii.gz"
    path.write_bytes(_spoiled(path.read_bytes(), rng))
    if rng.random() < 0.3:
        (here / "scans/mine/2_prob.nii.gz").unlink()
    return _assessing("scans/mine")


def _of_nnunet(scans: Path, rng: Rng) -> Words:
    """The probabilities of a fold as nnU-Net writes them, damaged, beside its mask."""
    (fold := scans / "folds/fold_0").mkdir(parents=True)
    shutil.copy(scans / "2_gt.nii.gz", fold / "2.nii.gz")
    with np.load(scans / "2.npz") as held:
        values = held["probabilities"]
    match int(rng.integers(6)):
        case 0:
            values[rng.random(values.shape) < 0.1] = VOXELS[rng.integers(len(VOXELS))]
        case 1:
            values = values[int(rng.integers(2)) :, int(rng.integers(3)) :]
        case 2:
            values = values.reshape(tuple(rng.permutation(values.shape)))
        case 3:
            values = values.astype(pick(rng, "f2", "f8", "i1", "U5", "O", "c8", "M8[s]"))
    np.savez(fold / "2.npz", **{pick(rng, "probabilities", "probabilities", "softmax", "x"): values})
    if rng.random() < 0.5:
        (fold / "2.npz").write_bytes(damaged((fold / "2.npz").read_bytes(), rng))
    return _assessing("scans/folds")


def _assessing(predictions: str) -> Words:
    return [
        "assess", "--track", "lesions", predictions, "--data", "scans/2_gt.nii.gz", "--replicates", "5", "--out", "out",
        "--cores", "1",
    ]  # fmt: skip


def _spoiled(packed: bytes, rng: Rng) -> bytes:
    """A file with damage in its bytes, its header or its voxels, or with more or fewer of these than it claims."""
    if rng.random() < 0.2:
        return damaged(packed, rng)
    data = gzip.decompress(packed)
    for _ in range(int(rng.choice([1, 1, 2]))):
        data = SPOILS[rng.integers(len(SPOILS))](data, rng)
    return gzip.compress(data, 1, mtime=0) if rng.random() < 0.8 else data


def _field(data: bytes, rng: Rng) -> bytes:
    """Another value in the header."""
    start, kind, count = list(FIELDS.values())[rng.integers(len(FIELDS))]
    dtype = np.dtype(kind)
    place = start + dtype.itemsize * int(rng.integers(count))
    value = REAL[rng.integers(len(REAL))] if dtype.kind == "f" else WHOLE[rng.integers(len(WHOLE))]
    return data[:place] + np.array(value).astype(dtype).tobytes() + data[place + dtype.itemsize :]


def _claimed(data: bytes, rng: Rng) -> bytes:
    """Another shape, perhaps of a hundred gigabytes."""
    sizes = [1, 2, 10, 11, 12, 120, 4_000, 32_767]
    dims = rng.choice([1, 2, 3, 3, 3, 4, 5, 7])
    shape = np.array([dims, *rng.choice(sizes, 7)], "<i2")
    return data[:40] + shape.tobytes() + data[56:]


def _voxels(data: bytes, rng: Rng) -> bytes:
    """Other numbers in some or all voxels, of those that fit their type."""
    real = data[70:72] == b"\x10\0" and len(data) % 4 == 0
    values = np.frombuffer(data[HEADER:], "<f4" if real else "u1").copy()
    chosen = (VOXELS if real else LABELS)[rng.integers(len(LABELS))]
    values[rng.random(len(values)) < rng.choice([0.0005, 0.1, 1.0])] = chosen
    return data[:HEADER] + values.tobytes()


def _more(data: bytes, rng: Rng) -> bytes:
    """More behind the voxels, which packs well."""
    return data + b"\0" * int(rng.choice([1, 1_000, 100_000, 20_000_000]))


def _swapped(data: bytes, rng: Rng) -> bytes:
    """The other byte order, in the header alone or in both."""
    import nibabel

    header = nibabel.Nifti1Header(data[:348], check=False).as_byteswapped(">").binaryblock
    return header + data[348:]


def _cut(data: bytes, rng: Rng) -> bytes:
    return data[: int(rng.integers(0, len(data) + 1))]


SPOILS: tuple[Callable[[bytes, Rng], bytes], ...] = (
    _field,
    _field,
    _field,
    _claimed,
    _voxels,
    _voxels,
    _more,
    _cut,
    damaged,
)
