"""Archives of NIfTI files of strangers as plain arrays and back.

Nothing is unpacked by its own name: each member is checked by its header first, copied under a number, read, and named
in the arrays by a path of plain words.
"""

from __future__ import annotations

import re
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from shiftbench.components import without_small
from shiftbench.errors import MissingExtraError, PredictionsError, ShiftbenchError, first_line
from shiftbench.metrics.segmentation.structure import ROUNDING
from shiftbench.track import Arrays, Intake, PublicRecords, Task
from shiftbench.track.parsed import OFFSETS, PartlyRead, array, pack, unpack
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.evaluation import Evaluation
from shiftbench.tracks.lesions.prediction import MASK, MEMBERS, PROBABILITY, THRESHOLD, Prediction
from shiftbench.tracks.lesions.submissions import (
    NPZ,
    Files,
    assigned,
    named_by_table,
    nnunet,
    parts_of,
    probability_like,
)

MOST_FILES = 5_000
MOST_BYTES = 2**33  # of all files of an archive, unpacked
MOST_PACKED = 1_032  # bytes that DEFLATE packs into one
_MAP = "_prob.nii.gz"  # of what a result of nnU-Net becomes
_STEM = r"(?:[A-Za-z0-9][A-Za-z0-9._ -]{0,99}/){0,6}[A-Za-z0-9][A-Za-z0-9._-]{0,150}"
_END = r"\.nii(?:\.gz)?"
PATH, TAKEN = re.compile(_STEM + _END), re.compile(rf"{_STEM}(?:{_END}|\.npz)")
BROKEN = (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile, tarfile.TarError, NotImplementedError,
          RuntimeError, LookupError, OverflowError)  # fmt: skip
Member = tuple[str, int, Any]  # path, size, and what opens it


def parse(file: Path) -> dict[str, Any]:
    """The volumes in an archive, zip or tar.

    Raises:
        PartlyRead: naming every member that is no NIfTI file of its own, and every file that cannot be read; with the
            names of all files, and the volumes that could be read.
        PredictionsError: if it is no whole archive, or too large.
    """
    names, affines, volumes, unread = list[str](), list[Any](), dict[str, Any](), list[str]()
    try:
        with _members(file) as members, tempfile.TemporaryDirectory() as folder:
            held, problems = _plain([each for each in members if not _ignored(each[0])], file)
            taken, twice = _taken([*held], Path(folder))
            problems += twice
            for name in taken:
                try:
                    name, scan = _read(name, held, Path(folder))
                except MissingExtraError:
                    raise
                except ShiftbenchError as error:
                    problems += [problem.replace(f"{folder}/", "") for problem in error.problems]
                    unread.append(name)
                    continue
                volumes[f"volume_{len(names)}"] = scan.array
                names.append(name)
                affines.append(scan.affine)
    except BROKEN as error:
        if isinstance(error, ShiftbenchError):
            raise
        raise PredictionsError(f"{file.name}: expected a whole archive, found: {first_line(error)}.") from None
    arrays = {**pack("names", [*names, *unread]), "affines": np.array(affines, dtype=np.float64), **volumes}
    if problems:
        raise PartlyRead(*problems, arrays=arrays)
    return arrays


@contextmanager
def _members(file: Path) -> Iterator[list[Member]]:
    """The files of an archive; links, devices and the like have no size that is allowed."""
    if file.suffix == ".zip":
        with zipfile.ZipFile(file) as packed:
            infos = packed.infolist()
            if len(infos) > MOST_FILES:
                raise PredictionsError(f"{file.name}: expected at most {MOST_FILES:,} files, found {len(infos):,}.")
            links = {info.filename for info in infos if (info.external_attr >> 16) & 0o170000 not in (0, 0o100000)}
            claims = [info.filename for info in infos if info.file_size > MOST_PACKED * (info.compress_size + 1)]
            if claims:
                raise PredictionsError(f"{file.name}: expected sizes that fit, found another of {claims[0]!r}.")
            yield [(info.filename, -1 if info.filename in links else info.file_size, lambda i=info: packed.open(i))
                   for info in infos if not info.is_dir()]  # fmt: skip
        return
    with tarfile.open(file, "r:*") as packed_tar:
        found = list[Member]()
        for number, each in enumerate(packed_tar):
            if number >= MOST_FILES:
                raise PredictionsError(f"{file.name}: expected at most {MOST_FILES:,} files, found more.")
            if not each.isdir():
                size = each.size if each.isreg() and not each.issparse() else -1
                found.append((each.name.removeprefix("./"), size, lambda e=each: packed_tar.extractfile(e)))
        yield found


