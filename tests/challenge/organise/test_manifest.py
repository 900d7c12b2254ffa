"""The manifest of a challenge's folder: versions of labels, privacy, and every change told."""

from __future__ import annotations

import gzip
import shutil
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.errors import SettingsError
from shiftbench.io import tables
from shiftbench.track import PublicRecords

FILES = {
    "public/one/data/inputs.csv": "id,x\n1,2\n", "sealed/one/dev/truth.csv": "id,target\n1,3\n",
    "sealed/one/final/truth.csv": "id,target\n2,3\n", "baselines/one/dev/mean.csv": "id,answer,uncertainty\n1,2,1\n",
}  # fmt: skip

RECORDS = ["dev/records.json", "final/records.json"]  # made when it is sealed


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def define(folder: Path, **changes: str) -> None:
    board = Board("one", "One", **{"metric": "r_auc", "phases": (Phase("dev", 0), Phase("final", 9)), **changes})
    definition.write(folder / definition.FILE, Challenge("wind", "Wind", "", (board,)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path, FILES)
    define(tmp_path)
    manifest.seal(tmp_path)
    return tmp_path


def versions(folder: Path) -> list[str]:
    return [manifest.labels(folder, "one", phase) for phase in ("dev", "final")]


def test_a_sealed_challenge_is_well_and_sealing_it_again_changes_nothing(folder: Path):
    before = (manifest.hash_of(folder), versions(folder))
    assert manifest.check(folder) == []
    assert (manifest.seal(folder), versions(folder)) == before
    assert len({*before[1]}) == 2


def test_corrected_labels_have_a_new_version_and_the_others_keep_theirs(folder: Path):
    before = versions(folder)
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,4\n"})
    assert [problem for problem in manifest.check(folder) if "truth.csv: expected the file that was sealed" in problem]
    manifest.seal(folder)
    assert [old == new for old, new in zip(before, versions(folder), strict=True)] == [False, True]


def test_a_set_that_is_added_leaves_the_versions_of_the_others(folder: Path):
    before = versions(folder)
    define(folder, phases=(Phase("dev", 0), Phase("final", 9), Phase("more", 10)))  # type: ignore[arg-type]
    write(folder, {"sealed/one/more/truth.csv": "id,target\n7,4\n"})
    manifest.seal(folder)
    assert versions(folder) == before


def test_equal_labels_have_other_versions_elsewhere_so_that_nobody_guesses_them(folder: Path, tmp_path_factory):
    twin = tmp_path_factory.mktemp("twin")
    write(twin, FILES)
    define(twin)
    manifest.seal(twin)
    assert not {*versions(folder)} & {*versions(twin)}


def test_sealed_files_and_hashes_are_readable_for_their_owner_alone(folder: Path):
    sealed = [folder / "sealed", *(folder / "sealed").rglob("*")]
    assert {stat.S_IMODE(path.stat().st_mode) for path in sealed} == {0o600, 0o700}
    assert stat.S_IMODE((folder / manifest.FILE).stat().st_mode) == 0o600
    sealed[-1].chmod(0o644)
    assert ["open to others" in problem for problem in manifest.check(folder)] == [True]


@pytest.mark.parametrize("name", [*FILES, "challenge.toml"])
def test_a_missing_or_changed_file_is_told(name: str, folder: Path):
    (folder / name).write_bytes((folder / name).read_bytes() + b"\n")
    assert any(name in problem and "found another" in problem for problem in manifest.check(folder))
    (folder / name).unlink()
    assert any(name in problem for problem in manifest.check(folder))


def test_a_file_that_was_put_there_later_is_told(folder: Path):
    write(folder, {"public/one/answers.csv": "oh"})
    assert ["expected files of the manifest alone" in problem for problem in manifest.check(folder)] == [True]
    assert manifest.public(folder, "one") == ["answers.csv", "data/inputs.csv", *RECORDS]


def test_another_file_of_the_name_of_the_records_is_not_replaced(folder: Path):
    write(folder, {"public/one/dev/records.json": '{"mine": 1}'})
    with pytest.raises(SettingsError, match=r"one, dev: records\.json: expected the ids of records"):
        manifest.seal(folder)
    assert (folder / "public/one/dev/records.json").read_text() == '{"mine": 1}'


def test_records_follow_labels_that_are_corrected_with_others(folder: Path):
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n7,4\n5,1\n"})
    manifest.seal(folder)
    board = definition.read(folder / definition.FILE).boards[0]
    held = manifest.records(folder, board, "dev")
    assert (held.ids, held.facts["answer"], [*held.facts]) == (["5", "7"], 0.0, ["answer", "other_phases"])
    (folder / "public/one/dev/records.json").unlink()  # as in challenges that were sealed before there was one
    assert manifest.records(folder, board, "dev") == PublicRecords(held.ids, {"answer": 0.0})


def test_a_link_into_the_sealed_folder_is_refused(folder: Path):
    (folder / "public/one/link.csv").symlink_to(folder / "sealed/one/dev/truth.csv")
    assert manifest.public(folder, "one") == ["data/inputs.csv", *RECORDS]
    with pytest.raises(SettingsError, match="found a link"):
        manifest.seal(folder)


def test_labels_that_are_missing_or_twice_are_named_together(folder: Path):
    (folder / "sealed/one/dev/truth.csv").unlink()
    write(folder, {"sealed/one/final/truth.parquet": "x"})
    with pytest.raises(SettingsError, match="sealed/one/dev: expected one file or folder truth") as raised:
        manifest.seal(folder)
    assert not any("found truth.csv, truth.parquet" in problem for problem in raised.value.problems)
    assert any("truth.parquet: expected" in problem and "Parquet" in problem for problem in raised.value.problems)


def rows(folder: Path, phase: str = "dev") -> list[dict[str, object]]:
    return tables.read_table(manifest.truth(folder, "one", phase)).to_dicts()


@pytest.mark.parametrize("name", ["truth.csv", "truth.parquet", "truth.tsv.gz", "truth.npz"])
def test_corrected_labels_in_any_format_take_the_place_of_the_old_ones(folder: Path, name: str, tmp_path_factory):
    corrected = pl.DataFrame({"id": ["1", "2"], "target": [5.5, 6.5], "shifted": [0, 1]})
    place, notes = folder / "sealed/one/dev", list[str]()
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,3\n2,3\n"})
    manifest.seal(folder)
    if name == "truth.csv":  # beside one that was Parquet
        (place / "truth.csv").unlink()
        tables.write_table(corrected.with_columns(target=pl.Series([1.5, 1.5])), place / "truth.parquet")
        manifest.seal(folder)
    before = versions(folder)
    aside = tmp_path_factory.mktemp("new") / name
    if name.endswith(".npz"):
        np.savez(aside, id=np.array([1, 2]), target=np.array([5.5, 6.5]), shifted=np.array([0, 1]))
    elif name.endswith(".gz"):
        aside.write_bytes(gzip.compress(b"id\ttarget\tshifted\n1\t5.5\t0\n2\t6.5\t1\n"))
    else:
        tables.write_table(corrected, aside)
    shutil.copyfile(aside, place / name)
    assert any(name in problem for problem in manifest.check(folder))
    old = next(path for path in place.iterdir() if path.name.startswith("truth") and path.name != name).read_bytes()
    manifest.seal(folder, notes.append)
    assert [path.name for path in sorted(place.iterdir())] == ["nonce", "truth.parquet"]
    assert [row["target"] for row in rows(folder)] == [5.5, 6.5]
    assert [name in each and "replaced by the corrected" in each for each in notes] == [True]
    (copy,) = (folder / "replaced/one/dev").iterdir()
    assert (copy.read_bytes(), str(copy) in notes[0], stat.S_IMODE(copy.stat().st_mode)) == (old, True, 0o600)
    assert [old == new for old, new in zip(before, versions(folder), strict=True)] == [False, True]
    assert manifest.check(folder) == []


def test_corrected_labels_that_are_wrong_or_cannot_be_told_apart_are_refused_and_nothing_is_lost(folder: Path):
    place = folder / "sealed/one/dev"
    write(folder, {"sealed/one/dev/truth.tsv": "id\ttarget\n1\t4\n"})
    with pytest.raises(SettingsError, match=r"truth\.tsv: expected columns id, target and shifted, found no shifted"):
        manifest.seal(folder)
    write(folder, {"sealed/one/dev/truth.tsv": "id\ttarget\tshifted\n1\t4\t2\n"})
    with pytest.raises(SettingsError, match="shifted: expected 0 and 1, found '2' in row 1"):
        manifest.seal(folder)
    assert (place / "truth.csv").read_text() == FILES["sealed/one/dev/truth.csv"]
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,8\n"})
    with pytest.raises(
        SettingsError, match=r"one corrected file beside them, found truth\.csv, truth\.tsv\. Leave one"
    ):
        manifest.seal(folder)
    assert sorted(path.name for path in place.iterdir()) == ["nonce", "truth.csv", "truth.tsv"]


@pytest.mark.parametrize(
    ("rows", "match"),
    [
        ("1,4,0\n2,oops,1\n", r"target: expected numbers as in the labels that it corrects, found 'oops' \(id 2\)"),
        ("1,4,0\n2,inf,1\n", r"target: expected finite numbers, found inf in row 2 \(id 2\)"),
        ("1,4,0\n3,4,1\n", r"found 1 missing and 1 other \(such as 2, 3\)"),
        ("1,4,0\n", r"found 1 missing and 0 others \(such as 2\)"),
    ],
)
def test_corrected_labels_of_another_kind_or_other_records_are_refused_and_nothing_is_lost(folder, rows, match):
    place = folder / "sealed/one/dev"
    (place / "truth.csv").unlink()
    labels = pl.DataFrame({"id": ["1", "2"], "target": [3.0, 4.0], "shifted": [False, True]})
    tables.write_table(labels, place / "truth.parquet")
    manifest.seal(folder)
    before = (place / "truth.parquet").read_bytes()
    write(folder, {"sealed/one/dev/truth.csv": f"id,target,shifted\n{rows}"})
    with pytest.raises(SettingsError, match=match) as raised:
        manifest.seal(folder)
    assert len(raised.value.problems) == 1
    assert (place / "truth.parquet").read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == ["nonce", "truth.csv", "truth.parquet"]
    assert not (folder / "replaced").exists()


def test_bytes_under_another_name_are_told(folder: Path):
    place = folder / "sealed/one/dev"
    (place / "truth.csv").rename(place / "truth.parquet")
    with pytest.raises(SettingsError, match=r"truth\.parquet: expected .*Parquet"):
        manifest.seal(folder)
    assert any("truth.parquet: expected" in problem and "Parquet" in problem for problem in manifest.check(folder))


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"metric": "speed"}, "expected a metric among"), ({"metric": "cross_length_spearman"}, "expected a metric"),
        ({"track": "wether"}, "Did you mean 'weather'"), ({"track": "weather"}, "expected a task among"),
        ({"track": "weather", "task": "warmth"}, "expected a task among"),
    ],
)  # fmt: skip
def test_names_that_mean_nothing_are_refused(changes: dict[str, str], match: str, folder: Path):
    define(folder, **changes)
    with pytest.raises(SettingsError, match=match):
        manifest.seal(folder)


def test_a_damaged_manifest_is_told(folder: Path):
    (folder / manifest.FILE).write_text('{"format": 2, "files": {}}')
    assert ["another format" in problem for problem in manifest.check(folder)] == [True]
    (folder / manifest.FILE).unlink()
    assert ["shiftbench challenge seal" in problem for problem in manifest.check(folder)] == [True]


def test_baselines_and_truth_are_found_by_name(folder: Path):
    assert manifest.truth(folder, "one", "dev") == folder / "sealed/one/dev/truth.csv"
    assert manifest.baselines(folder, "one", "dev") == {"mean": folder / "baselines/one/dev/mean.csv"}
    assert manifest.baselines(folder, "one", "final") == {}
