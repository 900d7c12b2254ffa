"""Hostile files of every format that is read, each with the command that reads it; all follow from a seed alone.

| what the package opens | formats here |
|---|---|
| tables/ (CSV, JSON lines, Parquet, Arrow, NPZ, packed) | "…, damaged", "…, other columns", "compared" |
| settings, partition/manifest, ship files | "settings", "fit settings", "partitions", "ship" |
| methods/ (record, notes, calibration, weights, models) | "fit of …"; checkpoints and what is half made: "begun fit" |
| predictions, report/content, report/picture | "predictions", "report", "pictures" |
| assessment/forms | "forecasts" |
| output/ (mark, journal), intake/prepared_folder | "marked folder", "prepared weather", "prepared power" |
| intake/sources, intake/reading, fetch/unpacking | "weather …", "power …", "motion tar", "fetched tar" |
| fetch/download, fetch/record | "http answers", "fetched tar" |
| tracks/weather/climate | "climates" |
| tracks/motion/scenes, prepared | "scene", "scenes", "prepared scenes" |
| tracks/lesions | "lesion scans", "lesion table", "lesion predictions" |
| tracks/translation | "text outputs", "text sets" |
| tracks/motion/submissions, argoverse2 | "submission", "argoverse recording" |

Not here, but tested beside their code: the job of a Slurm array (tests/executor), and what a process of ours tells
another while it lives (executor/processes, methods/workers, data sets and plans of the motion track). Not yet here:
the notes of a track's run (track.toml, run.json) and of an import that was interrupted.
"""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import tomli_w

from tests.hostile import bases, downloads, forecasts, leftovers, scans, texts
from tests.hostile.mutations import (
    NAMES,
    TOKENS,
    Rng,
    damaged,
    edited,
    json_bytes,
    nested,
    one_of,
    pick,
    retyped,
    revalued,
    spoil,
)  # fmt: skip

Words = list[str]
Make = Callable[[Path, Path, Rng], Words]
"""Given the whole files, an empty folder and a generator: writes the hostile files there, and returns the command."""

RULES = ("--group", "region", "--shifted", "hills")
CONDITIONS = (
    "x > 1", "not (x > 1)", "noise / x > 1 or sky == 'clear'", "date < '1970-01-10'", "sky in ('clear', 'x')",
    "abs(x - y) % 2 < 1", "is_null(x)",
)  # fmt: skip


def _dividing(table: str, rng: Rng) -> Words:
    words = ["partition", table, "--out", "out", *RULES]
    if rng.random() < 0.3:
        words += ["--id", "id"]
    for option, column in (
        ("--time", "date"),
        ("--cluster", "station"),
        ("--by", "station"),
        ("--cluster", "sky+date"),
    ):
        if rng.random() < 0.3:
            words += [option, column if rng.random() < 0.7 else pick(rng, *bases.table().columns)]
    return words


def _assessing(table: str, rng: Rng, command: str = "assess") -> Words:
    words = [command, table, "--out", "out", "--replicates", "10", "--cores", "1"]
    for option in ("--slice", "--cluster", "--shifted", "--uncertainty", "--error", "--id", "--target", "--answer"):
        if rng.random() < 0.15:
            words += [option, pick(rng, *bases.table().columns)]
    return words


def _table(form: str, changed: bool) -> Make:
    def make(whole: Path, here: Path, rng: Rng) -> Words:
        frame = bases.table().head(int(rng.choice([3, 20, bases.ROWS])))
        if changed:
            frame = retyped(frame, rng)
        try:
            data = bases.packed(frame, form)
        except (
            pl.exceptions.PolarsError,
            TypeError,
            ValueError,
            pl.exceptions.PanicException,
        ):  # it holds no such type
            data = bases.packed(bases.table(), form)
            changed_here = False
        else:
            changed_here = changed
        text = form in ("csv", "tsv", "txt", "jsonl")
        if not changed_here:
            data = edited(data, rng) if text and rng.random() < 0.6 else damaged(data, rng)
        name = f"t.{form}"
        (here / name).write_bytes(data)
        return _dividing(name, rng) if rng.random() < ASSESSED else _assessing(name, rng)

    return make


