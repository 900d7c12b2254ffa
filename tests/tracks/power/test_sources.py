import shutil
import tarfile
import zipfile

import pytest

from shiftbench.errors import TableError
from shiftbench.track.intake.sources import opened
from shiftbench.tracks.power.schema import PARTITIONS
from shiftbench.tracks.power.sources import data_set, sources

SETS = ("real_data", "synthetic_data")


def fill(folder, names=PARTITIONS, ending=".csv"):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name}{ending}").write_text(f"name\n{folder.name} {name}\n")
    return folder


def packed(path, folder):
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(folder.rglob("*.csv")):
                archive.write(file, file.relative_to(folder.parent))
    else:
        with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
            archive.add(folder, folder.name)
    return path


def text(source):
    with opened(source) as stream:
        return stream.file.read().decode()


@pytest.fixture
def upload(tmp_path):
    """The official folder with both data sets, without eval as it was first released."""
    for name in SETS:
        fill(tmp_path / "upload" / name, PARTITIONS[:3])
    return tmp_path / "upload"


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet", ".CSV"])
def test_partitions_are_found_in_the_published_order(tmp_path, ending):
    found = sources(fill(tmp_path / "data", ending=ending))
    assert [source.partition for source in found.tables] == list(PARTITIONS)
    assert found.divided
    assert not found.missing


@pytest.mark.parametrize("archive", ["a.zip", "a.tar", "a.tgz"])
@pytest.mark.parametrize("experiment", ["real", "synthetic"])
def test_one_data_set_is_taken_out_of_an_archive_of_both(tmp_path, upload, archive, experiment):
    found = sources(packed(tmp_path / archive, upload), experiment)
    assert found.missing == ("eval_in", "eval_out")
    assert [text(source) for source in found.tables] == [
        f"name\n{experiment}_data {name}\n" for name in ("train", "dev_in", "dev_out")
    ]
    assert {data_set(source) for source in found.tables} == {experiment}


def test_one_data_set_is_taken_out_of_a_folder_of_both(upload):
    assert {source.path.parent.name for source in sources(upload, "real").tables} == {"real_data"}


def test_of_both_data_sets_one_must_be_named(upload):
    with pytest.raises(TableError, match=r"found the real and the synthetic one\. Choose with --experiment real or"):
        sources(upload)


def test_a_data_set_alone_needs_no_name_but_another_is_refused(upload):
    shutil.rmtree(upload / "synthetic_data")
    assert sources(upload).tables == sources(upload, "real").tables
    with pytest.raises(TableError, match="expected the synthetic data, found only the real ones"):
        sources(upload, "synthetic")


def test_the_folder_of_a_data_set_may_be_named_itself(upload):
    assert len(sources(upload / "real_data").tables) == 3


def test_a_table_of_records_with_a_generalisation_set_beside_it(tmp_path):
    for name in ("records", "generalization"):
        (tmp_path / f"{name}.parquet").write_text("x")
    found = sources(tmp_path)
    assert not found.divided
    assert [source.name for source in found.tables] == ["records.parquet"]
    assert found.generalization is not None
    assert found.generalization.name == "generalization.parquet"


def test_a_generalisation_set_beside_both_data_sets_belongs_to_the_chosen_one(upload):
    (upload / "generalization.csv").write_text("x")
    found = sources(upload, "synthetic")
    assert found.generalization is not None
    assert len(found.tables) == 3


def test_a_generalisation_set_alone_is_no_data(tmp_path):
    (tmp_path / "generalization.parquet").write_text("x")
    with pytest.raises(TableError, match="expected records to learn from, found only a generalisation set"):
        sources(tmp_path)


def test_records_that_are_not_divided_are_of_no_official_data_set(tmp_path):
    (tmp_path / "records.csv").write_text("x")
    with pytest.raises(
        TableError, match=r"partition files for the real data, found .*records\.csv, which is not divided"
    ):
        sources(tmp_path, "real")


def test_one_partition_in_two_files_is_refused(tmp_path):
    fill(tmp_path, ("train",))
    fill(tmp_path, ("train",), ".parquet")
    with pytest.raises(TableError, match=r"expected one table for train, found 2: .*train\.csv, .*train\.parquet"):
        sources(tmp_path)


@pytest.mark.parametrize("archive", ["a.zip", "a.tar"])
def test_an_archive_that_is_cut_off_is_named(tmp_path, upload, archive):
    path = packed(tmp_path / archive, upload)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    with pytest.raises(TableError, match=rf"{archive}: expected .* (archive|to end at byte).*etch it again"):
        sources(path)


def test_a_damaged_member_of_a_zip_is_named(tmp_path, upload):
    path = packed(tmp_path / "a.zip", upload)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"real_data train", b"real_data TRAIN", 1))
    with pytest.raises(TableError, match=r"a\.zip: expected a readable archive file, found: Bad CRC-32"):
        text(sources(path, "real").tables[0])


@pytest.mark.parametrize(("name", "found"), [("gone", "nothing there"), ("empty", "an empty folder")])
def test_where_there_is_no_table_it_is_said_what_was_looked_for(tmp_path, name, found):
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=rf"expected train\.csv, dev_in\.csv and the like.*found {found}"):
        sources(tmp_path / name)
