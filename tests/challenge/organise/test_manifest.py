"""The manifest of a challenge's folder: versions of labels, privacy, and every change told."""

from __future__ import annotations

import gzip
import json
import shutil
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.errors import SettingsError, ShiftbenchWarning
from shiftbench.io import files, tables
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
    *_, copy = sorted((folder / "replaced/one/dev").iterdir())  # those before were replaced in their place
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
    before, kept = (place / "truth.parquet").read_bytes(), {*(folder / "replaced").rglob("*")}
    write(folder, {"sealed/one/dev/truth.csv": f"id,target,shifted\n{rows}"})
    with pytest.raises(SettingsError, match=match) as raised:
        manifest.seal(folder)
    assert len(raised.value.problems) == 1
    assert (place / "truth.parquet").read_bytes() == before
    assert sorted(path.name for path in place.iterdir()) == ["nonce", "truth.csv", "truth.parquet"]
    assert {*(folder / "replaced").rglob("*")} == kept


# --- replaced in their place ------------------------------------------------------------------------------------------


def test_labels_that_others_replace_in_their_place_are_kept_and_told_with_what_to_do(folder: Path):
    place, notes, before = folder / "sealed/one/dev", list[str](), versions(folder)
    old = (place / "truth.csv").read_bytes()
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,4\n"})
    manifest.seal(folder, notes.append)
    (copy,) = (folder / "replaced/one/dev").iterdir()
    assert (copy.read_bytes(), stat.S_IMODE(copy.stat().st_mode)) == (old, 0o600)
    assert stat.S_IMODE(copy.parent.stat().st_mode) == 0o700
    (note,) = notes
    assert note.startswith("sealed/one/dev/truth.csv: 1 file replaced or removed since")
    assert note.endswith(f"{copy}. Scores of the old ones stay until all are scored again, on the desk of the server.")
    assert [old == new for old, new in zip(before, versions(folder), strict=True)] == [False, True]
    assert manifest.check(folder) == []
    manifest.seal(folder, notes.append)
    assert (len(notes), len([*(folder / "replaced/one/dev").iterdir()])) == (1, 1)  # once is enough


def test_labels_of_other_records_in_the_place_of_the_sealed_ones_are_told_as_a_possible_mistake(folder: Path):
    notes = list[str]()
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n7,4\n"})
    manifest.seal(folder, notes.append)
    assert "Is it a mistake? " in notes[0]
    assert "found 1 missing and 1 other (such as 1, 7)" in notes[0]


def masks(folder: Path, **texts: str) -> None:
    write(folder, {f"sealed/one/dev/truth/{name}/gt.dat": text for name, text in texts.items()})


