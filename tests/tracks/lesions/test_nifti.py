"""Scans are read in one orientation whatever their file's, and everything that is wrong is told before it is read."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.lesions import nifti

AFFINE = np.array([[2.0, 0, 0, -20], [0, 1, 0, -10], [0, 0, 1, 5], [0, 0, 0, 1]])
VALUES = np.arange(4 * 5 * 6, dtype=np.float32).reshape(4, 5, 6)


def saved(path: Path, array: Any, affine: Any = AFFINE, **header: Any) -> Path:
    image = nibabel.Nifti1Image(np.asarray(array), affine)
    for name, value in header.items():
        image.header[name] = value
    nibabel.save(image, path)
    return path


@pytest.mark.parametrize("suffix", [".nii", ".nii.gz"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    path = nifti.write(tmp_path / f"a{suffix}", VALUES, AFFINE)
    with pytest.warns(nifti.ScanWarning, match="2 × 1 × 1 mm: not isotropic"):
        array, affine = nifti.read_image(path)
    assert (array == VALUES).all()
    assert np.allclose(affine, AFFINE)
    assert path.read_bytes() == nifti.write(tmp_path / f"b{suffix}", VALUES, AFFINE).read_bytes()


@pytest.mark.parametrize("axes", ["LPS", "RAS", "SRA", "ILA"])
def test_every_orientation_is_turned_to_the_same(tmp_path: Path, axes: str) -> None:
    plain = nibabel.Nifti1Image(VALUES, AFFINE)
    there = nibabel.orientations.axcodes2ornt(axes)
    turned = plain.as_reoriented(nibabel.orientations.ornt_transform(nibabel.io_orientation(AFFINE), there))
    nibabel.save(turned, tmp_path / "a.nii.gz")
    found = nifti.image(tmp_path / "a.nii.gz")
    assert (found.array == VALUES).all()
    assert np.allclose(found.affine, AFFINE)
    shape, affine = nifti.geometry(tmp_path / "a.nii.gz")
    assert shape == VALUES.shape
    assert np.allclose(affine, AFFINE)


def test_scaled_integers_are_read_as_nibabel_reads_them(tmp_path: Path) -> None:
    image = nibabel.Nifti1Image(VALUES / 7 - 3, AFFINE)
    image.set_data_dtype(np.int16)
    nibabel.save(image, tmp_path / "a.nii")
    assert np.array_equal(
        nifti.image(tmp_path / "a.nii").array, nibabel.load(tmp_path / "a.nii").get_fdata(dtype=np.float32)
    )


def test_big_endian_and_second_version_are_read(tmp_path: Path) -> None:
    header = nibabel.Nifti1Header(endianness=">")
    header.set_data_dtype(np.float32)
    nibabel.save(nibabel.Nifti1Image(VALUES, AFFINE, header), tmp_path / "a.nii")
    nibabel.save(nibabel.Nifti2Image(VALUES, AFFINE), tmp_path / "b.nii")
    assert (nifti.image(tmp_path / "a.nii").array == VALUES).all()
    assert (nifti.image(tmp_path / "b.nii").array == VALUES).all()


def test_masks_of_0_and_255_and_rounding_noise_are_masks(tmp_path: Path) -> None:
    marked = VALUES % 3 == 0
    bytes_ = nifti.mask(saved(tmp_path / "a.nii", marked.astype(np.uint8) * 255))
    assert (bytes_.array == marked).all()
    assert any("mask of 0 and 255" in note for note in bytes_.notes)
    noisy = nifti.mask(saved(tmp_path / "b.nii", np.where(marked, 0.9999, 1e-5).astype(np.float32)))
    assert (noisy.array == marked).all()
    assert nifti.mask(saved(tmp_path / "c.nii", np.zeros((3, 3, 3), np.uint8))).array.sum() == 0


def test_members_are_the_last_axis_of_the_file_and_the_first_in_memory(tmp_path: Path) -> None:
    members = np.stack([VALUES % 2, VALUES / 200])
    array, _ = nifti.read_members(nifti.write(tmp_path / "a.nii.gz", members.astype(np.float32), np.eye(4)))
    assert np.allclose(array, members)
    assert nibabel.load(tmp_path / "a.nii.gz").shape == (*VALUES.shape, 2)
    assert nifti.members(saved(tmp_path / "b.nii", VALUES / 200)).array.shape == (1, *VALUES.shape)


def wrong_files(folder: Path) -> dict[str, tuple[Any, Path]]:
    """Text of the message → function that refuses it, file."""
    whole = nifti.write(folder / "whole.nii.gz", VALUES, AFFINE)
    plain = nifti.write(folder / "plain.nii", VALUES, AFFINE)
    data, made = plain.read_bytes(), {}

    def file(name: str, content: bytes) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    def claiming(name: str, *shape: int) -> Path:
        header = bytearray(data)
        header[40:48] = np.array([len(shape), *shape], "<i2").tobytes()
        return file(name, gzip.compress(bytes(header)))

    made["one volume"] = nifti.image, saved(folder / "4d.nii.gz", np.zeros((4, 4, 4, 2)))
    made["found b'foun'"] = nifti.image, file("text.nii", b"found text")
    made["an empty file"] = nifti.image, file("empty.nii", b"")
    made["cut short or damaged"] = nifti.image, file("cut.nii.gz", whole.read_bytes()[:-20])
    made["cannot hold them"] = nifti.image, file("short.nii", data[:-20])
    made["at most"] = nifti.image, claiming("giant.nii.gz", 3000, 3000, 3000)
    made["cannot hold them."] = nifti.image, claiming("claims.nii.gz", 500, 500, 500)
    made["found over"] = nifti.image, file("bomb.nii.gz", gzip.compress(data + bytes(2**22)))
    made["NaN or infinity in 1 of"] = nifti.image, saved(folder / "nan.nii", np.where(VALUES == 3, np.nan, VALUES))
    made["three or more"] = nifti.mask, saved(folder / "labels.nii", (VALUES % 3).astype(np.uint8))
    made["apply a threshold"] = nifti.mask, saved(folder / "half.nii", np.where(VALUES == 3, 0.5, 0.0))
    made["a mask of two values"] = nifti.mask, saved(folder / "negative.nii", np.where(VALUES == 3, -1.0, 0.0))
    made["probabilities from 0 to 1"] = nifti.probabilities, saved(folder / "logits.nii", VALUES)
    made["of plain numbers"] = nifti.image, saved(folder / "complex.nii", VALUES.astype(np.complex64))
    made["0.05 to 20 mm"] = nifti.image, saved(folder / "metres.nii", VALUES, np.diag([1e-3, 1e-3, 1e-3, 1]))
    made["a folder"] = nifti.image, folder
    made["No such file"] = nifti.image, folder / "absent.nii.gz"
    made["the header of a pair"] = nifti.image, file("pair.nii", data[:344] + b"ni1\0" + data[348:])
    made["behind the header"] = nifti.image, file("offset.nii", data[:108] + np.float32(-1).tobytes() + data[112:])
    return made


def test_every_wrong_file_is_refused_with_its_reason(tmp_path: Path) -> None:
    for text, (function, path) in wrong_files(tmp_path).items():
        expected = "a mask of two values" if text == "three or more" else text.rstrip(".")
        with pytest.raises(ShiftbenchError, match=expected) as error:
            function(path)
        assert str(path) in str(error.value)


def test_a_name_that_is_no_nifti_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ShiftbenchError, match=r"ends in \.nii"):
        nifti.write(tmp_path / "a.txt", VALUES, AFFINE)
    assert not list(tmp_path.iterdir())


def test_an_affine_without_numbers_is_refused_with_its_file(tmp_path: Path) -> None:
    path = tmp_path / "a.nii"
    image = nibabel.Nifti1Image(np.zeros((2, 2, 2), np.float32), AFFINE)
    image.header["srow_x"] = np.nan
    image.header["sform_code"] = 1
    path.write_bytes(bytes(image.header.binaryblock) + bytes(4) + bytes(32))
    with pytest.raises(ShiftbenchError, match=r"a\.nii: expected an affine of numbers below .* found nan"):
        nifti.geometry(path)
