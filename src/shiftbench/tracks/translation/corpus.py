"""A training corpus in blocks of lines: each is cleaned, compared with the others, and packed into a shard.

Every block and every share of hashes is an item of a job: it writes whole files, its note last, and skips what is
there, so that any executor gives the same bytes and an interrupted preparation is resumed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import TableError
from shiftbench.io import files
from shiftbench.tracks.translation import cleaning, duplicates, manifest, shards, tokenizing
from shiftbench.tracks.translation.cleaning import Cleaning

CLEAN, COMPARE, PACK = (f"{__name__}:{name}" for name in ("clean", "compare", "pack"))
BLOCK = 50_000  # pairs
ENCODED = 5_000  # pairs that are tokenized at a time
VOCABULARY = "vocabulary.model"
BEGUN = "begun.json"
DUPLICATE = "duplicate"


@dataclass(frozen=True)
class Begun:
    """All that determines the bytes of a prepared folder.

    inputs: the SHA-256 of each file by name. limits: of the cleaning. vocabulary: its number of tokens, or None for one
    that fits the corpus. reddit: whether the rules for Reddit apply to the shifted parts.
    """

    inputs: Mapping[str, str]
    limits: Cleaning
    vocabulary: int | None = None
    reddit: bool = False

    def plain(self) -> dict[str, Any]:
        """As JSON values."""
        found: dict[str, Any] = json.loads(json.dumps(asdict(self)))
        return found


@dataclass(frozen=True)
class Plan:
    """The files of a preparation; what is below `unfinished` is removed at the end."""

    folder: Path

    @property
    def unfinished(self) -> Path:
        """The folder of temporary files."""
        return self.folder / "unfinished"

    def file(self, name: str, number: int | None = None) -> Path:
        """A temporary file, of a block or share if it has a number."""
        stem, dot, ending = name.partition(".")
        return self.unfinished / (name if number is None else f"{stem}-{number:05d}{dot}{ending}")

    def shard(self, number: int) -> Path:
        """The shard of a block."""
        return self.folder / f"train-{number:05d}.bin"

    def read(self, name: str, number: int | None = None) -> Any:
        """What a temporary JSON file holds.

        Raises:
            TableError: if it is damaged or missing.
        """
        path = self.folder / name if name == BEGUN else self.file(name, number)
        try:
            return json.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise TableError(
                f"{path}: expected what an unfinished preparation writes, found: {error}. Prepare the data again in a "
                "new folder."
            ) from None

    def limits(self) -> Cleaning:
        """The limits of the cleaning."""
        return manifest.limits(self.read(BEGUN))


# --- reading ---------------------------------------------------------------------------------------------------------


def split(pairs: Iterable[tuple[bytes, bytes]], plan: Plan) -> list[int]:
    """Write pairs as blocks of lines, one by one; returns the number of pairs of each."""
    stream, counts = iter(pairs), list[int]()
    while block := list(islice(stream, BLOCK)):
        write_block(plan.file("raw.txt", len(counts)), *zip(*block, strict=True))
        counts.append(len(block))
    return counts


def write_block(path: Path, sources: Iterable[bytes], targets: Iterable[bytes]) -> None:
    """Write a block: lines of all sources, then of all targets."""
    lines = [line.replace(b"\n", b" ") for side in (sources, targets) for line in side]
    with files.replacing(path) as temporary:
        temporary.write_bytes(b"\n".join(lines))


def _sides(path: Path, pairs: int) -> tuple[bytes, bytes]:
    """The sources and the targets of a block of so many pairs, at least one."""
    data, end = path.read_bytes(), -1
    lines = data.split(b"\n")
    end = sum(map(len, lines[:pairs])) + pairs
    return data[: end - 1], data[end:]


# --- items of jobs ---------------------------------------------------------------------------------------------------


def clean(folder: str, number: int) -> None:
    """Clean a block, and write its run of hashes.

    Raises:
        MissingExtraError: if sacremoses is not installed.
    """
    plan = Plan(Path(folder))
    if not (note := plan.file("cleaned.json", number)).is_file():
        raw = plan.file("raw.txt", number)
        sides = _sides(raw, plan.read("blocks.json")["pairs"][number])
        sources, targets, counts = cleaning.cleaned(*sides, plan.limits())
        write_block(plan.file("clean.txt", number), *(map(str.encode, side) for side in (sources, targets)))
        with files.replacing(plan.file("run.npy", number)) as temporary, temporary.open("wb") as file:
            np.save(file, duplicates.run(sources, targets))
        files.write_json(note, {"pairs": len(sources), "dropped": counts})
    plan.file("raw.txt", number).unlink(missing_ok=True)


def compare(folder: str, number: int) -> None:
    """Find the pairs of a share of the hashes that are there before."""
    plan = Plan(Path(folder))
    if (path := plan.file("copies.npy", number)).is_file():
        return
    index = plan.read("index.json")
    runs = (np.load(plan.file("run.npy", block), mmap_mode="r") for block in range(len(index["starts"]) - 1))
    found = duplicates.copies(runs, index["starts"][:-1], number, index["shares"])
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        np.save(file, found)


def pack(folder: str, number: int) -> None:
    """Tokenize a block, drop pairs by their numbers of tokens, and write a shard, unless nothing is left.

    Raises:
        MissingExtraError: if sentencepiece is not installed.
    """
    plan = Plan(Path(folder))
    if not (note := plan.file("packed.json", number)).is_file():
        limits, before = plan.limits(), plan.read("cleaned.json", number)["pairs"]
        words = tokenizing.read(plan.folder / VOCABULARY, languages=limits.languages, moses=limits.moses)
        sources, targets = unique(plan, number)
        pairs = list(zip(_encoded(sources, words), _encoded(targets, words), strict=True))
        lengths = np.array([[len(source), len(target)] for source, target in pairs], np.int32).reshape(-1, 2)
        rows, counts = _within(lengths, limits)
        entry = {"pairs": len(rows), "dropped": {DUPLICATE: before - len(pairs)} | counts}
        if len(rows):
            written = shards.write(plan.shard(number), (pairs[row] for row in rows), size=words.size)
            entry["files"] = [listed(path) for path in written]
        files.write_json(note, entry)
    plan.file("clean.txt", number).unlink(missing_ok=True)


def _encoded(texts: list[str], words: tokenizing.Subwords) -> Iterator[npt.NDArray[Any]]:
    """The tokens of texts, as small as a shard holds them."""
    for at in range(0, len(texts), ENCODED):
        for tokens in words.encode_cleaned(texts[at : at + ENCODED]):
            yield np.array(tokens, shards.kind(words.size))


def _within(lengths: shards.Lengths, limits: Cleaning) -> tuple[list[int], dict[str, int]]:
    """The pairs that no rule on tokens drops, and how many each of them drops."""
    broken = [(rule.__name__, rule(lengths, limits)) for rule in cleaning.TOKEN_RULES]
    kept, counts = cleaning.unbroken(len(lengths), broken)
    return kept.tolist(), counts


# --- between the jobs ------------------------------------------------------------------------------------------------


def index(plan: Plan) -> tuple[list[int], int]:
    """The position of each block's first cleaned pair, with their number at the end, and the number of shares."""
    if not plan.file("index.json").is_file():
        counts = [plan.read("cleaned.json", block)["pairs"] for block in range(len(plan.read("blocks.json")["pairs"]))]
        starts = np.cumsum([0, *counts]).tolist()
        files.write_json(plan.file("index.json"), {"starts": starts, "shares": duplicates.shares(starts[-1])})
    held = plan.read("index.json")
    return held["starts"], held["shares"]


def unique(plan: Plan, number: int) -> tuple[list[str], list[str]]:
    """The cleaned pairs of a block without those that are there before."""
    starts, of = index(plan)
    first, last = starts[number : number + 2]
    if first == last:
        return [], []
    sides = _sides(plan.file("clean.txt", number), last - first)
    fresh = np.ones(last - first, np.bool_)
    for share in range(of):
        copies = np.load(plan.file("copies.npy", share), mmap_mode="r")
        low, high = np.searchsorted(copies, (first, last))
        fresh[copies[low:high] - first] = False
    sources, targets = (side.decode().split("\n") for side in sides)
    rows = np.flatnonzero(fresh).tolist()
    return [sources[row] for row in rows], [targets[row] for row in rows]


def listed(path: Path) -> dict[str, Any]:
    """A file of the prepared folder as an entry of the manifest."""
    return {"file": path.name, "bytes": path.stat().st_size, "sha256": files.sha256(path)}
