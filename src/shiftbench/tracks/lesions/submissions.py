"""Predictions that somebody else made, as files: masks, probability maps, members, folders of nnU-Net.

A folder holds the files of all patients, however deep; a file belongs to the patient whose id its name starts with, or
whose number it starts with where the folders above name the site, or no other site has that number.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from shiftbench.components import SMALL_MM3, without_small
from shiftbench.errors import PredictionsError, ShiftbenchError, first_line
from shiftbench.io.tables import problem
from shiftbench.metrics.segmentation.structure import ROUNDING
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.lesions.patient import PREDICTION, Patient
from shiftbench.tracks.lesions.prediction import (
    MASK,
    MEASURES,
    MEMBERS,
    PROBABILITY,
    THRESHOLD,
    Prediction,
)

NPZ = ".npz"
KEYS = ("probabilities", "softmax")  # of nnU-Net, versions 2 and 1
MOST_APART_MM = 1.0  # that the corner of a prediction may be off that of its truth
MOST_NAMED = 5
ENDS = {  # of names, the part of a prediction that they hold
    "seg": MASK, "mask": MASK, "pred": "", "prediction": "", "prob": PROBABILITY, "probs": PROBABILITY,
    "probability": PROBABILITY, "probabilities": PROBABILITY, "softmax": PROBABILITY, "members": MEMBERS,
    **{name: name for name in MEASURES},
}  # fmt: skip
NNUNET = (
    "nnU-Net: the mean of the softmax of its folds is scored; its own ensemble averages logits, or the softmax before "
    "resampling, depending on the version, so that the numbers may differ from its own"
)
_MEMBER = re.compile(r"^(?:member|fold|m|seed)[_-]?(\d+)$", re.IGNORECASE)
_NOISE = (
    "isovox",
    "flair",
    "gt",
    "t1",
    "lesions",
    "lesion",
    "0000",
)  # of the names of scans, which predictions are named after


@dataclass
class Files:
    """The files of one patient's prediction; `answer` is a mask or a probability map, as its values tell."""

    answer: Path | None = None
    mask: Path | None = None
    probability: Path | None = None
    together: Path | None = None
    members: dict[int, Path] = field(default_factory=dict)
    maps: dict[str, Path] = field(default_factory=dict)

    @property
    def every(self) -> list[Path]:
        """All files."""
        named = (self.answer, self.mask, self.probability, self.together)
        return [*filter(None, named), *self.members.values(), *self.maps.values()]


@dataclass(frozen=True)
class Submission:
    """A system's files by patient, and remarks on them."""

    name: str
    patients: Mapping[str, Files]
    notes: tuple[str, ...] = ()

    def read(self, patient: str, shape: Sequence[int], affine: Any) -> tuple[Prediction, list[str]]:
        """The prediction for one patient in the grid of the truth, and remarks.

        Raises:
            ShiftbenchError: naming each file that is damaged or of another grid.
        """
        return _Reading(self.patients[patient], tuple(shape), affine).prediction()


def submission(
    name: str, path: Path, ids: Sequence[str], *, named: Mapping[str, str] = MappingProxyType({})
) -> Submission:
    """The files of a system in a folder, or one file of one patient.

    Args:
        name: of the system.
        path: a folder of files, or a file.
        ids: the patients of the truth.
        named: what names of files begin with in place of an id, in small letters → the id (see `named_by_table`).

    Raises:
        PredictionsError: if there are no such files, or two are the same part of one patient's prediction.
    """
    files = [path] if path.is_file() else sorted(_files(path))
    if not files:
        there = "no file of this kind" if path.is_dir() else "nothing there"
        raise PredictionsError(
            f"{path}: expected a NIfTI file (.nii, .nii.gz), a folder of them, or results of nnU-Net (.npz), found "
            f"{there}."
        )
    held = assigned(files, path, ids, named=named)
    found, strangers, problems = held.patients, held.strangers, held.problems
    if not found and not problems:
        problems.append(
            f"{path}: expected files named after patients ({listed(ids)}), found {listed(strangers)}. Rename them, "
            "such as <patient>_prob.nii.gz, or name the file of each patient in a column 'prediction' of the table of "
            "patients."
        )
    if problems:
        raise PredictionsError(*problems)
    notes = [f"{name}: not scored, as they belong to no patient of the truth: {listed(strangers)}"] if strangers else []
    if any(file.suffix == NPZ for each in found.values() for file in each.every):
        notes.append(NNUNET)
    return Submission(name, found, tuple(notes))


