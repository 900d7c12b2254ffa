"""JSON lines: one object a line; what one lacks is missing."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.tables import columns, dtypes, problem
from shiftbench.tables.source import source


def read_jsonl(file: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """The table in JSON lines, or its named columns.

    Raises:
        TableError: naming every line that is no JSON object.
    """
    data = source(file)[1][:].removeprefix(codecs.BOM_UTF8)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except problem.POLARS as error:
        said = f"{file}: expected JSON lines, found: {problem.first_line(error)}."
        raise TableError(*(_bad_lines(file, data) or [said])) from None
    columns.require_names(frame.columns, names or (), where=str(file))
    return dtypes.with_times(frame if names is None else frame.select(names))


def _bad_lines(file: Path, data: bytes) -> list[str]:
    problems = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            value = json.loads(line, parse_constant=_refuse) if line.strip() else {}
        except ValueError as error:
            problems.append(f"{file}: line {number}: expected a JSON object, found: {error}. Write missing as null.")
        else:
            if not isinstance(value, dict):
                problems.append(f"{file}: line {number}: expected a JSON object, found {type(value).__name__}.")
    return problem.few(problems)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")
