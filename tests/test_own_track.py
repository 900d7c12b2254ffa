"""A track of another package (examples/own_track), installed into an empty folder, goes through every command."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.forked import Commands

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "examples" / "own_track"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the package is installed, with its entry points."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(PACKAGE, folder / "package")  # setuptools builds beside the sources
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--target", folder / "site", folder / "package"], check=True)
    return folder / "site"


class Own:
    """Commands where the package is installed."""

    def __init__(self, commands: Commands, site: Path, folder: Path) -> None:
        self.commands, self.site, self.folder = commands, site, folder

    def run(self, *words: object) -> str:
        """What a command prints; only `show` draws its picture, which the others would draw alike."""
        small = words[0] != "show"
        done = self.commands.run(*words, folder=self.folder, path=[self.site], small=small)
        assert done.returncode == 0, done.stderr
        assert "warning" not in done.stderr, done.stderr  # of slow commands it also holds how far they are
        return done.stdout

    def refused(self, *words: object) -> str:
        """What a command says that ends with exit code 2."""
        done = self.commands.run(*words, folder=self.folder, path=[self.site], small=True)
        assert done.returncode == 2, done.stderr
        return " ".join(done.stderr.split())


@pytest.fixture
def own(commands: Commands, site: Path, tmp_path: Path) -> Own:
    return Own(commands, site, tmp_path)


def score(report: Path, metric: str, subset: str) -> dict[str, Any]:
    """A score of evaluation; its metric is known only where the package is installed, so the file is read as JSON."""
    rows = json.loads(report.read_text("utf-8"))["scores"]
    found = [row for row in rows if (row["metric"], row["split"], row["subset"]) == (metric, "eval", subset)]
    return next(row for row in found if row["low"] is not None)


def test_the_package_is_small() -> None:
    files = [PACKAGE / "pyproject.toml", *(PACKAGE / "own_track").glob("*.py")]
    assert sum(len(file.read_text("utf-8").splitlines()) for file in files) <= 300


def test_it_goes_through_every_command(own: Own, tmp_path: Path) -> None:
    run, data, made = own.run, "shiftbench-digits-data", "shiftbench-digits"  # where commands write by themselves
    run("example", "digits", "--rows", 900, "--noise", 1.0)
    assert f"next: shiftbench run digits --data {data}" in run("prepare", "digits", "digits.npz")
    run("run", "digits", "--data", data, "--replicates", 100)
    report = tmp_path / made / "digit/report/report.json"
    worst = score(report, "worst_digit", "shifted")
    assert worst["low"] <= worst["value"] <= worst["high"]
    accuracy = {side: score(report, "accuracy", side)["value"] for side in ("in", "shifted")}
    assert accuracy["in"] > accuracy["shifted"] + 0.1
    assert 1 - worst["value"] < accuracy["shifted"]

    predicted = f"{made}/predictions/eval/centroids.parquet"
    run("assess", predicted, "--track", "digits", "--data", data, "--out", "assessed", "--replicates", 50)
    assert score(tmp_path / "assessed/digit/report.json", "worst_digit", "shifted")["value"] == worst["value"]
    assert (tmp_path / "assessed/digit/pictures/digits.png").is_file()
    shutil.copy(tmp_path / predicted, tmp_path / "other.parquet")
    run(
        "compare", predicted, "other.parquet", "--name", "A,B", "--track", "digits", "--data", data,
        "--out", "compared", "--replicates", 50,
    )  # fmt: skip
    compared = json.loads((tmp_path / "compared/digit/report.json").read_text("utf-8"))
    assert {row["difference"] for row in compared["comparisons"]} == {0.0}
    assert "no results that can be compared with printed ones" in run("tables", "digits", made)
    assert "Table 1, own: Errors" in run("tables", "digits", made, "--full")
    run("show", "digits", "digits.npz")
    for command in ("example", "prepare", "run", "show"):
        shown = " ".join(run(command, "digits", "--help").split())
        (default,) = re.findall(r"Output path; default: (\S+)\.", shown)
        assert (tmp_path / default).exists()
    assert (tmp_path / "shiftbench-show/digits.png").is_file()
    assert (tmp_path / "shiftbench-digits-tables/tables.csv").is_file()


@pytest.mark.parametrize("command", ["example", "prepare", "run", "show"])
def test_its_options_are_listed(own: Own, command: str) -> None:
    listed = own.run(command, "digits", "--help")
    assert ("--noise" in listed) == (command == "example")
    assert ("centroids" in listed) == (command == "run")


def test_bad_input_is_refused_in_a_sentence(own: Own, tmp_path: Path) -> None:
    own.run("example", "digits", "--rows", 300, "--out", "digits.npz")
    own.run("prepare", "digits", "digits.npz", "--out", "prepared")
    whole = (tmp_path / "digits.npz").read_bytes()
    for held, found in ((b"", "No data left in file"), (whole[:5_000], "File is not a zip file")):
        (tmp_path / "bad.npz").write_bytes(held)
        said = own.refused("prepare", "digits", "bad.npz", "--out", "other")
        assert f"bad.npz: expected an NPZ file of images, labels, noisy, found: {found}" in said
    run = ("run", "digits", "--data", "prepared", "--replicates", 20, "--out", "run")
    assert (
        "digits does not support --test-set. Drop the option. --test-set is for motion, power, weather, "
        in own.refused(*run, "--test-set", "more=digits.npz")
    )
    own.run(*run)
    files = [f"run/predictions/{split}/centroids.parquet" for split in ("eval", "dev")]
    compare = ("compare", *files, "--name", "A,B", "--track", "digits", "--data")
    assert "error: run/predictions/eval/centroids.parquet: expected a row for each id" in own.refused(
        *compare, "prepared"
    )
    assert "digits.npz: expected a prepared folder" in own.refused(*compare, "digits.npz")
    assert (
        "error: digits: expected a track with printed results, found one without any. Name runs: `shiftbench tables "
        "digits FOLDER`." in own.refused("tables", "digits")
    )
