"""Tables as grids of formatted cells, shared by terminal, HTML, Markdown and LaTeX so that they never disagree."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from shiftbench.measures import MEASURES
from shiftbench.metrics.conformal import RULES, coverage_name, size_name
from shiftbench.metrics.regression import LEVELS
from shiftbench.report.content import Report
from shiftbench.report.digits import (
    MISSING,
    Digits,
    count_text,
    digits_of,
    half_width,
    metric_digits,
    of_difference,
    p_text,
    scale_digits,
)
from shiftbench.report.view import (
    best,
    clean,
    enough,
    finite,
    gaps,
    headline_metric,
    headline_scores,
    lead,
    marked,
    measure_title,
    metric_title,
    metric_unit,
    once,
    scored_metrics,
    separated,
    split_title,
    subsets_of,
    testable,
    too_few,
    worded,
)
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.length import RESIDUAL
from shiftbench.scores.metric import METRICS, OPTIMAL_ORDER, RANDOM_ORDER, Metric, in_order
from shiftbench.scores.score import SUBSETS, Cost, Part, Score, Slice, SliceScore, System

ROLES = {"ensemble": "ensemble", "single": "single models", "baseline": "baseline", "model": "model"}
ARROWS = {"min": "↓", "max": "↑", "nominal": ""}  # what has a nominal value names it in its title
SCORES = {  # tables of scores, in reading order
    "answers": "Quality of the answers",
    "calibration": "Do intervals and probabilities hold what they promise?",
    "joint": "Answers and uncertainty jointly",
    "selective": "Other areas of selective prediction",
}
ROWS = {  # tables with several metrics of one title below each other, with their labels and notes
    "within": (
        "Uncertainty of {parts}",
        "Measure",
        "Each record has areas of its own, from the order of its {parts} by a measure; shown are means over "
        "records. R-AAC is the area above a score's curve within one record, R-AUC that under the error over records.",
    ),
    "variants": ("{parts}", "", ""),
}
REGIONS = {  # tables of conformal regions beside a system's own intervals, with the names of their metrics
    "conformal": ("share of targets inside", "coverage", coverage_name),
    "conformal_size": ("mean size", "width", size_name),
}
BESIDE_LENGTH = ("r_auc", "rejection_ratio", "roc_auc")  # scores of measures that the length check shows, too
OF_ERRORS = "error_length_correlation"
MOST_OF_LENGTH, TELLING = 20, 3  # rows of a length check that is not parted; measures of each system if it is
INFINITE = "∞"
PARTS = {
    "level_in": "Error level, in-domain",
    "level_shift": "Error level, added by the shift",
    "ranking_in": "Ranking, in-domain",
    "ranking_shifted": "Ranking, shifted",
    "ranking_between": "Ranking, between the two",
}
BOLD = "Bold: rank 1, that is, no adjusted paired test finds a system better; scores without a test are never bold."

RETENTION = (
    "R-AUC: the area under the error over the share of records kept, the most certain first; the others count as right."
)

COST_NOTE = (
    "Times by the clock, resumed and repeated parts included; CPU: over all threads, processes and jobs. Memory: the "
    "most that the process and its workers on this machine held at once, or one job elsewhere, with the data; + what "
    "was added since the work began. Of systems made of others the sum, of memory the largest. GPUs are not counted."
)
MB = 1e6

NO_INTERVAL = "†"
# Sizes of the page's style, in rem: its width; the least and the most of a label; the least of a column of numbers; a
# character, and what surrounds a text.
PAGE, LABEL, NARROWEST, EM, PADDING = 77.0, (9.0, 18.0), 6.5, 0.5, 1.3
MOST_WHOLE = 8  # rows of a table that is parted rather than scrolled


@dataclass(frozen=True)
class Cell:
    """One cell: its text, a note (an interval or ± std), and whether it is among the best."""

    text: str
    note: str = ""
    best: bool = False

    @property
    def line(self) -> str:
        """Text and note on one line."""
        return f"{self.text} {self.note}".rstrip()


NONE = Cell(MISSING)


@dataclass(frozen=True)
class Column:
    """The heading of a column, below the heading of its group."""

    title: str
    group: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Row:
    """A row: its label, a hint in small print, and its cells."""

    label: str
    cells: tuple[Cell, ...]
    hint: str = ""


@dataclass(frozen=True)
class Grid:
    """One table. `kind` names its content, `split` the split ("" for all splits)."""

    kind: str
    split: str
    title: str
    label: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def groups(self) -> list[list[int]]:
        """The positions of the columns, those with a common group heading together."""
        return [
            list(run) for _, run in groupby(range(len(self.columns)), lambda place: self.columns[place].group or place)
        ]

    def portions(self) -> list[Grid]:
        """Tables below each other that a page shows whole, each with groups of these columns; the last has the note.

        A table with more than `MOST_WHOLE` rows stays one, which scrolls: so it can be sorted and filtered.
        """
        found: list[list[int]] = [[]]
        longest = max((len(row.label) for row in self.rows), default=0)
        room = left = PAGE - min(max(EM * longest + PADDING, LABEL[0]), LABEL[1])
        for group in self.groups():
            wide = sum(self._width(place) for place in group)
            if found[-1] and wide > left:
                found.append([])
                left = room
            found[-1] += group
            left -= wide
        if len(found) == 1 or len(self.rows) > MOST_WHOLE or not all(column.group for column in self.columns):
            return [self]
        parts = [replace(self.only(places), note="") for places in found]
        titled = [replace(part, title=f"{self.title}, {k} of {len(parts)}") for k, part in enumerate(parts, 1)]
        return [*titled[:-1], replace(titled[-1], note=self.note)]

    def _width(self, place: int) -> float:
        """About the width of a column on a page, in rem."""
        cells = [row.cells[place] for row in self.rows]
        longest = max((max(len(cell.text), 0.8 * len(cell.note)) for cell in cells), default=0.0)
        return max(NARROWEST, EM * longest + PADDING)

    def only(self, places: list[int]) -> Grid:
        """The same rows with some of the columns."""
        rows = tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=rows)


@once
def grids(report: Report) -> list[Grid]:
    """All tables of a report that are not empty, in reading order."""
    found = [_splits(report), _systems(report), _counts(report), _costs(report)]
    for split in report.splits:
        scores = {kind: _scores(report, split, kind) for kind in SCORES}
        found += [
            *(scores.pop(kind) for kind in ("answers", "calibration")),
            _regions(report, split, "conformal"),
            _regions(report, split, "conformal_size"),
            _moved(report, split),
            *scores.values(),
            *_all_rows(report, split),
            _ranks(report, split),
            _measures(report, split),
            *_length(report, split),
            _parts(report, split),
            _slices(report, split),
            _calibration_slices(report, split),
            *(_region_slices(report, split, level) for level in LEVELS),
            _comparisons(report, split),
        ]
    return [_worded(grid, report) for grid in found if grid.rows and grid.columns]


def _worded(grid: Grid, report: Report) -> Grid:
    """A table with the report's word for its records."""
    columns = tuple(
        replace(column, title=worded(column.title, report), group=worded(column.group, report))
        for column in grid.columns
    )
    title, label, note = (worded(text, report) for text in (grid.title, grid.label, grid.note))
    return replace(grid, title=title, label=label, note=note, columns=columns)