def _ignored(name: str) -> bool:
    """Whether a file is what systems add on their own."""
    return name.startswith("__MACOSX/") or name.rpartition("/")[2].startswith(".")


def _plain(members: list[Member], file: Path) -> tuple[dict[str, Member], list[str]]:
    """The files of plain names, each once, and what is wrong with others.

    Raises:
        PredictionsError: for an archive that is too large or has no files at all.
    """
    if not members:
        raise PredictionsError(f"{file.name}: expected NIfTI files, found none.")
    if (total := sum(size for _, size, _ in members)) > MOST_BYTES:
        raise PredictionsError(f"{file.name}: expected at most {MOST_BYTES:,} bytes of files, found {total:,}.")
    held, problems = dict[str, Member](), list[str]()
    for name, size, opened in members:
        if not TAKEN.fullmatch(name) or ".." in name:
            problems.append(
                f"{name!r}: expected a NIfTI file (.nii, .nii.gz), or a result of nnU-Net (.npz), in a path of plain "
                "words. Rename it."
            )
        elif size < 0:
            problems.append(f"{name}: expected a file, found a link or the like. Put the file itself there.")
        elif name in held:
            problems.append(f"{name}: expected each file once, found it twice. Drop one.")
        else:
            held[name] = name, size, opened
    return held, problems


def _taken(names: list[str], folder: Path) -> tuple[list[str], list[str]]:
    """The files to read, and what keeps others from it: of a fold of nnU-Net its probabilities are read, without the
    mask that says the same; a probability map that a result of nnU-Net becomes must not be there, too."""
    results = {name.removesuffix(NPZ) for name in names if name.endswith(NPZ)}
    twice = sorted(results & {name.removesuffix(_MAP) for name in names if name.endswith(_MAP)})
    problems = [f"{each}: expected {each}{NPZ} or {each}{_MAP}, found both. Drop one." for each in twice]
    plain = {name for name in names if name.endswith(".nii") and f"{name}.gz" in names}
    problems += [f"{name}.gz: expected it packed or not, found both. Drop one." for name in sorted(plain)]
    left = {f"{each}{NPZ}" for each in twice} | plain
    folds = {stem for stem in results if parts_of(folder / f"{stem}{NPZ}", folder)[1] is not None}
    read = [name for name in names if name.endswith(NPZ) or re.sub(f"{_END}$", "", name) not in folds]
    return [name for name in read if name not in left], problems


def _read(name: str, held: dict[str, Member], folder: Path) -> tuple[str, nifti.Scan]:
    """One volume and its name; what nnU-Net saved becomes a probability map, in the orientation of the mask beside."""
    if not name.endswith(NPZ):
        with _copied(held[name], folder) as target:
            return name, _scan(target, folder)
    stem = name.removesuffix(NPZ)
    beside = [held[stem + end] for end in nifti.SUFFIXES if stem + end in held]
    with ExitStack() as copies:
        for each in beside:
            copies.enter_context(_copied(each, folder))
        return f"{stem}{_MAP}", nnunet(copies.enter_context(_copied(held[name], folder)))


@contextmanager
def _copied(member: Member, folder: Path) -> Iterator[Path]:
    """A file of the archive on the disk; it has its own name, for messages, in a folder of its own."""
    name, size, opened = member
    target = folder / name
    target.parent.mkdir(parents=True, exist_ok=True)
    source: IO[bytes]
    try:
        with opened() as source, target.open("wb") as copy:
            shutil.copyfileobj(_Limited(source, size, name), copy)
        yield target
    finally:
        target.unlink(missing_ok=True)


