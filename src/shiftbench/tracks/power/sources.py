"""Finds the vessel's tables: partition files of the real or the synthetic data, or one table of records.

The official archive holds both data sets in folders of their own; a generalisation set may lie beside either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import TableError
from shiftbench.track.intake.sources import Source, Sources, arranged, tables_in
from shiftbench.tracks.power.schema import COUNTS, PARTITIONS

GENERALIZATION = "generalization"
CANONICAL = "canonical"
EXPERIMENTS = (CANONICAL, *COUNTS)  # canonical: whichever data set is there; the other names choose if both are


@dataclass(frozen=True)
class Found(Sources):
    """The tables of one data set, and the generalisation set, if there is one."""

    generalization: Source | None = None


def sources(path: Path, experiment: str = CANONICAL) -> Found:
    """The tables in a folder (its subfolders and archives too), in an archive, or in a file.

    experiment: "real" or "synthetic" takes only the files in the folder of that name.

    Raises:
        TableError: if there is no table, both data sets are found and neither is named, the named one is missing, a
            partition is found twice, or an archive is damaged or cut off.
    """
    expected = "train.csv, dev_in.csv and the like, an archive (.zip, .tar) that holds them"
    own = _chosen(path, tables_in(path, _partition, expected=expected), experiment)
    beside = [source for source in own if source.partition == GENERALIZATION]
    rest = [source for source in own if source.partition != GENERALIZATION]
    if not rest:
        raise TableError(
            f"{path}: expected records to learn from, found only a generalisation set. Add train.csv and the like, or "
            "records.parquet."
        )
    records = arranged(rest, PARTITIONS, alone="all records")
    scored = arranged(beside, (GENERALIZATION,), alone=GENERALIZATION).tables[0] if beside else None
    return Found(records.tables, records.missing, records.notes, scored)


def data_set(source: Source) -> str | None:
    """The data set that a table's folder is named after (real_data, synthetic_data), or None."""
    return next((name for name in COUNTS if source.folder.lower() in (name, f"{name}_data")), None)


def _chosen(path: Path, found: Sequence[Source], experiment: str) -> list[Source]:
    """The tables of one data set, and those outside the folders of both."""
    named = {name for source in found if (name := data_set(source))}
    if experiment != CANONICAL and not any(source.partition in PARTITIONS for source in found):
        raise TableError(
            f"{path}: expected official partition files for the {experiment} data, found {found[0].label}, which is "
            "not divided yet. Leave out --experiment."
        )
    if experiment != CANONICAL and named and experiment not in named:
        raise TableError(f"{path}: expected the {experiment} data, found only the {named.pop()} ones. Check the path.")
    if experiment == CANONICAL and len(named) > 1:
        raise TableError(
            f"{path}: expected one data set, found the real and the synthetic one. Choose with --experiment real or "
            "--experiment synthetic."
        )
    others = named - {experiment} if len(named) > 1 else set()
    return [source for source in found if data_set(source) not in others]


def _partition(name: str) -> str | None:
    """The partition that a file is named after: train.csv, DEV_IN.csv.gz, generalization.parquet."""
    stem = name.lower().split(".")[0]
    return stem if stem in (*PARTITIONS, GENERALIZATION) else None