ASSESSED = 0.99  # the share of tables that are only divided, which takes a tenth of the time of a report


def _rezipped(whole: Path, here: Path, rng: Rng) -> Words:
    """An NPZ of hostile members, in whichever packing."""
    data, into = bases.packed(bases.table(), "npz"), io.BytesIO()
    way = int(rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA]))
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(into, "w", way) as target:
        for info in source.infolist():
            member = source.read(info)
            if rng.random() < 0.3:
                header = bytearray(member[:128])
                member = bytes(_header(header, rng)) + member[128:]
            name = info.filename if rng.random() < 0.97 else NAMES[rng.integers(len(NAMES))]
            target.writestr(name.partition("\0")[0] or "x", member)  # where an archive ends a name
    data = into.getvalue()
    (here / "t.npz").write_bytes(damaged(data, rng) if rng.random() < 0.5 else data)
    return _dividing("t.npz", rng)


def _header(header: bytearray, rng: Rng) -> bytearray:
    text = pick(
        rng, "(9999999999999,)", "(-1,)", "(" * 90, "()", "(60,60)", "'|O'", "'<f8,<f8'", "[('a','<f8')]",
        "'<U99999999999'", "{}", "9" * 60,
        "'<M8[ns]'", "'V0'", "'<U0'",
    ).encode()  # fmt: skip
    place = int(rng.integers(0, 100))
    header[place : place + len(text)] = text
    return header[:128].ljust(128)


def _options(whole: Path, here: Path, rng: Rng) -> Words:
    """Hostile words for a whole table."""
    bases.table().write_parquet(here / "t.parquet")
    option = pick(
        rng,
        "--time",
        "--id",
        "--cluster",
        "--by",
        "--shifted-if",
        "--fractions",
        "--gap",
        "--shares",
        "--in-domain",
        "--seed",
    )
    token = TOKENS[rng.integers(len(TOKENS))].decode("utf-8", "replace").replace("\0", "")
    condition = CONDITIONS[rng.integers(len(CONDITIONS))]
    if option == "--shifted-if":
        token = edited(condition.encode(), rng, b" ()'").decode("utf-8", "replace").replace("\0", "")
    return ["partition", "t.parquet", *RULES[: 2 * int(rng.integers(2)) + 2], option, token, "--out", "out"]


def _settings(whole: Path, here: Path, rng: Rng) -> Words:
    shutil.copy(whole / "t.parquet", here)
    data = bases.SETTINGS.encode()
    match int(rng.integers(6)):
        case 0:
            data = damaged(data, rng)
        case 1:
            data = edited(data, rng, b"=\n")
        case 2:
            depth = int(rng.choice([10, 100, 900, 5_000]))
            data += b"\nx = " + (nested(depth, rng) if rng.random() < 0.7 else b"{a=" * depth + b"1" + b"}" * depth)
        case _:
            value = tomllib.loads(bases.SETTINGS)
            for _ in range(int(rng.choice([1, 1, 2]))):
                value = revalued(value, rng)
            try:
                data = tomli_w.dumps(value).encode()
            except (TypeError, ValueError, AttributeError):
                data = damaged(data, rng)
    (here / "s.toml").write_bytes(data)
    if rng.random() < ASSESSED:
        return ["partition", "t.parquet", "--config", "s.toml", "--out", "out"]
    return ["run", "--config", "s.toml", "--out", "out", "--cores", "1"]


