"""The partitions' own files: the same streamed from a file as written from memory, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, TableError
from shiftbench.io import files, tables
from shiftbench.partition import PARTITIONS, Partition, Rules, partition, read_manifest, verify, write_manifest
from shiftbench.partition.parts import write_parts

RULES = Rules(group="zone", shifted=("b",))


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(5)
    features = {f"f{place}": rng.normal(size=5_000).astype(np.float32) for place in range(4)}
    return pl.DataFrame({"zone": rng.choice(["a", "b"], 5_000), **features}).with_columns(
        pl.when(pl.col("f0") > 0).then("f1")
    )


@pytest.fixture
def file(tmp_path: Path, table: pl.DataFrame) -> Path:
    path = tmp_path / "year=2020" / "table.parquet"
    path.parent.mkdir()
    table.write_parquet(path, row_group_size=300)
    return path


@pytest.fixture
def parts(table: pl.DataFrame) -> Partition:
    return partition(table.select("zone"), RULES)


def test_streamed_files_hold_the_rows_of_the_table_in_their_order(
    tmp_path: Path, table: pl.DataFrame, file: Path, parts: Partition
) -> None:
    written = write_parts(tmp_path / "out", parts, table=file)
    assert [path.name for path in written] == [f"{name}.parquet" for name in PARTITIONS]
    for name, path in zip(PARTITIONS, written, strict=True):
        assert pl.read_parquet(path, hive_partitioning=False).equals(table.filter(parts.assignment == name))


def test_a_folder_with_streamed_files_is_whole(tmp_path: Path, file: Path, parts: Partition) -> None:
    manifest = write_manifest(tmp_path / "out", parts, RULES, source=file, frames=file)
    assert verify(tmp_path / "out") == ()
    assert {*manifest.files} == {"assignment.parquet", *(f"{name}.parquet" for name in PARTITIONS)}
    assert manifest.hash == write_manifest(tmp_path / "memory", parts, RULES, source=file, frames=True).hash


def test_a_lazy_table_is_streamed_like_a_file(
    tmp_path: Path, table: pl.DataFrame, file: Path, parts: Partition
) -> None:
    lazy = pl.scan_parquet(file, hive_partitioning=False).with_columns(pl.col("f2") * 2)
    doubled = table.with_columns(pl.col("f2") * 2)
    for name, path in zip(PARTITIONS, write_parts(tmp_path, parts, table=lazy), strict=True):
        assert pl.read_parquet(path).equals(doubled.filter(parts.assignment == name))
    with pytest.raises(PartitionError, match=r"the table: expected the 5,000 records .* found 3"):
        write_parts(tmp_path, parts, table=lazy.head(3))


def test_files_that_were_written_before_are_kept_and_named(tmp_path: Path, parts: Partition) -> None:
    write_manifest(tmp_path, parts, RULES, frames=True)
    held = write_parts(tmp_path, parts)
    held.append(files.write_text(tmp_path / "notes.txt", "what it is"))
    written = write_manifest(tmp_path, parts, RULES, written=held)
    assert {*written.files} == {"assignment.parquet", *(path.name for path in held)}
    assert verify(tmp_path) == ()
    (tmp_path / "notes.txt").write_text("something else", encoding="utf-8")
    assert len(verify(tmp_path)) == 1


def test_an_empty_partition_has_an_empty_file(tmp_path: Path, table: pl.DataFrame, file: Path) -> None:
    write_parts(tmp_path, partition(table, Rules()), table=file)
    assert pl.read_parquet(tmp_path / "dev_out.parquet").schema == table.schema
    assert pl.read_parquet(tmp_path / "dev_out.parquet").is_empty()


def test_a_table_of_another_length_is_refused(tmp_path: Path, table: pl.DataFrame, parts: Partition) -> None:
    other = tables.write_table(table.head(4_999), tmp_path / "other.parquet")
    with pytest.raises(PartitionError, match=r"expected the 5,000 records that were partitioned, found 4,999"):
        write_parts(tmp_path / "out", parts, table=other)
    assert not (tmp_path / "out").exists()


def test_a_table_that_cannot_be_read_is_an_error(tmp_path: Path, file: Path, parts: Partition) -> None:
    with pytest.raises(TableError, match=r"expected to write the partitions of .*none\.parquet"):
        write_parts(tmp_path / "out", parts, table=tmp_path / "none.parquet")
    data = file.read_bytes()
    file.write_bytes(data[: len(data) // 2])
    with pytest.raises(TableError, match="Check that the table is readable"):
        write_parts(tmp_path / "out", parts, table=file)


def test_an_interrupted_stream_leaves_neither_files_nor_a_manifest(
    tmp_path: Path, file: Path, parts: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(tmp_path / "out", parts, RULES, frames=file)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pl, "collect_all", full)
    with pytest.raises(TableError, match="No space left on device"):
        write_manifest(tmp_path / "out", parts, RULES, frames=file)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["assignment.parquet"]
    with pytest.raises(PartitionError, match="found no such file"):
        read_manifest(tmp_path / "out")


def test_two_streams_make_equal_files(tmp_path: Path, file: Path, parts: Partition) -> None:
    one, two = (write_parts(tmp_path / name, parts, table=file) for name in ("a", "b"))
    assert [files.sha256(path) for path in one] == [files.sha256(path) for path in two]