def heading(metric: Metric, digits: Digits, report: Report) -> str:
    """The heading of a metric: title, direction, unit."""
    return f"{directed(metric, metric_title(metric, report))}{_bracketed(digits.unit)}"


def directed(metric: Metric, title: str) -> str:
    """A title with the direction in which the metric is better."""
    return f"{title} {ARROWS[metric.better]}".rstrip()


def _bracketed(unit: str) -> str:
    return f" ({unit})" if unit else ""


def part_names(report: Report, split: str) -> dict[str, str]:
    """The parts of an R-AUC that this report has for a split, in reading order, with their titles."""
    found = {part.name for part in report.parts if part.split == split}
    if "level_shift" in found:
        return {name: title for name, title in PARTS.items() if name in found}
    # Without shifted records the subset is not called in-domain.
    return {name: title.removesuffix(", in-domain") for name, title in PARTS.items() if name in found}


def part_digits(report: Report, split: str) -> Digits:
    """The format of the parts of the R-AUCs of one split: that of the R-AUC itself."""
    return metric_digits(report, METRICS["r_auc"], split)


def worst_first(report: Report, split: str) -> list[Slice]:
    """The slices of the leading system (or of the first that has any), largest mean error first."""
    slices = [entry for entry in report.slices if entry.split == split]
    front = lead(report)
    names = [entry.system for entry in slices]
    name = front.name if front is not None and front.name in names else next(iter(names), "")
    mine = [entry for entry in slices if entry.system == name]
    return sorted(mine, key=lambda entry: -entry.mean_error if math.isfinite(entry.mean_error) else math.inf)


def slice_digits(report: Report, split: str) -> Digits:
    """The format of the mean errors of the slices of one split."""
    entries = [entry for entry in report.slices if entry.split == split]
    values = [entry.mean_error for entry in entries]
    widths = [half_width(entry.low, entry.high) for entry in entries]
    return digits_of(values, widths, unit=clean(report.error_unit) if report.error_unit else "")


def score_cell(digits: Digits, score: Score | None, *, leaders: Collection[str] = ()) -> Cell:
    """A score as a cell; a dash for None."""
    if score is None:
        return NONE
    text, note = digits.cell(score.value, low=score.low, high=score.high, std=score.std)
    return Cell(text, note or (NO_INTERVAL if score.no_interval and text != MISSING else ""), score.system in leaders)


def _row(system: System, cells: list[Cell]) -> Row:
    name = clean(system.name)
    # The role in the hint already says that these are single models.
    return Row(name.removesuffix(" (single)") if system.role == "single" else name, tuple(cells), ROLES[system.role])


def _signs(report: Report, rows: Sequence[Row]) -> list[str]:
    """The meanings of bold and of the sign for a missing interval, if they occur in these rows."""
    cells = [cell for row in rows for cell in row.cells]
    notes = [BOLD] if any(cell.best for cell in cells) else []
    if any(cell.note == NO_INTERVAL for cell in cells):
        reasons = sorted({score.no_interval for score in report.scores if score.no_interval})
        few = [reason for reason in reasons if reason.startswith("too few")]
        causes = [f"no interval and no test: {' or '.join(few)} (fewer than {FEWEST})"] if few else []
        causes += [f"no interval: {reason}" for reason in reasons if reason not in few]
        told = "; or ".join(causes)
        notes.append(f"{NO_INTERVAL} {told[:1].upper()}{told[1:]}.")
    return notes