def _parts(whole: Path, here: Path, rng: Rng) -> Words:
    """A folder of partitions, one of its files damaged, its manifest perhaps right about it."""
    shutil.copytree(whole / "parts", here / "parts")
    path = one_of(here / "parts", rng)
    spoil(path, rng)
    if path.name != "manifest.json" and rng.random() < 0.7:
        manifest = json.loads((here / "parts/manifest.json").read_text())
        manifest["files"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        (here / "parts/manifest.json").write_text(json.dumps(manifest))
    if rng.random() < ASSESSED:
        return ["fit", "parts", "--target", "y", "--method", "mean", "--out", "out"]
    return ["run", "parts", "--target", "y", "--method", "mean", "--replicates", "10", "--out", "out", "--cores", "1"]


def _fitted(method: str) -> Make:
    def make(whole: Path, here: Path, rng: Rng) -> Words:
        shutil.copy(whole / "t.parquet", here)
        shutil.copytree(whole / f"fit-{method}", here / "fit")
        path = one_of(here / "fit", rng)
        if path.suffix == ".pt" and rng.random() < 0.5:
            data = damaged(path.read_bytes()[32:], rng)
            path.write_bytes(hashlib.sha256(data).digest() + data)
        elif path.suffix == ".pt" and rng.random() < 0.5:
            _odd_weights(path, rng)
        else:
            spoil(path, rng)
        if rng.random() < 0.8:  # the notes are right about what they should be about
            fit = hashlib.sha256((here / "fit/settings.json").read_bytes()).hexdigest()
            for note in (here / "fit").glob("member_*.json"):
                member = next(file for file in note.parent.glob(f"{note.stem}.*") if file != note)
                try:
                    noted = json.loads(note.read_text())
                    noted |= {"fit": fit, "sha256": hashlib.sha256(member.read_bytes()).hexdigest()}
                except (ValueError, TypeError, RecursionError):
                    continue
                note.write_text(json.dumps(noted))
        return ["predict", "fit", "t.parquet", "--id", "id", "--out", "out.parquet", "--cores", "1"]

    return make


def _odd_weights(path: Path, rng: Rng) -> None:
    import torch

    content = io.BytesIO(path.read_bytes()[32:])
    weights = torch.load(content, weights_only=True)
    if isinstance(weights, dict) and weights and rng.random() < 0.8:
        key = list(weights)[rng.integers(len(weights))]
        odd = (
            None,
            3,
            "x",
            [],
            {},
            torch.zeros(0),
            torch.zeros(3, 3, 3),
            torch.full((2,), float("nan")),
            torch.zeros(2, dtype=torch.int8),
        )
        weights[key] = odd[rng.integers(len(odd))]
    else:
        weights = ([], 3, None, {"fit": 1}, {"fit": [1], "state": 3})[rng.integers(5)]
    into = io.BytesIO()
    torch.save(weights, into)
    path.write_bytes(hashlib.sha256(into.getvalue()).digest() + into.getvalue())


def _predictions(whole: Path, here: Path, rng: Rng) -> Words:
    shutil.copy(whole / "t.parquet", here)
    kind = pick(rng, "mlp", "column", "classes")
    source = whole / f"predicted-{kind}.parquet"
    frame = pl.read_parquet(source)
    metadata = pl.read_parquet_metadata(source)["shiftbench"]
    match int(rng.integers(4)):
        case 0:
            (here / "p.parquet").write_bytes(damaged(source.read_bytes(), rng))
        case 1:
            changed = json_bytes(metadata.encode(), rng).decode("utf-8", "replace")
            frame.write_parquet(here / "p.parquet", metadata={"shiftbench": changed})
        case 2:
            try:
                retyped(pl.read_parquet(whole / "t.parquet"), rng).write_parquet(here / "t.parquet")
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                (here / "t.parquet").write_bytes(damaged((whole / "t.parquet").read_bytes(), rng))
            shutil.copy(source, here / "p.parquet")
        case _:
            frame = retyped(frame, rng)
            try:
                frame.write_parquet(here / "p.parquet", metadata={"shiftbench": metadata})
            except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
                (here / "p.parquet").write_bytes(damaged(source.read_bytes(), rng))
    words = _assessing("p.parquet", rng)[:8]
    return [
        *words,
        "--truth",
        "t.parquet",
        "--target",
        "sky" if kind == "classes" else "y",
        *(["--slice", "station"] if rng.random() < 0.5 else []),
    ]


def _report(whole: Path, here: Path, rng: Rng) -> Words:
    (here / "report.json").write_bytes(json_bytes((whole / "report/report.json").read_bytes(), rng))
    return ["report", "report.json", "--out", "out"]


def _scene(whole: Path, here: Path, rng: Rng) -> Words:
    (here / "scene.pb").write_bytes(damaged(sorted(whole.rglob("scenes/**/*.pb"))[0].read_bytes(), rng))
    return ["show", "motion", "scene.pb", "--no-gif", "--out", "out"]


def _scenes(whole: Path, here: Path, rng: Rng) -> Words:
    shutil.copytree(whole / "scenes", here / "scenes")
    for _ in range(int(rng.choice([1, 2]))):
        path = one_of(here / "scenes", rng)
        data = path.read_bytes()
        path.write_bytes(
            edited(data, rng, b" \n\t:=,") if path.suffix != ".pb" and rng.random() < 0.5 else damaged(data, rng)
        )
    return ["prepare", "motion", "scenes", "--out", "out", "--executor", "serial", "--set", "size=8"]


def _submission(whole: Path, here: Path, rng: Rng) -> Words:
    for name in ("truth.pb", "submission.pb"):
        data = (whole / name).read_bytes()
        (here / name).write_bytes(damaged(data, rng) if name == "submission.pb" or rng.random() < 0.2 else data)
    return [
        "assess",
        "submission.pb",
        "--track",
        "motion",
        "--data",
        "truth.pb",
        "--replicates",
        "5",
        "--out",
        "out",
        "--cores",
        "1",
    ]


def _recording(whole: Path, here: Path, rng: Rng) -> Words:
    shutil.copytree(whole / "recording", here / "recording")
    path = one_of(here / "recording", rng)
    spoil(path, rng)
    return ["import", "argoverse2", "recording", "--out", "out", "--executor", "serial"]


def _official(track: str, form: str) -> Make:
    """A table or an archive in place of a track's official one."""

    def make(whole: Path, here: Path, rng: Rng) -> Words:
        if form in ("tar", "tar.gz", "zip"):
            names = (
                (NAMES[rng.integers(len(NAMES))] or "x", "train.csv")
                if rng.random() < 0.3
                else ("a/train.csv", "b/dev_in.csv")
            )
            data = bases.archive(form, tuple(name.replace("\0", "")[:900] or "x" for name in names))
            data = damaged(data, rng) if rng.random() < 0.8 else data
        else:
            data = damaged(
                bases.packed(retyped(bases.table(), rng) if form == "parquet0" else bases.table(), form), rng
            )
        (here / f"d.{form}").write_bytes(data)
        return ["prepare", track, f"d.{form}", "--out", "out"]

    return make


def _ship(whole: Path, here: Path, rng: Rng) -> Words:
    data = bases.SHIP.encode()
    data = edited(data, rng, b"=\n") if rng.random() < 0.6 else damaged(data, rng)
    (here / "ship.toml").write_bytes(data)
    return ["example", "power", "--ship", "ship.toml", "--rows", pick(rng, 1_000, 1_000, 999, 10**18), "--out", "out"]


def _counts(whole: Path, here: Path, rng: Rng) -> Words:
    what = pick(rng, "table", "weather", "power", "motion")
    rows = pick(rng, 10**18, 2**63, 10**400, 10**12, 10**10, -1, 0, 1, "1e9", "x", "9" * 5_000)
    return ["example", what, "--rows", rows, "--out", "out.parquet" if what in ("table", "weather") else "out"]


def _fetched(form: str) -> Make:
    """An archive fetched before, unpacked; the hash of its record is right."""

    def make(whole: Path, here: Path, rng: Rng) -> Words:
        names = tuple((NAMES[rng.integers(len(NAMES))] or "x").replace("\0", "")[:900] for _ in range(2))
        data = bases.archive("tar", names if rng.random() < 0.5 else ("a/train.csv", "b.csv"))
        (here / "to").mkdir()
        (here / "to/canonical-partitioned-dataset.tar").write_bytes(damaged(data, rng) if rng.random() < 0.8 else data)
        if rng.random() < 0.3:
            (here / "to/fetched.json").write_bytes(
                json_bytes(b'{"canonical-partitioned-dataset.tar": {"url": "u", "size": 3}}', rng)
            )
        return ["fetch", "weather", "--accept-licence", "--to", "to", "--url", "http://127.0.0.1:9/x.tar"]

    return make


def _compared(whole: Path, here: Path, rng: Rng) -> Words:
    bases.table().write_parquet(here / "a.parquet")
    frame = retyped(bases.table(), rng)
    try:
        frame.write_parquet(here / "b.parquet")
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        (here / "b.parquet").write_bytes(damaged((here / "a.parquet").read_bytes(), rng))
    words = _assessing("a.parquet", rng, "compare")
    return [*words[:2], "b.parquet", *words[2:]]


FORMATS: dict[str, tuple[int, Make]] = {
    **{f"{form}, damaged": (weight, _table(form, changed=False)) for form, weight in {
        "csv": 12, "tsv": 4, "txt": 3, "csv.gz": 4, "jsonl": 8, "jsonl.gz": 3, "parquet": 12, "arrow": 6,
        "feather": 6, "npz": 5,
    }.items()},
    **{f"{form}, other columns": (weight, _table(form, changed=True)) for form, weight in {
        "csv": 4, "jsonl": 4, "parquet": 12, "feather": 6, "npz": 3,
    }.items()},
    "npz, other members": (6, _rezipped),
    "options": (6, _options),
    "settings": (10, _settings),
    "partitions": (8, _parts),
    "fit of mean": (4, _fitted("mean")),
    "fit of column": (3, _fitted("column")),
    "fit of boosting": (2, _fitted("boosting")),
    "fit of likelihood": (2, _fitted("likelihood_boosting")),
    "fit of classes": (2, _fitted("classes")),
    "fit of mlp": (6, _fitted("mlp")),
    "begun fit": (4, leftovers.begun),
    "fit settings": (4, leftovers.configured),
    "marked folder": (4, leftovers.marked),
    "prepared weather": (2, leftovers.prepared("weather")),
    "prepared power": (2, leftovers.prepared("power")),
    "prepared scenes": (3, leftovers.prepared_scenes),
    "pictures": (1, leftovers.pictured),
    "climates": (3, leftovers.climates),
    "http answers": (8, downloads.answered),
    "predictions": (2, _predictions),
    "forecasts": (3, forecasts.make),
    "report": (2, _report),
    "scene": (2, _scene),
    "scenes": (4, _scenes),
    "submission": (2, _submission),
    "argoverse recording": (4, _recording),
    "weather table": (3, _official("weather", "csv")),
    "weather parquet": (3, _official("weather", "parquet")),
    "weather tar": (3, _official("weather", "tar")),
    "power tar.gz": (2, _official("power", "tar.gz")),
    "power zip": (2, _official("power", "zip")),
    "power csv": (3, _official("power", "csv")),
    "motion tar": (2, _official("motion", "tar")),
    "ship": (4, _ship),
    "counts": (3, _counts),
    "fetched tar": (3, _fetched("tar")),
    "compared": (1, _compared),
    "lesion scans": (4, scans.prepared),
    "lesion table": (2, scans.listed),
    "lesion predictions": (1, scans.predicted),
    "text outputs": (4, texts.assessed),
    "text sets": (2, texts.prepared),
}  # fmt: skip


def names(count: int) -> list[str]:
    """The formats of cases 0 … count - 1, each in proportion to its weight and all mixed."""
    turns = [(turn / weight, name) for name, (weight, _) in FORMATS.items() for turn in range(1, weight + 1)]
    order = [name for _, name in sorted(turns)]
    return [order[case % len(order)] for case in range(count)]


def make(name: str, seed: int, whole: Path, here: Path) -> Words:
    """Write the hostile files of a case into an empty folder; returns the words of its command."""
    return FORMATS[name][1](whole, here, np.random.default_rng([seed, *name.encode()]))
