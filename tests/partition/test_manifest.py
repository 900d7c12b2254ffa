"""The manifest: one hash for one partition whatever wrote it, and a folder that shows when it was touched."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, TableError
from shiftbench.io import files, tables
from shiftbench.partition import (
    PARTITIONS,
    Leakage,
    Manifest,
    Partition,
    Rules,
    leakage,
    partition,
    read_manifest,
    verify,
    write_manifest,
)
from shiftbench.partition.manifest import digest

RULES = Rules(id="id", group="zone", shifted=("b",))


@pytest.fixture
def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    return pl.DataFrame(
        {"id": [f"ü{n}" for n in range(400)], "zone": rng.choice(["a", "b"], 400), "x": rng.normal(size=400)}
    )


@pytest.fixture
def parts(table: pl.DataFrame) -> Partition:
    return partition(table, RULES)


def test_a_folder_is_read_back_as_it_was_written(tmp_path: Path, table: pl.DataFrame, parts: Partition) -> None:
    found = leakage(table, parts, RULES)
    source = tables.write_table(table, tmp_path / "table.parquet")
    written = write_manifest(tmp_path / "out", parts, RULES, source=source, leakage=found, frames=True)
    assert read_manifest(tmp_path / "out") == written
    assert verify(tmp_path / "out") == ()
    assert written.source == files.sha256(source)
    assert Rules.from_settings(written.rules) == RULES
    assert written.counts == parts.counts
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "manifest.json", "assignment.parquet", "leakage.json", *(f"{name}.parquet" for name in PARTITIONS)
    }  # fmt: skip
    for name in PARTITIONS:
        assert tables.read_table(tmp_path / "out" / f"{name}.parquet").equals(parts.frame(name))
    assignment = tables.read_table(tmp_path / "out" / "assignment.parquet")
    assert assignment.equals(pl.DataFrame({"id": parts.ids, "partition": parts.assignment}))


def test_the_hash_is_of_rules_ids_and_source_alone(tmp_path: Path, table: pl.DataFrame, parts: Partition) -> None:
    plain = Manifest.of(parts, RULES).hash
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=1).with_columns(y=pl.col("x") * 2)
    assert Manifest.of(partition(shuffled, RULES), RULES).hash == plain
    assert write_manifest(tmp_path, parts, RULES, frames=True).hash == plain
    reseeded = Rules(id="id", group="zone", shifted=("b",), seed=1)
    assert Manifest.of(partition(table, reseeded), reseeded).hash != plain
    source = tables.write_table(table, tmp_path / "table.parquet")
    assert Manifest.of(parts, RULES, source=source).hash != plain


def test_the_hash_is_pinned() -> None:
    """Scores of all times carry it: a change here makes them incomparable."""
    frame = pl.DataFrame({"id": [f"{n:03}" for n in range(100)]})
    rules = Rules(id="id")
    manifest = Manifest.of(partition(frame, rules), rules)
    content = {"rules": rules.to_settings(), "digests": dict(manifest.digests), "source": None}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    assert manifest.hash == hashlib.sha256(text.encode()).hexdigest()
    assert manifest.hash == "754ee9e7ae071016b12ddfd220c60941712dfc7affa673479868b56779aac8ba"


def test_a_digest_is_of_the_set_of_ids_and_no_other_set_has_it() -> None:
    assert digest(pl.Series(["b", "ü", "a"])) == digest(pl.Series(["ü", "a", "b"]))
    assert digest(pl.Series(["ab", "c"])) != digest(pl.Series(["a", "bc"]))
    data = b"".join(length.to_bytes(8, "little") for length in (1, 1, 2)) + "abü".encode()
    assert digest(pl.Series(["b", "ü", "a"])) == hashlib.sha256(data).hexdigest()
    assert digest(pl.Series([], dtype=pl.String)) == hashlib.sha256(b"").hexdigest()


def test_the_digest_of_numbers_is_of_64_bits_each_and_never_that_of_texts() -> None:
    data = b"".join(number.to_bytes(8, "little", signed=True) for number in (-1, -7, 2, 10))
    assert digest(pl.Series([10, -7, 2])) == hashlib.sha256(data).hexdigest()
    assert digest(pl.Series([10, 2])) != digest(pl.Series(["10", "2"]))
    texts = ["aaa", "bbbbb"]  # lengths 3 and 5, and eight bytes: three numbers but for the mark before them
    numbers = [3, 5, int.from_bytes(b"aaabbbbb", "little")]
    assert digest(pl.Series(texts)) != digest(pl.Series(numbers))


def test_ids_that_are_numbers_are_kept_as_numbers(tmp_path: Path, table: pl.DataFrame) -> None:
    numbered = table.with_columns(id=pl.int_range(pl.len()).reverse())
    parts = partition(numbered, RULES)
    written = write_manifest(tmp_path, parts, RULES)
    assert verify(tmp_path) == ()
    assignment = tables.read_table(tmp_path / "assignment.parquet")
    assert assignment["id"].to_list() == list(range(399, -1, -1))
    moved = assignment.with_columns(pl.col("id") + pl.when(pl.col("partition") == "train").then(400).otherwise(0))
    tables.write_table(moved, tmp_path / "assignment.parquet")
    assert any("ids of train" in problem for problem in verify(tmp_path))
    shuffled = partition(numbered.sample(fraction=1.0, shuffle=True, seed=4), RULES)
    assert Manifest.of(shuffled, RULES).hash == written.hash


@pytest.mark.parametrize("name", ["assignment.parquet", "train.parquet", "leakage.json"])
def test_a_file_that_was_changed_or_lost_is_reported(tmp_path: Path, parts: Partition, name: str) -> None:
    write_manifest(tmp_path, parts, RULES, leakage=Leakage(()), frames=True)
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-1] + b"?")
    assert any(name in problem and "it was changed" in problem for problem in verify(tmp_path))
    path.unlink()
    assert any(name in problem and "can be read" in problem for problem in verify(tmp_path))


def test_every_difference_is_reported(tmp_path: Path, parts: Partition) -> None:
    write_manifest(tmp_path, parts, RULES, frames=True)
    (tmp_path / "train.parquet").write_bytes(b"")
    (tmp_path / "dev_in.parquet").unlink()
    assert len(verify(tmp_path)) == 2


def test_ids_that_moved_are_reported_even_under_a_corrected_checksum(tmp_path: Path, parts: Partition) -> None:
    write_manifest(tmp_path, parts, RULES)
    moved = tables.read_table(tmp_path / "assignment.parquet").with_columns(
        pl.when(pl.col("partition") == "dev_in").then(pl.lit("train")).otherwise("partition").alias("partition")
    )
    tables.write_table(moved, tmp_path / "assignment.parquet")
    value = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    value["files"]["assignment.parquet"] = files.sha256(tmp_path / "assignment.parquet")
    files.write_json(tmp_path / "manifest.json", value)
    assert [problem.split("ids of ")[1].split()[0] for problem in verify(tmp_path)] == ["train", "dev_in"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "manifest as JSON"),
        ('{"format": "shiftbench manifest 1", "ha', "manifest as JSON"),
        ("[" * 100_000, "manifest as JSON"),
        ("[]", "expected a manifest .* found 'list'"),
        ('{"format": "other"}', "found 'other'"),
        ('{"format": "shiftbench manifest 1"}', "rules, counts, unused.* damaged"),
    ],
)
def test_a_damaged_manifest_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(PartitionError, match=message):
        read_manifest(tmp_path)
    assert len(verify(tmp_path)) == 1


def test_a_changed_manifest_is_refused(tmp_path: Path, parts: Partition) -> None:
    write_manifest(tmp_path, parts, RULES)
    path = tmp_path / "manifest.json"
    path.write_text(path.read_text(encoding="utf-8").replace('"seed": 0', '"seed": 1'), encoding="utf-8")
    with pytest.raises(PartitionError, match="it was changed"):
        read_manifest(tmp_path)


def test_a_folder_without_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PartitionError, match="found no such file"):
        read_manifest(tmp_path)


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a")
    with pytest.raises(PartitionError, match=r"t\.csv: expected the folder of a partition, found a file\. Make one"):
        read_manifest(tmp_path / "t.csv")


def test_an_interrupted_write_leaves_no_manifest(
    tmp_path: Path, parts: Partition, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_manifest(tmp_path, parts, RULES, frames=True)
    real = tables.write_table

    def full_disk(frame: pl.DataFrame, path: Path) -> Path:
        if path.name == "eval_in.parquet":
            raise OSError(28, "No space left on device")
        return real(frame, path)

    monkeypatch.setattr(tables, "write_table", full_disk)
    with pytest.raises(TableError, match="No space left on device"):
        write_manifest(tmp_path, parts, RULES, frames=True)
    with pytest.raises(PartitionError, match="found no such file"):
        read_manifest(tmp_path)


def test_writing_again_without_frames_leaves_no_old_ones(tmp_path: Path, parts: Partition) -> None:
    write_manifest(tmp_path, parts, RULES, leakage=Leakage(()), frames=True)
    (tmp_path / "notes.txt").write_text("kept", encoding="utf-8")
    write_manifest(tmp_path, parts, RULES)
    assert {path.name for path in tmp_path.iterdir()} == {"manifest.json", "assignment.parquet", "notes.txt"}
    assert verify(tmp_path) == ()


def test_a_place_that_is_no_folder_is_refused(tmp_path: Path, parts: Partition) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(TableError, match="expected a folder that can be written"):
        write_manifest(tmp_path / "file", parts, RULES)
    with pytest.raises(TableError, match="expected a file that can be read"):
        write_manifest(tmp_path / "out", parts, RULES, source=tmp_path / "none.csv")


def test_two_writes_make_equal_files(tmp_path: Path, parts: Partition) -> None:
    one, two = (write_manifest(tmp_path / name, parts, RULES, frames=True) for name in ("a", "b"))
    assert (tmp_path / "a" / "manifest.json").read_bytes() == (tmp_path / "b" / "manifest.json").read_bytes()
    assert one.files == two.files