def _scan(target: Path, folder: Path) -> nifti.Scan:
    """A volume of a NIfTI file, by what its name says of it."""
    kind, _ = parts_of(target, folder)
    if kind == MEMBERS:
        return nifti.members(target)
    if kind == MASK:
        return nifti.mask(target)
    if kind == PROBABILITY:
        return nifti.probabilities(target)
    scan = nifti.image(target)
    return scan if kind or probability_like(scan.array) else nifti.mask(target)


class _Limited:
    """Reads no more than a member's header claims."""

    def __init__(self, source: IO[bytes], size: int, name: str) -> None:
        self.source, self.left, self.name = source, size, name

    def read(self, count: int = -1, /) -> bytes:
        data = self.source.read(count)
        self.left -= len(data)
        if self.left < 0:
            raise PredictionsError(f"{self.name}: expected as many bytes as its archive says, found more.")
        return data


def _names(arrays: Arrays) -> list[str]:
    """The names of files, which are no paths elsewhere."""
    names = unpack(arrays, "names")
    if len(names) > MOST_FILES:
        raise PredictionsError(
            f"expected at most {MOST_FILES:,} files, found {len(names):,}. Upload the archive again."
        )
    for name in names:
        if not TAKEN.fullmatch(name) or ".." in name:
            raise PredictionsError(f"{name!r}: expected a path of plain words. Rename the file.")
    return names


def restore(arrays: Arrays, folder: Path) -> Path:
    """The volumes as a folder of NIfTI files."""
    names, affines = _names(arrays), array(arrays, "affines", "f", 3)
    if len(names) != len(affines) or len({*names}) < len(names):
        raise PredictionsError(f"expected {len(affines):,} files with names of their own. Upload the archive again.")
    whole = folder / "predictions"
    for place, name in enumerate(names):
        if not PATH.fullmatch(name):
            raise PredictionsError(f"{name}: expected a NIfTI file, found another. Upload the archive again.")
        held = arrays.get(f"volume_{place}")
        if held is None:
            raise PredictionsError(f"{name}: expected a volume, found none. Upload the archive again.")
        target = whole / name.removesuffix(".gz")
        if target.exists():
            raise PredictionsError(f"{name}: expected it packed or not, found both. Drop one.")
        target.parent.mkdir(parents=True, exist_ok=True)
        nifti.write(target, np.asarray(held), affines[place])
    return whole


# --- what may be known of the records ---------------------------------------------------------------------------------


def records(truth: Path, _task: Task) -> PublicRecords:
    """The patients of the part that is scored; their grids, which those of scans are; what files may be named after."""
    splits = Evaluation.open(truth).splits()
    scored = [splits["eval"]] if "eval" in splits else [*splits.values()]
    grids = {
        name: {"shape": [*map(int, volumes.shape(row))], "affine": np.asarray(volumes.affine(row)).tolist()}
        for volumes in scored
        for row, name in enumerate(volumes.ids)
    }
    named = named_by_table(patient for volumes in scored for patient in volumes.patients)
    return PublicRecords.of(grids, grids=grids, named=named)


def labels(truth: Path, _task: Task) -> dict[Path, Sequence[str]]:
    """The lesion masks of the part that is scored; scans and masks of the brain are for everybody."""
    splits = Evaluation.open(truth).splits()
    scored = [splits["eval"]] if "eval" in splits else [*splits.values()]
    return {patient.files["gt"]: () for volumes in scored for patient in volumes.patients}


def misfits(arrays: Arrays, records: PublicRecords) -> list[str]:
    """Patients without a prediction, files of others or of one part twice, other grids, and negative uncertainties."""
    if "names" + OFFSETS not in arrays:
        return []
    names, grids = _names(arrays), records.facts.get("grids", {})
    held = assigned([Path(name) for name in names], Path(), records.ids, named=records.facts.get("named", {}))
    found = [*held.problems, *records.misfits([*held.patients, *held.strangers])]
    places = {Path(name): place for place, name in enumerate(names)}
    for patient, files in held.patients.items():
        if not (files.answer or files.mask or files.probability or files.together or files.members):
            found.append(f"{patient}: expected a mask, a probability map or members besides. Add one of them.")
        volumes = {path: arrays.get(f"volume_{places[path]}") for path in files.every}
        if (grid := grids.get(patient)) is not None:
            found += _Volumes(files, volumes, tuple(grid["shape"]), np.array(grid["affine"])).problems()
    return found


