"""Whole, small files of every format that is read: what the hostile ones are made of."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.cli import main
from tests.cli.conftest import errors_table, weather_like
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
SHIP = """
beam = 32.2
draft_design = 12.8
name = "a ship"
"""


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
    for method in ("mean", "column", "boosting", "mlp"):
        words: dict[str, Any] = {"name": method}
        words |= {"column": {"column": "forecast"}, "boosting": {"iterations": 3}, "mlp": {"epochs": 1}}.get(method, {})
        _fit(method, words)
    shiftbench("predict", "fit-mlp", "t.parquet", "--id", "id", "--out", "predicted.parquet")
    shiftbench("assess", "t.parquet", "--id", "id", "--replicates", "10", "--slice", "sky", "--out", "report")
    for entry in Path("report").iterdir():
        if entry.name != "report.json":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    made_parts.write(
        Path("scenes"), {name: made_parts.PLACES[name] for name in ("train/000/a.pb", "dev/b.pb", "eval/b.pb")}
    )
    shutil.copy(GOLDEN / "groundtruth.pb", "truth.pb")
    shutil.copy(GOLDEN / "submission.pb", "submission.pb")
    argoverse.scenario(Path("recording") / "one")


def _fit(method: str, words: dict[str, Any]) -> None:
    lines = [f"{key} = {json.dumps(value)}" for key, value in words.items()]
    features = [] if method in ("mean", "column") else ["members = 2"]
    text = "\n".join(
        ['target = "y"', 'table = "parts"', *features, 'drop = ["target", "answer", "error"]', "[method]", *lines]
    )
    Path(f"{method}.toml").write_text(text)
    shiftbench("fit", "parts", "--config", f"{method}.toml", "--out", f"fit-{method}", "--cores", "1")


if __name__ == "__main__":
    make(Path(sys.argv[1]))