def _table_of(metric: Metric) -> str:
    """The table of `SCORES` that a metric belongs to."""
    return metric.table or ("joint" if metric.uses_uncertainty else "answers")


def _scores(report: Report, split: str, kind: str) -> Grid:
    columns: list[Column] = []
    cells: list[list[Cell]] = []  # one list per column
    chosen = headline_scores(report)
    names = [system.name for system in report.systems]
    for metric in scored_metrics(report, split):
        if _table_of(metric) != kind:
            continue
        digits = metric_digits(report, metric, split)
        mine = [score for key, score in chosen.items() if (key[1], key[3]) == (split, metric.name)]
        for subset in subsets_of(mine):
            here = {score.system: score for score in mine if score.subset == subset}
            leaders = best(report, list(here.values()))
            columns.append(Column(SUBSETS[subset], heading(metric, digits, report)))
            cells.append([score_cell(digits, here.get(name), leaders=leaders) for name in names])
    kept = [place for place in range(len(names)) if any(column[place] != NONE for column in cells)]
    rows = tuple(_row(report.systems[place], [column[place] for column in cells]) for place in kept)
    notes = _signs(report, rows)
    notes += _gap_note(report, [split], [report.systems[place].name for place in kept])
    own = dict.fromkeys(METRICS[key[3]] for key in chosen if key[1] == split) if kind == "joint" else {}
    notes += [f"{metric.title}: {metric.formula}." for metric in own if metric.table == kind]
    notes += [each for each in [RETENTION] if kind == "joint" and any(key[3] == "r_auc" for key in chosen)]
    notes += _left_out(report, split, kind)
    return Grid(kind, split, f"{SCORES[kind]} ({split_title(split)})", "System", tuple(columns), rows, " ".join(notes))


def _left_out(report: Report, split: str, kind: str) -> list[str]:
    """A sentence on the scores that a table lacks for want of records; that of answers names those with own tables."""
    kinds = (kind, *(ROWS if kind == "answers" else ()))
    found = (score for score in report.scores if score.split == split and not enough(report, score))
    metrics = [METRICS[score.metric] for score in found]
    titles = dict.fromkeys(metric_title(metric, report) for metric in metrics if _table_of(metric) in kinds)
    few, pictures = f"fewer than {FEWEST} {clean(report.records_name)}", ""
    if kind == "joint" and too_few(report, split):
        pictures = f" So are pictures of the order or the distribution of {few}."
    return [f"Left out, since of {few} they say nothing: {', '.join(titles)}.{pictures}"] if titles else []


def _all_rows(report: Report, split: str) -> Iterator[Grid]:
    """The tables of `ROWS`, one for each kind of parts."""
    metrics = scored_metrics(report, split)
    for kind in ROWS:
        for parts in dict.fromkeys(metric.parts for metric in metrics if metric.table == kind):
            own = [metric for metric in metrics if (metric.table, metric.parts) == (kind, parts)]
            yield _rows(report, split, sorted(own, key=_row_place))


def _row_place(metric: Metric) -> int:
    """A random order comes first, the optimal one last, between them measures as they are registered, then others."""
    titles = [RANDOM_ORDER, *(measure.title for measure in MEASURES.values())]
    return titles.index(metric.row) if metric.row in titles else len(titles) + (metric.row == OPTIMAL_ORDER)


def _rows(report: Report, split: str, metrics: Sequence[Metric]) -> Grid:
    """Metrics of one title as a column: a row for each `Metric.row` of each system that is no single model."""
    chosen = {key: score for key, score in headline_scores(report).items() if key[1] == split}
    named = {(metric.title, metric.row): metric.name for metric in metrics}
    columns, cells = [], []  # one list of cells per column
    shown = [system.name for system in report.systems if system.role != "single"]
    places = [(name, row) for name in shown for row in dict.fromkeys(metric.row for metric in metrics)]
    for title in dict.fromkeys(metric.title for metric in metrics):
        own = [metric for metric in metrics if metric.title == title]
        mine = [score for key, score in chosen.items() if any(key[3] == metric.name for metric in own)]
        digits = scale_digits(own[0], mine, unit=metric_unit(own[0], report))
        for subset in subsets_of(mine):
            found = [chosen.get((system, split, subset, named.get((title, row), ""))) for system, row in places]
            columns.append(Column(SUBSETS[subset], heading(own[0], digits, report)))
            cells.append([score_cell(digits, score) for score in found])
    rows = [
        Row(clean(row), tuple(column[place] for column in cells), clean(system))
        for place, (system, row) in enumerate(places)
        if any(column[place] != NONE for column in cells)
    ]
    kind, parts = metrics[0].table, metrics[0].parts
    title, label, note = (text.format(parts=parts or "parts") for text in ROWS[kind])
    plain = {metric.title: metric.plain for metric in metrics if metric.plain}
    told = "; ".join(f"{title}: {words}" for title, words in plain.items())
    notes = [note, *([f"{told}."] if told else []), *_signs(report, rows)]
    name = re.sub(r"\W+", "_", f"{kind} {parts}").strip("_")
    whole = f"{title[:1].upper()}{title[1:]} ({split_title(split)})"
    return Grid(name, split, whole, label, tuple(columns), tuple(rows), " ".join(filter(None, notes)))


