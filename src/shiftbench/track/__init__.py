"""The contract of a track of a benchmark, and the options of its commands."""

from __future__ import annotations

from shiftbench.pipeline.study import Result
from shiftbench.track.contract import (
    MANIFEST,
    Arrays,
    BatchJob,
    Example,
    Import,
    Intake,
    Prepared,
    Run,
    RunOptions,
    ScoredFiles,
    Show,
    Task,
    Track,
    read_manifest,
)
from shiftbench.track.option import Option

__all__ = [
    "MANIFEST",
    "Arrays",
    "BatchJob",
    "Example",
    "Import",
    "Intake",
    "Option",
    "Prepared",
    "Result",
    "Run",
    "RunOptions",
    "ScoredFiles",
    "Show",
    "Task",
    "Track",
    "read_manifest",
]
