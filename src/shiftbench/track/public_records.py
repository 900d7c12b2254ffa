"""What everybody may know of the records of a phase: with it a file is checked before it meets any label."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shiftbench.errors import TableError, counted, first_line
from shiftbench.io import files

FILE = "records.json"
MOST_NAMED, LONGEST = 3, 80  # names; letters of one
OTHERS = "other_phases"  # fact: name of another phase of the board → digest of its ids


@dataclass(frozen=True)
class PublicRecords:
    """The ids of the records that are scored, sorted, so that their order tells nothing.

    facts: what else may be known of them, for JSON, such as the grids of scans; nothing that tells labels.
    """

    ids: Sequence[str]
    facts: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, ids: Iterable[str], **facts: Any) -> PublicRecords:
        """The records of these ids, in any order."""
        return cls(sorted(ids), facts)

    def write(self, path: Path) -> Path:
        """Write them as JSON, facts in the order of their names: that of labels may tell what is shifted."""
        path.parent.mkdir(parents=True, exist_ok=True)
        return files.write_text(path, json.dumps({**self.facts, "ids": [*self.ids]}, sort_keys=True) + "\n")

    @classmethod
    def read(cls, path: Path) -> PublicRecords:
        """Read what `write` wrote.

        Raises:
            TableError: for anything else.
        """
        return cls.parse(files.read_text(path), path.name)

    @classmethod
    def parse(cls, text: str | bytes, where: str) -> PublicRecords:
        """What `write` writes; raises as `read` does."""
        try:
            facts = json.loads(text)
            ids = facts.pop("ids")
            if not (isinstance(ids, list) and all(type(each) is str for each in ids)):
                raise ValueError("other ids than texts")
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise TableError(
                f"{where}: expected the ids of records, which sealing a challenge writes, found: {first_line(error)}. "
                "Rename another file."
            ) from None
        return cls(ids, facts)

    def misfits(self, given: Sequence[str]) -> list[str]:
        """Records without a prediction, and predictions without a record.

        given: the ids of predictions, those that are known twice or more included.
        """
        held = {*given}
        if len(held) == len(self.ids) and held.issuperset(self.ids):  # of a million records in a third of a second
            return []
        if phase := self._phase_of(held):
            records = counted(len(self.ids), "record")
            return [
                f"expected a prediction of each of the {records} of this phase, found the ids of the phase {phase}: "
                f"these are all of its ids. Hand the file in there (`--phase {phase}`), or predict the inputs of this "
                "phase."
            ]
        known = {*self.ids}
        missing = [each for each in self.ids if each not in held]
        foreign = [each for each in dict.fromkeys(given) if each not in known]
        found = []
        if missing:
            absent = f"{len(missing):,} of {counted(len(self.ids), 'record')} ({shown(missing)})"
            found.append(f"expected a prediction of each record, found none for {absent}. Compare with the inputs.")
        if foreign:
            some = shown(foreign, codes=all(map(str.isascii, self.ids)))
            others = f"{counted(len(foreign), 'other')} among {counted(len(held), 'id')} ({some})"
            found.append(f"expected these records alone, found {others}. Compare with the inputs.")
        return found

    def _phase_of(self, held: set[str]) -> str:
        """The other phase of which these are all ids; empty if there is none."""
        others = self.facts.get(OTHERS)
        if not others or not isinstance(others, Mapping):
            return ""
        found = digest(sorted(held))
        return next((str(phase) for phase, own in others.items() if own == found), "")


def digest(ids: Sequence[str]) -> str:
    """A hash of sorted ids."""
    return hashlib.sha256(json.dumps([*ids]).encode()).hexdigest()


def shown(names: Sequence[str], *, codes: bool = False) -> str:
    """The first names; "such as" them if there are more. codes: whether letters beyond ASCII are told by codes."""
    return f"{'such as ' * (len(names) > MOST_NAMED)}{', '.join(_seen(each, codes) for each in names[:MOST_NAMED])}"


def _seen(name: str, codes: bool) -> str:
    """A name as it is; in quotes, with codes, if it has what nobody sees or takes for something else."""
    if len(name) <= LONGEST and name.isprintable() and name == name.strip() and name and (name.isascii() or not codes):
        return name
    return f"{name[:LONGEST]!a}" + "…" * (len(name) > LONGEST)
