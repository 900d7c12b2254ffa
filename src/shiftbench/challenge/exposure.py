"""Labels that lie among what participants download, by mistake: as they are, in archives, or in tables of any format.

What it takes: of a file no more than a block is in memory, of a table a row of each sealed record (`target_search`). Of
files, members of zip archives and gzip files only those are read that have the size of a label file, or are tables;
other archives are unpacked once, as streams. `check` reads all files for their hashes anyway.
"""

from __future__ import annotations

import hashlib
import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from shiftbench.challenge import target_search
from shiftbench.challenge.contents import BROKEN, Content, contents
from shiftbench.challenge.target_search import Targets
from shiftbench.errors import ShiftbenchWarning
from shiftbench.io.tables.reading import is_table

MOST_NAMED = 3  # of what one public file holds
_BLOCK = 2**20


@dataclass(frozen=True)
class Labels:
    """The labels of a phase.

    truth: a file or folder. files: those of it that hold labels, with their columns of targets if they are tables;
    empty for a folder whose track does not name them: it counts only if all of its files are public.
    """

    phase: str
    truth: Path
    files: Mapping[Path, Sequence[str]]


def problems(public: Path, labels: Sequence[Labels]) -> list[str]:
    """Which files for participants hold labels of a phase; a warning tells what could not be looked through.

    Args:
        public: a folder of files.
        labels: of all phases.
    """
    known, found = _Known(), dict[tuple[str, str], dict[str, None]]()
    for each in labels:
        known.add(each)
    with tempfile.TemporaryDirectory(prefix="shiftbench-exposure-") as aside:
        for path in sorted(public.rglob("*")):
            if not path.is_file() or path.is_symlink():
                continue
            shown = f"public/{path.relative_to(public).as_posix()}"
            for phase, what in _held(path, shown, known, Path(aside)):
                found.setdefault((shown, phase), {})[what] = None
    for phase, whole in known.wholes.items():
        if whole and {*whole} == {each for each in whole if each in known.met}:
            for shown in dict.fromkeys(place for each in whole for place in known.met[each]):
                found.setdefault((shown, phase), {})["the sealed labels"] = None
    return [
        f"{shown}: expected what everybody may see, found {_some(list(what))} of the phase {phase}. Remove it."
        for (shown, phase), what in found.items()
    ]


def _some(found: Sequence[str]) -> str:
    more = len(found) - MOST_NAMED
    return ", ".join(found[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")


@dataclass
class _Known:
    """What tells labels. files: hash → phase and what it is. sizes: of these. targets: phase and targets of a table.

    wholes: phase → hashes of all files of a folder; met: those of them that are public, and where.
    """

    files: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    sizes: set[int] = field(default_factory=set)
    targets: list[tuple[str, Targets]] = field(default_factory=list)
    wholes: dict[str, dict[str, None]] = field(default_factory=dict)
    met: dict[str, list[str]] = field(default_factory=dict)

    def add(self, labels: Labels) -> None:
        for path, columns in labels.files.items():
            own = path.relative_to(labels.truth).as_posix() if path.is_relative_to(labels.truth) else path.name
            what = "the sealed labels" if path == labels.truth else f"the sealed labels {own}"
            for content in contents(path, lambda _: None):
                if not content.inside:
                    self.files.setdefault(self._hash(content.stream), []).append((labels.phase, what))
            for name in columns:
                found = Targets.read(path, name)
                self.targets += [(labels.phase, found)] if found is not None else []
        if not labels.files and labels.truth.is_dir():
            for path in sorted(labels.truth.rglob("*")):
                if path.is_file():
                    with path.open("rb") as stream:
                        self.wholes.setdefault(labels.phase, {})[self._hash(stream)] = None

    def _hash(self, stream: IO[bytes]) -> str:
        digest, size = hashlib.sha256(), 0
        while data := stream.read(_BLOCK):
            digest.update(data)
            size += len(data)
        self.sizes |= {size, size % 2**32}
        return digest.hexdigest()

    def of(self, digest: str, shown: str) -> list[tuple[str, str]]:
        """The phases and labels that a hash stands for."""
        if any(digest in whole for whole in self.wholes.values()):
            self.met.setdefault(digest, []).append(shown)
        return self.files.get(digest, [])


def _held(path: Path, shown: str, known: _Known, aside: Path) -> Iterator[tuple[str, str]]:
    """Phases, and what of their labels a public file holds."""

    def missed(why: str) -> None:
        warnings.warn(
            f"{shown}: found {why}, so that nobody has looked for labels in all of it. Unpack it, or look yourself.",
            ShiftbenchWarning, stacklevel=2,
        )  # fmt: skip

    for content in contents(path, missed):
        sized = content.size is None or content.size in known.sizes
        table = bool(known.targets) and is_table(Path(content.name)) and not _text_follows(content)
        if not (content.size != 0 and (sized or table)):
            continue
        within = f" in {' in '.join(reversed(content.inside))}" if content.inside else ""
        own = table and not content.inside and content.name == path.name
        copy = aside / f"table{''.join(Path(content.name).suffixes[-2:])}" if table and not own else None
        try:
            digest = _digest(content, copy) if sized or copy else ""
        except BROKEN as error:
            missed(f"an archive that cannot be unpacked ({str(error)[:80] or type(error).__name__})")
            continue
        whole = known.of(digest, shown)
        yield from ((phase, what + within) for phase, what in whole)
        complete = {phase for phase, _ in whole}
        for phase, targets in known.targets if table else ():
            if phase not in complete and (what := target_search.exposed(copy or path, targets)):
                yield phase, what + within
        if copy:
            copy.unlink()


def _text_follows(content: Content) -> bool:
    """Whether a compressed table is followed by the same as text, which needs less memory to read."""
    return content.packed and content.name.lower().endswith(".gz")


def _digest(content: Content, copy: Path | None) -> str:
    """The hash of a content, of which a copy is written if there is to be one."""
    digest = hashlib.sha256()
    with copy.open("wb") if copy else nullcontext() as goal:
        while data := content.stream.read(_BLOCK):
            digest.update(data)
            if goal:
                goal.write(data)
    return digest.hexdigest()
