"""Where the sets of each part lie in a folder: `train.en` with `train.ru`, `dev_in.tsv`, or many below `train/`.

The official archives, unpacked beside each other, are such a folder, too.
"""

from __future__ import annotations

import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import TableError, first_line
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.tracks.translation import lines, texts
from shiftbench.tracks.translation.cleaning import Cleaning
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.schema import PARTS
from shiftbench.tracks.translation.texts import Source

ORIGIN = "origin.toml"
LANGUAGES = ("en", "ru")
UNKNOWN_ORIGIN = "texts of unknown origin"
TABLES = (".tsv", ".jsonl", ".json", ".csv", ".parquet")
SIDES = ("source", "reference")
OTHER = {"src": "ref", "source": "target"}  # what may differ in the names of two files beside the language
BACK = ".translatedto."  # before the language of sources that are machine translations of the targets
OFFICIAL = {
    "train-data/": "train", "dev-data/newstest2019": "dev_in", "dev-data/reddit": "dev_out",
    "eval-data/global_voices": "eval_in", "eval-data/reddit": "eval_out",
}  # fmt: skip
"""How a path in the unpacked archives begins → its part (prepare_data.sh of the published code)."""
COLUMNS = {"news-commentary": (0, 1), "WikiMatrix": (1, 2), "wikititles": (1, 0)}
"""How the names of official tables without a header begin → the columns of source and target."""


@dataclass(frozen=True)
class Found:
    """The sets of a source. sets: part → of each set its file, or its two files, source first."""

    sets: dict[str, list[Source]]
    origin: str
    languages: tuple[str, str]

    @property
    def paths(self) -> list[Path]:
        """All files."""
        return [path for sets in self.sets.values() for own in sets for path in files_of(own)]

    def hashes(self, source: Path, progress: Progress) -> dict[str, str]:
        """The SHA-256 of each file, by its name below the source."""
        hashes = dict[str, str]()
        for done, path in enumerate(self.paths):
            progress("compare texts", done, len(self.paths))
            hashes[path.relative_to(source).as_posix()] = files.sha256(path)
        return hashes

    def read(self, own: Source, progress: Progress) -> Outputs:
        """The sentences of a set; raises as `texts.read`."""
        return texts.read(own, names=self._names(own), progress=progress)

    def pairs(self, progress: Progress) -> Iterator[tuple[bytes, bytes]]:
        """The pairs of all training sets, one after the other; raises as `texts.stream`."""
        for own in self.sets["train"]:
            columns = _columns(own)
            if isinstance(own, Path) and columns:
                yield from _of_columns(own, columns, progress)
            else:
                yield from texts.stream(own, names=self._names(own), progress=progress)

    def _names(self, own: Source) -> dict[str, str] | None:
        """The columns of a table whose columns are called as the languages are; else None."""
        if not isinstance(own, Path) or lines.suffix(own) != ".tsv":
            return None
        header = next(iter(lines.of(own)), (0, b""))[1].decode("utf-8", "replace").split("\t")
        return dict(zip(SIDES, self.languages, strict=True)) if {*self.languages} <= {*header} else None


def files_of(own: Source) -> tuple[Path, ...]:
    """The files of a set."""
    return (own,) if isinstance(own, Path) else own