def _regions(report: Report, split: str, kind: str) -> Grid:
    """The model's own intervals, and regions by each conformal rule, a row each: coverage or size at each level."""
    what, own, name_of = REGIONS[kind]
    chosen = {key: score for key, score in headline_scores(report).items() if key[1] == split}
    names = {rule: [name_of(rule, level) for level in LEVELS] for rule in RULES}
    held = {key[3] for key in chosen}
    rules = [rule for rule in names if held & {*names[rule]}]
    subsets = subsets_of([score for key, score in chosen.items() if any(key[3] in names[rule] for rule in rules)])
    titles = {"": "its own intervals"} | {rule: RULES[rule].title for rule in rules}
    if column := clean(_grouped_by(report, split)):
        titles["group"] = f"conformal, by group ({column})"
    names[""] = [f"{own}_{100 * level:.3g}" for level in LEVELS]
    digits = [metric_digits(report, METRICS[name], split) for name in names[rules[0]]] if rules else []
    rows = []
    for system in _models(report) if rules else ():
        for rule, hint in titles.items():
            places = [(subset, level) for subset in subsets for level in range(len(LEVELS))]
            scores = [chosen.get((system.name, split, subset, names[rule][level])) for subset, level in places]
            cells = [_region_cell(score, digits[level]) for score, (_, level) in zip(scores, places, strict=True)]
            if any(score is not None for score in scores):
                rows.append(Row(clean(system.name), tuple(cells), hint))
    unit = f" ({clean(report.target_unit)})" if report.target_unit and kind == "conformal_size" else ""
    columns = tuple(
        Column(f"{100 * level:.3g} %", f"{SUBSETS[subset]}{unit}") for subset in subsets for level in LEVELS
    )
    notes = ["Of models; the CSV has baselines, too.", *_calibration_notes(report, split), *_signs(report, rows)]
    if any(cell.text == INFINITE for row in rows for cell in row.cells):
        notes.append(
            f"{INFINITE}: some records have a region without ends, as too few calibration records are like them."
        )
    regions = "sets of classes" if report.task == "classification" else "intervals"
    title = f"Conformal {regions}, calibrated on {calibrated_on(report)}: {what} ({split_title(split)})"
    return Grid(kind, split, title, "System", columns, tuple(rows), " ".join(notes))


def _models(report: Report) -> list[System]:
    """The systems that are no baselines and no single models; baselines if there are no others."""
    whole = [system for system in report.systems if system.role != "single"]
    return [system for system in whole if system.role != "baseline"] or whole


def _region_cell(score: Score | None, digits: Digits) -> Cell:
    """A coverage or a size, of which only that of conformal regions can be infinite."""
    return score_cell(digits, score) if score is None or math.isfinite(score.value) else Cell(INFINITE)


def _grouped_by(report: Report, split: str) -> str:
    """The column whose groups were calibrated apart; "" if unknown."""
    found = report.recipe.get("conformal")
    columns = found.get("grouped_by") if isinstance(found, dict) else None
    return str(columns.get(split, "")) if isinstance(columns, dict) else ""


def calibrated_on(report: Report) -> str:
    """The records that conformal regions are calibrated on."""
    found = report.recipe.get("conformal")
    return clean(str(found.get("calibrated_on", "dev_in"))) if isinstance(found, dict) else "dev_in"


def _calibration_notes(report: Report, split: str) -> Iterator[str]:
    """The calibration data of conformal regions."""
    here = [each for each in report.separations if each.split == split and finite(each.roc_auc + each.effective)]
    if here:
        told = ", ".join(
            f"{SUBSETS[each.subset].lower()} {count_text(round(each.effective))} effective of "
            f"{count_text(each.records)} calibration records (ROC-AUC of the classifier {100 * each.roc_auc:.0f} %)"
            for each in here
        )
        yield f"Weighted for the shift: {told}."


def _sliced_scores(report: Report, split: str) -> tuple[str, dict[tuple[str, str, str], SliceScore]]:
    """The leading system with scores by slice, and these by column, group and metric."""
    here = [entry for entry in report.slice_scores if entry.split == split]
    front = lead(report)
    names = [entry.system for entry in here]
    system = front.name if front is not None and front.name in names else next(iter(names), "")
    return system, {(entry.column, entry.group, entry.metric): entry for entry in here if entry.system == system}


