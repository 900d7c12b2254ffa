"""Scans, masks and probability maps as NIfTI files: read as RAS+, with all checks, and written.

The header is checked before anything is allocated: what it claims must fit into the file (DEFLATE packs at most 1,032
bytes into one) and below `MOST_VOXELS`; of a compressed file no more is unpacked than the header claims.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import warnings
import zlib
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.errors import ArrayError, MissingExtraError, ShiftbenchError, ShiftbenchWarning, first_line, quoted
from shiftbench.io import files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

Array: TypeAlias = npt.NDArray[Any]
Affine: TypeAlias = npt.NDArray[np.float64]

SUFFIXES = (".nii", ".nii.gz")
MOST_VOXELS = 2**27  # 512³; a head at 0.5 mm has 400³
MOST_OF_MEMBERS = 2**29  # voxels of all volumes of a 4D file: 70 of a whole brain at 1 mm
LARGEST_EXTENSIONS = 2**24  # bytes between header and voxels
MOST_BEHIND = 2**20  # bytes behind the last voxel that are skipped
MOST_PACKED = 1_032  # bytes that DEFLATE packs into one
ROUNDING = 1e-3  # from 0 and 1 to which masks and probabilities are moved by formats of few digits
FARTHEST_MM = 1e100  # squares of longer ways are infinite
SMALLEST_MM, LARGEST_MM = 0.05, 20.0  # voxels
ISOTROPIC = 1.05  # largest over smallest side of a voxel that is called isotropic
_GZIP, _HEADERS = b"\x1f\x8b", {348: "Nifti1Header", 540: "Nifti2Header"}
_KINDS = "biuf"


class ScanWarning(ShiftbenchWarning):
    """A scan that is usable, but has something that its user should know."""


@dataclass(frozen=True)
class Scan:
    """A volume [X, Y, Z] (members: [M, X, Y, Z]) in RAS+ orientation, its affine [4, 4] in mm, and remarks."""

    array: Array
    affine: Affine
    notes: tuple[str, ...] = ()

    @property
    def spacing(self) -> npt.NDArray[np.float64]:
        """The sides of a voxel [3] in mm."""
        return spacing_of(self.affine)


def read_image(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.float32], Affine]:
    """An image as float32 [X, Y, Z] in RAS+ orientation, and its affine [4, 4] in mm; remarks are a `ScanWarning`.

    Raises:
        ShiftbenchError: if it is not a whole NIfTI file of one volume of finite numbers, or its header claims more
            than the file can hold.
        MissingExtraError: if nibabel is not installed.
    """
    return _with_notes(path, image(path))


def read_mask(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.bool_], Affine]:
    """A mask as bool [X, Y, Z] in RAS+ orientation, and its affine; values may be 0 and 1 (to 0.001), or 0 and another.

    Raises:
        ShiftbenchError: as `read_image`, and if it has three or more values.
    """
    return _with_notes(path, mask(path))


def read_probabilities(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.float32], Affine]:
    """Probabilities as float32 [X, Y, Z] from 0 to 1 in RAS+ orientation, and their affine.

    Raises:
        ShiftbenchError: as `read_image`, and for values outside 0 to 1.
    """
    return _with_notes(path, probabilities(path))


def image(path: str | os.PathLike[str]) -> Scan:
    """As `read_image`, with remarks in `Scan.notes`."""
    scan = _read(_file(path))
    return replace(scan, array=scan.array.astype(np.float32, copy=False))


def mask(path: str | os.PathLike[str]) -> Scan:
    """As `read_mask`, with remarks in `Scan.notes`."""
    return _as_mask(_read(_file(path)), path)


def probabilities(path: str | os.PathLike[str]) -> Scan:
    """As `read_probabilities`, with remarks in `Scan.notes`."""
    return _as_probabilities(_read(_file(path)), path)


def read_members(path: str | os.PathLike[str]) -> tuple[npt.NDArray[np.float32], Affine]:
    """As `members`, with remarks as a `ScanWarning`."""
    return _with_notes(path, members(path))


def geometry(path: str | os.PathLike[str]) -> tuple[tuple[int, int, int], Affine]:
    """The shape (X, Y, Z) and the affine [4, 4] of a file in RAS+ orientation, from its header alone.

    Raises:
        ShiftbenchError: as `read_image`, but for the voxels.
    """
    file = _file(path)
    with _reading(file), _opened(file) as stream:
        header = _header(stream, file)
    shape, affine = _shape(header, file, several=True)[:3], _affine(header, file)
    orientations = _nibabel().orientations
    turns = orientations.io_orientation(affine)
    turned = tuple(shape[int(axis)] for axis in np.argsort(turns[:, 0]))
    return turned, affine @ orientations.inv_ornt_aff(turns, shape)  # type: ignore[return-value]


def oriented_as(path: str | os.PathLike[str], array: Array) -> Scan:
    """An array [X, Y, Z] in the order in which a file stores its voxels, in RAS+ orientation with the file's affine.

    Raises:
        ShiftbenchError: as `geometry`; if the file has another shape.
    """
    file = _file(path)
    with _reading(file), _opened(file) as stream:
        header = _header(stream, file)
    shape, affine = _shape(header, file, several=False), _affine(header, file)
    array = check.as_array("array", array)
    if array.shape != shape:
        found, wanted = (" × ".join(map(str, each)) for each in (array.shape, shape))
        raise ShiftbenchError(f"{file}: expected voxels in its shape {wanted} beside it, found {found}. Resample them.")
    return _oriented(array, affine, header)


def members(path: str | os.PathLike[str]) -> Scan:
    """The M volumes of a 4D file [X, Y, Z, M] as float32 [M, X, Y, Z], each probabilities or a mask of 0 and 1.

    Raises:
        ShiftbenchError: as `read_probabilities`.
    """
    found = _read(_file(path), several=True)
    if found.array.ndim == 3:
        found = replace(found, array=found.array[..., None])
    stacked = np.ascontiguousarray(np.moveaxis(found.array, 3, 0))
    return _as_probabilities(replace(found, array=stacked), path)


def write(path: str | os.PathLike[str], array: Array, affine: Array) -> Path:
    """Write a volume [X, Y, Z], or members [M, X, Y, Z] as [X, Y, Z, M], whole or not at all; the same bytes each time.

    Booleans are written as uint8, everything else as float32. affine: [4, 4], in mm, of the array as it is.

    Raises:
        ShiftbenchError: if the suffix is not .nii or .nii.gz, or the array has another number of dimensions.
        MissingExtraError: if nibabel is not installed.
    """
    target = _file(path)
    if not target.name.endswith(SUFFIXES):
        raise ShiftbenchError(f"{target}: expected a name that ends in .nii or .nii.gz, found another. Rename it.")
    array = check.as_array("array", array)
    if array.dtype.kind not in "biuf":
        raise ShiftbenchError(f"{target}: expected numbers or booleans to write, found dtype {array.dtype}.")
    if array.ndim not in (3, 4):
        raise ShiftbenchError(f"{target}: expected [X, Y, Z] or [M, X, Y, Z] to write, found shape {array.shape}.")
    with np.errstate(over="ignore"):  # becomes infinite, which reading refuses
        values = array.astype(np.uint8 if array.dtype.kind == "b" else np.float32, copy=False)
    data = _bytes(np.moveaxis(values, 0, 3) if values.ndim == 4 else values, affine)
    with files.replacing(target) as temporary:
        temporary.write_bytes(gzip.compress(data, 6, mtime=0) if target.name.endswith(".gz") else data)
    return target


def compact(array: Array, affine: Array, *, most: float) -> bytes:
    """A compressed file of a volume [X, Y, Z] with 8 bits a voxel, for pages: from 0 to `most`, beyond it cut.

    Booleans are 0 and 1. affine: [4, 4], in mm, of the array as it is.
    """
    if array.dtype.kind == "b":
        return gzip.compress(_bytes(array.astype(np.uint8), affine), 9, mtime=0)
    slope = max(most, 1e-12) / 255
    levels = np.clip(np.rint(array / slope), 0, 255).astype(np.uint8)
    return gzip.compress(_bytes(levels, affine, slope=slope), 9, mtime=0)


def _bytes(values: Array, affine: Array, *, slope: float | None = None) -> bytes:
    """An uncompressed NIfTI file; slope: what readers multiply the values by."""
    packed = _nibabel().Nifti1Image(values, _checked_affine(affine))
    packed.header.set_xyzt_units("mm")
    if slope is not None:
        packed.header.set_slope_inter(slope, 0.0)
    return bytes(packed.to_bytes())


def spacing_of(affine: Affine) -> npt.NDArray[np.float64]:
    """The sides of a voxel [3] in mm of an affine [4, 4]."""
    affine = _checked_affine(affine)
    sides: npt.NDArray[np.float64] = np.sqrt((affine[:3, :3] ** 2).sum(axis=0))
    return sides


def displacement(one: Affine, other: Affine, shape: Sequence[int]) -> float:
    """How far apart in mm along an axis the positions of a corner of a volume are at most under two affines."""
    one, other, sizes = _checked_affine(one), _checked_affine(other), check.vector("shape", shape)
    if len(sizes) != 3:
        raise ArrayError(f"shape: expected three sizes, found {len(sizes):,}.")
    corners = np.array(np.meshgrid(*[(0, size - 1) for size in sizes], [1], indexing="ij")).reshape(4, -1)
    return float(np.abs((one - other) @ corners).max())


def _file(path: str | os.PathLike[str]) -> Path:
    return argument.path(path, error=ShiftbenchError)


def _checked_affine(values: Any) -> Affine:
    """Finite numbers [4, 4] of a size that squares keep."""
    array = check.as_array("affine", values)
    if (
        array.shape != (4, 4)
        or array.dtype.kind not in "biuf"
        or not np.abs(array.astype(np.float64)).max() < FARTHEST_MM
    ):
        found = f"{array.dtype} of shape {array.shape}" if array.shape != (4, 4) else "other values"
        raise ArrayError(f"affine: expected finite numbers [4, 4] below {FARTHEST_MM:g} mm, found {found}.")
    return np.asarray(array, dtype=np.float64)


# --- reading ---------------------------------------------------------------------------------------------------------


def _with_notes(path: str | os.PathLike[str], scan: Scan) -> tuple[Any, Affine]:
    for note in scan.notes:
        warnings.warn(ScanWarning(f"{path}: {note}"), stacklevel=3)
    return scan.array, scan.affine


def _read(path: Path, *, several: bool = False) -> Scan:
    """The voxels [X, Y, Z] of a file, scaled, as float32 or uint8 in RAS+ orientation; of `several` volumes
    [X, Y, Z, M].
    """
    with _reading(path), _opened(path) as stream:
        header = _header(stream, path)
        raw = _voxels(stream, header, _shape(header, path, several=several), path)
    affine = _affine(header, path)
    scaled = _scaled(raw, header, path)
    if scaled.dtype.kind == "f" and not np.isfinite(scaled).all():
        bad = np.count_nonzero(~np.isfinite(scaled))
        raise ShiftbenchError(
            f"{path}: expected finite numbers, found NaN or infinity in {bad:,} of {scaled.size:,} voxels. Outside "
            "the brain set them to 0; inside, repair or leave out the scan."
        )
    return _oriented(scaled, affine, header)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert errors of the system and of gzip into ours."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ShiftbenchError(
            f"{path}: expected a whole gzip file, found: {first_line(error)}. It was cut short or "
            "damaged: copy it again."
        ) from None
    except OSError as error:
        raise ShiftbenchError(f"{path}: expected a NIfTI file, found: {error.strerror or error}.") from None


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    """The unpacked bytes of a file, whatever its name."""
    if path.is_dir():
        raise ShiftbenchError(f"{path}: expected a NIfTI file (.nii, .nii.gz), found a folder.")
    files.require_regular(path)
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP
        file.seek(0)
        if packed:
            with gzip.open(file) as unpacked:
                yield unpacked  # type: ignore[misc]
        else:
            yield file


def _header(stream: IO[bytes], path: Path) -> Any:
    """The header, NIfTI-1 or NIfTI-2 in either byte order."""
    nibabel = _nibabel()
    start = stream.read(4)
    size = next((n for n in _HEADERS for order in ("<i4", ">i4") if start == np.array(n, order).tobytes()), None)
    block = start + stream.read(size - 4) if size else b""
    found = quoted(start) if start else "an empty file"
    if size and len(block) == size and block[344:347] == b"ni1":
        found = "the header of a pair of files (.hdr, .img)"
    elif size and len(block) == size and b"n+" in (block[344:346], block[4:6]):
        try:
            return getattr(nibabel, _HEADERS[size])(block, check=False)
        except Exception as error:  # nibabel raises its own and NumPy's errors for damaged headers
            found = first_line(error)
    raise ShiftbenchError(
        f"{path}: expected a NIfTI file in one piece (.nii, .nii.gz), found {found}. Convert it, or copy it again."
    )


def _shape(header: Any, path: Path, *, several: bool) -> tuple[int, ...]:
    """The shape that the header claims, without trailing ones: of one volume, or of several, and not too large."""
    try:
        claimed = tuple(map(int, header.get_data_shape()))
    except Exception as error:
        raise ShiftbenchError(f"{path}: expected a shape in the header, found: {first_line(error)}.") from None
    shape = claimed
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if not 3 <= len(shape) <= 3 + several or min(shape) < 1:
        raise ShiftbenchError(
            f"{path}: expected one volume [X, Y, Z]{' or several [X, Y, Z, M]' * several}, found the shape {claimed}. "
            "Choose a volume, and write it as a 3D file."
        )
    if math.prod(shape[:3]) > MOST_VOXELS or math.prod(shape) > MOST_OF_MEMBERS:
        raise ShiftbenchError(
            f"{path}: expected a volume of at most {MOST_VOXELS:,} voxels, found {' × '.join(map(str, claimed))} in "
            "its header. It is damaged, or no scan of a head."
        )
    return shape


def _voxels(stream: IO[bytes], header: Any, shape: tuple[int, ...], path: Path) -> Array:
    """The stored numbers; nothing is allocated before the file is known to be large enough for them."""
    dtype = _dtype(header, path)
    offset, start = float(header["vox_offset"]), int(header["sizeof_hdr"])
    if not (math.isfinite(offset) and start <= offset <= LARGEST_EXTENSIONS):
        raise ShiftbenchError(f"{path}: expected the voxels behind the header, found the offset {offset:g}.")
    size, packed = math.prod(shape) * dtype.itemsize, isinstance(stream, gzip.GzipFile)
    most = path.stat().st_size * (MOST_PACKED if packed else 1)
    if int(offset) + size > most:
        raise ShiftbenchError(
            f"{path}: expected the {size:,} bytes of voxels that its header claims, found a file of "
            f"{path.stat().st_size:,} bytes, which cannot hold them. It was cut short or damaged: copy it again."
        )
    _skip(stream, int(offset) - start)
    data = stream.read(size)
    if len(data) != size:
        raise ShiftbenchError(
            f"{path}: expected {size:,} bytes of voxels, found {len(data):,}. It was cut short: copy it again."
        )
    if packed and len(stream.read(MOST_BEHIND)) == MOST_BEHIND:  # to the end: only there its checksum is compared
        raise ShiftbenchError(
            f"{path}: expected the file to end after the {size:,} bytes of voxels that its header claims, found over "
            f"{MOST_BEHIND:,} more. Do not trust it."
        )
    return np.frombuffer(data, dtype=dtype).reshape(shape, order="F")


def _skip(stream: IO[bytes], count: int) -> None:
    while count > 0 and (piece := stream.read(min(count, io.DEFAULT_BUFFER_SIZE))):
        count -= len(piece)


def _dtype(header: Any, path: Path) -> np.dtype[Any]:
    try:
        dtype = np.dtype(header.get_data_dtype())
    except Exception:
        dtype = np.dtype("V")
    if dtype.kind not in _KINDS or dtype.itemsize > 8:
        code = int(header["datatype"])
        raise ShiftbenchError(
            f"{path}: expected voxels of plain numbers, found the data type {code} ({dtype}). Export one number a "
            "voxel, such as float32."
        )
    ordered: np.dtype[Any] = dtype.newbyteorder(header.endianness)
    return ordered


def _affine(header: Any, path: Path) -> Affine:
    """The affine of the voxels as stored; in mm."""
    try:
        affine = np.asarray(header.get_best_affine(), dtype=np.float64)
    except Exception as error:  # a quaternion that is no rotation
        raise ShiftbenchError(
            f"{path}: expected an orientation, found: {first_line(error)}. Export it again."
        ) from None
    far = ~(np.abs(affine) < FARTHEST_MM)
    if far.any():
        raise ShiftbenchError(
            f"{path}: expected an affine of numbers below {FARTHEST_MM:g} mm, found {affine[far][0]}. "
            "Is its header damaged? Export it again."
        )
    with np.errstate(all="ignore"):
        sides, volume = spacing_of(affine), abs(np.linalg.det(affine[:3, :3]))
    if sides.min() < SMALLEST_MM or sides.max() > LARGEST_MM or volume < 1e-6:
        shown = " × ".join(f"{side:g}" for side in sides)
        raise ShiftbenchError(
            f"{path}: expected voxels of {SMALLEST_MM:g} to {LARGEST_MM:g} mm, found {shown}. Is its header in "
            "another unit, or damaged?"
        )
    return affine


def _scaled(raw: Array, header: Any, path: Path) -> Array:
    try:
        slope, offset = header.get_slope_inter()
    except Exception as error:
        raise ShiftbenchError(f"{path}: expected a scale of its values, found: {first_line(error)}.") from None
    native = raw.astype(raw.dtype.newbyteorder("="), copy=False)
    with np.errstate(over="ignore", invalid="ignore"):
        if slope not in (None, 1.0) or offset not in (None, 0.0):
            native = native.astype(np.float64) * slope + offset
        return native if native.dtype == np.uint8 else native.astype(np.float32, copy=False)


def _oriented(array: Array, affine: Affine, header: Any) -> Scan:
    """The array with its axes towards right, front and top, and the affine that belongs to it."""
    orientations = _nibabel().orientations
    turns = orientations.io_orientation(affine)
    turned = orientations.apply_orientation(array, turns)
    notes = []
    if not (int(header["sform_code"]) or int(header["qform_code"])):
        notes.append("no orientation in its header: taken as stored, left and right may be swapped")
    sides = spacing_of(affine)
    if sides.max() / sides.min() > ISOTROPIC:
        notes.append(f"voxels of {' × '.join(f'{side:.3g}' for side in sides)} mm: not isotropic")
    found = affine @ orientations.inv_ornt_aff(turns, array.shape[:3])
    return Scan(np.ascontiguousarray(turned), found, tuple(notes))


# --- kinds of volumes ------------------------------------------------------------------------------------------------


def _as_mask(scan: Scan, path: str | os.PathLike[str]) -> Scan:
    values = scan.array
    whole = values if values.dtype == np.uint8 else np.round(values)
    if whole is not values and (bad := np.abs(values - whole) > ROUNDING).any():
        raise ShiftbenchError(
            f"{path}: expected a mask of 0 and 1, found {values[bad][0]:g} ({np.count_nonzero(bad):,} such voxels). If "
            "these are probabilities, apply a threshold first."
        )
    high, marked = whole.max(), whole != 0
    if whole.min() < 0 or (whole[marked] != high).any():
        found = ", ".join(f"{value:g}" for value in np.unique(whole)[:5])
        raise ShiftbenchError(
            f"{path}: expected a mask of two values, found {found}. Are these labels of several kinds? Keep those of "
            "lesions."
        )
    notes = (*scan.notes, f"mask of 0 and {high:g}: taken as 0 and 1") if high > 1 else scan.notes
    return replace(scan, array=marked, notes=notes)


def _as_probabilities(scan: Scan, path: str | os.PathLike[str]) -> Scan:
    values = scan.array.astype(np.float32, copy=False)
    low, high = float(values.min()), float(values.max())
    if low < -ROUNDING or high > 1 + ROUNDING:
        outside = np.count_nonzero((values < 0) | (values > 1))
        raise ShiftbenchError(
            f"{path}: expected probabilities from 0 to 1, found {low:g} to {high:g} ({outside:,} voxels outside). "
            "Are these logits? Apply a softmax or sigmoid first."
        )
    return replace(scan, array=np.clip(values, 0, 1))


def _nibabel() -> ModuleType:
    try:
        import nibabel
        import nibabel.orientations
    except ImportError as error:
        raise MissingExtraError(
            f"scans: expected the package nibabel, found: {error}. Install it: pip install 'shiftbench[lesions]'"
        ) from None
    return nibabel
