"""Whole, small files of every format that is read: what the hostile ones are made of."""

from __future__ import annotations

import base64
import functools
import gzip
import io
import json
import os
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.cli import main
from shiftbench.methods.checkpoint import Checkpoint
from shiftbench.report import picture
from tests.cli.conftest import errors_table, weather_like
from tests.hostile import scans
from tests.tracks.motion import made_parts
from tests.tracks.motion.argoverse2 import made as argoverse

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "motion"
ROWS = 60
SETTINGS = """
table = "t.parquet"
target = "y"
unit = "K"
clusters = ["station"]
slices = ["sky"]
drop = ["noise"]
seed = 3
threshold = 1.5
[partition]


group = "region"
shifted = ["hills"]
shares = { train = 0.7, dev_in = 0.1, eval_in = 0.2 }
[partition.where]
shifted = "noise > 0 and sky in ('clear', 'cloud')"
[assessment]
replicates = 10
kind = "percentile"
[[methods]]
name = "mean"
"""
METHODS: dict[str, dict[str, Any]] = {
    "mean": {"name": "mean"},
    "column": {"name": "column", "column": "forecast"},
    "boosting": {"name": "boosting", "iterations": 3},
    "likelihood_boosting": {"name": "likelihood_boosting", "iterations": 3},
    "classes": {"name": "boosting", "iterations": 3},
    "mlp": {"name": "mlp", "epochs": 1},
}
CLIMATES = [(-179.75 + 8 * column, -89.75 + 8 * row, ("Af", "BWh", "Cfb", "Dfc", "ET")[(column + row) % 5])
            for column in range(45) for row in range(22)]  # fmt: skip
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SHIP = """
beam = 32.2
draft_design = 12.8
name = "a ship"
"""


@functools.cache
def table() -> pl.DataFrame:
    """Records with errors, answers and targets, groups, dates, numbers and text."""
    return weather_like(ROWS).with_columns(errors_table(ROWS).drop("id"))


def packed(frame: pl.DataFrame, form: str) -> bytes:
    """A table in a format, by its suffix."""
    into = io.BytesIO()
    if form == "npz":
        kept = [name for name in frame.columns if frame[name].dtype != pl.Date and not frame[name].null_count()]
        np.savez(into, **{name: _plain(frame[name]) for name in kept})
    elif form == "parquet":
        frame.write_parquet(into)
    elif form in ("arrow", "feather"):
        frame.write_ipc(into, compression="zstd" if form == "feather" else "uncompressed")
    elif form.startswith("jsonl"):
        frame.write_ndjson(into)
    else:
        frame.write_csv(into, separator="\t" if form == "tsv" else ",")
    data = into.getvalue()
    return gzip.compress(data, 1, mtime=0) if form.endswith(".gz") else data


def _plain(values: pl.Series) -> Any:
    array = values.to_numpy()
    return array if values.dtype.is_numeric() else array.astype(str)


def archive(form: str, names: tuple[str, ...] = ("a/train.csv", "b.csv"), size: int = 700) -> bytes:
    """A tar, packed or not, or a zip, of some files."""
    into = io.BytesIO()
    if form == "zip":
        with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as zipped:
            for name in names:
                zipped.writestr(name, b"x,y\n" * (size // 4))
        return into.getvalue()
    with tarfile.open(fileobj=into, mode="w:gz" if form == "tar.gz" else "w") as tar:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = size
            tar.addfile(info, io.BytesIO(b"x" * size))
    return into.getvalue()


def shiftbench(*words: object) -> None:
    """Run the command line; it must succeed."""
    sys.argv = ["shiftbench", *map(str, words)]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"expected success, found {end.code}: {words}") from None


def make(folder: Path) -> None:
    """Make all that takes long to make, once: partitions, fits, predictions, a report, scenes, recordings."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chdir(folder)
    frame = table()
    frame.write_parquet("t.parquet")
    Path("s.toml").write_text(SETTINGS)
    shiftbench("partition", "t.parquet", "--group", "region", "--shifted", "hills", "--id", "id", "--out", "parts")
    for name, method in METHODS.items():
        _fit(name, method)
    for name in ("mlp", "column", "classes"):
        shiftbench("predict", f"fit-{name}", "t.parquet", "--id", "id", "--out", f"predicted-{name}.parquet")
    _begin()
    shiftbench("assess", "t.parquet", "--id", "id", "--replicates", "10", "--slice", "sky", "--out", "report")
    for entry in Path("report").iterdir():
        if entry.name != "report.json":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    picture.write([picture.Picture("one", "A record", "What is seen", DOT)], Path("report"))
    made_parts.write(
        Path("scenes"), {name: made_parts.PLACES[name] for name in ("train/000/a.pb", "dev/b.pb", "eval/b.pb")}
    )
    Path("scenes/origin.toml").write_text('origin = "made for tests"\n')
    Path("scenes/imported.jsonl").write_text('{"recording": "one", "scenes": ["a", "b"]}\n')
    shiftbench("prepare", "motion", "scenes", "--out", "prepared-motion", "--executor", "serial", "--set", "size=8")
    shutil.copy(GOLDEN / "groundtruth.pb", "truth.pb")
    shutil.copy(GOLDEN / "submission.pb", "submission.pb")
    argoverse.scenario(Path("recording") / "one")
    _prepare()


def _prepare() -> None:
    """Prepared folders of tables, and a few forecasts without their climates."""
    shiftbench("example", "weather", "--rows", "1000", "--out", "weather.parquet")
    shiftbench("prepare", "weather", "weather.parquet", "--out", "prepared-weather")
    pl.read_parquet("weather.parquet").gather_every(3).drop("climate").write_parquet("bare.parquet")
    shiftbench("example", "power", "--rows", "1000", "--out", "power")
    shiftbench("prepare", "power", "power", "--out", "prepared-power")
    scans.write(Path("scans-lesions"))


def _fit(name: str, method: dict[str, Any]) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in method.items()]
    features = [] if name in ("mean", "column") else ["members = 2"]
    target = "sky" if name == "classes" else "y"
    drop = json.dumps(["target", "answer", "error"])
    text = "\n".join([f'target = "{target}"', 'table = "parts"', *features, f"drop = {drop}", "[method]", *lines])
    Path(f"{name}.toml").write_text(text)
    shiftbench("fit", "parts", "--config", f"{name}.toml", "--out", f"fit-{name}", "--cores", "1")


def _begin() -> None:
    """A fit that was interrupted after its first checkpoint."""
    here = Path.cwd()
    shutil.copytree("parts", "begun/parts")
    shutil.copy("mlp.toml", "begun")
    os.chdir("begun")
    save = Checkpoint.save

    def interrupted(self: Checkpoint, state: Mapping[str, Any]) -> None:
        save(self, state)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "due", True)
        patch.setattr(Checkpoint, "save", interrupted)
        with suppress(RuntimeError):
            shiftbench("fit", "parts", "--config", "mlp.toml", "--out", "out", "--cores", "1")
    os.chdir(here)
    if not Path("begun/.out.making/member_all.ckpt").is_file():
        raise RuntimeError("expected a checkpoint of a fit that was interrupted, found none")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
