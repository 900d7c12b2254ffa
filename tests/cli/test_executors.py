"""Members trained elsewhere from the command line: the same bytes, and refused before anything starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Shiftbench


def models(folder: Path) -> dict[str, bytes]:
    """The files of a fit, without the mark of the command that wrote them."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".cbm", ".json")}


@pytest.fixture
def parts(shiftbench: Shiftbench, tmp_path: Path) -> Path:
    assert shiftbench("example", "table", "--rows", 2000).code == 0
    said = shiftbench("partition", "table.parquet", "--config", "table.toml", "--out", "parts")
    assert said.code == 0, said.err
    return tmp_path / "parts"


FIT = ("fit", "parts", "--config", "table.toml", "--method", "boosting", "--members", 3)


def test_an_array_trains_the_members_of_a_fit_to_the_same_bytes(
    shiftbench: Shiftbench, parts: Path, made_up_slurm: Path, tmp_path: Path
) -> None:
    assert shiftbench(*FIT, "--out", "here", "--executor", "processes", "--workers", 2).code == 0
    said = shiftbench(*FIT, "--out", "there", "--executor", "slurm", "--workers", 2)
    assert said.code == 0, said.err
    assert models(tmp_path / "there") == models(tmp_path / "here")
    assert {"member_02.cbm", "member_02.json"} <= models(tmp_path / "here").keys()
    assert (made_up_slurm / "asked").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--executor", "threads"), "Unknown executor 'threads'. Known: processes, ray, serial, slurm"),
        (("--executor", "ray=127.0.0.1:9"), "expected a cluster at 127.0.0.1:9, found: "),
        (("--executor", "ray=here"), "expected ray=HOST:PORT or ray=local"),
        (("--executor", "slurm"), "expected the command sbatch on PATH, found none"),
    ],
)
def test_an_executor_that_is_not_there_is_refused_and_leaves_nothing(
    shiftbench: Shiftbench,
    parts: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    says: str,
) -> None:
    if "ray" in words[1]:
        pytest.importorskip("ray")
    monkeypatch.setenv("PATH", str(tmp_path))
    before = sorted(path.name for path in tmp_path.iterdir())
    said = shiftbench(*FIT, "--out", "model", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    said = shiftbench("run", "table.parquet", "--config", "table.toml", "--out", "run", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