def _calibration_slices(report: Report, split: str) -> Grid:
    """Coverage and widths of a system's own intervals, likelihood and calibration error by group, as in `_slices`."""
    system, found = _sliced_scores(report, split)
    names = in_order({name for *_, name in found if METRICS[name].table != "conformal"})
    digits = {name: scale_digits(METRICS[name], [e for e in found.values() if e.metric == name]) for name in names}
    units = {name: metric_digits(report, METRICS[name], split).unit for name in names}
    groups = dict.fromkeys((entry.column, entry.group) for entry in worst_first(report, split))
    rows = []
    for column, group in groups:
        own = [found.get((column, group, name)) for name in names]
        if any(own):
            cells = [_sliced_cell(digits[name], entry) for name, entry in zip(names, own, strict=True)]
            count = next(entry.n for entry in own if entry is not None)
            rows.append(Row(clean(f"{column} = {group}"), (Cell(count_text(count)), *cells)))
    columns = [Column(f"{directed(METRICS[name], METRICS[name].title)}{_bracketed(units[name])}") for name in names]
    title = f"Intervals and probabilities by slice ({split_title(split)})"
    note = f"Of {marked(system)}, sorted by its mean error; slices.csv has all systems."
    return Grid("calibration_slices", split, title, "Records with", (Column("Records"), *columns), tuple(rows), note)


def _region_slices(report: Report, split: str, nominal: float) -> Grid:
    """Coverage and size by group, of the leading system: of its own intervals and of each conformal rule."""
    level = f"{100 * nominal:.3g}"
    here = [entry for entry in report.slice_scores if entry.split == split]
    system, found = _sliced_scores(report, split)
    if not any(METRICS[name].table == "conformal" for *_, name in found):
        return Grid(f"interval_slices_{level}", split, "", "", (), ())
    rules = {"own": (f"coverage_{level}", f"width_{level}")}
    rules |= {RULES[name].title: (coverage_name(name, nominal), size_name(name, nominal)) for name in RULES}
    unit = f" ({clean(report.target_unit)})" if report.target_unit else ""
    columns, metrics = [Column("Records")], []
    for place, group in enumerate((f"Inside {level} %", f"Mean size at {level} %{unit}")):
        for title, pair in rules.items():
            if any(key[2] == pair[place] for key in found):
                columns.append(Column(title, group))
                metrics.append(pair[place])
    digits = {metric: scale_digits(METRICS[metric], [e for e in here if e.metric == metric]) for metric in metrics}
    groups = dict.fromkeys(key[:2] for key in found)
    worst = next(iter(metrics), "")
    first = {key[:2]: e.value for key, e in found.items() if key[2] == worst and finite(e.value)}
    rows = []
    for column, group in sorted(groups, key=lambda each: (first.get(each, math.inf), each)):
        own = [found.get((column, group, metric)) for metric in metrics]
        cells = [_sliced_cell(digits[metric], entry) for metric, entry in zip(metrics, own, strict=True)]
        count = next(entry.n for entry in own if entry is not None)
        rows.append(Row(clean(f"{column} = {group}"), (Cell(count_text(count)), *cells)))
    note = f"Of {marked(system)}, lowest coverage first; by group: groups of the row's own column are calibrated apart."
    title = f"Intervals and sets of {level} % by slice ({split_title(split)})"
    return Grid(f"interval_slices_{level}", split, title, "Records with", tuple(columns), tuple(rows), note)


def _sliced_cell(digits: Digits, entry: SliceScore | None) -> Cell:
    if entry is None or not math.isfinite(entry.value):
        return Cell(INFINITE) if entry else NONE
    return Cell(*digits.cell(entry.value, low=entry.low, high=entry.high))


def _moved(report: Report, split: str) -> Grid:
    """The features whose distribution moved most."""
    share, distance = Digits(100.0, 0), Digits(1.0, 2)
    rows = tuple(
        Row(
            clean(each.feature),
            (
                Cell(distance.text(each.distance)),
                Cell(clean(each.inside)),
                Cell(clean(each.shifted)),
                Cell(share.text(each.missing_in)),
                Cell(share.text(each.missing_shifted)),
            ),
            each.kind,
        )
        for each in report.shifts
        if each.split == split
    )
    columns = (
        Column("Distance"),
        *(Column(SUBSETS[subset], "Typical value", numeric=False) for subset in ("in", "shifted")),
        *(Column(SUBSETS[subset], "Missing (%)") for subset in ("in", "shifted")),
    )
    note = (
        "Distance: 0 is no change, 1 is no value in common (Kolmogorov-Smirnov for numbers and dates, total variation "
        f"for categories; missing values count). {separation_text(report, split)}"
    ).rstrip()
    return Grid("moved", split, f"What shifted ({split_title(split)})", "Feature", columns, rows, note)


def separation_text(report: Report, split: str) -> str:
    """How well a classifier tells shifted records from those of dev_in; "" if unknown."""
    for each in report.separations:
        if (each.split, each.subset) == (split, "shifted") and finite(each.roc_auc):
            others, share = calibrated_on(report), f"{100 * each.roc_auc:.0f} %"
            return f"A classifier of all features tells shifted records from {others} with a ROC-AUC of {share}."
    return ""


def _gap_note(report: Report, splits: Sequence[str], names: Collection[str]) -> list[str]:
    """A sentence on the records on which systems with missing answers are scored and compared, if there are any."""
    told, every = [], {split: gaps(report, split) for split in splits}
    for name in names:
        places = [(split, every[split].get(name, {})) for split in splits]
        parts = [_of_records(found, "" if len(splits) == 1 else split_title(split)) for split, found in places if found]
        if parts:
            told.append(f"{marked(name)} on {', '.join(parts)}")
    if not told:
        return []
    return [
        f"Systems with gaps are scored where they have an answer, and compared where both have one: {'; '.join(told)}."
    ]


