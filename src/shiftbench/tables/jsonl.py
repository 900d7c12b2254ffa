"""JSON lines: one object a line; what one lacks is missing."""

from __future__ import annotations

import codecs
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import TableError
from shiftbench.tables import columns, dtypes, problem
from shiftbench.tables.source import source

KEY = r'"(?:[^"\\]|\\.)*"\s*:'


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
    if repeated := _repeated_keys(file, data):
        raise TableError(*repeated)
    columns.require_names(frame.columns, names or (), where=str(file))
    return dtypes.with_times(frame if names is None else frame.select(names))


def _repeated_keys(file: Path, data: bytes) -> list[str]:
    """The problems of objects with a key twice, of which polars keeps one."""
    keys = pl.Series("line", data.decode("utf-8", "replace").split("\n")).str.extract_all(KEY)
    twice = keys.list.len() > keys.list.n_unique()
    problems = []
    lines = data.split(b"\n") if twice.any() else []
    for place in twice.arg_true():  # keys of objects inside the object may be the same
        found = set[str]()

        def noticed(pairs: list[tuple[str, Any]], found: set[str] = found) -> dict[str, Any]:
            names = [name for name, _ in pairs]
            found |= {name for name in names if names.count(name) > 1}
            return dict(pairs)

        json.loads(lines[place], object_pairs_hook=noticed)
        if found:
            shown = ", ".join(map(repr, sorted(found)[: problem.MOST_LISTED]))
            problems.append(f"{file}: line {place + 1}: expected each key once, found more than once: {shown}.")
    return problem.few(problems)


def _bad_lines(file: Path, data: bytes) -> list[str]:
    problems = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            value = json.loads(line, parse_constant=_refuse) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            problems.append(f"{file}: line {number}: expected a JSON object, found: {error}. Write missing as null.")
        else:
            if not isinstance(value, dict):
                problems.append(f"{file}: line {number}: expected a JSON object, found {type(value).__name__}.")
    return problem.few(problems)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")