@dataclass(frozen=True)
class Assigned:
    """Files by the patient in their names, the names of files without a patient, and files that are there twice."""

    patients: dict[str, Files] = field(default_factory=dict)
    strangers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def assigned(files: Sequence[Path], root: Path, ids: Sequence[str], *, named: Mapping[str, str]) -> Assigned:
    """Files of a folder by patient; only names are looked at. Arguments as those of `submission`."""
    held = Assigned()
    for file in files:
        key, kind, member = _named(file, root)
        whose = named.get(key.lower()) or _patient(key, file, root, ids)
        if whose is None and len(ids) == len(files) == 1:
            whose = ids[0]
        if whose is None:
            held.strangers.append(file.name)
        elif taken := _put(held.patients.setdefault(whose, Files()), kind, member, file):
            held.problems.append(f"{file}: expected one such file of {whose}, found {taken} besides. Remove one.")
    return held


def patient_of(path: Path) -> str:
    """The patient that a file is named after: `7` of `7_flair.nii.gz`, `7_gt_isovox.nii.gz` and `7_lesions.nii`."""
    return _named(path, path)[0]


def parts_of(file: Path, root: Path) -> tuple[str, int | None]:
    """The part of a prediction that a file of a folder holds by its name, "" if that is open, and its member."""
    return _named(file, root)[1:]


def named_by_table(patients: Iterable[Patient]) -> dict[str, str]:
    """What the names of predictions begin with, in small letters → the id, of patients whose table has that column.

    Raises:
        PredictionsError: if two patients have the same name there.
    """
    found: dict[str, str] = {}
    for patient in patients:
        if prediction := patient.columns.get(PREDICTION):
            key = patient_of(Path(str(prediction))).lower()
            if found.setdefault(key, patient.id) != patient.id:
                raise PredictionsError(
                    f"{PREDICTION}: expected a name of its own for each patient, found {str(prediction)!r} of "
                    f"{patient.id!r} and of {found[key]!r}. Correct the table."
                )
    return found


