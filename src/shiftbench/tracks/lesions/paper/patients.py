"""Who the patients are: lesions of each part (Table 6), sources (Table 7), and men and women (Tables 12 to 15)."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from functools import cache
from importlib import resources
from typing import Any

from shiftbench.report.digits import MISSING, count_text
from shiftbench.report.view import clean
from shiftbench.track.paper.printed import lookup, marks, values
from shiftbench.track.paper.table import Cell, Column, Printed, Row, Table
from shiftbench.tracks.lesions import schema
from shiftbench.tracks.lesions.paper.systems import (
    MODELS,
    PAPER,
    PaperSystem,
    Run,
    flags,
    held,
    lesion_counts,
    number,
    ours,
)
from shiftbench.tracks.lesions.population import SETS, SEXES, STATISTICS

PRINTED = {  # Table 7: mean ± standard deviation and median of ages, men for each woman, agreement of raters
    "ISBI": ("40.4 ± 9.3", MISSING, "0.21", "0.63"),
    "MSSEG-1": ("45.3 ± 10.3", MISSING, "0.40", "0.71"),
    "PubMRI": (MISSING, "39", "0.23", "0.78"),
}
WORDS = {"M": "men", "F": "women"}
HEADS = {"train": "train", "dev_in+eval_in": "dev_in and eval_in", "dev_out": "dev_out", "eval_out": "eval_out"}
IN_PRINT = {"dev": "dev_out", "eval": "eval_out"}  # datasets of Tables 14 and 15 that have another name here
DESCRIBED = {
    "Table 12": ("ages_by_sex", "Age", "Ages of men and women in each part.", "years"),
    "Table 13": (
        "loads_by_sex", "Lesion load",
        "How much of a scan is lesion, for men and women in each part. Ours are of all voxels; print states no unit.",
        "% of voxels",
    ),
}  # fmt: skip
MODELS_OF = {"Table 14": "UNET", "Table 15": "UNETR"}


def of_data(runs: Sequence[Run]) -> list[Table]:
    """Tables 6 and 7."""
    return [_loads(runs), _sources(runs)]


def of_sexes(runs: Sequence[Run]) -> list[Table]:
    """Tables 12 to 15."""
    return [*(_described(name, runs) for name in DESCRIBED), *(_scored(name, runs) for name in MODELS_OF)]


# --- parts and sources -----------------------------------------------------------------------------------------------


def _loads(runs: Sequence[Run]) -> Table:
    """How many patients each part has and how much of them is lesion, in print and in the data of runs."""
    rows, words = [], []
    for part, in_print in schema.TABLE_6.items():
        rows.append(Row(f"{part}, in print"))
        words.append(
            (
                MISSING,
                _plus_minus(in_print["volume_ml"], in_print["volume_sd_ml"], 2),
                count_text(int(in_print["lesions"])),
            )
        )
        for own in runs:
            found = own.entry("lesions", part)
            if (mean := number(found.get("volume_ml"))) is not None:
                rows.append(Row(part, run=own.name))
                words.append((_count(found), _plus_minus(mean, number(found.get("volume_sd_ml")), 2), _lesions(found)))
    return Table(
        "Table 6", PAPER, "Data", f"Lesions of each part. {ours(runs)}", "Part", tuple(rows), task=schema.TASK,
        heads=("Patients", "Volume of lesions (ml), mean ± sd", "Lesions"), words=tuple(words),
        notes=("Numbers of lesions depend on the connectivity, which the paper does not state: ours by each.",),
    )  # fmt: skip


def _lesions(found: dict[str, Any]) -> str:
    """Numbers of lesions by connectivity."""
    return " · ".join(f"{name}: {count_text(count)}" for name, count in lesion_counts(found).items()) or MISSING


def _sources(runs: Sequence[Run]) -> Table:
    rows, words = [Row(f"{name}, in print") for name in PRINTED], [(MISSING, *row) for row in PRINTED.values()]
    for run in runs:
        for site, entry in run.entry("sites").items():
            own = held(entry)
            mean, median, men = (number(own.get(name)) for name in ("age_mean", "age_median", "men_per_woman"))
            rows.append(Row(clean(site), run=run.name))
            words.append((
                _count(own), MISSING if mean is None else _plus_minus(mean, number(own.get("age_sd")), 1),
                MISSING if median is None else f"{median:.4g}", MISSING if men is None else f"{men:.2f}", MISSING,
            ))  # fmt: skip
    return Table(
        "Table 7", PAPER, "Sources", f"Patients of the sources in print, and of our sites. {ours(runs)}", "Source",
        tuple(rows), task=schema.TASK, words=tuple(words),
        heads=("Patients", "Age, mean ± sd", "Age, median", "Men for each woman", "DSC of two raters"),
    )  # fmt: skip


def _count(found: dict[str, Any]) -> str:
    patients = found.get("patients")
    return count_text(patients) if isinstance(patients, int) else MISSING


def _plus_minus(mean: float, sd: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" + ("" if sd is None else f" ± {sd:.{digits}f}")


# --- men and women ---------------------------------------------------------------------------------------------------


@cache
def printed() -> dict[tuple[str, str, str], dict[str, str]]:
    """(table, sex, statistic) → set → the text of Table 12 or 13."""
    text = resources.files(__package__).joinpath("populations.csv").read_text("utf-8")
    return {(row["table"], row["sex"], row["statistic"]): row for row in csv.DictReader(text.splitlines())}


def _described(name: str, runs: Sequence[Run]) -> Table:
    entry, title, caption, unit = DESCRIBED[name]
    rows, cells = list[Row](), list[tuple[Cell, ...]]()
    for statistic in STATISTICS:
        for sex in SEXES.values():
            texts = printed()[name, sex, statistic]
            in_print = {part: (Printed(texts[part], "", f"{PAPER}, {name}"),) for part in SETS}
            mine = [(run.name, groups) for run in runs if (groups := run.entry(entry))]
            for run, groups in mine or [("", {})]:
                rows.append(Row(f"{WORDS[sex]}, {statistic}", run=run))
                cells.append(tuple(_cell(groups, part, sex, statistic, in_print.get(part, ())) for part in SETS))
    return Table(
        name, PAPER, f"{title} of men and women", f"{caption} {ours(runs)}", "Who", tuple(rows),
        _heads(entry.partition("_")[0], title, unit), tuple(cells), task=schema.TASK,
    )  # fmt: skip


def _scored(name: str, runs: Sequence[Run]) -> Table:
    model = MODELS_OF[name]
    frame = values(name, track=schema.TRACK, paper=PAPER)
    printed = lookup(frame, ("dataset", "gender", "statistic"))
    found = {(IN_PRINT.get(str(part), part), *rest): values for (part, *rest), values in printed.items()}
    rows, cells = list[Row](), list[tuple[Cell, ...]]()
    for title, own, run in _systems(model, runs):
        groups = run.entry("systems", own, "ndsc_by_sex") if run is not None else {}
        in_print = run is None or run.paper_systems[own] is not None
        for statistic in STATISTICS:
            for sex in SEXES.values():
                texts = [found.get((part, sex, statistic), ()) if in_print else () for part in SETS]
                rows.append(Row(title, own, run.name if run is not None else "", f"{WORDS[sex]}, {statistic}"))
                cells.append(
                    tuple(
                        _cell(groups, part, sex, statistic, text, factor=100)
                        for part, text in zip(SETS, texts, strict=True)
                    )
                )
    letters = marks(value for row in cells for cell in row for value in cell.printed)
    caption = (
        f"nDSC of {model} on men and women; the paper does not say whether of a single model or an ensemble. "
        f"Patients of train need `shiftbench run lesions --with-train`. {ours(runs)}"
    )
    return Table(
        name, PAPER, f"Men and women ({model})", caption, "Who", tuple(rows), _heads("ndsc", "nDSC ↑", "%"),
        tuple(cells), task=schema.TASK, notes=tuple(flags(letters)), marks=letters,
    )  # fmt: skip


def _systems(model: str, runs: Sequence[Run]) -> Iterator[tuple[str, str, Run | None]]:
    """The ensemble of a model, of each run that has it; with the first model all systems that print does not have."""
    paper_system = PaperSystem(model, "deep_ensemble", "0.0")
    same = [(run, name) for run in runs for name in run.named(paper_system)]
    yield from ((paper_system.title, name, run) for run, name in same)
    if not same:
        yield paper_system.title, "", None
    if model == next(iter(MODELS.values())):
        for run in runs:
            for name, taken in run.paper_systems.items():
                if taken is None and run.entry("systems", name, "ndsc_by_sex") and not run.alone(name):
                    yield clean(name), name, run


def _cell(
    groups: dict[str, Any], part: str, sex: str, statistic: str, in_print: tuple[Printed, ...], *, factor: float = 1.0
) -> Cell:
    found = held(groups.get(part)).get(sex)
    place = 1 + [*STATISTICS].index(statistic)
    value = number(found[place]) if isinstance(found, list) and len(found) > place else None
    return Cell(None if value is None else factor * value, printed=in_print)


def _heads(metric: str, title: str, unit: str) -> tuple[Column, ...]:
    return tuple(Column(part, "full", metric, unit, f"{title}, {words}") for part, words in HEADS.items())
