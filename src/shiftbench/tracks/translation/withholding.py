"""Sentences as a challenge hands them out: of hidden parts sources alone, under new ids in a new order."""

from __future__ import annotations

import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiftbench.errors import TableError
from shiftbench.io import files
from shiftbench.partition.settings import SPLITS
from shiftbench.progress import silent
from shiftbench.tracks.translation import sources
from shiftbench.tracks.translation.evaluation import SHIFT
from shiftbench.tracks.translation.sources import Found


def withhold(source: Path, split: str, inputs: Path, truth: Path | None) -> None:
    """Write `inputs.jsonl`, and the truth as a file with the suffix .jsonl; of train the files as they are.

    Raises:
        TableError: if the folder has no set of the split, or sentences without a reference.
    """
    found, parts = sources.found(source), SPLITS.get(split, (split,))
    if not any(part in found.sets for part in parts):
        raise TableError(f"{source}: expected sets of {' or '.join(parts)}, found none.")
    inputs.mkdir(parents=True, exist_ok=True)
    if truth is None:
        for own in found.sets[split]:
            for path in sources.files_of(own):
                shutil.copyfile(path, inputs / path.name)
        return
    rows = [row for shifted, part in enumerate(parts) for row in _rows(found, part, shifted=bool(shifted))]
    secrets.SystemRandom().shuffle(rows)
    rows = [{"id": f"{split[0]}{n:0{len(str(len(rows)))}}", **row} for n, row in enumerate(rows, 1)]
    _write(inputs / "inputs.jsonl", [{key: row[key] for key in ("id", "source")} for row in rows])
    _write(truth.with_suffix(".jsonl"), rows)


def _rows(found: Found, part: str, *, shifted: bool) -> Iterator[dict[str, Any]]:
    for own in found.sets.get(part, ()):
        read = found.read(own, silent)
        if read.sources is None or read.references is None:
            raise TableError(f"{part}: expected sentences with references, found some without. Add them.")
        for n, (text, references) in enumerate(zip(read.sources, read.references, strict=True)):
            more = {name: values[n] for name, values in read.columns.items() if values[n] is not None}
            yield {**more, "source": text, "reference": list(references), SHIFT: shifted}


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    files.write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
