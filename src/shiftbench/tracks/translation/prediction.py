"""Translations of a fitted model for the sentences of a split: decoded block by block, and kept as stored outputs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from shiftbench import __version__
from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Hypotheses
from shiftbench.ensembles.ensemble import Index
from shiftbench.errors import ShiftbenchError
from shiftbench.io import files
from shiftbench.tracks.translation import outputs
from shiftbench.tracks.translation.outputs import Outputs

ENDING = ".jsonl.gz"
DIGITS = 6  # of log-probabilities that are kept


class Block(Protocol):
    """Predictions of a model for consecutive sentences; see `methods.sequences.answers.Decoded`."""

    texts: list[str]
    pieces: list[str]
    hypotheses: Hypotheses
    scores: Vector
    measures: Mapping[str, Vector]
    unknown: Index
    truncated: Flags
    sampled: bool


@dataclass(frozen=True)
class Place:
    """The file of a system's outputs for a split, and what it depends on."""

    path: Path
    key: str

    @classmethod
    def of(cls, folder: Path, name: str, **depends: Any) -> Place:
        """In a folder, for a system; depends: JSON values."""
        known = json.dumps({**depends, "version": __version__}, sort_keys=True)
        return cls(folder / f"{files.name_of(name)}{ENDING}", hashlib.sha256(known.encode()).hexdigest())

    @property
    def _note(self) -> Path:
        return self.path.with_name(self.path.name.removesuffix(ENDING) + ".json")

    def held(self, ids: Sequence[str]) -> Outputs | None:
        """The outputs for these sentences that were written before, if they were made in the same way."""
        try:
            note = json.loads(files.read_text(self._note))
            if note["key"] != self.key or note["sha256"] != files.sha256(self.path):
                return None
            found = outputs.read(self.path)
        except (OSError, ValueError, KeyError, TypeError, RecursionError, ShiftbenchError):
            return None
        return found if found.ids == list(ids) else None

    def write(self, found: Outputs) -> None:
        """Write outputs, then the note that they are whole."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        outputs.write(self.path, found)
        files.write_json(self._note, {"key": self.key, "sha256": files.sha256(self.path)})


def gathered(blocks: Iterable[Block], ids: Sequence[str]) -> Outputs:
    """The outputs of all blocks, which are about these sentences, one after another."""
    every = list(blocks)
    logs = np.concatenate([each.hypotheses.log_probabilities for each in every], axis=1)
    columns: dict[str, list[Any]] = {
        "unknown_tokens": [int(count) for each in every for count in each.unknown],
        "truncated": [bool(flag) for each in every for flag in each.truncated],
    }
    return Outputs(
        list(ids),
        np.concatenate([each.hypotheses.counts for each in every]),
        [text for each in every for text in each.texts],
        scores=np.concatenate([each.scores for each in every]),
        lengths=np.concatenate([each.hypotheses.lengths for each in every]),
        log_probabilities=np.round(logs, DIGITS) + 0.0,
        tokens=[piece for each in every for piece in each.pieces],
        sampled=every[0].sampled,
        uncertainties={name: np.concatenate([each.measures[name] for each in every]) for name in every[0].measures},
        columns=columns,
    )
