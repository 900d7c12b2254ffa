"""Reports for every renderer, made once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from shiftbench.report import write
from shiftbench.report.content import Report

from .factory import REPORTS


@pytest.fixture(scope="session", params=list(REPORTS))
def report(request: pytest.FixtureRequest) -> Report:
    return REPORTS[request.param]()


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Path]]:
    """The hardest reports, in every format, on disk; no library has anything to warn of."""
    folder = tmp_path_factory.mktemp("reports")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return {name: write(REPORTS[name](), folder / name) for name in ("hostile", "one_record")}