def _of_records(found: Mapping[str, tuple[int, int]], split: str) -> str:
    """The number of records that a system answers: in total and, unless several splits are listed, in each subset."""
    counts = {name: f"{count_text(n)} of {count_text(records)}" for name, (n, records) in found.items()}
    whole = f"{counts.pop('full', '0')} records"
    beside = split or ", ".join(f"{SUBSETS[name].lower()} {text}" for name, text in counts.items())
    return f"{whole} ({beside})" if beside else whole


def _splits(report: Report) -> Grid:
    """Errors and quality of the uncertainty over all records, splits side by side."""
    headline, chosen = headline_metric(report), headline_scores(report)
    names = [system.name for system in report.systems]
    columns, cells = [], []
    for metric in dict.fromkeys(metric for metric in (headline, METRICS["r_auc"], METRICS["f1_auc"]) if metric):
        for split in report.splits if len(report.splits) > 1 else ():
            digits = metric_digits(report, metric, split)
            here = {name: chosen.get((name, split, "full", metric.name)) for name in names}
            there = [score for score in here.values() if score is not None]
            if there:
                leaders = best(report, there)
                columns.append(Column(_capital(split_title(split)), heading(metric, digits, report)))
                cells.append([score_cell(digits, here[name], leaders=leaders) for name in names])
    rows = [_row(system, [column[place] for column in cells]) for place, system in enumerate(report.systems)]
    shown = tuple(row for row in rows if any(cell != NONE for cell in row.cells))
    notes = ["Over all records of each.", *_signs(report, shown)]
    notes += _gap_note(report, report.splits, names)
    return Grid("splits", "", "All splits side by side", "System", tuple(columns), shown, " ".join(notes))


def _capital(text: str) -> str:
    """A text that begins with a capital; names of test sets keep theirs."""
    return f"{text[:1].upper()}{text[1:]}"


def _measure_name(measure: str) -> str:
    """A measure's title and, if it is registered, its kind of uncertainty."""
    kind = f" ({MEASURES[measure].kind})" if measure in MEASURES else ""
    title = measure_title(measure)
    return f"{_capital(title) if title.endswith(' order') else title}{kind}"


def _measures(report: Report, split: str) -> Grid:
    def shown(measures: Sequence[str]) -> list[str]:
        # The random and optimal orders are shown beside measures, but do not make a table by themselves.
        own = [measure for measure in measures if not measure.endswith((" order", RESIDUAL))]
        return own + [measure for measure in measures if measure.endswith(" order")] if len(own) > 1 else []

    grid = _by_measure(report, split, lambda metric: _table_of(metric) == "joint", lambda measures, _: shown(measures))
    return replace(grid, kind="measures", title=f"Uncertainty measures ({split_title(split)})")


def _length(report: Report, split: str) -> Iterator[Grid]:
    """The errors and each measure of each system, with and without what the length of a record tells.

    Of many measures the table has the headline and those that rank lengths most; a second one has the others.
    """
    errors = {s.system: s for s in report.scores if (s.split, s.subset, s.metric) == (split, "full", OF_ERRORS)}
    wanted = [name for name in METRICS if errors and (_table_of(METRICS[name]) == "length" or name in BESIDE_LENGTH)]
    telling = _telling(report, split)

    def of(kept: Callable[[str, str], bool]) -> Grid:
        return _by_measure(
            report, split, lambda metric: metric.name in wanted,
            lambda measures, system: [
                one
                for each in measures
                if not each.endswith((" order", RESIDUAL)) and kept(system, each)
                for one in (each, each + RESIDUAL)
                if one in measures
            ],
        )  # fmt: skip

    whole = of(lambda *_: True)
    parted = len(errors) + len(whole.rows) > MOST_OF_LENGTH
    grid = of(lambda *place: place in telling) if parted else whole
    digits = metric_digits(report, METRICS[OF_ERRORS], split)
    nothing = (NONE,) * (len(grid.columns) - 1)
    rows = [Row("Its errors", (score_cell(digits, score), *nothing), clean(name)) for name, score in errors.items()]
    made = report.recipe.get("length")
    fit = clean(str(made.get("fit", ""))) if isinstance(made, dict) else ""
    note = f"Rank correlations. Length residual: the measure minus its {fit} fit on the length of in-domain records."
    most = "Of the measures: the headline and those that depend most on length. " if parted else ""
    title = f"Length check ({split_title(split)})"
    yield replace(grid, kind="length", title=title, rows=(*rows, *grid.rows), note=f"{note} {most}{grid.note}")
    if parted:
        title = f"Length check, further measures ({split_title(split)})"
        rest = of(lambda *place: place not in telling)
        yield replace(rest, kind="length_measures", title=title, note=f"{note} {rest.note}")


def _telling(report: Report, split: str) -> set[tuple[str, str]]:
    """Of each system the headline measure, and those whose correlation with length is furthest from 0."""
    held = {
        (s.system, s.measure): abs(s.value)
        for s in report.scores
        if (s.split, s.subset, s.metric) == (split, "full", "length_correlation")
        and not s.measure.endswith((" order", RESIDUAL))
    }
    found = set()
    for system in report.systems:
        own = [key for key in held if key[0] == system.name and math.isfinite(held[key])]
        headline = report.measure_of(system.name)
        found |= {*sorted(own, key=lambda key: (key[1] != headline, -held[key]))[:TELLING]}
    return found


