"""Labels among what participants download: as they are, in archives, one of a folder, in tables of other formats."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import shutil
import tarfile
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.challenge import contents, creation, definition, exposure, manifest
from shiftbench.challenge.creation import Terms
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.exposure import Labels
from shiftbench.errors import SettingsError, ShiftbenchWarning
from shiftbench.io import tables

RNG = np.random.default_rng(0)
N = 40
LABELS = pl.DataFrame(
    {"id": [f"r{n}" for n in range(N)], "target": RNG.normal(20, 5, N), "shifted": [False, True] * (N // 2)}
)


@pytest.fixture
def truth(tmp_path: Path) -> Path:
    LABELS.write_parquet(tmp_path / "truth.parquet")
    return tmp_path / "truth.parquet"


@pytest.fixture
def public(tmp_path: Path) -> Path:
    (tmp_path / "public").mkdir()
    return tmp_path / "public"


def found(public: Path, truth: Path, *columns: str) -> list[str]:
    return exposure.problems(public, [Labels("final", truth, {truth: columns or ("target",)})])


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return made.getvalue()


def tarred(members: dict[str, bytes], mode: str = "w") -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode=mode) as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return made.getvalue()


ARCHIVES: dict[str, Callable[[bytes], bytes]] = {
    "a.zip": lambda data: zipped({"x.txt": b"x", "in/mask.nii": data}),
    "stored.zip": lambda data: zipped({"in/mask.nii": data}, zipfile.ZIP_STORED),
    "a.tar": lambda data: tarred({"x.txt": b"x", "./in/mask.nii": data}),
    "a.tar.gz": lambda data: tarred({"x.txt": b"x", "in/mask.nii": data}, "w:gz"),
    "a.tgz": lambda data: tarred({"in/mask.nii": data}, "w:gz"),
    "a.tar.bz2": lambda data: tarred({"in/mask.nii": data}, "w:bz2"),
    "a.tar.xz": lambda data: tarred({"in/mask.nii": data}, "w:xz"),
    "a.npz": lambda data: zipped({"x.npy": b"x", "in/mask.nii": data}),
    "a.dat": lambda data: zipped({"in/mask.nii": data}),  # whatever it is called
    "two.zip": lambda data: zipped({"inner.tar.gz": tarred({"in/mask.nii": data}, "w:gz")}),
    "three.tar": lambda data: tarred({"a.zip": zipped({"b.zip": zipped({"in/mask.nii": data})})}),
    "packed.zip": lambda data: zipped({"in/mask.nii.gz": gzip.compress(data)}),
}
PACKED: dict[str, Callable[[bytes], bytes]] = {
    "m.nii.gz": gzip.compress, "m.nii.bz2": bz2.compress, "m.nii.xz": lzma.compress, "m.bin": bytes,
    "blocks.gz": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]) + gzip.compress(b""),
}  # fmt: skip


@pytest.mark.parametrize("name", [*ARCHIVES, *PACKED])
@pytest.mark.parametrize("compressed", [False, True])
def test_one_label_file_of_a_folder_is_found_in_any_archive(name: str, compressed: bool, tmp_path: Path, public: Path):
    masks = {f"truth/{each}/gt.nii{'.gz' * compressed}": RNG.bytes(500) for each in "abc"}
    for path, data in masks.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(gzip.compress(data) if compressed else data)
    told = {tmp_path / path: () for path in masks}
    leaked = masks[f"truth/b/gt.nii{'.gz' * compressed}"]
    (public / name).write_bytes((ARCHIVES | PACKED)[name](leaked))
    (public / "scan.nii").write_bytes(RNG.bytes(500))
    (problem,) = exposure.problems(public, [Labels("final", tmp_path / "truth", told)])
    assert problem.startswith(f"public/{name}: expected what everybody may see, found the sealed labels b/gt.nii")
    assert ("mask.nii" in problem) == (name in ARCHIVES)
    assert problem.endswith(" of the phase final. Remove it.")


def test_several_labels_in_one_archive_are_one_message_that_names_them(tmp_path: Path, public: Path):
    masks = {f"{each}.nii": RNG.bytes(90) for each in "abcde"}
    (tmp_path / "truth").mkdir()
    for name, data in masks.items():
        (tmp_path / "truth" / name).write_bytes(data)
    (public / "a.zip").write_bytes(zipped(masks))
    told = {tmp_path / "truth" / name: () for name in masks}
    (problem,) = exposure.problems(public, [Labels("final", tmp_path / "truth", told)])
    assert "found the sealed labels a.nii in a.nii, the sealed labels b.nii in b.nii, the sealed" in problem
    assert " and 2 more of the phase final" in problem


def test_a_folder_of_which_it_is_not_known_what_tells_labels_counts_as_a_whole(tmp_path: Path, public: Path):
    for name in ("inputs.bin", "labels.bin"):
        (tmp_path / "truth").mkdir(exist_ok=True)
        (tmp_path / "truth" / name).write_bytes(RNG.bytes(100))
    labels = [Labels("final", tmp_path / "truth", {})]
    shutil.copy(tmp_path / "truth/inputs.bin", public)
    assert exposure.problems(public, labels) == []
    (public / "rest.zip").write_bytes(zipped({"labels.bin": (tmp_path / "truth/labels.bin").read_bytes()}))
    assert [each.split(":")[0] for each in exposure.problems(public, labels)] == [
        "public/inputs.bin", "public/rest.zip",
    ]  # fmt: skip


def frame(**columns: object) -> pl.DataFrame:
    """The labels with ids and targets as columns of these names, in another order, beside other columns."""
    made = LABELS.sample(fraction=1.0, shuffle=True, seed=1)
    return made.select(
        pl.Series("noise", RNG.normal(size=N)), pl.Series("count", RNG.integers(0, 9, N)),
        **{name: pl.col(str(of)) if isinstance(of, str) else of for name, of in columns.items()},
    )  # fmt: skip


def write_table(folder: Path, name: str, made: pl.DataFrame) -> None:
    if name.endswith((".zip", ".tar.gz")):
        inner = folder.parent / "inner.csv"
        made.write_csv(inner)
        members = {"deep/inner.csv": inner.read_bytes()}
        (folder / name).write_bytes(zipped(members) if name.endswith("zip") else tarred(members, "w:gz"))
    elif name.endswith(".csv.gz"):
        (folder / name).write_bytes(gzip.compress(made.write_csv().encode()))
    elif name == "semicolon.csv":
        text = made.write_csv(separator="\t").replace(".", ",").replace("\t", ";")
        (folder / name).write_text(text)
    elif name.endswith(".npz"):
        np.savez(folder / name, **{each: made[each].to_numpy() if made[each].dtype != pl.String else
                                   made[each].to_numpy().astype(str) for each in made.columns})  # fmt: skip
    elif name.endswith(".jsonl"):
        made.write_ndjson(folder / name)
    elif name.endswith(".tsv"):
        made.write_csv(folder / name, separator="\t")
    elif name.endswith(".arrow"):
        made.write_ipc(folder / name)
    else:
        tables.write_table(made, folder / name)


FORMATS = ["t.csv", "t.csv.gz", "semicolon.csv", "t.tsv", "t.npz", "t.jsonl", "t.parquet", "t.arrow", "t.zip",
           "t.tar.gz"]  # fmt: skip


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("key", ["id", "case"])
def test_a_table_of_another_format_with_the_targets_under_any_name_is_found(
    name: str, key: str, truth: Path, public: Path
):
    write_table(public, name, frame(**{key: "id", "y": "target"}))
    (problem,) = found(public, truth)
    beside = "" if key == "id" else " beside 'case'"
    assert f"public/{name}: expected what everybody may see, found the targets of 40 sealed records" in problem
    assert f"(column 'y'{beside})" in problem
    assert (" in deep/inner.csv" in problem) == name.endswith((".zip", ".tar.gz"))


@pytest.mark.parametrize(
    "column",
    [
        pl.col("target").cast(pl.Float32),
        pl.col("target").round(2),
        pl.col("target").round(0).cast(pl.Int64),
        pl.col("target").cast(pl.String),
        pl.when(pl.int_range(N) < 25).then(pl.col("target")),
        pl.when(pl.int_range(N) < 25).then(pl.col("target").cast(pl.String)).otherwise(pl.lit("NA")),
    ],
    ids=["single precision", "rounded", "whole", "text", "in part", "in part of a text"],
)
def test_targets_that_were_converted_rounded_or_left_out_in_part_are_found(column: pl.Expr, truth: Path, public: Path):
    write_table(public, "t.parquet", frame(key="id", y=column))
    assert "(column 'y' beside 'key')" in "".join(found(public, truth))


def test_targets_in_their_order_are_found_without_ids(truth: Path, public: Path):
    LABELS.select(y="target").write_csv(public / "y_test.csv")
    assert "the targets of 40 sealed records in their order (column 'y')" in "".join(found(public, truth))


@pytest.mark.parametrize("dtype", [pl.String, pl.Boolean, pl.Int64])
def test_classes_are_found_too(dtype: pl.DataType, tmp_path: Path, public: Path):
    values = pl.Series("target", RNG.integers(0, 2, N)).cast(pl.Boolean if dtype == pl.Boolean else dtype)
    tables.write_table(LABELS.with_columns(values), tmp_path / "truth.parquet")
    LABELS.select(id="id", y=values).write_csv(public / "t.csv")
    assert "(column 'y')" in "".join(found(public, tmp_path / "truth.parquet"))


def test_tables_of_inputs_train_and_near_misses_are_no_labels(truth: Path, public: Path):
    write_table(public, "inputs.csv", frame(id="id"))
    write_table(public, "near.csv", frame(id="id", y=pl.col("target") + 0.6))
    write_table(public, "one.csv", frame(id="id", y=pl.when(pl.col("id") == "r3").then(0).otherwise(pl.col("target"))))
    write_table(public, "forecast.csv", frame(id="id", y=(pl.col("target") + 1).round(0)))
    write_table(public, "train.csv", frame(id=pl.concat_str(pl.lit("t"), pl.col("id")), target="target"))
    write_table(public, "constant.csv", frame(id="id", y=pl.lit(20.0)))
    (public / "README.txt").write_text("id and target: all of r1 is here.\n")
    (public / "empty.csv").touch()
    (public / "broken.parquet").write_bytes(b"PAR1")
    assert found(public, truth) == []


def test_small_numbers_that_are_ids_by_chance_tell_no_classes(tmp_path: Path, public: Path):
    rng = np.random.default_rng(1)
    ids = pl.DataFrame({"id": np.arange(N).astype(str), "target": rng.integers(0, 2, N)})
    tables.write_table(ids, tmp_path / "truth.parquet")
    columns = {f"x{n}": rng.integers(0, 12, 3000) for n in range(9)} | {
        f"b{n}": rng.integers(0, 2, 3000) for n in range(9)
    }
    pl.DataFrame(columns).write_csv(public / "t.csv")
    assert found(public, tmp_path / "truth.parquet") == []


def test_what_cannot_be_looked_through_is_told_and_the_rest_is_searched(truth: Path, public: Path, monkeypatch):
    monkeypatch.setattr(contents, "MOST_UNPACKED", 3_000_000)
    (public / "a.zip").write_bytes(zipped({"a.bin": bytes(10**6)})[:-30])
    (public / "b.tar.xz").write_bytes(tarred({"zeros": bytes(10**7)}, "w:xz"))
    (public / "c.bin.zst").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(100))
    deep = zipped({"x": b"x"})
    for _ in range(5):
        deep = zipped({"x.zip": deep})
    (public / "d.zip").write_bytes(deep)
    secret = bytearray(zipped({"x.csv": b"id\n1\n"}))
    for magic, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        secret[secret.index(magic) + place] |= 1
    (public / "e.zip").write_bytes(secret)
    write_table(public, "z.csv", frame(id="id", y="target"))
    with pytest.warns(ShiftbenchWarning, match="so that nobody has looked") as told:
        assert ["public/z.csv" in each for each in found(public, truth)] == [True]
    texts = [str(each.message) for each in told]
    for name, why in {"a.zip": "cannot be unpacked", "b.tar.xz": "3,000,000 bytes", "c.bin.zst": "zstd",
                      "d.zip": "an archive in 3 others", "e.zip": "a password for x.csv"}.items():  # fmt: skip
        assert any(text.startswith(f"public/{name}: found ") and why in text for text in texts), name


def test_memory_stays_small_whatever_is_public(truth: Path, public: Path):
    size = 30_000_000
    (public / "big.bin").write_bytes(bytes(size))
    (public / "big.zip").write_bytes(zipped({"big.bin": bytes(size)}))
    (public / "big.tar.gz").write_bytes(tarred({"big.bin": bytes(size)}, "w:gz"))
    tracemalloc.start()
    assert found(public, truth) == []
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_files_of_other_sizes_than_labels_are_not_read(truth: Path, public: Path, monkeypatch):
    for name in ("a.bin", "b.nii"):
        (public / name).write_bytes(bytes(10**6))
    (public / "c.nii.gz").write_bytes(gzip.compress(bytes(10**6)))
    (public / "d.zip").write_bytes(zipped({"d.bin": bytes(10**6)}))
    monkeypatch.setattr(exposure, "_digest", lambda *_: pytest.fail("read"))
    assert found(public, truth) == []


# --- doors ------------------------------------------------------------------------------------------------------------


def sealed(folder: Path) -> Path:
    (folder / "sealed/main/final").mkdir(parents=True)
    LABELS.write_parquet(folder / "sealed/main/final/truth.parquet")
    (folder / "public/main").mkdir(parents=True)
    board = Board("main", "Main", "mean_error", (Phase("final", 0, hidden=True),), threshold=1.0)
    definition.write(folder / definition.FILE, Challenge("wind", "Wind", "Predict it.", (board,)))
    manifest.seal(folder)
    return folder


def test_seal_and_check_find_labels_in_an_archive_and_seal_changes_nothing(tmp_path: Path):
    folder = sealed(tmp_path / "c")
    before = manifest.hash_of(folder)
    (folder / "public/main/all.zip").write_bytes(zipped({"t.csv": LABELS.write_csv().encode()}))
    match = r"board main: public/all\.zip: .* targets of 40 sealed records \(column 'target'\) in t\.csv of the phase"
    with pytest.raises(SettingsError, match=match):
        manifest.seal(folder)
    assert any("public/all.zip: expected what everybody may see" in each for each in manifest.check(folder))
    assert manifest.hash_of(folder) == before


def test_new_finds_labels_in_another_format_beside_what_else_is_wrong(tmp_path: Path, public: Path, truth: Path):
    write_table(public, "t.jsonl", frame(name="id", y="target"))
    build = creation.from_files(Terms("W"), track="table", truths={"final": truth}, public=public)
    with pytest.raises(SettingsError, match=r"public/t\.jsonl: .* \(column 'y' beside 'name'\)"):
        creation.add(tmp_path / "w", Terms("W"), build)
    assert not (tmp_path / "w").exists()
    (tmp_path / "b.csv").write_text("id,answer\nr1,1\n")
    build = creation.from_files(
        Terms("W"), track="table", truths={"final": truth}, public=public,
        baselines={"final": {"mine": tmp_path / "b.csv"}},
    )  # fmt: skip
    with pytest.raises(SettingsError, match="uncertainty") as raised:
        creation.add(tmp_path / "w", Terms("W"), build)
    assert any("public/t.jsonl" in problem for problem in raised.value.problems)


def test_a_board_that_is_added_with_labels_among_its_files_leaves_the_challenge_as_it_was(
    tmp_path: Path, public: Path, truth: Path
):
    folder = sealed(tmp_path / "c")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    write_table(public, "t.csv", frame(name="id", y="target"))
    terms = Terms("More", slug="more")
    with pytest.raises(SettingsError, match=r"board more: public/t\.csv"):
        creation.add(folder, terms, creation.from_files(terms, track="table", truths={"f": truth}, public=public))
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
