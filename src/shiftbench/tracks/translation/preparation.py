"""From parallel text to a prepared folder: read, clean, drop duplicates, learn a vocabulary, pack.

Memory is bounded whatever the corpus holds; an interrupted preparation is resumed when it is started again.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench.errors import SettingsError, ShiftbenchError, TableError, counted
from shiftbench.io import executor as executors
from shiftbench.io import files
from shiftbench.io.executor import Executor, Job, slurm
from shiftbench.io.output import alone
from shiftbench.progress import Progress, silent
from shiftbench.track import MANIFEST, BatchJob, Prepared
from shiftbench.tracks.translation import cleaning, corpus, manifest, outputs, sources, tokenizing
from shiftbench.tracks.translation.cleaning import Cleaning
from shiftbench.tracks.translation.corpus import Begun, Plan
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.schema import PARTS, SHIFTED
from shiftbench.tracks.translation.sources import Found

TRAIN = "train"
SLURM = "slurm"  # the executor whose jobs this process does not wait for
MOST_TOKENS, FEWEST_TOKENS, PAIRS_PER_TOKEN = 40_000, 1_000, 16
SAMPLE = 500_000  # pairs that a vocabulary is learnt from, at most
STEPS = {
    "clean": (corpus.CLEAN, "cleaned.json"),
    "find duplicates": (corpus.COMPARE, "copies.npy"),
    "pack": (corpus.PACK, "packed.json"),
}
"""Name of a step → its work, and the file that each of its items writes last."""
ROOM = 3  # bytes of temporary and lasting files for each byte of text, about


def prepare(
    source: Path,
    folder: Path,
    *,
    languages: str = "",
    vocabulary: int | None = None,
    moses: bool = False,
    reddit: bool = False,
    overlap: float = Cleaning.overlap,
    executor: str = "processes",
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Prepared | BatchJob:
    """Turn parallel text into a prepared folder: its bytes depend on the texts and the settings alone.

    Args:
        source: a folder of sets, see `sources`.
        folder: a new folder, or one whose preparation was interrupted or is finished: finished work is not repeated.
        languages: codes of source and target, such as "en-ru"; by default those that the source names.
        vocabulary: the number of tokens of byte-pair encoding; by default one for 16 pairs, from 1,000 up to the
            published 40,000.
        moses: whether to tokenize text as Moses does first, as published.
        reddit: whether to drop lines of one word or without letters from the shifted parts, as the paper does.
        overlap: see `cleaning.Cleaning`.
        executor: its name, or "ray=HOST:PORT"; "slurm" only writes the script of the next array. workers: of it.
        overwrite: whether to discard what was begun with other texts or settings.
        progress: called with the number of finished steps.

    Returns:
        The prepared folder, or work left to a batch system; when that is done, the same call goes on.

    Raises:
        TableError: listing all problems of the source; if the folder was begun or finished with other texts or
            settings, or another process works in it; if nothing is left to learn from.
        SettingsError, UnknownNameError: for invalid settings, or an unknown executor.
        MissingExtraError: if sentencepiece, sacremoses or Ray is needed and not installed.
    """
    say, where = progress or silent, Executor.of(executor, workers=workers)
    if (source / MANIFEST).is_file():
        raise TableError(f"{source}: expected texts to prepare, found a folder that is already prepared.")
    if vocabulary is not None and vocabulary < tokenizing.FEWEST:
        raise SettingsError(f"vocabulary: expected at least {tokenizing.FEWEST} tokens, found {vocabulary}.")
    found = sources.found(source, languages)
    for name in ("sentencepiece", "sacremoses") if TRAIN in found.sets else ():
        cleaning.library(name)
    limits = Cleaning(found.languages, overlap=overlap, moses=moses)
    begun = Begun(found.hashes(source, say), limits, vocabulary, reddit)
    with alone(folder):
        if overwrite:
            _discard_other(folder, begun)
        if (folder / MANIFEST).is_file():
            _require_same(folder, manifest.held_in(folder)["begun"], begun)
            return _cleaned(folder)
        _begin(folder, begun, sum(path.stat().st_size for path in found.paths))
        return _finish(folder, begun, found, where, say)


def open_prepared(folder: Path) -> Prepared:
    """The contents of a prepared folder.

    Raises:
        TableError: if it is not one, or files are missing or of another size.
    """
    held = manifest.held_in(Path(folder))
    counts = {part: int(held["counts"][part]) for part in PARTS}
    dropped = {f"train: {reason.replace('_', ' ')}": number for reason, number in held["dropped"].items() if number}
    return Prepared(Path(folder), held["origin"], counts, tuple(held["notes"]), dropped)


# --- beginning -------------------------------------------------------------------------------------------------------


def _begin(folder: Path, begun: Begun, size: int) -> None:
    """Note the settings in a new folder, or check that one was begun with the same; size: bytes of the texts."""
    plan = Plan(folder)
    if (folder / corpus.BEGUN).is_file():
        _require_same(folder, plan.read(corpus.BEGUN), begun)
        return
    files.require_room(folder / MANIFEST, ROOM * size, what="cleaned and tokenized text")
    files.write_json(folder / corpus.BEGUN, begun.plain())


def _require_same(folder: Path, earlier: Any, begun: Begun) -> None:
    """Check that a folder was begun with these texts and settings.

    Raises:
        TableError: naming what differs.
    """
    own, other = begun.plain(), earlier if isinstance(earlier, dict) else {}
    words = {"inputs": "texts", "limits": "cleaning"}
    if different := [words.get(key, key) for key, value in own.items() if other.get(key) != value]:
        raise TableError(
            f"{folder}: expected a new folder, or one begun with the same {' and '.join(different)}, found one begun "
            "with others. Choose a new folder, begin it anew with --overwrite, or use the settings it was begun with."
        )


def _discard_other(folder: Path, begun: Begun) -> None:
    """Remove the files of an unfinished preparation from a folder, if it was begun with other texts or settings."""
    plan = Plan(folder)
    if not (folder / corpus.BEGUN).is_file():
        return
    try:
        _require_same(folder, plan.read(corpus.BEGUN), begun)
    except TableError:
        shutil.rmtree(plan.unfinished, ignore_errors=True)
        for path in (*folder.glob("train-*"), folder / corpus.VOCABULARY):
            path.unlink(missing_ok=True)
        (folder / corpus.BEGUN).unlink()  # last: after a kill before this the folder still counts as begun


# --- steps -----------------------------------------------------------------------------------------------------------


def _finish(folder: Path, begun: Begun, found: Found, where: Executor, say: Progress) -> Prepared | BatchJob:
    """Do what is left, step by step; the manifest is written last."""
    plan = Plan(folder)
    with _nothing_if_refused(plan):
        parts, notes = _tested(folder, begun, found, say)
        blocks = _read(plan, found, say) if TRAIN in found.sets else 0
    for stage, (work, note) in STEPS.items():
        if work == corpus.PACK and blocks:
            _learn(plan, begun, blocks, say)
        items = blocks and corpus.index(plan)[1] if work == corpus.COMPARE else blocks
        job = Job(work, str(folder.absolute()), items, (str(folder.absolute()),))
        if all(plan.file(note, number).is_file() for number in range(items)):
            continue
        if where.name == SLURM:
            return BatchJob(slurm.script(job, plan.unfinished, tasks=where.workers))
        single = items == 1 and not where.elsewhere  # nothing is gained by starting a process
        executors.run(job, Executor("serial") if single else where, progress=partial(say, stage))
    if where.name == SLURM:
        return BatchJob(None)
    shards, dropped = _packed(plan, blocks)
    _write(folder, begun, found, parts | {TRAIN: shards}, dropped, notes)
    return _cleaned(folder)


@contextmanager
def _nothing_if_refused(plan: Plan) -> Iterator[None]:
    """If texts are refused before any of them was cleaned, remove what was written."""
    try:
        yield
    except ShiftbenchError:
        if not plan.file("blocks.json").is_file():
            shutil.rmtree(plan.unfinished, ignore_errors=True)
            _unlink((*(plan.folder / f"{part}.jsonl" for part in PARTS), plan.folder / corpus.BEGUN))
        raise


def _tested(folder: Path, begun: Begun, found: Found, say: Progress) -> tuple[dict[str, Any], list[str]]:
    """Write the parts other than train; their entries in the manifest, and notes on them.

    Raises:
        ShiftbenchError: listing the problems of all sets.
    """
    entries, notes, problems = dict[str, Any](), list[str](), list[str]()
    held = dict[str, Outputs]()
    for part in (part for part in PARTS[1:] if part in found.sets):
        try:
            own, dropped = _kept(_only(found, part, say), begun.reddit and part in SHIFTED)
        except ShiftbenchError as error:
            problems += error.problems
            continue
        notes += [
            f"{part}: {counted(number, 'sentence')} dropped, {reason}" for reason, number in dropped.items() if number
        ]
        held[part] = own
    if problems:
        raise TableError(*problems)
    for part, own in _with_distinct_ids(held).items():
        path = outputs.write(folder / f"{part}.jsonl", own)
        entries[part] = corpus.listed(path) | {"records": len(own)}
    return entries, notes


def _only(found: Found, part: str, say: Progress) -> Outputs:
    """The sentences of the only set of a part."""
    first, *others = found.sets[part]
    if others:
        names = ", ".join(path.name for own in found.sets[part] for path in sources.files_of(own))
        raise TableError(f"{part}: expected one set, found {len(others) + 1}: {names}. Join them, or keep one.")
    return found.read(first, say)


def _with_distinct_ids(held: dict[str, Outputs]) -> dict[str, Outputs]:
    """Parts whose ids name a sentence of one part only: with the part before them if some are there twice."""
    ids = Counter(name for own in held.values() for name in own.ids)
    if all(count == 1 for count in ids.values()):
        return held
    return {part: replace(own, ids=[f"{part}:{name}" for name in own.ids]) for part, own in held.items()}


def _kept(held: Outputs, reddit: bool) -> tuple[Outputs, dict[str, int]]:
    """Sentences without those that the rules for Reddit drop, and how many each of them drops."""
    if not reddit or held.sources is None:
        return held, {}
    broken = [(rule.__name__.replace("_", " "), rule(held.sources)) for rule in cleaning.REDDIT]
    rows, counts = cleaning.unbroken(len(held), broken)
    return held.select(rows), counts


def _read(plan: Plan, found: Found, say: Progress) -> int:
    """Split the training sets into blocks, once; their number.

    Raises:
        TableError: if a set is damaged or its sides are of different length, or there are no pairs.
    """
    if not plan.file("blocks.json").is_file():
        counts = corpus.split(found.pairs(say), plan)
        if not counts:
            raise TableError("train: expected pairs of sentences, found none.")
        files.write_json(plan.file("blocks.json"), {"pairs": counts})
    return len(plan.read("blocks.json")["pairs"])


def _learn(plan: Plan, begun: Begun, blocks: int, say: Progress) -> None:
    """Learn the vocabulary from cleaned pairs, all of them or every n-th, unless it is there.

    Raises:
        TableError: if the cleaning has left nothing.
        SettingsError: if the vocabulary is too small.
    """
    path = plan.folder / corpus.VOCABULARY
    if path.is_file():
        return
    starts, shares = corpus.index(plan)
    pairs = starts[-1] - sum(len(np.load(plan.file("copies.npy", share), mmap_mode="r")) for share in range(shares))
    if not pairs:
        raise TableError("train: expected pairs that pass the cleaning, found none. Are the languages right?")
    size = begun.vocabulary or int(np.clip(pairs // PAIRS_PER_TOKEN, FEWEST_TOKENS, MOST_TOKENS))
    limits = begun.limits
    found = tokenizing.learnt(
        _sample(plan, blocks, -(-pairs // SAMPLE), say), size, languages=limits.languages, moses=limits.moses
    )
    with files.replacing(path) as temporary:
        temporary.write_bytes(found.model)


def _sample(plan: Plan, blocks: int, step: int, say: Progress) -> Iterator[str]:
    """Both sides of every `step`-th pair."""
    seen = 0
    for block in range(blocks):
        say("learn the vocabulary", block, blocks)
        sources, targets = corpus.unique(plan, block)
        first = -seen % step
        for pair in zip(sources[first::step], targets[first::step], strict=True):
            yield from pair
        seen += len(sources)


# --- finishing -------------------------------------------------------------------------------------------------------


def _packed(plan: Plan, blocks: int) -> tuple[list[dict[str, Any]], dict[str, int]]:
    """The shards, and the number of pairs that each rule dropped."""
    shards, dropped = list[dict[str, Any]](), Counter[str]()
    for block in range(blocks):
        packed = plan.read("packed.json", block)
        for counts in (plan.read("cleaned.json", block)["dropped"], packed["dropped"]):
            dropped.update(counts)
        if packed["pairs"]:
            shards.append({"pairs": packed["pairs"], "files": packed["files"]})
    if blocks and not shards:
        raise TableError("train: expected pairs that pass the cleaning, found none. Are the languages right?")
    return shards, dict(dropped)


def _write(
    folder: Path, begun: Begun, found: Found, parts: dict[str, Any], dropped: dict[str, int], notes: list[str]
) -> None:
    shards = parts.pop(TRAIN)
    counts = {part: parts[part]["records"] if part in parts else 0 for part in PARTS}
    words: dict[str, Any] = {}
    if shards:
        held = tokenizing.read(folder / corpus.VOCABULARY, languages=found.languages, moses=begun.limits.moses)
        words = corpus.listed(folder / corpus.VOCABULARY) | {"tokens": held.size}
    files.write_json(
        folder / MANIFEST,
        {
            "format": manifest.FORMAT,
            "begun": begun.plain(),
            "origin": found.origin,
            "dropped": dropped,
            "counts": counts | {"train": sum(shard["pairs"] for shard in shards)},
            "vocabulary": words,
            "parts": parts,
            "shards": shards,
            "notes": notes,
        },
    )


def _cleaned(folder: Path) -> Prepared:
    """The folder without temporary files; the mark of unfinished work is removed last."""
    found = open_prepared(folder)
    shutil.rmtree(Plan(folder).unfinished, ignore_errors=True)
    _unlink((*folder.glob(".*.part"), folder / corpus.BEGUN))
    return found


def _unlink(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)