def listed(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")


# --- names -----------------------------------------------------------------------------------------------------------


def _files(folder: Path) -> Iterator[Path]:
    """The files of a folder; of those with the same name as a .npz the mask is kept, too."""
    for file in folder.rglob("*"):
        if file.name.endswith((*nifti.SUFFIXES, NPZ)) and not file.name.startswith(".") and file.is_file():
            yield file


def _named(file: Path, root: Path) -> tuple[str, str, int | None]:
    """The patient's part of a file's name, the part of the prediction that it holds, and its member."""
    stem = re.sub(r"(\.nii(\.gz)?|\.npz)$", "", file.name)
    kind, member = "", None
    words = stem.split("_")
    while len(words) > 1:
        # Measures have names of several words.
        end = next((n for n in (3, 2, 1) if n < len(words) and "_".join(words[-n:]).lower() in ENDS), 0)
        match = _MEMBER.match(words[-1]) or _MEMBER.match("_".join(words[-2:]) if len(words) > 2 else "")
        if end:
            kind, words = ENDS["_".join(words[-end:]).lower()] or kind, words[:-end]
        elif match:
            member, words = int(match[1]), words[: -1 if _MEMBER.match(words[-1]) else -2]
        elif words[-1].lower() in _NOISE:
            words = words[:-1]
        else:
            break
    above = file.relative_to(root).parts[:-1] if file != root else ()
    for folder in above:
        if match := _MEMBER.match(folder):
            member = int(match[1])
    return "_".join(words), kind, member


def _patient(key: str, file: Path, root: Path, ids: Sequence[str]) -> str | None:
    """The id that a name stands for; None if it stands for none, or for several."""
    if key in ids:  # ids may differ by case alone
        return key
    plain = key.lower()
    known = {each.lower(): each for each in ids}
    if plain in known:
        return known[plain]
    above = [root.name, *file.relative_to(root).parts[:-1]] if file != root else [root.parent.name]
    for folder in reversed(above):
        if found := known.get(f"{folder.lower()}-{plain}"):
            return found
    for site, part in combinations(above, 2):
        if found := known.get(f"{site}-{part}-{plain}".lower()):
            return found
    bare = [each for each in ids if each.rpartition("-")[2].lower() == plain]
    return bare[0] if len(bare) == 1 else None


def _put(files: Files, kind: str, member: int | None, file: Path) -> str:
    """Note a file of a prediction; the name of the one that holds the same, if there is one."""
    if member is not None and kind in ("", PROBABILITY, MASK):
        other = files.members.get(member)
        if other is None or other.suffix != NPZ:  # beside nnU-Net's softmax lies a mask of it
            if other is None or file.suffix == NPZ:
                files.members[member] = file
                return ""
        elif file.suffix != NPZ:
            return ""
        return other.name
    place = {"": "answer", MASK: "mask", PROBABILITY: "probability", MEMBERS: "together"}.get(kind)
    if file.suffix == NPZ:
        place = "probability"
    if place is None:
        if kind in files.maps:
            return files.maps[kind].name
        files.maps[kind] = file
        return ""
    if (held := getattr(files, place)) is not None:
        return str(held.name)
    setattr(files, place, file)
    return ""


# --- one patient -----------------------------------------------------------------------------------------------------


class _Reading:
    """Reads the files of one patient into the grid of its truth."""

    def __init__(self, files: Files, shape: tuple[int, ...], affine: Any) -> None:
        self.files, self.shape, self.affine = files, shape, affine
        self.problems: list[str] = []
        self.notes: dict[str, None] = {}

    def prediction(self) -> tuple[Prediction, list[str]]:
        mask, probability, members = self._mask(), self._probability(), self._members()
        given = mask is not None
        maps = {name: self._volume(nifti.image(file), file) for name, file in self.files.maps.items()}
        if self.problems:
            raise PredictionsError(*self.problems)
        spacing = nifti.spacing_of(self.affine)
        if mask is None and members is not None and probability is not None:
            mask = without_small(probability >= THRESHOLD, spacing)
        if members is not None:
            found = Prediction.of_members(members, mask=mask, spacing=spacing)
            if probability is not None:  # that of masks of members would be a share of votes
                found = replace(found, probability=probability)
        elif probability is not None:
            found = Prediction.of_probability(probability, mask=mask, spacing=spacing)
        elif mask is not None:
            found = Prediction(mask)
        else:
            raise PredictionsError(
                f"{self.files.every[0]}: expected a mask, a probability map or members besides. Add one of them."
            )
        if given and (members is not None or probability is not None):
            beside = "members" if members is not None else "the probabilities"
            self.notes[f"both were used: your masks for the answers, {beside} beside them for the uncertainty"] = None
        if self.files.mask is None and (self.files.answer is None or _is_probability(self.files.answer)):
            large = f"in components larger than {SMALL_MM3:g} mm³"
            self.notes[f"masks made of probabilities: at least {THRESHOLD:g}, {large}"] = None
        self.problems += [
            f"{self.files.maps[name]}: expected uncertainties >= 0 in lesions, higher is less certain, found "
            f"{array[found.mask].min():g}. Add a constant, or name the map negated_confidence if it is one."
            for name, array in maps.items()
            if array is not None and name != "negated_confidence" and array[found.mask].min(initial=0) < -ROUNDING
        ]
        if self.problems:
            raise PredictionsError(*self.problems)
        held = {**found.maps, **{name: array for name, array in maps.items() if array is not None}}
        return Prediction(found.mask, found.probability, held, found.members, found.each), [*self.notes]

    def _mask(self) -> Any:
        if self.files.mask is not None:
            return self._volume(nifti.mask(self.files.mask), self.files.mask)
        answer = self.files.answer
        if answer is None or _is_probability(answer):
            return None
        return self._volume(nifti.mask(answer), answer)

    def _probability(self) -> Any:
        file, answer = self.files.probability, self.files.answer
        if file is not None and file.suffix != NPZ:  # called so by its name: other values are wrong
            return self._volume(nifti.probabilities(file), file)
        if file is None and answer is not None and _is_probability(answer):
            file = answer
        return None if file is None else self._one(file)

    def _members(self) -> Any:
        if self.files.together is not None:
            return self._volume(nifti.members(self.files.together), self.files.together)
        held = [self.files.members[member] for member in sorted(self.files.members)]
        masks = [file for file in held if file.suffix != NPZ]
        if 0 < len(masks) < len(held):
            self.problems += [
                f"{file}: expected the softmax of nnU-Net beside this mask, as in its other folds, found none. Export "
                "it, or leave this fold out of all patients."
                for file in masks
            ]
        each = [self._one(file) for file in held]
        return np.stack(each) if each and not any(one is None for one in each) else None

    def _one(self, file: Path) -> Any:
        """The probability of a file, NIfTI or nnU-Net's."""
        if file.suffix == NPZ:
            return self._volume(nnunet(file), file)
        return self._volume(nifti.probabilities(file) if _is_probability(file) else nifti.mask(file), file)

    def _volume(self, scan: nifti.Scan, file: Path) -> Any:
        """The array, or None with a problem if its grid is another one."""
        if scan.array.shape[-3:] != self.shape:
            found, wanted = (" × ".join(map(str, shape)) for shape in (scan.array.shape[-3:], self.shape))
            self.problems.append(
                f"{file}: expected the grid of its truth, {wanted} voxels, found {found}. Is it the right patient? "
                "Resample it to the truth."
            )
            return None
        apart = nifti.displacement(scan.affine, np.asarray(self.affine), self.shape)
        if apart > MOST_APART_MM:
            self.notes[f"{file.name}: lies up to {apart:.1f} mm off its truth by its header; voxels are matched"] = None
        return scan.array


def _is_probability(file: Path) -> bool:
    """Whether a file has values between 0 and 1."""
    return file.suffix == NPZ or probability_like(nifti.image(file).array)


def probability_like(values: nifti.Array) -> bool:
    """Whether values are from 0 to 1, and not these alone."""
    low, high = float(values.min()), float(values.max())
    between = values[(values > nifti.ROUNDING) & (values < 1 - nifti.ROUNDING)]
    return bool(low >= 0 - nifti.ROUNDING and high <= 1 + nifti.ROUNDING and between.size)


def nnunet(file: Path) -> nifti.Scan:
    """The probability of lesions in a result of nnU-Net, [C, Z, Y, X] in the order of the scan it was made for.

    The orientation is that of the mask beside it (`<case>.nii.gz`), which nnU-Net writes, too.

    Raises:
        PredictionsError: if it is another file, has other classes than background and lesion, or lacks its mask.
    """
    beside = [file.with_name(file.name.removesuffix(NPZ) + end) for end in nifti.SUFFIXES]
    mask = next((each for each in beside if each.is_file()), None)
    if mask is None:
        raise PredictionsError(
            f"{file}: expected nnU-Net's mask {beside[1].name} beside it, found none. Keep it there."
        )
    try:
        return nifti.oriented_as(mask, _softmax(file)[1].transpose(2, 1, 0))
    except PredictionsError:
        raise
    except ShiftbenchError as error:
        raise PredictionsError(*(f"{file}: {problem}" for problem in error.problems)) from None


def _softmax(file: Path) -> Any:
    """The array [2, Z, Y, X] of an archive, whose header is checked before anything is allocated."""
    try:
        with zipfile.ZipFile(file) as archive:
            names = [name for name in KEYS if f"{name}.npy" in archive.namelist()]
            if not names:
                raise ValueError(f"arrays {', '.join(archive.namelist()[:MOST_NAMED]) or 'of no name'}")
            info = archive.getinfo(f"{names[0]}.npy")
            with archive.open(info) as member:
                if (version := np.lib.format.read_magic(member)) != (1, 0):
                    raise ValueError(f"NumPy's format {version[0]}.{version[1]}, not 1.0")
                shape, _, dtype = np.lib.format.read_array_header_1_0(member)
                if 0 in shape or len(shape) != 4 or shape[0] != 2 or dtype.kind != "f":
                    raise ValueError(f"shape {shape} of {dtype}, not [2, Z, Y, X] of background and lesion")
                size = math.prod(shape)
                if size > 2 * nifti.MOST_VOXELS or size * dtype.itemsize > info.file_size:
                    raise ValueError(f"the shape {shape}, for which it is too small or which is too large")
            with archive.open(info) as member:
                array = np.lib.format.read_array(member, allow_pickle=False)
    except problem.UNREADABLE as error:
        raise PredictionsError(f"{file}: expected probabilities of nnU-Net, found: {first_line(error)}.") from None
    if not np.isfinite(array).all() or array.min() < -nifti.ROUNDING or array.max() > 1 + nifti.ROUNDING:
        raise PredictionsError(f"{file}: expected probabilities from 0 to 1, found others. Are these logits?")
    return np.clip(array, 0, 1)


def missing(submissions: Iterable[Submission], ids: Sequence[str]) -> list[str]:
    """A problem for each submission that lacks patients."""
    problems = []
    for each in submissions:
        lacks = [one for one in ids if one not in each.patients]
        if lacks:
            problems.append(
                f"{each.name}: expected a prediction for each of {len(ids):,} patients, found none for "
                f"{listed(lacks)}. Add them."
            )
    return problems
