"""Training on other sites: one alone, tested on each (Table 4), and all but one (Table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from shiftbench.report.view import clean
from shiftbench.track.paper.printed import Lookup, lookup, marks, values
from shiftbench.track.paper.table import Cell, Column, Printed, Row, Table
from shiftbench.tracks.lesions import schema
from shiftbench.tracks.lesions.paper.systems import (
    AREA,
    PAPER,
    Line,
    PaperSystem,
    Run,
    filled,
    flags,
    held,
    notes,
    number,
    ours,
)

CROSS, LEFT = "Table 4", "Table 5"
KINDS = {
    "single": PaperSystem("UNET", "single", "0.0"),
    "ensemble": PaperSystem("UNET", "deep_ensemble", "0.0"),
}  # of both tables
RULES = {
    "in_domain_dev": "dev_in of the site of training",
    "out_domain_train+dev": "train and dev_in of the tested site",
    "out_domain_test": "the tested patients",
}
SHORT = {
    "in_domain_dev": "tuned on it",
    "out_domain_train+dev": "tuned on the tested site",
    "out_domain_test": "tuned on the test",
}
ORACLE = "A threshold tuned on the tested patients has seen the answers: it shows what tuning could reach at most."
PLACES = {"in": ("eval", "in"), "shifted": ("dev", "shifted"), "lausanne": ("eval", "shifted")}  # in print → ours
WHERE = {"in": "sites of training", "shifted": "the site left out", "lausanne": "eval_out"}
SCORES = {"ndsc": ("ndsc", "nDSC ↑"), "r_auc": (AREA, "nDSC R-AAC ↓")}


def tables(runs: Sequence[Run]) -> list[Table]:
    """Table 4 for the sites of print, and for those of runs on other data; Table 5."""
    frame = values(CROSS, track=schema.TRACK, paper=PAPER)
    sites, crossed = [*dict.fromkeys(frame["test_site"])], [run for run in runs if run.trained_on]
    found = lookup(frame, ("train_site", "threshold_tuning", "test_site"))
    others = [run for run in crossed if run.trained_on not in sites]
    same = [run for run in crossed if run not in others]
    made = [_cross(rule, same, sites, found) for rule in RULES]
    if others:
        further = [*dict.fromkeys(site for run in others for site in _tested(run))]
        made += [_cross(rule, others, further, {}) for rule in RULES]
    return [*made, _left([run for run in runs if run.left_out])]


# --- one site alone --------------------------------------------------------------------------------------------------


def _by_site(run: Run, name: str, rule: str) -> dict[str, Any]:
    """Site → what a system has on it by a rule."""
    return {clean(site): held(own) for site, own in run.entry("systems", name, "ndsc_by_site", rule).items()}


def _tested(run: Run) -> Iterator[str]:
    for name in run.paper_systems:
        for rule in RULES:
            yield from _by_site(run, name, rule)


def _cross(rule: str, runs: Sequence[Run], sites: Sequence[str], found: Lookup) -> Table:
    trained = dict.fromkeys([*(str(train) for train, *_ in found), *(run.trained_on for run in runs)])
    rows, cells = list[Row](), list[tuple[Cell, ...]]()
    for train in trained:
        for row, own, key in _crossed(runs, train, rule, printed=bool(found)):
            printed = [found.get((*key, site), ()) if key else () for site in sites]
            rows.append(row)
            cells.append(tuple(_cell(own.get(site), in_print) for site, in_print in zip(sites, printed, strict=True)))
    caption = (
        "nDSC on the patients of eval of each site, of ensembles that have learnt from one; the threshold was tuned on "
        f"{RULES[rule]}. {ours(runs)}"
    )
    title = f"Trained on one site, {SHORT[rule]}" + ("" if found else " (other data)")
    heads = tuple(Column("eval", site, "ndsc", "%", f"On {site}") for site in sites)
    return Table(
        CROSS, PAPER, title, caption, "System · site", tuple(rows), heads, tuple(cells),
        task=schema.TASK, notes=(ORACLE,) if rule == "out_domain_test" else (),
    )  # fmt: skip


def _crossed(
    runs: Sequence[Run], train: str, rule: str, *, printed: bool
) -> Iterator[tuple[Row, dict[str, Any], tuple[str, str] | None]]:
    """The row of print, filled by the runs that have its system, then all other systems; with the key in print."""
    mine = [(run, name) for run in runs if run.trained_on == train for name in run.paper_systems]
    known = [(run, name, own) for run, name in mine if (own := _by_site(run, name, rule))]
    same = [entry for entry in known if entry[0].paper_systems[entry[1]] == KINDS["ensemble"]]
    if printed and not same:
        yield Row(KINDS["ensemble"].title, experiment=train), {}, (train, rule)
    for run, name, own in known:
        key = (train, rule) if printed and (run, name, own) in same else None
        yield Row(run.title(name), name, run.name, experiment=train), own, key


def _cell(own: dict[str, Any] | None, printed: tuple[Printed, ...]) -> Cell:
    value = number((own or {}).get("ndsc"))
    return Cell(None if value is None else 100 * value, printed=printed)


# --- all but one site ------------------------------------------------------------------------------------------------


def _left(runs: Sequence[Run]) -> Table:
    frame = values(LEFT, track=schema.TRACK, paper=PAPER)
    frame = frame.with_columns(
        dataset=pl.col("subset").replace({name: place[0] for name, place in PLACES.items()}),
        subset=pl.col("subset").replace({name: place[1] for name, place in PLACES.items()}),
        metric=pl.col("metric").replace("r_auc", AREA),
    )
    heads = tuple(
        Column(*PLACES[subset], metric, "%", f"{title}, {WHERE[subset]}")
        for metric, title in SCORES.values()
        for subset in PLACES
    )
    sites = dict.fromkeys([*frame["excluded_site"], *(run.left_out for run in runs)])
    lines = [line for site in sites for line in _lines(runs, site, printed=site in {*frame["excluded_site"]})]
    rows, cells = filled(lines, heads, lookup(frame, ("excluded_site", "ensemble", "dataset", "subset", "metric")))
    letters = marks(value for row in cells for cell in row for value in cell.printed)
    caption = (
        "Networks that have learnt from all sites but one, which is dev_out, and their ensembles. In print eval_out is "
        f"Lausanne, and to leave out Ljubljana is the usual setting. {ours(runs)}"
    )
    return Table(
        LEFT, PAPER, "Trained on all sites but one", caption, "System · site", rows, heads, cells,
        task=schema.TASK, notes=(*notes(cells), *flags(letters)), marks=letters,
    )  # fmt: skip


def _lines(runs: Sequence[Run], site: str, *, printed: bool) -> Iterator[Line]:
    """The rows of print, filled by the runs that have their systems, then all other systems."""
    mine = [run for run in runs if run.left_out == site]
    for kind, paper_system in KINDS.items() if printed else ():
        key, single = (site, kind), kind == "single"
        own = [
            Line(Row(paper_system.title, name, run.name, experiment=site), run, key, single)
            for run in mine
            for name in run.named(paper_system)
        ]
        yield from own or [Line(Row(paper_system.title, experiment=site), key=key)]
    for run in mine:
        for name, taken in run.paper_systems.items():
            if not (printed and taken in KINDS.values()):
                yield Line(Row(run.title(name), name, run.name, experiment=site), run, single=run.alone(name))
