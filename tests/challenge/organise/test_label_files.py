"""The labels of each track that the host's page shows are labels of which a challenge is made, and its seed's hash."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shiftbench.challenge import creation
from shiftbench.challenge.creation import SEED
from shiftbench.tracks import names, track
from shiftbench.tracks.lesions import nifti
from shiftbench.tracks.motion.submissions.submission import read_submission, write_submission
from tests.cli.conftest import Shiftbench

DOCS = Path(__file__).parents[3] / "docs" / "host-a-challenge.md"


def shown(name: str) -> str:
    """The file that the page shows for a track."""
    found = re.search(rf'^```\w+ title="{name}: [^"]+"\n(.*?)^```$', DOCS.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert found, f"no labels of {name} on the page"
    return found[1]


def _weather(place: Path, name: str = "weather") -> None:
    (place / "truth.csv").write_text(shown(name))


def _power(place: Path) -> None:
    _weather(place, "power")


def _translation(place: Path) -> None:
    (place / "truth.jsonl").write_text(shown("translation"))


def _lesions(place: Path) -> None:
    (place / "truth").mkdir()
    (place / "truth" / "patients.csv").write_text(shown("lesions"))
    mask = np.zeros((8, 8, 8), dtype=bool)
    mask[3:6, 3:6, 3:6] = True
    for name in re.findall(r"\S+\.nii\.gz", shown("lesions").replace(",", " ")):
        (place / "truth" / name).parent.mkdir(exist_ok=True)
        nifti.write(place / "truth" / name, mask, np.diag([1.0, 1.0, 1.0, 1.0]))


def _motion(place: Path) -> None:
    """The page names two forms: scenes, which `challenge new motion` makes, and a submission of what came true."""
    intake = track("motion").intake
    assert intake is not None
    assert "is_ood" in DOCS.read_text("utf-8")
    read = read_submission(intake.example(place, None))
    first, ones = np.cumsum([0, *read.counts[:-1]]), np.ones(len(read.counts))
    true = replace(
        read, trajectories=read.trajectories[first] + 1.0, weights=ones, counts=ones.astype(int), is_ood=ones > 1
    )
    write_submission(true, place / "truth.pb")
    for path in place.glob("example*"):
        path.unlink()


@pytest.mark.parametrize("name", names())
def test_a_challenge_is_made_of_the_labels_that_the_page_shows(shiftbench: Shiftbench, tmp_path: Path, name: str):
    place = tmp_path / "given" / "evaluation"
    place.mkdir(parents=True)
    globals()[f"_{name}"](place)
    tasks = [task.name for task in track(name).tasks]
    task = ["--task", tasks[0]] if len(tasks) > 1 else []
    said = shiftbench("challenge", "new", "given", "--track", name, "--out", "made", *task)
    assert said.code == 0, said.err
    assert json.loads((tmp_path / "made/public/main/evaluation/records.json").read_text("utf-8"))["ids"]


def test_the_command_of_the_page_gives_the_commitment_to_the_seed(tmp_path: Path):
    place = creation.Place(tmp_path, "main")
    place.commit()
    (command,) = re.findall(r"^python3 -c .*seed\.json.*$", DOCS.read_text("utf-8"), re.MULTILINE)
    done = subprocess.run(
        command, shell=True, cwd=place.sealed("evaluation", SEED).parent, capture_output=True, text=True, check=True
    )  # fmt: skip
    told = json.loads(place.public(creation.SPLIT).read_text("utf-8"))
    assert done.stdout.strip() == told["commitment"]
    assert "without the newline" in told["about"]
