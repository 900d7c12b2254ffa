"""Hostile files of strangers end as failed submissions of theirs, with either database, and the queue goes on."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.challenge import definition
from shiftbench.challenge.sandbox import Limits
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.worker import Worker

from .challenges import HIDDEN, answers, clock, sealed, submit, truth
from .test_sandbox import _parquet_bomb, _pickle


def _file(make, folder: Path) -> bytes:
    make(folder / "file")
    return (folder / "file").read_bytes()


def _twice_and_foreign(frame: pl.DataFrame) -> bytes:
    more = pl.concat([frame, frame.head(1), frame.head(1).with_columns(id=pl.lit("foreign"))])
    return more.write_csv().encode()


def test_hostile_files_fail_in_words_and_a_file_called_like_the_labels_is_scored(databases, tmp_path: Path):
    folder, state, ledger = sealed(tmp_path / "challenge"), tmp_path / "state", Ledger(databases.url(), clock=clock)
    good = answers(truth(), 1.0)
    buffer = io.BytesIO()
    good.write_parquet(buffer)
    hostile = {
        "bomb.parquet": _file(_parquet_bomb, tmp_path),
        "pickle.csv": _file(_pickle, tmp_path),
        "../../sealed/main/evaluation/truth.csv": _twice_and_foreign(good),
        "nan.csv": good.with_columns(answer=pl.lit(np.nan)).write_csv().encode(),
    }
    sent = [submit(state, ledger, "ours", content, phase=HIDDEN, name=name) for name, content in hostile.items()]
    last = submit(state, ledger, "ours", buffer.getvalue(), phase=HIDDEN, name="truth.parquet")
    (state / "parsed").mkdir()
    limits = Limits(memory=2 * 2**30, cpu_s=60, wall_s=120)
    worker = Worker(state, folder, definition.read(folder / definition.FILE), ledger, limits=limits)
    while worker.step():
        pass
    for number in sent:
        found = ledger.submission(number)
        assert (found.state, found.fault) == ("failed", "submission"), found
        assert all("expected" in problem and str(tmp_path) not in problem for problem in found.problems)
    assert ledger.submission(last).state == "scored"
    assert ledger.log_size() == 1
    assert not (state / "faults").exists()
    ledger.close()
