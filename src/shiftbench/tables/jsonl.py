"""JSON Lines: one object per line; absent keys are missing values."""

from __future__ import annotations

import codecs
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.errors import TableError
from shiftbench.tables import columns, dtypes, problem
from shiftbench.tables.source import source

KEY = r'"(?:[^"\\]|\\.)*"\s*:'
# A string of JSON, which ends with its line at the latest; without backtracking, so that time is linear.
STRING = re.compile(rb'"[^"\\\n]*(?:\\[^\n][^"\\\n]*)*\\?(?:"|(?=\n)|\Z)')
DEEPEST = 32  # levels of nesting; what polars takes to find the types of a table grows with their cube
LONGEST_INTEGER = 38  # digits, for polars
BLOCK = 1 << 24  # bytes looked at together
_STEPS = np.zeros(256, dtype=np.int8)
_STEPS[list(b"{[")], _STEPS[list(b"}]")] = 1, -1
_OTHERS = bytes(np.flatnonzero(_STEPS == 0).astype(np.uint8))


def read_jsonl(file: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """The table in JSON lines, or its named columns.

    Raises:
        TableError: naming every line that is not a JSON object, or is nested more than `DEEPEST` levels deep.
    """
    data = source(file)[1][:].removeprefix(codecs.BOM_UTF8)
    if _depth(data) > DEEPEST:  # in one line, or over several, none of which is an object then
        raise TableError(*_bad_lines(file, data))
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except problem.POLARS as error:
        found = f"{file}: expected JSON lines, found: {problem.first_line(error)}."
        raise TableError(*(_bad_lines(file, data) or [found])) from None
    if repeated := _repeated_keys(file, data):
        raise TableError(*repeated)
    columns.require_names(frame.columns, names or (), where=str(file))
    return dtypes.with_times(frame if names is None else frame.select(names))


def _repeated_keys(file: Path, data: bytes) -> list[str]:
    """A problem for each object with a repeated key, of which polars silently keeps one."""
    keys = pl.Series("line", data.decode("utf-8", "replace").split("\n")).str.extract_all(KEY)
    # A key may be written in two ways, with escapes: such lines are decoded.
    twice = (keys.list.len() > keys.list.n_unique()) | keys.list.join("").str.contains("\\", literal=True)
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


def _depth(data: bytes) -> int:
    """The largest nesting depth of brackets outside strings."""
    level = deepest = 0
    for block in _blocks(data):
        levels = np.cumsum(_STEPS[np.frombuffer(STRING.sub(b"", block).translate(None, _OTHERS), dtype=np.uint8)])
        if levels.size:
            level, deepest = level + int(levels[-1]), max(deepest, level + int(levels.max()))
    return deepest


def _blocks(data: bytes) -> Iterator[bytes]:
    """The text in blocks of whole lines."""
    start = 0
    while start < len(data):
        end = data.find(b"\n", start + BLOCK) + 1 or len(data)
        yield data[start:end]
        start = end


def _bad_lines(file: Path, data: bytes) -> list[str]:
    problems = []
    for number, line in enumerate(data.splitlines(), start=1):
        if (depth := _depth(line)) > DEEPEST:
            problems.append(f"{file}: line {number}: expected at most {DEEPEST} levels of nesting, found {depth:,}.")
            continue
        try:
            value = json.loads(line, parse_constant=_refuse, parse_float=_float, parse_int=_int) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            problems.append(f"{file}: line {number}: expected a JSON object, found: {error}. Write missing as null.")
        else:
            if not isinstance(value, dict):
                problems.append(f"{file}: line {number}: expected a JSON object, found {type(value).__name__}.")
    return problem.few(problems)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")


def _float(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError(f"{text[:30]}, which is larger than any float")
    return number


def _int(text: str) -> int:
    if len(text.lstrip("-")) > LONGEST_INTEGER:
        raise ValueError(f"a whole number of {len(text.lstrip('-'))} digits")
    return int(text)