def _by_measure(
    report: Report, split: str, wanted: Callable[[Metric], bool], shown: Callable[[Sequence[str], str], Sequence[str]]
) -> Grid:
    """A row for each measure that is shown of each system, a column for each metric that is wanted."""
    entries = [s for s in report.scores if s.split == split and s.measure and enough(report, s)]
    by_place = {(score.system, score.measure, score.metric): score for score in entries if score.subset == "full"}
    held = {metric for *_, metric in by_place}
    metrics = [METRICS[name] for name in in_order(held) if wanted(METRICS[name])]
    metrics = sorted(metrics, key=lambda metric: _table_of(metric) != "length")
    digits = {metric.name: metric_digits(report, metric, split) for metric in metrics}
    rows = []
    for system in report.systems:
        for measure in shown([*dict.fromkeys(key[1] for key in by_place if key[0] == system.name)], system.name):
            scores = [by_place.get((system.name, measure, metric.name)) for metric in metrics]
            cells = [score_cell(digits[metric.name], score) for metric, score in zip(metrics, scores, strict=True)]
            rows.append(Row(_measure_name(measure), tuple(cells), clean(system.name)))
    columns = tuple(Column(heading(metric, digits[metric.name], report)) for metric in metrics)
    note = "Over all records of the split. Intervals are given for the measure behind a system's headline scores."
    note = " ".join([note, *_signs(report, rows)])
    return Grid("", split, "", "Measure", columns, tuple(rows), note)


def _ranks(report: Report, split: str) -> Grid:
    """A row for each system and subset: side by side, the subsets of all metrics would be wider than any page."""
    found = {(rank.system, rank.subset, rank.metric): rank.rank for rank in report.ranks if rank.split == split}
    metrics = in_order({metric for *_, metric in found})
    places = {(system, subset) for system, subset, _ in found}
    titles = [directed(METRICS[metric], metric_title(METRICS[metric], report)) for metric in metrics]
    columns = [Column("Subset", numeric=False), *map(Column, titles)]
    rows = tuple(
        _row(system, [Cell(title), *(Cell(count_text(found.get((system.name, subset, name)))) for name in metrics)])
        for subset, title in SUBSETS.items()
        for system in report.systems
        if (system.name, subset) in places
    )
    note = "1 + the number of systems that an adjusted paired test finds better: where it is 1, none is found better."
    return Grid("ranks", split, f"Ranks ({split_title(split)})", "System", tuple(columns), rows, note)


def _parts(report: Report, split: str) -> Grid:
    parts = [part for part in report.parts if part.split == split and not too_few(report, split)]
    names, digits = part_names(report, split), part_digits(report, split)
    rows = tuple(
        _row(system, _part_cells([part for part in parts if part.system == system.name], list(names), digits))
        for system in report.systems
        if any(part.system == system.name for part in parts)
    )
    columns = (*(Column(title) for title in names.values()), Column(f"Sum = R-AUC{_bracketed(digits.unit)}"))
    note = (
        "Level: what a random order would give. Ranking: what the order by uncertainty adds; "
        "the further below zero, the better the uncertainty ranks the errors."
    )
    if "level_shift" in names:
        note += (
            f" {PARTS['level_shift']}: the level of all records minus that of the in-domain ones, so it depends on the "
        )
        note += "mix of records and grows with the share of shifted ones."
    note = " ".join([note, *_gap_note(report, [split], dict.fromkeys(part.system for part in parts))])
    title = f"Where the R-AUC comes from ({split_title(split)})"
    return Grid("parts", split, title, "System", columns, rows, note)


def _part_cells(parts: list[Part], names: list[str], digits: Digits) -> list[Cell]:
    values = {part.name: part.value for part in parts}
    return [Cell(digits.text(value)) for value in (*(values.get(name) for name in names), sum(values.values()))]


def _slices(report: Report, split: str) -> Grid:
    order = worst_first(report, split)
    found = {(entry.system, entry.column, entry.group): entry for entry in report.slices if entry.split == split}
    names = [system.name for system in report.systems if any(key[0] == system.name for key in found)]
    error, area, share = slice_digits(report, split), part_digits(report, split), Digits(100.0, 1)
    rows = []
    for entry in order:
        same = [found.get((name, entry.column, entry.group)) for name in names]
        cells = [Cell(count_text(entry.n)), Cell(share.text(entry.shifted_share))]
        cells += [Cell(*error.cell(one.mean_error, low=one.low, high=one.high)) if one else NONE for one in same]
        cells += [Cell(area.text(one.r_auc)) if one else NONE for one in same]
        cells += [Cell(share.text(one.acceptable)) if one else NONE for one in same]
        rows.append(Row(clean(f"{entry.column} = {entry.group}"), tuple(cells)))
    groups = [
        f"Mean {clean(report.error_name)} ↓{_bracketed(error.unit)}",
        f"R-AUC ↓{_bracketed(area.unit)}",
        "Acceptable ↑ (%)",
    ]
    columns = [Column("Number", "Records"), Column("Shifted (%)", "Records")]
    columns += [Column(clean(name), group) for group in groups for name in names]
    note = f"Sorted by the mean error of {marked(order[0].system)}." if order else ""
    if order and report.recipe.get("intervals", {}).get("resampled") == "clusters":
        note += " Intervals are by cluster."
    if any(entry.no_interval.startswith("too few") for entry in order):
        note += f" Groups of fewer than {FEWEST} clusters have no interval."
    note = " ".join([note, *_gap_note(report, [split], names)])
    title = f"Slices, worst first ({split_title(split)})"
    shown = [place for place in range(len(columns)) if any(row.cells[place] != NONE for row in rows)]
    return Grid("slices", split, title, "Records with", tuple(columns), tuple(rows), note).only(shown)