def test_files_of_a_folder_of_labels_are_kept_under_their_names_when_they_are_replaced_or_removed(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("shiftbench.challenge.forms.records", lambda *_: None)
    monkeypatch.setattr("shiftbench.challenge.forms.labels", lambda *_: {})
    write(tmp_path, {"public/one/x.csv": "id,x\n1,2\n", "sealed/one/final/truth.csv": "id,target\n2,3\n"})
    masks(tmp_path, a="one", b="two", c="three")
    define(tmp_path)
    manifest.seal(tmp_path)
    notes = list[str]()
    masks(tmp_path, a="another", d="new")
    (tmp_path / "sealed/one/dev/truth/b/gt.dat").unlink()
    manifest.seal(tmp_path, notes.append)
    kept = {path.relative_to(tmp_path / "replaced/one/dev").as_posix().split("-", 1)[1]: path.read_text()
            for path in (tmp_path / "replaced").rglob("*") if path.is_file()}  # fmt: skip
    assert kept == {"truth/a/gt.dat": "one", "truth/b/gt.dat": "two"}
    assert "2 files replaced or removed" in notes[0]
    assert f"{tmp_path / 'replaced/one/dev'}/" in notes[0]


def test_what_was_sealed_before_there_were_copies_is_told_to_be_lost_and_kept_from_then_on(folder: Path):
    shutil.rmtree(folder / "copies")
    notes = list[str]()
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,4\n"})
    manifest.seal(folder, notes.append)
    assert "there is no copy, as an earlier version has sealed the challenge: keep your own" in notes[0]
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,5\n"})
    manifest.seal(folder, notes.append)
    assert [path.read_text() for path in (folder / "replaced/one/dev").iterdir()] == ["id,target\n1,4\n"]


def test_a_challenge_that_cannot_be_sealed_keeps_its_copies_and_its_manifest(folder: Path):
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,4\n", "sealed/one/final/truth.csv": "id\n1\n"})
    before = manifest.hash_of(folder)
    with pytest.raises(SettingsError, match="target"):
        manifest.seal(folder)
    assert manifest.hash_of(folder) == before
    write(folder, {"sealed/one/final/truth.csv": FILES["sealed/one/final/truth.csv"]})
    notes = list[str]()
    manifest.seal(folder, notes.append)
    assert [path.read_text() for path in (folder / "replaced/one/dev").iterdir()] == [
        FILES["sealed/one/dev/truth.csv"]
    ]  # fmt: skip


def test_copies_are_private_and_of_what_is_sealed_now_alone(folder: Path):
    write(folder, {"sealed/one/dev/truth.csv": "id,target\n1,4\n"})
    manifest.seal(folder)
    copies = [*(folder / "copies").iterdir()]
    assert {stat.S_IMODE(path.stat().st_mode) for path in (folder / "copies", *copies)} == {0o600, 0o700}
    assert {path.name for path in copies} == {
        files.sha256(path) for path in (folder / "sealed").rglob("*") if path.is_file()
    }
    copies[0].chmod(0o644)
    assert ["open to others" in problem for problem in manifest.check(folder)] == [True]


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sealed/one/dev/truth_corrected.csv", "sealed/one/dev: "), ("sealed/one/dev/notes.txt", "sealed/one/dev: "),
        ("sealed/one/truth.csv", "sealed/one: "), ("sealed/one/other/truth.csv", "sealed/one/other: "),
        ("sealed/one/dev/old/nonce", "sealed/one/dev/old: "), ("sealed/two/dev/truth.csv", "sealed/two/dev: "),
    ],
)  # fmt: skip
def test_files_of_other_names_among_the_sealed_ones_are_refused_by_name(name: str, told: str, folder: Path):
    before = manifest.hash_of(folder)
    write(folder, {name: "id,target\n1,9\n"})
    file = name.rpartition("/")[2]
    match = rf"^{told}expected labels called truth or truth\.\*.*, found {file}\. Call corrected labels so"
    with pytest.raises(SettingsError, match=match) as raised:
        manifest.seal(folder)
    assert len(raised.value.problems) == 1
    told_twice = [problem for problem in manifest.check(folder) if file in problem and "open to others" not in problem]
    assert ["expected labels called" in problem for problem in told_twice] == [True]
    assert manifest.hash_of(folder) == before


def test_several_files_of_other_names_are_told_together(folder: Path):
    write(folder, {f"sealed/one/dev/{name}": "x" for name in ("a.csv", "b.csv")} | {"sealed/one/final/c": "x"})
    with pytest.raises(SettingsError, match=r"found a\.csv, b\.csv\.") as raised:
        manifest.seal(folder)
    assert len(raised.value.problems) == 2


def test_files_of_other_names_that_an_earlier_version_sealed_stay_part_of_the_version_with_a_warning(folder: Path):
    write(folder, {"sealed/one/dev/notes.txt": "mine"})
    path = folder / manifest.FILE
    held = json.loads(path.read_text())
    held["files"]["sealed/one/dev/notes.txt"] = files.sha256(folder / "sealed/one/dev/notes.txt")
    path.write_text(json.dumps(held))
    before = versions(folder)
    with pytest.warns(ShiftbenchWarning, match=r"sealed/one/dev/notes\.txt: nobody reads it"):
        manifest.seal(folder)
    assert versions(folder) == before


def test_what_sealing_and_tables_put_beside_labels_is_no_other_file(folder: Path):
    write(folder, dict.fromkeys(("sealed/one/final/source_ids.parquet", "sealed/one/final/seed.json"), "x"))
    manifest.seal(folder)


def test_a_damaged_manifest_can_be_made_anew(folder: Path):
    (folder / manifest.FILE).write_text("{")
    notes = list[str]()
    manifest.seal(folder, notes.append)
    assert (len(notes), manifest.check(folder)) == (1, [])


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
