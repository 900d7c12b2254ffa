"""Checks that the columns a run uses hold one kind of value each."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase

import polars as pl

from shiftbench import keys, tables
from shiftbench.errors import TableError
from shiftbench.settings import Settings

LABELS = ("group", "by", "apart")  # rules whose columns are only compared with each other


def require_uniform(frame: pl.DataFrame, settings: Settings, *, where: str) -> None:
    """Check that no column with a role, and no possible feature, is text that is mostly numbers or dates.

    Raises:
        TableError: naming every such column, with rows counted from 1 and what to do.
    """
    rules = settings.partition
    labels = _there(frame, [*settings.clusters, *(str(rules[role]) for role in LABELS if rules.get(role))])
    values = _there(frame, [*settings.slices, *([str(rules["time"])] if rules.get("time") else [])])
    if settings.task is None:
        values.append(settings.target)
    settled = {*labels, *values, settings.target, str(rules.get("id") or "id")}
    patterns = (*settings.drop, *settings.keep)
    features = [
        name for name in frame.columns if name not in settled and not any(fnmatchcase(name, each) for each in patterns)
    ]
    problems: list[str] = []
    for names, own_labels, advice in (
        (values, labels, ""),
        (features, [], "If these are codes, name the column with --keep; if it is not needed, with --drop."),
    ):
        try:
            tables.require_uniform(frame, names, where=where, labels=own_labels, advice=advice)
        except TableError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)


def _there(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The existing columns behind names such as `city` or `city+state`; missing ones are reported elsewhere."""
    return [part for name in names for part in keys.parts(name, frame.columns) if part in frame.columns]
