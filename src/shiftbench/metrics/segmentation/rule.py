"""What counts as a lesion, as one that was found, and as one that was missed: a rule that every count names.

Source: the published code of Shifts 2.0 (Malinin et al. 2022) and of its follow-up (Molchanova et al. 2023).
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from shiftbench import argument, components
from shiftbench.errors import UnknownNameError

MATCHES = ("published", "one_to_one", "many_to_many")
MISSES = ("below_iou", "no_overlap")
CONNECTIVITIES = (6, 18, 26)


@dataclass(frozen=True)
class LesionRule:
    """What counts as a lesion, as one that was found, and as one that was missed.

    iou: the least intersection over union of lesions that match; the published default is 0.25, the papers print 0.5.
    connectivity: which voxels are neighbours: 6 (faces; published), 18 (edges, too; follow-up work) or 26 (corners).
    match: "published": a predicted lesion is right if its largest IoU with a true one suffices, however many are right
        by the same true lesion. "one_to_one": as many pairs as possible that share no lesion, of these the largest sum
        of IoUs (counts never depend on what remains tied). "many_to_many": lesions that touch, directly or through
        others, are one group, right or wrong as a whole by the IoU of its two unions, so that a lesion split in two or
        two merged into one may be right.
    missed: a true lesion is missed if it does not match ("below_iou"; published), or only if no predicted one touches
        it ("no_overlap"; follow-up work), whether or not that is right.

    Raises:
        UnknownNameError: another `match` or `missed`.
        SettingsError: an IoU that is not above 0 and at most 1, or another connectivity.
    """

    iou: float = 0.25
    connectivity: int = 6
    match: str = "published"
    missed: str = "below_iou"

    def __post_init__(self) -> None:
        for kind, known in (("match", MATCHES), ("missed", MISSES)):
            argument.choice(f"rule of {kind}", getattr(self, kind), known)
        argument.number("iou", self.iou, lambda found: 0 < found <= 1, "a number above 0 and at most 1")
        components.rank(3, self.connectivity)

    def __str__(self) -> str:
        missed = "no overlap" if self.missed == "no_overlap" else f"IoU < {self.iou:g}"
        return f"connectivity {self.connectivity}, IoU {self.iou:g}, {self.match.replace('_', ' ')}, missed: {missed}"


def rule_of(**rule: Any) -> LesionRule:
    """A rule from its fields; UnknownNameError for others."""
    for name in rule:
        if name not in (known := [field.name for field in fields(LesionRule)]):
            raise UnknownNameError("setting of lesions", name, known)
    return LesionRule(**rule)
