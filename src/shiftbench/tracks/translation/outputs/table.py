"""Outputs and sentences as tables: a record a row, one column for the text of each system."""

from __future__ import annotations

import collections
import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import TableError, nearest, quoted
from shiftbench.io import tables
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs.reader import NUMBERS, SINGLE, UNCERTAINTIES, Reader, listed
from shiftbench.tracks.translation.outputs.record import Outputs

TABS = (".tsv", ".txt", ".tab")
BINARY = (".parquet", ".arrow", ".feather", ".npz")
SYSTEM = re.compile(r"(?:hyp|hypothesis|system)_(.+)", re.DOTALL)
REFERENCE = re.compile(r"ref(?:erence)?(?:_.+)?", re.DOTALL)
SYNONYMS = {
    "source": ("source", "src"),
    "hypothesis": (*SINGLE, "hyp", "mt"),
    "id": ("id",),
    "document": ("document", "doc_id", "doc", "docid"),
}
NUMERIC = (*NUMBERS, *UNCERTAINTIES, "score", "log_probability")
UNCERTAINTY = "uncertainty"
MEASURE = f"{UNCERTAINTY} "  # begins the key of a named column
PARALLEL = ["source", "reference"]

Row = tuple[int, list[str | None]]


def read_systems(path: Path, *, names: lines.Names | None = None, progress: Progress = silent) -> dict[str, Outputs]:
    """The outputs in a table, by system: one for each column `hyp_NAME`, or one called "" for a column of texts.

    Args:
        path: a .tsv (tab-separated, nothing quoted), also .gz; or any table that the package reads.
        names: what the file calls columns, such as en_mt for the hypothesis and da_mean for the quality;
            token_log_probabilities and tokens are separated by spaces.
        progress: called with "read", the lines so far, and 0.

    Raises:
        TableError: naming every problem with its line and id; or columns that are missing.
    """
    names = names or lines.Names()
    header, found = rows(path, names=[*names], progress=progress)
    columns = _columns(path, header, names)
    systems = {match[1]: name for name in header if (match := SYSTEM.fullmatch(name)) and name not in columns.values()}
    if "hypothesis" in columns:
        systems = {"": columns["hypothesis"]}
    readers = {system: Reader(lines.Problems(path)) for system in systems or [""]}
    texts = {name for name in header if SYSTEM.fullmatch(name)}
    uneven: tuple[str, ...] = ()
    try:
        for line, cells in found:
            row = dict(zip(header, cells, strict=True))
            for system, reader in readers.items():
                reader.record(line, _record(row, columns, systems.get(system), texts))
    except TableError as error:  # after the last row: what is wrong with others is told, too
        uneven = error.problems
    for reader in readers.values():
        reader.problems.include(uneven)
    return {system: reader.outputs() for system, reader in readers.items()}


def read_sentences(path: Path, *, names: lines.Names | None = None, progress: Progress = silent) -> Outputs:
    """The sentences in a table, without any system's; arguments and errors as those of `read_systems`."""
    names = names or lines.Names()
    header, found = rows(path, names=[*names], progress=progress)
    columns = _columns(path, header, names)
    if "source" not in columns:
        raise TableError(
            f"{path}: expected a column of sources (source, src or src_…), found {listed(header)}. Rename it, or name "
            "it."
        )
    reader = Reader(lines.Problems(path), complete=True)
    texts = {name for name in header if SYSTEM.fullmatch(name)}
    for line, cells in found:
        reader.record(line, _record(dict(zip(header, cells, strict=True)), columns, None, texts))
    return reader.outputs()


def _record(
    row: dict[str, str | None], columns: Mapping[str, str], system: str | None, systems: set[str]
) -> dict[str, Any]:
    """A row as the object of a JSON line."""
    value: dict[str, Any] = {
        name: cell for name, cell in row.items() if name not in columns.values() and name not in systems
    }
    references = [row[name] for key, name in columns.items() if key.startswith("reference") and row[name]]
    if any(key.startswith("reference") for key in columns):
        value["reference"] = references or [""]
    if measures := {name: _cell(UNCERTAINTY, row[name]) for key, name in columns.items() if key.startswith(MEASURE)}:
        value[UNCERTAINTY] = {name: each for name, each in measures.items() if each is not None}
    for key, name in columns.items():
        if not key.startswith(("reference", "hypothesis", MEASURE)):
            value[key] = _cell(key, row[name])
    if system is not None:
        value["hypothesis"] = row[system] or ""
    return {key: each for key, each in value.items() if each is not None}


def _cell(key: str, text: str | None) -> Any:
    """A cell as the value of a JSON line."""
    if text is None:
        return "" if key == "source" else None
    if key == "tokens":
        return text.split(" ")
    try:
        if key == "token_log_probabilities":
            return [float(each) for each in text.split()]
        return float(text) if key in NUMERIC else text
    except ValueError:
        return text


