"""Sets of sentences: parallel text, SGML of the shared tasks, tables with anomaly flags, JSON lines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from shiftbench import argument
from shiftbench.errors import TableError, quoted
from shiftbench.progress import Progress, silent
from shiftbench.tracks.translation import lines
from shiftbench.tracks.translation.outputs import Named, Outputs, jsonl, table
from shiftbench.tracks.translation.outputs.reader import Reader
from shiftbench.tracks.translation.texts import sgml

Source = Path | tuple[Path, Path]
SGML, JSON_LINES = (".sgm", ".sgml"), (".jsonl", ".json")
TABLES = (".tsv", ".csv", *table.BINARY)


def read(source: Source, *, names: Named = None, progress: Progress | None = None) -> Outputs:
    """The sentences of a set, with their references, documents, flags and other columns, but no system's outputs.

    Args:
        source: a file, or one of sources and one of references; raw text (a sentence a line), .sgm, .tsv
            (tab-separated, nothing quoted) or another table, .jsonl; all also with .gz.
        names: name that is expected → name in the file, of columns or of keys.
        progress: called with "read", the lines so far, and 0.

    Raises:
        TableError: naming every problem with its line: lines that do not pair up, empty ones, other encodings,
            sentences of more than `lines.LONGEST_TEXT` characters, repeated ids.
    """
    argument.callback("progress", progress)
    (path, other), names, say = _files(source), lines.Names.checked(names), progress or silent
    kind = lines.suffix(path)
    if kind in SGML:
        return sgml.read(path, other)
    if other is None and kind in JSON_LINES:
        return jsonl.read(path, names=names, complete=True, progress=say)
    if other is None and kind in TABLES:
        return table.read_sentences(path, names=names, progress=say)
    return _read_lines(path, other, say)


def _files(source: Any) -> tuple[Path, Path | None]:
    """The file of a set, or that of its sources and that of its references.

    Raises:
        TableError: for anything else.
    """
    if isinstance(source, tuple) and len(source) != 2:
        raise TableError(f"expected a file of sources and one of references, found {quoted(source)}.")
    found = [argument.path(each, error=TableError) for each in (source if isinstance(source, tuple) else (source,))]
    return found[0], found[1] if len(found) > 1 else None


def _read_lines(path: Path, other: Path | None, progress: Progress) -> Outputs:
    """Sentences of raw text, and perhaps those of another file as their references; ids are the lines."""
    pairs, ours, theirs = lines.Problems(path, other), lines.Problems(path), lines.Problems(other or path)
    reader = Reader(pairs, complete=True)
    found = _paired(path, other, progress) if other else ((number, line, b"") for number, line in lines.of(path))
    uneven: tuple[str, ...] = ()
    try:
        for number, source, reference in found:
            record = {"id": number, "source": lines.text(ours, number, source)}
            reader.record(number, record | ({"reference": lines.text(theirs, number, reference)} if other else {}))
    except TableError as error:  # files of other lengths, told together with what is wrong in their lines
        uneven = error.problems
    if problems := [*ours.listed(), *theirs.listed(), *pairs.listed(), *uneven]:
        raise TableError(*problems)
    return reader.outputs()


def stream(source: Source, *, names: Named = None, progress: Progress | None = None) -> Iterator[tuple[bytes, bytes]]:
    """Pairs of sentences of a set, one after the other, as bytes that may be invalid UTF-8; only one line is held.

    Arguments are those of `read`; sets in SGML and JSON lines are read first.

    Raises:
        TableError: as `read`, but for what is wrong inside a sentence.
    """
    argument.callback("progress", progress)
    (path, other), say = _files(source), progress or silent
    if other is not None and lines.suffix(path) not in SGML:
        yield from ((ours, theirs) for _, ours, theirs in _paired(path, other, say))
    elif other is None and lines.suffix(path) == ".tsv":
        yield from table.pairs(path, names=lines.Names.checked(names), progress=say)
    else:
        found = read(source, names=names, progress=progress)
        references = found.references
        if references is None:
            raise TableError(f"{source}: expected references as well, found none.")
        for ours, theirs in zip(found.sources or [], references, strict=True):
            yield ours.encode(), theirs[0].encode()


def _paired(path: Path, other: Path, progress: Progress) -> Iterator[tuple[int, bytes, bytes]]:
    """The lines of two files with their numbers; both files must have as many."""
    counts = {path: 0, other: 0}
    for ours, theirs in itertools.zip_longest(lines.of(path, progress=progress), lines.of(other)):
        counts[path] += ours is not None
        counts[other] += theirs is not None
        if ours is not None and theirs is not None:
            yield ours[0], ours[1], theirs[1]
    if counts[path] != counts[other]:
        raise TableError(
            f"{path} and {other}: expected as many lines in both, found {counts[path]:,} and {counts[other]:,}. Are "
            "they of the same set, and complete?"
        )
