"""What a system predicts for one patient: a mask, and a probability, maps of uncertainty and members if it has any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags
from shiftbench.components import without_small
from shiftbench.methods.volumes.sums import VolumeSums
from shiftbench.tracks.lesions import nifti

Volume = npt.NDArray[np.float32]

THRESHOLD = 0.5  # of probabilities whose mask nobody gave
UNIT = (1.0, 1.0, 1.0)  # mm
MEASURES = (
    "entropy_of_expected", "expected_entropy", "mutual_information", "epkl", "reverse_mutual_information",
    "negated_confidence",
)  # fmt: skip
ALONE = ("entropy_of_expected",)
PROBABILITY, MASK, MEMBERS = "prob", "seg", "members"  # ends of file names


@dataclass(frozen=True, eq=False)
class Prediction:
    """The answer for one patient, in the grid of its truth.

    mask: bool [X, Y, Z]. probability: [X, Y, Z] in 0 … 1, or None. maps: voxel measure → [X, Y, Z], higher is less
    certain. members: bool [M, X, Y, Z], the mask of each member, or None. each: [M, X, Y, Z], their probabilities,
    or None.
    """

    mask: Flags
    probability: Volume | None = None
    maps: Mapping[str, Volume] = field(default_factory=dict)
    members: Flags | None = None
    each: Volume | None = None

    @classmethod
    def of_probability(
        cls, probability: Any, *, threshold: float = THRESHOLD, mask: Flags | None = None, spacing: Any = UNIT
    ) -> Prediction:
        """A probability map, its entropy, and its mask: where it is at least `threshold`, without small components.

        spacing: the edges of a voxel in mm.
        """
        held = np.asarray(probability, dtype=np.float32)
        sums = VolumeSums(held.shape)
        sums.add(held, threshold=threshold)
        return cls.of_sums(sums, threshold=threshold, mask=mask, spacing=spacing)

    @classmethod
    def of_sums(
        cls, sums: VolumeSums, *, threshold: float, mask: Flags | None = None, spacing: Any = UNIT
    ) -> Prediction:
        """A prediction from the running sums of members; small components are removed from their masks, too."""
        mean = sums.probability
        members = np.stack([without_small(one, spacing) for one in sums.masks]) if sums.members > 1 else None
        mask = without_small(mean >= threshold, spacing) if mask is None else mask
        return cls(mask, mean, _maps(sums), members)

    @classmethod
    def of_members(
        cls, members: Any, *, threshold: float = THRESHOLD, mask: Flags | None = None, spacing: Any = UNIT
    ) -> Prediction:
        """The members' probabilities, or their masks as 0 and 1 [M, X, Y, Z]: their mean, and the measures."""
        each = np.asarray(members, dtype=np.float32)
        sums = VolumeSums(each.shape[1:])
        for member in each:
            sums.add(member, threshold=threshold)
        found = cls.of_sums(sums, threshold=threshold, mask=mask, spacing=spacing)
        if ((each == 0) | (each == 1)).all():
            return replace(found, members=each > 0)
        return replace(found, each=each)

    def single(self, member: int) -> Prediction:
        """One member alone."""
        assert self.members is not None
        if self.each is None:
            return Prediction(self.members[member])
        return Prediction.of_probability(self.each[member], mask=self.members[member])

    def write(self, folder: Path, patient: str, affine: Any) -> None:
        """Write it as NIfTI: `<patient>_seg`, `_prob`, `_<measure>` and `_members` (probabilities, or masks)."""
        arrays: dict[str, Any] = {MASK: self.mask, PROBABILITY: self.probability, **self.maps}
        arrays[MEMBERS] = self.members if self.each is None else self.each
        folder.mkdir(parents=True, exist_ok=True)
        for name, array in arrays.items():
            if array is not None:
                nifti.write(folder / f"{patient}_{name}.nii.gz", array, affine)


def _maps(sums: VolumeSums) -> dict[str, Volume]:
    """The voxel measures of members; of one alone its entropy, since all others are 0 or order voxels alike."""
    return {name: sums.measure(name) for name in (MEASURES if sums.members > 1 else ALONE)}
