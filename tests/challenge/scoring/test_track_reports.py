"""Reports on boards of tracks tell of single records only once labels are released: no id, no value, text or picture.

`tests.challenge.web.test_reports` holds the same of the server and of an organiser's table.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment import assess
from shiftbench.challenge import forms, manifest, scoring
from shiftbench.challenge.definition import Board
from shiftbench.io import files
from shiftbench.scores.intervals import Settings
from shiftbench.tracks import track
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.submission import write_submission
from shiftbench.tracks.motion.submissions.submitted import Submission
from tests import small_presets

from .challenges import HIDDEN, parsed

N, PATIENTS, LEAST = 60, 24, 10  # records; those between two points of a curve
TOLD = re.compile(r"kestrel\w*|(?<![\w.])7\d\d,?\d\d\d(?![\w,])")  # names and texts of records; targets of tables
RNG = np.random.default_rng(0)
NAMES = [f"kestrel{n}" for n in range(N)]
SPREAD = RNG.uniform(0.5, 1.5, N)
SHIFTED = np.arange(N) % 2 == 0


def numbers(name: str, place: Path, aside: Path) -> Path:
    """Targets between 700,000 and 800,000, and normal distributions around about 1 beside them."""
    targets = 700_000 + RNG.choice(99_000, N, replace=False) + RNG.integers(0, 1000, N) / 1000
    target = track(name).tasks[0].target
    pl.DataFrame({"id": NAMES, target: targets, "shifted": SHIFTED}).write_parquet(place / "truth.parquet")
    means = targets + SPREAD * RNG.normal(size=N)
    pl.DataFrame({"id": NAMES, "mean": means, "std": SPREAD}).write_csv(aside / "mine.csv")
    return aside / "mine.csv"


def trajectories(_: str, place: Path, aside: Path) -> Path:
    """Vehicles on straight ways, and other ways that miss them."""
    steps = np.arange(1, FUTURE + 1)[:, None] * np.array([1.0, 0.1])
    truth = Submission(
        np.array([f"scene-{name}" for name in NAMES], dtype=object), np.arange(N, dtype=np.uint64),
        np.stack([steps * speed for speed in RNG.uniform(0.5, 2, N)]), np.ones(N), np.ones(N, dtype=np.intp), SPREAD,
        SHIFTED,
    )  # fmt: skip
    write_submission(truth, place / "truth.pb")
    missed = truth.trajectories + SPREAD[:, None, None] * RNG.normal(size=(N, FUTURE, 2))
    return write_submission(replace(truth, trajectories=missed, is_ood=np.zeros(N, dtype=bool)), aside / "mine.pb")


def texts(_: str, place: Path, aside: Path) -> Path:
    """Sentences of words of their own."""
    words = ["the", "a", "big", "small", "old", "new", "house", "dog", "bird", "tree", "runs", "sees", "finds"]
    sentences = [" ".join([*RNG.choice(words, 6), name]) for name in NAMES]
    rows = [{"id": name, "source": f"source {text}", "reference": [text], "shifted": bool(shifted)}
            for name, text, shifted in zip(NAMES, sentences, SHIFTED, strict=True)]  # fmt: skip
    files.write_text(place / "truth.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    given = [
        {"id": name, "hypotheses": [{"text": " ".join(RNG.permutation(text.split())), "confidence": 1.0}],
         "uncertainty": float(value)}
        for name, text, value in zip(NAMES, sentences, SPREAD, strict=True)
    ]  # fmt: skip
    return files.write_text(aside / "mine.jsonl", "".join(json.dumps(row) + "\n" for row in given))


def maps(_: str, place: Path, aside: Path) -> Path:
    """Lesions of a few voxels in scans of 8 × 8 × 8, of patients at a site inside and one that is shifted."""
    (place / "truth").mkdir()
    rows, affine = list[dict[str, str]](), np.diag([2.0, 2.0, 2.0, 1.0])
    with zipfile.ZipFile(aside / "mine.zip", "w") as archive:
        for name, shifted in zip(NAMES[:PATIENTS], SHIFTED[:PATIENTS], strict=True):
            mask = np.zeros((8, 8, 8), dtype=bool)
            x, y, z = RNG.integers(0, 4, 3)
            mask[x : x + 3, y : y + 3, z : z + 3] = True
            nifti.write(place / "truth" / f"{name}.nii", mask, affine)
            rows.append({"patient": name, "part": "eval_out" if shifted else "eval_in", "gt": f"{name}.nii"})
            shares = np.clip(0.7 * mask + RNG.uniform(0, 0.6, mask.shape), 0, 1).astype(np.float32)
            made = nifti.write(aside / f"{name}_prob.nii", shares, affine)
            archive.write(made, made.name)
    pl.DataFrame(rows).write_csv(place / "truth" / "patients.csv")
    return aside / "mine.zip"


MADE: dict[str, Callable[[str, Path, Path], Path]] = {
    "weather": numbers, "power": numbers, "motion": trajectories, "translation": texts, "lesions": maps,
}  # fmt: skip


@pytest.mark.parametrize("name", MADE)
def test_reports_on_a_track_tell_nothing_of_a_record_before_labels_are_released(name, tmp_path, monkeypatch):
    small_presets.blank_pictures(monkeypatch)
    build = assess.build
    monkeypatch.setattr(
        assess, "build", lambda data, made: build(data, replace(made, intervals=Settings(replicates=20)))
    )
    place = tmp_path / "challenge/sealed/main/evaluation"
    place.mkdir(parents=True)
    file = MADE[name](name, place, tmp_path)
    board = Board("main", "Main", "mean_error", (HIDDEN,), track=name, task=track(name).tasks[0].name)
    truth = manifest.truth(tmp_path / "challenge", "main", "evaluation")
    arrays, problems = forms.validated(forms.of(board).intake, file, forms.records(board, truth))
    assert problems == []
    places = {team: parsed(tmp_path / team, arrays) for team in ("ben", "eve")}

    def written(which: dict[str, Path], *, records: bool) -> tuple[dict[str, str], Path]:
        out = tmp_path / f"{'-'.join(which)}-{records}"
        scoring.report(tmp_path / "challenge", board, HIDDEN, which, out, records=records)
        held = {path.relative_to(out).as_posix(): path.read_text("utf-8", errors="ignore") for path in out.rglob("*")
                if path.is_file()}  # fmt: skip
        return held, out

    n = PATIENTS if name == "lesions" else N
    for which in ({"ben": places["ben"]}, places)[: 1 if name == "lesions" else 2]:  # which take ten times as long
        held, out = written(which, records=False)
        telling = {path: sorted({*TOLD.findall(text)})[:3] for path, text in held.items() if TOLD.search(text)}
        assert telling == {}
        assert not [path for path in held if "records" in path]
        report = json.loads((out / "report.json").read_text())
        kinds = {
            curve["kind"] for curve in report["curves"]
        }  # coverage: of all records, at levels that are always the same
        assert {"error_retention", "roc"} <= kinds
        assert "density" not in kinds
        for curve in report["curves"]:
            assert curve["kind"] == "coverage" or len(curve["x"]) <= n // LEAST + 1, curve["kind"]
        assert not report.get("notable")
    held, _ = written({"ben": places["ben"]}, records=True)
    assert any("kestrel" in text for text in held.values())  # else nothing was proved
