"""Members trained elsewhere from the command line: the same bytes, and refused before anything starts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench


def models(folder: Path) -> dict[str, bytes]:
    """The files of a fit, without what it took and the mark of the command that wrote them."""
    apart = ("cost.json", ".shiftbench.json")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name not in apart}


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
    for name in ("here", "there"):
        spent = json.loads((tmp_path / name / "cost.json").read_text("utf-8"))["stages"]["fit"]
        assert spent["done"]
        assert min(spent["seconds"], spent["cpu_seconds"], spent["peak_bytes"]) > 0
    assert not (tmp_path.parent / "cost").exists()
    assert not (tmp_path / "cost").exists()  # which is that of a run
    assert (made_up_slurm / "asked").exists()


def run_and_predict(shiftbench: Shiftbench, out: str, *words: object) -> dict[str, bytes]:
    """Every file of models and predictions that a run with three methods leaves, and a file of new predictions."""
    run = ("run", "table.parquet", "--config", "run.toml", "--out", out, "--replicates", 20)
    done = shiftbench(*run, *words)
    assert done.code == 0, done.err
    done = shiftbench("predict", f"{out}/model/mixed", "table.parquet", "--out", f"{out}.parquet", *words)
    assert done.code == 0, done.err
    found = {path: path for name in ("model", "predictions") for path in Path(out, name).rglob("*") if path.is_file()}
    found[Path("new")] = Path(f"{out}.parquet")
    return {str(name).removeprefix(f"{out}/"): path.read_bytes() for name, path in found.items()}


def test_all_executors_give_the_same_models_and_predictions(
    shiftbench: Shiftbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shiftbench.methods.parts.RECORDS", 700)
    assert shiftbench("example", "table", "--rows", 2000).code == 0
    own = "[[methods]]\nname = '{}'\n{}\n"
    methods = [("boosting", "members = 2\niterations = 40"), ("mlp", "members = 2\nepochs = 2")]
    methods += [("combination", "title = 'mixed'\nof = ['boosting', 'mlp']")]
    text = Path("table.toml").read_text("utf-8").partition("\n[method]")[0]
    Path("run.toml").write_text("\n".join([text, *(own.format(*each) for each in methods)]), "utf-8")
    here = run_and_predict(shiftbench, "here", "--executor", "serial")
    assert run_and_predict(shiftbench, "side", "--executor", "processes", "--workers", 2) == here
    pytest.importorskip("ray")
    assert run_and_predict(shiftbench, "ray", "--executor", "ray=local", "--workers", 2) == here
    for out in ("here", "side", "ray"):  # what it took is kept apart from what must be the same
        spent = {each.system: each for each in Report.load(Path(out, "report/report.json")).costs}
        assert spent.keys() == {"boosting", "mlp", "mixed"}
        assert all(min(each.fit_cpu_seconds, each.fit_bytes, each.predict_seconds) > 0 for each in spent.values())
    assert not [path for path in tmp_path.rglob(".*") if path.name.endswith((".part", ".making"))]
    assert {"model/mlp/member_01.pt", "model/boosting/member_01.cbm", "predictions/mixed.parquet", "new"} <= here.keys()


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
    assert shiftbench("fit", "parts", "--target", "demand_mw", "--method", "mean", "--out", "mean").code == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    before = sorted(path.name for path in tmp_path.iterdir())
    said = shiftbench(*FIT, "--out", "model", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    said = shiftbench("run", "table.parquet", "--config", "table.toml", "--out", "run", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    said = shiftbench("predict", "mean", "table.parquet", "--out", "p.parquet", *words)
    assert (said.code, says in said.err) == (2, True), said.err
    assert sorted(path.name for path in tmp_path.iterdir()) == before
