"""Cleaning of parallel text a block at a time against line by line, in CPU seconds, and by two workers against one.

The yardstick is what one writes with sacremoses: each line normalized by itself, each pair judged, a set of all pairs.
Workers are measured in wall time, their start included, so these rows mean something on an idle machine only.
"""

from __future__ import annotations

import re
import statistics
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

import regex
import sacremoses

from benchmarks.translation import seconds
from shiftbench.io import executor, files
from shiftbench.io.executor import Executor, Job
from shiftbench.tracks.translation import cleaning, corpus, duplicates, example
from shiftbench.tracks.translation.cleaning import Cleaning
from shiftbench.tracks.translation.corpus import Plan

PAIRS, ROUNDS = 20_000, 3
BLOCKS = 10  # of a corpus for workers: several seconds of work
BOUND, BOUND_WORKERS = 0.35, 1 / 1.6
LIMITS = Cleaning(example.LANGUAGES)
MARKS = ("“{}”", "{}", "« {} »", "{} (1990 – 1995)", "{} …", "It’s {}", "{}", "{}\u200b")
Lines = tuple[list[str], list[str]]


def ratios() -> list[tuple[str, float, float | None]]:
    """Measured ratios and their bounds."""
    lines = made(PAIRS)
    assert by_blocks(lines) == line_by_line(lines)
    found = [(seconds(lambda: by_blocks(lines)), seconds(lambda: line_by_line(lines))) for _ in range(ROUNDS)]
    rate = PAIRS / statistics.median(ours for ours, _ in found)
    spent = {workers: statistics.median(worked(lines, workers) for _ in range(ROUNDS)) for workers in (1, 2)}
    return [
        (f"cleaning {PAIRS:,} pairs ({rate:,.0f} a second) / line by line, the same pairs", ratio(found), BOUND),
        ("cleaning by 2 workers / by 1, wall time with their start", spent[2] / spent[1], BOUND_WORKERS),
    ]


def ratio(found: list[tuple[float, float]]) -> float:
    """The median of ours over theirs."""
    return statistics.median(ours / theirs for ours, theirs in found)


def made(pairs: int) -> Lines:
    """Made-up pairs with the marks of real text, one in twenty there before."""
    rows = list(example.sentences("train", pairs))
    places = [at // 2 if at % 20 == 19 else at for at in range(pairs)]
    sources = [MARKS[at % len(MARKS)].format(rows[at].source) for at in places]
    return sources, [MARKS[-at % len(MARKS)].format(rows[at].references[0]) for at in places]


def by_blocks(lines: Lines) -> Lines:
    """The pairs that are left, as the package cleans a block."""
    sources, targets, _ = cleaning.cleaned(*("\n".join(side).encode() for side in lines), LIMITS)
    copies = {*duplicates.copies([duplicates.run(sources, targets)], [0], 0, 1).tolist()}
    rows = [row for row in range(len(sources)) if row not in copies]
    return [sources[row] for row in rows], [targets[row] for row in rows]


def line_by_line(lines: Lines) -> Lines:
    """The same pairs, one after the other."""
    moses = [sacremoses.MosesPunctNormalizer(lang=language, perl_parity=True) for language in LIMITS.languages]
    seen, found = set[tuple[str, str]](), (list[str](), list[str]())
    for pair in zip(*lines, strict=True):
        text = (regex.sub(r"\p{C}", " ", own.normalize(line)) for own, line in zip(moses, pair, strict=True))
        source, target = (re.sub(" +", " ", line).strip() for line in text)
        words = [set(cleaning.LETTERS.findall(side)) for side in (source, target)]
        shared = len(words[0] & words[1])
        bad = cleaning.REPLACED in source + target or not source or not target or source == target
        if bad or max(len(source), len(target)) > LIMITS.characters:
            continue
        if (shared and shared >= LIMITS.overlap * len(words[0] | words[1])) or (source, target) in seen:
            continue
        seen.add((source, target))
        found[0].append(source)
        found[1].append(target)
    return found


def worked(lines: Lines, workers: int) -> float:
    """Wall seconds of cleaning a corpus of several blocks by so many processes."""
    block = [tuple(side.encode() for side in pair) for pair in zip(*lines, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        plan = Plan(Path(folder))
        files.write_json(plan.folder / corpus.BEGUN, {"limits": asdict(LIMITS)})
        for number in range(BLOCKS):
            corpus.write_block(plan.file("raw.txt", number), *zip(*block, strict=True))
        files.write_json(plan.file("blocks.json"), {"pairs": [len(block)] * BLOCKS})
        begun = time.perf_counter()
        executor.run(Job(corpus.CLEAN, folder, BLOCKS), Executor(workers=workers))
        return time.perf_counter() - begun
