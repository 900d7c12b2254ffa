"""The records behind the scores, as tables or as texts to read, and as CSV; how they are chosen: see
`assessment.notable`."""

from __future__ import annotations

import itertools
import math
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, Digits, digits_of
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.style import sentence
from shiftbench.report.text import csv_text, harmless
from shiftbench.report.view import clean, measure_title, too_few, worded
from shiftbench.scores.score import Notable, Text

FILE = "records.csv"
MOST_COLUMNS = 12  # of the table that are shown on the page
LONGEST = 60  # characters of a text there
LARGEST = 1e9  # whole numbers up to this are shown with all of their digits
SHADED = "Colours: the darker, the less certain of it; the pointer tells how uncertain."
JOINERS = "\u200c\u200d"  # invisible, but letters and emoji depend on them
LISTS = {
    "worst": ("Largest errors", "Of equal errors, those of which the system was more certain come first."),
    "confident": (
        "Confidently wrong",
        "The largest errors, all above the median, among the least uncertain tenth of the records (and its ties).",
    ),
    "uncertain": ("Least certain", "The highest uncertainties; of equal ones, those with larger errors come first."),
}
FIELDS = (
    "system", "split", "list", "place", "id", "domain", "target", "answer", "error", "uncertainty",
)  # fmt: skip


@dataclass(frozen=True)
class Shown:
    """A text ready for a page: pieces with a shade in percent, or None, and what the pointer tells."""

    label: str
    pieces: tuple[tuple[str, int | None, str], ...]


@dataclass(frozen=True)
class Card:
    """A record with its texts."""

    heading: str
    texts: tuple[Shown, ...]


@dataclass(frozen=True)
class Cards:
    """A list of records whose texts are shown."""

    title: str
    note: str
    cards: tuple[Card, ...]


def systems(report: Report) -> list[str]:
    """The systems with such records, the leading one first."""
    return list(dict.fromkeys(entry.system for entry in report.notable))


def lists(report: Report, system: str) -> list[Grid | Cards]:
    """Each list of a system: as cards where records have texts, else as a table."""
    return [
        _cards(report, entries) if any(entry.texts for entry in entries) else _grid(report, entries, MOST_COLUMNS)
        for entries in _by_list(report, system)
    ]


def grids(report: Report, system: str, *, most: int = MOST_COLUMNS) -> list[Grid]:
    """A table for each list of a system; of the columns of the records the first `most`."""
    return [_grid(report, entries, most) for entries in _by_list(report, system)]


def _by_list(report: Report, system: str) -> list[list[Notable]]:
    found: dict[tuple[str, str], list[Notable]] = {}
    for entry in report.notable:
        few = entry.kind == "confident" and too_few(report, entry.split)  # a tenth of them is no record
        if entry.system == system and entry.kind in LISTS and not few:
            found.setdefault((entry.split, entry.kind), []).append(entry)
    return [*found.values()]


def csv(report: Report) -> str:
    """All records with all of their columns; those named like one of ours get the prefix `table.`."""
    columns = _columns(report.notable)
    lines: list[Sequence[Any]] = [
        [*FIELDS, *(harmless(f"table.{name}" if name in FIELDS else name) for name in columns)]
    ]
    for entry in report.notable:
        own = [entry.system, entry.split, entry.kind, entry.place, entry.id, _domain(entry.shifted)]
        numbers = [entry.target, entry.answer, entry.error, entry.uncertainty]
        lines.append([_field(value) for value in (*own, *numbers, *map(entry.columns.get, columns))])
    return csv_text(lines)


# --- texts ------------------------------------------------------------------------------------------------------------


def _cards(report: Report, entries: Sequence[Notable]) -> Cards:
    first = entries[0]
    title, rule = LISTS[first.kind]
    measure = report.measure_of(first.system)
    kept = [entry for entry in entries if entry.texts]
    error, uncertainty = (
        digits_of([getattr(entry, name) for entry in kept], unit=unit)
        for name, unit in (("error", report.error_unit), ("uncertainty", ""))
    )
    named = "uncertainty" if measure in ("", "uncertainty") else measure_title(measure)
    made = tuple(
        Card(
            " · ".join(
                [
                    *filter(None, (_cut(entry.id), _domain(entry.shifted))),
                    f"{clean(report.error_name)} {error.text(entry.error)}",
                    *[f"{named} {uncertainty.text(entry.uncertainty)}"] * bool(measure),
                    *_descriptions(entry),
                ]
            ),
            tuple(map(shown, entry.texts)),
        )
        for entry in kept
    )
    shaded = any(text.shades for entry in kept for text in entry.texts)
    more = f" {len(entries) - len(kept)} more are in {FILE}." if len(kept) < len(entries) else ""
    return Cards(f"{title}: {clean(first.system)}", f"{rule}{f' {SHADED}' * shaded}{more}", made)


def _descriptions(entry: Notable) -> Iterator[str]:
    """The columns of a record that say something of it beside its texts; flags by their name alone."""
    texts = {"".join(text.pieces)[:LONGEST] for text in entry.texts}
    for name, value in [*entry.columns.items()][:MOST_COLUMNS]:
        if value is True:
            yield clean(name)
        elif value is not None and value is not False and value != "" and str(value)[:LONGEST] not in texts:
            yield f"{clean(name)}: {_cut(str(value))}"


