"""The contract of a track of a benchmark, and the options of its commands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from shiftbench.track.public_records import PublicRecords

if TYPE_CHECKING:
    from shiftbench.pipeline.study import Result

__all__ = [
    "MANIFEST",
    "Arrays",
    "BatchJob",
    "Example",
    "Import",
    "Intake",
    "Option",
    "Prepared",
    "PublicRecords",
    "Result",
    "Run",
    "RunOptions",
    "ScoredFiles",
    "Show",
    "Task",
    "Track",
    "read_manifest",
]


def __getattr__(name: str) -> Any:
    """`Result`, imported when first used: readers of files of strangers import this room in no time."""
    if name == "Result":
        from shiftbench.pipeline.study import Result

        return Result
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
