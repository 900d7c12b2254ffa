"""Other parts than the published ones: to learn from one site alone, or from all but one (Shifts 2.0, Tables 4 and 5).

A site that the published parts keep whole for dev_out is divided like the others, as in those tables. Sites of eval_out
alone are never learnt from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from shiftbench.errors import SettingsError, TableError, UnknownNameError
from shiftbench.tracks.lesions.patient import Patient

INSIDE = ("train", "dev_in", "eval_in")
USUAL = (33, 7, 33)  # patients of the parts in-domain (Shifts 2.0): the shares where data have none
TRAIN_ON, LEAVE_OUT = "train_on", "leave_out"


@dataclass(frozen=True)
class Experiment:
    """Which site is learnt from alone, or left out; both empty for the parts as they are."""

    train_on: str = ""
    leave_out: str = ""

    def __post_init__(self) -> None:
        if self.train_on and self.leave_out:
            raise SettingsError(
                f"expected a site to train on or one to leave out, found both: {self.train_on} and {self.leave_out}. "
                "Drop one."
            )

    @property
    def note(self) -> str:
        """It in words; empty for the parts as they are."""
        if self.train_on:
            return f"train, dev_in and eval_in are of {self.train_on} alone; all other sites are shifted"
        return f"{self.leave_out} is left out of train, and is dev_out" if self.leave_out else ""

    def parts(self, patients: Sequence[Patient]) -> tuple[Patient, ...]:
        """The patients in the parts of the experiment.

        Of a site to train on, other sites' patients of train and dev_in become dev_out, and those of eval_in eval_out.

        Raises:
            UnknownNameError: for a site that there is not.
            TableError: if it has too few patients, or is of eval_out alone.
        """
        named = self.train_on or self.leave_out
        if not named:
            return tuple(patients)
        sites: dict[str, list[Patient]] = {}
        for patient in patients:
            sites.setdefault(patient.site, []).append(patient)
        if named not in sites:
            raise UnknownNameError("site", named, sorted(sites))
        shares, parts = _shares(patients), dict[str, str]()
        for site, own in sites.items():
            parts |= {each.id: part for each, part in zip(own, self._of_site(site, own, shares), strict=True)}
        found = tuple(replace(each, part=parts[each.id]) for each in patients)
        _require(found, named)
        return found

    def _of_site(self, site: str, own: Sequence[Patient], shares: tuple[float, float]) -> Iterator[str]:
        if all(each.part == "eval_out" for each in own):
            return iter(["eval_out"] * len(own))
        if site == self.leave_out:
            return iter(["dev_out"] * len(own))
        inside = _inside(own, shares, complete=site == self.train_on)
        if not self.train_on or site == self.train_on:
            return iter(inside)
        return iter("eval_out" if part == "eval_in" else "dev_out" for part in inside)


def _inside(own: Sequence[Patient], shares: tuple[float, float], *, complete: bool) -> list[str]:
    """The parts of a site's patients as they are, if they are in-domain; else by a hash of their ids.

    complete: whether the site needs all of these parts.
    """
    parts = [each.part if each.part in INSIDE else "" for each in own]
    known = {*parts} - {""}
    if known == {*INSIDE} or (known and not complete):
        return [part or "eval_in" for part in parts]
    order = sorted(range(len(own)), key=lambda row: hashlib.sha256(own[row].id.encode()).hexdigest())
    train = max(1, round(shares[0] * len(own)))
    dev = train + max(1, round(shares[1] * len(own)))
    found = ["eval_in"] * len(own)
    if len(own) > 2:
        for place, row in enumerate(order[: min(dev, len(own) - 1)]):
            found[row] = "train" if place < train else "dev_in"
    return found


def _shares(patients: Sequence[Patient]) -> tuple[float, float]:
    """The shares of train and dev_in of the patients in-domain."""
    counts = [sum(each.part == name for each in patients) for name in INSIDE]
    counts = counts if all(counts) else [*USUAL]
    return counts[0] / sum(counts), counts[1] / sum(counts)


def _require(patients: Sequence[Patient], named: str) -> None:
    lacking = [name for name in INSIDE if not any(each.part == name for each in patients)]
    if lacking:
        raise TableError(
            f"{named}: expected patients of train, dev_in and eval_in to learn from, found none of "
            f"{' and '.join(lacking)}. Sites of eval_out are not learnt from; others need three patients. Choose "
            "another site."
        )
