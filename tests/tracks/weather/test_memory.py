import polars as pl
import pytest

from shiftbench.errors import TableError
from shiftbench.tracks.weather import memory

GIB = 2**30


def test_too_many_rows_for_the_memory_are_foreseen_and_what_fits_is_said():
    said = memory.foresee(10_000_000, memory=4 * GIB)
    assert said is not None
    assert said.startswith("10,000,000 rows of 123 features: expected to need about 14.2 GiB of memory, found 4.0 GiB")
    most = int(said.split("at most ")[1].split(" fit")[0].replace(",", ""))
    assert memory.foresee(most, memory=4 * GIB) is None
    assert memory.foresee(most + 1, memory=4 * GIB) is not None


def test_rows_of_a_prepared_folder_are_those_of_its_partitions(tmp_path):
    for name, rows in (("train", 700), ("dev_in", 300), ("assignment", 1000)):
        pl.DataFrame({"id": range(rows)}).write_parquet(tmp_path / f"{name}.parquet")
    said = memory.foresee(tmp_path, memory=1)
    assert said is not None
    assert said.startswith("1,000 rows of 123 features")


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "train.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(TableError, match=r"train\.parquet: expected a readable Parquet file"):
        memory.foresee(tmp_path, memory=1)


def test_where_nothing_tells_the_memory_nothing_is_foreseen(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: None)
    assert memory.foresee(10**12) is None
