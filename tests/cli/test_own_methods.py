"""Methods of other people's packages: named by their module, or registered by entry points."""

from __future__ import annotations

import importlib
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from shiftbench import methods
from shiftbench.errors import SettingsError, ShiftbenchWarning, UnknownNameError
from shiftbench.methods import METHODS
from shiftbench.registry import Registry
from tests.cli.conftest import Shiftbench, weather_like

PAGE = Path(__file__).resolve().parents[2] / "docs" / "adding-a-method.md"


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package `own` on sys.path, whose module `line` is the one of the documentation."""
    folder = tmp_path / "site" / "own"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    (folder / "line.py").write_text(re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)[0])
    monkeypatch.syspath_prepend(str(folder.parent))
    importlib.invalidate_caches()
    yield folder
    for name in [name for name in sys.modules if name.partition(".")[0] == "own"]:
        del sys.modules[name]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.parquet"
    weather_like().write_parquet(path)
    return path


@pytest.mark.usefixtures("package")
def test_a_method_of_ones_own_runs_beside_ours_and_is_repeated_from_its_settings(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    out, again = tmp_path / "out", tmp_path / "again"
    words = ["--target", "y", "--replicates", "20"]
    done = shiftbench("run", table, *words, "--method", "own.line", "--out", out)
    assert done.code == 0, done.err
    assert "own.line" in done.out
    predicted = pl.read_parquet(next((out / "predictions").rglob("own*line.parquet")))
    settings = next(out.rglob("*.toml"))
    assert 'name = "own.line:METHOD"' in settings.read_text()
    assert shiftbench("run", "--config", settings, "--out", again).code == 0
    assert pl.read_parquet(next((again / "predictions").rglob("own*line.parquet"))).equals(predicted)


@pytest.mark.usefixtures("package")
def test_a_method_of_ones_own_is_fitted_alone_and_found_again_to_predict(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    assert shiftbench("partition", table, "--out", tmp_path / "parts").code == 0
    fit = ("fit", tmp_path / "parts", "--target", "y", "--method", "own.line:METHOD", "--out", tmp_path / "model")
    assert shiftbench(*fit).code == 0
    done = shiftbench("predict", tmp_path / "model", table, "--out", tmp_path / "p.parquet")
    assert done.code == 0, done.err
    assert methods.fitted(tmp_path / "model").title == "Least squares"


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("own.nothing", r"expected a module that can be imported, found ModuleNotFoundError: .*PYTHONPATH"),
        ("own.line:NOTHING", r"expected a shiftbench\.methods\.contract\.Method at own\.line:NOTHING, found nothing"),
        ("own.line:Settings", "at own.line:Settings, found type"),
        (".line", "expected a module that can be imported"),
        ("../x", "expected a module that can be imported, as package.module:NAME"),
    ],
)
def test_a_module_without_a_method_is_refused(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, name: str, message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        methods.method(name)
    done = shiftbench("run", table, "--target", "y", "--method", name, "--out", tmp_path / "out")
    assert done.code == 2
    assert "expected" in done.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("t.parquet", "--target", "y", "--method", "vector"), "method vector: expected one for regression, found one "
         "for trajectories. Choose another: boosting,"),
        (("motion", "--data", "t.parquet", "--method", "mlp"), "Unknown method 'mlp'. Known: cloning, imitative, v"),
    ],
)  # fmt: skip
def test_a_method_of_other_data_is_refused(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    table.rename("t.parquet")
    said = shiftbench("run", *words, "--out", "out")
    assert (said.code, message in said.err) == (2, True), said.err
    assert [path.name for path in tmp_path.iterdir()] == ["t.parquet"]


def registered(folder: Path, monkeypatch: pytest.MonkeyPatch, **points: str) -> None:
    """Give the package these entry points, and let the registry look for them anew."""
    info = folder.parent / "own-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own\nVersion: 1.0\n")
    lines = [f"{name} = {value}" for name, value in points.items()]
    (info / "entry_points.txt").write_text("\n".join(["[shiftbench.methods]", *lines]) + "\n")
    anew = Registry("method", methods.Method, "shiftbench.methods", lazy={"mean": "shiftbench.methods.constant:MEAN"})
    monkeypatch.setattr(methods, "METHODS", anew)


def test_a_registered_method_has_a_name_of_its_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    registered(package, monkeypatch, least_squares="own.line:METHOD")
    assert methods.method("least_squares").title == "Least squares"
    with pytest.raises(UnknownNameError, match="Did you mean 'least_squares'"):
        methods.method("least_square")


def test_entry_points_that_cannot_be_had_are_each_named_in_one_warning_and_break_nothing(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered(package, monkeypatch, mean="own.line:METHOD", broken="own.absent:METHOD", other="own.line:Settings")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert methods.method("mean").title == "Training mean"
        assert sorted(methods.METHODS) == ["mean"]
    told = [str(each.message) for each in caught if issubclass(each.category, ShiftbenchWarning)]
    for name in ("mean = own.line", "broken = own.absent", "other = own.line"):
        assert sum(name in text for text in told) == 1


def test_ours_are_registered_under_their_names() -> None:
    assert {name: method.name for name, method in METHODS.items()} == {name: name for name in METHODS.names()}
