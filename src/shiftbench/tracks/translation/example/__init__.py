"""A made-up language pair in which the register really shifts: news to learn from, chats with anomalies to test on.

Nobody's texts: the languages are in `lexicon` and `grammar`, the numbers in `registers`, what is left is chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.track.intake import example_folder
from shiftbench.tracks.translation.example import anomalies, grammar
from shiftbench.tracks.translation.example.lexicon import Draw
from shiftbench.tracks.translation.example.registers import PARTS, RATES, REGISTERS

__all__ = ["FEWEST_ROWS", "LANGUAGES", "MOST_ROWS", "ROWS", "Made", "counts", "sentences", "write"]

ROWS = 20_000
FEWEST_ROWS, MOST_ROWS = 100, 100_000_000
LANGUAGES = ("qaa", "qbb")  # codes of ISO 639-3 for private use
PER_DOCUMENT, REFERENCES, TRIALS = 10, 3, 6
STAGE, REPORT_EVERY = "sentences", 1_000
_BYTES = 200  # of a sentence in all files; rather too many
COLUMNS = ("id", "document", "domain", "source", "reference", *(f"reference_{at}" for at in range(2, REFERENCES + 1)))


@dataclass(frozen=True)
class Made:
    """A made-up sentence: its document and domain, its source, its valid translations, and its anomalies."""

    document: str
    domain: str
    source: str
    references: tuple[str, ...]
    flags: dict[str, bool]


def write(path: str | Path, rows: int | None = None, seed: int = 0, progress: Progress | None = None) -> Path:
    """Write `rows` sentences (20,000 if None) whole or not at all, as a folder that `prepare` takes.

    train is raw parallel text; the other parts are TSV with up to three references and the seven flags. A sentence
    depends on `seed`, part and number in it alone.

    Raises:
        SettingsError: if `rows` or `seed` is out of range.
        TableError: if the folder holds something else, or cannot be written.
    """
    rows = ROWS if rows is None else rows
    _require(rows, seed)
    folder, done = Path(path), 0
    with example_folder.replacing(folder, track="translation", size=rows * _BYTES, what=f"{rows:,} sentences") as aside:
        for part, count in counts(rows).items():
            made = _reported(part, count, (seed, done, rows), progress)
            (_write_train if part == "train" else _write_tested)(aside, part, made)
            done += count
        lines = f'origin = "made-up language pair, {rows:,} sentences, seed {seed}"'
        languages = "\n".join(f'{end} = "{name}"' for end, name in zip(("source", "target"), LANGUAGES, strict=True))
        files.write_text(aside / "origin.toml", f"{lines}\n{languages}\n")
    return folder


def counts(rows: int) -> dict[str, int]:
    """The number of sentences of each part: its share; what is left goes to train."""
    found = {part: int(rows * share) for part, (share, _) in PARTS.items()}
    found["train"] += rows - sum(found.values())
    return found


def sentences(part: str, count: int, seed: int = 0) -> Iterator[Made]:
    """The first `count` sentences of a part, one by one."""
    place, (_, domains) = list(PARTS).index(part), PARTS[part]
    wanted = 1 if part == "train" else REFERENCES
    for row in range(count):
        draw, document = Draw(seed, place, row), row // PER_DOCUMENT
        domain = next(iter(domains)) if len(domains) == 1 or draw.chance(next(iter(domains.values()))) else "chat"
        register = REGISTERS[domain]
        meant = grammar.sentence(register, document, draw)
        text, flags = anomalies.with_anomalies(grammar.source(meant), domain, draw)
        valid = {grammar.target(meant, register.polite, draw): None for _ in range(1 if wanted == 1 else TRIALS)}
        references = tuple(" ".join([each, *text.kept]) for each in list(valid)[:wanted])
        yield Made(f"{part}-{document:05d}", domain, " ".join(text.words), references, flags)


def _reported(part: str, count: int, state: tuple[int, int, int], progress: Progress | None) -> Iterator[Made]:
    """The sentences of a part; state: the seed, and how many of how many sentences are written before."""
    seed, before, rows = state
    for row, made in enumerate(sentences(part, count, seed), 1):
        yield made
        if progress is not None and (row % REPORT_EVERY == 0 or row == count):
            progress(STAGE, before + row, rows)


def _write_train(folder: Path, part: str, made: Iterator[Made]) -> None:
    """Raw parallel text: a line of each language for each sentence."""
    with ExitStack() as stack:
        source, target = (stack.enter_context(_opened(folder / f"{part}.{language}")) for language in LANGUAGES)
        for each in made:
            source.write(f"{each.source}\n")
            target.write(f"{each.references[0]}\n")


def _write_tested(folder: Path, part: str, made: Iterator[Made]) -> None:
    """A TSV with references and flags."""
    with _opened(folder / f"{part}.tsv") as file:
        file.write("\t".join([*COLUMNS, *RATES]) + "\n")
        for row, each in enumerate(made):
            references = (*each.references, *[""] * (REFERENCES - len(each.references)))
            flags = (str(int(each.flags[name])) for name in RATES)
            known = (f"{part}-{row}", each.document, each.domain, each.source, *references, *flags)
            file.write("\t".join(known) + "\n")


def _opened(path: Path) -> IO[str]:
    return path.open("w", encoding="utf-8", newline="\n")


def _require(rows: int, seed: int) -> None:
    problems = []
    if not FEWEST_ROWS <= rows <= MOST_ROWS:
        problems.append(f"rows: expected {FEWEST_ROWS} to {MOST_ROWS:,} sentences, found {rows:,}. Choose another.")
    if seed < 0:
        problems.append(f"seed: expected a whole number >= 0, found {seed}. Choose another.")
    if problems:
        raise SettingsError(*problems)