def found(source: Path, languages: str = "") -> Found:
    """The sets in a folder.

    languages: codes such as "en-ru"; by default those that its `origin.toml` names, else those of the benchmark.

    Raises:
        TableError: listing files that are not understood and sides without the other; or if there is no set.
        SettingsError: for invalid codes.
    """
    if not source.is_dir():
        what = "a file" if source.exists() else "nothing there"
        raise TableError(f"{source}: expected a folder with train, dev_in and others, found {what}. Check the path.")
    held = _origin(source / ORIGIN)
    codes = _codes(languages) if languages else (held.get("source", LANGUAGES[0]), held.get("target", LANGUAGES[1]))
    Cleaning(codes)  # refuses what are no codes
    by_part = defaultdict[str, list[Path]](list)
    for path in sorted(source.rglob("*")):
        name = path.relative_to(source).as_posix()
        hidden = any(word.startswith(".") for word in path.relative_to(source).parts)
        if path.is_file() and not hidden and (part := _part(name)):
            by_part[part].append(path)
    problems, sets = list[str](), dict[str, list[Source]]()
    for part in PARTS:
        sets[part], own = _paired(by_part[part], codes)
        problems += own
    if not any(by_part.values()):
        names = f"train.{codes[0]} with train.{codes[1]}, or eval_out.tsv"
        problems.append(f"{source}: expected sets of {', '.join(PARTS)}, found none. They are called such as {names}.")
    if problems:
        raise TableError(*problems)
    return Found({part: own for part, own in sets.items() if own}, held.get("origin", UNKNOWN_ORIGIN), codes)


def _codes(languages: str) -> tuple[str, str]:
    """The two codes in "en-ru"."""
    first, _, second = languages.partition("-")
    return first, second


def _part(name: str) -> str:
    """The part that a file or its folder is named after, or ""."""
    known = next((part for start, part in OFFICIAL.items() if name.startswith(start)), "")
    return known or next((part for part in PARTS if re.match(rf"{part}[./-]", name)), "")


def _paired(paths: Sequence[Path], codes: tuple[str, str]) -> tuple[list[Source], list[str]]:
    """Single files and pairs of files, and problems of those that are neither."""
    sets, problems, rest = list[Source](), list[str](), set(paths)
    for path in paths:
        if lines.suffix(path) in TABLES:
            sets.append(path)
            rest.discard(path)
        elif path in rest and (other := next((each for each in _others(path, codes) if each in rest), None)):
            sets.append((path, other))
            rest -= {path, other}
    for path in sorted(rest):
        wanted = f"{codes[0]} and {codes[1]}"
        problems.append(
            f"{path}: expected two files whose names differ in {wanted}, or {', '.join(TABLES)}, found this file "
            "alone. Add the other side, or name the --languages."
        )
    return sets, problems


def _others(path: Path, codes: tuple[str, str]) -> Iterator[Path]:
    """Possible names of the other side of a source file; empty for other files."""
    if path.name.endswith(f"{BACK}{codes[0]}"):
        yield path.with_name(path.name.removesuffix(f"{BACK}{codes[0]}"))
    words = re.split(r"([.-])", path.name)
    places = [at for at, word in enumerate(words) if word == codes[0]]
    if places:
        words[places[-1]] = codes[1]
        yield path.with_name("".join(words))
        yield path.with_name("".join(OTHER.get(word, word) for word in words))


def _columns(own: Source) -> tuple[int, int] | None:
    """The columns of source and target of an official table; None for any other set."""
    name = own.name if isinstance(own, Path) else ""
    return next((columns for start, columns in COLUMNS.items() if name.startswith(start)), None)


def _of_columns(path: Path, columns: tuple[int, int], progress: Progress) -> Iterator[tuple[bytes, bytes]]:
    """Two columns of a table without a header; a row that lacks one is an empty pair, which the cleaning drops."""
    for _, line in lines.of(path, progress=progress):
        cells = line.split(b"\t")
        yield (cells[columns[0]], cells[columns[1]]) if len(cells) > max(columns) else (b"", b"")


def _origin(path: Path) -> dict[str, str]:
    """The contents of an `origin.toml`; empty without one."""
    try:
        held = tomllib.loads(files.read_text(path)) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise TableError(f"{path}: expected TOML, found: {first_line(error)}. Correct or remove it.") from None
    if wrong := [name for name, value in held.items() if not isinstance(value, str)]:
        raise TableError(f"{path}: expected texts, found other values of {', '.join(wrong)}. Correct it.")
    return held
