"""Labels that lie among what participants download, by mistake."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

import polars as pl

from shiftbench.errors import ShiftbenchError
from shiftbench.io import files, tables
from shiftbench.io.tables.reading import is_table

FEWEST = 10  # records of which another column than the target may not have all targets


def problems(public: Path, truths: Mapping[str, Path], target: str) -> list[str]:
    """Which files for participants are the labels of a phase, or have its targets beside its ids.

    Args:
        public: a folder of files.
        truths: phase → its labels, a file or a folder.
        target: the column of targets in labels that are tables.
    """
    held = [path for path in sorted(public.rglob("*")) if path.is_file() and not path.is_symlink()]
    hashes = {path: files.sha256(path) for path in held}
    found = list[str]()
    for phase, truth in truths.items():
        wrong = dict(_copies(truth, hashes))
        if (labels := _table(truth)) is not None and {"id", target} <= {*labels.columns}:
            wrong = {**dict(_told(labels, target, held)), **wrong}
        found += [
            f"public/{path.relative_to(public).as_posix()}: expected what everybody may see, found {what} of the phase "
            f"{phase}. Remove it."
            for path, what in wrong.items()
        ]
    return found


def _copies(truth: Path, hashes: Mapping[Path, str]) -> Iterator[tuple[Path, str]]:
    """Files that are the labels; of a folder, which has inputs, too, only if all of its files are there."""
    parts = [path for path in truth.rglob("*") if path.is_file()] if truth.is_dir() else [truth]
    own = {files.sha256(path) for path in parts}
    if own and own <= {*hashes.values()}:
        yield from ((path, "the sealed labels") for path, each in hashes.items() if each in own)


def _told(labels: pl.DataFrame, target: str, held: list[Path]) -> Iterator[tuple[Path, str]]:
    """Tables with a column that has the target of each record that they share with the labels."""
    own = labels.select(pl.col("id").cast(pl.String), pl.col(target).alias("\0")).drop_nulls()
    for path in held:
        table = _table(path)
        if table is None or "id" not in table.columns or not tables.is_label(table["id"].dtype):
            continue
        shared = table.with_columns(pl.col("id").cast(pl.String)).join(own, on="id", how="inner")
        several = shared.height >= FEWEST and shared["\0"].n_unique() > 1
        for name in table.columns if shared.height else ():
            if name != "id" and (name == target or several) and _same(shared[name], shared["\0"]):
                yield path, f"the targets of {shared.height:,} sealed records (column {name!r})"
                break


def _same(values: pl.Series, targets: pl.Series) -> bool:
    if values.dtype.is_numeric() and targets.dtype.is_numeric():
        near = (values.cast(pl.Float64) - targets.cast(pl.Float64)).abs() <= 1e-6 * targets.cast(pl.Float64).abs()
        return bool(near.fill_null(value=False).all())
    if values.dtype.is_nested() or targets.dtype.is_nested():
        return False
    return bool((values.cast(pl.String, strict=False) == targets.cast(pl.String)).fill_null(value=False).all())


def _table(path: Path) -> pl.DataFrame | None:
    """A file as a table, if it is one."""
    if not path.is_file() or not is_table(path):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tables.read_table(path)
    except ShiftbenchError:
        return None
