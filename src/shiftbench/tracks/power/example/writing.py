"""Example data as frames, and as files with metadata."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from shiftbench.tracks.power import outside, schema
from shiftbench.tracks.power.example.minutes import Columns
from shiftbench.tracks.power.example.random_streams import Values

RECORDS, GENERALIZATION = "records.parquet", "generalization.parquet"
DIGITS = 6  # after the point, as in the official synthetic files
ROW_BYTES = 110  # bytes per record of both files together, at most


def frame(columns: Columns, power_kw: Values) -> pl.DataFrame:
    """Index, inputs and power in their published order and types, to six digits after the point."""
    values = {**columns, schema.POWER: power_kw}
    return pl.DataFrame(  # + 0: no -0.0
        {name: pl.Series(values[name].round(DIGITS) + 0.0).cast(kind) for name, kind in schema.TYPES.items()}
    )


def write_frame(path: Path, table: pl.DataFrame, origin: str, shares: Mapping[str, float]) -> None:
    """Write Parquet whose metadata hold its origin (`shiftbench`) and the shares outside ranges (`outside.KEY`)."""
    metadata = {"shiftbench": origin, **outside.metadata(shares)}
    with path.open("wb") as file:
        table.write_parquet(file, compression="zstd", compression_level=3, metadata=metadata)