def shown(text: Text) -> Shown:
    """A text for a page, in which what belongs to one sign stays together."""
    pieces = list[tuple[str, int | None, str]]()
    for raw, shade in itertools.zip_longest(text.pieces, text.shades, fillvalue=math.nan):
        piece = readable(str(raw))
        share = None if shade is None or not math.isfinite(shade) else round(100 * min(max(shade, 0.0), 1.0))
        if pieces and piece and _joins(piece[0], pieces[-1][0]):
            before, other, _ = pieces.pop()
            piece, share = before + piece, max((each for each in (other, share) if each is not None), default=None)
        pieces.append((piece, share, "" if share is None else f"{share} %"))
    return Shown(clean(text.label), tuple(pieces))


def _joins(sign: str, before: str) -> bool:
    """Whether a sign cannot stand apart from those before it: a combining character, or what a joiner joins."""
    return unicodedata.category(sign)[0] == "M" or sign in JOINERS or before.endswith(tuple(JOINERS))


def readable(text: str) -> str:
    """A text without what cannot be seen: control characters, and those that turn the direction of others."""
    return "".join(sign if sign.isprintable() or sign in JOINERS else " " if sign.isspace() else "" for sign in text)


# --- tables -----------------------------------------------------------------------------------------------------------


def _grid(report: Report, entries: Sequence[Notable], most: int) -> Grid:
    first = entries[0]
    title, rule = LISTS[first.kind]
    names = _columns(entries)
    measure = report.measure_of(first.system)
    # One format for all tables of a column: of answers, errors and uncertainties those of the system, of others all.
    own = [entry for entry in report.notable if entry.system == first.system]
    variance = measure.endswith("variance") and report.error_name == "squared error"
    parts: list[tuple[Column, list[Any], Digits | None]] = [
        (Column("Domain", numeric=False), [_domain(entry.shifted) for entry in entries], None)
    ] * any(entry.shifted is not None for entry in entries)
    for heading, unit, name in (
        ("Target", report.target_unit, "target"),
        ("Answer", report.target_unit, "answer"),
        (sentence(report.error_name), report.error_unit, "error"),
        (
            "Uncertainty" if measure in ("", "uncertainty") else measure_title(measure),
            report.error_unit if variance else "",
            "uncertainty",
        ),
    ):
        values = [getattr(entry, name) for entry in entries]
        known = measure or any(values)  # a system without a measure is equally certain of all
        if any(value is not None for value in values) and (known or name != "uncertainty"):
            alike = report.notable if name == "target" else own
            column, values, digits = _part(
                clean(heading), clean(unit), values, [getattr(entry, name) for entry in alike]
            )
            if digits is None and any(isinstance(value, int) for value in values):
                digits = Digits(1.0, 0, clean(unit))  # whole, and written as the fractional ones beside them
            parts.append((column, values, digits))
    for name in names[:most]:
        values, every = ([entry.columns.get(name) for entry in some] for some in (entries, report.notable))
        parts.append(_part(clean(name)[:LONGEST], "", values, every))
    rows = tuple(
        Row(_cut(entry.id), tuple(_cell(values[k], digits) for _, values, digits in parts))
        for k, entry in enumerate(entries)
    )
    hidden = f" {len(names) - most:,} more columns are in {FILE}." if len(names) > most else ""
    title = f"{title}: {clean(first.system)}"
    return Grid(
        f"records_{first.kind}",
        first.split,
        title,
        worded("Record", report),
        tuple(part[0] for part in parts),
        rows,
        worded(rule, report) + hidden,
    )


def _part(title: str, unit: str, values: list[Any], every: Sequence[Any]) -> tuple[Column, list[Any], Digits | None]:
    """A column, its values, and the common format of `every` value where these are fractional numbers."""
    known = [value for value in every if value is not None]
    numeric = all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in known)
    whole = numeric and all(math.isfinite(value) and value == int(value) for value in known)
    if whole and all(abs(value) < LARGEST for value in known):
        values = [value if value is None else int(value) for value in values]
        known = []
    digits = digits_of(known, unit=unit) if numeric and any(isinstance(value, float) for value in known) else None
    unit = digits.unit if digits else unit
    return Column(f"{title} ({unit})" if unit else title, numeric=numeric), values, digits


def _cell(value: Any, digits: Digits | None) -> Cell:
    if value is None:
        return Cell(MISSING)
    return Cell(digits.text(value) if digits else _cut(str(value)))


def _cut(text: str) -> str:
    whole = clean(text)
    return whole if len(whole) <= LONGEST else f"{whole[: LONGEST - 1]}…"


def _columns(entries: Sequence[Notable]) -> list[str]:
    return list(dict.fromkeys(name for entry in entries for name in entry.columns))


def _domain(shifted: bool | None) -> str:
    return "" if shifted is None else "shifted" if shifted else "in-domain"


def _field(value: Any) -> Any:
    return "" if value is None else harmless(value) if isinstance(value, str) else value
