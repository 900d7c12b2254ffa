"""Tables of a track as a challenge hands them out: of hidden parts features alone, under new ids in a new order."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.partition.settings import SPLITS
from shiftbench.track.contract import MANIFEST


@dataclass(frozen=True)
class TableInputs:
    """What participants see of a track's tables.

    prepare: makes a prepared folder of a source, of the canonical `experiment`. features: the columns to predict from.
    """

    prepare: Callable[..., object]
    experiment: str
    features: Sequence[str]

    def withhold(self, source: Path, split: str, inputs: Path, truth: Path | None) -> None:
        """Write `inputs.parquet`, and the truth as a file with the suffix .parquet; of train everything.

        Args:
            source: a prepared folder, or what can be prepared.
            split: train, dev or eval.
            inputs: a folder.
            truth: path of the truth, without suffix; None of train.
        """
        if not (source / MANIFEST).is_file():
            with tempfile.TemporaryDirectory(dir=inputs.parent) as aside:
                self.prepare(source, Path(aside) / "data", experiment=self.experiment)
                self.withhold(Path(aside) / "data", split, inputs, truth)
            return
        parts = SPLITS.get(split, (split,))
        frames = [_part(source, name).with_columns(pl.lit(k == 1).alias("shifted")) for k, name in enumerate(parts)]
        frame = pl.concat([each for each in frames if each.height], how="vertical_relaxed")
        inputs.mkdir(parents=True, exist_ok=True)
        if truth is None:
            tables.write_table(frame.drop("shifted"), inputs / "train.parquet")
            return
        frame = frame.sample(fraction=1.0, shuffle=True, seed=secrets.randbits(63))
        names = [f"{split[0]}{n:0{len(str(frame.height))}}" for n in range(1, frame.height + 1)]
        frame = frame.with_columns(pl.Series("id", names))
        tables.write_table(frame, truth.with_suffix(".parquet"))
        tables.write_table(
            frame.select("id", *(n for n in self.features if n in frame.columns)), inputs / "inputs.parquet"
        )


def _part(source: Path, name: str) -> pl.DataFrame:
    path = source / f"{name}.parquet"
    if not path.is_file():
        raise TableError(f"{source}: expected a part {name}, found none. Prepare data that have it.")
    return tables.read_table(path, retype=False)
