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
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np

from shiftbench.errors import PredictionsError, ShiftbenchError, first_line
from shiftbench.track import Arrays, Intake
from shiftbench.track.parsed import array, pack, unpack
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.prediction import MASK, MEMBERS, PROBABILITY
from shiftbench.tracks.lesions.submissions import NPZ, nnunet, parts_of

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
        ShiftbenchError: naming every member that is no NIfTI file of its own, and every file that cannot be read.
    """
    names, affines, volumes, problems = list[str](), list[Any](), dict[str, Any](), list[str]()
    try:
        with _members(file) as members, tempfile.TemporaryDirectory() as folder:
            kept = [each for each in members if not _ignored(each[0])]
            _require_plain(kept, file)
            held = {each[0]: each for each in kept}
            for name in _taken([*held], Path(folder)):
                try:
                    name, scan = _read(name, held, Path(folder))
                except ShiftbenchError as error:
                    problems += [problem.replace(f"{folder}/", "") for problem in error.problems]
                    continue
                volumes[f"volume_{len(names)}"] = scan.array
                names.append(name)
                affines.append(scan.affine)
    except BROKEN as error:
        if isinstance(error, ShiftbenchError):
            raise
        raise PredictionsError(f"{file.name}: expected a whole archive, found: {first_line(error)}.") from None
    if problems:
        raise PredictionsError(*problems)
    return {**pack("names", names), "affines": np.array(affines, dtype=np.float64), **volumes}


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


def _require_plain(members: list[Member], file: Path) -> None:
    problems, seen = list[str](), set[str]()
    for name, size, _ in members:
        if not TAKEN.fullmatch(name) or ".." in name:
            problems.append(
                f"{name!r}: expected a NIfTI file (.nii, .nii.gz), or a result of nnU-Net (.npz), in a path of plain "
                "words. Rename it."
            )
        elif size < 0:
            problems.append(f"{name}: expected a file, found a link or the like. Put the file itself there.")
        elif name in seen:
            problems.append(f"{name}: expected each file once, found it twice. Drop one.")
        seen.add(name)
    if not members:
        problems.append(f"{file.name}: expected NIfTI files, found none.")
    if (total := sum(size for _, size, _ in members)) > MOST_BYTES:
        problems.append(f"{file.name}: expected at most {MOST_BYTES:,} bytes of files, found {total:,}.")
    if problems:
        raise PredictionsError(*problems)


def _taken(names: list[str], folder: Path) -> list[str]:
    """The files to read: of a fold of nnU-Net its probabilities, without the mask that says the same.

    Raises:
        PredictionsError: if the probability map that a result of nnU-Net becomes is there, too.
    """
    results = {name.removesuffix(NPZ) for name in names if name.endswith(NPZ)}
    if twice := sorted(results & {name.removesuffix(_MAP) for name in names if name.endswith(_MAP)}):
        raise PredictionsError(
            *(f"{each}: expected {each}{NPZ} or {each}{_MAP}, found both. Drop one." for each in twice)
        )
    folds = {stem for stem in results if parts_of(folder / f"{stem}{NPZ}", folder)[1] is not None}
    return [name for name in names if name.endswith(NPZ) or re.sub(f"{_END}$", "", name) not in folds]


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
    binary = not kind and bool(np.isin(scan.array, (0, 1)).all())
    return nifti.Scan(scan.array.astype(np.bool_), scan.affine) if binary else scan


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


def restore(arrays: Arrays, folder: Path) -> Path:
    """The volumes as a folder of NIfTI files."""
    names, affines = unpack(arrays, "names"), array(arrays, "affines", "f", 3)
    if len(names) != len(affines) or len({*names}) < len(names) or len(names) > MOST_FILES:
        raise PredictionsError(f"expected {len(affines):,} files with names of their own. Upload the archive again.")
    whole = folder / "predictions"
    for place, name in enumerate(names):
        if not PATH.fullmatch(name) or ".." in name:
            raise PredictionsError(f"{name!r}: expected a path of plain words. Rename the file.")
        held = arrays.get(f"volume_{place}")
        if held is None:
            raise PredictionsError(f"{name}: expected a volume, found none. Upload the archive again.")
        target = whole / name.removesuffix(".gz")
        if target.exists():
            raise PredictionsError(f"{name}: expected it packed or not, found both. Drop one.")
        target.parent.mkdir(parents=True, exist_ok=True)
        nifti.write(target, np.asarray(held), affines[place])
    return whole


def example(folder: Path) -> Path:
    """An archive with a probability map of one made-up patient."""
    blob = np.zeros((8, 8, 8), dtype=np.float32)
    blob[2:6, 2:6, 2:6] = 0.8
    made = nifti.write(folder / "site-1_prob.nii.gz", blob, np.diag([2.0, 2.0, 2.0, 1.0]))
    with zipfile.ZipFile(folder / "example.zip", "w") as archive:
        archive.write(made, made.name)
    made.unlink()
    return folder / "example.zip"


INTAKE = Intake(
    parse, restore, (".zip", ".tar", ".tar.gz", ".tgz"),
    "An archive (zip or tar) of NIfTI files named after patients: masks, probability maps, members or uncertainties; "
    "or of results of nnU-Net, `.npz` with the mask beside.",
    example,
)  # fmt: skip
