"""What earlier commands have left, damaged: prepared folders, marks, journals, begun fits, pictures, climates."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

import polars as pl

from tests.hostile import bases
from tests.hostile.mutations import NAMES, Rng, damaged, edited, json_bytes, one_of, pick, retyped, spoil

Words = list[str]
FOREIGN = "mine.txt"  # a file that no command has made


def prepared(track: str) -> Callable[[Path, Path, Rng], Words]:
    """A prepared folder of tables, one of its notes damaged. The run reads them and ends at a test set of no use."""

    def make(whole: Path, here: Path, rng: Rng) -> Words:
        shutil.copytree(whole / f"prepared-{track}", here / "prepared")
        path = here / "prepared" / pick(rng, "data.json", "data.json", "manifest.json", "leakage.json", "train.parquet")
        spoil(path, rng)
        (here / "odd.csv").write_text("a,b\n1,2\n")
        return ["run", track, "--data", "prepared", "--test-set", "odd=odd.csv", "--out", "out", "--cores", "1"]

    return make


def prepared_scenes(whole: Path, here: Path, rng: Rng) -> Words:
    """A prepared folder of scenes, damaged, read by an assessment or met again by the command that made it."""
    shutil.copytree(whole / "prepared-motion", here / "out")
    spoil(one_of(here / "out", rng), rng)
    if rng.random() < 0.5:
        shutil.copy(whole / "submission.pb", here)
        (here / "out").rename(here / "data")
        words = ["assess", "submission.pb", "--track", "motion", "--data", "data", "--replicates", "5"]
        return [*words, "--out", "out", "--cores", "1"]
    shutil.copytree(whole / "scenes", here / "scenes")
    return ["prepare", "motion", "scenes", "--out", "out", "--executor", "serial", "--set", "size=8"]


def marked(whole: Path, here: Path, rng: Rng) -> Words:
    """An output folder with a file of the user's in it, whose mark or journal is damaged, to be overwritten."""
    shutil.copy(whole / "t.parquet", here)
    shutil.copytree(whole / "parts", here / "out")
    (here / "out" / FOREIGN).write_text("not made by shiftbench\n")
    mark, journal = here / "out/.shiftbench.json", here / ".out.shiftbench"
    if rng.random() < 0.6:
        mark.write_bytes(json_bytes(mark.read_bytes(), rng))
    else:
        (here / "out" / FOREIGN).unlink()
        state = (whole / "begun/.out.shiftbench").read_bytes()
        journal.write_bytes(json_bytes(state, rng) if rng.random() < 0.7 else damaged(state, rng))
    words = ["partition", "t.parquet", "--group", "region", "--shifted", "hills", "--id", "id", "--out", "out"]
    return [*words, "--overwrite"] if rng.random() < 0.8 else words


def begun(whole: Path, here: Path, rng: Rng) -> Words:
    """A fit that was interrupted: its checkpoint, its record or its journal damaged; the same command goes on."""
    shutil.copytree(whole / "begun", here, dirs_exist_ok=True)
    path = one_of(here / ".out.making", rng) if rng.random() < 0.4 else here / ".out.making/member_all.ckpt"
    if rng.random() < 0.1:
        path = here / ".out.shiftbench"
    if path.suffix == ".ckpt" and rng.random() < 0.8:
        path.write_bytes(_odd_checkpoint(path.read_bytes(), rng))
    else:
        spoil(path, rng)
    return ["fit", "parts", "--config", "mlp.toml", "--out", "out", "--cores", "1"]


def _odd_checkpoint(data: bytes, rng: Rng) -> bytes:
    """Another value somewhere in the state, under a hash that is right."""
    import io

    import torch

    whole = torch.load(io.BytesIO(data[32:]), weights_only=True)
    state = whole["state"]
    place = sorted(state)[rng.integers(len(state))]
    odd = (None, -1, 10**9, "x", [], {}, [None], torch.zeros(0), torch.full((3,), float("nan")), torch.zeros(2, 2, 2))
    value = odd[rng.integers(len(odd))]
    if isinstance(state[place], dict) and state[place] and rng.random() < 0.6:
        inner = list(state[place])
        state[place][inner[rng.integers(len(inner))]] = value
    elif rng.random() < 0.2:
        del state[place]
    else:
        state[place] = value
    into = io.BytesIO()
    torch.save(whole, into)
    return hashlib.sha256(into.getvalue()).digest() + into.getvalue()


def configured(whole: Path, here: Path, rng: Rng) -> Words:
    """Settings of a fit."""
    shutil.copytree(whole / "parts", here / "parts")
    data = (whole / "mean.toml").read_bytes()
    data = edited(data, rng, b"=\n") if rng.random() < 0.6 else damaged(data, rng)
    (here / "mean.toml").write_bytes(data)
    return ["fit", "parts", "--config", "mean.toml", "--out", "out", "--cores", "1"]


def pictured(whole: Path, here: Path, rng: Rng) -> Words:
    """A report with pictures beside it: their index, a picture or a name in it damaged."""
    shutil.copytree(whole / "report", here / "report")
    index, picture = here / "report/pictures/pictures.json", here / "report/pictures/one.png"
    way = rng.random()
    if way < 0.7:
        index.write_bytes(json_bytes(index.read_bytes(), rng))
    elif way < 0.9:
        picture.write_bytes(damaged(picture.read_bytes(), rng)[:-1] if rng.random() < 0.5 else NAMES[20].encode())
    else:
        picture.unlink()
    return ["report", "report", "--out", "out"]


def climates(whole: Path, here: Path, rng: Rng) -> Words:
    """A table of climates by coordinates for forecasts that lack theirs."""
    shutil.copy(whole / "bare.parquet", here)
    frame = pl.DataFrame(bases.CLIMATES, schema=["longitude", "latitude", "koppen"], orient="row")
    form = pick(rng, "csv", "tsv", "parquet", "jsonl", "csv.gz")
    if rng.random() < 0.5:
        try:
            data = bases.packed(retyped(frame, rng), form)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError, ValueError):
            data = damaged(bases.packed(frame, form), rng)
    else:
        text = form in ("csv", "tsv", "jsonl") and rng.random() < 0.6
        data = (edited if text else damaged)(bases.packed(frame, form), rng)
    (here / f"climates.{form}").write_bytes(data)
    return ["prepare", "weather", "bare.parquet", "--climate", f"climates.{form}", "--out", "out"]