def _columns(path: Path, header: Sequence[str], names: lines.Names) -> dict[str, str]:
    """Which column holds what: the key of JSON lines → the name of the column; of references and of uncertainties that
    are named, "reference NAME" → NAME each."""
    there, missing = names.among(header)
    if missing:
        raise TableError(*(_missing(path, key, name, header) for key, name in missing.items()))
    rest = [name for name in header if name not in {name for own in there.values() for name in own}]
    found = {key: own for key, known_as in SYNONYMS.items() if (own := next(iter(_in(known_as, rest)), None))}
    if len(own_sources := [name for name in rest if name.startswith(("src_", "source_"))]) == 1:
        found.setdefault("source", own_sources[0])
    if "reference" not in there:
        found |= {f"reference {name}": name for name in rest if REFERENCE.fullmatch(name)}
    found |= {key: key for key in (*NUMERIC, "token_log_probabilities", "tokens") if key in rest}
    if UNCERTAINTY in there:
        found = {key: name for key, name in found.items() if key not in UNCERTAINTIES}
    if names.met is not None and "id" in names.of and "id" not in {*found, *there}:
        raise TableError(_missing(path, "id", names.of["id"][0], header))
    several = {f"{key} {name}": name for key in lines.SEVERAL for name in there.pop(key, ())}
    return found | {key: name for key, (name,) in there.items()} | several


def _missing(path: Path, key: str, name: str, header: Sequence[str]) -> str:
    near = nearest(name, header)
    advice = f"Did you mean {quoted(near)}?" if near else "Correct the name."
    return f"{path}: {key}: expected a column {quoted(name)}, found {listed(header)}. {advice}"


def _in(names: Sequence[str], header: Sequence[str]) -> list[str]:
    return [name for name in names if name in header]


def rows(path: Path, *, names: Sequence[str] = (), progress: Progress = silent) -> tuple[list[str], Iterator[Row]]:
    """The names of the columns of a table, and its rows with their lines; empty cells are None.

    Two columns without any known name (or one of `names`) are sources and references without a header.

    Raises:
        TableError: if it cannot be read; after the last row, naming rows with another number of cells.
    """
    if lines.suffix(path) not in TABS:
        frame = _texts(path)
        cells = ([cell or None for cell in row] for row in frame.iter_rows())
        return frame.columns, enumerate(cells, start=1)
    problems = lines.Problems(path)
    found = _split(problems, lines.of(path, progress=progress))
    first: Row = next(found, (0, []))
    header = [cell or "" for cell in first[1]]
    if len(header) == 2 and not any(_is_known(name) or name in names for name in header):
        return PARALLEL, _even(problems, itertools.chain([first], found), 2)
    counts = collections.Counter(header)
    if doubled := sorted(name for name, count in counts.items() if count > 1):
        found_twice = f"found {listed(doubled)} twice. Is the first line its header?"
        raise TableError(f"{path}: expected a header that names each column once, {found_twice}")
    return header, _even(problems, found, len(header))


def _texts(path: Path) -> pl.DataFrame:
    """A table with types, as texts; raises TableError naming columns whose values have none."""
    frame = tables.read_table(path)
    if odd := {name: dtype for name, dtype in frame.schema.items() if not tables.is_label(dtype)}:
        raise TableError(
            *(f"{path}: column {name!r}: expected texts or numbers, found {dtype}. Convert or drop it."
              for name, dtype in odd.items())
        )  # fmt: skip
    return frame.cast(pl.String, strict=False)


def _is_known(name: str) -> bool:
    known = {each for words in SYNONYMS.values() for each in words}
    return name in known or bool(SYSTEM.fullmatch(name) or REFERENCE.fullmatch(name))


def _split(problems: lines.Problems, found: Iterator[tuple[int, bytes]]) -> Iterator[Row]:
    for number, line in found:
        yield number, [cell or None for cell in lines.text(problems, number, line).split("\t")]


def _even(problems: lines.Problems, found: Iterator[Row], width: int) -> Iterator[Row]:
    """Rows of one width; what is wrong with others is raised after the last."""
    for number, cells in found:
        if len(cells) == width:
            yield number, cells
        else:
            problems.add(f"line {number:,}", _uneven(width, len(cells)), kind="columns")
    problems.require_none()


def pairs(
    path: Path, *, names: lines.Names | None = None, progress: Progress = silent
) -> Iterator[tuple[bytes, bytes]]:
    """The source and the first reference of each row of a .tsv, as they are; only one row is held.

    Raises:
        TableError: for a header without these columns, and after the last row, for rows of another number of cells.
    """
    names = names or lines.Names()
    header, _ = rows(path, names=[*names])
    columns = _columns(path, header, names)
    reference = next((name for key, name in columns.items() if key.startswith("reference")), None)
    if "source" not in columns or reference is None:
        raise TableError(
            f"{path}: expected a column of sources and one of references, found {listed(header)}. Name them."
        )
    ours, theirs = header.index(columns["source"]), header.index(reference)
    problems, width = lines.Problems(path), len(header)
    for number, line in lines.of(path, progress=progress):
        cells = line.split(b"\t")
        if len(cells) != width:
            problems.add(f"line {number:,}", _uneven(width, len(cells)), kind="columns")
        elif number > 1 or header is PARALLEL:
            yield cells[ours], cells[theirs]
    problems.require_none()


def _uneven(width: int, found: int) -> str:
    return f"expected {width:,} columns as in the first line, found {found:,}. Are there tabs or line ends in a text?"
