import gzip
import io
import tarfile

import pytest

from shiftbench.errors import TableError
from shiftbench.track.intake.sources import Source, opened
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.sources import sources

FOLDER = "canonical-paritioned-dataset"


def fill(folder, names=tuple(schema.PARTITIONS), form="shifts_canonical_{}.csv"):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / form.format(name)).write_text(f"name\n{name}\n")
    return folder


def tar(path, folder, mode="w"):
    with tarfile.open(path, mode) as archive:
        archive.add(folder, FOLDER)
    return path


def text(source):
    with opened(source) as stream:
        return stream.file.read().decode()


@pytest.mark.parametrize("form", ["shifts_canonical_{}.csv", "{}.csv", "{}.csv.gz", "{}.parquet"])
def test_partitions_are_found_in_the_published_order_under_each_of_their_names(tmp_path, form):
    found = sources(fill(tmp_path / "data" / FOLDER, form=form).parent)
    assert [source.partition for source in found.tables] == ["train", "dev_in", "dev_out", "eval_in", "eval_out"]
    assert not found.missing


@pytest.mark.parametrize(("suffix", "mode"), [(".tar", "w"), (".tar.gz", "w:gz"), (".tgz", "w:gz")])
def test_partitions_are_read_out_of_an_archive(tmp_path, suffix, mode):
    found = sources(tar(tmp_path / f"official{suffix}", fill(tmp_path / "in"), mode))
    assert [text(source) for source in found.tables] == [f"name\n{name}\n" for name in schema.PARTITIONS]
    assert found.tables[0].member == f"{FOLDER}/shifts_canonical_train.csv"


def test_a_packed_table_is_unpacked_and_its_packed_bytes_are_counted(tmp_path):
    path = tmp_path / "train.csv.gz"
    path.write_bytes(gzip.compress(b"name\n" * 10_000))
    with opened(Source(path, "train")) as stream:
        assert stream.file.read() == b"name\n" * 10_000
        assert stream.done() == stream.total == path.stat().st_size


def test_partitions_that_are_not_there_are_named(tmp_path):
    assert sources(fill(tmp_path, ("train", "dev_out"))).missing == ("dev_in", "eval_in", "eval_out")


def test_two_archives_complete_each_other(tmp_path):
    tar(tmp_path / "train-dev.tar", fill(tmp_path / "a/.x", ("train", "dev_in", "dev_out")))
    tar(tmp_path / "eval.tar", fill(tmp_path / "b/.x", ("eval_in", "eval_out")))
    found = sources(tmp_path)
    assert not found.missing
    assert {source.path.name for source in found.tables} == {"train-dev.tar", "eval.tar"}


def test_unpacked_files_go_before_the_archive_that_they_came_from(tmp_path):
    folder = fill(tmp_path / FOLDER)
    tar(tmp_path / "a.tar", folder)
    assert [source.member for source in sources(tmp_path).tables] == [None] * 5


def test_one_other_table_is_the_dump(tmp_path):
    (tmp_path / "full.csv").write_text("x")
    (tmp_path / "readme.txt").write_text("x")
    assert sources(tmp_path).tables == (Source(tmp_path / "full.csv"),)
    assert sources(tmp_path / "full.csv").tables == (Source(tmp_path / "full.csv"),)


def test_other_tables_beside_partitions_are_left_out_with_a_note(tmp_path):
    (fill(tmp_path) / "stations.csv").write_text("x")
    found = sources(tmp_path)
    assert len(found.tables) == 5
    assert "stations.csv: not named after a partition, left out" in found.notes[0]


def test_files_without_meta_data_are_refused_unless_the_others_are_there(tmp_path):
    fill(tmp_path, ("dev_in",), form="shifts_canonical_{}_no_meta.csv")
    with pytest.raises(TableError, match=r"found one without \(_no_meta\)\. Take shifts_canonical_dev_in\.csv from"):
        sources(tmp_path)
    fill(tmp_path, ("dev_in",))
    assert [source.name for source in sources(tmp_path).tables] == ["shifts_canonical_dev_in.csv"]


