"""The version has one source, whatever the metadata of an old installation say."""

from __future__ import annotations

import importlib.metadata
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import shiftbench

ROOT = Path(__file__).resolve().parents[1]


def test_a_report_has_the_version_of_the_code_that_made_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "0.0.1")  # an editable installation of long ago
    rng = np.random.default_rng(0)
    report = shiftbench.assess(rng.random(40), rng.random(40))
    assert report.recipe["versions"]["shiftbench"] == shiftbench.__version__ != "0.0.1"


def test_the_package_the_citation_and_the_changelog_name_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/shiftbench/__init__.py"
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text("utf-8"), re.MULTILINE)
    released = re.findall(r"^## ([0-9.]+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert cited is not None
    assert cited[1] == released[0] == shiftbench.__version__


def test_no_module_asks_the_installation_for_the_version() -> None:
    asking = re.compile(r"""\bversion(_of)?\(["']shiftbench["']\)""")
    found = [path.name for path in (ROOT / "src").rglob("*.py") if asking.search(path.read_text("utf-8"))]
    assert found == []