@dataclass(frozen=True)
class _Volumes:
    """The volumes of a patient's files, as far as they could be read, and the grid that they should have."""

    files: Files
    volumes: Mapping[Path, Any]
    shape: tuple[int, ...]
    affine: Any

    def problems(self) -> list[str]:
        """Volumes of other grids; without these, uncertainties below 0 in lesions."""
        found = [
            f"{path.as_posix()}: expected the grid of its record, {_sides(self.shape)} voxels, found "
            f"{_sides(volume.shape[-3:])}. Resample it."
            for path, volume in self.volumes.items()
            if volume is not None and volume.shape[-3:] != self.shape
        ]
        return found or [*self._negative()]

    def _negative(self) -> Iterator[str]:
        below = {
            path: volume
            for name, path in self.files.maps.items()
            if name != "negated_confidence"
            and (volume := self.volumes[path]) is not None
            and volume.ndim == 3
            and volume.min() < -ROUNDING
        }
        if not below or (mask := self._mask()) is None:  # where there is no lesion they do no harm
            return
        for path, volume in below.items():
            if (lowest := volume[mask].min(initial=0)) < -ROUNDING:
                yield (
                    f"{path.as_posix()}: expected uncertainties >= 0 in lesions, higher is less certain, found "
                    f"{lowest:g}. Add a constant, or name the map negated_confidence if it is one."
                )

    def _mask(self) -> Any:
        """The lesions as scoring sees them; None if the files that tell them could not be read."""
        files = self.files
        answer = None if files.answer is None else self.volumes[files.answer]
        mask = answer if files.mask is None else self.volumes[files.mask]
        if mask is not None and mask.dtype.kind == "b":
            return mask
        spacing = nifti.spacing_of(self.affine)
        probability = answer if files.probability is None else self.volumes[files.probability]
        if probability is not None and probability.ndim == 3:
            return without_small(probability >= THRESHOLD, spacing)
        held = [self.volumes[path] for path in files.members.values()]
        if any(each is None for each in held):
            return None
        members = self.volumes[files.together] if files.together else np.stack(held) if held else None
        if members is None or members.ndim != 4:
            return None
        return Prediction.of_members(members, spacing=spacing).mask


def _sides(shape: Sequence[int]) -> str:
    return " × ".join(map(str, shape))


def example(folder: Path, records: PublicRecords | None = None) -> Path:
    """An archive with a probability map of each patient, the same everywhere in it; by default of a made-up one."""
    blob = np.zeros((8, 8, 8), dtype=np.float32)
    blob[2:6, 2:6, 2:6] = 0.8
    maps = {"site-1": (blob, np.diag([2.0, 2.0, 2.0, 1.0]))}
    with zipfile.ZipFile(folder / "example.zip", "w") as archive:
        for name, (volume, affine) in maps.items() if records is None else _constant(records):
            made = nifti.write(folder / f"{name}_prob.nii.gz", volume, affine)
            archive.writestr(zipfile.ZipInfo(made.name), made.read_bytes())
            made.unlink()
    return folder / "example.zip"


def _constant(records: PublicRecords) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """A probability map of each patient, below the threshold of a lesion and another one for each."""
    for name, value in zip(records.ids, np.linspace(0.05, 0.45, len(records.ids)), strict=True):
        grid = records.facts["grids"][name]
        yield name, (np.full(grid["shape"], value, dtype=np.float32), np.array(grid["affine"]))


INTAKE = Intake(
    parse, restore, (".zip", ".tar", ".tar.gz", ".tgz"),
    "An archive (zip or tar) of NIfTI files named after patients: masks, probability maps, members or uncertainties; "
    "or of results of nnU-Net, `.npz` with the mask beside.",
    example,
    records,
    misfits,
    labels,
)  # fmt: skip