def test_one_partition_in_two_files_is_refused_by_both_names(tmp_path):
    fill(tmp_path)
    fill(tmp_path, ("dev_in", "train"), form="{}.csv")
    with pytest.raises(TableError, match="expected one table for train, found 2: ") as caught:
        sources(tmp_path)
    assert len(caught.value.problems) == 2
    assert "shifts_canonical_dev_in.csv" in caught.value.problems[1]


def test_two_tables_that_could_be_the_dump_are_refused(tmp_path):
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("x")
    with pytest.raises(TableError, match=r"expected one table for the dump, found 2: .*a\.csv, .*b\.csv"):
        sources(tmp_path)


@pytest.mark.parametrize(
    ("name", "found"), [("gone", "nothing there"), ("notes.txt", r"a file called 'notes\.txt'"), ("empty", "an empty")]
)
def test_where_there_is_no_table_it_is_said_what_is_there(tmp_path, name, found):
    (tmp_path / "notes.txt").write_text("x")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=f"expected shifts_canonical_train.csv and the like.*found {found}"):
        sources(tmp_path / name)


def test_an_archive_that_is_cut_off_is_named(tmp_path):
    path = tmp_path / "official.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("train.csv")
        info.size = 50_000
        archive.addfile(info, io.BytesIO(b"x" * info.size))
    path.write_bytes(path.read_bytes()[:20_000])
    with pytest.raises(TableError, match=r"official\.tar: expected .* cut off.*20,000 bytes|20,000 bytes.*cut off"):
        sources(path)


def test_a_packed_archive_that_is_cut_off_is_named(tmp_path, rng):
    folder = fill(tmp_path / "in")
    (folder / "shifts_canonical_train.csv").write_bytes(rng.bytes(100_000))
    path = tar(tmp_path / "official.tar.gz", folder, "w:gz")
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(TableError, match=r"official\.tar\.gz: expected a complete tar archive, found: .*fetch it"):
        sources(path)


def test_what_is_no_archive_is_named(tmp_path):
    (tmp_path / "official.tar").write_text("<html>404 Not Found</html>")
    with pytest.raises(TableError, match=r"official\.tar: expected a complete tar archive"):
        sources(tmp_path)


@pytest.mark.parametrize("form", ["SHIFTS_CANONICAL_{}.CSV", "Shifts_Canonical_{}.csv.GZ", "{}.PARQUET"])
def test_the_case_of_names_makes_no_difference(tmp_path, form):
    found = sources(fill(tmp_path, tuple(name.upper() for name in schema.PARTITIONS), form))
    assert [source.partition for source in found.tables] == list(schema.PARTITIONS)


def test_a_partition_that_is_twice_in_one_archive_is_refused(tmp_path):
    with tarfile.open(tmp_path / "twice.tar", "w") as archive:
        for name in ("a", "b"):
            archive.add(fill(tmp_path / "in"), name)
    with pytest.raises(TableError, match=r"expected one table for train, found 2: .*a/shifts.*b/shifts") as caught:
        sources(tmp_path / "twice.tar")
    assert len(caught.value.problems) == len(schema.PARTITIONS)


@pytest.mark.parametrize("damaged", ["sum", "cut"])
def test_the_sum_at_the_very_end_of_a_packed_archive_is_checked(tmp_path, damaged):
    path = tar(tmp_path / "a.tar.gz", fill(tmp_path / "in"), "w:gz")
    data = path.read_bytes()
    path.write_bytes(data[:-8] + bytes([data[-8] ^ 1]) + data[-7:] if damaged == "sum" else data[:-4])
    with pytest.raises(
        TableError, match=r"expected a complete tar archive, found: (CRC check failed|Compressed file ended)"
    ):
        sources(path)


def test_an_archive_without_tables_is_called_so(tmp_path):
    tarfile.open(tmp_path / "empty.tar", "w").close()
    with pytest.raises(TableError, match=r"found an archive without such CSVs called 'empty\.tar'"):
        sources(tmp_path / "empty.tar")