def _comparisons(report: Report, split: str) -> Grid:
    rows = []
    for entry in report.comparisons:
        if entry.split != split or not enough(report, entry):
            continue
        metric = METRICS[entry.metric]
        digits = of_difference(metric_digits(report, metric, split))
        first, second = clean(entry.a), clean(entry.b)
        winner = first if (entry.difference < 0) == (metric.better == "min") else second
        cells = (
            Cell(SUBSETS[entry.subset]),
            Cell(heading(metric, digits, report)),
            Cell(count_text(entry.n)),
            Cell(*digits.cell(entry.difference, low=entry.low, high=entry.high)),
            Cell(p_text(entry.p)),
            Cell(p_text(entry.p_adjusted)),
            Cell(f"{winner} is better" if separated(report, entry) else entry.no_interval or MISSING),
        )
        rows.append(Row(f"{first} − {second}", cells))
    columns = (
        Column("Subset", numeric=False),
        Column("Score", numeric=False),
        Column("Records"),
        Column("Difference"),
        Column("p"),
        Column("p adjusted"),
        Column("Reading", numeric=False),
    )
    methods = ", ".join(sorted({entry.adjusted_by for entry in report.comparisons if entry.split == split}))
    note = (
        "Paired: the difference on the records that both answer. "
        f"The adjusted p allows for the number of comparisons by one score in one subset ({clean(methods)})."
    )
    if any(row.cells[-1] == NONE for row in rows):
        why = "the two cannot be told apart" if testable(report, split) else "there are too few replicates to tell"
        note += f" {MISSING}: {why}."
    title = f"Paired comparisons ({split_title(split)})"
    return Grid("comparisons", split, title, "First − second", columns, tuple(rows), note)


def _systems(report: Report) -> Grid:
    rows = tuple(
        _row(system, [Cell(measure_title(system.measure or MISSING)), Cell(clean(system.about or MISSING))])
        for system in report.systems
    )
    columns = (Column("Uncertainty", numeric=False), Column("About", numeric=False))
    return Grid("systems", "", "Systems", "System", columns, rows)


def _counts(report: Report) -> Grid:
    found = {(count.split, count.subset): count for count in report.counts}
    columns, clustered = [], any(count.clusters is not None for count in report.counts)
    subsets = [subset for subset in SUBSETS if any(key[1] == subset for key in found)]
    for subset in subsets:
        columns += [Column("Records", SUBSETS[subset])]
        columns += [Column("Clusters", SUBSETS[subset])] * clustered
    rows = []
    for split in report.splits:
        cells = []
        for subset in subsets:
            count = found.get((split, subset))
            cells += [Cell(count_text(count.records if count else None))]
            cells += [Cell(count_text(count.clusters if count else None))] * clustered
        rows.append(Row(worded(split_title(split), report), tuple(cells)))
    return Grid("counts", "", "Records scored", "Split", tuple(columns), tuple(rows))


def _costs(report: Report) -> Grid:
    """A row for each system but single models; without rows if nothing was measured."""
    known = {cost.system: cost for cost in report.costs}
    columns = (
        Column("Time (s)", "Fit"),
        Column("CPU (s)", "Fit"),
        Column("Memory (MB)", "Fit"),
        Column("Time per record (ms)", "Predict"),
        Column("CPU per record (ms)", "Predict"),
        Column("Memory (MB)", "Predict"),
    )
    rows = tuple(
        _row(system, _cost_cells(known.get(system.name)))
        for system in report.systems
        if known and system.role != "single"
    )
    return Grid("cost", "", "Cost", "System", columns, rows, COST_NOTE)


def _cost_cells(cost: Cost | None) -> list[Cell]:
    if cost is None:
        return [NONE] * 6
    each = 1000 / cost.predicted if cost.predicted else None
    return [
        _amount(cost.fit_seconds),
        _amount(cost.fit_cpu_seconds),
        _memory(cost.fit_bytes, cost.fit_added),
        _amount(cost.predict_seconds, each),
        _amount(cost.predict_cpu_seconds, each),
        _memory(cost.predict_bytes, cost.predict_added),
    ]


def _amount(value: float | None, factor: float | None = 1.0) -> Cell:
    """A number with three digits, or all before the point."""
    if value is None or factor is None:
        return NONE
    scaled = value * factor
    return Cell(f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:.3g}" if scaled >= 1e-4 else "< 0.0001")


def _memory(held: int | None, added: int | None) -> Cell:
    return NONE if held is None else Cell(f"{held / MB:,.0f}", f"+{(added or 0) / MB:,.0f}")
